"""Diabetes130 as linked tables: patients and their encounters, on public levels, divided into people."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from understudy.codebook import Categorical, Codebook
from understudy.codebook.linked import LinkedCodebook, LinkedTable

PATIENT, ORDER, CAP = "patient_nbr", "encounter_id", 5
OF_PATIENTS = ("race", "gender")
FEW = (
    "age",
    "admission_type_id",
    "discharge_disposition_id",
    "time_in_hospital",
    "number_inpatient",
    "number_diagnoses",
    "diag_1",
    "insulin",
    "change",
    "readmitted",
)
"""Columns of encounters where a peer cannot take all of them."""
_STEPS = {"num_lab_procedures": 10, "num_medications": 5}
_MOST = {"number_outpatient": 5, "number_emergency": 5, "number_inpatient": 5}
_CHAPTERS = (  # first code of each chapter of ICD-9
    (1, "infections"), (140, "neoplasms"), (240, "endocrine"), (250, "diabetes"), (251, "endocrine"), (280, "blood"),
    (290, "mental"), (320, "nervous"), (390, "circulatory"), (460, "respiratory"), (520, "digestive"),
    (580, "genitourinary"), (630, "pregnancy"), (680, "skin"), (710, "musculoskeletal"), (740, "congenital"),
    (760, "perinatal"), (780, "symptoms"), (800, "injury"),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class LinkedTask:
    """What every method gets, and the people that it does not get."""

    train: dict[str, pd.DataFrame]
    test: dict[str, pd.DataFrame]
    levels: dict[str, dict[str, list[str]]]

    @property
    def book(self) -> LinkedCodebook:
        """Patients, and up to five encounters of each, in the order of their numbers."""
        books = {
            table: Codebook(columns=tuple(Categorical(name=name, levels=tuple(own)) for name, own in columns.items()))
            for table, columns in self.levels.items()
        }
        patients = LinkedTable(name="patients", key=PATIENT, book=books["patients"])
        encounters = LinkedTable(
            name="encounters", parent="patients", parent_key=PATIENT, cap=CAP, order=ORDER, book=books["encounters"]
        )
        return LinkedCodebook(tables=(patients, encounters))

    def write(self, folder: Path) -> None:
        """Files that runners in any environment read."""
        for name, table in self.train.items():
            table.to_csv(folder / f"{name}.csv", index=False)
        (folder / "levels.json").write_text(json.dumps(self.levels))
        self.book.save(folder / "book.toml")


def diabetes(data: Path, *, patients: int | None = None, columns: tuple[str, ...] | None = None) -> LinkedTask:
    """The first (by a fixed shuffle) so many patients; a fifth of them is kept back."""
    table = pd.read_csv(data / "diabetes130" / "diabetic_data.csv.gz", dtype=str, keep_default_na=False)
    table[ORDER] = table[ORDER].astype(int)
    table = table.sort_values(ORDER)
    for name, step in _STEPS.items():
        table[name] = (table[name].astype(int) // step * step).astype(str)
    for name, most in _MOST.items():
        table[name] = table[name].astype(int).clip(upper=most).astype(str)
    for name in ("diag_1", "diag_2", "diag_3"):
        table[name] = table[name].map({code: _chapter(code) for code in table[name].unique()})
    own = [name for name in table.columns if name not in (PATIENT, ORDER, *OF_PATIENTS) and table[name].nunique() > 1]
    own = [name for name in own if columns is None or name in columns]
    people = (
        table.groupby(PATIENT, sort=False)[list(OF_PATIENTS)].first().reset_index()
    )  # a few change: the first counts
    everybody = np.random.default_rng(1).permutation(people[PATIENT].to_numpy())[:patients]
    cut = len(everybody) * 4 // 5
    levels = {
        "patients": {name: sorted(people[name].unique()) for name in OF_PATIENTS},
        "encounters": {name: sorted(table[name].unique()) for name in own},
    }
    sides = []
    for some in (set(everybody[:cut]), set(everybody[cut:])):
        chosen = table[table[PATIENT].isin(some)]
        sides.append(
            {
                "patients": people[people[PATIENT].isin(some)].reset_index(drop=True),
                "encounters": chosen[[ORDER, PATIENT, *own]].reset_index(drop=True),
            }
        )
    return LinkedTask(train=sides[0], test=sides[1], levels=levels)


def _chapter(code: str) -> str:
    """Chapter of an ICD-9 code; diabetes is a chapter of its own here."""
    if not code[:1].isdigit():
        return "missing" if code == "?" else "supplementary"
    return [name for first, name in _CHAPTERS if first <= float(code)][-1]
