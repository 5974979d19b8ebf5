"""`marginals`: measure one-way tables, find out which pairs depend, measure those, and make rows that agree.

Route N under one Gaussian price. Steps: (1) every one-way table; (2) for every pair, how far it lies from independence;
(3) the interactions of the pairs whose dependence exceeds the error of measuring it, and the one-way tables again where
that helps more; (4) noisy tables made consistent: non-negative, of one total, dependence kept only where it exceeds the
noise; (5) the interactions of small triples, where a part of their budget shows that they stand out; (6) rows that
agree with all of them (samplers/agreeing.py). Shares of the budget follow from epsilon and from what was measured.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.blocks.densities import measure_inside
from understudy.blocks.foreseen import EASY, HARD, Budget, Foreseen, foreseen
from understudy.blocks.latent import LatentClasses
from understudy.blocks.measured import MarginalFit, Triple
from understudy.blocks.planning import first_share, patience_at
from understudy.codebook import Codebook
from understudy.mechanisms.discrete_gaussian import LEAST_VARIANCE, MAX_DEVIATION
from understudy.mechanisms.discrete_laplace import count_sensitivity
from understudy.mechanisms.gaussian_measurements import (
    GaussianMeasurements,
    Meter,
    gaussian_measurements_event,
)
from understudy.mechanisms.stream import Stream
from understudy.parameters import Number, option
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import Secret
from understudy.samplers.agreeing import draw_agreeing
from understudy.sources.base import Report, Source
from understudy.sources.tables import CountTable
from understudy.synth.assumed import public_size
from understudy.synth.measurements import measurements_table
from understudy.synth.method_facts import synthesis_facts
from understudy.synth.options import (
    NumbersByColumn,
    delta_option,
    epsilon_option,
    measurements_option,
    neighbours_option,
)
from understudy.synth.released import Perturbed, ReleasedRecipe
from understudy.synth.ways import Agreeing

Values = npt.NDArray[np.float64]
_SCORE_SHARE, _TRIPLE_SHARE = 0.05, 0.15
"""Of the budget: the dependence of all pairs, and interactions of three columns."""
_UNITS, _MOST_UNITS = 50_000, 500_000
"""Enough to split among hundreds of tables; fewer where their noise would be too large for whole numbers."""
_MOST_EXPECTED = 200_000
"""Rows that say what three columns do when nobody measured them."""
_SCALE = 1 << 20
"""Released tables are kept as whole numbers: shares of this many parts per record."""


@dataclass(frozen=True, kw_only=True)
class Marginals(ReleasedRecipe):
    """Measured marginals.

    >>> import understudy as us
    >>> book = us.datasets.discharges_codebook()
    >>> us.Marginals(epsilon=1.0, delta=1e-6).quote(book, rows=1000).total.epsilon <= 1.0
    True
    """

    facts = synthesis_facts(
        "marginals",
        route="N",
        guarantee="(ε, δ)-DP, tables released once",
        public="levels and edges",
        paper="ours, after the measured-marginals literature",
        paper_claim="nothing",
        sound="our own",
        truth="All measurements share a fixed number of units of discrete Gaussian noise; rows are post-processing.",
        page="marginals",
        proofs=("gaussian_measurements",),
        exact_tests=("measurements_exact",),
        audits=("marginals_audit",),
    )
    summary = "measured marginals: noisy one- and two-way tables, and rows that agree with them"
    example = {"epsilon": 1.0, "delta": 1e-6}
    epsilon: float = epsilon_option()
    delta: float = delta_option()
    neighbours: Neighbours = neighbours_option()
    workload: Mapping[str, float] | None = option(
        None,
        rule=NumbersByColumn(Number(above=0), also_alone=False),
        help="COLUMN=WEIGHT, repeated: columns that matter more (or less) than 1. The dependence of a pair counts by "
        "the product of its two weights.",
    )
    measurements: bool = measurements_option()

    def units(self, book: Codebook) -> int:
        """Measurements in all: fine enough to be split, for a score of every pair, and for noise in whole numbers."""
        pairs = len(book.names) * (len(book.names) - 1) // 2
        # about one over the variance of a single unit; the square of a huge epsilon is infinite, its power an error
        scale = self.epsilon * self.epsilon / (2 * math.log(1.25 / self.delta))
        fine = max(2 * LEAST_VARIANCE * scale, min(_UNITS, MAX_DEVIATION**2 / 2 * scale))
        # under hardly any noise units cannot be joined: then every measurement is drawn, and few are enough
        return int(max(2_000, 24 * pairs, fine if fine <= _MOST_UNITS else 0))

    def event(self, book: Codebook) -> GaussianMeasurements:
        """The one price of all measurements."""
        return gaussian_measurements_event(
            epsilon=self.epsilon, delta=self.delta, units=self.units(book), neighbours=self.neighbours
        )

    def price(self, book: Codebook, rows: int) -> list[Entry]:
        """One entry; rows are free."""
        for name in self.workload or {}:
            book.position(name)
        weighed = ("the weights of the workload were chosen without looking at the data",) if self.workload else ()
        return [
            Entry(
                stage="tables",
                reads=f"one-way tables of {len(book.names)} columns, dependence of all pairs, chosen pairs and triples"
                + (", pieces of numbers" if book.smooth else ""),
                event=self.event(book),
                assumptions=(*public_size(book, self.neighbours), *weighed),
            )
        ]

    def foresee(self, book: Codebook, records: int) -> tuple[Foreseen, Foreseen]:
        """The errors of two imagined tables: one that is easy, and one that is hard."""
        event = self.event(book)
        budget = Budget(
            variance=float(event.variance),
            copies=event.units / count_sensitivity(self.neighbours),
            one_share=first_share(self.epsilon),
            score_share=_SCORE_SHARE,
            patience=patience_at(self.epsilon),
        )
        return foreseen(book.sizes, records, budget, EASY), foreseen(book.sizes, records, budget, HARD)

    def perturb(self, source: Source, stream: Stream, report: Report | None) -> Perturbed:
        """Measure, choose, measure, make plausible."""
        book = source.codebook
        names = book.names
        pairs = list(itertools.combinations(range(len(names)), 2))
        cliques = [*[(name,) for name in names], *[(names[i], names[j]) for i, j in pairs]]
        pieces = [(number.fine.name,) for number in source.smooth]
        counts = source.count([*cliques, *pieces], report)
        event = self.event(book)
        fit = MarginalFit(meter=Meter(event, stream), sizes=book.sizes, workload=self._weights(book))
        ones, twos = counts[: len(names)], dict(zip(pairs, counts[len(names) : len(cliques)], strict=True))
        fit.measure_ones(ones, share=first_share(self.epsilon))
        fit.score_pairs(twos, share=_SCORE_SHARE, patience=patience_at(self.epsilon))
        inside = measure_inside(source.smooth, counts[len(cliques) :], fit.meter)
        candidates = fit.candidates(share=_TRIPLE_SHARE)
        # where few of all triples can be shown, less is kept for them
        kept = _TRIPLE_SHARE * math.sqrt(len(candidates) / max(math.comb(len(names), 3), 1))
        fit.measure_pairs(ones, twos, reserve=kept)
        pieces_shown = []
        for number in inside:
            position = book.position(number.column.name)
            known = fit.noisy_one(position)
            bins, table = number.smoothed(known.values, known.variance)
            fit.improve_one(position, bins)
            pieces_shown.append(table)
        classes = fit.classes(stream.generator(), report)
        cliques = [tuple(names[column] for column in triple) for triple in candidates]
        threes = dict(zip(candidates, source.count(cliques, report) if cliques else (), strict=True))
        shown = _with_triples(fit, classes, threes, book, stream, share=kept)
        if shown is None:
            if threes:
                fit.measure_chosen(twos, copies=fit.meter.left / fit.meter.table_price)
            shown = _shown(fit, classes)
        return Perturbed(
            way=Agreeing(classes=tuple(_whole(part) for part in (classes.weights, *classes.levels))),
            tables=[_table(tuple(names[column] for column in columns), table) for columns, table in shown.items()],
            entries=[Entry(stage="tables", reads="all measurements", event=event)],
            pieces=pieces_shown,
            measurements=measurements_table(fit, book) if self.measurements else None,
        )

    def _weights(self, book: Codebook) -> list[float]:
        return [float((self.workload or {}).get(name, 1.0)) for name in book.names]


def _shown(fit: MarginalFit, classes: LatentClasses) -> dict[tuple[int, ...], Values]:
    """The one- and two-way tables, by their columns."""
    ones, twos = fit.plausible(classes)
    shown: dict[tuple[int, ...], Values] = {(column,): table for column, table in enumerate(ones)}
    shown.update(twos.items())
    return shown


def _with_triples(
    fit: MarginalFit,
    classes: LatentClasses,
    counts: Mapping[Triple, Secret[CountTable]],
    book: Codebook,
    stream: Stream,
    *,
    share: float,
) -> dict[tuple[int, ...], Values] | None:
    """All tables with those of triples, if these are worth it."""
    if not counts or not fit.try_triples(counts, classes, share=share):
        return None
    shown = _shown(fit, classes)
    expected = _expected(shown, classes, book, fit.total, stream, list(counts))
    if not fit.measure_triples(counts, expected, share=share):
        return None
    shown.update(fit.plausible_triples(expected).items())
    return shown


def _expected(
    shown: Mapping[tuple[int, ...], Values],
    classes: LatentClasses,
    book: Codebook,
    total: float,
    stream: Stream,
    triples: Sequence[Triple],
) -> dict[Triple, Values]:
    """What rows that agree with the two-way tables say of three columns."""
    rows = int(np.clip(round(total), 1, _MOST_EXPECTED))
    pairs: dict[tuple[int, ...], Values] = {key: table for key, table in shown.items() if len(key) == 2}
    drawn = draw_agreeing(classes.weights, classes.levels, pairs, allowed=book.allowed, rows=rows, stream=stream)
    expected: dict[Triple, Values] = {}
    for triple in triples:
        sizes = tuple(book.sizes[column] for column in triple)
        cells = np.ravel_multi_index(tuple(drawn[column] for column in triple), sizes)
        counts = np.bincount(cells, minlength=math.prod(sizes)).reshape(sizes)
        expected[triple] = counts.astype(np.float64) * (total / rows)
    return expected


def _whole(shares: Values) -> npt.NDArray[np.int64]:
    return np.rint(shares * (1 << 40)).astype(np.int64)


def _table(columns: tuple[str, ...], values: Values) -> CountTable:
    return CountTable.dense(columns, np.rint(values * _SCALE).astype(np.int64))
