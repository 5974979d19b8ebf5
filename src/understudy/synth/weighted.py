"""Counts of a table, weighted by its survey weight or not, released once with noise and intervals.

One record moves one cell, by its weight at most: the noise covers the largest weight. With the weight in narrow bins
(``codebook.weight.finer``) a record counts as its own weight, rounded to about a thousandth of the largest.
"""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.codebook import Codebook, Detail, Number, Role
from understudy.codebook.weight import bin_weights, finer
from understudy.errors import DataError, ParameterError
from understudy.mechanisms.group import share_of_group
from understudy.mechanisms.stability import public_levels
from understudy.mechanisms.stream import Stream
from understudy.mechanisms.weighted import (
    STEPS,
    WeightedHistogram,
    noise_reach,
    weight_units,
    weighted_event,
    weighted_histogram,
)
from understudy.privacy.account import Account
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry, Ledger
from understudy.release import Manifest, Release
from understudy.release.release import COUNT_COLUMNS
from understudy.sources import open_source
from understudy.sources.base import Report, Source
from understudy.synth.checks import refuse_commuting
from understudy.synth.paid_books import owed, paid_ledger
from understudy.synth.people import capped_source, person_entries

__all__ = ["CountPlan", "WeightedCounts", "weighted_counts", "weighted_ledger"]


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedCounts:
    """A released table: one row per combination, with its noisy weighted count."""

    table: pa.Table
    ledger: Ledger


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
    if not weighted:
        return _Units(weight=None, units=None, unit=Fraction(1))
    assert book.weight is not None
    column = book.column(book.weight)
    assert isinstance(column, Number)
    units, unit = weight_units(bin_weights(column), column.step)
    return _Units(weight=book.weight, units=units, unit=unit)


def weighted_ledger(
    book: Codebook,
    columns: Sequence[str],
    *,
    epsilon: float,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    weighted: bool = True,
) -> Ledger:
    """What :func:`weighted_counts` costs; reads nothing but the codebook."""
    refuse_commuting(neighbours)
    found = _units(book, columns, weighted=weighted)
    share = epsilon if book.unit is None else share_of_group(epsilon=epsilon, delta=None, records=book.unit.cap)[0]
    event = weighted_event(epsilon=share, largest=found.largest, neighbours=neighbours)
    by = f", weighted by {found.weight}" if weighted else ""
    entry = Entry(
        stage="tables",
        reads=f"counts of {', '.join(columns)}{by}",
        event=event,
        assumptions=(*book.assumptions, *public_levels(columns, neighbours)[len(columns) :]),
    )
    entries = [] if book.is_public else [_drafted(book)]
    return Ledger.of([*paid_ledger(book), *entries, *person_entries([entry], book)])


def _drafted(book: Codebook) -> Entry:
    names = ", ".join(book.unattested)
    return Entry.unpriced(stage="codebook", reads=f"levels and bounds of {names}", why=book.why_not_public)


def weighted_counts(
    source: Source,
    columns: Sequence[str],
    *,
    epsilon: float,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    stream: Stream | None = None,
) -> WeightedCounts:
    """The weighted counts of every combination, with noise; the account of the source is charged first.

    A record counts as the middle of its weight's bin; :class:`CountPlan` counts it as its own weight.
    """
    ledger = weighted_ledger(source.codebook, columns, epsilon=epsilon, neighbours=neighbours)
    stream = Stream.checked(stream)
    with _counting(source, columns, ledger, stream, weighted=True) as (noisy, ledger, settle):
        settle(str(uuid.uuid4()))
    unit = _units(source.codebook, columns, weighted=True).unit
    labels = _labels(source.codebook, columns)
    return WeightedCounts(table=pa.table({**labels, "weighted_count": noisy.ravel() * float(unit)}), ledger=ledger)


def _event(ledger: Ledger) -> WeightedHistogram:
    """The noise of the one table; what else the ledger holds was paid or is unpriced."""
    events = [getattr(entry.event, "inner", entry.event) for entry in ledger]
    (event,) = [event for event in events if isinstance(event, WeightedHistogram)]
    return event


@contextmanager
def _counting(
    source: Source, columns: Sequence[str], ledger: Ledger, stream: Stream, *, weighted: bool
) -> Iterator[tuple[npt.NDArray[np.int64], Ledger, Any]]:
    """Noisy counts in units, what they cost, and what commits the price; leaving without that gives it back."""
    book = source.codebook
    if source.ancestor is not None and not source.ancestor.record_wise:
        raise DataError(
            f"the table is {source.ancestor.called}, where one person can change the rows of "
            "many; weighted counts of it could promise nothing. Use the confidential table itself."
        )
    found = _units(book, columns, weighted=weighted)
    if not stream.is_secure:
        why = "the randomness was seeded, so whoever knows or guesses the seed can undo it"
        ledger += Ledger.of([Entry.unpriced(stage="randomness", reads="a seed", why=why)])
    reserved = None
    if source.account is not None:
        charged, delta = owed(ledger, None, book, source.account)
        label = f"{'weighted ' if weighted else ''}counts of {', '.join(columns)}"
        reserved = source.account.reserve(charged, label=label, delta=delta)
    settled = False

    def settle(release: str) -> None:
        nonlocal settled
        if not settled:
            settled = True  # first: a commit that fails must not be followed by a cancel
            if reserved is not None:
                reserved.commit(release)

    try:
        clique = (*columns, found.weight) if found.weight is not None else tuple(columns)
        counts = capped_source(source, stream).count([clique])[0]
        yield weighted_histogram(counts, units=found.units, event=_event(ledger), stream=stream), ledger, settle
    finally:
        if reserved is not None and not settled:
            reserved.cancel()


def _labels(book: Codebook, columns: Sequence[str]) -> dict[str, pa.Array]:
    """One row per combination, the last column changing fastest."""
    sizes = [book.column(name).size for name in columns]
    places = np.indices(sizes).reshape(len(columns), -1)
    return {
        name: pa.array(np.array(book.column(name).labels, dtype=object)[place].tolist(), type=pa.string())
        for name, place in zip(columns, places, strict=True)
    }


@dataclass(frozen=True, kw_only=True)
class CountPlan:
    """A table of counts to be released: which columns, at which price, weighted or not."""

    book: Codebook
    columns: tuple[str, ...]
    epsilon: float
    weighted: bool = False
    confidence: float = 0.95
    """Of the interval around each count, for its noise alone."""
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    @cached_property
    def used(self) -> Codebook:
        """What the codebook says about the columns that take part: nothing else is read."""
        _units(self.book, self.columns, weighted=self.weighted)
        if taken := [name for name in self.columns if name in COUNT_COLUMNS]:
            raise ParameterError(
                f"column {taken[0]!r} has the name of a column of the table to be made ({', '.join(COUNT_COLUMNS)}); "
                "call it something else in the data and the codebook."
            )
        wanted = {*self.columns, *([self.book.weight] if self.weighted else [])}
        named = [self.book.column(name) for name in self.columns]
        wanted |= {column.detail_of for column in named if isinstance(column, Detail)}
        ids = None if self.book.unit is None else self.book.unit.id
        kept = [
            replace(column, parents=None) if column.parents is not None else column
            for column in self.book.columns
            if column.name in wanted or (column.name == ids and column.role is Role.IDENTIFIER)
        ]
        plain = [replace(c, shape="uniform", pieces=None) if c in self.book.measured else c for c in kept]
        weight = self.book.weight if self.weighted else None
        return replace(self.book, columns=tuple(plain), constraints=(), weight=weight)

    @cached_property
    def counted(self) -> Codebook:
        """The same with the weight in narrow bins, so that a record counts as its own weight."""
        used = self.used
        if used.weight is None:
            return used
        column = used.column(used.weight)
        assert isinstance(column, Number)
        return replace(used, columns=tuple(finer(column, STEPS) if c is column else c for c in used.columns))

    def ledger(self) -> Ledger:
        """What it costs; reads nothing but the codebook."""
        return weighted_ledger(
            self.counted, self.columns, epsilon=self.epsilon, neighbours=self.neighbours, weighted=self.weighted
        )

    @cached_property
    def reach(self) -> float:
        """Half the width of every interval: what the noise of a count exceeds with probability 1 - confidence."""
        unit = _units(self.counted, self.columns, weighted=self.weighted).unit
        return noise_reach(_event(self.ledger()), self.confidence) * float(unit)

    @property
    def cells(self) -> int:
        """Number of combinations."""
        return int(np.prod([self.book.column(name).size for name in self.columns]))

    @contextmanager
    def counting(
        self,
        data: Any,
        *,
        account: Account | None = None,
        unknown: str = "error",
        table: str | None = None,
        seed: int | None = None,
        report: Report | None = None,
    ) -> Iterator[Release]:
        """Count, perturb and hand over; a block that ends well is charged, one that fails gives its price back."""
        from understudy.synth.recipe import NO_ACCOUNT

        reach, ledger = self.reach, self.ledger()  # refuses bad numbers before the data are touched
        source = open_source(data, self.counted, account=account, unknown=unknown, table=table)
        stream = Stream.from_system() if seed is None else Stream.seeded(seed)
        unit = float(_units(self.counted, self.columns, weighted=self.weighted).unit)
        identity = str(uuid.uuid4())
        if report:
            report("counting", 0, 1)
        with _counting(source, self.columns, ledger, stream, weighted=self.weighted) as (noisy, spent, settle):
            counts = noisy.ravel() * unit
            found = {"count": counts, "low": counts - reach, "high": counts + reach}
            made = pa.table({**_labels(self.used, self.columns), **found})
            manifest = Manifest(
                release_id=identity,
                method="weighted-counts" if self.weighted else "counts",
                route="counts",
                parameters={
                    "columns": list(self.columns),
                    "epsilon": self.epsilon,
                    "weight": self.used.weight,
                    "confidence": self.confidence,
                    "half_width": reach,
                    "neighbours": self.neighbours.value,
                },
                rows=made.num_rows,
                rows_origin="every combination of the public levels; the number of confidential records was not used",
                ledger=spent,
                delta=None,
                paper=None,
                codebook=self.used,
                secure=stream.is_secure,
                holds="counts",
                ancestor=source.ancestor,
                account=NO_ACCOUNT if account is None else f"charged to the account of {account.dataset!r}",
                warnings=(_WHAT_INTERVALS_ARE,),
            )
            if report:
                report("counting", 1, 1)
            yield Release(table=made, manifest=manifest, settle=lambda: settle(identity))
            settle(identity)  # the block ended well, so whoever had the counts may have shown them


_WHAT_INTERVALS_ARE = (
    "the intervals are for the noise alone: they say where the count of this table lies, not where that of the "
    "population does, and a count below 0 is noise around a small one."
)
