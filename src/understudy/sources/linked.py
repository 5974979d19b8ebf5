"""Linked tables as sources: encoded and joined where they lie, at most as many rows of each person as the caps allow.

:func:`open_linked` gives a :class:`LinkedSource`. ``source.capped(key)`` chooses the rows that take part, by a secret
text as everywhere (:mod:`understudy.sources.capping`), from the persons down: first stays of each patient, then
diagnoses of each stay that was chosen. ``rows(name)`` is then an Ibis table, one row for each row of the table:

- ``key`` and ``parent``: its own key and that of the row above, as text (``key`` is null in a table without one;
  ``parent`` in the table of the persons);
- ``rank``: its place among its siblings, from 0, in the order of the table. A table without an order is ranked by key;
- ``c0``, ``c1``, ...: codes of the columns of its codebook, numbered as :meth:`Codebook.count_position` does.
  Constants that are read from a child are among them.

Whoever needs ancestors, the previous sibling (``rank - 1`` of the same ``parent``) or numbers of children joins these
tables, and hands the codes of the result to :meth:`LinkedSource.counting`, which counts them like any table.
"""

import shutil
import weakref
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import ibis

from understudy.codebook import Codebook, Column, LinkedCodebook, LinkedTable, Number
from understudy.codebook.linked_rules import PREVIOUS
from understudy.codebook.rules import Order
from understudy.errors import DataError, RefusalError
from understudy.privacy.account import Account, account_at
from understudy.privacy.provenance import Provenance, of_several
from understudy.sources import LOCAL_BYTES
from understudy.sources.benches import Bench, DuckBench, bench_for, fetched, one_state, private_folder, write_codes
from understudy.sources.broken_rules import proper_number
from understudy.sources.capping import kept_by_key
from understudy.sources.codes_source import CodesSource
from understudy.sources.engine import forget
from understudy.sources.engines.duckdb import connect
from understudy.sources.engines.file_database import read_together
from understudy.sources.expressions import encoded_columns, unknown_code
from understudy.sources.faults import engine_errors
from understudy.sources.files import Opened
from understudy.sources.inputs import provenance_behind
from understudy.sources.linked_constants import contradictions, with_constants
from understudy.sources.linked_files import Place, on_one_connection, places_of, refuse_two_servers
from understudy.sources.linked_order import KEY, NUMBER, PARENT, RANK, ROW, TEXT, order_of, ranked, text_of
from understudy.sources.states import FileStates

_MEMORY, _MOST_MEMORY = 128, 4096
"""Megabytes that the engine which joins files may hold: so few that a hundred thousand people need them as much as a
million, whose rows wait on disk. Where rows are so wide that one thread cannot even begin, it gets twice as much."""


def open_linked(
    what: Any,
    codebook: LinkedCodebook | str | Path,
    *,
    unknown: str = "error",
    account: Account | str | Path | None = None,
    pieces: bool = False,
    local_bytes: int = LOCAL_BYTES,
) -> "LinkedSource":
    """Put linked tables behind their codebook; no row is read until something is asked for.

    ``what`` is a folder with one file for each table, a database address without a table
    (``postgresql://USER@HOST/DB``, ``mariadb://USER@HOST/DB``, ``spark://HOST:PORT``, a DuckDB or SQLite file), a Spark
    session, a mapping from the names of the tables to whatever :func:`open_source` takes, or one table where
    the codebook makes the others of it. ``pieces`` also encodes the pieces of smooth numbers.

    >>> import pyarrow as pa
    >>> from understudy.codebook import Categorical
    >>> def levels(name, *levels):
    ...     return Codebook(columns=(Categorical(name=name, levels=levels),))
    >>> book = LinkedCodebook(tables=(
    ...     LinkedTable(name="patients", key="id", book=levels("sex", "F", "M")),
    ...     LinkedTable(name="stays", parent="patients", parent_key="id", cap=2, book=levels("ward", "A", "B")),
    ... ))
    >>> data = {"patients": pa.table({"id": [1, 2], "sex": ["F", "M"]}),
    ...         "stays": pa.table({"id": [1, 1, 1, 2], "ward": ["A", "B", "A", "A"]})}
    >>> source = open_linked(data, book).capped("a secret")
    >>> source.rows("stays").count().to_pyarrow().as_py()
    3
    """
    book = codebook if isinstance(codebook, LinkedCodebook) else LinkedCodebook.load(codebook)
    places = places_of(what, book)
    refuse_two_servers(places)
    with read_together():
        found = {name: place.open(book.table(name).book.file) for name, place in places.items()}
    opened = on_one_connection(found)
    _refuse_lacking(book, opened)
    source = LinkedSource(
        codebook=book,
        opened=opened,
        unknown=unknown,
        account=account_at(account),
        provenance=provenance_of_places(places, book),
        pieces=pieces,
        local_bytes=local_bytes,
    )
    source.places = places
    return source


def linked_provenance(what: Any, book: LinkedCodebook) -> Provenance:
    """What linked tables are, without reading a row."""
    return provenance_of_places(places_of(what, book), book)


def provenance_of_places(places: Mapping[str, Place], book: LinkedCodebook) -> Provenance:
    """The same of tables whose places are known."""
    return of_several(
        [provenance_behind(place.what, book.table(name).book, place.table) for name, place in places.items()]
    )


class LinkedSource:
    """Private tables with their codebook. It gives Ibis tables to the rooms that count, never rows to a release."""

    places: Mapping[str, Place]
    """Where the tables lie."""
    rests_on: "LinkedSource | None" = None
    """Whose tables it reads; they are forgotten with their source."""

    def __init__(
        self,
        *,
        codebook: LinkedCodebook,
        opened: Mapping[str, Opened],
        unknown: str,
        account: Account | None,
        provenance: Provenance,
        pieces: bool,
        local_bytes: int,
    ) -> None:
        self.codebook = codebook
        self.account = account
        self.provenance = provenance
        self.unknown = unknown
        self.is_capped = False
        self.pieces = pieces
        """Whether pieces of smooth numbers are encoded too."""
        self.numbered = False
        """Whether rows carry their number in the file, for a check."""
        self._opened = dict(opened)
        self._local_bytes = local_bytes
        self._tables: dict[str, Any] = {}
        self._benches: list[Bench] = []
        weakref.finalize(self, _forget_all, self._benches).atexit = False

    def __repr__(self) -> str:
        names = ", ".join(table.name for table in self.codebook.tables)
        return f"<LinkedSource of {names}, rows withheld>"

    @cached_property
    def connection(self) -> Any:
        """The engine in which all tables can be joined."""
        first = next(iter(self._opened.values())).connection
        return _small_engine() if first.name == "duckdb" else first

    def columns(self, name: str) -> tuple[Column, ...]:
        """The columns whose codes :meth:`rows` has, in their order."""
        book = self.codebook.table(name).book
        return book.counted if self.pieces else book.without_smooth_pieces

    def rows(self, name: str) -> Any:
        """One table of codes; see the top of this file."""
        self.codebook.table(name)
        if not self._tables:
            with engine_errors("the data"):
                _with_room(self.connection, self.prepare)
        return self._tables[name]

    def counting(self, book: Codebook, expression: Any) -> CodesSource:
        """A source that counts an expression of codes, c0, c1, ..., of the columns of ``book``."""
        if not self.is_capped:
            raise RefusalError("rows of a person are not capped yet; use `capped` before counting.")
        source = CodesSource(
            codebook=book,
            connection=self.connection,
            expression=expression,
            account=self.account,
            provenance=self.provenance,
            local_bytes=self._local_bytes,
        )
        source.rests_on = self
        return source

    def capped(self, key: str) -> "LinkedSource":
        """The rows that take part: ``key`` is a secret text from a stream, drawn anew for each fit."""
        if self.is_capped:
            return self
        chosen = LinkedSource(
            codebook=self.codebook,
            opened=self._opened,
            unknown=self.unknown,
            account=self.account,
            provenance=self.provenance,
            pieces=self.pieces,
            local_bytes=self._local_bytes,
        )
        chosen.places, chosen.is_capped, chosen.rests_on = self.places, True, self
        chosen.__dict__["connection"] = self.connection
        self.rows(self.codebook.person.name)
        with engine_errors("the data"):
            for table in self.codebook.tables:
                chosen._tables[table.name] = chosen._kept(self._tables[table.name], table, key)
        return chosen

    def _kept(self, rows: Any, table: LinkedTable, key: str) -> Any:
        """The chosen rows of one table below the chosen rows of its parent."""
        if table.parent is None:
            return rows
        assert table.cap is not None
        above = self._tables[table.parent].select(above=KEY)
        below = rows.semi_join(above, rows[PARENT] == above["above"])
        content = [name for name in rows.columns if name != RANK]
        hashed = [name for name in content if name not in (NUMBER, TEXT)]  # engines spell moments differently
        with bench_for(self.connection, below).held(f"{key},{table.name}") as secret:
            kept = kept_by_key(below, person=PARENT, content=content, cap=table.cap, key=secret, hashed=hashed)
            return self._made(ranked(kept, table))

    def chosen(self, rows: Any, *, person: str, content: list[str], most: int, key: str) -> Any:
        """At most so many rows of an expression for each person, told apart by their content; kept as a table."""
        with engine_errors("the data"), bench_for(self.connection, rows).held(key) as secret:
            return self._made(kept_by_key(rows, person=person, content=content, cap=most, key=secret))

    def prepare(self, *, strict: bool = True) -> dict[str, Any]:
        """Encode every table, read constants into their parents, and refuse what does not hold together."""
        benches: list[Bench] = []
        states = FileStates([path for opened in self._opened.values() for path in opened.read_anew])
        with one_state(self.connection, benches):
            staged = {name: self._staged(name, benches) for name in self._opened}
        states.refuse_changes()
        faults = [fault for name in staged for fault in self._unknown_faults(name, staged[name])]
        keys = {table.name: self.keys_of(table, staged) for table in self.codebook.tables}
        faults += [f for table in self.codebook.tables for f in key_faults(self.connection, table, staged, keys)]
        for table in self.codebook.tables:
            faults += contradictions(self.connection, table, staged, self.columns(table.name))
        if faults and strict:
            raise DataError(
                f"the tables do not hold together: {'; '.join(faults)}. `understudy codebook check` lists every row."
            )
        for table in self.codebook.tables:
            codes = with_constants(self.codebook, table, staged, self.columns(table.name))
            if table.parent is not None and table.orphans == "drop":
                above = self._tables[table.parent].select(above=KEY)
                codes = codes.semi_join(above, codes[PARENT] == above["above"])
            self._tables[table.name] = self._made(ranked(codes, table))
        if strict:
            self._refuse_lost_constants()
        return staged

    def keys_of(self, table: LinkedTable, staged: Mapping[str, Any]) -> Any:
        """The keys of a table as ``above``; those of a made one stand in the child that it is made of."""
        if table.made_of is None:
            return staged[table.name].select(above=KEY)
        return staged[table.made_of].select(above=PARENT).view()

    def _staged(self, name: str, benches: list[Bench]) -> Any:
        """Codes, keys, order, and the constants of the parent, of one table that lies somewhere."""
        opened, table = self._opened[name], self.codebook.table(name)
        opened.verify()
        own = {constant.column for constant in table.read_constants}
        columns = {f"c{place}": column for place, column in enumerate(self.columns(name)) if column.reads not in own}
        if table.parent is not None:
            read = {one.column for one in self.codebook.table(table.parent).read_constants if one.child == name}
            above = enumerate(self.columns(table.parent))
            columns |= {f"k{place}": column for place, column in above if column.reads in read}
        beside = {KEY: text_of(opened, table.key), PARENT: text_of(opened, table.parent_key)}
        beside |= order_of(opened, table)
        if self.numbered:
            beside |= self._compared(opened, table)
            if opened.connection.name == "duckdb":
                beside[ROW] = ibis.row_number() + 1
        codes = encoded_columns(opened.table, self.unknown, list(columns.values()), beside)
        codes = codes.rename({new: f"c{place}" for place, new in enumerate(columns)} if columns else {})
        if opened.connection.name != "duckdb":
            made = self._made(codes)
            benches.append(self._benches[-1])
            return made
        return self._brought(opened, codes)

    def _compared(self, opened: Opened, table: LinkedTable) -> dict[str, Any]:
        """The values of own numbers that order rules compare, w0, w1, ...: two that share a bin can be in the wrong
        order."""
        rules = [rule for each in self.codebook.tables for rule in self.codebook.rules_on(each.name)]
        orders = [rule for rule in rules if isinstance(rule, Order)]
        names = {name.replace(f".{PREVIOUS}.", ".", 1) for rule in orders for name in rule.columns}
        held = {constant.column for constant in table.read_constants}
        return {
            f"w{place}": proper_number(opened, column)
            for place, column in enumerate(self.columns(table.name))
            if isinstance(column, Number) and table.spelled(column.name) in names and column.name not in held
        }

    def _brought(self, opened: Opened, codes: Any) -> Any:
        """Codes of a file in the engine that all tables share, by way of a private file on disk."""
        bench = DuckBench(self.connection, codes)
        bench.on_disk = True
        path = bench.path()
        made = private_folder(opened.connection) / path.name  # an engine that reads alone may write there only
        write_codes(opened.connection, codes, made, in_order=self.numbered)
        shutil.move(made, path)
        bench.codes = self.connection.read_parquet(str(path), table_name=bench.name)
        self._benches.append(bench)
        return bench.codes

    def _made(self, expression: Any) -> Any:
        """An expression as a table of its own, forgotten with this source."""
        bench = bench_for(self.connection, expression)
        self._benches.append(bench)
        if not isinstance(bench, DuckBench):
            return bench.encode()
        bench.on_disk = True
        return _with_room(self.connection, bench.encode)

    def _unknown_faults(self, name: str, codes: Any) -> list[str]:
        """Values outside the codebook are never dropped in silence."""
        return [
            f"table {name!r} has values that the codebook does not know in {column!r} ({count:,} rows)"
            for column, count in self.unknown_counts(name, codes).items()
        ]

    def unknown_counts(self, name: str, codes: Any) -> dict[str, int]:
        """Rows of a table with values outside the codebook, by column."""
        table = self.codebook.table(name)
        columns = {f"c{place}": column for place, column in enumerate(self.columns(name))}
        if table.parent is not None:
            columns |= {f"k{place}": column for place, column in enumerate(self.columns(table.parent))}
        tests = {
            place: (codes[place] == unknown_code(column)).sum()
            for place, column in columns.items()
            if place in codes.columns and column.reads == column.name
        }
        if not tests:
            return {}
        counts = fetched(self.connection, codes.aggregate(**tests)).to_pylist()[0]
        return {columns[place].name: int(count) for place, count in counts.items() if count}

    def _refuse_lost_constants(self) -> None:
        """A parent without children has no constants; it needs a missing level for them."""
        for table in self.codebook.tables:
            lost = [
                (place, column.name)
                for place, column in enumerate(self.columns(table.name))
                if column.name in {constant.column for constant in table.read_constants} and column.missing_code is None
            ]
            if not lost or table.made_of is not None:
                continue
            codes = self._tables[table.name]
            tests = {f"c{place}": codes[f"c{place}"].isnull().sum() for place, _ in lost}
            counts = fetched(self.connection, codes.aggregate(**tests)).to_pylist()[0]
            if bad := [name for place, name in lost if counts[f"c{place}"]]:
                raise DataError(
                    f"table {table.name!r} has rows without any row below them, so that {', '.join(map(repr, bad))} "
                    'cannot be read for them; give those columns a missing level (missing = "").'
                )


def key_faults(connection: Any, table: LinkedTable, staged: Mapping[str, Any], keys: Mapping[str, Any]) -> list[str]:
    """Missing and repeated keys, and rows without a parent, with their numbers."""
    if table.name not in staged:
        return []
    codes, faults = staged[table.name], []
    tests: dict[str, Any] = {}
    if table.key is not None:
        tests |= {"lost": codes[KEY].isnull().sum(), "rows": codes[KEY].count(), "keys": codes[KEY].nunique()}
    if table.parent is not None:
        tests["orphaned"] = codes[PARENT].isnull().sum()
    counts = fetched(connection, codes.aggregate(**tests)).to_pylist()[0]
    if counts.get("lost"):
        faults.append(f"table {table.name!r} has no key {table.key!r} in {counts['lost']:,} rows")
    if counts.get("rows", 0) > counts.get("keys", 0):
        faults.append(f"table {table.name!r} has {counts['rows'] - counts['keys']:,} rows whose key occurred before")
    if table.orphans == "drop":
        return faults
    if counts.get("orphaned"):
        faults.append(f"table {table.name!r} has no parent key {table.parent_key!r} in {counts['orphaned']:,} rows")
    if table.parent is not None:
        above = keys[table.parent]
        lost = codes.filter(codes[PARENT].notnull()).anti_join(above, codes[PARENT] == above["above"])
        orphans = int(fetched(connection, lost.aggregate(n=lost.count()))["n"][0].as_py())
        if orphans:
            faults.append(f"table {table.name!r} has {orphans:,} rows whose {table.parent!r} does not exist")
    return faults


def _refuse_lacking(book: LinkedCodebook, opened: Mapping[str, Opened]) -> None:
    """Columns that the codebook describes and a table has not, all at once."""
    faults = []
    for name, each in opened.items():
        lacking = [column for column in columns_read(book, book.table(name)) if column not in each.header]
        if lacking:
            faults.append(f"table {name!r} ({each.label}) lacks {', '.join(map(repr, lacking))}")
    if faults:
        raise DataError(f"{'; '.join(faults)}. Is this the codebook of other files?")


def columns_read(book: LinkedCodebook, table: LinkedTable) -> list[str]:
    """The columns that the file of a table must have: keys, order, its own, and constants of its parent."""
    own = {constant.column for constant in table.read_constants}
    names = [column.reads for column in table.book.described if column.reads not in own]
    if table.parent is not None:
        names += [one.column for one in book.table(table.parent).read_constants if one.child == table.name]
    keys = [name for name in (table.key, table.parent_key, table.order) if name is not None]
    return list(dict.fromkeys([*keys, *names]))


def _small_engine() -> Any:
    """A DuckDB of little memory that gives back at once what it has freed."""
    connection = connect(f"{_MEMORY}MB")
    for setting in ("allocator_flush_threshold", "allocator_bulk_deallocation_flush_threshold"):
        connection.raw_sql(f"SET {setting} = '8MB'")
    return connection


def _with_room(connection: Any, work: Callable[[], Any]) -> Any:
    """What the engine works out; where it cannot, even with a disk, by one thread, and then with twice the memory."""
    import duckdb

    megabytes, settings = _MEMORY, ["threads = 1"]
    while True:
        try:
            return work()
        except duckdb.OutOfMemoryException:
            if not settings and megabytes < _MOST_MEMORY:
                megabytes *= 2
                settings = [f"memory_limit = '{megabytes}MB'"]
            if not settings:
                raise
            connection.raw_sql(f"SET {settings.pop()}")


def _forget_all(benches: list[Bench]) -> None:
    for bench in benches:
        forget(bench)
