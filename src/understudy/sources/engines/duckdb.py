"""DuckDB: files of it, and the engine of our own in which all other files are read."""

import re
import tempfile
import threading
import weakref
from glob import escape
from pathlib import Path
from typing import Any

from understudy.interrupts import interrupts_put_off
from understudy.sources.engines.bench import Bench, watched
from understudy.sources.engines.dialect import Dialect, finite_day
from understudy.sources.engines.file_database import FileEngine
from understudy.sources.engines.kind import Address, Found

_HANDED_OVER = re.compile(
    r"arrow_scan: get_next failed\(\): (?:(?:Invalid|Unknown error|IOError): )*(.+?)\.? Detail: Python exception",
    re.DOTALL,
)
_MEMORY = "1GB"
"""What DuckDB may hold before it spills to a private temporary folder."""


class DuckBench(Bench):
    """DuckDB lives in our own process, so small tables may be counted in our memory.

    Codes of a large table go to a file in the connection's private folder, written and read piece by piece: memory then
    does not grow with the rows. (A temporary table fills the engine's memory first, and spilling it is slow.)
    """

    stays_in_engine = False
    on_disk = False
    """Whether the codes go to a file; the source knows how large the table is."""

    def _make(self, report: Any) -> Any:
        with watched(self.connection, report):
            if not self.on_disk:
                return self.connection.create_table(self.name, self.expression, temp=True)
            write_codes(self.connection, self.expression, self.path())
            return self.connection.read_parquet(escape(str(self.path())), table_name=self.name)

    def path(self) -> Path:
        """The private file of codes that do not stay in memory."""
        return private_folder(self.connection) / f"{self.name}.parquet"

    def free(self) -> None:
        """Forget the codes, on disk too."""
        if self.codes is not None and self.on_disk:
            self.connection.drop_view(self.name, force=True)
            self.path().unlink(missing_ok=True)
            self.codes = None
        super().free()


def private_folder(connection: Any) -> Path:
    """Where an engine keeps what does not fit its memory."""
    (folder,) = connection.raw_sql("SELECT current_setting('temp_directory')").fetchone()
    return Path(folder)


def write_codes(connection: Any, expression: Any, path: Path, *, in_order: bool = False) -> None:
    """Codes into a file of the engine's private folder. Rows mostly need no order, and keeping it would buffer them."""
    connection._run_pre_execute_hooks(expression)  # lists that are joined, such as those of packs: `compile` lacks them
    encoding = connection.compile(expression)
    quoted = str(path).replace("'", "''")
    connection.raw_sql(f"SET preserve_insertion_order = {str(in_order).lower()}")
    connection.raw_sql(f"COPY ({encoding}) TO '{quoted}' (FORMAT parquet, COMPRESSION lz4)")


def connect(memory: str = _MEMORY) -> Any:
    """A DuckDB of our own, which keeps what it must put on disk in a private folder."""
    import ibis

    folder = tempfile.TemporaryDirectory(prefix="understudy-")  # created 0700
    connection = ibis.duckdb.connect(memory_limit=memory, temp_directory=folder.name)
    # the engine keeps its progress for us to show; it draws no bar of its own
    for setting in (
        "enable_progress_bar = true",
        "enable_progress_bar_print = false",
        "progress_bar_time = 0",
        "enable_external_file_cache = false",  # files are read once; keeping them would fill the memory
    ):
        connection.raw_sql(f"SET {setting}")
    weakref.finalize(connection, remove_folder, folder)
    return connection


def remove_folder(folder: "tempfile.TemporaryDirectory[str]") -> None:
    """A private folder, whoever asks this process to stop meanwhile."""
    with interrupts_put_off():  # or the folder would stay
        folder.cleanup()


read_alone = threading.Event()


def read_databases_alone() -> None:
    """From now on, in this process, a view inside a DuckDB file cannot reach other files or addresses."""
    read_alone.set()


class _DuckDialect(Dialect):
    joins_lists = True

    def is_day(self, value: Any) -> Any:
        return finite_day(super().is_day(value))


class _DuckDB(FileEngine):
    name = "duckdb"
    title = "DuckDB"
    ibis_name = "duckdb"
    schemes = ("duckdb",)
    example = "duckdb:///FILE?table=T"
    file_start = (8, b"DUCK")
    file_suffixes = (".duckdb", ".ddb", ".db")
    bench = DuckBench
    dialect = _DuckDialect()
    remedies = (
        (
            ("file system operations are disabled",),
            "A view in the database reads a file beside it, which is not allowed here. Copy its rows into a table of "
            "the database: CREATE TABLE ... AS SELECT * FROM the view.",
        ),
        (
            ("could not read enough bytes", "corrupt database file"),
            "The file is damaged, or was overwritten while it was read; nothing was released. Copy it again from its "
            "source.",
        ),
    )

    def failures(self) -> tuple[type[BaseException], ...]:
        import duckdb

        return (duckdb.Error,)

    def words(self, reason: BaseException) -> str:
        """Of rows that are handed to it from Python, what was wrong there, and not where in the code."""
        inner = _HANDED_OVER.search(str(reason))
        return str(reason) if inner is None else inner[1]

    def tables(self, where: Address) -> list[str]:
        return _tables(self._attached(where))

    def _attached(self, where: Address) -> Any:
        self.refuse_absent(where)
        connection = connect()
        quoted = where.host.replace("'", "''")  # Ibis would take a quote in the name for its end
        connection.raw_sql(f"ATTACH '{quoted}' AS understudy_source (READ_ONLY)")
        return connection

    def open(self, where: Address) -> Found:
        """The table of a file, which is only read."""
        connection = self._attached(where)
        table = self.chosen(where, _tables(connection))
        if read_alone.is_set():
            connection.raw_sql("SET enable_external_access = false")  # cannot be taken back on this connection
        opened = connection.table(table, database=("understudy_source", "main"))
        return Found(connection, opened, self.at(where.host, table).label)


def _tables(connection: Any) -> list[str]:
    # not list_tables(): Ibis 12 calls what DuckDB has deprecated
    listed = connection.raw_sql(
        "SELECT table_name FROM information_schema.tables "
        "WHERE table_catalog = 'understudy_source' AND table_schema = 'main' ORDER BY 1"
    ).fetchall()
    return [name for (name,) in listed]


ENGINE = _DuckDB()
