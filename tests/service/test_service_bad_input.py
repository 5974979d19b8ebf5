"""Hostile and careless requests: a clear 4xx, nothing spent, nothing in the log that tells of a person."""

import contextlib
import io
import json
import logging
import socket
import time
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.service import logs
from understudy.service.bodies import parse
from understudy.service.problems import KINDS, Problem

PERSON = "Q-Zebedee-Quux"
"""Stands for whatever identifies somebody; must be in no log."""

GOOD = b'"heartRate": 80, "temperature": 37, "ventilated": "no"'


@pytest.fixture
def log():
    """What the operator would see, all loggers together."""
    stream = io.StringIO()
    saved = {
        name: logging.getLogger(name)
        for name in ("understudy.service", "understudy.front", "uvicorn", "asyncio", "sqlalchemy", "uvicorn.access")
    }
    states = {
        name: (logger.handlers[:], logger.level, logger.propagate, logger.disabled) for name, logger in saved.items()
    }
    logs.configure(stream)
    yield stream
    for name, (handlers, level, propagate, disabled) in states.items():
        saved[name].handlers[:], saved[name].propagate, saved[name].disabled = handlers, propagate, disabled
        saved[name].setLevel(level)
    logging.raiseExceptions = True


def check(service, log, said, kind, *words):
    body = said.json()
    assert said.status_code == KINDS[kind].status, said.text[:300]
    assert said.headers["content-type"] == "application/problem+json"
    assert body["type"] == f"/docs#problem-{kind}" and body["title"] and body["status"] == said.status_code
    assert body["request_id"] == said.headers["x-request-id"]
    assert len(said.content) < 1500, "a megabyte is not sent back"
    for word in words:
        assert word in body["detail"], body["detail"]
    assert service.spent == 0 and service.budgets.faults() == []
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert lines[-1]["problem"] == kind and lines[-1]["request_id"] == body["request_id"]
    assert PERSON not in log.getvalue() and service.made.text not in log.getvalue()
    assert all(set(line) <= {"time", "level", "event", *logs.FIELDS} for line in lines)


BODIES = {
    "nan": (b'{"systolicBP": NaN, %b}' % GOOD, "bad-json", "NaN"),
    "infinity": (b'{"systolicBP": Infinity, %b}' % GOOD, "bad-json", "Infinity"),
    "minus infinity": (b'{"systolicBP": -Infinity, %b}' % GOOD, "bad-json", "-Infinity"),
    "beyond a double": (b'{"systolicBP": 1e999, %b}' % GOOD, "bad-json", "too large"),
    "many digits": (b'{"systolicBP": ' + b"9" * 5000 + b", %b}" % GOOD, "bad-json", "40 digits"),
    "huge": (b'{"systolicBP": 1e300, %b}' % GOOD, "bad-value", "from 40 to 260"),
    "huge whole": (b'{"systolicBP": 99999999999999999999999999, %b}' % GOOD, "bad-value", "from 40 to 260"),
    "negative": (b'{"systolicBP": -1, %b}' % GOOD, "bad-value", "-1"),
    "part of a whole number": (b'{"systolicBP": 100.5, %b}' % GOOD, "bad-value", "a whole number"),
    "words for a number": (b'{"systolicBP": "nan", %b}' % GOOD, "bad-value", "'nan'"),
    "true": (b'{"systolicBP": true, %b}' % GOOD, "bad-value", "True"),
    "list": (b'{"systolicBP": [100], %b}' % GOOD, "bad-value", "type list"),
    "object": (b'{"systolicBP": {"a": 1}, %b}' % GOOD, "bad-value", "type dict"),
    "null": (b'{"systolicBP": null, %b}' % GOOD, "missing-feature", "'systolicBP'"),
    "missing": (b"{%b}" % GOOD, "missing-feature", "'systolicBP'"),
    "unknown": (b'{"systolicBP": 100, "%b": 1, %b}' % (PERSON.encode(), GOOD), "unknown-feature", "it knows"),
    "target": (b'{"systolicBP": 100, "septicShock": "yes", %b}' % GOOD, "unknown-feature", "septicShock"),
    "value": (b'{"systolicBP": "%b", %b}' % (PERSON.encode(), GOOD), "bad-value", "must be"),
    "twice": (b'{"systolicBP": 100, "systolicBP": 101, %b}' % GOOD, "bad-json", "given twice"),
    "twice escaped": (rb'{"systolicBP": 100, "systolic\u0042P": 101, %b}' % GOOD, "bad-json", "given twice"),
    "deep": (b'{"systolicBP": ' + b"[" * 30000 + b"]" * 30000 + b"}", "bad-json", "nested"),
    "deep objects": (b'{"a":' * 9000 + b"1" + b"}" * 9000, "bad-json", "nested"),
    "never closed": (b"[" * 60000, "bad-json", "nested"),
    "nul": (rb'{"systolicBP": "1\u000000", %b}' % GOOD, "bad-json", "NUL"),
    "nul name": (rb'{"systolicBP\u0000": 100, %b}' % GOOD, "bad-json", "NUL"),
    "raw nul": (b'{"systolicBP": "1\x0000", %b}' % GOOD, "bad-json", "control character"),
    "half a character": (rb'{"systolicBP": "\ud800", %b}' % GOOD, "bad-json", "surrogate"),
    "half a name": (rb'{"\udc00": 1, %b}' % GOOD, "bad-json", "surrogate"),
    "half a name twice": (rb'{"\udc00": 1, "\udc00": 2}', "bad-json", "twice"),
    "not utf-8": (b'{"systolicBP": "\xff\xfe", %b}' % GOOD, "bad-json", "not UTF-8"),
    "utf-16": ('{"systolicBP": 100}'.encode("utf-16"), "bad-json", "UTF-8"),
    "mark": (b"\xef\xbb\xbf{%b}" % GOOD, "bad-json", "byte order mark"),
    "empty": (b"", "bad-json", "expecting value"),
    "text": (PERSON.encode(), "bad-json", "expecting value"),
    "cut": (b'{"systolicBP": 10', "bad-json", "line 1"),
    "two documents": (b"{} {}", "bad-json", "extra data"),
    "a list": (b"[1, 2]", "wrong-shape", "object of features"),
    "a number": (b"7", "wrong-shape", "7"),
    "a text": (json.dumps(PERSON).encode(), "wrong-shape", "object of features"),
    "nothing": (b"null", "wrong-shape", "null"),
    "sql": (b'{"systolicBP": "100; DROP TABLE understudy_answers; --", %b}' % GOOD, "bad-value", "DROP TABLE"),
    "sql name": (b'{"\' OR 1=1 --": 1, %b}' % GOOD, "unknown-feature", "OR 1=1"),
    "template": (b'{"systolicBP": "{{ 7 * 7 }}${7*7}<%%= 7 %%>", %b}' % GOOD, "bad-value", "{{ 7 * 7 }}"),
    "format": (b'{"systolicBP": "%%s%%n{0.__class__}", %b}' % GOOD, "bad-value", "{0.__class__}"),
    "script": (b'{"systolicBP": "<script>alert(1)</script>", %b}' % GOOD, "bad-value", "<script>"),
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies(service, log, name):
    body, kind, *words = BODIES[name]
    check(service, log, service.send(body), kind, *words)
    check(service, log, service.send(body, path="/septicShockScore"), kind, *words)


def test_a_megabyte_of_text(service, log):
    text = (PERSON * 80_000)[: 1 << 20]
    check(service, log, service.send(json.dumps({"systolicBP": text}).encode()), "body-too-large", "65,536 bytes")
    batch = json.dumps({"rows": [{"systolicBP": text[:900_000]}]}).encode()
    check(service, log, service.send(batch, path="/v1/models/septic-shock/batch"), "bad-value", "row 1", "systolicBP")
    name = json.dumps({"rows": [{text[:900_000]: 1}]}).encode()
    check(service, log, service.send(name, path="/v1/models/septic-shock/batch"), "unknown-feature", "row 1")
    many = json.dumps({f"{PERSON}{number}": 1 for number in range(2000)}).encode()
    check(service, log, service.send(many), "unknown-feature")


def test_a_body_that_grows_while_it_arrives_is_cut_off(service, log):
    """No length was announced; the reader stops after the limit, not after the sender."""
    sent = 0

    async def endless():
        nonlocal sent
        while sent < 50 << 20:
            sent += 1 << 14
            yield b" " * (1 << 14)

    said = service.call(
        "POST",
        "/v1/models/septic-shock/score",
        content=endless(),
        headers={"Content-Type": "application/json", "Transfer-Encoding": "chunked"},
    )
    check(service, log, said, "body-too-large")
    assert sent <= 1 << 17


def test_a_body_that_never_ends_is_given_up(service, log, monkeypatch):
    import asyncio

    from understudy.service import bodies

    monkeypatch.setattr(bodies, "_PATIENCE", 0.2)

    async def hanging():
        yield b"{"
        await asyncio.sleep(60)

    said = service.call(
        "POST", "/v1/models/septic-shock/score", content=hanging(), headers={"Content-Type": "application/json"}
    )
    check(service, log, said, "too-slow", "0.2 seconds")


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/json; charset=latin-1"},
        {"Content-Type": ""},
        {"Content-Type": PERSON},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
def test_content_types(service, log, headers):
    check(service, log, service.send(b"{%b}" % GOOD, **headers), "wrong-content-type", "JSON")


def test_json_in_utf8_is_welcome(service):
    for kind in ("application/json", "application/json; charset=utf-8", 'Application/JSON; charset="UTF-8"'):
        body = json.dumps(service.models["diabetes"].example).encode()
        assert service.send(body, path="/v1/models/diabetes/score", **{"Content-Type": kind}).status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        "nobody", PERSON, "../../etc/passwd", "..", "%2e%2e", "diabetes\x00", "DIABETES", "' OR 1=1 --", "{{7*7}}",
        "x" * 5000, "diabetes%00.us", "\u202esitebaid",
    ],
)  # fmt: skip
def test_names_that_are_no_models(service, log, name):
    """In a path, raw and encoded: looked up in a table, never in a folder."""
    for quoted in (urllib.parse.quote(name, safe=""), urllib.parse.quote(name, safe="/%")):
        for method, tail in (("POST", "score"), ("GET", "card")):
            said = service.call(method, f"/v1/models/{quoted}/{tail}", json={} if method == "POST" else None)
            assert said.status_code == 404 and len(said.content) < 1500
            assert said.json()["type"] in ("/docs#problem-unknown-model", "/docs#problem-not-found")
            assert "root:" not in said.text and service.spent == 0
    assert PERSON not in log.getvalue() and "passwd" not in log.getvalue() and name not in log.getvalue()


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        (None, "no-key"), ("", "no-key"), ("Basic dXNlcjpwYXNz", "no-key"), ("Bearer", "no-key"),
        ("Bearer  ", "no-key"),
        (f"Bearer {PERSON}", "bad-key"), ("Bearer us_0000000000000000_" + "A" * 43, "bad-key"),
        ("Bearer ' OR '1'='1", "bad-key"), ("Bearer " + "x" * 50_000, "bad-key"), ("Bearer \xff\xfe", "bad-key"),
    ],
)  # fmt: skip
def test_keys(service, log, header, kind):
    headers = {} if header is None else {"Authorization": header.encode("latin-1")}
    said = service.call("POST", "/v1/models/septic-shock/score", key=None, headers=headers, json=service.sepsis.example)
    check(service, log, said, kind)
    assert said.headers["www-authenticate"] == 'Bearer realm="understudy"'


def test_a_key_in_the_address_is_no_key_and_is_not_logged(service, log):
    said = service.call("GET", f"/v1/budget?key={service.made.text}&name={PERSON}", key=None)
    check(service, log, said, "no-key")
    said = service.call("GET", f"/{service.made.text}/{PERSON}", key=None)
    check(service, log, said, "not-found")


def test_methods(service, log):
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", PERSON):
        said = service.call(method, "/v1/models/septic-shock/score")
        check(service, log, said, "method-not-allowed", "POST")
        assert said.headers["allow"] == "POST"


def test_a_good_request_is_logged_without_its_values(service, log):
    service.ask("diabetes", glucoseLevel=177.0, bodyMassIndex=33.3)
    service.ask(systolicBP=91)
    service.ask(systolicBP=91)
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    always = {
        "time",
        "level",
        "event",
        "request_id",
        "method",
        "route",
        "status",
        "milliseconds",
        "key_id",
        "model",
        "rows",
    }
    assert [set(line) - always for line in lines] == [set(), {"cost", "stored"}, {"cost", "stored"}]
    assert all(always <= set(line) for line in lines)
    assert [(line.get("cost"), line.get("stored"), line["route"]) for line in lines[1:]] == [
        (0.5, 0, "/v1/models/{model}/score"),
        (0.0, 1, "/v1/models/{model}/score"),
    ]
    for hidden in ("177", "33.3", "glucoseLevel", "systolicBP", service.made.text, service.made.text[20:]):
        assert hidden not in log.getvalue()


def test_an_unforeseen_mistake_tells_nobody_what_it_was(service, log, monkeypatch):
    def broken(*_):
        raise RuntimeError(PERSON)

    monkeypatch.setattr(type(service.models["diabetes"].model), "score", broken)
    said = service.ask("diabetes")
    check(service, log, said, "internal")
    assert PERSON not in said.text
    failed = json.loads(log.getvalue().splitlines()[0])
    assert failed["event"] == "failed" and failed["error"] == "RuntimeError"
    assert any(place.startswith("desk.py:") for place in failed["places"])


def test_a_broken_store_is_not_quoted(service, log, monkeypatch):
    from sqlalchemy.exc import OperationalError

    def broken(*_):
        raise OperationalError(f"INSERT {PERSON}", {"label": PERSON}, Exception(PERSON))

    monkeypatch.setattr(service.budgets, "charge", broken)
    check(service, log, service.ask(), "not-ready")
    failed = json.loads(log.getvalue().splitlines()[0])
    assert failed["event"] == "store failed" and failed["level"] == "error", "--log-level error must not hide it"


def test_the_log_takes_no_other_field():
    with pytest.raises(TypeError, match="feature"):
        logs.EventLog().say("request", feature="age")


def test_other_loggers_keep_their_words_to_themselves(log):
    try:
        raise ValueError(PERSON)
    except ValueError:
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application %s", PERSON)
    logging.getLogger("uvicorn.access").warning('%s - "%s"', PERSON, PERSON)
    logging.getLogger("sqlalchemy.pool").error("broken %s", PERSON)
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [line["message"] for line in lines] == ["Exception in ASGI application %s", "broken %s"]
    assert lines[0]["error"] == "ValueError" and PERSON not in log.getvalue()


@pytest.mark.parametrize(
    "text", [b'{"a": 1}', b"[]", b'"x"', b"1.5e3", b'{"a": {"b": [[]]}}', b'{"a": "[[[[[[{{{{{{"}']
)
def test_plain_json_is_understood(text):
    assert parse(text) == json.loads(text)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def depth_of(value) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)


@given(value=VALUES, ascii_only=st.booleans())
def test_strict_json_is_json_unless_it_is_refused(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)
    try:
        body = text.encode()
    except UnicodeEncodeError:  # half characters have no bytes
        return
    if depth_of(value) > 4 or "\x00" in repr(value) or "\\x00" in repr(value) or "\\ud" in text:
        with contextlib.suppress(Problem):
            assert parse(body) == value
    else:
        assert parse(body) == value


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 5 + b'"' + b'\\"' * 400_000,
        b"[1, " * 4 + b'"' + b"\\" * 799_999,
        b'["' * 200_000,
        b"[[[[" + b"[]," * 300_000,
        b'{"a": [' + b'"[",' * 250_000,
    ],
    ids=["escaped quotes", "escapes", "openers", "siblings", "quoted brackets"],
)
def test_no_body_takes_long_to_refuse(body):
    """Each is near a megabyte; a walk that tried a quote twice would take minutes."""
    start = time.process_time()
    with pytest.raises(Problem):
        parse(body[: 1 << 20])
    assert time.process_time() - start < 2


def test_five_levels_are_too_many():
    assert parse(b"[[[[]]]]") == [[[[]]]]
    for text in (b"[[[[[]]]]]", b'{"\\"": [[[[1]]]]}'):
        with pytest.raises(Problem):
            parse(text)


def test_a_real_server_leaks_nothing_either(start_server, tmp_path):
    """Whatever bytes arrive at the port: no stack trace, no path, no header in its log."""
    server = start_server("--example", TMPDIR=str(tmp_path))
    host, port = server.url.removeprefix("http://").split(":")
    person = PERSON.encode()
    for raw in (
        b"\x16\x03\x01\x02\x00\x01\x00" + person,
        b"GET /" + person + b"?q=" + person + b" HTTP/1.1\r\nHost: x\r\nX-Name: " + person + b"\r\n\r\n",
        b"POST /v1/models/" + person + b"/score HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n" + person,
        b"GET /v1/models/../../../../etc/passwd/card HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /v1/models/..%2f..%2fetc%2fpasswd/card?" + person + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/9.9\r\n" + person + b"\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"X-Long: " + person * 20_000 + b"\r\n\r\n",
        b"POST /diabeteScore HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n" + person,
        b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: "
        + person + b"\r\nSec-WebSocket-Version: 13\r\n\r\n",
    ):  # fmt: skip
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(raw)
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            try:
                while chunk := connection.recv(65536):
                    answer += chunk
            except ConnectionError:
                pass
        assert b" 500 " not in answer.split(b"\r\n", 1)[0] and b"root:" not in answer
    server.stop()
    assert server.process.returncode == 0
    assert not list(tmp_path.iterdir()), "the example's database is thrown away"
    said = "".join(server.log)
    assert PERSON not in said and "Traceback" not in said and "127.0.0.1" not in said
    for line in said.splitlines():
        json.loads(line)
