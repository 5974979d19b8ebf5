"""Regression distance: sum over coefficients of |(synthetic - real) / real| (pegs.txt section 4.3)."""

import numpy as np

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.regression import Comparison, Kind, compare_models
from understudy.sources.base import Source

METRIC = Metric(
    name="coefficient_distance",
    goal="minimize",
    lowest=0.0,
    highest=float("inf"),
    room="utility",
    says="How far the coefficients of a regression model lie from the real ones, relative to them and summed.",
)


def distance_of_coefficients(fitted: Comparison) -> Score:
    """The sum; the breakdown has one term per coefficient. A real coefficient of 0 has no relative distance."""
    real, synthetic = fitted.real.estimates, fitted.synthetic.estimates
    usable = real != 0
    terms = np.abs(synthetic[usable] - real[usable]) / np.abs(real[usable])
    names = [name for name, ok in zip(fitted.names, usable, strict=True) if ok]
    return Score(
        metric=METRIC.name,
        value=float(terms.sum()),
        breakdown=dict(zip(names, terms.tolist(), strict=True)),
        note=". ".join(filter(None, [f"Model: {fitted.formula} ({fitted.kind})", fitted.note])),
    )


def coefficient_distance(real: Source, synthetic: Source, *, formula: str, kind: Kind) -> Score:
    """Fit the formula to both tables and compare."""
    return distance_of_coefficients(compare_models(real, synthetic, formula=formula, kind=kind))
