"""Measured marginals: what to measure with a given budget, and estimates from the noisy results.

Everything here is arithmetic on public numbers and on results that are already paid for.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from understudy.blocks.latent import LatentClasses, NoisyTables, fit_classes
from understudy.blocks.shrinking import believable, denoised, fitted_margins, james_stein, on_simplex
from understudy.mechanisms.gaussian_measurements import MOST_COPIES, Meter
from understudy.privacy.secret import Secret
from understudy.sources.base import Report
from understudy.sources.tables import CountTable

Values = npt.NDArray[np.float64]
Pair = tuple[int, int]
_PENALTY, _ITERATIONS, _MOST, _POOL = 10.0, 400, 96, 256
"""Of the latent classes: strength of the prior, steps, and classes in all (several fits where each is small)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """Levels of one column merged for measuring: ``of[level]`` is its group."""

    of: npt.NDArray[np.int64]

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.of.max()) + 1

    def add_up(self, counts: Values) -> Values:
        """Sums by group."""
        return np.bincount(self.of, weights=counts, minlength=self.count).astype(np.float64)

    def add_up_rows(self, table: Values) -> Values:
        """Sums of rows by group."""
        sums = np.zeros((self.count, table.shape[1]))
        np.add.at(sums, self.of, table)
        return sums


def group_small(counts: Values, least: float) -> Groups:
    """Levels below ``least`` share one group; the others keep their own."""
    small = counts < least
    if small.sum() < 2:
        return Groups(of=np.arange(len(counts)))
    of = np.empty(len(counts), dtype=np.int64)
    of[~small] = np.arange(int((~small).sum()))
    of[small] = int((~small).sum())
    return Groups(of=of)


_WIDEST, _WORK = 4_000, 3_000_000


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
    copies = {pair: _copies(1 + int(spare * weight / total)) for pair, weight in zip(pairs, weights, strict=True)}
    left = units - sum(copies.values())
    for pair in list(copies)[:left]:
        copies[pair] = _copies(copies[pair] + 1)
    return copies


def _copies(wanted: float) -> int:
    """A whole number of measurements of one table: at least one, and no more than can be averaged."""
    return min(max(1, int(wanted)), MOST_COPIES)


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
    worth: list[Pair] = field(default_factory=list)
    """Every pair whose table rows should agree with, measured or predicted."""

    def measure_ones(self, counts: Sequence[Secret[CountTable]], *, share: float) -> None:
        """All one-way tables, the larger ones more often, and the number of records from their sums."""
        weights = np.array([size ** (2 / 3) for size in self.sizes])
        budget = share * self.meter.event.units / self.meter.table_price
        self.copies = [_copies(budget * weight / weights.sum()) for weight in weights]
        self.raw = [self.meter.table(count, copies=n) for count, n in zip(counts, self.copies, strict=True)]
        trust = [n / size for n, size in zip(self.copies, self.sizes, strict=True)]
        self.total = max(1.0, float(np.average([table.sum() for table in self.raw], weights=trust)))
        self.ones = [
            believable(table, self.total, math.sqrt(self.meter.variance(n)))
            for table, n in zip(self.raw, self.copies, strict=True)
        ]

    def measure_pairs(
        self, counts: Mapping[Pair, Secret[CountTable]], *, score_share: float, patience: float, caution: float
    ) -> None:
        """How much every pair depends, then the pairs worth knowing."""
        self.worth = list(counts)
        if not counts:
            return
        copies = _copies(score_share * self.meter.event.units / len(counts))
        gains = {}
        for (i, j), table in counts.items():
            expected = np.outer(self.ones[i], self.ones[j]) / self.total
            distance = self.meter.dependence(table, expected=np.rint(expected).astype(np.int64), copies=copies)
            worth = self.workload[i] * self.workload[j]
            gains[i, j] = max(0.0, distance - 0.7 * self._chance(i, j, expected)) * worth
        units = self.meter.left // self.meter.table_price
        deviation = math.sqrt(self.meter.variance(1) * min(len(counts), 30) / units)
        self.groups = self._merged(patience * deviation)
        shapes = {(i, j): (self.groups[i].count, self.groups[j].count) for i, j in counts}
        self.pair_copies = choose_pairs(gains, shapes, variance=self.meter.variance(1), units=units, caution=caution)
        for (i, j), number in self.pair_copies.items():
            merged = (self.groups[i].of, self.groups[j].of)
            self.pairs[i, j] = self.meter.table(counts[i, j], copies=number, groups=merged)

    def _merged(self, least: float) -> list[Groups]:
        """Small levels merged; in very wide files larger ones too, since all groups are fitted side by side."""
        groups = [group_small(table, least) for table in self.ones]
        while sum(group.count for group in groups) > max(_WIDEST, len(groups)):
            least = 1.5 * max(least, 1.0)
            groups = [group_small(table, least) for table in self.ones]
        return groups

    def _chance(self, first: int, second: int, expected: Values) -> float:
        """The distance from independence that noise and sampling alone would show."""
        noise = 0.0
        for column in (first, second):
            seen = int((self.ones[column] > 0).sum())
            noise += 0.8 * math.sqrt(self.meter.variance(self.copies[column])) * seen
        return noise + 0.64 * float(np.sqrt(np.maximum(expected, 0)).sum())

    def classes(self, generator: np.random.Generator, report: Report | None = None) -> LatentClasses:
        """Latent classes behind everything measured; more of them where more can be known."""
        merged = [groups.of for groups in self.groups] or [np.zeros(size, dtype=np.int64) for size in self.sizes]
        tables = NoisyTables(
            ones=[table / self.total for table in self.raw],
            one_precision=[self.total**2 / self.meter.variance(copies) for copies in self.copies],
            pairs={pair: table / self.total for pair, table in self.pairs.items()},
            pair_precision={
                pair: self.total**2 / self.meter.variance(copies) for pair, copies in self.pair_copies.items()
            },
            merged=merged,
        )
        number = self._class_number()
        return fit_classes(
            tables,
            self.ones,
            classes=number,
            fits=self._fit_number(number),
            penalty=_PENALTY,
            iterations=_ITERATIONS,
            generator=generator,
            report=None if report is None else lambda done, of: report("fitting classes", done, of),
        )

    def _fit_number(self, classes: int) -> int:
        """Fewer in very wide files, where one fit takes long and has many tables to learn from."""
        width = sum(groups.count for groups in self.groups)
        return int(np.clip(min(_POOL // classes, _WORK // max(width, 1) ** 2), 1, 16))

    def _class_number(self) -> int:
        """Grows with the square root of what a record weighs against the noise of a pair."""
        if not self.pair_copies:
            return 1
        copies = float(np.median(list(self.pair_copies.values())))
        clarity = self.total / math.sqrt(self.meter.variance(1) / copies)
        return int(np.clip(1.6 * math.sqrt(clarity), 4, _MOST))

    def plausible(self, classes: LatentClasses) -> tuple[list[Values], dict[Pair, Values]]:
        """One- and two-way tables on all levels: non-negative, of one total, noise taken out where it can be told."""
        ones = [self._better_one(column, classes) for column in range(len(self.sizes))]
        twos = {}
        for i, j in self.worth:
            model = fitted_margins(np.maximum(classes.two_way(i, j), 1e-15) * self.total, ones[i], ones[j])
            twos[i, j] = self._better_two((i, j), model, (ones[i], ones[j]))
        return ones, twos

    def _better_two(self, pair: Pair, model: Values, ones: tuple[Values, Values]) -> Values:
        """The expected table of a pair corrected by its measurement, level by level."""
        if pair not in self.pairs:
            return model
        noisy = self.pairs[pair]
        first, second = self.groups[pair[0]], self.groups[pair[1]]
        deviation = math.sqrt(self.meter.variance(self.pair_copies[pair]))
        choices = []
        for expected in (model, np.outer(*ones) / self.total):  # the classes, or plain independence
            coarse = first.add_up_rows(second.add_up_rows(expected.T).T)
            shown, risk = denoised(noisy, coarse, deviation)
            factor = on_simplex(shown, self.total) / np.maximum(coarse, 1e-300)
            choices.append((risk, expected * factor[np.ix_(first.of, second.of)]))
        return min(choices, key=lambda choice: choice[0])[1]

    def _better_one(self, column: int, classes: LatentClasses) -> Values:
        """A one-way table together with the margins of the measured pairs, by inverse variance, and the classes."""
        variance: Values = np.full(self.sizes[column], self.meter.variance(self.copies[column]))
        noisy = self.raw[column]
        if self.groups:
            groups = self.groups[column]
            members = np.bincount(groups.of, minlength=groups.count)
            own = groups.add_up(self.raw[column])
            precision = 1 / (self.meter.variance(self.copies[column]) * members)
            weighted = own * precision
            for pair, table in self.pairs.items():
                if column in pair:
                    axis = pair.index(column)
                    known = 1 / (self.meter.variance(self.pair_copies[pair]) * table.shape[1 - axis])
                    weighted = weighted + table.sum(axis=1 - axis) * known
                    precision = precision + known
            correction = (weighted / precision - own) / members
            noisy = noisy + correction[groups.of]
            variance = np.where(members[groups.of] == 1, 1 / precision[groups.of], variance)
        return on_simplex(james_stein(noisy, classes.one_way(column) * self.total, variance), self.total)
