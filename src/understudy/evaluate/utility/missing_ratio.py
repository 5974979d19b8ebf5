"""Share of missing values, before and after (lugs.txt section 5.3)."""

import numpy as np

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.tables import grids
from understudy.sources.base import Source

METRIC = Metric(
    name="missing_ratio",
    goal="minimize",
    lowest=0.0,
    highest=1.0,
    room="utility",
    says="How far the share of missing values in a column lies from its real share, averaged over columns.",
)


def missing_share(source: Source) -> float:
    """Share of missing values among all values of a table."""
    columns = source.codebook.modelled
    tables = [table.open().to_grid() for table in source.count([[column.name] for column in columns])]
    shares = [
        0.0 if column.missing_code is None else table[column.missing_code] / max(table.sum(), 1)
        for column, table in zip(columns, tables, strict=True)
    ]
    return float(np.mean(shares))


def missing_ratio(real: Source, synthetic: Source) -> Score:
    """Mean difference over the columns that may be missing; the breakdown has the real and the synthetic shares."""
    columns = [column for column in real.codebook.modelled if column.missing_code is not None]
    parts, gaps = {}, []
    for column, ((name,), a, b) in zip(
        columns, grids(real, synthetic, [(column.name,) for column in columns]), strict=True
    ):
        truth, copy = (float(side[column.missing_code] / side.sum()) for side in (a, b))
        parts[f"{name}: real"], parts[f"{name}: synthetic"] = truth, copy
        gaps.append(abs(truth - copy))
    note = (
        f"All values together: {missing_share(real):.2%} missing before, {missing_share(synthetic):.2%} after."
        if columns
        else "no column may be missing by the codebook."
    )
    return Score(metric=METRIC.name, value=float(np.mean(gaps)) if gaps else 0.0, breakdown=parts, note=note)
