"""Survey weights in evaluation: weighted tables and means, with intervals that know about the weights.

A record counts as the middle of its weight's bin, in both tables alike. Intervals are those of a sample drawn with
replacement with unequal weights (linearisation, the sandwich [Binder83]); strata and clusters are not modelled.
Regressions are in ``regression.py``, which weighs records wherever the codebook names a weight.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.errors import DataError, ParameterError
from understudy.evaluate.checks import check_column, check_rows
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.opened import open_grids
from understudy.evaluate.risk.intervals import Z95
from understudy.evaluate.utility.distances import total_variation
from understudy.evaluate.utility.measure import Options, measures
from understudy.evaluate.utility.tables import grids, tables_of_width
from understudy.evaluate.values import is_ordered, values_of, weights_by_code
from understudy.sources.base import Source

Floats = npt.NDArray[np.float64]

WEIGHTED_TVD = Metric(
    name="weighted_tvd",
    title="Weighted shares of levels (total variation)",
    says="The share of the population that would have to change to make the weighted 1-way tables agree, averaged.",
)
WEIGHTED_MEANS = Metric(
    name="weighted_means",
    title="Weighted means (overlap of intervals)",
    goal="maximize",
    says="How much of the two 95% intervals of a weighted mean is common, averaged over columns with an order.",
)


def _weighted(real: Source, _: Options) -> bool:
    return real.codebook.weight is not None


def _weights(source: Source) -> tuple[str, Floats]:
    weights = weights_by_code(source.codebook)
    if weights is None:
        raise ParameterError('the codebook names no weight column; add weight = "COLUMN" at its top.')
    return weights


@measures(WEIGHTED_TVD, where=_weighted, place=30)
def weighted_tvd(real: Source, synthetic: Source) -> Score:
    """Total variation of the weighted shares of each column."""
    name, weights = _weights(real)
    tables = [(other, name) for (other,) in tables_of_width(real.codebook, 1) if other != name]
    parts = {other: total_variation(a @ weights, b @ weights) for (other, _), a, b in grids(real, synthetic, tables)}
    worst = max(parts, key=lambda key: parts[key], default="")
    return WEIGHTED_TVD.mean(
        parts,
        note=f"Weighted by {name}; the worst of {len(parts)} columns is {worst} with {parts.get(worst, 0):.4f}.",
        empty="there is no column beside the weight.",
    )


@dataclass(frozen=True, kw_only=True)
class WeightedMean:
    """A weighted mean with its 95% interval."""

    value: float
    error: float
    low: float
    high: float
    effective: float
    """Kish's effective number of records: (sum w)^2 / sum w^2."""


def weighted_mean(source: Source, column: str) -> WeightedMean:
    """Sum w y / sum w of a column with an order, missing values left out; error by linearisation."""
    check_column(source, column, called="column")
    check_rows(source, called="given")
    name, weights = _weights(source)
    described = source.codebook.column(column)
    if not is_ordered(described) or column == name:
        raise ParameterError(f"column {column!r} has no mean to weigh; choose a number, a date or an ordinal column.")
    grid = open_grids(source, [(column, name)])[0].astype(np.float64)
    values = values_of(described)
    known = ~np.isnan(values)
    grid, values = grid[known], values[known]
    total = float((grid @ weights).sum())
    if total == 0:
        raise DataError(f"column {column!r} has no value at all, so it has no mean; choose another.")
    mean = float((grid @ weights) @ values / total)
    spread = float((grid @ weights**2) @ (values - mean) ** 2)
    error = float(np.sqrt(spread)) / total
    effective = total**2 / float((grid @ weights**2).sum())
    return WeightedMean(value=mean, error=error, low=mean - Z95 * error, high=mean + Z95 * error, effective=effective)


@measures(WEIGHTED_MEANS, where=_weighted, place=31)
def weighted_means(real: Source, synthetic: Source) -> Score:
    """Overlap of the intervals of every column with an order but the weight; both means stand in the breakdown."""
    book = real.codebook
    shares: list[float] = []
    parts: dict[str, float] = {}
    for column in book.modelled:
        if not is_ordered(column) or column.name == book.weight:
            continue
        try:
            a, b = (weighted_mean(source, column.name) for source in (real, synthetic))
        except DataError:  # no value at all on one side
            continue
        common = max(0.0, min(a.high, b.high) - max(a.low, b.low))
        widths = [mean.high - mean.low for mean in (a, b)]
        share = 1.0 if (a.low, a.high) == (b.low, b.high) else sum(common / w if w > 0 else 0.0 for w in widths) / 2
        shares.append(share)
        parts |= {column.name: share, f"{column.name}: real": a.value, f"{column.name}: synthetic": b.value}
    if not shares:
        return WEIGHTED_MEANS.undefined("there is no column with an order beside the weight.")
    note = f"Weighted by {book.weight}, over {len(shares)} columns with an order."
    return WEIGHTED_MEANS.score(float(np.mean(shares)), parts, note=note)
