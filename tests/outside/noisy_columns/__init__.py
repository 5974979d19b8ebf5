"""`noisy-columns`: independent columns from one-way tables under Gaussian noise. A whole method in one file.

This is what CONTRIBUTING describes: it lies outside of Understudy and is found by its entry point.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from understudy.codebook import Codebook
from understudy.mechanisms.discrete_laplace import count_sensitivity
from understudy.mechanisms.gaussian_measurements import GaussianMeasurements, Meter, gaussian_measurements_event
from understudy.mechanisms.stream import Stream
from understudy.parameters import Whole, option
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry
from understudy.sources.base import Report, Source
from understudy.sources.tables import CountTable
from understudy.synth.method_facts import synthesis_facts
from understudy.synth.options import delta_option, epsilon_option, neighbours_option
from understudy.synth.released import Perturbed, ReleasedRecipe, public_size
from understudy.synth.ways import Network


@dataclass(frozen=True, kw_only=True)
class NoisyColumns(ReleasedRecipe):
    """Every column on its own, measured once with discrete Gaussian noise."""

    facts = synthesis_facts(
        "noisy-columns",
        route="N",
        guarantee="(ε, δ)-DP, tables released once",
        public="levels and edges",
        paper="an example for maintainers",
        paper_claim="nothing",
        sound="our own",
        truth="One-way tables share the units of one Gaussian price; rows are post-processing.",
        page="noisy-columns",
        proofs=("gaussian_measurements",),
        exact_tests=("measurements_exact",),
    )
    summary = "independent columns from noisy one-way tables"
    example: ClassVar[Mapping[str, Any]] = {"epsilon": 1.0, "delta": 1e-6}
    epsilon: float = epsilon_option()
    delta: float = delta_option()
    neighbours: Neighbours = neighbours_option()
    copies: int = option(1, rule=Whole(most=1000), help="Measurements of each column that are averaged.")

    def event(self, book: Codebook) -> GaussianMeasurements:
        """One unit for every cell that a record moves, for every measurement."""
        units = self.copies * count_sensitivity(self.neighbours) * len(book.names)
        return gaussian_measurements_event(
            epsilon=self.epsilon, delta=self.delta, units=units, neighbours=self.neighbours
        )

    def price(self, book: Codebook, rows: int) -> list[Entry]:
        """One entry; rows are free."""
        assumptions = public_size(book, self.neighbours)
        return [Entry(stage="tables", reads="one-way tables", event=self.event(book), assumptions=assumptions)]

    def perturb(self, source: Source, stream: Stream, report: Report | None) -> Perturbed:
        """Measure every column; what is below zero is zero."""
        book, event = source.codebook, self.event(source.codebook)
        meter = Meter(event, stream)
        tables = []
        for name, counts in zip(book.names, source.count([[name] for name in book.names], report), strict=True):
            noisy = np.maximum(np.rint(meter.table(counts, copies=self.copies)), 0).astype(np.int64)
            tables.append(CountTable.dense((name,), noisy if noisy.any() else noisy + 1))
        entries = [Entry(stage="tables", reads="one-way tables", event=event)]
        return Perturbed(way=Network(order=tuple(range(len(book.names)))), tables=tables, entries=entries)
