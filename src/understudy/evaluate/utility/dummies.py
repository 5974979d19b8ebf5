"""Linear models on dummy-coded columns, fitted from counts of distinct records.

The normal matrix of dummies is made of two-way tables, so that a million rows cost what counting costs; nothing is ever
laid out row by dummy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook
from understudy.compiled import kernel

__all__ = ["Design", "affordable", "auc", "lasso", "logistic_lasso", "logistic_newton", "normal_matrix"]

Floats = npt.NDArray[np.float64]
_MOST_LEVELS = 1_000
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """Which dummies there are: an intercept, and every level of every column but one."""

    sizes: tuple[int, ...]
    kept: Ints
    """Positions among (intercept, all levels of all columns) that have a coefficient."""

    @classmethod
    def of(cls, margins: Sequence[npt.NDArray[Any]]) -> "Design":
        """From one-way weights: levels without weight have no dummy, the heaviest level of each column is the base."""
        kept, start = [0], 1
        for margin in margins:
            kept += [start + int(level) for level in np.flatnonzero(margin) if level != int(np.argmax(margin))]
            start += len(margin)
        return cls(sizes=tuple(len(margin) for margin in margins), kept=np.array(kept, dtype=np.int64))

    @property
    def starts(self) -> Ints:
        """Position of the first level of each column."""
        return np.concatenate([[1], 1 + np.cumsum(self.sizes)]).astype(np.int64)

    def scores(self, codes: Ints, beta: Floats) -> Floats:
        """Linear predictor of each record."""
        full = np.zeros(1 + sum(self.sizes))
        full[self.kept] = beta
        eta = np.full(len(codes), full[0])
        for position, start in enumerate(self.starts[:-1]):
            eta += full[start + codes[:, position]]
        return eta


def affordable(book: Codebook, names: Sequence[str]) -> tuple[str, ...]:
    """The columns that may have dummies: the smallest ones, up to 1,000 levels in all, in their order."""
    kept, total = set(), 0
    for name in sorted(names, key=lambda name: (book.column(name).size, name)):
        total += book.column(name).size
        if total <= _MOST_LEVELS:
            kept.add(name)
    return tuple(name for name in names if name in kept)


def normal_matrix(design: Design, codes: Ints, weights: Floats) -> Floats:
    """X'WX by counting pairs of codes in one pass."""
    lower = np.zeros((1 + sum(design.sizes), 1 + sum(design.sizes)))
    _count_pairs(codes, design.starts, weights, lower)
    full = lower + lower.T - np.diag(np.diag(lower))
    return np.asarray(full[np.ix_(design.kept, design.kept)])


def moments(design: Design, codes: Ints, values: Floats) -> Floats:
    """X' values."""
    parts = [np.array([values.sum()])]
    parts += [np.bincount(codes[:, j], values, minlength=size) for j, size in enumerate(design.sizes)]
    return np.asarray(np.concatenate(parts)[design.kept])


def logistic_newton(design: Design, codes: Ints, weights: Floats, yes: Floats, *, steps: int = 25) -> Floats:
    """Coefficients of greatest likelihood; ``yes`` is how much of each record's weight answers yes.

    Where a level answers only yes or only no, its coefficient has no finite optimum: the steps end when the likelihood
    stops rising, with a fitted chance next to 0 or 1 that no longer changes.
    """
    beta = np.zeros(len(design.kept))
    share = yes.sum() / weights.sum()
    beta[0] = np.log(share / (1 - share))
    best = _likelihood(design.scores(codes, beta), weights, yes)
    for _ in range(steps):
        p = _chance(design.scores(codes, beta))
        hessian = normal_matrix(design, codes, weights * p * (1 - p))
        hessian[np.diag_indices_from(hessian)] += 1e-9 * weights.sum()  # keeps repeated columns solvable
        step = np.linalg.solve(hessian, moments(design, codes, yes - weights * p))
        for _ in range(30):
            reached = _likelihood(design.scores(codes, beta + step), weights, yes)
            if reached >= best:
                break
            step = step / 2
        else:
            return beta
        beta, gain, best = beta + step, reached - best, reached
        if gain <= 1e-7 * abs(best):
            return beta
    return beta


def lasso(gram: Floats, moment: Floats, penalty: float, start: Floats) -> Floats:
    """argmin b'Gb / 2 - m'b + penalty * sum |b_j|, the intercept (first) free, by coordinate descent from ``start``."""
    beta = start.copy()
    _descend(gram, moment, penalty, beta, 2_000, 1e-7)
    return beta


def logistic_lasso(
    design: Design, codes: Ints, weights: Floats, yes: Floats, penalties: Sequence[float], *, steps: int = 20
) -> list[Floats]:
    """One set of coefficients per penalty (falling), each started from the last: penalised reweighted least squares."""
    share = yes.sum() / weights.sum()
    beta = np.zeros(len(design.kept))
    beta[0] = np.log(share / (1 - share))
    path = []
    for penalty in penalties:
        for _ in range(steps):
            eta = design.scores(codes, beta)
            p = _chance(eta)
            v = np.maximum(weights * p * (1 - p), 1e-9 * weights)
            gram = normal_matrix(design, codes, v)
            new = lasso(gram, moments(design, codes, v * eta + yes - weights * p), penalty, beta)
            moved = float(np.abs(new - beta).max())
            beta = new
            if moved < 1e-3:  # Newton steps: the next one would be about its square
                break
        path.append(beta)
    return path


def auc(score: Floats, yes: Floats, no: Floats) -> float:
    """Chance that a yes scores above a no, ties counted half; ``yes`` and ``no`` are weights per record.

    >>> auc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([0, 1, 0, 1.0]), np.array([1, 0, 1, 0.0]))
    0.875
    """
    _, place = np.unique(score, return_inverse=True)
    ups, downs = np.bincount(place, yes), np.bincount(place, no)
    below = np.cumsum(downs) - downs / 2
    return float((ups * below).sum() / (ups.sum() * downs.sum()))


def _chance(eta: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(eta, -500, 500))))


def _likelihood(eta: Floats, weights: Floats, yes: Floats) -> float:
    return float((yes * eta - weights * np.logaddexp(0, eta)).sum())


@kernel
def _count_pairs(codes: Ints, starts: Ints, weights: Floats, lower: Floats) -> None:
    for row in range(len(codes)):
        weight = weights[row]
        lower[0, 0] += weight
        for j in range(codes.shape[1]):
            here = starts[j] + codes[row, j]
            lower[here, 0] += weight
            for k in range(j + 1):
                lower[here, starts[k] + codes[row, k]] += weight


@kernel
def _descend(gram: Floats, moment: Floats, penalty: float, beta: Floats, sweeps: int, tolerance: float) -> None:
    pull = moment - gram @ beta
    for _ in range(sweeps):
        most = 0.0
        for j in range(len(beta)):
            if gram[j, j] <= 0.0:
                continue
            old = beta[j]
            target = pull[j] + gram[j, j] * old
            if j > 0:
                target = max(target - penalty, 0.0) - max(-target - penalty, 0.0)
            new = target / gram[j, j]
            if new != old:
                for k in range(len(beta)):
                    pull[k] -= gram[k, j] * (new - old)
                beta[j] = new
                most = max(most, abs(new - old))
        if most < tolerance:
            break
