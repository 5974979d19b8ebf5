"""A service to knock on without a network, and server processes that may be killed."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any

import httpx

from understudy.service import Budgets, Desk, Store, create_app
from understudy.service.served import by_name
from understudy.trees.examples import diabetes_example, septic_shock_example

ALIASES = {"/diabeteScore": "diabetes", "/septicShockScore": "septic-shock"}


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
        self.said: dict[str, Any] = json.loads(said)
        self.url: str = self.said["url"]

    def _drain(self) -> None:
        assert self.process.stderr is not None
        self.log.extend(self.process.stderr)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(20)

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        self.process.wait(300)  # a second of the processor, which may take long where many share it
        self._reader.join(5)
        if self.process.stdout is not None:
            self.process.stdout.close()


class Caller:
    """A client of a few lines: 64 full ones would keep the processor from the servers."""

    def __init__(self, url: str, key: str) -> None:
        self._host, port = url.removeprefix("http://").split(":")
        self._port, self._key = int(port), key

    async def score(self, question: Any) -> tuple[int, Any]:
        """The score of a question."""
        return await self.post("/v1/models/septic-shock/score", question)

    async def post(self, path: str, question: Any) -> tuple[int, Any]:
        """Status and body; OSError when the server is gone, or goes while it should answer."""
        reader, writer = await asyncio.open_connection(self._host, self._port)
        body = json.dumps(question).encode()
        try:
            writer.write(
                b"POST %b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                b"Content-Type: application/json\r\nAuthorization: Bearer %b\r\nContent-Length: %d\r\n\r\n%b"
                % (path.encode(), self._key.encode(), len(body), body)
            )
            head, _, said = (await reader.read()).partition(b"\r\n\r\n")
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        if not said:
            raise ConnectionResetError
        return int(head.split()[1]), json.loads(said)
