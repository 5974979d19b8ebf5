"""Which columns key each conditional table: declared, a data-independent default, or chosen from raw data.

The last one is the paper's way. It reads private data without a price, so it adds an entry that makes the total
``NoFormal`` (one replaced row can change the choice and move a draw's ratio to 100).
"""

import itertools
import math
from collections.abc import Mapping, Sequence

from understudy.codebook import Codebook
from understudy.errors import CodebookError, ParameterError
from understudy.mechanisms.selection_scores import mutual_information
from understudy.mechanisms.smoothing import exposed
from understudy.parameters import Whole
from understudy.privacy.ledger import Entry
from understudy.sources.base import Source

RAW_INFORMATION = {
    "stage": "parents",
    "reads": "all two-way tables, to choose parents",
    "why": "parents were chosen by mutual information on the raw data, which nobody paid for",
}
Parents = Mapping[str, tuple[str, ...]]

DEFAULT_COUNT = 2
RECORDS_PER_CELL = 30
"""The PeGS paper's rule of thumb for a probability worth estimating."""


def declared_parents(book: Codebook, overrides: Mapping[str, Sequence[str]] | None = None) -> Parents:
    """Parents as the codebook (or the caller) declares them; columns without any get the default."""
    overrides = overrides or {}
    for name, parents in overrides.items():
        _check(book, name, parents)
    fallback = default_parents(book)
    chosen = {}
    for column in book.modelled:
        if column.name in overrides:
            chosen[column.name] = tuple(overrides[column.name])
        else:
            chosen[column.name] = fallback[column.name] if column.parents is None else column.parents
    return chosen


def _check(book: Codebook, name: str, parents: Sequence[str]) -> None:
    for column in (name, *parents):
        if column not in book.names:
            raise CodebookError(
                f"{column!r} is not a column to be synthesized; choose parents among {', '.join(book.names)}."
            )
    if name in parents or len(set(parents)) != len(parents):
        raise ParameterError(f"the parents of {name!r} are {list(parents)}; name other columns, each once.")


def default_parents(book: Codebook, count: int = DEFAULT_COUNT) -> Parents:
    """The ``count`` columns that precede each one in the codebook, wrapping around: no data is looked at."""
    names = book.names
    count = min(count, len(names) - 1)
    return {
        name: tuple(names[(position - step) % len(names)] for step in range(1, count + 1))
        for position, name in enumerate(names)
    }


def records_per_cell(book: Codebook, parents: Parents, public_rows: int) -> dict[str, float]:
    """Average records per key of each table, from public sizes only: aim for about 30."""
    Whole().check("public_rows", public_rows)
    return {
        name: public_rows / math.prod(book.column(parent).size for parent in chosen) for name, chosen in parents.items()
    }


def parents_within(book: Codebook, *, public_rows: int, order: Parents, per_cell: float = RECORDS_PER_CELL) -> Parents:
    """As many of the ordered parents as leave ``per_cell`` records per key, from public sizes only."""
    kept = {}
    for name, candidates in order.items():
        room, taken = public_rows / per_cell, []
        for candidate in candidates:
            size = book.column(candidate).size
            if size <= room:
                taken.append(candidate)
                room /= size
        kept[name] = tuple(taken)
    return kept


def check_count(count: int, columns: int) -> None:
    """A column can have every other column as a parent, no more."""
    Whole(most=columns - 1).check("parent_count", count)


def mutual_information_parents(source: Source, count: int) -> tuple[Parents, Entry]:
    """For each column the ``count`` columns it shares most information with, read from raw data."""
    names = source.codebook.names
    check_count(count, len(names))
    pairs = list(itertools.combinations(names, 2))
    tables, entry = exposed(source.count(pairs), **RAW_INFORMATION)
    score = {frozenset(pair): mutual_information(table.to_grid()) for pair, table in zip(pairs, tables, strict=True)}
    chosen = {}
    for name in names:
        others = sorted((other for other in names if other != name), key=lambda o: -score[frozenset((name, o))])
        chosen[name] = tuple(others[:count])
    return chosen, entry
