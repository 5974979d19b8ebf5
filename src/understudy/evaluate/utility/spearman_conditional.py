"""Spearman's rho of the levels of one column given each level of another, ranked by frequency (pegs.txt figure 9)."""

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.ranks import conditional_ranks, spearman
from understudy.sources.base import Source

METRIC = Metric(
    name="spearman_conditional",
    goal="maximize",
    lowest=-1.0,
    highest=1.0,
    room="utility",
    says="Whether levels keep their order of frequency given a level of another column (Spearman's rho).",
)


def spearman_conditional(real: Source, synthetic: Source, *, conditional_on: str | None = None) -> Score:
    """Given one column, or every other; the breakdown says "other | given", averaged over the given levels.

    Columns of more than 512 levels are not given unasked.
    """
    return conditional_ranks(METRIC.name, spearman, real, synthetic, conditional_on)
