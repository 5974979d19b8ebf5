"""Spearman's rho of the levels of each column, ranked by frequency (pegs.txt figure 8)."""

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.ranks import marginal_ranks, spearman
from understudy.sources.base import Source

METRIC = Metric(
    name="spearman_marginal",
    goal="maximize",
    lowest=-1.0,
    highest=1.0,
    room="utility",
    says="Whether the levels of a column keep their order of frequency (Spearman's rho, averaged over columns).",
)


def spearman_marginal(real: Source, synthetic: Source) -> Score:
    """Averaged over columns; the breakdown has one value per column."""
    return marginal_ranks(METRIC.name, spearman, real, synthetic)
