"""Edges of what stands around the charges, each held to by itself (see decision 0178)."""

import asyncio
import hashlib
import logging
import re
import stat
import threading
from base64 import b64decode, b64encode
from importlib.resources import files
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import inspect, text
from starlette.requests import ClientDisconnect

from understudy.errors import DataError, ParameterError, RefusalError, UnderstudyError
from understudy.front import serving
from understudy.infer.opened import MEASUREMENTS
from understudy.privacy import Neighbours
from understudy.privacy.guarantees import ApproxDP, PureDP
from understudy.service import Store, logs, readiness
from understudy.service.answer_routes import _is_number, _priced, _words
from understudy.service.asking import LOST, UNDER_WAY, WAITING, Told, finite
from understudy.service.data_sets import DataSet, open_data_sets
from understudy.service.limits import RateLimiter
from understudy.service.page import Page
from understudy.service.problems import KINDS, Problem, shortened
from understudy.service.readiness import Readiness
from understudy.service.records import record, waiting
from understudy.service.run import Settings, serve
from understudy.service.secret import ENVIRONMENT, ServiceSecret
from understudy.service.served import Served, by_name
from understudy.service.store import without_password
from understudy.service.tables import Status
from understudy.service.watch import Watch, seen_of
from understudy.trees.examples import diabetes_example, septic_shock_example

# ---- what is not there, and what is asked wrongly


def test_addresses_that_lead_nowhere_and_methods_that_are_not_taken(service):
    said = service.call("GET", "/nowhere")
    assert (said.status_code, said.json()["type"]) == (404, "/docs#problem-not-found")
    said = service.call("DELETE", "/v1/models")
    assert (said.status_code, said.json()["type"]) == (405, "/docs#problem-method-not-allowed")
    assert said.headers["allow"] and "GET" in said.json()["detail"]
    assert all(key in said.headers for key in ("x-request-id", "x-content-type-options"))


@pytest.mark.parametrize("rows", [1, 2, 3, 20, 21, 22])
def test_every_row_of_a_free_batch_has_its_own_score(service, rows):
    example = service.models["diabetes"].example
    asked = [example | {"age": 20 + row} for row in range(rows)]
    batch = service.call("POST", "/v1/models/diabetes/batch", json={"rows": asked}).json()["answers"]
    assert len(batch) == rows
    for row in (0, rows - 1):
        one = service.ask("diabetes", age=20 + row).json()
        assert {name: one[name] for name in batch[row]} == batch[row]


def test_a_batch_pays_for_each_question_once_and_says_so(service):
    example = service.sepsis.example
    service.ask(systolicBP=100)
    asked = [example | {"systolicBP": value} for value in (100, 60, 60, 200)]
    said = service.call("POST", "/v1/models/septic-shock/batch", json={"rows": asked}).json()
    assert said["cost"] == {"epsilon": 1.0, "stored": 1, "remaining": {"key": 0.5, "model": 3.5}}
    assert said["answers"][1] == said["answers"][2] and service.spent == 15 * 10**8


def test_a_wrong_row_is_named_before_anything_is_charged(service):
    example = service.sepsis.example
    for wrong in ("x", example | {"systolicBP": "much"}):
        said = service.call("POST", "/v1/models/septic-shock/batch", json={"rows": [example, wrong]})
        assert said.status_code == 422 and said.json()["row"] == 2 and "row 2" in said.json()["detail"]
    assert service.spent == 0


# ---- rates


def test_a_rate_refills_evenly_and_never_beyond_ten_seconds_of_it():
    now = 0.0
    limiter, key = RateLimiter(clock=lambda: now), SimpleNamespace(key_id="k", rate=120)

    def taken() -> int:
        number = 0
        while True:
            try:
                limiter.take(key)
            except Problem as refused:
                last.append(refused)
                return number
            number += 1

    last: list[Problem] = []
    assert taken() == 20 and last[-1].status == 429
    now += 3.0
    assert taken() == 6
    now += 0.25  # half of a request
    assert taken() == 0 and last[-1].headers["Retry-After"] == "1" and "wait 0.2 seconds" in last[-1].detail
    now += 0.25
    assert taken() == 1
    now += 1e6
    assert taken() == 20
    slow = SimpleNamespace(key_id="s", rate=3)
    limiter.take(slow)
    with pytest.raises(Problem) as refused:
        limiter.take(slow)
    assert refused.value.headers["Retry-After"] == "20"


# ---- readiness


def test_readiness_is_remembered_for_a_second_and_no_longer(monkeypatch):
    now, tried, works = 100.0, 0, True

    def check() -> None:
        nonlocal tried
        tried += 1
        if not works:
            raise OSError

    monkeypatch.setattr(readiness, "time", SimpleNamespace(monotonic=lambda: now))

    async def ask() -> list[tuple[bool, int]]:
        nonlocal now, works
        ready, said = Readiness(check), []
        for moment, holds in ((100.0, True), (100.9, False), (101.0, False), (101.9, True), (102.1, True)):
            now, works = moment, holds
            said.append((await ready.holds(), tried))
        return said

    assert asyncio.run(ask()) == [(True, 1), (True, 1), (False, 2), (False, 2), (True, 3)]


def test_the_first_question_is_always_a_trial_and_a_slow_one_is_not_ready(monkeypatch):
    monkeypatch.setattr(readiness, "time", SimpleNamespace(monotonic=lambda: 0.5))  # a machine that has just started

    may_end = threading.Event()

    async def ask(check: Any, patience: float) -> bool:
        try:
            return await Readiness(check, patience=patience).holds()
        finally:
            may_end.set()

    assert not asyncio.run(ask(lambda: may_end.wait(60) and None, 0.01)), "it has not ended"
    assert asyncio.run(ask(lambda: None, 60.0))


# ---- pages


def allowed(page: Page) -> set[str]:
    policy = page.response().headers["content-security-policy"]
    return set(re.findall(r"sha256-[^']+", policy.partition("script-src")[2].partition(";")[0]))


def digest_of(words: str) -> str:
    return "sha256-" + b64encode(hashlib.sha256(words.encode()).digest()).decode()


def test_pages_run_their_own_scripts_and_no_others(service):
    def script(name: str) -> str:
        return digest_of((files("understudy.service") / "pages" / name).read_text(encoding="utf-8"))

    assert allowed(Page.front(service.models)) == {script("front.js")}
    assert allowed(
        Page.docs({"info": {"title": "", "description": ""}, "paths": {}, "components": {"schemas": {}}})
    ) == {script("docs.js")}
    assert allowed(Page.review()) == {script("asking.js"), script("review.js")}


def test_the_page_of_an_answer_runs_what_it_was_written_with():
    html = '<html><style>p {}</style><script>one()</script><p style="color: red">x</p><script src>two()</script></html>'
    page = Page.written(html)
    policy = page.response().headers["content-security-policy"]
    assert allowed(page) == {digest_of("one()"), digest_of("two()")}
    assert f"style-src '{digest_of('p {}')}'" in policy and f"'unsafe-hashes' '{digest_of('color: red')}'" in policy
    assert "connect-src 'none'" in policy and "default-src 'none'" in policy
    assert "style-src-attr" not in Page.written("<p>x</p>").response().headers["content-security-policy"]


def test_the_analysts_page_knows_whether_there_is_a_release(stays):
    def told(data: DataSet) -> str:
        return bytes(Page.analyst({data.name: data}).response().body).decode()

    data = stays.data_set()
    assert '"has_release": true' in told(data) or '"has_release":true' in told(data)
    bare = SimpleNamespace(name="stays", book=data.book, release=None, review="always")
    assert '"has_release": false' in told(bare) or '"has_release":false' in told(bare)


# ---- logs


def test_lines_below_the_level_are_not_written(capsys):
    said: list[Any] = []
    log = logs.EventLog()
    handler = logging.Handler()
    handler.emit = said.append
    logger = logging.getLogger("understudy.service")
    before = logger.handlers[:], logger.level
    try:
        logger.handlers[:] = [handler]
        logger.setLevel(logging.WARNING)
        log.say("quiet", rows=1)
        log.say("loud", level=logging.WARNING, rows=2)
    finally:
        logger.handlers[:], level = before
        logger.setLevel(level)
    assert [(record.getMessage(), record.levelno) for record in said] == [("loud", logging.WARNING)]


# ---- secrets


def test_secrets_are_32_bytes_of_their_owner_and_every_purpose_has_marks_of_its_own(tmp_path, monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    path = tmp_path / "secret"
    with pytest.raises(ParameterError):
        ServiceSecret.find(path, may_create=False)
    assert not path.exists()
    with pytest.raises(ParameterError):
        ServiceSecret.find(None, may_create=True)
    made = ServiceSecret.find(path, may_create=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and len(b64decode(path.read_text())) == 32
    assert ServiceSecret.find(path, may_create=True).mark == made.mark
    assert made.mac("a", b"b", b"c") != made.mac("a", b"bc") != made.mac("ab", b"c") != made.mac("a", b"c")
    assert len(made.mac("a", b"b")) == 32
    for mode in (0o640, 0o604, 0o620, 0o602):
        path.chmod(mode)
        with pytest.raises(ParameterError, match="may be read by others"):
            ServiceSecret.find(path, may_create=False)
    path.chmod(0o600)
    for wrong in (b"", b64encode(bytes(31)), b64encode(bytes(33)), b"!" * 44, b"\xff" * 44):
        path.write_bytes(wrong)
        with pytest.raises(ParameterError):
            ServiceSecret.find(path, may_create=False)
    for size in (0, 31, 33):
        with pytest.raises(ParameterError):
            ServiceSecret(bytes(size))
    monkeypatch.setenv(ENVIRONMENT, b64encode(bytes(32)).decode())
    assert ServiceSecret.find(None, may_create=False).mark == ServiceSecret(bytes(32)).mark


# ---- the store


def test_passwords_are_refused_wherever_an_address_may_hold_them():
    assert (
        without_password("postgresql://ann@db/scores?sslmode=require") == "postgresql://ann@db/scores?sslmode=require"
    )
    assert without_password("no address") == "no address"
    for secret in ("postgresql://ann:pw@db/s", "postgresql://db/s?password=pw", "postgresql://db/s?sslPassword=pw"):
        with pytest.raises(ParameterError, match="holds a password"):
            without_password(secret)


def test_a_database_of_another_secret_or_another_program_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    where = f"sqlite:///{tmp_path / 'a.db'}"
    with Store.open(where) as store:
        identity = store.identity
        store.check()
    assert stat.S_IMODE((tmp_path / "a.db").stat().st_mode) == 0o600
    with Store.open(where) as store:
        assert store.identity == identity
    monkeypatch.setenv(ENVIRONMENT, b64encode(bytes(32)).decode())
    with pytest.raises(DataError, match="another service secret"):
        Store.open(where)
    with Store.open(f"sqlite:///{tmp_path / 'b.db'}") as other:
        assert other.identity != identity
        with other.writing() as connection:
            assert connection.execute(text("PRAGMA synchronous")).scalar() == 2
            assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1
            assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
            assert "understudy_meta" in inspect(connection).get_table_names()


def test_a_file_is_served_by_one_and_then_by_the_next(lite):
    with lite.served_alone(), pytest.raises(RefusalError, match="for one server"), lite.served_alone():
        raise AssertionError("served twice")
    with lite.served_alone():
        pass


def test_an_earlier_database_gets_the_number_of_this_version(lite):
    where = lite._engine.url.render_as_string(hide_password=False)
    for before, opens in (("1", True), ("2", True), ("3", False)):
        with lite.writing() as connection:
            connection.execute(text(f"UPDATE understudy_meta SET text = '{before}' WHERE name = 'schema'"))
        if opens:
            Store.open(where).close()
        else:
            with pytest.raises(DataError, match="version 3"):
                Store.open(where)
        with lite.reading() as connection:
            now = connection.execute(text("SELECT text FROM understudy_meta WHERE name = 'schema'")).scalar()
        assert now == ("2" if opens else "3")


# ---- data sets: what the two open survivors of the third sample were


def test_a_release_that_cannot_be_read_stops_the_start_and_none_is_none(stays):
    opened = open_data_sets(stays.folder / "data.toml")["stays"]
    assert opened.release == stays.folder / "release"
    words = (stays.folder / "data.toml").read_text(encoding="utf-8")
    bare = words.replace('release = "release"\n', "").replace("smallest = 20\n", "")
    (stays.folder / "bare.toml").write_text(bare, encoding="utf-8")
    assert open_data_sets(stays.folder / "bare.toml")["stays"].release is None
    measured = stays.folder / "release" / MEASUREMENTS
    measured.unlink()
    with pytest.raises(UnderstudyError):
        stays.data_set()


# ---- problems


def test_statuses_are_an_interface():
    """Clients act on them: 401 asks for a key, 403 for a right, 429 and 503 for patience."""
    by_status: dict[int, set[str]] = {}
    for name, kind in KINDS.items():
        by_status.setdefault(kind.status, set()).add(name)
    assert by_status == {
        400: {"bad-json", "bad-request"},
        401: {"no-key", "bad-key"},
        403: {"not-allowed", "no-budget"},
        404: {"not-found", "unknown-model", "unknown-data", "unknown-answer", "no-release"},
        405: {"method-not-allowed"},
        408: {"too-slow"},
        409: {"not-waiting"},
        413: {"body-too-large"},
        415: {"wrong-content-type"},
        422: {"wrong-shape", "unknown-feature", "missing-feature", "bad-value", "bad-question"},
        429: {"rate-limited", "budget-exhausted"},
        500: {"internal"},
        503: {"being-answered", "busy", "data-away", "not-ready"},
    }


def test_a_caller_is_quoted_in_sixty_characters():
    assert shortened("a" * 60) == repr("a" * 60) and shortened("a" * 61) == repr("a" * 60 + "…")
    assert shortened({"a": 1}) == '{"a": 1}' and shortened({1, 2}) == "set" and shortened([0] * 99).endswith("…")


# ---- starting


@pytest.mark.parametrize("certificate", [None, "chain.pem"])
def test_the_server_is_given_its_certificate_and_says_so(certificate, monkeypatch):
    given: dict[str, Any] = {}
    monkeypatch.setattr(serving, "answer", lambda app, listening, **options: (given.update(options), listening.close()))
    monkeypatch.setattr(logs, "configure", lambda **more: given.update(more))
    settings = SimpleNamespace(
        host="127.0.0.1", port=0, log_level="error", certificate=certificate, certificate_key="key.pem"
    )
    said: list[str] = []
    serve(None, settings, ready=said.append)
    if certificate is None:
        assert said[0].startswith("http://127.0.0.1:") and given == {"level": "error"}
    else:
        assert said[0].startswith("https://127.0.0.1:")
        assert given == {"level": "error", "ssl_certfile": certificate, "ssl_keyfile": "key.pem"}


def test_certificate_and_key_belong_together_and_only_they_hide_a_name(tmp_path):
    for half in ({"certificate": tmp_path / "a"}, {"certificate_key": tmp_path / "a"}):
        with pytest.raises(ParameterError, match="belong together"):
            Settings(**half)
    with pytest.raises(ParameterError, match="no file"):
        Settings(certificate=tmp_path / "a", certificate_key=tmp_path / "b")
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").write_text("x")
    with pytest.raises(ParameterError, match="cannot be used"):
        Settings(certificate=tmp_path / "a", certificate_key=tmp_path / "b")
    assert not any(Settings(host=host).is_exposed for host in ("127.0.0.1", "::1", "localhost"))
    assert Settings(host="0.0.0.0").is_exposed


# ---- models


def of_price(stated: float, promised: Any) -> Any:
    return SimpleNamespace(name="m", price_per_call=stated, call_guarantee=promised)


def test_a_model_never_costs_less_than_its_own_ledger_says():
    relation = Neighbours.ADD_REMOVE
    for promised in (0.5, 0.5 * (1 + 5e-10), 0.1):
        Served(model=of_price(0.5, PureDP(epsilon=promised, neighbours=relation)))
    for promised in (0.5 * (1 + 1e-8), 0.51, 5.0):
        with pytest.raises(RefusalError, match="was altered"):
            Served(model=of_price(0.5, PureDP(epsilon=promised, neighbours=relation)))
    with pytest.raises(RefusalError, match="adds up pure epsilons"):
        Served(model=of_price(0.5, ApproxDP(epsilon=0.1, delta=1e-6, neighbours=relation)))
    with pytest.raises(RefusalError, match="was altered"):
        Served(model=of_price(None, PureDP(epsilon=0.5, neighbours=relation)))


def test_models_have_names_of_their_own_and_promises_unless_they_need_none():
    with pytest.raises(ParameterError, match="two models"):
        by_name([diabetes_example(), diabetes_example()])
    for call, training, promises in (
        (None, True, True),
        (None, False, False),
        (True, True, True),
        (False, True, False),
    ):
        model = SimpleNamespace(
            name="m",
            kind="free",
            price_per_call=None,
            guarantee=SimpleNamespace(is_formal=training),
            call_guarantee=None if call is None else SimpleNamespace(is_formal=call, kind="x"),
        )
        if call:
            continue  # one that is formal and not pure is refused above
        assert Served(model=model).promises is promises and not Served(model=model).costs
        if promises:
            assert by_name([model])["m"].model is model
        else:
            with pytest.raises(RefusalError, match="promises nothing"):
                by_name([model])
            assert by_name([model], without_promise=True)["m"].model is model


def test_the_identity_of_a_model_is_what_is_public_about_it():
    one, same = Served(model=septic_shock_example(epsilon=0.5)), Served(model=septic_shock_example(epsilon=0.5))
    dearer = Served(model=septic_shock_example(epsilon=0.6))
    assert one.model_id == same.model_id != dearer.model_id and re.fullmatch("[0-9a-f]{64}", one.model_id)
    assert (one.price, one.price_epsilon, one.costs) == (5 * 10**8, 0.5, True)
    free = Served(model=diabetes_example())
    assert (free.price, free.price_epsilon, free.costs) == (None, 0.0, False)


# ---- watching


class Noted:
    """A desk that only takes notes."""

    def __init__(self) -> None:
        self.lines: list[Any] = []
        self.counted: list[Any] = []
        self.log = SimpleNamespace(say=lambda event, **fields: self.lines.append((event, fields)))
        self.metrics = SimpleNamespace(request=lambda **fields: self.counted.append(fields))


def watched(method: str, app: Any) -> tuple[Noted, list[Any]]:
    desk, sent = Noted(), []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(Watch(app, desk=desk)({"type": "http", "method": method, "headers": []}, None, send))
    return desk, sent


def test_a_request_is_watched_whatever_becomes_of_it():
    async def fine(scope: Any, receive: Any, send: Any) -> None:
        seen_of(SimpleNamespace(scope=scope)).rows = 3
        await send({"type": "http.response.start", "status": 201, "headers": [(b"cache-control", b"private")]})
        await send({"type": "http.response.body", "body": b""})

    desk, sent = watched("BREW", fine)
    [(event, fields)] = desk.lines
    assert (event, fields["method"], fields["status"], fields["rows"]) == ("request", "other", 201, 3)
    assert 0 <= fields["milliseconds"] < 60_000 and desk.counted[0]["method"] == "other"
    headers = dict(sent[0]["headers"])
    assert headers[b"cache-control"] == b"private" and headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"x-request-id"].decode() == fields["request_id"]

    async def gone(scope: Any, receive: Any, send: Any) -> None:
        raise ClientDisconnect

    desk, sent = watched("GET", gone)
    assert sent == [] and desk.counted[0]["status"] == 499 and desk.lines[-1][1]["method"] == "GET"

    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError("a value of somebody")

    desk, sent = watched("GET", broken)
    assert [event for event, _ in desk.lines] == ["failed", "request"] and desk.lines[0][1]["level"] == logging.ERROR
    assert "somebody" not in str(desk.lines) + str(sent) and sent[0]["status"] == 500
    assert desk.counted[0]["problem"] == "internal"

    async def late(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ValueError

    desk, sent = watched("GET", late)
    assert len(sent) == 1, "a response that has begun is not begun again"


# ---- what is told of a question


def line_of(**more: Any) -> Any:
    usual = {"answer_id": "a1", "data": "d", "project": "p", "text": "count", "terms": "{}", "price": 10**9}
    usual |= {"price_delta": 0, "status": Status.APPROVED, "words": "", "asked": "now", "synthetic": "[]"}
    usual |= {"answer": None, "attempts": 0, "decided": None, "decided_by": None}
    return SimpleNamespace(**usual | more)


def test_a_record_says_where_its_question_stands():
    def told(**more: Any) -> dict[str, Any]:
        return record(Told(line=line_of(**more), charged=False, member=None))

    assert told()["words"] == "" and told()["answer"] is None and told()["page"] is None
    assert told(attempts=1)["words"] == UNDER_WAY
    assert told(status=Status.ASKED, words="By the rules.")["words"] == f"By the rules. {WAITING}"
    assert told(status=Status.FAILED, attempts=1)["words"] == LOST
    assert told(status=Status.DECLINED, attempts=1, words="no")["words"] == "no"
    done = told(status=Status.ANSWERED, answer='{"figures": []}', attempts=1)
    assert (done["answer"], done["page"], done["words"]) == ({"figures": []}, "/answers/a1", "")
    assert done["remaining"] is None and "decided_by" not in done
    assert waiting(line_of(decided_by="k"))["decided_by"] == "k" and "answer" not in waiting(line_of())


def test_numbers_that_are_none_are_null():
    inf = float("inf")
    assert finite({"a": [inf, -inf, float("nan"), 1.5, 2, "inf", None]}) == {
        "a": [None, None, None, 1.5, 2, "inf", None]
    }


@pytest.mark.parametrize(
    "body",
    [
        [], {}, {"question": 1}, {"question": "count", "colour": 1}, {"question": "count", "epsilon": True},
        {"question": "count", "epsilon": "1"}, {"question": "count", "epsilon": 1e301}, {"question": "count"},
        {"question": "count", "epsilon": 1, "target": 1}, {"question": "count", "epsilon": 1, "level": "x"},
    ],
)  # fmt: skip
def test_a_priced_question_has_one_shape(body):
    with pytest.raises(Problem) as refused:
        _priced(body)
    assert refused.value.kind == "wrong-shape"


def test_a_priced_question_is_read_as_numbers():
    text, terms = _priced({"question": "count", "epsilon": 1, "delta": None, "level": 0.9, "target": "table"})
    assert (text, terms) == ("count", {"epsilon": 1.0, "level": 0.9, "target": "table"})
    assert isinstance(terms["epsilon"], float) and _is_number(-1e299) and not _is_number(-1e300)


def test_a_decline_has_words_and_no_more_than_2000_characters():
    assert _words({}, needed=False) == "" and _words({"words": "w" * 2_000}, needed=True) == "w" * 2_000
    for body, needed in (({}, True), ({"words": " "}, True), ({"words": "w" * 2_001}, False), ([], False)):
        with pytest.raises(Problem):
            _words(body, needed=needed)
    for body in ({"words": 1}, {"words": "x", "by": "me"}):
        with pytest.raises(Problem):
            _words(body, needed=False)
