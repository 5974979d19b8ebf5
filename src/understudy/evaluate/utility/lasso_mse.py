"""Lasso regression on dummies: mean squared error on the real table along the path (lugs.txt figure 7, top).

    beta = argmin ||y - X beta||^2 / 2n + penalty * sum |beta_j|,   MSE = ||y_real - X_real beta||^2 / n_real

The paper prints sums of squares without the divisors; with them, penalties mean the same for tables of any size.
"""

import math

import numpy as np

from understudy.errors import DataError
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.dummies import lasso, moments, normal_matrix
from understudy.evaluate.utility.lasso import SHARES, Path, largest_penalty, prepare
from understudy.evaluate.values import is_ordered, values_of
from understudy.sources.base import Source

METRIC = Metric(
    name="lasso_mse",
    goal="minimize",
    lowest=0.0,
    highest=math.inf,
    room="utility",
    says="How far the error on real rows of a Lasso model trained on synthetic rows lies from that of one trained on "
    "real rows, as a share of the variance of the target, averaged over the path.",
)


def lasso_mse_path(real: Source, synthetic: Source, *, target: str) -> tuple[Path, float]:
    """Both curves, and the variance of the target in the real table."""
    column = real.codebook.column(target)
    if not is_ordered(column):
        raise DataError(
            f"the target {target!r} has levels without an order; squared errors need numbers. Choose a numeric, "
            "ordinal or date column, or compare areas under the curve (lasso_auc)."
        )
    values = values_of(column)
    design, *sides = prepare(real, synthetic, target, ~np.isnan(values))
    responses = [values[side.target] for side in sides]
    if any(not len(y) for y in responses) or np.ptp(responses[0]) == 0:
        raise DataError(f"the target {target!r} has fewer than two values in a table; choose a column that varies.")
    grams = [normal_matrix(design, side.codes, side.weights) / side.weights.sum() for side in sides]
    pulls = [moments(design, s.codes, s.weights * y) / s.weights.sum() for s, y in zip(sides, responses, strict=True)]
    weights = sides[0].weights
    square = float(np.average(responses[0] ** 2, weights=weights))
    variance = square - float(np.average(responses[0], weights=weights)) ** 2
    top = largest_penalty(design, sides[0], responses[0])
    curves = []
    for gram, pull in zip(grams, pulls, strict=True):
        beta = np.zeros(len(pull))
        curve = []
        for share in SHARES:
            beta = lasso(gram, pull, share * top, beta)
            curve.append(float(square - 2 * beta @ pulls[0] + beta @ grams[0] @ beta))
        curves.append(tuple(curve))
    return Path(penalties=tuple(share * top for share in SHARES), real=curves[0], synthetic=curves[1]), variance


def lasso_mse(real: Source, synthetic: Source, *, target: str) -> Score:
    """Mean |difference of the curves| over the variance of the target; the breakdown has both curves."""
    path, variance = lasso_mse_path(real, synthetic, target=target)
    gaps = np.abs(np.array(path.real) - np.array(path.synthetic))
    return Score(
        metric=METRIC.name,
        value=float(gaps.mean() / variance),
        breakdown=path.parts,
        note=f"Least error on real rows: {min(path.real):.4g} trained on real rows, {min(path.synthetic):.4g} on "
        f"synthetic ones; the mean alone gives {variance:.4g}.",
    )
