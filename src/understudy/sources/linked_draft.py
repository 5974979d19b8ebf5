"""A first codebook of linked tables, read from a folder of files for a person to review.

Keys, parents and the order of siblings are read from private rows without a price, so every table is marked as drafted.
The caps are not read from the data: every table gets the same number, for a person to change.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ibis

from understudy.codebook import Codebook, Column, Dates, LinkedCodebook, LinkedTable, Origin, Role
from understudy.errors import DataError
from understudy.sources.addresses import file_address
from understudy.sources.base import Report
from understudy.sources.databases import tables_in
from understudy.sources.draft import draft_in_full, guessed_file
from understudy.sources.expressions import person_of
from understudy.sources.faults import engine_errors
from understudy.sources.file_guesses import Guess
from understudy.sources.files import Opened
from understudy.sources.linked_files import Place, files_in, stem_of
from understudy.sources.linked_keys import Counted, Link, below, find_links, find_top, is_id_name

CAP = 5
"""Rows of each parent row in a draft: a number for a person to change, not one of the data."""
_SEQUENCE = re.compile(r"(^|_)(seq|sequence|order|rank|position|pos)(_|$|num|no|nr)", re.IGNORECASE)
_TIME = re.compile(r"time|date|start|admit|intime|_on$|_at$|^age$", re.IGNORECASE)
_DESCRIPTION = (
    "Keys, parents, levels, edges and ranges were first drafted from the data; a release has a formal guarantee only "
    "where every table and column is attested as public knowledge (`understudy codebook declare`)."
)


@dataclass(frozen=True, kw_only=True)
class LinkedDraft:
    """A drafted codebook of linked tables; all but the codebook is private."""

    codebook: LinkedCodebook
    reasons: Mapping[str, str]
    """Why tables, and columns as ``table.column``, were left out."""
    guesses: tuple[tuple[str, Guess], ...]
    """What was taken for granted about each table, by its name."""
    notes: tuple[str, ...]
    """How the tables belong together, and what to look at, in sentences."""


def draft_linked(what: Any, *, cap: int = CAP, report: Report | None = None) -> LinkedDraft:
    """Describe linked tables as they are; ``what`` is a folder, a DuckDB file or a mapping of tables."""
    places = _places(what)
    if len(places) < 2:
        raise DataError(
            f"there is one table only ({', '.join(places)}); draft it alone, or split it into persons and their "
            "records with `understudy codebook split`."
        )
    files = {name: guessed_file(place.what)[0] for name, place in places.items()}
    opened = {name: place.open(files[name]) for name, place in places.items()}
    for each in opened.values():
        each.verify()
    links, counted = find_links(opened)
    top = find_top(list(places), links)
    kept = [top, *(name for name in places if name in below(top, links))]
    reasons = {name: "no column of it names a row of another table" for name in places if name not in kept}
    keys = _keys(kept, links)
    ids = _ids(counted, keys)
    notes: list[str] = []
    guesses: list[tuple[str, Guess]] = []
    tables = []
    for number, name in enumerate(kept):
        if report:
            report("drafting", number, len(kept))
        link = links.get(name)
        drop = [column for column in opened[name].header if column.lower() in ids]
        draft = draft_in_full(places[name].what, table=places[name].table, drop=drop, tell_apart=True)
        guesses += [(name, guess) for guess in draft.guesses]
        reasons |= {f"{name}.{column}": why for column, why in draft.reasons.items()}
        book = _without_keys(draft.codebook, {keys.get(name), link.column if link else None})
        order = None if link is None else _order(opened[name], link.column, book)
        tables.append(
            LinkedTable(
                name=name,
                book=book,
                data=_data(places[name], name),
                key=keys.get(name),
                parent=None if link is None else link.parent,
                parent_key=None if link is None else link.column,
                cap=None if link is None else cap,
                order=order,
                orphans="drop" if link is not None and link.orphans else "refuse",
                origin=Origin.DRAFTED,
            )
        )
        notes += _notes(opened[name], name, link, counted[name].rows, order)
    notes.append(f"every cap is {cap}, which was not read from the data; write what is publicly known to be enough.")
    linked = LinkedCodebook(tables=tuple(tables), description=_DESCRIPTION)
    return LinkedDraft(codebook=linked, reasons=reasons, guesses=tuple(guesses), notes=tuple(notes))


def _places(what: Any) -> dict[str, Place]:
    """The tables by their names."""
    if isinstance(what, Mapping):
        return {str(name): Place(what=table) for name, table in what.items()}
    if (names := table_names(what)) is not None:
        return {_plain(name): Place(what=what, table=name) for name in names}
    if "://" in str(what):
        raise DataError(
            f"{str(what)!r} is a server: a draft reads levels off the values, and only counts leave a database through "
            "Understudy. Draft from a small export in a safe place, or write the codebook by hand."
        )
    places: dict[str, Place] = {}
    for path in files_in(Path(what)):
        name = _plain(stem_of(path))
        if name in places:
            raise DataError(f"{path.name!r} and {Path(places[name].what).name!r} would be one table; move one away.")
        places[name] = Place(what=path)
    return places


def table_names(what: Any) -> list[str] | None:
    """The tables of a database in a file that is named as a whole, in order of name; None for anything else."""
    where = file_address(str(what))
    if where is None:
        return None
    with engine_errors(repr(str(what))):
        return tables_in(where)


def _plain(name: str) -> str:
    """A name that rules can spell."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name).lower()


def _data(place: Place, name: str) -> str:
    """What the codebook must say about where the table lies."""
    lies = place.table or (place.what.name if isinstance(place.what, Path) else name)
    return "" if lies == name or stem_of(Path(lies)).lower() == name else lies


def _keys(kept: list[str], links: Mapping[str, Link]) -> dict[str, str]:
    """The key of each table that others belong to."""
    return {link.parent: link.key for name, link in links.items() if name in kept}


def _ids(counted: Mapping[str, Counted], keys: Mapping[str, str]) -> set[str]:
    """Columns to leave out wherever they stand: keys, and what tells the rows of some table apart."""
    each = [(column, counts) for counts in counted.values() for column in counts.values]
    unique = {column.lower() for column, counts in each if is_id_name(column) and counts.is_unique(column)}
    return {key.lower() for key in keys.values()} | unique


def _without_keys(book: Codebook, keys: set[str | None]) -> Codebook:
    columns: tuple[Column, ...] = tuple(column for column in book.columns if column.name not in keys)
    return replace(book, columns=columns, description="")


def _order(opened: Opened, parent_key: str, book: Codebook) -> str | None:
    """A column without gaps by which siblings follow each other: a number that no two share, or else a time."""
    released = {column.name: column for column in book.columns}
    named = [name for name in opened.header if _SEQUENCE.search(name) or _TIME.search(name)]
    named.sort(key=lambda name: not _SEQUENCE.search(name))
    for name in named:
        pair = opened.table.select(parent=person_of(opened.value(parent_key)), order=person_of(opened.value(name)))
        both = ibis.struct({"parent": pair.parent, "order": pair.order})
        asked = pair.aggregate(gaps=pair.order.isnull().sum(), rows=pair.count(), pairs=both.nunique())
        with engine_errors(repr(opened.label)):
            found = asked.to_pyarrow().to_pylist()[0]
        if found["gaps"]:
            continue
        column = released.get(name)
        is_time = isinstance(column, Dates) or (column is not None and column.role is Role.IDENTIFIER)
        if found["pairs"] == found["rows"] or (is_time and not _SEQUENCE.search(name)):
            return name
    return None


def _notes(opened: Opened, name: str, link: Link | None, rows: int, order: str | None) -> list[str]:
    if link is None:
        notes = [f"{name} holds the persons, whom a release protects: one row each, {rows:,} rows."]
    else:
        notes = [
            f"{name} belongs to {link.parent} by {link.column}"
            + (f", ordered by {order}." if order else "; nothing was found that orders its rows.")
        ]
        if link.orphans:
            notes.append(
                f"{link.orphans:,} of {rows:,} rows of {name} have no row in {link.parent} and take no part "
                '(orphans = "drop").'
            )
    for given, kept in zip(_header_as_written(opened), opened.header, strict=True):
        if given != kept:
            notes.append(
                f"column {given!r} of {name} is called {kept!r} in the codebook, because another one differs from it "
                "only by case."
            )
    return notes


def _header_as_written(opened: Opened) -> tuple[str, ...]:
    return opened.written or opened.header
