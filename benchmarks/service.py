"""A free score costs at most three times a bare FastAPI echo of the same body, at the median, on loopback.

``python -m benchmarks.service``. Two server processes, one client with one kept connection each, short rounds by turns,
so that other work on the machine meets both alike; the processor time of each server is counted too. What a paid and a
stored answer of a per-call model take is measured beside it, on SQLite; it has no bar.
"""

import contextlib
import http.client
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil

ROUNDS, CALLS, BAR = 200, 25, 3.0
BODY = {"glucoseLevel": "130", "bodyMassIndex": "25", "age": "41", "pregnancies": "2"}

ECHO = """
import json, socket, sys
import uvicorn
from fastapi import FastAPI
app = FastAPI()
@app.post("/echo")
async def echo(body: dict[str, str]) -> dict[str, str]:
    return body
listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
listening.bind(("127.0.0.1", 0))
listening.listen(100)
print(json.dumps({"url": f"http://127.0.0.1:{listening.getsockname()[1]}", "key": ""}, indent=2), flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False)).run(sockets=[listening])
"""
OURS = """
import json
from understudy.service.run import Settings, example_service, serve
with example_service(rate=1_000_000) as (app, key):
    tell = lambda url: print(json.dumps({"url": url, "key": key}, indent=2), flush=True)
    serve(app, Settings(port=0), ready=tell)
"""


class Running:
    """A server process, and one kept connection to it."""

    def __init__(self, url: str, key: str, pid: int) -> None:
        self.connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        self._process = psutil.Process(pid)

    def processor_seconds(self) -> float:
        """Used so far."""
        times = self._process.cpu_times()
        return times.user + times.system

    def ask(self, path: str, bodies: list[bytes]) -> list[float]:
        """Milliseconds of each call."""
        times = []
        for body in bodies:
            start = time.perf_counter()
            self.connection.request("POST", path, body=body, headers=self._headers)
            response = self.connection.getresponse()
            response.read()
            times.append((time.perf_counter() - start) * 1000)
            assert response.status == 200, response.status
        return times


@contextlib.contextmanager
def running(program: str) -> Iterator[Running]:
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ
    )
    try:
        assert process.stdout is not None
        said = ""
        while not said.endswith("}\n"):
            said += process.stdout.readline()
        told = json.loads(said)
        server = Running(told["url"], told["key"], process.pid)
        yield server
        server.connection.close()
    finally:
        process.terminate()
        process.wait(20)


def main() -> None:
    body = json.dumps(BODY).encode()
    score = "/v1/models/diabetes/score"
    with running(ECHO) as bare, running(OURS) as ours:
        bare.ask("/echo", [body] * 200)
        ours.ask(score, [body] * 200)
        echoes, scores = [], []
        used = bare.processor_seconds(), ours.processor_seconds()
        for _ in range(ROUNDS):
            echoes += bare.ask("/echo", [body] * CALLS)
            scores += ours.ask(score, [body] * CALLS)
        used = bare.processor_seconds() - used[0], ours.processor_seconds() - used[1]
        sepsis = [
            json.dumps({"systolicBP": pressure, "heartRate": rate}).encode()
            for pressure in (60, 95, 110, 130)
            for rate in (40, 70, 100, 120, 180)
        ]
        paid, stored = (ours.ask("/v1/models/septic-shock/score", sepsis) for _ in range(2))
    each = [seconds / len(scores) * 1000 for seconds in used]
    for name, times, processor in (("bare echo: ", echoes, each[0]), ("free score:", scores, each[1])):
        median, high = statistics.median(times), statistics.quantiles(times, n=100)[98]
        print(f"{name}   median {median:.3f} ms, 99 % {high:.2f} ms, processor {processor:.3f} ms")
    print(f"paid answer:  median {statistics.median(paid):.2f} ms (SQLite, on the disk before the noise is drawn)")
    print(f"stored again: median {statistics.median(stored):.2f} ms")
    found = statistics.median(scores) / statistics.median(echoes)
    print(f"processor ratio {each[1] / each[0]:.2f}")
    print(f"ratio {found:.2f} (bar {BAR:g}): {'met' if found <= BAR else 'MISSED'}")


if __name__ == "__main__":
    main()
