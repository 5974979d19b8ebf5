"""SQLite: a file without a server, whose rows are read in this process and counted by DuckDB as those of any file are.

A column of SQLite may hold anything, whatever its declared type says. So SQLite itself is asked once, when a table is
opened, what its columns hold: one of numbers only is read as numbers. Of any other one every value is read as the text
that stands for it, as from a CSV file: whole numbers as they are, other numbers in the shortest way that gives them
back. Bytes (BLOB) stand for no text, and are a value that no codebook knows.

Rows are read in one transaction. If they are read again, and somebody has written to the file since, that is said.
"""

import sqlite3
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from understudy.codebook.encode import spelling
from understudy.errors import DataError
from understudy.sources.engines.bench import CHANGED
from understudy.sources.engines.duckdb import ENGINE as DUCKDB
from understudy.sources.engines.duckdb import DuckBench, connect, remove_folder
from understudy.sources.engines.file_database import FileEngine
from understudy.sources.engines.kind import Address, Found

_ROWS = 1 << 15
"""Rows that are brought over at a time."""
_BLOB = "\ufffdbytes"
"""What stands for bytes: a text that nobody writes."""
_WAIT_SECONDS = 10
_HIDDEN = 1
"""How a column is marked that `SELECT *` leaves out too."""


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class _Reader:
    """One state of a file: what it is when it is opened. Nobody is kept from writing but while rows are read; if
    somebody has written meanwhile, the next reading says so.
    """

    def __init__(self, path: str) -> None:
        place = Path(path).resolve()
        self.client = sqlite3.connect(
            f"{place.as_uri()}?mode=ro", uri=True, timeout=_WAIT_SECONDS, check_same_thread=False, isolation_level=None
        )  # the threads of the engine take turns
        weakref.finalize(self, self.client.close)
        self.client.text_factory = bytes
        self.client.execute("PRAGMA query_only = ON")
        self.client.execute("PRAGMA trusted_schema = OFF")  # a view cannot call what it should not
        self._lock = threading.Lock()
        self._readings = 0
        self._version: int | None = None
        with self.reading():
            self._look(place)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A transaction that only reads, shared by those who read at the same time."""
        with self._lock:
            if not self._readings:
                self._begin()
            self._readings += 1
            (version,) = self.client.execute("PRAGMA data_version").fetchone()
            self._version = self._version or version
        try:
            if version != self._version:
                raise DataError(CHANGED)
            yield
        finally:
            with self._lock:
                self._readings -= 1
                if not self._readings:
                    self.client.execute("COMMIT")

    def _begin(self) -> None:
        """A transaction whose state is that of now; none where somebody else holds the file."""
        self.client.execute("BEGIN")
        try:
            self.client.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
        except BaseException:
            self.client.execute("ROLLBACK")
            raise

    def _look(self, place: Path) -> None:
        listed = self.client.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_'"
        )
        self.tables = sorted(name.decode("utf-8", "replace") for (name,) in listed)
        self._bytes = place.stat().st_size

    def schema(self, table: str) -> pa.Schema:
        """Names and types of the columns, by what they hold."""
        with self.reading():
            listed = self.client.execute(f"PRAGMA table_xinfo({_quoted(table)})")  # with columns that are computed
            names = [name.decode("utf-8", "replace") for _, name, *_, hidden in listed if hidden != _HIDDEN]
            held = [self._held(table, name) for name in names]
        kinds = [
            pa.string() if texts or not (reals or wholes) else pa.float64() if reals else pa.int64()
            for texts, reals, wholes in held
        ]
        return pa.schema(list(zip(names, kinds, strict=True)))

    def _held(self, table: str, name: str) -> tuple[int, int, int]:
        """Whether a column holds texts or bytes, numbers with a fraction, and whole numbers."""
        kind = f"typeof({_quoted(name)})"
        asked = f"max({kind} IN ('text', 'blob')), max({kind} = 'real'), max({kind} = 'integer')"
        texts, reals, wholes = self.client.execute(f"SELECT {asked} FROM {_quoted(table)}").fetchone()
        return texts, reals, wholes

    def likely_rows(self, table: str, columns: int) -> int | None:
        """By the last number of a row, or by the size of the file: a row needs a byte for each value, and two more."""
        most = self._bytes // (columns + 2)
        try:
            with self.reading():
                (last,) = self.client.execute(f"SELECT max(rowid) FROM {_quoted(table)}").fetchone()
        except sqlite3.OperationalError:  # a view, or a table without such numbers
            return None
        return min(int(last), most) if isinstance(last, int) and last >= 0 else most


class _Rows:
    """The rows of a table as a stream of Arrow batches that an engine may ask for as often as it likes.

    The second time they are also written to a private file, and taken from there afterwards: a draft asks often.
    """

    def __init__(self, reader: _Reader, table: str) -> None:
        self._reader = reader
        self.schema = reader.schema(table)
        names = map(_quoted, self.schema.names)
        values = (f"CASE typeof({name}) WHEN 'blob' THEN '{_BLOB}' ELSE {name} END" for name in names)
        self._query = f"SELECT {', '.join(values)} FROM {_quoted(table)}"
        self._asked = 0
        self._copy: Path | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="understudy-")  # created 0700
        weakref.finalize(self, remove_folder, self._folder)

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return pa.RecordBatchReader.from_batches(self.schema, self._batches()).__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        if self._copy is not None:
            with pa.memory_map(str(self._copy)) as source, pa.ipc.open_stream(source) as reader:
                yield from reader
            return
        self._asked += 1
        if self._asked == 1:
            yield from self._read()
            return
        place = Path(self._folder.name) / f"{self._asked}.arrow"
        with place.open("wb") as sink, pa.ipc.new_stream(sink, self.schema) as writer:
            for batch in self._read():
                writer.write_batch(batch)
                yield batch
        self._copy = place  # only now, when it is whole

    def _read(self) -> Iterator[pa.RecordBatch]:
        with self._reader.reading():
            cursor = self._reader.client.execute(self._query)
            while rows := cursor.fetchmany(_ROWS):
                columns = zip(self.schema, zip(*rows, strict=True), strict=True)
                arrays = [_array_of(field, values) for field, values in columns]
                yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)
            cursor.close()


def _array_of(field: pa.Field, values: tuple[Any, ...]) -> pa.Array:
    """A column. Texts of SQLite come as bytes, so that one that is no UTF-8 is found here."""
    if field.type != pa.string():
        is_float = field.type == pa.float64()  # whole numbers beside fractions may have more digits than a float
        return pa.array([float(v) if is_float and v is not None else v for v in values], field.type)
    name = field.name
    try:
        if set(map(type, values)) <= {bytes, type(None)}:
            return pa.array(values, pa.string())
        spelled = [value if value is None or isinstance(value, bytes) else spelling(value).encode() for value in values]
        return pa.array(spelled, pa.string())
    except (pa.ArrowInvalid, UnicodeDecodeError):
        raise DataError(
            f"column {name!r} holds a text that is not UTF-8; mend it in the database, or give a view without it."
        ) from None


class _SQLite(FileEngine):
    name = "sqlite"
    title = "SQLite"
    ibis_name = "sqlite"  # which nobody connects to: rows are counted by DuckDB
    schemes = ("sqlite", "sqlite3")
    example = "sqlite:///FILE?table=T"
    file_start = (0, b"SQLite format 3\x00")
    file_suffixes = (".sqlite", ".sqlite3", ".db3")
    bench = DuckBench
    dialect = DUCKDB.dialect
    remedies = (
        (
            ("database is locked", "database table is locked"),
            "Another program is writing to it; wait until it is done, and run again.",
        ),
        (
            ("file is not a database", "database disk image is malformed"),
            "The file is damaged, encrypted or not SQLite; copy it again from its source.",
        ),
        (
            ("unable to open database file",),
            "Its folder must be writable for SQLite's own lock files where the file is in WAL mode; else copy it.",
        ),
    )

    def failures(self) -> tuple[type[BaseException], ...]:
        return (sqlite3.Error,)

    def tables(self, where: Address) -> list[str]:
        return self._reader(where).tables

    def _reader(self, where: Address) -> "_Reader":
        self.refuse_absent(where)
        reader: _Reader = self.shared(where, lambda: _Reader(where.host))
        return reader

    def open(self, where: Address) -> Found:
        """The table as DuckDB sees it; the file is only read."""
        reader = self._reader(where)
        table = self.chosen(where, reader.tables)
        rows = _Rows(reader, table)
        connection = connect()
        connection.con.register("understudy_rows", rows)
        opened = connection.table("understudy_rows")
        return Found(connection, opened, self.at(where.host, table).label, reader.likely_rows(table, len(rows.schema)))


ENGINE = _SQLite()
