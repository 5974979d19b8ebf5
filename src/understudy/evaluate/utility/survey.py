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
from understudy.evaluate.utility.tables import grids, tables_of_width
from understudy.evaluate.values import is_ordered, values_of, weights_by_code
from understudy.sources.base import Source

Floats = npt.NDArray[np.float64]
_Z = 1.959963984540054

METRIC = Metric(
    name="weighted_tvd",
    goal="minimize",
    lowest=0.0,
    highest=1.0,
    room="utility",
    says="The share of the population that would have to change to make the weighted 1-way tables agree, averaged.",
)


def _weights(source: Source) -> tuple[str, Floats]:
    found = weights_by_code(source.codebook)
    if found is None:
        raise ParameterError('the codebook names no weight column; add weight = "COLUMN" at its top.')
    return found


def weighted_tvd(real: Source, synthetic: Source) -> Score:
    """Total variation of the weighted shares of each column."""
    name, weights = _weights(real)
    tables = [(other, name) for (other,) in tables_of_width(real.codebook, 1) if other != name]
    parts = {}
    for (other, _), a, b in grids(real, synthetic, tables):
        parts[other] = _apart(a @ weights, b @ weights)
    if not parts:
        return Score(metric=METRIC.name, value=float("nan"), note="there is no column beside the weight.")
    worst = max(parts, key=lambda key: parts[key])
    note = f"Weighted by {name}; the worst of {len(parts)} columns is {worst} with {parts[worst]:.4f}."
    return Score(metric=METRIC.name, value=float(np.mean(list(parts.values()))), breakdown=parts, note=note)


def _apart(real: Floats, synthetic: Floats) -> float:
    return float(np.abs(real / real.sum() - synthetic / synthetic.sum()).sum() / 2)


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
    grid = source.count([(column, name)])[0].open().to_grid().astype(np.float64)
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
    return WeightedMean(value=mean, error=error, low=mean - _Z * error, high=mean + _Z * error, effective=effective)
