"""Methods that are one small least-squares problem: ecological regression, on principal components, and shrunken.

Each gives the slopes ``beta`` of the common form ``X beta + A+(s - A X beta)``; Moore-Penrose is ``beta = 0``.
"""

import numpy as np

from understudy.parameters import Whole
from understudy.reconstruct.grams import Floats
from understudy.reconstruct.sketch import Sketch


def pinv(matrix: Floats) -> Floats:
    """Pseudo-inverse of a small symmetric matrix."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    kept = values > 1e-13 * max(float(np.abs(values).max(initial=0.0)), 1e-300)
    inverse: Floats = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return inverse


def weighted_regression(sketch: Sketch, *, weights: str = "wls") -> Floats:
    """Ecological regression (Z'WZ)^-1 Z'W s, through the least-squares problem itself (no squared condition number).

    ``wls``: W = K+, the inverse covariance of averages of independent individuals (generalised least squares where
    levels are stacked), with the sketch's noise added to K; ``ols``: W = I, the dissertation's own.
    """
    left, right = _whitened(sketch, weights)
    return np.asarray(np.linalg.lstsq(left, right, rcond=1e-12)[0], dtype=np.float64)


def _whitened(sketch: Sketch, weights: str) -> tuple[Floats, Floats]:
    if weights == "ols":
        return sketch.means, sketch.targets
    groups = sketch.groups if sketch.noise is None else sketch.groups.plus(sketch.noise)
    root = np.sqrt(groups.inverses)[:, None]
    return root * groups.turn(sketch.means), root * groups.turn(sketch.targets)


def principal_regression(sketch: Sketch, *, rank: int, weights: str = "wls") -> Floats:
    """Ecological regression on the ``rank`` leading principal components of the individuals' columns (PC-ER).

    The components come from n individuals, so they are known well; only ``rank`` slopes are left to the p averages.
    """
    Whole(most=sketch.columns - (sketch.intercept is not None)).check("rank", rank)
    others = [j for j in range(sketch.columns) if j != sketch.intercept]
    inner = sketch.gram[np.ix_(others, others)]
    if sketch.intercept is not None:  # about the means
        sums = sketch.gram[others, sketch.intercept]
        inner = inner - np.outer(sums, sums) / sketch.gram[sketch.intercept, sketch.intercept]
    _, vectors = np.linalg.eigh((inner + inner.T) / 2)
    turn = np.zeros((sketch.columns, rank + (sketch.intercept is not None)))
    turn[others, :rank] = vectors[:, ::-1][:, :rank]
    if sketch.intercept is not None:
        turn[sketch.intercept, rank] = 1.0
    left, right = _whitened(sketch, weights)
    scores: Floats = turn @ np.linalg.lstsq(left @ turn, right, rcond=1e-12)[0]
    return scores


def shrunken_regression(sketch: Sketch, *, penalty: float) -> Floats:
    """Generalised least squares with slopes pulled towards 0 by ``penalty`` (ridge); the constant is free.

    Minimises (s - Z b)'W(s - Z b) + penalty * n * |b|^2, the slopes measured in units of their column's spread.
    """
    if penalty == 0:
        return weighted_regression(sketch)
    left, right = _whitened(sketch, "wls")
    inner = left.T @ left
    spread = np.diagonal(sketch.gram).copy()
    if sketch.intercept is not None:
        spread = spread - sketch.gram[:, sketch.intercept] ** 2 / sketch.gram[sketch.intercept, sketch.intercept]
        spread[sketch.intercept] = 0.0
    solved: Floats = pinv(inner + penalty * np.diag(spread)) @ (left.T @ right)
    return solved
