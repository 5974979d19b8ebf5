"""Choosing a rank or a penalty by aggregates that the fit did not see."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from understudy.errors import DataError
from understudy.reconstruct.grams import Floats
from understudy.reconstruct.sketch import Sketch

T = TypeVar("T")
_ONE_BY_ONE = 20
_FOLDS = 10


def folds_of(sketch: Sketch) -> npt.NDArray[np.int64]:
    """A fold for every group, by the order of the figures, so that it does not matter how groups are listed."""
    p = len(sketch.targets)
    if p < 3:
        raise DataError(
            f"there are {p} groups; choosing by held-out aggregates needs 3 or more. Give the number yourself."
        )
    count = p if p <= _ONE_BY_ONE else _FOLDS
    order = np.lexsort(sketch.means.T[::-1].tolist() + sketch.targets.T[::-1].tolist())
    folds = np.empty(p, dtype=np.int64)
    folds[order] = np.arange(p) % count
    return folds


def choose(sketch: Sketch, candidates: Sequence[T], fit: Callable[[Sketch, T], Floats]) -> tuple[T, dict[str, float]]:
    """The candidate whose slopes predict held-out averages best (weighted squares), and the scores of all."""
    folds = folds_of(sketch)
    weights = 1.0 / sketch.groups.diagonal
    scores = []
    for candidate in candidates:
        lost = 0.0
        for fold in range(int(folds.max()) + 1):
            out = folds == fold
            beta = fit(sketch.part(~out), candidate)
            lost += float((weights[out, None] * (sketch.targets[out] - sketch.means[out] @ beta) ** 2).sum())
        scores.append(lost / float(weights.sum()))
    best = int(np.argmin(scores))
    return candidates[best], {str(item): score for item, score in zip(candidates, scores, strict=True)}
