"""The front against whoever has no key: idle sockets, slow heads, crowds from one address, heads with two readings."""

import asyncio
import contextlib
import json
import logging
import re
import resource
import socket
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest
import uvicorn
from uvicorn.server import ServerState
from workbench import Server

from understudy.errors import ParameterError, RefusalError
from understudy.front.lines import JsonLines, Paced
from understudy.front.protocol import GuardedProtocol
from understudy.front.serving import bound
from understudy.front.visitors import Limits, Visit, Visitors

FEW_FILES = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))"
SMALL = """
import understudy.front.server as front
from understudy.front.visitors import Limits
front.Limits = lambda: Limits(connections=40, per_address=30, head_seconds=5, request_seconds=8, idle_seconds=2,
                              requests=3)
"""
"""Limits that a test can wait for, and that a busy machine does not reach by itself."""

NARROW = """
import understudy.front.server as front
from understudy.front.visitors import Limits
front.Limits = lambda: Limits(connections=40, per_address=30, handshake_seconds=60)
"""


@pytest.fixture
def many_files():
    """Room for the test's own side of the connections."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] != resource.RLIM_INFINITY and before[1] < 4096:
        pytest.skip(f"this machine lets a process open {before[1]} files; the test needs 4096")
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def address_of(server) -> tuple[str, int]:
    host, port = server.url.split("//")[1].split(":")
    return host, int(port)


def connect(server) -> socket.socket:
    return socket.create_connection(address_of(server), timeout=20)


def heard(connection: socket.socket) -> bytes:
    """Everything until the other side closes."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def send(server, data: bytes) -> bytes:
    with connect(server) as connection:
        connection.sendall(data)
        return heard(connection)


def check_log(server) -> list[dict]:
    """JSON lines, all of them, and not many."""
    server.stop()
    assert sum(map(len, server.log)) < 1_000_000
    return [json.loads(line) for line in server.log]


def test_2000_idle_connections_at_1024_files_and_paying_clients_are_served(many_files, start_server):
    server = start_server("--example", before=FEW_FILES)
    with contextlib.ExitStack() as crowd:
        for _ in range(2000):
            crowd.enter_context(connect(server))
        headers = {"Authorization": f"Bearer {server.said['key']}"}
        with httpx.Client(base_url=server.url, headers=headers, timeout=20) as client:
            for rate in (40, 70, 100, 120, 180):
                for pressure in (60, 95, 110, 130):
                    question = {"systolicBP": pressure, "heartRate": rate}
                    said = client.post("/v1/models/septic-shock/score", json=question)
                    assert said.status_code == 200 and said.json()["cost"]["epsilon"] == 0.5
            said = client.post("/v1/models/septic-shock/score", json={"systolicBP": 200, "heartRate": 180})
            assert said.status_code == 429 and said.json()["remaining"]["key"] == 0.0
            assert client.get("/readyz").status_code == 200
    lines = check_log(server)
    assert len([line for line in lines if line["event"] == "request"]) == 22
    assert lines[-1]["event"] == "stopped"


@pytest.fixture(scope="module")
def front():
    """One server with small limits for all the tests below."""
    server = Server(["--example"], {"PYTHONPATH": str(Path(__file__).parents[2] / "src")}, before=SMALL)
    yield server
    lines = check_log(server)
    server.process.stderr.close()
    assert not [line for line in lines if "another message" in line.get("message", "")]
    assert not [line for line in lines if line["event"] == "failed"]


def test_deadlines(front):
    """An idle connection, a head that trickles, one request and silence, a body that never comes, one that trickles."""
    get = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
    beginnings = {
        "idle": b"",
        "head": b"GET /healthz HTTP/1.1\r\nHost:",
        "between": get + b"\r\n",
        "body": get + b"Content-Length: 1000\r\n\r\n",
        "post": b"POST /diabeteScore HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
    }

    async def last(name: str) -> tuple[str, bytes]:
        reader, writer = await asyncio.open_connection(*address_of(front))
        writer.write(beginnings[name])

        async def trickle() -> None:
            while name in ("head", "body"):
                writer.write(b"x")
                await asyncio.sleep(0.1)

        drops = asyncio.create_task(trickle())
        said = b""
        with contextlib.suppress(ConnectionResetError):
            while part := await reader.read(65536):
                said += part
        drops.cancel()
        writer.close()
        return name, said

    async def all_of_them() -> dict[str, bytes]:
        async with asyncio.timeout(60):
            return dict(await asyncio.gather(*map(last, beginnings)))

    said = asyncio.run(all_of_them())
    assert b" 408 " in said["idle"] and b" 408 " in said["head"]
    assert b" 200 " in said["between"] and b" 200 " in said["body"] and b" 401 " in said["post"]


def test_whoever_reads_nothing_is_not_waited_for():
    """The connection is closed, and its last bytes find no room on the way: closing alone would wait for ever."""

    class Full:
        """A transport whose other side takes nothing: it closes only when it is aborted."""

        def __init__(self) -> None:
            self.ended: list[str] = []

        def is_closing(self) -> bool:
            return bool(self.ended)

        def close(self) -> None:
            self.ended.append("closing")

        def abort(self) -> None:
            self.ended.append("aborted")

        def write(self, data: bytes) -> None: ...

        def get_extra_info(self, name: str, default: object = None) -> object:
            return default

        def pause_reading(self) -> None: ...

        def resume_reading(self) -> None: ...

    async def app(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1")]})
        await send({"type": "http.response.body", "body": b"x"})

    async def ended(sent: bytes) -> list[str]:
        limits = Limits(connections=3, per_address=3, head_seconds=0.1, idle_seconds=0.1, request_seconds=0.3)
        config = uvicorn.Config(app, timeout_keep_alive=0.1, log_config=None)
        config.load()
        protocol = GuardedProtocol(config=config, server_state=ServerState(), app_state={})
        visitors, transport = Visitors(limits), Full()
        visit = Visit("somebody", transport.abort)
        assert visitors.enter(visit)
        protocol.belongs_to(visitors, visit, limits)
        protocol.connection_made(transport)
        if sent:  # an empty part would mean the end
            protocol.data_received(sent)
        async with asyncio.timeout(20):
            while "aborted" not in transport.ended:
                await asyncio.sleep(0.01)
        ended = list(transport.ended)
        protocol.connection_lost(None)
        assert len(visitors) == 0
        return ended

    get = b"GET / HTTP/1.1\r\nHost: x\r\n"
    for sent in (get + b"\r\n", get + b"Connection: close\r\n\r\n", b"\x00\r\n\r\n", b""):
        assert asyncio.run(ended(sent)) == ["closing", "aborted"], sent


def test_a_connection_serves_so_many_requests_and_is_closed(front):
    get = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    said = send(front, get * 10).lower()
    assert said.count(b"http/1.1 200 ") == 3 and said.count(b"connection: close") == 1


def test_an_address_has_its_share_and_the_longest_waiting_gives_way(front):
    with contextlib.ExitStack() as crowd:
        idle = [crowd.enter_context(connect(front)) for _ in range(35)]
        for connection in idle[:5]:
            heard(connection)  # ends when the server has closed it; else the socket's own time-out fails the test
        assert b" 200 " in send(front, b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")


SHAPES = {
    "two lengths": b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths, turned round": b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
    "two different lengths": b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd",
    "a list of lengths": b"Content-Length: 4, 5\r\n\r\nabcd",
    "a length with a sign": b"Content-Length: +4\r\n\r\nabcd",
    "a hexadecimal length": b"Content-Length: 0x4\r\n\r\nabcd",
    "a negative length": b"Content-Length: -1\r\n\r\n",
    "another coding": b"Transfer-Encoding: gzip\r\n\r\nabcd",
    "a coding twice": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two codings": b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "a misspelt coding": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a space before the colon": b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "a folded coding and a length": b"Content-Length: 4\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "a chunk size that is none": b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
    "a chunk with another end": b"Transfer-Encoding: chunked\r\n\r\n4\r\nabcdXX0\r\n\r\n",
    "a chunk size behind a bare line feed": b"Transfer-Encoding: chunked\r\n\r\n4\nabcd\r\n0\r\n\r\n",
    "a line in an extension of a chunk": b"Transfer-Encoding: chunked\r\n\r\n4;a=b\n0\r\nabcd\r\n0\r\n\r\n",
    "a coding behind a bare line feed": b"X: a\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a coding behind a bare return": b"X: a\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a length in a folded line": b"X: a\r\n Content-Length: 4\r\n\r\nabcd",
    "a length with an underscore": b"Content-Length: 1_0\r\n\r\nabcdefghij",
    "a coding that is quoted": b'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n',
    "a coding with a comma": b"Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\n",
    "a head that ends in a bare line feed": b"Content-Length: 4\r\n\nabcd",
    "two hosts": b"Host: y\r\n\r\n",
    "a NUL in a header": b"X: a\x00b\r\n\r\n",
    "an endless head": b"X: " + b"a" * 40_000,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_heads_with_two_readings_are_refused_and_closed(front, shape):
    """The request that a second reading would see after the first is never answered."""
    head = b"POST /diabeteScore HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    hidden = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    said = send(front, head + SHAPES[shape] + hidden)
    statuses = [int(line.split()[1]) for line in said.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
    # the body is read after the key is asked for, so a broken one may come behind a 401
    assert statuses in ([400], [401]) and b"alive" not in said, said
    assert statuses == [400] or not {b"Content-Length", b"Transfer-Encoding"} <= set(
        re.findall(rb"[\w-]+", SHAPES[shape])
    )


@pytest.mark.parametrize(
    "request_line", [b"POST /x HTTP/1.0\r\nTransfer-Encoding: chunked", b"GET / HTTP/1.1", b"\x16\x03\x01\x02", b"G\tE"]
)
def test_lines_that_are_no_request(front, request_line):
    assert b" 400 " in send(front, request_line + b"\r\n\r\n0\r\n\r\n")


def test_other_things_that_are_sent_to_ports(front):
    for sent in (
        b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade, close\r\n\r\n",
        b"GET http://elsewhere/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    ):
        assert send(front, sent).startswith(b"HTTP/1.1 ")


def test_tls_handshakes_that_never_end_take_no_descriptors(many_files, tmp_path, start_server):
    made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=x", "-days", "2"]
    files = ["-keyout", tmp_path / "key.pem", "-out", tmp_path / "certificate.pem"]
    try:
        subprocess.run(["openssl", "req", "-x509", *made, *files], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    words = ("--certificate", tmp_path / "certificate.pem", "--certificate-key", tmp_path / "key.pem")
    server = start_server("--example", *words, before=NARROW + FEW_FILES.replace("1024", "300"))
    with contextlib.ExitStack() as crowd:
        for _ in range(400):
            crowd.enter_context(connect(server))
        trusting = ssl.create_default_context(cafile=tmp_path / "certificate.pem")
        trusting.check_hostname = False
        with httpx.Client(base_url=server.url, verify=trusting, timeout=20) as client:
            assert client.get("/healthz").json() == {"status": "alive"}
    check_log(server)


def test_visitors_wait_for_room_when_all_are_at_work():
    async def scene() -> None:
        visitors = Visitors(Limits(connections=2, per_address=2))
        ended: list[str] = []
        visits = [Visit(f"address {n}", lambda n=n: ended.append(n)) for n in range(3)]
        for visit in visits[:2]:
            assert visitors.enter(visit)
            visitors.works(visit)
        waiting = asyncio.create_task(visitors.room())
        await asyncio.sleep(0)
        assert not waiting.done() and ended == []
        visitors.leave(visits[0])
        await waiting
        assert visitors.enter(visits[2]) and len(visitors) == 2
        waiting = asyncio.create_task(visitors.room())
        await asyncio.sleep(0)
        assert ended == [2], "who has no request gives way"
        visitors.leave(visits[2])
        visitors.leave(visits[2])
        await waiting
        assert len(visitors) == 1

    asyncio.run(scene())


def test_who_has_been_answered_gives_way_to_those_who_wait():
    """Or those inside, each with one request after the other, would keep everybody else out for ever."""

    async def scene() -> None:
        visitors = Visitors(Limits(connections=1, per_address=1))
        inside = Visit("a", lambda: visitors.leave(inside))
        assert visitors.enter(inside)
        visitors.works(inside)
        waiting = asyncio.create_task(visitors.room())
        await asyncio.sleep(0)
        visitors.waits(inside)
        async with asyncio.timeout(5):
            await waiting
        assert len(visitors) == 0

    asyncio.run(scene())


@pytest.mark.parametrize("host", ["a" * 70 + ".example", "no such host", "256.256.256.256"])
def test_where_nothing_can_listen_is_said(host):
    with pytest.raises(ParameterError, match="nothing can listen on"):
        bound(host, 0)


def test_an_address_that_is_all_at_work_gets_no_more():
    async def scene() -> None:
        visitors = Visitors(Limits(connections=10, per_address=1))
        first, second, other = (Visit(address, lambda: None) for address in ("a", "a", "b"))
        assert visitors.enter(first)
        visitors.works(first)
        assert not visitors.enter(second) and visitors.enter(other)
        visitors.leave(first)
        assert visitors.enter(second)

    asyncio.run(scene())


def test_too_few_descriptors_are_said(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (200, 200))
    with pytest.raises(RefusalError, match="200 files"):
        Limits().within_descriptors()
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 1024))
    chosen = Limits().within_descriptors()
    assert (chosen.connections, chosen.per_address) == (768, 384)


def record(name: str, message: object) -> logging.LogRecord:
    return logging.LogRecord(name, logging.WARNING, "", 0, message, (), None)


def test_asyncio_speaks_through_a_closed_list():
    write = JsonLines("own").format
    told = json.loads(write(record("asyncio", "Task exception was never retrieved\nfuture: <Task SECRET>")))
    assert told["message"] == "Task exception was never retrieved"
    assert "SECRET" not in write(record("asyncio", "something new about SECRET"))
    assert "SECRET" not in write(record("uvicorn.error", ValueError("SECRET")))


def test_the_same_sentence_is_written_five_times_a_minute():
    moment = 0.0
    paced = Paced("own", clock=lambda: moment)
    assert [paced.filter(record("asyncio", f"Task exception was never retrieved {n}")) for n in range(8)] == (
        [True] * 5 + [False] * 3
    )
    assert paced.filter(record("uvicorn.error", "another")) and paced.filter(record("own", "request"))
    failures = [record("own", "store failed") for _ in range(8)]
    assert [paced.filter(each) for each in failures] == [True] * 5 + [False] * 3
    single = logging.LogRecord("own", logging.INFO, "", 0, "request", (), None)
    assert all(paced.filter(single) for _ in range(8)), "a line about one request is wanted"
    moment = 61.0
    late = record("asyncio", "Task exception was never retrieved 9")
    assert paced.filter(late) and json.loads(JsonLines("own").format(late))["dropped"] == 3
