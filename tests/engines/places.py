"""Where the shared cases put their tables: one line of ``ENGINES`` for each engine, and nothing else lists them.

A case takes the name of an engine and the fixture ``place`` (or ``put_with``, ``open_with``). What only one engine can
show stands in a file of its own, such as ``test_mariadb.py``.
"""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Tables = Mapping[str, pa.Table]


@dataclass
class Place(ABC):
    """One engine during one test."""

    request: pytest.FixtureRequest
    folder: Path
    """For its files."""
    options: ClassVar[Mapping[str, Any]] = {}
    """Without these `us.open` would count the rows in our own memory."""
    knows_structs: ClassVar[bool] = False
    """Whether :meth:`put` may be given columns of structs, lists and bytes."""

    @abstractmethod
    def put(self, tables: Tables) -> Any:
        """Put tables there, over those of the same names; what opens all of them together."""

    @abstractmethod
    def one(self, name: str) -> tuple[Any, str | None]:
        """What opens one of them, and as which ``table``."""


class InFile(Place):
    """A database that is a file."""

    scheme: ClassVar[str]
    options: ClassVar[Mapping[str, Any]] = {"local_bytes": 0}

    @property
    def path(self) -> Path:
        return self.folder / f"t.{self.scheme}"

    def one(self, name: str) -> tuple[Any, str | None]:
        return f"{self.scheme}://{self.path}?table={name}", None


class InDuckDB(InFile):
    scheme = "duckdb"
    knows_structs = True

    def put(self, tables: Tables) -> str:
        import duckdb

        with duckdb.connect(str(self.path)) as connection:
            for name, table in tables.items():
                connection.register("frame", table)
                connection.execute(f'CREATE OR REPLACE TABLE "{name}" AS FROM frame')
        return f"duckdb://{self.path}"


def put_into_sqlite(path: Path, name: str, table: pa.Table) -> Path:
    """As programs write it: days as texts, in columns whose types bind nobody."""
    rows = zip(*[[_in_sqlite(value) for value in column.to_pylist()] for column in table.columns], strict=True)
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in table.column_names)
    quoted = '"' + name.replace('"', '""') + '"'
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"DROP TABLE IF EXISTS {quoted}")
        connection.execute(f"CREATE TABLE {quoted} ({names})")
        marks = ", ".join("?" for _ in table.column_names)
        connection.executemany(f"INSERT INTO {quoted} VALUES ({marks})", rows)
    return path


def _in_sqlite(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float) else str(value)


class InSQLite(InFile):
    scheme = "sqlite"

    def put(self, tables: Tables) -> str:
        for name, table in tables.items():
            put_into_sqlite(self.path, name, table)
        return f"sqlite://{self.path}"


class Server(Protocol):
    """A server that the tests start themselves: a fixture of ``conftest.py`` gives it."""

    sees_one_state: ClassVar[bool]
    """Whether linked tables are encoded in one state; where not, a change meanwhile is said."""

    def load(self, name: str, table: pa.Table) -> str:
        """Make a table, over one of the same name; its address."""

    def address(self, table: str | None, *, user: str = ...) -> str:
        """Of a table, or of all of them."""

    def run(self, *statements: str) -> Any:
        """As somebody who may do everything."""

    def let_read(self, user: str, *tables: str) -> None:
        """Somebody may read these tables, and may make none, not even a temporary one."""


class OnServer(Place):
    """As somebody who may do everything."""

    fixture: ClassVar[str]
    reader: ClassVar[str | None] = None

    @property
    def server(self) -> Server:
        found: Server = self.request.getfixturevalue(self.fixture)
        return found

    def address(self, name: str | None) -> str:
        return self.server.address(name) if self.reader is None else self.server.address(name, user=self.reader)

    def put(self, tables: Tables) -> str:
        for name, table in tables.items():
            self.server.load(name, table)
        if self.reader is not None:
            self.server.let_read(self.reader, *tables)
        return self.address(None)

    def one(self, name: str) -> tuple[Any, str | None]:
        return self.address(name), None


class OnPostgres(OnServer):
    fixture = "postgres"


class OnPostgresReading(OnPostgres):
    reader = "reader"


class OnMariaDB(OnServer):
    fixture = "maria"


class OnMariaDBReading(OnMariaDB):
    reader = "reader"


class OnSpark(Place):
    """Files that Spark knows by their paths, and by the names of views."""

    knows_structs = True

    def put(self, tables: Tables) -> Any:
        session = self.request.getfixturevalue("spark")
        for name, table in tables.items():
            pq.write_table(table, self._path(name))
            session.read.parquet(str(self._path(name))).createOrReplaceTempView(name)
        return session

    def one(self, name: str) -> tuple[Any, str | None]:
        return self.request.getfixturevalue("spark"), str(self._path(name))

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"


ENGINES: Mapping[str, type[Place]] = {
    "duckdb": InDuckDB,
    "postgres": OnPostgres,
    "postgres without temporary tables": OnPostgresReading,
    "mariadb": OnMariaDB,
    "mariadb without temporary tables": OnMariaDBReading,
    "sqlite": InSQLite,
    "spark": OnSpark,
}
"""All cases run on all of these. A name begins with that of its engine."""


def cases(*, of: type[Place] = Place, readers: bool = True, structs: bool = False) -> list[Any]:
    """For ``parametrize``: the engines of one kind.

    Spark takes long, by ``tests/conftest.py``; so does each case again for somebody who may only read.
    """
    chosen = [
        name
        for name, kind in ENGINES.items()
        if issubclass(kind, of)
        and (readers or getattr(kind, "reader", None) is None)
        and (kind.knows_structs or not structs)
    ]
    marks: dict[str, Any] = {"spark": pytest.mark.java}
    marks |= {name: pytest.mark.long for name in chosen if getattr(ENGINES[name], "reader", None) is not None}
    return [pytest.param(name, marks=marks.get(name, ())) for name in chosen]


EVERY = cases()
SERVERS = cases(of=OnServer, readers=False)
FILES = cases(of=InFile)
