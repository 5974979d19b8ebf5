"""Counts of a table, weighted by its survey weight or not, released once with noise and intervals.

One record moves one cell, by its weight at most: the noise covers the largest weight. With the weight in narrow bins
(``codebook.weight.finer``) a record counts as its own weight, rounded to about a thousandth of the largest.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from understudy.codebook import Codebook, CodeLevel, Detail, Number, Role
from understudy.codebook.weight import bin_weights, finer
from understudy.errors import ParameterError
from understudy.mechanisms.discrete_laplace import half_width
from understudy.mechanisms.group import share_of_group
from understudy.mechanisms.stability import public_levels
from understudy.mechanisms.stream import Stream
from understudy.mechanisms.weighted import (
    STEPS,
    WeightedHistogram,
    weight_units,
    weighted_event,
    weighted_histogram,
)
from understudy.parameters import EPSILON, SHARE, Declared, Flag, Names, Panel, option
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry, Ledger, stream_entries
from understudy.privacy.provenance import Made
from understudy.privacy.quote import Quote
from understudy.privacy.statement import Subject
from understudy.privacy.transaction import Payment
from understudy.release import Release, describe
from understudy.release.making import FittedWhole, choices_of
from understudy.release.release import COUNT_COLUMNS
from understudy.sources import open_source
from understudy.sources.base import Report, Source
from understudy.sources.tables import DENSE_LIMIT
from understudy.synth.options import neighbours_option
from understudy.synth.paid_books import bought_codebook, drafted_entries
from understudy.synth.people import capped_source, person_entries


@dataclass(frozen=True, kw_only=True)
class _Units:
    """The weight column, the weight of each of its bins in units, and the unit; all public."""

    weight: str | None
    units: tuple[int, ...] | None
    unit: Fraction

    @property
    def largest(self) -> int:
        return 1 if self.units is None else max(self.units)


def _units(book: Codebook, columns: Sequence[str], *, weighted: bool) -> _Units:
    return _units_of(book, tuple(columns), weighted)


@lru_cache(maxsize=8)  # asked several times for each table, and narrow bins are many
def _units_of(book: Codebook, columns: tuple[str, ...], weighted: bool) -> _Units:
    names = [column.name for column in book.described]
    if weighted and book.weight is None:
        raise ParameterError('the codebook names no weight column; add weight = "COLUMN" at its top.')
    if not columns or len(set(columns)) < len(columns) or (weighted and book.weight in columns):
        raise ParameterError(
            f"the columns to count by are {list(columns)}; name one or more, each once, and not the weight itself."
        )
    for name in columns:
        if name not in names:
            raise ParameterError(f"column {name!r} cannot be counted by; choose among {', '.join(names)}.")
    if (cells := math.prod(book.column(name).size for name in columns)) > DENSE_LIMIT:
        raise ParameterError(
            f"`by` is {', '.join(columns)}, which have {cells:,} combinations; at most {DENSE_LIMIT:,} can be counted, "
            "since each gets noise. Name fewer or coarser columns."
        )
    if not weighted:
        return _Units(weight=None, units=None, unit=Fraction(1))
    assert book.weight is not None
    column = book.column(book.weight)
    assert isinstance(column, Number)
    units, unit = weight_units(bin_weights(column), column.step)
    return _Units(weight=book.weight, units=units, unit=unit)


def _event(ledger: Ledger) -> WeightedHistogram:
    """The noise of the one table; what else the ledger holds was paid or is unpriced."""
    events = [getattr(entry.event, "inner", entry.event) for entry in ledger]
    (event,) = [event for event in events if isinstance(event, WeightedHistogram)]
    return event


def _labels(book: Codebook, columns: Sequence[str]) -> dict[str, pa.Array]:
    """One row per combination, the last column changing fastest."""
    sizes = [book.column(name).size for name in columns]
    places = np.indices(sizes).reshape(len(columns), -1)
    return {
        name: pa.array(np.array(book.column(name).labels, dtype=object)[place].tolist(), type=pa.string())
        for name, place in zip(columns, places, strict=True)
    }


@dataclass(frozen=True, kw_only=True)
class Counts(Declared):
    """A table of counts to be released: which columns, at which price, weighted or not."""

    book: Codebook
    by: tuple[str, ...] = option(
        rule=Names(), help="Columns between commas; every combination of their levels is counted."
    )
    epsilon: float = option(rule=EPSILON, panel=Panel.PRIVACY, help="Privacy loss of the whole table.")
    weighted: bool = option(False, rule=Flag(), help="Weigh each record by the codebook's survey weight.")
    confidence: float = option(0.95, rule=SHARE, help="Of the interval around each count, for its noise alone.")
    neighbours: Neighbours = neighbours_option()

    @cached_property
    def used(self) -> Codebook:
        """What the codebook says about the columns that take part: nothing else is read."""
        _units(self.book, self.by, weighted=self.weighted)
        if taken := [name for name in self.by if name in COUNT_COLUMNS]:
            raise ParameterError(
                f"column {taken[0]!r} has the name of a column of the table to be made ({', '.join(COUNT_COLUMNS)}); "
                "call it something else in the data and the codebook."
            )
        wanted = {*self.by, *([self.book.weight] if self.weighted else [])}
        named = [self.book.column(name) for name in self.by]
        wanted |= {column.detail_of for column in named if isinstance(column, Detail)}
        wanted |= {column.coded.name for column in named if isinstance(column, CodeLevel)}
        ids = None if self.book.unit is None else self.book.unit.id
        kept = [
            replace(column, parents=None) if column.parents is not None else column
            for column in self.book.columns
            if column.name in wanted or (column.name == ids and column.role is Role.IDENTIFIER)
        ]
        weight = self.book.weight if self.weighted else None
        return replace(self.book, columns=tuple(kept), constraints=(), weight=weight)

    @cached_property
    def counted(self) -> Codebook:
        """The same in bins alone, those of the weight narrow, so that a record counts as its own weight."""
        plain = [replace(c, shape="uniform", pieces=None) if isinstance(c, Number) else c for c in self.used.columns]
        fine = [finer(c, STEPS) if isinstance(c, Number) and c.name == self.used.weight else c for c in plain]
        return replace(self.used, columns=tuple(fine))

    @property
    def name(self) -> str:
        """As a manifest calls it."""
        return "weighted-counts" if self.weighted else "counts"

    def quote(self, *, secure: bool = True) -> Quote:
        """What it costs; reads nothing but the codebook."""
        return replace(self._priced, own=self._priced.own + Ledger.of(stream_entries(secure)))

    @cached_property
    def _priced(self) -> Quote:
        """Computed once, however often it is asked for."""
        book = self.used  # as declared: what was attested or paid for stays so
        units = _units(self.counted, self.by, weighted=self.weighted)
        epsilon, unit = self.epsilon, book.unit
        share = epsilon if unit is None else share_of_group(epsilon=epsilon, delta=None, records=unit.cap)[0]
        by = f", weighted by {units.weight}" if self.weighted else ""
        entry = Entry(
            stage="tables",
            reads=f"counts of {', '.join(self.by)}{by}",
            event=weighted_event(epsilon=share, largest=units.largest, neighbours=self.neighbours),
            assumptions=(*book.assumptions, *public_levels(self.by, self.neighbours)[len(self.by) :]),
        )
        return Quote(
            method=self.name,
            route="counts",
            own=Ledger.of([*drafted_entries(book), *person_entries([entry], book)]),
            own_delta=None,
            rows=self.cells,
            subject=Subject.COUNTS,
            warnings=(_WHAT_INTERVALS_ARE,),
            bought=bought_codebook(book),
        )

    def parameters(self) -> dict[str, Any]:
        """Every choice as plain data, for the manifest."""
        return {
            "columns": list(self.by),
            "epsilon": self.epsilon,
            "weight": self.used.weight,
            "confidence": self.confidence,
            "half_width": self.reach,
            "neighbours": self.neighbours.value,
        }

    def open(self, data: Any, **opening: Any) -> Source:
        """The table behind what the codebook says about the columns that take part."""
        return open_source(data, self.counted, **opening)

    def fit(self, source: Source, *, stream: Stream | None = None, report: Report | None = None) -> "FittedCounts":
        """Count. The counts stay secret until they are paid for and have their noise."""
        return FittedCounts(recipe=self, source=source, stream=Stream.checked(stream), report=report)

    @cached_property
    def reach(self) -> float:
        """Half the width of every interval: what the noise of a count exceeds with probability 1 - confidence."""
        unit = _units(self.counted, self.by, weighted=self.weighted).unit
        return half_width(_event(self.quote().own).scale, miss=1 - self.confidence) * float(unit)

    @property
    def cells(self) -> int:
        """Number of combinations."""
        return math.prod(self.book.column(name).size for name in self.by)


class FittedCounts(FittedWhole):
    """A table from which noisy counts can be released."""

    def __init__(self, *, recipe: Counts, source: Source, stream: Stream, report: Report | None) -> None:
        source.provenance.refuse_as_data("a table of counts")
        super().__init__(account=source.account, provenance=source.provenance, stream=stream, report=report)
        self.recipe = recipe
        self._units = _units(recipe.counted, recipe.by, weighted=recipe.weighted)
        weight = self._units.weight
        clique = recipe.by if weight is None else (*recipe.by, weight)
        self._tell("counting", 0, 1)
        (self._exact,) = capped_source(source, stream).count([clique])
        self._tell("counting", 1, 1)

    def quote(self, rows: int | None = None) -> Quote:
        """The price of the whole table, whatever its rows."""
        return self.recipe.quote(secure=self._stream.is_secure).with_data(self._provenance)

    def _choices(self, quote: Quote) -> str:
        return choices_of(quote, self.recipe.parameters(), self.recipe.used.digest)

    def _make(self, quote: Quote, payment: Payment, **how: Any) -> Release:
        recipe, units = self.recipe, self._units
        noisy = weighted_histogram(self._exact, units=units.units, event=_event(quote.own), stream=self._stream)
        counts = noisy.ravel() * float(units.unit)
        columns = {"count": counts, "low": counts - recipe.reach, "high": counts + recipe.reach}
        manifest = describe(
            quote,
            payment,
            parameters=recipe.parameters(),
            rows_origin="every combination of the public levels; the number of confidential records was not used",
            codebook=recipe.used,
            secure=self._stream.is_secure,
            made=Made.COUNTS,
        )
        return Release(table=pa.table({**_labels(recipe.used, recipe.by), **columns}), manifest=manifest)


_WHAT_INTERVALS_ARE = (
    "the intervals are for the noise alone: they say where the count of this table lies, not where that of the "
    "population does, and a count below 0 is noise around a small one."
)
