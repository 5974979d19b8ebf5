"""Linear models on dummy-coded columns, fitted from counts of distinct records.

The normal matrix of dummies is made of two-way tables, so that a million rows cost what counting costs; nothing is ever
laid out row by dummy. Passes over the records run on all cores, in blocks whose sums are added in one order: the number
of cores changes no digit.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook
from understudy.compiled import kernel

Floats = npt.NDArray[np.float64]
MOST_LEVELS = 1_000
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.integer[Any]]
"""Codes of whatever width they were counted in: narrow ones are quicker to read."""
_BLOCK = 1 << 17
T = TypeVar("T")


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

    @classmethod
    def every_level(cls, sizes: Sequence[int]) -> "Design":
        """A dummy for every level, none of them the base: for penalties that treat all levels alike."""
        return cls(sizes=tuple(sizes), kept=np.arange(1 + sum(sizes)))

    def spread(self, beta: Floats) -> Floats:
        """Coefficients of the intercept and of every level, 0 where there is no dummy."""
        full = np.zeros(1 + sum(self.sizes))
        full[self.kept] = beta
        return full

    def scores(self, codes: Codes, beta: Floats) -> Floats:
        """Linear predictor of each record."""
        full, starts, eta = self.spread(beta), self.starts, np.empty(len(codes))
        _in_blocks(len(codes), lambda part: _predict(codes[part], starts, full, eta[part]))
        return eta


def affordable(book: Codebook, names: Sequence[str]) -> tuple[str, ...]:
    """The columns that may have dummies: the smallest ones, up to 1,000 levels in all, in their order."""
    kept, total = set(), 0
    for name in sorted(names, key=lambda name: (book.column(name).size, name)):
        total += book.column(name).size
        if total <= MOST_LEVELS:
            kept.add(name)
    return tuple(name for name in names if name in kept)


def normal_matrix(design: Design, codes: Codes, weights: Floats) -> Floats:
    """X'WX by counting pairs of codes in one pass."""
    width, starts = 1 + sum(design.sizes), design.starts

    def counted(part: slice) -> Floats:
        lower = np.zeros((width, width))
        _count_pairs(codes[part], starts, weights[part], lower)
        return lower

    return _both_halves(design, _added(_in_blocks(len(codes), counted)))


def _both_halves(design: Design, lower: Floats) -> Floats:
    full = lower + lower.T - np.diag(np.diag(lower))
    return np.asarray(full[np.ix_(design.kept, design.kept)])


def moments(design: Design, codes: Codes, values: Floats) -> Floats:
    """X' values."""
    parts = [np.array([values.sum()])]
    parts += [np.bincount(codes[:, j], values, minlength=size) for j, size in enumerate(design.sizes)]
    return np.asarray(np.concatenate(parts)[design.kept])


@dataclass(frozen=True, kw_only=True, eq=False)
class _Slope:
    """The log likelihood of a logistic model at some coefficients, its gradient, and minus its second derivative."""

    likelihood: float
    gradient: Floats
    curvature: Floats


def _slope(design: Design, codes: Codes, weights: Floats, yes: Floats, beta: Floats) -> _Slope:
    """One pass over the records. ``yes`` is how much of each record's weight answers yes."""
    width, starts, full = 1 + sum(design.sizes), design.starts, design.spread(beta)

    def summed(part: slice) -> Floats:
        lower = np.zeros((width + 1, width))  # the last line is the gradient
        reached = _climb(codes[part], starts, full, weights[part], yes[part], lower)
        return np.append(lower.ravel(), reached)

    sums = _added(_in_blocks(len(codes), summed))
    lower = sums[:-1].reshape(width + 1, width)
    return _Slope(
        likelihood=float(sums[-1]), gradient=lower[-1, design.kept], curvature=_both_halves(design, lower[:-1])
    )


def logistic_newton(
    design: Design, codes: Codes, weights: Floats, yes: Floats, *, ridge: float = 0.0, steps: int = 25
) -> Floats:
    """Coefficients of greatest likelihood, less ``ridge`` / 2 times the squares of all but the intercept.

    ``yes`` is how much of each record's weight answers yes. Where a level answers only yes or only no and there is no
    ridge, its coefficient has no finite optimum: the steps end when the likelihood stops rising, with a fitted chance
    next to 0 or 1 that no longer changes.
    """
    beta = np.zeros(len(design.kept))
    share = yes.sum() / weights.sum()
    beta[0] = np.log(share / (1 - share))
    toll = np.full(len(beta), ridge)
    toll[0] = 0.0
    here = _slope(design, codes, weights, yes, beta)
    best = here.likelihood
    for _ in range(steps):
        hessian = here.curvature
        hessian[np.diag_indices_from(hessian)] += toll + 1e-9 * weights.sum()  # keeps repeated columns solvable
        step = np.linalg.solve(hessian, here.gradient - toll * beta)
        for _ in range(30):
            there = _slope(design, codes, weights, yes, beta + step)
            reached = there.likelihood - float(toll @ (beta + step) ** 2) / 2
            if reached >= best:
                break
            step = step / 2
        else:
            return beta
        beta, gain, best, here = beta + step, reached - best, reached, there
        if gain <= 1e-7 * abs(best):
            return beta
    return beta


def lasso(gram: Floats, moment: Floats, penalty: float, start: Floats) -> Floats:
    """argmin b'Gb / 2 - m'b + penalty * sum |b_j|, the intercept (first) free, by coordinate descent from ``start``."""
    beta = start.copy()
    _descend(gram, moment, penalty, beta, 2_000, 1e-7)
    return beta


def logistic_lasso(
    design: Design, codes: Codes, weights: Floats, yes: Floats, penalties: Sequence[float], *, steps: int = 20
) -> list[Floats]:
    """One set of coefficients per penalty (falling), each started from the last: penalised reweighted least squares."""
    share = yes.sum() / weights.sum()
    beta = np.zeros(len(design.kept))
    beta[0] = np.log(share / (1 - share))
    path = []
    for penalty in penalties:
        for _ in range(steps):
            here = _slope(design, codes, weights, yes, beta)
            new = lasso(here.curvature, here.gradient + here.curvature @ beta, penalty, beta)
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


def _in_blocks(rows: int, work: Callable[[slice], T]) -> list[T]:
    """``work`` of every block of records, in order, on all cores."""
    parts = [slice(start, min(start + _BLOCK, rows)) for start in range(0, rows, _BLOCK)] or [slice(0, 0)]
    if len(parts) == 1:
        return [work(parts[0])]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, parts))


def _added(parts: Sequence[Floats]) -> Floats:
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


@kernel
def _predict(codes: Codes, starts: Ints, full: Floats, eta: Floats) -> None:
    for row in range(len(codes)):
        eta[row] = full[0]
        for j in range(codes.shape[1]):
            eta[row] += full[starts[j] + codes[row, j]]


@kernel
def _climb(codes: Codes, starts: Ints, full: Floats, weights: Floats, yes: Floats, lower: Floats) -> float:
    """Adds the lower half of X'VX and, in the last line, X'(yes - Wp); gives the log likelihood."""
    reached = 0.0
    width = codes.shape[1]
    last = lower.shape[0] - 1
    places = np.empty(width, dtype=np.int64)
    for row in range(len(codes)):
        eta = full[0]
        for j in range(width):
            places[j] = starts[j] + codes[row, j]
            eta += full[places[j]]
        eta = min(max(eta, -500.0), 500.0)
        p = 1.0 / (1.0 + np.exp(-eta))
        weight = weights[row]
        reached += yes[row] * eta - weight * (np.log1p(np.exp(-abs(eta))) + max(eta, 0.0))
        rest = yes[row] - weight * p
        v = weight * max(p * (1.0 - p), 1e-9)
        lower[0, 0] += v
        lower[last, 0] += rest
        for j in range(width):
            here = places[j]
            lower[here, 0] += v
            lower[last, here] += rest
            for k in range(j + 1):
                lower[here, places[k]] += v
    return reached


@kernel
def _count_pairs(codes: Codes, starts: Ints, weights: Floats, lower: Floats) -> None:
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
