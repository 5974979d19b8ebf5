"""exp(-||beta of the real table - beta of the synthetic table||^2) (dissertation.txt section 2.4)."""

import numpy as np

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.regression import Comparison, Kind, compare_models
from understudy.sources.base import Source

METRIC = Metric(
    name="coefficient_utility",
    goal="maximize",
    lowest=0.0,
    highest=1.0,
    room="utility",
    says="Closeness of the coefficients of a regression model in their own units: 1 if equal, 0 if far.",
)


def utility_of_coefficients(fitted: Comparison) -> Score:
    """In the units of the coefficients, as printed; the breakdown has their differences."""
    gaps = fitted.synthetic.estimates - fitted.real.estimates
    return Score(
        metric=METRIC.name,
        value=float(np.exp(-(gaps**2).sum())),
        breakdown=dict(zip(fitted.names, gaps.tolist(), strict=True)),
        note=". ".join(filter(None, [f"Model: {fitted.formula} ({fitted.kind})", fitted.note])),
    )


def coefficient_utility(real: Source, synthetic: Source, *, formula: str, kind: Kind) -> Score:
    """Fit the formula to both tables and compare."""
    return utility_of_coefficients(compare_models(real, synthetic, formula=formula, kind=kind))
