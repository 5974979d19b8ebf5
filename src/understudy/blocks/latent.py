"""Latent classes fitted to noisy tables: a mixture of a few classes, within each of which columns are independent.

All measured tables of a file come from one distribution. A mixture with K classes explains every one- and two-way
table with the same few numbers, so noise that the tables do not share averages out, and pairs that were not measured
are predicted from those that were. The fit minimises

    sum over tables of |noisy - mixture|^2 / (2 variance)  +  penalty / 2 * sum_k w_k |z_k|^2,

the second term a Gaussian prior on how far the log-odds z of a class lie from those of the whole (a most probable
mixture, not a certain one: ``weights`` and ``levels`` of several starts are simply pooled). Everything here works on
numbers that are already paid for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from understudy.compiled import kernel

Values = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Pair = tuple[int, int]
_STEP, _SPREAD = 0.05, 0.3
_FORGET, _FORGET_SQUARE = 0.9, 0.99  # Adam
_CELLS = 400_000
"""Cells of residuals kept at once: fits are made side by side while their tables are small."""
_NEWS, _BLOCK = 20, 192
"""Steps between reports, and groups of residuals that stay in the cache."""
_FINEST = 1e14
"""Precision of shares beyond which rounding in single precision is larger than the noise."""
_LEAST = 1e-6
"""Share below which a level's log-odds are not followed further."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LatentClasses:
    """Shares of the classes, and for every column the shares of its levels within each class."""

    weights: Values
    levels: Sequence[Values]

    def one_way(self, column: int) -> Values:
        """Shares of a column's levels."""
        shares: Values = self.weights @ self.levels[column]
        return shares

    def two_way(self, first: int, second: int) -> Values:
        """Shares of the cells of a pair."""
        shares: Values = (self.levels[first] * self.weights[:, None]).T @ self.levels[second]
        return shares

    def three_way(self, first: int, second: int, third: int) -> Values:
        """Shares of the cells of a triple."""
        left = (self.levels[first] * self.weights[:, None])[:, :, None] * self.levels[second][:, None, :]
        shares: Values = np.tensordot(left, self.levels[third], axes=(0, 0))
        return shares

    @classmethod
    def pooled(cls, parts: Sequence["LatentClasses"]) -> "LatentClasses":
        """Several mixtures of equal right as one."""
        return cls(
            weights=np.concatenate([part.weights for part in parts]) / len(parts),
            levels=[np.concatenate(columns) for columns in zip(*(part.levels for part in parts), strict=True)],
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyTables:
    """What was measured, as shares of the whole, with the precision (1 / variance) of every table's cells."""

    ones: Sequence[Values]
    one_precision: Sequence[float]
    pairs: Mapping[Pair, Values]
    """Without what the margins explain, on merged levels: ``merged[column][level]`` is the group of a level."""
    pair_precision: Mapping[Pair, float]
    merged: Sequence[npt.NDArray[np.int64]]


class _Problem:
    """All tables side by side: one square matrix over the groups of all columns, so that a step is two products."""

    def __init__(self, tables: NoisyTables) -> None:
        self.sizes = np.array([len(shares) for shares in tables.ones])
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        counts = [int(of.max()) + 1 for of in tables.merged]
        places = np.concatenate([[0], np.cumsum(counts)])
        self.group = np.concatenate([of + place for of, place in zip(tables.merged, places, strict=False)])
        self.group_sizes, self.group_starts = np.array(counts), places[:-1]
        self.order = np.argsort(self.group, kind="stable")
        self.first = np.searchsorted(self.group[self.order], np.arange(places[-1]))
        # single precision is ample beside the noise, and everything is half as long
        self.one = np.concatenate(tables.ones).astype(np.float32)
        self.one_precision = np.minimum(np.repeat(tables.one_precision, self.sizes), _FINEST).astype(np.float32)
        self.pair = np.zeros((places[-1], places[-1]), dtype=np.float32)
        self.pair_precision = np.zeros_like(self.pair)
        for (i, j), table in tables.pairs.items():
            a, b = slice(places[i], places[i + 1]), slice(places[j], places[j + 1])
            self.pair[a, b], self.pair[b, a] = table, table.T
            self.pair_precision[a, b] = self.pair_precision[b, a] = min(tables.pair_precision[i, j], _FINEST)

    @property
    def width(self) -> int:
        """Groups of all columns together."""
        return len(self.first)

    def by_column(self, values: Singles) -> Singles:
        """Sums over the levels of every column, repeated for each level."""
        sums: Singles = np.repeat(np.add.reduceat(values, self.starts, axis=-1), self.sizes, axis=-1)
        return sums

    def shares(self, odds: Singles) -> Singles:
        """Softmax of every column, class by class."""
        risen: Singles = odds - np.repeat(np.maximum.reduceat(odds, self.starts, axis=-1), self.sizes, axis=-1)
        np.exp(risen, out=risen)
        np.maximum(risen, 1e-30, out=risen)  # never denormal: those are slow
        risen /= self.by_column(risen)
        return risen

    def slopes(self, weights: Singles, levels: Singles) -> tuple[Singles, Singles]:
        """Derivatives of the misfit by the weights, and by the levels divided by their class's weight."""
        merged = np.add.reduceat(levels[..., self.order], self.first, axis=-1)
        # interactions of a mixture are products of centred shares
        means = np.add.reduceat(merged, self.group_starts, axis=-1) / self.group_sizes.astype(np.float32)
        merged -= np.repeat(means, self.group_sizes, axis=-1)
        pulled = self._pulled(weights, merged)
        missed = ((weights[..., None, :] @ levels) - self.one) * self.one_precision
        by_weight = 0.5 * (pulled * merged).sum(axis=-1) + (levels * missed).sum(axis=-1)
        return by_weight, pulled[..., self.group] + missed

    def _pulled(self, weights: Singles, shares: Singles) -> Singles:
        """The centred shares times what the pairs miss, a symmetric matrix: only what is right of a block is made."""
        weighed = (shares * weights[..., None]).swapaxes(-1, -2)
        pulled = np.zeros_like(shares)
        for start in range(0, self.width, _BLOCK):
            end = min(start + _BLOCK, self.width)
            missed = weighed[..., start:end, :] @ shares[..., start:]
            missed -= self.pair[start:end, start:]
            missed *= self.pair_precision[start:end, start:]
            pulled[..., start:] += shares[..., start:end] @ missed
            if end < self.width:
                pulled[..., start:end] += shares[..., end:] @ missed[..., end - start :].swapaxes(-1, -2)
        return pulled


def fit_classes(
    tables: NoisyTables,
    base: Sequence[Values],
    *,
    classes: int,
    fits: int,
    penalty: float,
    iterations: int,
    generator: np.random.Generator,
    report: Callable[[int, int], None] | None = None,
) -> LatentClasses:
    """Mixtures from ``fits`` random starts near independence, pooled; ``base`` are plausible one-way shares."""
    problem = _Problem(tables)
    odds = np.log(np.maximum(np.concatenate([shares / shares.sum() for shares in base]), _LEAST))
    together = max(1, _CELLS // problem.width**2)
    parts: list[LatentClasses] = []
    with threadpool_limits(1):  # threads would mostly wait for each other: small products, many steps
        while len(parts) < fits:
            start = generator.normal(0.0, _SPREAD, (min(together, fits - len(parts)), classes, len(odds)))
            done = len(parts) * iterations
            tell = None if report is None else partial(_tell, report, done, fits, iterations, len(start))
            parts += _fitted(
                problem,
                odds.astype(np.float32),
                start.astype(np.float32),
                penalty=penalty,
                iterations=iterations,
                tell=tell,
            )
    return LatentClasses.pooled(parts)


def _tell(report: Callable[[int, int], None], done: int, fits: int, iterations: int, side: int, step: int) -> None:
    report(done + side * step, fits * iterations)


def _fitted(
    problem: _Problem,
    odds: Singles,
    start: Singles,
    *,
    penalty: float,
    iterations: int,
    tell: Callable[[int], None] | None,
) -> list[LatentClasses]:
    """Several fits side by side: fit x class x level."""
    rise = _Descent(np.zeros(start.shape[:2], dtype=np.float32))
    shift = _Descent(start)
    for step in range(iterations):
        weights, levels = _softmax(rise.value), problem.shares(odds + shift.value)
        by_weight, slope = problem.slopes(weights, levels)
        slope *= levels
        levels *= problem.by_column(slope)
        slope -= levels
        slope += np.float32(penalty) * shift.value
        slope *= weights[..., None]
        length = _STEP * min(1.0, 3 * (1 - step / iterations))
        rise.move(weights * (by_weight - (weights * by_weight).sum(axis=-1, keepdims=True)), length)
        shift.move(slope, length)
        if tell and (step + 1) % _NEWS == 0:
            tell(step + 1)
    levels = problem.shares(odds + shift.value).astype(np.float64)
    return [
        LatentClasses(
            weights=weights / weights.sum(),
            levels=[
                shares / shares.sum(axis=1, keepdims=True) for shares in np.split(part, problem.starts[1:], axis=1)
            ],
        )
        for weights, part in zip(_softmax(rise.value).astype(np.float64), levels, strict=True)
    ]


class _Descent:
    """Steps down a slope whose scale differs from number to number (Adam)."""

    def __init__(self, value: Singles) -> None:
        self.value = value
        self._steps = 0
        self._mean, self._square = np.zeros_like(value), np.zeros_like(value)

    def move(self, slope: Singles, length: float) -> None:
        self._steps += 1
        value, mean, square = self.value.reshape(-1), self._mean.reshape(-1), self._square.reshape(-1)
        rate, unseen = length / (1 - _FORGET**self._steps), 1 / (1 - _FORGET_SQUARE**self._steps)
        _move(value, mean, square, slope.reshape(-1), np.float32(rate), np.float32(unseen))


_NEW, _NEW_SQUARE, _TINY = np.float32(1 - _FORGET), np.float32(1 - _FORGET_SQUARE), np.float32(1e-12)


@kernel
def _move(value: Any, mean: Any, square: Any, slope: Any, rate: Any, unseen: Any) -> None:
    """One step of every number, in one pass: ``value``, ``mean`` and ``square`` are changed."""
    for place in range(len(value)):
        mean[place] += _NEW * (slope[place] - mean[place])
        square[place] += _NEW_SQUARE * (slope[place] * slope[place] - square[place])
        value[place] -= rate * mean[place] / (np.sqrt(square[place] * unseen) + _TINY)


def _softmax(values: Singles) -> Singles:
    risen = np.exp(values - values.max(axis=-1, keepdims=True))
    shares: Singles = risen / risen.sum(axis=-1, keepdims=True)
    return shares
