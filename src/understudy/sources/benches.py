"""One bench per engine: it keeps the codes of a table and counts tables from them.

On all three, encoding once into small integers and counting those is faster than one GROUPING SETS query (measured in
docs/guide/scale.md). GROUPING SETS serves PostgreSQL where no temporary table may be made, such as on a read replica.
"""

import io
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa

from understudy.errors import DataError
from understudy.sources.base import Report


class Bench(ABC):
    """Codes inside an engine. Only counts and sums are ever fetched from it."""

    stays_in_engine = True
    """Whether rows must not be brought into our own memory, not even as codes."""

    def __init__(self, connection: Any, expression: Any) -> None:
        self.connection = connection
        self.expression = expression
        self.name = f"understudy_codes_{uuid.uuid4().hex}"
        self.codes: Any = None

    def encode(self, report: Any = None) -> Any:
        """The table of codes; made once."""
        if self.codes is None:
            self.codes = self._make(report)
        return self.codes

    @abstractmethod
    def _make(self, report: Any) -> Any:
        """Encode inside the engine."""

    def fetch(self, expression: Any) -> pa.Table:
        """The answer to one question about counts."""
        return fetched(self.connection, expression)

    def count(self, sets: Sequence[Sequence[str]]) -> Iterator[pa.Table]:
        """For each set of code columns its occupied cells, with their counts as ``n``."""
        codes = self.encode()
        for keys in sets:
            yield self.fetch(codes.group_by(list(keys)).aggregate(n=codes.count()))

    @contextmanager
    def held(self, key: str) -> Iterator[Any]:
        """A secret text as a scalar of the engine, for one statement; in our own process it may stand in the query."""
        yield ibis.literal(key)

    def free(self) -> None:
        """Forget the codes."""
        if self.codes is not None:
            self.connection.drop_table(self.name, force=True)
            self.codes = None


def private_folder(connection: Any) -> Path:
    """Where an engine keeps what does not fit its memory."""
    (folder,) = connection.raw_sql("SELECT current_setting('temp_directory')").fetchone()
    return Path(folder)


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


def write_codes(connection: Any, expression: Any, path: Path, *, in_order: bool = False) -> None:
    """Codes into a file of the engine's private folder. Rows mostly need no order, and keeping it would buffer them."""
    connection._run_pre_execute_hooks(expression)  # lists that are joined, such as those of packs: `compile` lacks them
    encoding = connection.compile(expression)
    quoted = str(path).replace("'", "''")
    connection.raw_sql(f"SET preserve_insertion_order = {str(in_order).lower()}")
    connection.raw_sql(f"COPY ({encoding}) TO '{quoted}' (FORMAT parquet, COMPRESSION lz4)")


class PostgresBench(Bench):
    """A temporary table where one may be made; otherwise every question encodes again."""

    has_table = True

    def _make(self, report: Any) -> Any:
        import psycopg

        if report:
            report("reading", 0, 100)
        encoding = self.connection.compile(self.expression)
        try:
            with self.connection.con.cursor() as cursor:  # in one statement, which several workers may share
                cursor.execute(f'CREATE TEMPORARY TABLE "{self.name}" AS {encoding}')
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction):
            with self.connection.con.cursor() as cursor:  # may it be read at all?
                cursor.execute(f"SELECT count(*) FROM ({encoding}) AS t")
            self.has_table = False
            return self.expression
        with self.connection.con.cursor() as cursor:
            cursor.execute(f'ANALYZE "{self.name}"')  # or the planner sorts where it could hash
        if report:
            report("reading", 100, 100)
        return self.connection.table(self.name)

    def fetch(self, expression: Any) -> pa.Table:
        """COPY, which is many times faster than fetching rows into Python."""
        names = list(expression.columns)
        return self._copy(self.connection.compile(expression), names)

    def _copy(self, sql: str, names: Sequence[str]) -> pa.Table:
        from pyarrow import csv

        gathered = io.BytesIO()
        with self.connection.con.cursor() as cursor, cursor.copy(f"COPY ({sql}) TO STDOUT (FORMAT csv)") as copy:
            for block in copy:
                gathered.write(block)
        if not gathered.tell():
            return pa.table({name: pa.array([], pa.int64()) for name in names})
        gathered.seek(0)
        kinds = dict.fromkeys(names, pa.int64())
        return csv.read_csv(
            gathered,
            read_options=csv.ReadOptions(column_names=list(names)),
            convert_options=csv.ConvertOptions(column_types=kinds),
        )

    def count(self, sets: Sequence[Sequence[str]]) -> Iterator[pa.Table]:
        """One GROUP BY each over the codes, or all of them in one query that encodes on the way."""
        self.encode()
        if self.has_table:
            yield from super().count(sets)
            return
        keys = sorted({key for columns in sets for key in columns}, key=lambda key: int(key[1:]))
        listed = ", ".join(f"({', '.join(columns)})" for columns in sets)
        marks = ", ".join(f"GROUPING({key}) AS g{key}" for key in keys)
        sql = (
            f"WITH codes AS MATERIALIZED ({self.connection.compile(self.expression)}) "
            f"SELECT {', '.join(keys)}, {marks}, count(*) AS n FROM codes GROUP BY GROUPING SETS ({listed})"
        )
        cells = self._copy(sql, [*keys, *(f"g{key}" for key in keys), "n"])
        absent = {key: cells.column(f"g{key}").to_numpy() for key in keys}
        for columns in sets:
            rows = np.ones(cells.num_rows, dtype=bool)
            for key in keys:
                rows &= absent[key] == (key not in columns)
            yield cells.filter(pa.array(rows)).select([*columns, "n"])

    @contextmanager
    def held(self, key: str) -> Iterator[Any]:
        """In a temporary table, filled by COPY: the log of the server shows statements, not what is copied.

        Where no temporary table may be made the text stands in the query. The promise does not rest on its secrecy.
        """
        import psycopg

        name = f"understudy_key_{uuid.uuid4().hex}"
        try:
            with self.connection.con.cursor() as cursor:
                cursor.execute(f'CREATE TEMPORARY TABLE "{name}" (key text)')
                with cursor.copy(f'COPY "{name}" FROM STDIN') as copy:
                    copy.write_row((key,))
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction):
            yield ibis.literal(key)
            return
        try:
            yield self.connection.table(name).key.as_scalar()
        finally:
            with suppress(psycopg.Error), self.connection.con.cursor() as cursor:  # a lost connection dropped it
                cursor.execute(f'DROP TABLE "{name}"')

    def free(self) -> None:
        """Drop the temporary table; a lost connection has dropped it already."""
        import psycopg

        with suppress(psycopg.Error):
            if self.has_table:
                super().free()
        self.codes = None


class SparkBench(Bench):
    """A cached view: Spark keeps the codes on its workers, in memory or on their disks."""

    def _make(self, report: Any) -> Any:
        from pyspark import StorageLevel

        session = self.connection._session
        self._frame = session.sql(self.connection.compile(self.expression))
        self._frame.persist(StorageLevel.MEMORY_AND_DISK)
        self._frame.createOrReplaceTempView(self.name)
        return self.connection.table(self.name)

    @property
    def frame(self) -> Any:
        """The codes as a Spark data frame, for work that is sent to where they lie."""
        self.encode()
        return self._frame

    @contextmanager
    def held(self, key: str) -> Iterator[Any]:
        """In a frame of one row, whose values do not stand in the plans that Spark shows and logs."""
        session = self.connection._session
        name = f"understudy_key_{uuid.uuid4().hex}"
        session.createDataFrame([(key,)], "key string").createOrReplaceTempView(name)
        try:
            yield self.connection.table(name).key.as_scalar()
        finally:
            session.catalog.dropTempView(name)

    def free(self) -> None:
        """Let the workers forget the codes."""
        if self.codes is not None:
            self.connection._session.catalog.dropTempView(self.name)
            self._frame.unpersist()
            self.codes = None


_BENCHES: dict[str, type[DuckBench] | type[PostgresBench] | type[SparkBench]] = {
    "duckdb": DuckBench,
    "postgres": PostgresBench,
    "pyspark": SparkBench,
}


def bench_for(connection: Any, expression: Any) -> Bench:
    """The bench of an engine."""
    if connection.name not in _BENCHES:
        raise DataError(f"counting on {connection.name} is not built; use {', '.join(_BENCHES)}.")
    return _BENCHES[connection.name](connection, expression)


def fetched(connection: Any, expression: Any) -> pa.Table:
    """The answer to a question of any types; by Arrow on Spark, where Ibis would go through pandas."""
    if connection.name == "pyspark":
        return connection._session.sql(connection.compile(expression)).toArrow()
    return expression.to_pyarrow()


@contextmanager
def watched(connection: Any, report: Report | None) -> Iterator[None]:
    """Report the engine's own progress while it reads, twice a second."""
    if report is None or not hasattr(connection.con, "query_progress"):
        yield
        return
    finished = threading.Event()

    def watch() -> None:
        while not finished.wait(0.5):
            done = connection.con.query_progress()
            if done >= 0:
                report("reading", int(done), 100)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
        report("reading", 100, 100)
    finally:
        finished.set()
        watcher.join()
