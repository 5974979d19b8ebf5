"""Measured marginals: the state of a fit, and estimates from its noisy results (the plan is in ``planning.py``).

Everything here is arithmetic on public numbers and on results that are already paid for.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from understudy.blocks.known import Known
from understudy.blocks.latent import LatentClasses, NoisyTables, fit_classes
from understudy.blocks.planning import (
    MEAN_SIZE,
    Groups,
    Pair,
    PairPlan,
    Values,
    group_small,
    one_way_weights,
    pair_choice,
    strongest,
)
from understudy.blocks.shrinking import (
    believable,
    denoised,
    fitted_margins,
    james_stein,
    on_simplex,
    posterior_ratios,
)
from understudy.mechanisms.gaussian_measurements import MOST_CELLS, MOST_COPIES, Meter, centred
from understudy.privacy.secret import Secret
from understudy.sources.base import Report
from understudy.sources.tables import CountTable

Triple = tuple[int, int, int]
_PENALTY, _ITERATIONS, _MOST, _POOL = 10.0, 400, 96, 256
"""Of the latent classes: strength of the prior, steps (more of them tell less of triples), and classes in all."""
_TRUST = (3, 1)
"""In a table shrunk by its directions, and in the model: equal parts are as good on most tables, worse on sparse."""
_CHANCE = 0.7
"""The part of what chance alone would show that is taken off a score."""
_MOST_ONES = 0.65
"""Share of the budget that the one-way tables get at most."""
SMALL_LEVELS, MOST_TRIPLES = 16, 600
"""Interactions of three columns are looked at where each has at most so many levels, and so many at most."""
_LEAST_TRIPLES, _TRIPLE_NOISE, _PILOT = 0.01, 0.05, 0.2
"""Triples at least as a share of all; their noise as a share of the records; and the part of their budget that finds
out their worth."""
_MOST_PAIRS = 5_000
"""Two-way tables that are measured and shown at most; files of up to 100 columns have no more."""
_WIDEST, _WORK, _STEPS = 4_000, 1_000_000, 300_000
"""Groups in all, and what bounds the number of fits of classes and the steps of each."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """How far a pair lies from independence, as measured: a sum over all cells, in records."""

    distance: float
    by_chance: float
    """Of this, what independent columns would show on average: both add up in squares."""


def _copies(wanted: float) -> int:
    """A whole number of measurements of one table: at least one, and no more than can be averaged."""
    return min(max(1, int(wanted)), MOST_COPIES)


@dataclass(kw_only=True)
class MarginalFit:
    """The state of one fit: what was measured so far, and how well it is known."""

    meter: Meter
    sizes: Sequence[int]
    workload: Sequence[float]
    raw: list[Known] = field(default_factory=list)
    """One-way tables as measured, without their sum."""
    replaced: dict[int, Known] = field(default_factory=dict)
    """One-way tables as measured, of columns for which a better estimate stands in ``raw``."""
    ones: list[Values] = field(default_factory=list)
    """One-way tables made plausible."""
    records: Known | None = None
    groups: list[Groups] = field(default_factory=list)
    gains: dict[Pair, float] = field(default_factory=dict)
    """What the scores say of every pair: its dependence beyond chance, in records."""
    scores: dict[Pair, "Score"] = field(default_factory=dict)
    shown: list[Pair] = field(default_factory=list)
    """Pairs whose tables are shown: all, or in wide files those that matter most to one of their columns."""
    score_deviation: float = 0.0
    pairs: dict[Pair, Known] = field(default_factory=dict)
    """Interactions of pairs, on merged levels."""
    triples: dict[Triple, Known] = field(default_factory=dict)
    plan: PairPlan | None = None
    heavy: Mapping[int, float] = field(default_factory=dict)
    """Columns, each with how many times the error of its pairs counts."""

    @property
    def total(self) -> float:
        """The number of records, as measured."""
        return max(1.0, float(self.records.values[0])) if self.records else 1.0

    @property
    def _budget(self) -> float:
        """Measurements of one table that all units together would pay for."""
        return self.meter.units / self.meter.table_price

    def measure_ones(self, counts: Sequence[Secret[CountTable]], *, share: float) -> None:
        """All one-way tables, the larger ones more often, and the number of records; again adds to what is known."""
        weights = one_way_weights(self.sizes)
        portions = share * self._budget * weights / weights.sum()
        copies = [_copies(portion) for portion in portions]
        everybody = np.zeros(self.sizes[0], dtype=np.int64)
        counted = self.meter.table(counts[0], copies=copies[0], groups=(everybody,))
        self.records = _added(self.records, Known(values=counted, variance=self.meter.variance(copies[0])))
        fresh = []
        for count, number in zip(counts, copies[1:], strict=True):
            values, variance = self.meter.interaction(count, copies=number)
            fresh.append(Known(values=values, variance=variance))
        if self.raw:
            fresh = [old.with_another(new) for old, new in zip(self.raw, fresh, strict=True)]
        self.raw = fresh
        self.ones = [
            believable(self._noisy_one(column), self.total, self._deviation(column)) for column in range(len(fresh))
        ]

    def noisy_one(self, column: int) -> Known:
        """What was measured of a one-way table."""
        return Known(values=self._noisy_one(column), variance=self.raw[column].variance)

    def improve_one(self, column: int, better: Values) -> None:
        """Put a better estimate in the place of a measured one-way table."""
        values = better - self.total / self.sizes[column]
        self.replaced[column] = self.raw[column]
        self.raw[column] = Known(values=values, variance=self.raw[column].variance)
        self.ones[column] = on_simplex(better, self.total)

    def _noisy_one(self, column: int) -> Values:
        return self.raw[column].values + self.total / self.sizes[column]

    def _deviation(self, column: int) -> float:
        return math.sqrt(self.raw[column].variance)

    def score_pairs(self, counts: Mapping[Pair, Secret[CountTable]], *, share: float, patience: float) -> None:
        """How much every pair depends; then small levels are merged."""
        if not counts:
            return
        copies = _copies(share * self.meter.units / (len(counts) * self.meter.number_price))
        self.score_deviation = self.meter.step * math.sqrt(self.meter.variance(copies))
        expected = (np.outer(self.ones[i], self.ones[j]) / self.total for i, j in counts)
        distances = self.meter.dependences(list(counts.values()), expected, copies=copies)
        for (i, j), distance in zip(counts, distances, strict=True):
            self.gains[i, j] = max(0.0, float(distance) - _CHANCE * self._chance(i, j))
            self.scores[i, j] = Score(distance=float(distance), by_chance=self._by_chance(i, j))
        self.shown = strongest(self.gains, most=_MOST_PAIRS)
        deviation = math.sqrt(self.meter.variance(1) * min(len(counts), 30) / self._left())
        self.groups = self._merged(patience * deviation)

    def _left(self) -> float:
        return max(1.0, self.meter.left / self.meter.table_price)

    def _affordable(self, wanted: float) -> int:
        """So many measurements of one table as are wanted and paid for; perhaps none."""
        return min(_copies(wanted), self.meter.left // self.meter.table_price)

    def measure_pairs(
        self, ones: Sequence[Secret[CountTable]], counts: Mapping[Pair, Secret[CountTable]], *, reserve: float
    ) -> None:
        """The pairs worth knowing, and the one-way tables again where that helps pairs more; ``reserve`` is kept."""
        if not counts:
            return
        left = self._left() - reserve * self._budget
        further, self.plan = self._division(left)
        if further > 0:
            self.measure_ones(ones, share=further * left / self._budget)
        self.measure_chosen(counts, copies=left * (1 - further))

    def measure_chosen(self, counts: Mapping[Pair, Secret[CountTable]], *, copies: float) -> None:
        """The chosen pairs with so many measurements in all; again adds to what is known."""
        chosen = self.plan.shares if self.plan else {}
        spare = copies - len(chosen)
        for (i, j), share in chosen.items():
            number = self._affordable(1 + spare * share)
            if number < 1:
                break
            merged = (self.groups[i].of, self.groups[j].of)
            values, variance = self.meter.interaction(counts[i, j], copies=number, groups=merged)
            self.pairs[i, j] = _added(self.pairs.get((i, j)), Known(values=values, variance=variance))

    def _division(self, left: float) -> tuple[float, PairPlan]:
        """The share of what is left that the one-way tables get, and the plan for the pairs: least error of all pairs.

        The error of a two-way table is that of its two margins and of its interaction, independent of each other.
        """
        gains = {(i, j): self.gains[i, j] * self.workload[i] * self.workload[j] for i, j in self.shown}
        shapes = {(i, j): (self.groups[i].count, self.groups[j].count) for i, j in gains}
        heavy = {(i, j): self.heavy.get(i, 1.0) * self.heavy.get(j, 1.0) for i, j in gains}
        spent = 1 - self._left() / self._budget
        rest = left / self._budget
        margins = [
            MEAN_SIZE * float(np.minimum(self._deviation(column) * math.sqrt(spent), np.maximum(one, 1.0)).sum())
            for column, one in enumerate(self.ones)
        ]
        most = max(0.0, (_MOST_ONES * (rest + spent) - spent) / rest)
        choose = pair_choice(gains, shapes, heavy)
        best: tuple[float, float, PairPlan] | None = None
        for further in np.linspace(0.0, most, 10):
            known = left * (1 - float(further))
            plan = choose(math.sqrt(self.meter.variance(1) / known))
            error = sum(
                math.sqrt(plan.errors[i, j] ** 2 + (margins[i] ** 2 + margins[j] ** 2) / (spent + rest * further))
                for i, j in gains
            )
            if best is None or error < best[0]:
                best = error, float(further), plan
        assert best is not None
        return best[1], best[2]

    def candidates(self, *, share: float) -> list[Triple]:
        """Triples of few cells whose interaction this share of the budget could show, the likeliest first.

        Three columns are likelier to depend on each other together where each two of them do.
        """
        small = [
            column
            for column, groups in enumerate(self.groups)
            if 2 <= groups.count == self.sizes[column] <= SMALL_LEVELS
        ]
        gains = np.zeros((len(small), len(small)))
        for i, j in itertools.combinations(range(len(small)), 2):
            gains[i, j] = self.gains[small[i], small[j]]
        sizes = np.array([self.sizes[column] for column in small])
        found: list[tuple[float, Triple]] = []
        for first in range(len(small) - 2):
            after = slice(first + 1, None)
            worth = np.triu(gains[first, after, None] + gains[first, after] + gains[after, after], 1)
            cells = sizes[first] * np.outer(sizes[after], sizes[after])
            second, third = np.nonzero((worth > 0) & (cells <= MOST_CELLS))
            free = (sizes[first] - 1) * (sizes[after][second] - 1) * (sizes[after][third] - 1)  # as in _triple_error
            error = free / worth[second, third]
            for place in np.argsort(error, kind="stable")[:MOST_TRIPLES]:
                others = second[place] + first + 1, third[place] + first + 1
                found.append((float(error[place]), (small[first], small[others[0]], small[others[1]])))
        found.sort()
        deviation = math.sqrt(self.meter.variance(1) / (share * self._budget))
        chosen: list[Triple] = []
        weight = 0.0
        for _, triple in found[:MOST_TRIPLES]:
            weight += self._triple_error(triple) ** (2 / 3)
            if weight**1.5 * deviation > _TRIPLE_NOISE * self.total * (len(chosen) + 1):
                break
            chosen.append(triple)
        # so few of all triples that nobody would notice are not worth the rows that say what to expect
        return chosen if len(chosen) >= _LEAST_TRIPLES * math.comb(len(self.sizes), 3) else []

    def _triple_error(self, triple: Triple) -> float:
        """L1 error of the interaction of three columns per unit of noise."""
        sizes = [self.sizes[column] for column in triple]
        # sqrt(free numbers x cells) times the length of a record's contrast, sqrt(prod (1 - 1/size))
        return MEAN_SIZE * math.prod(size - 1 for size in sizes)

    def try_triples(self, counts: Mapping[Triple, Secret[CountTable]], classes: LatentClasses, *, share: float) -> bool:
        """A few measurements of interactions of three columns, and whether they stand out from latent classes.

        Rows say more of three columns than classes do, but must be made first. What does not stand out even from
        classes is not worth it.
        """
        self._take_triples(counts, share=_PILOT * share)
        return self._are_worth({triple: classes.three_way(*triple) * self.total for triple in counts})

    def measure_triples(
        self,
        counts: Mapping[Triple, Secret[CountTable]],
        expected: Mapping[Triple, Values],
        *,
        share: float,
    ) -> bool:
        """The other measurements of three columns, if those tried stand out from what rows say.

        Returns whether they do; if not, the greater part of the share is left.
        """
        if not self._are_worth(expected):
            return False
        self._take_triples(counts, share=(1 - _PILOT) * share)
        return True

    def _are_worth(self, expected: Mapping[Triple, Values]) -> bool:
        """Whether all of the share would show more than noise, even if the few flatter by a standard error."""
        excess, free = self._standing_out(expected)
        return excess - math.sqrt(2 * free) > _PILOT * free

    def _take_triples(self, counts: Mapping[Triple, Secret[CountTable]], *, share: float) -> None:
        weights = {triple: self._triple_error(triple) ** (2 / 3) for triple in counts}
        total = sum(weights.values())
        for triple, table in counts.items():
            number = self._affordable(share * self._budget * weights[triple] / total)
            if number < 1:
                break
            values, variance = self.meter.interaction(table, copies=number)
            self.triples[triple] = _added(self.triples.get(triple), Known(values=values, variance=variance))

    def _standing_out(self, expected: Mapping[Triple, Values]) -> tuple[float, float]:
        """Squared distance from what was expected beyond what noise explains, in units of it; and free numbers."""
        distance = free = 0.0
        for triple, known in self.triples.items():
            distance += float(((known.values - centred(expected[triple])) ** 2).sum()) / known.variance
            free += math.prod(self.sizes[column] - 1 for column in triple)
        return distance - free, free

    def plausible_triples(self, expected: Mapping[Triple, Values]) -> dict[Triple, Values]:
        """What was expected, corrected by the measured interactions as far as they stand out from the noise."""
        excess, free = self._standing_out(expected)
        keep = max(0.0, excess / max(excess + free, 1e-300))
        return {
            triple: on_simplex(expected[triple] + keep * (known.values - centred(expected[triple])), self.total)
            for triple, known in self.triples.items()
        }

    def _merged(self, least: float) -> list[Groups]:
        """Small levels merged; in very wide files larger ones too, since all groups are fitted side by side."""
        groups = [group_small(table, least) for table in self.ones]
        while sum(group.count for group in groups) > max(_WIDEST, len(groups)):
            least = 1.5 * max(least, 1.0)
            groups = [group_small(table, least) for table in self.ones]
        return groups

    def _chance(self, first: int, second: int) -> float:
        """The distance from independence that noise and sampling alone would show."""
        noise, roots = 0.0, 0.64 / math.sqrt(self.total)
        for column in (first, second):
            noise += MEAN_SIZE * self._deviation(column) * int((self.ones[column] > 0).sum())
            roots *= float(np.sqrt(np.maximum(self.ones[column], 0)).sum())
        return noise + roots

    def _by_chance(self, first: int, second: int) -> float:
        """The distance that independent columns would show on average: noise of both margins, and sampling.

        A cell of shares p q is expected to be off by what the margins are, each by no more than it holds, and by p q n.
        """
        sides = [
            (one / self.total, np.minimum(one, self._deviation(column)) ** 2)
            for column, one in ((first, self.ones[first]), (second, self.ones[second]))
        ]
        (p, of_p), (q, of_q) = sides
        variance = np.outer(of_p, q**2) + np.outer(p**2, of_q) + self.total * np.outer(p, q)
        return MEAN_SIZE * float(np.sqrt(variance).sum())

    def classes(self, generator: np.random.Generator, report: Report | None = None) -> LatentClasses:
        """Latent classes behind everything measured; more of them where more can be known."""
        merged = [groups.of for groups in self.groups] or [np.zeros(size, dtype=np.int64) for size in self.sizes]
        tables = NoisyTables(
            ones=[self._noisy_one(column) / self.total for column in range(len(self.sizes))],
            one_precision=[self.total**2 / known.variance for known in self.raw],
            pairs={pair: known.values / self.total for pair, known in self.pairs.items()},
            pair_precision={pair: self.total**2 / known.variance for pair, known in self.pairs.items()},
            merged=merged,
        )
        number = self._class_number()
        width = sum(groups.count for groups in self.groups)
        return fit_classes(
            tables,
            self.ones,
            classes=number,
            fits=int(np.clip(min(_POOL // number, _WORK // max(width, 1) ** 2), 1, 16)),
            penalty=_PENALTY,
            iterations=int(np.clip(_STEPS // max(width, 1), _ITERATIONS // 2, _ITERATIONS)),
            generator=generator,
            report=None if report is None else lambda done, of: report("fitting classes", done, of),
        )

    def _class_number(self) -> int:
        """Grows with the square root of what a record weighs against the noise of a pair."""
        if not self.pairs:
            return 1
        variance = float(np.median([known.variance for known in self.pairs.values()]))
        return int(np.clip(1.6 * math.sqrt(self.total / math.sqrt(variance)), 4, _MOST))

    def plausible(self, classes: LatentClasses) -> tuple[list[Values], dict[Pair, Values]]:
        """One- and two-way tables on all levels: non-negative, of one total, noise taken out where it can be told."""
        ones = [
            on_simplex(
                james_stein(self._noisy_one(column), classes.one_way(column) * self.total, known.variance), self.total
            )
            for column, known in enumerate(self.raw)
        ]
        twos = {}
        with threadpool_limits(1):  # many small factorisations
            for i, j in self.shown:
                model = fitted_margins(np.maximum(classes.two_way(i, j), 1e-15) * self.total, ones[i], ones[j])
                twos[i, j] = self._better_two((i, j), model, np.outer(ones[i], ones[j]) / self.total)
        return ones, twos

    def _better_two(self, pair: Pair, model: Values, independent: Values) -> Values:
        """The expected table of a pair corrected by its measurement, or shown as far as its score supports it."""
        if pair not in self.pairs:
            return self._supported(pair, model, independent)
        known = self.pairs[pair]
        first, second = self.groups[pair[0]], self.groups[pair[1]]
        deviation = math.sqrt(known.variance)
        choices = []
        for expected in (model, independent):
            coarse = first.add_up_rows(second.add_up_rows(expected.T).T)
            shown, risk = denoised(known.values, coarse, deviation)
            choices.append((risk, expected, coarse, shown))
        _, expected, coarse, shown = min(choices, key=lambda choice: choice[0])
        # the cells as measured: the interaction, and the margins that are known already
        cells = coarse - centred(coarse) + known.values
        free = math.sqrt((1 - 1 / first.count) * (1 - 1 / second.count))  # of a cell's noise, without its margins
        # the two err in different cells: one follows the noise into rare ones, the other leaves out strong dependence
        guesses = (on_simplex(shown, self.total), coarse)
        ratios = [posterior_ratios(cells, guess, max(free * deviation, 1e-9)) for guess in guesses]
        shown = np.average(ratios, axis=0, weights=_TRUST)
        shown = fitted_margins(shown, coarse.sum(axis=1), coarse.sum(axis=0))
        factor: Values = shown / np.maximum(coarse, 1e-300)
        return expected * factor[np.ix_(first.of, second.of)]

    def _supported(self, pair: Pair, model: Values, independent: Values) -> Values:
        """A table that nobody measured: as much dependence as the model shows, corrected by its paid score.

        The model may be wrong by as much as it shows, the score by its noise: the mean of both by these variances.
        """
        shown = max(float(np.abs(model - independent).sum()), 1e-300)
        trust = shown**2 / (shown**2 + self.score_deviation**2)
        supported = (1 - trust) * shown + trust * self.gains[pair]
        return independent + min(1.0, supported / shown) * (model - independent)


def _added(old: Known | None, new: Known) -> Known:
    return new if old is None else old.with_another(new)
