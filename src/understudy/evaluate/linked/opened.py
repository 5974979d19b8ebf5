"""Linked tables brought into memory to be compared: a folder of files, a release, or a mapping of tables."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from understudy.codebook.linked import LinkedCodebook
from understudy.errors import DataError
from understudy.privacy.provenance import Provenance
from understudy.sources.faults import engine_errors
from understudy.sources.linked import LinkedSource, provenance_of_places
from understudy.sources.linked_files import Place, files_in, places_of, stem_of


def open_tables(what: Any, book: LinkedCodebook) -> dict[str, pa.Table]:
    """Every table of the codebook that is there; one that is made of another need not be."""
    places = what.places if isinstance(what, LinkedSource) else _places(what, book)
    return {name: _rows(name, place, book) for name, place in places.items()}


def made_of(what: Any, book: LinkedCodebook) -> Provenance:
    """What these tables are, without reading a row."""
    places = what.places if isinstance(what, LinkedSource) else _places(what, book)
    return provenance_of_places(places, book)


def _places(what: Any, book: LinkedCodebook) -> Mapping[str, Place]:
    """Where the tables lie; those that are made of others lie in a release, too."""
    names = [table.name for table in book.tables]
    if isinstance(what, str | Path) and Path(what).is_dir():
        there = {stem_of(path): path for path in files_in(Path(what)) if stem_of(path) in names}
        if set(names) <= set(there):
            return {name: Place(what=there[name]) for name in names}
    if isinstance(what, Mapping) and set(names) <= set(what):
        return {name: Place(what=what[name]) for name in names}
    if isinstance(what, str | Path) and Path(what).is_file() and len(names) == 2:
        return {names[1]: Place(what=what)}  # one file that repeats persons, against a release of two tables
    return places_of(what, book)


def _rows(name: str, place: Place, book: LinkedCodebook) -> pa.Table:
    table = book.table(name)
    opened = place.open(table.book.file)
    if opened.connection.name != "duckdb":
        raise DataError(
            f"{opened.label}: evaluating histories needs the rows, and no record leaves a database through Understudy. "
            "Export the tables to files in a safe place first."
        )
    opened.verify_whole()
    described = (
        table.book.described
        if table.parent is None
        else (*table.book.described, *book.table(table.parent).book.described)
    )
    read = [column.reads for column in described]
    wanted = dict.fromkeys([table.key, table.parent_key, table.order, *read])
    with engine_errors(repr(opened.label)):
        selected = {column: opened.value(column) for column in wanted if column is not None and column in opened.header}
        return opened.table.select(**selected).to_pyarrow()
