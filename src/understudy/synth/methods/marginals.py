"""`marginals`: measure one-way tables, find out which pairs depend, measure those, and make rows that agree.

Route N under one Gaussian price. Steps: (1) every one-way table; (2) for every pair, how far it lies from independence;
(3) the pairs whose dependence exceeds the error of measuring it, each measured in proportion to its size; (4) noisy
tables made consistent: non-negative, of one total, dependence kept only where it exceeds the noise; (5) rows
that agree with all of them (samplers/agreeing.py). All shares of the budget follow from epsilon, which is public.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.blocks.measured import MarginalFit
from understudy.codebook import Codebook
from understudy.mechanisms.gaussian_measurements import GaussianMeasurements, Meter, gaussian_measurements_event
from understudy.mechanisms.stream import Stream
from understudy.parameters import Number, option
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry
from understudy.sources.base import Report, Source
from understudy.sources.tables import CountTable
from understudy.synth.method_facts import synthesis_facts
from understudy.synth.options import NumbersByColumn, delta_option, epsilon_option, neighbours_option
from understudy.synth.released import Perturbed, ReleasedRecipe, public_size
from understudy.synth.ways import Agreeing

Values = npt.NDArray[np.float64]
_SCORE_SHARE = 0.05
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

    def _one_share(self) -> float:
        """More for the one-way tables when little can be known at all."""
        return float(np.clip(0.16 * self.epsilon**-0.33, 0.1, 0.35))

    def units(self, book: Codebook) -> int:
        """Measurements in all: fine enough to be split, and enough for a score of every pair."""
        pairs = len(book.names) * (len(book.names) - 1) // 2
        return max(2_000, 24 * pairs)

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
                reads=f"one-way tables of {len(book.names)} columns, the dependence of all pairs, and chosen pairs",
                event=self.event(book),
                assumptions=(*public_size(book, self.neighbours), *weighed),
            )
        ]

    def perturb(self, source: Source, stream: Stream, report: Report | None) -> Perturbed:
        """Measure, choose, measure, make plausible."""
        book = source.codebook
        names = book.names
        pairs = list(itertools.combinations(range(len(names)), 2))
        cliques = [*[(name,) for name in names], *[(names[i], names[j]) for i, j in pairs]]
        counts = source.count(cliques, report)
        event = self.event(book)
        fit = MarginalFit(meter=Meter(event, stream), sizes=book.sizes, workload=self._weights(book))
        fit.measure_ones(counts[: len(names)], share=self._one_share())
        fit.measure_pairs(
            dict(zip(pairs, counts[len(names) :], strict=True)),
            score_share=_SCORE_SHARE,
            patience=self._patience(),
            caution=self._caution(),
        )
        classes = fit.classes(stream.generator(), report)
        ones, twos = fit.plausible(classes)
        tables = [_table((name,), counts_of_one) for name, counts_of_one in zip(names, ones, strict=True)]
        tables += [_table((names[i], names[j]), table) for (i, j), table in twos.items()]
        return Perturbed(
            way=Agreeing(classes=tuple(_whole(part) for part in (classes.weights, *classes.levels))),
            tables=tables,
            entries=[Entry(stage="tables", reads="all measurements", event=event)],
        )

    def _patience(self) -> float:
        """From how many deviations on a level is measured on its own: few where the noise is large anyway."""
        return float(np.clip(0.5 + 2.15 * math.log10(self.epsilon / 0.1), 0.0, 2.0))

    def _caution(self) -> float:
        """How much of its worst case the error of a measured pair is taken to be: more where scores are noisy."""
        return 0.25

    def _weights(self, book: Codebook) -> list[float]:
        return [float((self.workload or {}).get(name, 1.0)) for name in book.names]


def _whole(shares: Values) -> npt.NDArray[np.int64]:
    return np.rint(shares * (1 << 40)).astype(np.int64)


def _table(columns: tuple[str, ...], values: Values) -> CountTable:
    return CountTable.dense(columns, np.rint(values * _SCALE).astype(np.int64))
