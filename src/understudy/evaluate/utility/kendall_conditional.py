"""Kendall's tau of the levels of one column given each level of another, ranked by frequency (pegs.txt figure 9)."""

import numpy as np

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.ranks import MOST_GIVEN, kendall, mean_rank_score
from understudy.evaluate.utility.tables import given_grids
from understudy.sources.base import Source

__all__ = ["METRIC", "kendall_conditional"]

METRIC = Metric(
    name="kendall_conditional",
    goal="maximize",
    lowest=-1.0,
    highest=1.0,
    room="utility",
    says="Whether levels keep their order of frequency given a level of another column (Kendall's tau).",
)


def kendall_conditional(real: Source, synthetic: Source, *, conditional_on: str | None = None) -> Score:
    """Given one column, or every other; the breakdown says "other | given", averaged over the given levels.

    Columns of more than 512 levels are not given unasked.
    """
    parts = {}
    for (given, other), a, b in given_grids(real, synthetic, conditional_on):
        if conditional_on is None and len(a) > MOST_GIVEN:
            continue
        values = np.array([kendall(a[level], b[level]) for level in range(len(a))])
        defined = values[~np.isnan(values)]
        parts[f"{other} | {given}"] = float(defined.mean()) if len(defined) else float("nan")
    return mean_rank_score(METRIC.name, parts)
