"""Overlap of the confidence intervals of regression coefficients (Karr, Kohnen, Oganian, Reiter and Sanil 2006)."""

import numpy as np

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.regression import Comparison, Kind, compare_models
from understudy.sources.base import Source

METRIC = Metric(
    name="interval_overlap",
    goal="maximize",
    lowest=0.0,
    highest=1.0,
    room="utility",
    says="How much of the two 95% confidence intervals of a coefficient is common, averaged over coefficients.",
)


def overlap_of_intervals(fitted: Comparison) -> Score:
    """The mean; 0 where two intervals are disjoint, which other software may show as negative."""
    a, b = fitted.real, fitted.synthetic
    common = np.maximum(np.minimum(a.high, b.high) - np.maximum(a.low, b.low), 0.0)
    widths = (a.high - a.low, b.high - b.low)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = sum(np.where(width > 0, common / width, np.nan) for width in widths) / 2
    same = (a.low == b.low) & (a.high == b.high)
    shares = np.where(same, 1.0, np.nan_to_num(shares, nan=0.0))  # an exact fit has an interval without width
    return Score(
        metric=METRIC.name,
        value=float(shares.mean()),
        breakdown=dict(zip(fitted.names, shares.tolist(), strict=True)),
        note=". ".join(filter(None, [f"Model: {fitted.formula} ({fitted.kind})", fitted.note])),
    )


def interval_overlap(real: Source, synthetic: Source, *, formula: str, kind: Kind) -> Score:
    """Fit the formula to both tables and compare."""
    return overlap_of_intervals(compare_models(real, synthetic, formula=formula, kind=kind))
