"""Weighted counts of a table with a survey weight, released once with noise that covers the largest weight."""

import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from understudy.codebook import Codebook, Number
from understudy.codebook.weight import bin_weights
from understudy.errors import DataError, ParameterError
from understudy.mechanisms.group import share_of_group
from understudy.mechanisms.stability import public_levels
from understudy.mechanisms.stream import Stream
from understudy.mechanisms.weighted import WeightedHistogram, weight_units, weighted_event, weighted_histogram
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry, Ledger
from understudy.sources.base import Source
from understudy.synth.checks import refuse_commuting
from understudy.synth.paid_books import owed, paid_ledger
from understudy.synth.people import capped_source, person_entries

__all__ = ["WeightedCounts", "weighted_counts", "weighted_ledger"]


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedCounts:
    """A released table: one row per combination, with its noisy weighted count."""

    table: pa.Table
    ledger: Ledger


def _plan(book: Codebook, columns: Sequence[str]) -> tuple[str, tuple[int, ...], Fraction]:
    """The weight column, the weight of each bin in units, and the unit; all public."""
    if book.weight is None:
        raise ParameterError('the codebook names no weight column; add weight = "COLUMN" at its top.')
    if not columns or len(set(columns)) < len(columns) or book.weight in columns:
        raise ParameterError(
            f"`columns` is {list(columns)}; name one or more columns to count, each once, and not the weight itself."
        )
    for name in columns:
        if name not in book.names:
            raise ParameterError(f"column {name!r} is not in the model; choose among {', '.join(book.names)}.")
    column = book.column(book.weight)
    assert isinstance(column, Number)
    units, unit = weight_units(bin_weights(column), column.step)
    return book.weight, units, unit


def weighted_ledger(
    book: Codebook, columns: Sequence[str], *, epsilon: float, neighbours: Neighbours = Neighbours.ADD_REMOVE
) -> Ledger:
    """What :func:`weighted_counts` costs; reads nothing but the codebook."""
    refuse_commuting(neighbours)
    weight, units, _ = _plan(book, columns)
    share = epsilon if book.unit is None else share_of_group(epsilon=epsilon, delta=None, records=book.unit.cap)[0]
    event = weighted_event(epsilon=share, largest=max(units), neighbours=neighbours)
    entry = Entry(
        stage="tables",
        reads=f"counts of {', '.join(columns)}, weighted by {weight}",
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
    """The weighted counts of every combination, with noise; the account of the source is charged first."""
    book = source.codebook
    ledger = weighted_ledger(book, columns, epsilon=epsilon, neighbours=neighbours)
    if source.ancestor is not None and not source.ancestor.record_wise:
        raise DataError(
            f"the table is {source.ancestor.called}, where one person can change the rows of "
            "many; weighted counts of it could promise nothing. Use the confidential table itself."
        )
    weight, units, unit = _plan(book, columns)
    stream = Stream.checked(stream)
    if not stream.is_secure:
        why = "the randomness was seeded, so whoever knows or guesses the seed can undo it"
        ledger += Ledger.of([Entry.unpriced(stage="randomness", reads="a seed", why=why)])
    event = ledger.entries[-1 if stream.is_secure else -2].event.inner
    assert isinstance(event, WeightedHistogram)
    with ExitStack() as paying:  # a failure before the noise is drawn gives the price back
        reserved = None
        if source.account is not None:
            charged, delta = owed(ledger, None, book, source.account)
            label = f"weighted counts of {', '.join(columns)}"
            reserved = paying.enter_context(source.account.reserve(charged, label=label, delta=delta))
        counts = capped_source(source, stream).count([(*columns, weight)])[0]
        noisy = weighted_histogram(counts, units=units, event=event, stream=stream)
        if reserved is not None:
            reserved.commit(str(uuid.uuid4()))
    labels = [np.array(book.column(name).labels, dtype=object) for name in columns]
    places = np.indices(noisy.shape).reshape(len(columns), -1)
    found = {name: pa.array(label[place].tolist()) for name, label, place in zip(columns, labels, places, strict=True)}
    return WeightedCounts(table=pa.table({**found, "weighted_count": noisy.ravel() * float(unit)}), ledger=ledger)
