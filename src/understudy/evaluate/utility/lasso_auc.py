"""Logistic Lasso on dummies: area under the ROC curve on the real table along the path (lugs.txt figure 7, bottom)."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.dummies import auc, logistic_lasso
from understudy.evaluate.utility.lasso import SHARES, Path, largest_penalty, prepare
from understudy.evaluate.values import event_of
from understudy.sources.base import Source

METRIC = Metric(
    name="lasso_auc",
    goal="minimize",
    lowest=0.0,
    highest=1.0,
    room="utility",
    says="How far the area under the ROC curve on real rows of a logistic Lasso trained on synthetic rows lies from "
    "that of one trained on real rows, averaged over the path.",
)
_SHARES = SHARES[:7]


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
            curves.append((0.5,) * len(_SHARES))  # one class teaches nothing
            continue
        penalties = [share * top * side.weights.sum() for share in _SHARES]
        betas = logistic_lasso(design, side.codes, side.weights, side.weights * yes, penalties)
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # sorting a million scores is most of the work
            curves.append(tuple(pool.map(area, betas)))
    return Path(penalties=tuple(share * top for share in _SHARES), real=curves[0], synthetic=curves[1]), event.says


def lasso_auc(real: Source, synthetic: Source, *, target: str, positive: str | None = None) -> Score:
    """Mean |difference of the curves|; the breakdown has both curves."""
    path, asked = lasso_auc_path(real, synthetic, target=target, positive=positive)
    gaps = np.abs(np.array(path.real) - np.array(path.synthetic))
    return Score(
        metric=METRIC.name,
        value=float(gaps.mean()),
        breakdown=path.parts,
        note=f"Question: {asked}. Best area on real rows: {max(path.real):.4f} trained on real rows, "
        f"{max(path.synthetic):.4f} on synthetic ones.",
    )
