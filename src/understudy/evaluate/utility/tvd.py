"""Total variation distance: the largest share of rows that would have to change to turn one table into the other."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from understudy.errors import ParameterError
from understudy.evaluate.metric import Score
from understudy.evaluate.utility.joint_l1 import table_l1
from understudy.evaluate.utility.tables import JOIN, counted
from understudy.sources.base import Clique, Source


def total_variation(real: npt.NDArray[np.int64], synthetic: npt.NDArray[np.int64]) -> float:
    """Half the L1 distance of the shares of two tables of counts; 0 equal, 1 disjoint.

    >>> total_variation(np.array([[5, 5], [0, 0]]), np.array([[0, 4], [0, 0]]))
    0.5
    """
    return float(np.abs(real / real.sum() - synthetic / synthetic.sum()).sum() / 2)


def tvd_score(metric: str, real: Source, synthetic: Source, tables: Sequence[Clique]) -> Score:
    """Averaged over the tables; the breakdown has one value per table, named by its columns."""
    if not tables:
        return Score(metric=metric, value=float("nan"), note="there is no table of this width, or none small enough.")
    if any(len(set(table)) != len(table) or not table for table in tables):
        raise ParameterError("`tables` names a column twice, or none, in one table; name each column once.")
    parts = {}
    for clique, a, b in counted(real, synthetic, tables):
        n, m = (int(side.occupied()[1].sum()) for side in (a, b))
        if a.grid is not None and b.grid is not None:
            parts[JOIN.join(clique)] = total_variation(a.grid, b.grid)
        else:  # occupied cells only: a wide table may have more cells than memory
            parts[JOIN.join(clique)] = table_l1(a, b, weight=n / m) / (2 * n)
    worst = max(parts, key=lambda name: parts[name])
    return Score(
        metric=metric,
        value=float(np.mean(list(parts.values()))),
        breakdown=parts,
        note=f"Mean over {len(parts)} tables; the worst is {worst} with {parts[worst]:.4f}.",
    )
