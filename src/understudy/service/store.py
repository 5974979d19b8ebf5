"""The durable store: SQLite in one file by default, PostgreSQL by URL.

What was committed here survives a killed process and a power cut: SQLite keeps a write-ahead log that is synced at
every commit, and PostgreSQL is held to ``synchronous_commit``. One server serves from a SQLite file; several share a
PostgreSQL.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from sqlalchemy import URL, Connection, Engine, create_engine, event, func, inspect, make_url, select, text, update
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as lite_insert
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from understudy.errors import DataError, ParameterError, RefusalError
from understudy.extras import need
from understudy.files import make_empty, open_lock, refuse_special
from understudy.loading import loading
from understudy.service.secret import ServiceSecret
from understudy.service.tables import cap_changes, meta
from understudy.service.upgrades import SCHEMA_VERSION, bring_up, raise_number

DEFAULT_DATABASE = "sqlite:///understudy-service.db"
_ROOM = 16 << 20  # bytes on the disk of a SQLite database: its log is written there before every answer
_PATIENCE = 30.0  # seconds to wait for another writer or a free connection
_POSTGRES = {"connect_timeout": 10, "tcp_user_timeout": 10_000}  # seconds; milliseconds until a silent host is gone
_SETUP_LOCK = 0x756E6465  # "unde": one server at a time makes the tables


def now() -> str:
    """This moment, as the tables keep it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Store:
    """One database and the secret that belongs to it; :meth:`open` makes or checks both."""

    def __init__(self, engine: Engine, secret: ServiceSecret) -> None:
        self._engine = engine
        self.secret = secret

    def __repr__(self) -> str:
        return f"<Store {self._engine.url.render_as_string(hide_password=True)}>"

    @property
    def is_sqlite(self) -> bool:
        """Whether it is the embedded one."""
        return self._engine.dialect.name == "sqlite"

    @property
    def identity(self) -> str:
        """A random name of its own: what an account paid for in one database counts in no other."""
        with self.reading() as connection:
            return str(connection.execute(select(meta.c.text).where(meta.c.name == "identity")).scalar_one())

    @property
    def unnamed_changes(self) -> int:
        """The last change of a cap that was made before the database had a name; 0 for one that always had."""
        with self.reading() as connection:
            return int(connection.execute(select(meta.c.text).where(meta.c.name == "unnamed")).scalar_one())

    @classmethod
    def open(
        cls, database: str, *, secret_file: Path | None = None, connections: int = 20, may_create: bool = True
    ) -> "Store":
        """Come to a database, making its tables the first time if that is wanted."""
        url = _checked_url(database)
        if url.drivername.startswith("sqlite"):
            if not may_create and not os.path.exists(url.database or ""):  # noqa: PTH110 (never raises)
                raise _none_there(url)
            _touch(Path(url.database or ""))
        engine = _engine(url, connections)
        beside = Path(f"{url.database}.secret") if engine.dialect.name == "sqlite" else None
        try:
            with _translated(engine):
                is_new = _has_no_tables(engine)
                if is_new and not may_create:
                    raise _none_there(url)
                secret = ServiceSecret.find(secret_file, beside=beside, may_create=is_new)
                store = cls(engine, secret)
                store._set_up()
        except BaseException:
            engine.dispose()
            raise
        return store

    def telling(self) -> AbstractContextManager[None]:
        """Whatever goes wrong with the database in the block, in a sentence."""
        return _translated(self._engine)

    def close(self) -> None:
        """Give the connections back."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Reads that see one state, on PostgreSQL too: else a charge between two of them would look like a fault."""
        with self._engine.connect() as bare:
            connection = bare if self.is_sqlite else bare.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is on disk when the block has ended, or not at all.

        SQLite takes its write lock before the first read; PostgreSQL re-reads a row that somebody else was changing
        (READ COMMITTED), so a condition in an UPDATE holds at the moment of the change on both.
        """
        with self._engine.connect() as bare:
            connection = bare.execution_options(understudy_begin="BEGIN IMMEDIATE")
            with connection.begin():
                yield connection

    def insert_if_absent(self, table: Any) -> Any:
        """An INSERT that leaves an existing row alone."""
        if self.is_sqlite:
            return lite_insert(table).on_conflict_do_nothing()
        return postgres_insert(table).on_conflict_do_nothing()

    @contextmanager
    def served_alone(self) -> Iterator[None]:
        """Refuse a second server on the same SQLite file: each would count rates for itself and wait for the other."""
        if not self.is_sqlite:
            yield
            return
        path = f"{self._engine.url.database}.serving"  # not the database: closing it would undo SQLite's own locks
        try:
            handle = open_lock(Path(path))
        except OSError as reason:
            raise ParameterError(
                f"the file {path!r}, which a server locks, cannot be opened ({reason.strerror}); remove it, or see to "
                "its rights."
            ) from None
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # ends with the process, however that ends
            except BlockingIOError:
                raise RefusalError(
                    f"another server is serving from {self._engine.url.database!r}, and SQLite is for one server; stop "
                    "it first, or let several servers share a PostgreSQL database."
                ) from None
            yield
        finally:
            os.close(handle)

    def check(self) -> None:
        """Raise unless the database answers, is still ours, and takes a charge: it writes, and has room to go on."""
        with _translated(self._engine):
            if self.is_sqlite and shutil.disk_usage(Path(self._engine.url.database or "").parent).free < _ROOM:
                raise DataError(f"the disk of {self._engine.url.database!r} has less than {_ROOM >> 20} MiB left.")
            with self.writing() as connection:
                rows = {row.name: row.text for row in connection.execute(select(meta))}
                connection.execute(self.insert_if_absent(meta), {"name": "ready", "text": ""})
                mark = secrets.token_hex(8)  # SQLite writes nothing where nothing changes
                connection.execute(update(meta).where(meta.c.name == "ready").values(text=mark))
        self._compare(rows)

    def _set_up(self) -> None:
        with self.writing() as connection:
            if not self.is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _SETUP_LOCK})
            bring_up(connection)
            put = self.insert_if_absent(meta)
            changes = connection.execute(select(func.max(cap_changes.c.number))).scalar_one() or 0
            connection.execute(
                put,
                [
                    {"name": "schema", "text": SCHEMA_VERSION},
                    {"name": "secret", "text": self.secret.mark},
                    {"name": "identity", "text": secrets.token_hex(16)},
                    {"name": "unnamed", "text": str(changes)},
                ],
            )
            raise_number(connection)
            self._compare({row.name: row.text for row in connection.execute(select(meta))})  # or nothing was done

    def _compare(self, rows: dict[str, str]) -> None:
        where = self._engine.url.render_as_string(hide_password=True)
        if rows.get("schema") != SCHEMA_VERSION:
            raise DataError(
                f"the database {where} has tables of version {rows.get('schema')}; this understudy reads versions up "
                f"to {SCHEMA_VERSION}, because a misread charge could overspend. Use the version that made it."
            )
        if rows.get("secret") != self.secret.mark:
            raise DataError(
                f"the database {where} was made with another service secret; with this one no API key would be known. "
                "Give the secret file or environment variable that its first server used."
            )


def _none_there(url: URL) -> ParameterError:
    where = url.render_as_string(hide_password=True)
    return ParameterError(
        f"there is no database of a service at {where}; name that of the service (`database`, or the environment "
        "variable UNDERSTUDY_DATABASE)."
    )


def _checked_url(database: str) -> URL:
    try:
        url = make_url(database)
    except ArgumentError:
        raise ParameterError(
            "`database` cannot be read as a URL; write sqlite:///FILE or postgresql://USER@HOST/NAME."
        ) from None
    kind = url.drivername.split("+")[0]
    if kind in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if kind != "sqlite":
        raise ParameterError(
            f"`database` is of the kind {kind!r}; budgets are kept in SQLite (sqlite:///FILE) or PostgreSQL "
            "(postgresql://...)."
        )
    if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
        raise ParameterError(
            f"`database` is {database!r}, which forgets what was spent when the program ends; name a file, "
            f"for example {DEFAULT_DATABASE}."
        )
    return url


def without_password(database: str) -> str:
    """A database as it may stand in a command line: every user of the machine can read that in the list of processes.

    >>> without_password("postgresql://ann@db.example/scores")
    'postgresql://ann@db.example/scores'
    """
    with contextlib.suppress(ArgumentError):  # what is no URL at all is refused where it is opened
        url = make_url(database)
        if url.password or {"password", "sslpassword"} & {name.lower() for name in url.query}:
            raise ParameterError(
                "`database` holds a password, which would be seen in histories and lists of processes; leave it out. "
                "Give it to PostgreSQL's client by PGPASSFILE (or ~/.pgpass), PGSERVICE or PGPASSWORD, or put the "
                "whole address into the environment variable UNDERSTUDY_DATABASE or into a file that "
                "UNDERSTUDY_DATABASE_FILE names."
            )
    return database


def _touch(path: Path) -> None:
    """A new database is for its owner only; SQLite gives its log the same rights.

    SQLite would follow a link that leads nowhere, and make the database there, for everybody to read.
    """
    try:
        refuse_special(path)
    except OSError as reason:
        raise ParameterError(f"the database {str(path)!r} cannot be used ({reason.strerror}).") from None
    with contextlib.suppress(OSError):  # it exists, or the engine will say what is wrong
        make_empty(path)
    with contextlib.suppress(OSError):
        if (names := path.stat().st_nlink) > 1:  # SQLite finds the log of its charges by the name of the file
            raise RefusalError(
                f"{str(path)!r} is one of {names} names of one file (hard links), and what is charged under one of "
                "them is not seen under the others. Keep one name and remove the others; make copies instead."
            )


def _engine(url: URL, connections: int) -> Engine:
    try:
        engine = create_engine(
            url,
            hide_parameters=True,  # an error message of the driver must not quote what was stored
            pool_size=connections,
            max_overflow=connections,
            pool_timeout=_PATIENCE,
            pool_pre_ping=url.drivername.startswith("postgresql"),
            connect_args={"timeout": _PATIENCE} if url.drivername.startswith("sqlite") else _POSTGRES,
        )
    except ImportError:
        need("psycopg", extra="service", what="a store in PostgreSQL")
        raise
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        event.listen(engine, "connect", _prepare_postgres)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves, below
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("understudy_begin", "BEGIN"))


def _prepare_postgres(connection: Any, _record: Any) -> None:
    """A role may have been told not to wait for the disk; a charge must. And nobody waits for ever.

    A server that is frozen in the middle of a charge loses its transaction, so that another may ask the question.
    """
    with connection.cursor() as cursor:
        for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
            cursor.execute(f"SET SESSION {limit} TO {int(_PATIENCE * 1000)}")
        cursor.execute("SHOW synchronous_commit")
        if cursor.fetchone()[0] == "off":
            cursor.execute("SET SESSION synchronous_commit TO on")
    connection.commit()


def _has_no_tables(engine: Engine) -> bool:
    names = inspect(engine).get_table_names()
    if engine.dialect.name == "sqlite" and names and "understudy_meta" not in names:
        raise DataError(
            f"{engine.url.database!r} holds the tables of another program ({', '.join(sorted(names)[:3])}); "
            "name a new file for the service."
        )
    return "understudy_meta" not in names


@contextmanager
def _translated(engine: Engine) -> Iterator[None]:
    where = engine.url.render_as_string(hide_password=True)
    with loading(None, f"the database {where}", remedy="restore a copy that holds every charge.", error=DataError):
        try:
            yield
        except SQLAlchemyError as reason:
            cause = str(getattr(reason, "orig", None) or type(reason).__name__).splitlines()[0]
            remedy = (
                "give the password to PostgreSQL's client by PGPASSFILE (or ~/.pgpass), PGSERVICE or PGPASSWORD"
                if "password" in cause
                else "check that it is there, that it is a database, and that this user may write to it"
            )
            raise DataError(f"the database {where} cannot be used ({cause}); {remedy}.") from None
