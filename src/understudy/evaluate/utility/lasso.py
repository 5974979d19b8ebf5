"""Lasso models trained on each table and tested on the real one, along a path of penalties (lugs.txt figure 7).

    beta = argmin ||y - X beta||^2 / 2n + penalty * sum |beta_j|,   MSE = ||y_real - X_real beta||^2 / n_real

The paper prints sums of squares without the divisors; with them, penalties mean the same for tables of any size. The
logistic model asks for the area under the ROC curve instead.
"""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.errors import DataError
from understudy.evaluate.checks import check_column, check_comparable
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.dummies import (
    Codes,
    Design,
    affordable,
    auc,
    lasso,
    logistic_lasso,
    moments,
    normal_matrix,
)
from understudy.evaluate.utility.measure import Options, measures
from understudy.evaluate.values import Records, event_of, is_ordered, records, values_of
from understudy.sources.base import Source

Floats = npt.NDArray[np.float64]

SHARES = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
"""Penalties, as shares of the smallest one that leaves nothing but the intercept of the model of the real table."""
_AUC_SHARES = SHARES[:7]

LASSO_MSE = Metric(
    name="lasso_mse",
    of_models=True,
    title="Lasso path (mean squared error)",
    highest=math.inf,
    says="How far the error on real rows of a Lasso model trained on synthetic rows lies from that of one trained on "
    "real rows, as a share of the variance of the target, averaged over the path.",
)
LASSO_AUC = Metric(
    name="lasso_auc",
    of_models=True,
    title="Lasso path (area under the ROC curve)",
    says="How far the area under the ROC curve on real rows of a logistic Lasso trained on synthetic rows lies from "
    "that of one trained on real rows, averaged over the path.",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Prepared:
    """A table ready for a model: distinct records of the features with the target's codes beside them."""

    codes: Codes
    target: npt.NDArray[np.int64]
    weights: Floats


@dataclass(frozen=True, kw_only=True)
class Path:
    """One curve: what a model trained on a table scores on the real one at each penalty."""

    penalties: tuple[float, ...]
    real: tuple[float, ...]
    synthetic: tuple[float, ...]

    @property
    def parts(self) -> dict[str, float]:
        """As a breakdown."""
        named = {}
        for penalty, a, b in zip(self.penalties, self.real, self.synthetic, strict=True):
            named[f"penalty {penalty:.3g}: real"], named[f"penalty {penalty:.3g}: synthetic"] = a, b
        return named

    @property
    def gap(self) -> float:
        """Mean distance of the two curves."""
        return float(np.abs(np.array(self.real) - np.array(self.synthetic)).mean())


def prepare(
    real: Source, synthetic: Source, target: str, usable: npt.NDArray[np.bool_]
) -> tuple[Design, Prepared, Prepared]:
    """Dummies of all other columns, and both tables; records whose target is not usable are left out."""
    check_comparable(real, synthetic)
    check_column(real, target, called="target")
    book = real.codebook
    features = affordable(book, [name for name in book.names if name != target])
    if not features:
        raise DataError(
            f"there is no column beside the target {target!r}, or none of few levels; a model needs one to learn from."
        )
    sides = []
    for source in (real, synthetic):
        table: Records = records(source, (*features, target))
        kept = table.where(usable[table.codes_of(target)])
        codes = np.ascontiguousarray(kept.codes[:, :-1])
        sides.append(Prepared(codes=codes, target=kept.codes_of(target), weights=kept.weights))
    sizes = [book.column(name).size for name in features]
    margins = [np.bincount(sides[0].codes[:, j], sides[0].weights, minlength=size) for j, size in enumerate(sizes)]
    extra = [np.bincount(sides[1].codes[:, j], sides[1].weights, minlength=size) for j, size in enumerate(sizes)]
    # levels of either table, with the base of the real one: both models then speak of the same dummies
    design = Design.of([a + b / max(b.sum(), 1) * (a.sum() * 1e-9) for a, b in zip(margins, extra, strict=True)])
    return design, sides[0], sides[1]


def largest_penalty(design: Design, side: Prepared, response: Floats) -> float:
    """The smallest penalty per row that leaves nothing but the intercept."""
    mean = np.average(response, weights=side.weights)
    pull = moments(design, side.codes, side.weights * (response - mean)) / side.weights.sum()
    return float(np.abs(pull[1:]).max(initial=0.0))


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


def _has_order(real: Source, options: Options) -> bool:
    return options.target is not None and is_ordered(real.codebook.column(options.target))


@measures(LASSO_MSE, "target", where=_has_order, place=23)
def lasso_mse(real: Source, synthetic: Source, *, target: str) -> Score:
    """Mean |difference of the curves| over the variance of the target; the breakdown has both curves."""
    path, variance = lasso_mse_path(real, synthetic, target=target)
    return LASSO_MSE.score(
        path.gap / variance,
        path.parts,
        note=f"Least error on real rows: {min(path.real):.4g} trained on real rows, {min(path.synthetic):.4g} on "
        f"synthetic ones; the mean alone gives {variance:.4g}.",
    )


def lasso_auc_path(real: Source, synthetic: Source, *, target: str, positive: str | None = None) -> tuple[Path, str]:
    """Both curves, and the question that was asked."""
    event = event_of(real, target, positive=positive)
    design, *sides = prepare(real, synthetic, target, event.asked)
    answers = [event.yes[side.target].astype(np.float64) for side in sides]
    top = largest_penalty(design, sides[0], answers[0])
    ups, downs = sides[0].weights * answers[0], sides[0].weights * (1 - answers[0])

    def area(beta: npt.NDArray[np.float64]) -> float:
        return auc(design.scores(sides[0].codes, beta), ups, downs)

    curves = []
    for side, yes in zip(sides, answers, strict=True):
        if not 0 < np.average(yes, weights=side.weights) < 1 if len(yes) else True:
            curves.append((0.5,) * len(_AUC_SHARES))  # one class teaches nothing
            continue
        penalties = [share * top * side.weights.sum() for share in _AUC_SHARES]
        betas = logistic_lasso(design, side.codes, side.weights, side.weights * yes, penalties)
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # sorting a million scores is most of the work
            curves.append(tuple(pool.map(area, betas)))
    return Path(penalties=tuple(share * top for share in _AUC_SHARES), real=curves[0], synthetic=curves[1]), event.says


@measures(LASSO_AUC, "target", "positive", place=24)
def lasso_auc(real: Source, synthetic: Source, *, target: str, positive: str | None = None) -> Score:
    """Mean |difference of the curves|; the breakdown has both curves."""
    path, question = lasso_auc_path(real, synthetic, target=target, positive=positive)
    return LASSO_AUC.score(
        path.gap,
        path.parts,
        note=f"Question: {question}. Best area on real rows: {max(path.real):.4f} trained on real rows, "
        f"{max(path.synthetic):.4f} on synthetic ones.",
    )
