"""exp(-||mean of the real table - mean of the synthetic table||^2) (dissertation.txt section 2.4).

The printed formula depends on the units: a difference of three dollars would already give 0. Columns with an order are
therefore measured in real standard deviations; of other columns the shares of the levels are the means.
"""

import numpy as np

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.tables import grids, tables_of_width
from understudy.evaluate.values import is_ordered, values_of
from understudy.sources.base import Source

METRIC = Metric(
    name="mean_utility",
    goal="maximize",
    lowest=0.0,
    highest=1.0,
    room="utility",
    says="Closeness of the means, in real standard deviations, and of the shares of unordered levels: 1 if equal.",
)


def mean_utility(real: Source, synthetic: Source) -> Score:
    """Over all columns; the breakdown has the distance of each."""
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
    total = sum(value**2 for value in parts.values())
    constant = [name for name, value in parts.items() if np.isinf(value)]
    return Score(
        metric=METRIC.name,
        value=float(np.exp(-total)),
        breakdown=parts,
        note=f"Constant in the real table only: {', '.join(constant)}." if constant else "",
    )


def _moments(values: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
    mean = float(np.average(values, weights=counts))
    return mean, float(np.sqrt(np.average((values - mean) ** 2, weights=counts)))
