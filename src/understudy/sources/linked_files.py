"""Where the tables of a linked codebook lie: a folder of files, a database, a mapping of tables, or one table alone."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path
from typing import Any

from understudy.codebook import FileReading, LinkedCodebook, LinkedTable
from understudy.errors import DataError, listed
from understudy.sources.addresses import parse_address
from understudy.sources.databases import is_spark
from understudy.sources.files import Opened, database_of, open_table, told_apart

_READ = (
    ".csv", ".tsv", ".gz", ".parquet", ".xlsx", ".ods", ".jsonl", ".ndjson", ".sav", ".dta", ".xpt", ".sas7bdat",
)  # fmt: skip
"""Endings of files that may hold a table of a folder; a codebook may name any other file (``data``)."""
ALL_PARTS = "part-*.parquet"
"""The files of a table that lies in parts, in a folder of its name."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """What :func:`understudy.sources.files.open_table` is given for one table."""

    what: Any
    table: str | None = None

    def open(self, file: FileReading | None = None) -> Opened:
        """The table, its columns told apart."""
        return told_apart(open_table(self.what, self.table, file=file, allow_repeats=True))


def stem_of(path: Path) -> str:
    """The name of a file without its endings, or of the folder that holds its parts: what a table is called.

    >>> stem_of(Path("stays.csv.gz")), stem_of(Path("person.2020.parquet")), stem_of(Path("stays/part-*.parquet"))
    ('stays', 'person.2020', 'stays')
    """
    if path.name == ALL_PARTS:
        return _unescaped(path.parent.name)
    name = path.name
    while Path(name).suffix.lower() in (*_READ, ".txt"):
        name = Path(name).stem
    return name


def _unescaped(name: str) -> str:
    return re.sub(r"\[([*?[])\]", r"\1", name)


def files_in(folder: Path) -> list[Path]:
    """The files of a folder that may hold tables, in order of name; of parts in a folder, one pattern for all."""
    if not folder.is_dir():
        raise DataError(f"there is no folder {str(folder)!r}; give the folder that holds one file for each table.")
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix.lower() in _READ]
    inner = [path for path in sorted(folder.iterdir()) if path.is_dir() and any(path.glob(ALL_PARTS))]
    files += [Path(escape(str(path))) / ALL_PARTS for path in inner]
    if not files:
        raise DataError(f"the folder {str(folder)!r} holds no table; it needs one file for each, such as patients.csv.")
    return files


def places_of(what: Any, book: LinkedCodebook) -> dict[str, Place]:
    """For each table that lies somewhere its place; every table that is not found is named at once."""
    stored = [table for table in book.tables if table.made_of is None]
    if isinstance(what, Mapping):
        return _in_mapping(what, stored)
    if isinstance(what, str | Path) and Path(what).is_dir():
        return _in_folder(Path(what), stored)
    if is_spark(what) or _is_address(what):
        return {table.name: Place(what=what, table=table.lies_in) for table in stored}
    if len(stored) == 1:
        return {stored[0].name: Place(what=what)}
    names = ", ".join(table.name for table in stored)
    raise DataError(
        f"the codebook describes {len(stored)} tables ({names}), and one was given; give the folder that holds them, "
        "a database, or a mapping from their names to tables."
    )


def _is_address(what: Any) -> bool:
    """Whether it names a database as a whole."""
    if not isinstance(what, str | Path):
        return False
    if (duckdb := database_of(str(what))) is not None:
        return duckdb[1] is None
    return "://" in str(what) and not {"table", "path"} & set(parse_address(str(what)).options)


def _in_mapping(tables: Mapping[Any, Any], stored: list[LinkedTable]) -> dict[str, Place]:
    lost = [table.name for table in stored if table.name not in tables and table.lies_in not in tables]
    if lost:
        raise DataError(
            f"there is no {', '.join(map(repr, lost))} among the tables {listed(map(repr, tables))}; give each "
            "table of the codebook under its name."
        )
    return {t.name: Place(what=tables[t.name] if t.name in tables else tables[t.lies_in]) for t in stored}


def _in_folder(folder: Path, stored: list[LinkedTable]) -> dict[str, Place]:
    places, faults = {}, []
    files = files_in(folder)
    for table in stored:
        exact = folder / table.lies_in
        alike = [path for path in files if stem_of(path).lower() == table.lies_in.lower()]
        if exact.is_file():
            alike = [exact]
        if len(alike) == 1:
            places[table.name] = Place(what=alike[0])
        elif alike:
            names = ", ".join(path.name for path in alike)
            faults.append(f'table {table.name!r} may be any of {names}; write data = "{alike[0].name}" for it')
        else:
            faults.append(
                f"there is no file for table {table.name!r} (looked for {table.lies_in!r} among "
                f'{listed(path.name for path in files)}); write data = "FILE" for it'
            )
    if faults:
        raise DataError(f"in the folder {str(folder)!r}, {'; '.join(faults)}.")
    return places


def on_one_connection(opened: Mapping[str, Opened]) -> dict[str, Opened]:
    """Tables of a server as seen by one connection, so that they can be joined there; DuckDB's stay as they are."""
    engines = {each.connection.name for each in opened.values()}
    if len(engines) > 1:
        raise DataError(
            f"the tables lie in different engines ({', '.join(sorted(engines))}) and cannot be joined where they lie; "
            "bring them into one."
        )
    if engines == {"duckdb"}:
        return dict(opened)
    first = next(iter(opened.values())).connection
    joined = {}
    for name, each in opened.items():
        operation = each.table.op()
        catalog, schema = operation.namespace.catalog, operation.namespace.database
        inside = None if schema is None else (catalog, schema) if catalog else schema
        same = first.table(operation.name, database=inside).op().copy(schema=operation.schema)  # as it was opened
        joined[name] = replace(each, connection=first, table=same.to_expr())
    return joined


def refuse_two_servers(places: Mapping[str, Place]) -> None:
    """Tables of two databases cannot be joined where they lie."""
    servers = set()
    for place in places.values():
        if isinstance(place.what, str) and "://" in place.what and database_of(place.what) is None:
            where = parse_address(place.what, place.table)
            servers.add((where.kind, where.host, where.port, where.user, where.database))
    if len(servers) > 1:
        raise DataError("the tables lie in different databases and cannot be joined there; give one address for all.")
