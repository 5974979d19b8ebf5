"""One command: prepare, anonymise, regress, and write the figures and tables of chapter 2."""

from pathlib import Path
from typing import Any

import numpy as np

from experiments.chapter2.figures import bars, fitted_plots, level_counts, scatter_matrix
from experiments.chapter2.models import fit, regression_table, summary_table
from experiments.chapter2.mosaic import mosaic_svg
from experiments.chapter2.study import COLUMNS, QUASI, ROWS, K, Study, prepare
from understudy.anonymize.measure import class_sizes, measure
from understudy.anonymize.mosaic import mosaic_counts
from understudy.anonymize.risk import band_counts

OUT = Path("out") / "chapter2"


def draw(study: Study) -> tuple[dict[str, str], dict[str, Any]]:
    """The figures by name, and the numbers that the text speaks of."""
    whole = {
        name: class_sizes(table, COLUMNS)
        for name, table in (("prepared", study.prepared), ("original", study.original))
    }
    stays = fit(study.released, target="los", other="charge")
    charges = fit(study.released, target="charge", other="los")
    mosaics = {
        "a": mosaic_counts(study.by_region, across=("sex", "pay"), up="patzip", k=K),
        "b": mosaic_counts(study.by_digits, across=("sex", "pay"), up="patzip", k=K),
        "released": mosaic_counts(study.released, across=("sex", "pay"), up="patzip", k=K),
    }
    figures = {
        "2-1-original": scatter_matrix(study.original, "Figure 2.1: newborns of the generated discharges"),
        "2-2-prepared": scatter_matrix(study.prepared, "Figure 2.2: after reduction and filtering"),
        "2-3-duplicates": bars(
            [
                ("prepared: rows by number of equal rows", band_counts(whole["prepared"])),
                ("released: rows by size of class", band_counts(class_sizes(study.released, QUASI))),
            ],
            "Figure 2.3: duplicates",
        ),
        "2-4-generalisation": bars(
            [
                ("by region", level_counts(study.by_region, "patzip")),
                ("by two digits", level_counts(study.by_digits, "patzip")),
            ],
            "Figure 2.4: two generalisations of the area",
        ),
        "2-5a-regions": mosaic_svg(mosaics["a"], title="Figure 2.5 (a): sex, payer and region"),
        "2-5b-digits": mosaic_svg(mosaics["b"], title="Figure 2.5 (b): sex, payer and two digits"),
        "2-6-released": mosaic_svg(mosaics["released"], title="Figure 2.6: generalised and suppressed, 3-anonymous"),
        "2-7-fitted": fitted_plots(
            [("(a) length of stay, days", stays), ("(b) total charges, dollars", charges)],
            "Figure 2.7: observed and fitted",
        ),
    }
    facts = study.anonymous.facts[-1]
    numbers = {
        "original": study.original.num_rows,
        "prepared": study.prepared.num_rows,
        "released": study.released.num_rows,
        "k": measure(study.released, quasi=QUASI).k,
        "suppressed": facts["suppressed"],
        "deleted": facts["deleted"],
        "uniques_five_columns": int((whole["prepared"] == 1).sum()),
        "uniques_by_region": int((class_sizes(study.by_region, QUASI) == 1).sum()),
        "uniques_by_digits": int((class_sizes(study.by_digits, QUASI) == 1).sum()),
        "rare_boxes": {name: mosaic.rare for name, mosaic in mosaics.items()},
        "stay_per_1000_dollars": float(stays.estimates[-1] * 1000),
        "dollars_per_day": float(charges.estimates[-1]),
        "explained": (stays.explained, charges.explained),
        "residuals": (stays.residual, charges.residual),
    }
    assert np.isfinite(stays.estimates).all()
    tables = "\n\n".join(
        [
            summary_table(study.prepared),
            regression_table("Table 2.2: length of stay", stays),
            regression_table("Table 2.3: total charges", charges),
        ]
    )
    return {**figures, "tables": tables}, numbers


def main(*, quick: bool = False, out: Path = OUT) -> dict[str, Any]:
    """Write everything and print what the text says."""
    found, numbers = draw(prepare(rows=ROWS // 3 if quick else ROWS))
    out.mkdir(parents=True, exist_ok=True)
    tables = found.pop("tables")
    (out / "tables.md").write_text(tables + "\n", encoding="utf-8")
    for name, picture in found.items():
        (out / f"chapter2-{name}.svg").write_text(picture, encoding="utf-8")
    print(tables)
    for name, value in numbers.items():
        print(f"{name}: {value}")
    print(f"figures and tables: {out}")
    return numbers
