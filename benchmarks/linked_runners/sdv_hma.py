"""SDV's hierarchical synthesizer (HMA): no promise; for error and time."""

from linked_common import CAP, PATIENT, run
from sdv.metadata import Metadata
from sdv.multi_table import HMASynthesizer


def make(tables, levels, folder, epsilon, delta):
    children = tables["encounters"].groupby(PATIENT).head(CAP)[[PATIENT, *levels["encounters"]]].reset_index(drop=True)
    metadata = Metadata.load_from_dict(
        {
            "tables": {
                "patients": {
                    "primary_key": PATIENT,
                    "columns": {
                        PATIENT: {"sdtype": "id"},
                        **{name: {"sdtype": "categorical"} for name in levels["patients"]},
                    },
                },
                "encounters": {
                    "columns": {
                        PATIENT: {"sdtype": "id"},
                        **{name: {"sdtype": "categorical"} for name in levels["encounters"]},
                    },
                },
            },
            "relationships": [
                {
                    "parent_table_name": "patients",
                    "child_table_name": "encounters",
                    "parent_primary_key": PATIENT,
                    "child_foreign_key": PATIENT,
                }
            ],
        }
    )
    model = HMASynthesizer(metadata, verbose=False)
    model.fit({"patients": tables["patients"], "encounters": children})
    return lambda: model.sample(num_rows=len(tables["patients"]), main_table_name="patients")


run(make)
