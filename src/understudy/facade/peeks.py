"""Looks at a table for the screen of the person who holds it: its first rows, and its columns bin by bin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.confidential import Confidential

if TYPE_CHECKING:
    from understudy.codebook import Codebook, LinkedCodebook

_WIDEST = 200


def read_databases_alone() -> None:
    """For the rest of this process: what lies in a DuckDB file cannot make it read other files."""
    from understudy.sources.engines.duckdb import read_databases_alone

    read_databases_alone()


def check_address(address: str) -> None:
    """Refuse the address of a server that cannot be opened, such as one with a password, before anybody keeps it."""
    from understudy.sources.addresses import parse_address

    parse_address(address)


def strange_sign(address: str) -> str | None:
    """A sign that an address is read without, or only up to, so that another place would be opened than is named."""
    from understudy.sources import addresses

    return addresses.strange_sign(address)


def tables_in(data: Any) -> tuple[str, ...]:
    """The names of the tables of a DuckDB file, in order; none for anything else. Reads no row."""
    from understudy.sources.linked_draft import table_names

    return tuple(table_names(data) or ())


@dataclass(frozen=True, kw_only=True, repr=False)
class FirstRows(Confidential):
    """The top of a table, as it is read."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    reading: Mapping[str, Any]
    """How the file is read, where that is not the plain convention."""
    guesses: tuple[str, ...]
    """What was guessed about the file, in sentences."""


def first_rows(data: Any, *, rows: int = 20, table: str | None = None) -> FirstRows:
    """The first rows as texts, with the reading that a draft would take; reads no further than it must."""
    from understudy.sources.draft import guessed_file
    from understudy.sources.faults import engine_errors
    from understudy.sources.files import open_table

    file, guesses = guessed_file(data)
    opened = open_table(data, table, file=file)
    with engine_errors(repr(opened.label)):
        top = opened.table.limit(rows).to_pyarrow()
    columns = [[_text(value) for value in column.to_pylist()] for column in top.columns]
    reading = {} if opened.file is None else {name: value for name, value in asdict(opened.file).items() if value}
    return FirstRows(
        header=opened.header,
        rows=tuple(zip(*columns, strict=True)),
        reading={name: reading[name] for name in reading if name not in ("origin", "attestation")},
        guesses=tuple(guess.sentence for guess in guesses),
    )


def _text(value: Any) -> str:
    words = "" if value is None else str(value)
    return words if len(words) <= _WIDEST else words[: _WIDEST - 1] + "…"


@dataclass(frozen=True, kw_only=True, repr=False)
class ColumnCounts(Confidential):
    """How many rows each level or bin of each column has, exactly."""

    rows: int
    counts: Mapping[str, tuple[int, ...]]
    """In the order of the column's labels."""


def column_counts(data: Any, book: Codebook | LinkedCodebook | str | Path, *, table: str | None = None) -> ColumnCounts:
    """Rows of every level and bin, counted where the table lies. The outcome is confidential.

    Columns of linked tables are called ``table.column``, and counted in the rows of the file that holds them.
    """
    from understudy.codebook import LinkedCodebook
    from understudy.evaluate.opened import open_grids
    from understudy.facade.codebooks import load_any
    from understudy.sources import open_source

    loaded = load_any(book)
    if isinstance(loaded, LinkedCodebook):
        return _linked_counts(data, loaded)
    described = replace(loaded, unit=None)
    source = open_source(data, described, table=table)
    names = [column.name for column in described.modelled if column.size <= _MOST_BARS]
    grids = open_grids(source, [[name] for name in names])
    counts = {name: tuple(int(count) for count in grid.ravel()) for name, grid in zip(names, grids, strict=True)}
    return ColumnCounts(rows=max((sum(own) for own in counts.values()), default=0), counts=counts)


def _linked_counts(data: Any, linked: LinkedCodebook) -> ColumnCounts:
    from understudy.sources.linked_check import book_of_file
    from understudy.sources.linked_files import places_of

    counts: dict[str, tuple[int, ...]] = {}
    rows = 0
    for name, place in places_of(data, linked).items():
        alone, owners = book_of_file(linked, linked.table(name))
        own = column_counts(place.what, alone, table=place.table)
        counts |= {f"{owners[column]}.{column}": seen for column, seen in own.counts.items() if column in owners}
        rows = max(rows, own.rows)
    return ColumnCounts(rows=rows, counts=counts)


_MOST_BARS = 400
"""Levels of a column that a histogram can still show."""
