"""Marginal MAE: mean absolute difference of the shares of the levels of each column (pegs.txt section 4.3)."""

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.distances import marginal_score
from understudy.sources.base import Source

METRIC = Metric(
    name="marginal_mae",
    goal="minimize",
    lowest=0.0,
    highest=1.0,
    room="utility",
    says="How far the share of a level lies from the real one: mean absolute difference over levels, then columns.",
)


def marginal_mae(real: Source, synthetic: Source) -> Score:
    """Averaged over columns; the breakdown has one value per column."""
    return marginal_score(METRIC.name, "mae", real, synthetic)
