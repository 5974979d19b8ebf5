"""Measured marginals: what to measure with a given budget, and what the noisy answers most likely mean.

Everything here is arithmetic on public numbers and on results that are already paid for.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from understudy.mechanisms.gaussian_measurements import Meter
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable

__all__ = ["Groups", "MarginalFit", "choose_pairs", "denoised", "group_small", "on_simplex", "spread"]

Values = npt.NDArray[np.float64]
Pair = tuple[int, int]


def on_simplex(values: Values, total: float) -> Values:
    """The nearest non-negative values with this sum (Euclidean projection)."""
    flat = np.sort(values.ravel())[::-1]
    excess = np.cumsum(flat) - total
    count = np.arange(1, len(flat) + 1)
    last = int(np.max(count[flat - excess / count > 0], initial=1))
    nearest: Values = np.maximum(values - excess[last - 1] / last, 0.0)
    return nearest


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """Levels of one column merged for measuring: ``of[level]`` is its group."""

    of: npt.NDArray[np.int64]

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.of.max()) + 1

    def add_up(self, one: Values) -> Values:
        """Sums by group."""
        return np.bincount(self.of, weights=one, minlength=self.count).astype(np.float64)

    def shares(self, one: Values) -> Values:
        """Share of every level within its group."""
        totals = self.add_up(one)[self.of]
        sizes = np.bincount(self.of, minlength=self.count)[self.of]
        shares: Values = np.where(totals > 0, one / np.maximum(totals, 1e-300), 1 / sizes)
        return shares


def group_small(one: Values, least: float) -> Groups:
    """Levels below ``least`` share one group; the others keep their own."""
    small = one < least
    if small.sum() < 2:
        return Groups(of=np.arange(len(one)))
    of = np.empty(len(one), dtype=np.int64)
    of[~small] = np.arange(int((~small).sum()))
    of[small] = int((~small).sum())
    return Groups(of=of)


def _rank_error(first: int, second: int) -> float:
    """L1 error of a table of this shape per unit of noise, after keeping about two singular directions."""
    a, b = max(first, 2), max(second, 2)
    frobenius = math.sqrt(min((a - 1) * (b - 1), 2 * (a + b - 2)))
    return frobenius * math.sqrt(a * b)


def choose_pairs(
    gains: Mapping[Pair, float],
    shapes: Mapping[Pair, tuple[int, int]],
    *,
    variance: float,
    units: int,
    caution: float,
) -> dict[Pair, int]:
    """Which pairs to measure, and how many times each.

    Greedy: a pair is taken while the dependence it would show (``gains``, L1 in records) exceeds what it adds to the
    error of all pairs chosen so far. With errors c_p sigma_p and a fixed sum of 1/sigma_p^2 the best split of the
    budget has total error (sum c_p^(2/3))^(3/2) / sqrt(budget).
    """
    cost = {pair: caution * _rank_error(*shape) for pair, shape in shapes.items()}
    budget = units / variance
    chosen: list[Pair] = []
    waiting = sorted(gains)
    weight, error = 0.0, 0.0
    while waiting and len(chosen) < units:
        after = {pair: (weight + cost[pair] ** (2 / 3)) ** 1.5 / math.sqrt(budget) for pair in waiting}
        best = max(waiting, key=lambda pair: gains[pair] - after[pair])
        if gains[best] <= after[best] - error:
            break
        chosen.append(best)
        waiting.remove(best)
        weight += cost[best] ** (2 / 3)
        error = after[best]
    return _split(chosen, [cost[pair] ** (1 / 3) for pair in chosen], units)


def _split(pairs: Sequence[Pair], weights: Sequence[float], units: int) -> dict[Pair, int]:
    """Whole numbers of measurements in proportion to the weights, at least one each, at most ``units`` in all."""
    if not pairs:
        return {}
    total = sum(weights)
    spare = units - len(pairs)
    copies = {pair: 1 + int(spare * weight / total) for pair, weight in zip(pairs, weights, strict=True)}
    left = units - sum(copies.values())
    for pair in list(copies)[:left]:
        copies[pair] += 1
    return copies


def denoised(noisy: Values, expected: Values, deviation: float) -> Values:
    """A noisy two-way table as independence plus the part of the rest that stands out from the noise.

    The rest has noise of one known deviation in every cell, so its singular values are shrunk as Gavish and Donoho
    (2017) prove best in Frobenius norm: dependence between two columns usually lives in a few directions.
    """
    rest = noisy - expected
    rest = rest - rest.mean(axis=0) - rest.mean(axis=1, keepdims=True) + rest.mean()
    left, values, right = np.linalg.svd(rest, full_matrices=False)
    rows, columns = max(rest.shape[0] - 1, 1), max(rest.shape[1] - 1, 1)
    long, ratio = max(rows, columns), min(rows, columns) / max(rows, columns)
    unit = deviation * math.sqrt(long)
    scaled = values / unit
    inside = np.maximum((scaled**2 - ratio - 1) ** 2 - 4 * ratio, 0)
    kept = np.where(scaled > 1 + math.sqrt(ratio), np.sqrt(inside) / np.maximum(scaled, 1e-12), 0.0) * unit
    shown: Values = expected + (left * kept) @ right
    return shown


def spread(table: Values, groups: tuple[Groups, Groups], ones: tuple[Values, Values]) -> Values:
    """A table of groups back on levels, by the levels' shares within their groups."""
    first, second = groups
    full = table[np.ix_(first.of, second.of)]
    return full * first.shares(ones[0])[:, None] * second.shares(ones[1])[None, :]


@dataclass(kw_only=True)
class MarginalFit:
    """The state of one fit: what was measured so far, and how well it is known."""

    meter: Meter
    sizes: Sequence[int]
    workload: Sequence[float]
    raw: list[Values] = field(default_factory=list)
    """One-way tables as measured."""
    ones: list[Values] = field(default_factory=list)
    """One-way tables made plausible."""
    copies: list[int] = field(default_factory=list)
    total: float = 1.0
    groups: list[Groups] = field(default_factory=list)
    pairs: dict[Pair, Values] = field(default_factory=dict)
    pair_copies: dict[Pair, int] = field(default_factory=dict)

    def measure_ones(self, counts: Sequence[Secret[CountTable]], *, share: float) -> None:
        """All one-way tables, the larger ones more often, and the number of records from their sums."""
        weights = np.array([size ** (2 / 3) for size in self.sizes])
        budget = share * self.meter.event.units / self.meter.table_price
        self.copies = [max(1, int(budget * weight / weights.sum())) for weight in weights]
        self.raw = [self.meter.table(count, copies=n) for count, n in zip(counts, self.copies, strict=True)]
        trust = [n / size for n, size in zip(self.copies, self.sizes, strict=True)]
        self.total = max(1.0, float(np.average([one.sum() for one in self.raw], weights=trust)))
        self.ones = [on_simplex(one, self.total) for one in self.raw]

    def measure_pairs(
        self, counts: Mapping[Pair, Secret[CountTable]], *, score_share: float, patience: float, caution: float
    ) -> None:
        """How much every pair depends, then the pairs worth knowing."""
        if not counts:
            return
        copies = max(1, int(score_share * self.meter.event.units / len(counts)))
        gains = {}
        for (i, j), table in counts.items():
            expected = np.outer(self.ones[i], self.ones[j]) / self.total
            found = self.meter.dependence(table, expected=np.rint(expected).astype(np.int64), copies=copies)
            worth = self.workload[i] * self.workload[j]
            gains[i, j] = max(0.0, found - 0.7 * self._chance(i, j, expected)) * worth
        units = self.meter.left // self.meter.table_price
        deviation = math.sqrt(self.meter.variance(1) * min(len(counts), 30) / units)
        self.groups = [group_small(one, patience * deviation) for one in self.ones]
        shapes = {(i, j): (self.groups[i].count, self.groups[j].count) for i, j in counts}
        self.pair_copies = choose_pairs(gains, shapes, variance=self.meter.variance(1), units=units, caution=caution)
        for (i, j), number in self.pair_copies.items():
            merged = (self.groups[i].of, self.groups[j].of)
            self.pairs[i, j] = self.meter.table(counts[i, j], copies=number, groups=merged)

    def _chance(self, first: int, second: int, expected: Values) -> float:
        """The distance from independence that noise and sampling alone would show."""
        noise = 0.0
        for column in (first, second):
            seen = int((self.ones[column] > 0).sum())
            noise += 0.8 * math.sqrt(self.meter.variance(self.copies[column])) * seen
        return noise + 0.64 * float(np.sqrt(np.maximum(expected, 0)).sum())

    def plausible(self) -> tuple[list[Values], dict[Pair, Values]]:
        """One- and two-way tables on all levels: non-negative, of one total, noise taken out where it can be told."""
        ones = [self._better_one(column) for column in range(len(self.sizes))]
        twos = {}
        for (i, j), noisy in self.pairs.items():
            near = self.groups[i].add_up(ones[i]), self.groups[j].add_up(ones[j])
            expected = np.outer(*near) / self.total
            deviation = math.sqrt(self.meter.variance(self.pair_copies[i, j]))
            table = on_simplex(denoised(noisy, expected, deviation), self.total)
            twos[i, j] = spread(table, (self.groups[i], self.groups[j]), (ones[i], ones[j]))
        return ones, twos

    def _better_one(self, column: int) -> Values:
        """A one-way table together with the margins of the measured pairs, by inverse variance."""
        if not self.groups:
            return self.ones[column]
        groups = self.groups[column]
        members = np.bincount(groups.of, minlength=groups.count)
        own = groups.add_up(self.raw[column])
        precision = 1 / (self.meter.variance(self.copies[column]) * members)
        weighted = own * precision
        for pair, noisy in self.pairs.items():
            if column in pair:
                axis = pair.index(column)
                other = noisy.shape[1 - axis]
                known = 1 / (self.meter.variance(self.pair_copies[pair]) * other)
                weighted = weighted + noisy.sum(axis=1 - axis) * known
                precision = precision + known
        correction = (weighted / precision - own) / members
        return on_simplex(self.raw[column] + correction[groups.of], self.total)
