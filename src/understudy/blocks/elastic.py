"""Multinomial logistic regression with an elastic net on coded columns, and its tuning by cross-validation.

A record activates one level of every predictor, so a linear predictor is a sum of table rows and the compiled loop
below only gathers and scatters them. The penalty is ``strength (mixing |w|_1 + (1 - mixing) |w|^2 / 2)`` beside the
mean log-loss [ZH05]; it keeps the coefficients of a perfectly separable regression finite, and makes those of collinear
columns unique. The solver is FISTA with restart [BT09, OC15]. Its steps are scaled by how often a level occurs: with k
active features per record, ``x x' <= k diag(x^2)``, and the Hessian of a softmax is at most 1/2 [Boehning92].
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.blocks.keys import Codes
from understudy.codebook import Column, Dates, Number, Ordinal
from understudy.compiled import kernel

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

TUNING_ROWS = 10_000
FOLDS = 3
MIXINGS = (0.1, 0.9)
PATH_STEPS = 8
_PATH_END = 1e-4
_ONE_HOT_LEVELS = 64  # a number of more bins enters by its score alone
_THREAD_WORK = 1 << 19


@dataclass(frozen=True, kw_only=True)
class Penalty:
    """The elastic net of one regression."""

    strength: float
    mixing: float


class Design:
    """How the codes of the predictors enter: one indicator per level, and a score for columns that have an order."""

    def __init__(self, columns: Sequence[Column]) -> None:
        sizes = np.array([column.size for column in columns], dtype=np.int64)
        self.offsets = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)
        self.length = int(sizes.sum())
        scored = [position for position, column in enumerate(columns) if has_score(column)]
        self.scores = np.zeros((self.length, len(scored)))
        self.indicator = np.ones(self.length, dtype=bool)
        for place, position in enumerate(scored):
            start = self.offsets[position]
            self.scores[start : start + sizes[position], place] = level_scores(columns[position])
            self.indicator[start : start + sizes[position]] = sizes[position] <= _ONE_HOT_LEVELS
        dense = sum(bool(self.indicator[start]) for start in self.offsets)
        self.active = 1 + dense + len(scored)
        """Features that are not zero in a record, the constant included."""

    def places(self, columns: Sequence[Codes]) -> Places:
        """Row of the table of effects that each record reads, for each predictor."""
        stacked = np.stack([np.asarray(column, dtype=np.int64) for column in columns], axis=1)
        return np.ascontiguousarray(stacked + self.offsets)


def has_score(column: Column) -> bool:
    """Whether the levels have an order."""
    return isinstance(column, Ordinal | Number | Dates)


def level_scores(column: Column) -> Floats:
    """Public scores of the levels of an ordered column, with mean 0 and mean square 1; a missing value scores 0."""
    proper = column.proper_levels
    if isinstance(column, Number):
        edges = np.array(column.float_edges)
        values = (edges[1:] + edges[:-1]) / 2
    else:
        values = np.arange(proper, dtype=np.float64)
    spread = float(values.std())
    standard = (values - values.mean()) / spread if spread > 0 else np.zeros(proper)
    return np.concatenate([standard, np.zeros(column.size - proper)])


@dataclass(frozen=True, kw_only=True, eq=False)
class Coefficients:
    """Parameters of one fit: constants, an effect per level, and a slope per score, each for every class."""

    constant: Floats
    effects: Floats
    slopes: Floats

    @classmethod
    def zero(cls, design: Design, shares: Floats) -> "Coefficients":
        """No effects; constants that predict ``shares``."""
        classes = len(shares)
        return cls(
            constant=np.log(np.maximum(shares, 1e-9)),
            effects=np.zeros((design.length, classes)),
            slopes=np.zeros((design.scores.shape[1], classes)),
        )

    def table(self, design: Design) -> Floats:
        """Effects with the scores folded in: a linear predictor is the constant plus one row per predictor."""
        return np.ascontiguousarray(self.effects + design.scores @ self.slopes)


def solve(
    design: Design,
    places: Places,
    target: npt.NDArray[np.int64],
    weights: Floats,
    penalty: Penalty,
    *,
    start: Coefficients,
    most: int,
    close: float,
) -> Coefficients:
    """Coefficients of one penalised fit; ``weights`` add up to 1."""
    often = np.bincount(places.ravel(), np.repeat(weights, places.shape[1]), minlength=design.length)
    scale = 0.5 * design.active
    steps = (
        np.full((1, 1), 1 / scale),
        np.where(design.indicator, 1 / (scale * np.maximum(often, 1e-9)), 0.0)[:, None],
        1 / (scale * np.maximum(often @ design.scores**2, 1e-9))[:, None],
    )
    sizes = (np.ones((1, 1)), np.sqrt(often)[:, None], np.sqrt(often @ design.scores**2)[:, None])
    shrink = (0.0, penalty.strength, penalty.strength)
    now = (start.constant[None, :], start.effects, start.slopes)
    ahead, momentum = now, 1.0
    with _row_threads(places, len(start.constant)) as gradient:
        for _ in range(most):
            constant, effects, slopes = ahead
            bias, table = gradient(constant[0], np.ascontiguousarray(effects + design.scores @ slopes), target, weights)
            slope = (bias[None, :], table, design.scores.T @ table)
            after = tuple(
                _shrunk(a - step * g, step * s * penalty.mixing, step * s * (1 - penalty.mixing))
                for a, step, g, s in zip(ahead, steps, slope, shrink, strict=True)
            )
            moved = tuple(b - a for a, b in zip(now, after, strict=True))
            # restart when the momentum points uphill, in the metric of the steps
            uphill = sum(
                float((((a - b) * m) / np.maximum(step, 1e-300))[np.broadcast_to(step > 0, m.shape)].sum())
                for a, b, m, step in zip(ahead, after, moved, steps, strict=True)
            )
            following = 1.0 if uphill > 0 else (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            carry = 0.0 if uphill > 0 else (momentum - 1) / following
            ahead = tuple(b + carry * m for b, m in zip(after, moved, strict=True))  # type: ignore[assignment]
            now, momentum = after, following  # type: ignore[assignment]
            if (
                max((float(np.abs(m * size).max()) if m.size else 0.0) for m, size in zip(moved, sizes, strict=True))
                < close
            ):
                break
    return Coefficients(constant=now[0][0], effects=now[1], slopes=now[2])


def _shrunk(values: Floats, lasso: Floats | float, ridge: Floats | float) -> Floats:
    """The proximal step of the elastic net."""
    return np.sign(values) * np.maximum(np.abs(values) - lasso, 0.0) / (1 + ridge)


class _row_threads:  # noqa: N801 - used like a function
    """The gradient over all records, by ranges of rows in threads."""

    def __init__(self, places: Places, classes: int) -> None:
        work = places.size * classes
        parts = min(os.cpu_count() or 1, max(1, work // _THREAD_WORK))
        self._ends = np.linspace(0, len(places), parts + 1).astype(int)
        self._places = places
        self._pool = ThreadPoolExecutor(parts) if parts > 1 else None

    def __enter__(self) -> Callable[..., tuple[Floats, Floats]]:
        return self._gradient

    def __exit__(self, *reason: object) -> None:
        if self._pool:
            self._pool.shutdown()

    def _gradient(
        self, constant: Floats, table: Floats, target: npt.NDArray[np.int64], weights: Floats
    ) -> tuple[Floats, Floats]:
        def part(number: int) -> tuple[Floats, Floats]:
            rows = slice(self._ends[number], self._ends[number + 1])
            bias, slope = np.zeros_like(constant), np.zeros_like(table)
            _gradient_of_rows(self._places[rows], constant, table, target[rows], weights[rows], bias, slope)
            return bias, slope

        numbers = range(len(self._ends) - 1)
        parts = list(self._pool.map(part, numbers)) if self._pool else [part(0)]
        return sum(bias for bias, _ in parts), sum(slope for _, slope in parts)  # type: ignore[return-value]


@kernel
def _gradient_of_rows(
    places: Places,
    constant: Floats,
    table: Floats,
    target: npt.NDArray[np.int64],
    weights: Floats,
    bias: Floats,
    slope: Floats,
) -> None:
    classes = len(constant)
    share = np.empty(classes)
    for row in range(len(places)):
        share[:] = constant
        for p in range(places.shape[1]):
            place = places[row, p]
            for c in range(classes):
                share[c] += table[place, c]
        top = share.max()
        total = 0.0
        for c in range(classes):
            share[c] = np.exp(share[c] - top)
            total += share[c]
        weight = weights[row]
        for c in range(classes):
            share[c] *= weight / total
        share[target[row]] -= weight
        for c in range(classes):
            bias[c] += share[c]
        for p in range(places.shape[1]):
            place = places[row, p]
            for c in range(classes):
                slope[place, c] += share[c]


def log_shares(constant: Floats, table: Floats, places: Places) -> Floats:
    """Logarithms of the predicted probabilities, one row per record."""
    logs = np.broadcast_to(constant, (len(places), len(constant))).copy()
    for p in range(places.shape[1]):
        logs += table[places[:, p]]
    logs -= logs.max(axis=1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    return logs


def tune(
    design: Design,
    places: Places,
    target: npt.NDArray[np.int64],
    classes: int,
    *,
    mixings: Sequence[float] = MIXINGS,
    tell: Callable[[], None] = lambda: None,
) -> Penalty:
    """The penalty with the smallest log-loss in cross-validation; rows are given in random order, one weight each.

    Each fold walks down one path of strengths per mixing, every fit starting from the one before.
    """
    rows = len(target)
    folds = np.arange(rows) % min(FOLDS, rows)
    losses = np.zeros((len(mixings), PATH_STEPS))
    shares = np.bincount(target, minlength=classes) / rows
    strongest = _strongest(design, places, target, shares)
    strengths = strongest * np.geomspace(1, _PATH_END, PATH_STEPS)
    for fold in range(folds.max() + 1):
        tell()
        kept, held = folds != fold, folds == fold
        weights = np.full(int(kept.sum()), 1 / max(kept.sum(), 1))
        if not kept.any() or not held.any():
            continue
        smoothed = (np.bincount(target[kept], minlength=classes) + 0.5) / (kept.sum() + 0.5 * classes)
        for m, mixing in enumerate(mixings):
            now = Coefficients.zero(design, smoothed)
            best = np.inf
            for s, strength in enumerate(strengths):
                now = solve(
                    design,
                    places[kept],
                    target[kept],
                    weights,
                    Penalty(strength=strength / mixing, mixing=mixing),
                    start=now,
                    most=40,
                    close=2e-3,
                )
                logs = log_shares(now.constant, now.table(design), places[held])
                loss = -float(logs[np.arange(len(logs)), target[held]].sum())
                losses[m, s] += loss
                best = min(best, loss)
                if loss > best * 1.02:  # further down the path it only fits the fold's noise
                    losses[m, s + 1 :] += loss
                    break
    m, s = divmod(int(losses.argmin()), PATH_STEPS)
    return Penalty(strength=float(strengths[s] / mixings[m]), mixing=float(mixings[m]))


def _strongest(design: Design, places: Places, target: npt.NDArray[np.int64], shares: Floats) -> float:
    """The smallest lasso that leaves every effect at zero."""
    table = np.zeros((design.length, len(shares)))
    bias = np.zeros(len(shares))
    weights = np.full(len(target), 1 / len(target))
    constant = np.log(np.maximum(shares, 1e-9))
    _gradient_of_rows(places, constant, table.copy(), target, weights, bias, table)
    slopes = design.scores.T @ table
    return float(max(np.abs(table[design.indicator]).max(initial=0), np.abs(slopes).max(initial=0), 1e-12))
