"""Linked tables as encoded tables of the kind that the report of one table compares: rows, numbers, and what follows.

So shares, tables of two columns, associations and impossible combinations of linked tables are found by the same code,
and held against the same limits, as those of one table.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from understudy.codebook import Codebook, Column
from understudy.codebook.columns import Categorical
from understudy.evaluate.linked.metrics.gaps import BANDS, gap_bands
from understudy.evaluate.linked.rows import NONE, Ints, LinkedRows
from understudy.evaluate.linked.shares import MOST_STEPS, coarse
from understudy.evaluate.utility.tables import CELLS
from understudy.sources.encoded import Codes, EncodedSource
from understudy.sources.tables import code_type

_MISSING, _UNKNOWN = "(missing)", "(unknown)"
Sides = tuple[LinkedRows, LinkedRows]
"""The confidential and the synthetic tables."""


@dataclass(frozen=True, kw_only=True)
class View:
    """The same rows of both sides over one codebook."""

    real: EncodedSource
    synthetic: EncodedSource
    rows: tuple[int, int]
    own: tuple[str, ...]
    """Columns that this view is about; the others are there to be paired with them."""
    pairs: tuple[tuple[str, str], ...]
    """What is compared two by two; tables that are too large to be laid out are left out."""

    @property
    def can_be_compared(self) -> bool:
        """Whether both sides have rows."""
        return all(self.rows)


@dataclass(frozen=True, kw_only=True)
class _Told:
    """One column of a view: its name, a label for each code, and the codes of both sides; -1 is unknown."""

    name: str
    labels: tuple[str, ...]
    codes: tuple[Ints, Ints]


def rows_view(sides: Sides, table: str) -> View:
    """The rows of a table, with the columns of the rows that they belong to."""
    book = sides[0].book
    own = [_column(sides, book.table(table).spelled(name), table) for name in book.table(table).book.names]
    above = [_column(sides, upper.spelled(name), table) for upper in book.path(table)[:-1] for name in upper.book.names]
    names = [column.name for column in own]
    pairs = [(a, b) for place, b in enumerate(names) for a in (*(column.name for column in above), *names[:place])]
    return _view([*above, *own], own=names, pairs=pairs)


def numbers_view(sides: Sides, table: str) -> View:
    """Rows of the parent, with how many rows of this table belong to each; numbers beyond the cap count as the cap."""
    book = sides[0].book
    child = book.table(table)
    parent, cap = str(child.parent), child.cap or 0
    number = _Told(
        name=f"number of {table}",
        labels=tuple(map(str, range(cap + 1))),
        codes=_both([np.minimum(side.children(table), cap) for side in sides]),
    )
    known = [_column(sides, book.table(parent).spelled(name), parent) for name in book.table(parent).book.names]
    pairs = [(column.name, number.name) for column in known]
    return _view([*known, number], own=[number.name], pairs=pairs)


def steps_view(sides: Sides, table: str) -> View:
    """Rows that follow another of the same parent: each column beside what it was before."""
    described = sides[0].book.table(table)
    names = [name for name in described.book.names if name != described.order]
    follows = _both([np.flatnonzero(side.tables[table].before != NONE) for side in sides])
    now = [_column(sides, described.spelled(name), table, follows) for name in names]
    before = [_column(sides, f"{table}.previous.{name}", table, follows) for name in names]
    pairs = [(first.name, second.name) for first, second in zip(before, now, strict=True)]
    return _view([*before, *now], own=[], pairs=pairs)


def gaps_view(sides: Sides, table: str) -> View | None:
    """Rows that follow another: how long it took, by the columns of the row before. None where rows have no moments."""
    described = sides[0].book.table(table)
    found = [gap_bands(side, table) for side in sides]
    follows = _both([np.flatnonzero(side.tables[table].before != NONE) for side in sides])
    if any(bands is None for bands in found):
        return None
    bands = _both([np.asarray(each)[rows] for each, rows in zip(found, follows, strict=True)])
    if len(np.unique(bands[0])) < 2:  # a sequence number always grows by one
        return None
    gap = _Told(name=f"days to the next of {table}", labels=BANDS, codes=bands)
    names = [name for name in described.book.names if name != described.order]
    before = [_column(sides, f"{table}.previous.{name}", table, follows) for name in names]
    return _view([*before, gap], own=[gap.name], pairs=[(column.name, gap.name) for column in before])


def _both(sides: Sequence[Ints]) -> tuple[Ints, Ints]:
    return sides[0], sides[1]


def _column(sides: Sides, spelled: str, at: str, chosen: tuple[Ints, Ints] | None = None) -> _Told:
    """A column of the table ``at`` or one above it, in bands where it has very many ordered levels."""
    owner, _, own = spelled.partition(".")
    column = sides[0].book.column(f"{owner}.{own.removeprefix('previous.')}")
    codes = [coarse(column, side.codes(spelled, at))[0] for side in sides]
    if chosen is not None:
        codes = [each[rows] for each, rows in zip(codes, chosen, strict=True)]
    return _Told(name=spelled, labels=banded_labels(column), codes=_both(codes))


def banded_labels(column: Column) -> tuple[str, ...]:
    """A label for each code that :func:`coarse` gives, no two alike."""
    proper, size = column.proper_levels, coarse(column, np.zeros(0, dtype=np.int64))[1]
    if size == column.size:
        return _apart(column.labels)
    starts = [-(-band * proper // MOST_STEPS) for band in range(MOST_STEPS + 1)]
    bands = [_band(column.labels[a], column.labels[b - 1]) for a, b in pairwise(starts)]
    return _apart((*bands, *column.labels[proper:]))


def _band(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"


def _apart(labels: Iterable[str]) -> tuple[str, ...]:
    """No label is empty, and no two are alike."""
    told: dict[str, None] = {}
    for label in labels:
        name = label.strip() or _MISSING
        while name in told:
            name += "'"
        told[name] = None
    return tuple(told)


def _view(columns: Sequence[_Told], *, own: Sequence[str], pairs: Sequence[tuple[str, str]]) -> View:
    described: list[Column] = []
    codes: tuple[list[Codes], list[Codes]] = ([], [])
    for column in columns:
        unknown = any(bool((side < 0).any()) for side in column.codes)
        labels = _apart((*column.labels, _UNKNOWN)) if unknown else column.labels
        described.append(Categorical(name=column.name, levels=labels))
        for kept, side in zip(codes, column.codes, strict=True):
            kept.append(np.where(side < 0, len(column.labels), side).astype(code_type(len(labels))))
    book = Codebook(columns=tuple(described))
    real, synthetic = (EncodedSource(codebook=book, columns=side) for side in codes)
    sizes = {column.name: column.size for column in described}
    small = tuple(pair for pair in pairs if sizes[pair[0]] * sizes[pair[1]] <= CELLS)
    rows = (len(codes[0][0]), len(codes[1][0])) if described else (0, 0)
    return View(real=real, synthetic=synthetic, rows=rows, own=tuple(own), pairs=small)
