"""Columns one by one, by their values: how far they moved, their means, and how many are missing."""

import numpy as np
import numpy.typing as npt

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.opened import open_grids
from understudy.evaluate.utility.measure import measures
from understudy.evaluate.utility.tables import grids, tables_of_width
from understudy.evaluate.values import is_ordered, values_of
from understudy.sources.base import Source

ORDER_DISTANCE = Metric(
    name="order_distance",
    title="Columns with an order (earth mover's distance)",
    says="How far the values of a column with an order must move to agree, as a share of its range, averaged.",
)
MEAN_UTILITY = Metric(
    name="mean_utility",
    title="Means",
    goal="maximize",
    says="Closeness of the means, in real standard deviations, and of the shares of unordered levels: 1 if equal.",
)
MISSING_RATIO = Metric(
    name="missing_ratio",
    title="Missing values",
    says="How far the share of missing values in a column lies from its real share, averaged over columns.",
)


def earth_movers(values: npt.NDArray[np.float64], real: npt.ArrayLike, synthetic: npt.ArrayLike) -> float:
    """Integral of |F - G| over the range of ``values``, which rise, divided by that range (Wasserstein 1).

    >>> earth_movers(np.array([0.0, 1.0, 4.0]), [1, 0, 0], [0, 1, 0])
    0.25
    """
    a, b = (np.asarray(side, dtype=np.float64) for side in (real, synthetic))
    gap = np.cumsum(a / a.sum() - b / b.sum())[:-1]
    return float(min(1.0, np.abs(gap) @ np.diff(values) / (values[-1] - values[0])))


@measures(ORDER_DISTANCE, place=7)
def order_distance(real: Source, synthetic: Source) -> Score:
    """Of every column with an order; missing values are left out (``missing_ratio`` looks at them).

    A measured number is compared by the pieces of its bins, so that what lies inside a bin counts too.
    """
    parts = {}
    fine = {number.name: number.fine for number in real.codebook.measured}
    for (name,), *plain in grids(real, synthetic, tables_of_width(real.codebook, 1)):
        column = fine.get(name, real.codebook.column(name))
        if not is_ordered(column):
            continue
        a, b = [open_grids(s, [(column.name,)])[0] for s in (real, synthetic)] if name in fine else plain
        values = values_of(column)
        known = ~np.isnan(values)
        if known.sum() > 1 and a[known].sum() and b[known].sum():
            parts[name] = earth_movers(values[known], a[known], b[known])
    worst = max(parts, key=lambda key: parts[key], default="")
    return ORDER_DISTANCE.mean(
        parts,
        note=f"Mean over {len(parts)} columns with an order; the worst is {worst} with {parts.get(worst, 0):.4f}.",
        empty="there is no column with an order and values.",
    )


@measures(MEAN_UTILITY, place=15)
def mean_utility(real: Source, synthetic: Source) -> Score:
    """exp(-||mean of the real table - mean of the synthetic table||^2) (dissertation.txt section 2.4).

    The printed formula depends on the units: a difference of three dollars would already give 0. Columns with an order
    are therefore measured in real standard deviations; of other columns the shares of the levels are the means. The
    breakdown has the distance of each column.
    """
    parts = {}
    for (name,), a, b in grids(real, synthetic, tables_of_width(real.codebook, 1)):
        column = real.codebook.column(name)
        if not is_ordered(column):
            parts[name] = float(np.linalg.norm(a / a.sum() - b / b.sum()))
            continue
        values = values_of(column)
        known = ~np.isnan(values)
        if not a[known].sum() or not b[known].sum():
            continue  # nothing but missing values has no mean
        (middle, spread), (other, _) = (_moments(values[known], side[known]) for side in (a, b))
        gap = abs(other - middle)
        parts[name] = gap / spread if spread > 0 else (0.0 if gap == 0 else float("inf"))
    constant = [name for name, value in parts.items() if np.isinf(value)]
    return MEAN_UTILITY.score(
        float(np.exp(-sum(value**2 for value in parts.values()))),
        parts,
        note=f"Constant in the real table only: {', '.join(constant)}." if constant else "",
    )


def _moments(values: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
    mean = float(np.average(values, weights=counts))
    return mean, float(np.sqrt(np.average((values - mean) ** 2, weights=counts)))


def missing_share(source: Source) -> float:
    """Share of missing values among all values of a table."""
    columns = source.codebook.modelled
    tables = open_grids(source, [[column.name] for column in columns])
    shares = [
        0.0 if column.missing_code is None else table[column.missing_code] / max(table.sum(), 1)
        for column, table in zip(columns, tables, strict=True)
    ]
    return float(np.mean(shares))


@measures(MISSING_RATIO, place=18)
def missing_ratio(real: Source, synthetic: Source) -> Score:
    """Mean difference over the columns that may be missing (lugs.txt section 5.3); the breakdown has both shares."""
    columns = [column for column in real.codebook.modelled if column.missing_code is not None]
    parts, gaps = {}, []
    tables = grids(real, synthetic, [(column.name,) for column in columns])
    for column, ((name,), a, b) in zip(columns, tables, strict=True):
        truth, copy = (float(side[column.missing_code] / side.sum()) for side in (a, b))
        parts[f"{name}: real"], parts[f"{name}: synthetic"] = truth, copy
        gaps.append(abs(truth - copy))
    if not columns:
        return MISSING_RATIO.score(0.0, note="no column may be missing by the codebook.")
    note = f"All values together: {missing_share(real):.2%} missing before, {missing_share(synthetic):.2%} after."
    return MISSING_RATIO.score(float(np.mean(gaps)), parts, note=note)
