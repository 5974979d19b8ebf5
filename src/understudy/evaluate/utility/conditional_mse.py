"""Conditional MSE: mean squared difference of the shares of one column given another (pegs.txt section 4.3)."""

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.distances import conditional_score
from understudy.sources.base import Source

METRIC = Metric(
    name="conditional_mse",
    goal="minimize",
    lowest=0.0,
    highest=1.0,
    room="utility",
    says="How far the share of a level among rows with a given level of another column lies from its real share.",
)


def conditional_mse(real: Source, synthetic: Source, *, conditional_on: str | None = None) -> Score:
    """Given one column, or averaged over all ordered pairs; the breakdown says "other | given"."""
    return conditional_score(METRIC.name, "mse", real, synthetic, conditional_on)
