"""Conditional MAE: mean absolute difference of the shares of one column given another (pegs.txt section 4.3)."""

import numpy as np

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.distances import conditional_distance
from understudy.evaluate.utility.tables import given_grids, left_out
from understudy.sources.base import Source

__all__ = ["METRIC", "conditional_mae"]

METRIC = Metric(
    name="conditional_mae",
    goal="minimize",
    lowest=0.0,
    highest=1.0,
    room="utility",
    says="How far the share of a level among rows with a given level of another column lies from its real share.",
)


def conditional_mae(real: Source, synthetic: Source, *, conditional_on: str | None = None) -> Score:
    """Given one column, or averaged over all ordered pairs; the breakdown says "other | given"."""
    tables = given_grids(real, synthetic, conditional_on)
    parts = {f"{other} | {given}": conditional_distance(a, b).mae for (given, other), a, b in tables}
    if not parts:
        return Score(metric=METRIC.name, value=float("nan"), note="no column has another to be given.")
    return Score(
        metric=METRIC.name,
        value=float(np.mean(list(parts.values()))),
        breakdown=parts,
        note="Given levels that no real row has are left out; one that no synthetic row has counts as uniform."
        + left_out(real.codebook, 2),
    )
