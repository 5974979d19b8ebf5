"""Earth mover's distance of columns with an order: how far values must move, not only how many (Wasserstein 1)."""

import numpy as np
import numpy.typing as npt

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.tables import grids, tables_of_width
from understudy.evaluate.values import is_ordered, values_of
from understudy.sources.base import Source

METRIC = Metric(
    name="order_distance",
    goal="minimize",
    lowest=0.0,
    highest=1.0,
    room="utility",
    says="How far the values of a column with an order must move to agree, as a share of its range, averaged.",
)


def earth_movers(values: npt.NDArray[np.float64], real: npt.ArrayLike, synthetic: npt.ArrayLike) -> float:
    """Integral of |F - G| over the range of ``values``, which rise, divided by that range; 0 equal, 1 end to end.

    >>> earth_movers(np.array([0.0, 1.0, 4.0]), [1, 0, 0], [0, 1, 0])
    0.25
    """
    a, b = (np.asarray(side, dtype=np.float64) for side in (real, synthetic))
    gap = np.cumsum(a / a.sum() - b / b.sum())[:-1]
    return float(min(1.0, np.abs(gap) @ np.diff(values) / (values[-1] - values[0])))


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
        a, b = [s.count([(column.name,)])[0].open().to_grid() for s in (real, synthetic)] if name in fine else plain
        values = values_of(column)
        known = ~np.isnan(values)
        if known.sum() > 1 and a[known].sum() and b[known].sum():
            parts[name] = earth_movers(values[known], a[known], b[known])
    if not parts:
        return Score(metric=METRIC.name, value=float("nan"), note="there is no column with an order and values.")
    worst = max(parts, key=lambda key: parts[key])
    note = f"Mean over {len(parts)} columns with an order; the worst is {worst} with {parts[worst]:.4f}."
    return Score(metric=METRIC.name, value=float(np.mean(list(parts.values()))), breakdown=parts, note=note)
