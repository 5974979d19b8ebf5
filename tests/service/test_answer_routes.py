"""Questions on data over HTTP: tried, quoted, reviewed, paid for, answered once, cited by anybody."""

import asyncio
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from answer_bench import BOOK, AnswerService
from answer_bench import stays as stays_table

from understudy.service import Store, asking, data_sets
from understudy.service.amounts import Amount
from understudy.service.data_sets import DataSet, Rules
from understudy.service.questions import Questions
from understudy.service.tables import Status


def test_a_question_is_tried_quoted_answered_and_cited(make_answers):
    service = make_answers()
    tried = service.call("POST", "/v1/data/stays/try", json={"question": "mean of charge by sex"}).json()
    assert [figure["name"] for figure in tried["figures"]] == ["mean of charge | sex=F", "mean of charge | sex=M"]
    asked = {"question": "mean of charge by sex", "epsilon": 0.5}
    quote = service.call("POST", "/v1/data/stays/quote", json=asked).json()
    assert quote["price"] == {"epsilon": 0.5, "delta": 0.0} and quote["review"] == "approved"
    assert service.spent_on_data == Amount(epsilon=0), "so far it was free"
    said = service.ask_data("mean of charge by sex").json()
    assert said["status"] == "answered" and said["charged"] and service.spent_on_data == Amount.price(0.5)
    for figure, other in zip(said["answer"]["figures"], said["synthetic"], strict=True):
        assert figure["low"] < figure["estimate"] < figure["high"]
        assert figure["gap"] == pytest.approx(figure["estimate"] - other["estimate"])
    again = service.ask_data("  MEAN of charge   by sex ").json()
    assert again["id"] == said["id"] and again["answer"] == said["answer"] and not again["charged"]
    found = service.call("GET", f"/v1/answers/{said['id']}").json()
    assert found["answer"] == said["answer"]
    page = service.call("GET", said["page"], key=None)
    assert page.status_code == 200 and said["id"] in page.text and "mean of charge" in page.text
    assert "readmission" not in page.text and service.key_id not in page.text, "nobody learns who asked"
    assert "script-src" in page.headers["Content-Security-Policy"]
    assert "unsafe-inline" not in page.headers["Content-Security-Policy"]
    assert service.projects.faults() == []


KINDS = (
    "count by sex, region",
    "share of died=yes by sex",
    "median of charge",
    "difference of mean of charge by sex",
    "sum of charge",
    "linear charge ~ sex",
    "logistic died == 'yes' ~ charge",
)


def test_every_kind_is_answered_once(make_answers):
    service = make_answers(cap=Amount.cap(7.0))
    for number, question in enumerate(KINDS, start=1):
        said = service.ask_data(question, epsilon=1.0).json()
        assert said["status"] == "answered", said
        assert service.ask_data(question, epsilon=1.0).json()["answer"] == said["answer"]
        assert 0.999 * number * 10**9 < service.spent_on_data.epsilon <= number * 10**9
    assert service.projects.faults() == []


@pytest.fixture(scope="module")
def idle(tmp_path_factory, whole_stays):
    """A service that is asked what costs nothing."""
    folder = tmp_path_factory.mktemp("idle")
    with Store.open(f"sqlite:///{folder / 's.db'}") as store:
        yield AnswerService(store, whole_stays.copied(folder / "stays"))


BAD = {
    "unknown column": ("mean of income", 0.5),
    "code": ("linear charge ~ __import__('os').system('touch here') ", 0.5),
    "more code": ("logistic died ~ open('x').read()", 0.5),
    "no order": ("mean of sex", 0.5),
    "200 terms": ("linear charge ~ " + " + ".join(f"I(charge**{n})" for n in range(2, 202)), 0.5),
    "no words": ("", 0.5),
    "epsilon 0": ("count", 0),
    "negative": ("count", -1.0),
    "huge": ("count", 1e9),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_a_sentence_and_costs_nothing(name, idle):
    question, epsilon = BAD[name]
    service = idle
    for path in ("quote", "answer"):
        body = {"question": question, "epsilon": epsilon}
        refused = service.call("POST", f"/v1/data/stays/{path}", json=body)
        assert refused.status_code == 422 and refused.json()["type"].endswith("bad-question"), refused.text
        assert len(refused.json()["detail"].split()) > 4
    assert service.spent_on_data == Amount(epsilon=0)


@pytest.mark.parametrize(
    "body",
    [{"question": "count"}, {"epsilon": 1}, {"question": 3, "epsilon": 1}, {"question": "count", "epsilon": "1"}, [],
     {"question": "count", "epsilon": True}, {"question": "count", "epsilon": 1, "rows": 3},
     {"question": "count", "epsilon": 1, "target": 3}],
    ids=str,
)  # fmt: skip
def test_another_shape_is_refused(body, idle):
    refused = idle.call("POST", "/v1/data/stays/answer", json=body)
    assert refused.status_code == 422 and refused.json()["type"].endswith("wrong-shape")


def test_budgets_end_and_say_what_is_left(make_answers):
    service = make_answers(project=Amount.cap(0.7))
    assert service.ask_data("count by sex", epsilon=0.5).json()["status"] == "answered"
    refused = service.ask_data("count by region", epsilon=0.3)
    assert refused.status_code == 429
    assert refused.json()["remaining"]["project"]["epsilon"] == pytest.approx(0.2)
    assert service.ask_data("count by sex", epsilon=0.5).json()["charged"] is False, "what was answered stays free"
    budget = service.call("GET", "/v1/budget").json()["data"]
    assert budget[0]["project"] == "readmission" and budget[0]["all_keys"]["spent"]["epsilon"] == 0.5


def test_keys_see_their_own_project_only(make_answers):
    service = make_answers()
    said = service.ask_data("count by sex").json()
    keys, projects = service.desk.keys, service.projects
    stranger = keys.create(label="no project", scopes=["answer"])
    assert service.ask_data("count by sex", key=stranger.text).status_code == 403
    projects.create("other", "stays", Amount.cap(1.0))
    rival = keys.create(label="other project", scopes=["answer"])
    projects.join("other", rival.key.key_id, Amount.cap(1.0))
    hidden = service.call("GET", f"/v1/answers/{said['id']}", key=rival.text)
    unknown = service.call("GET", f"/v1/answers/{'0' * 20}", key=rival.text)
    assert hidden.status_code == unknown.status_code == 404
    assert hidden.json()["detail"].replace(said["id"], "") == unknown.json()["detail"].replace("0" * 20, "")
    other = service.ask_data("count by sex", key=rival.text).json()
    assert other["charged"] and other["id"] != said["id"], "another project pays for noise of its own"
    for scopes, path, method in [
        (["answer:elsewhere"], "/v1/data/stays", "GET"),
        (["answer"], "/v1/review", "GET"),
        (["review"], "/v1/data/stays/ledger", "GET"),
        (["score"], "/v1/data/stays/try", "POST"),
    ]:
        key = keys.create(label="narrow", scopes=scopes)
        assert service.call(method, path, key=key.text, json={"question": "count"}).status_code == 403
    assert service.call("GET", "/v1/data/other").status_code == 404
    assert service.call("GET", "/v1/data", key=None).json()["data"][0]["name"] == "stays"


def test_a_steward_decides(make_answers):
    service = make_answers(review="always")
    said = service.ask_data("count by sex").json()
    assert said["status"] == "asked" and said["answer"] is None and service.spent_on_data == Amount(epsilon=0)
    assert service.call("GET", f"/answers/{said['id']}", key=None).status_code == 404
    (line,) = service.call("GET", "/v1/review").json()["questions"]
    assert line["id"] == said["id"] and line["synthetic"] and line["price"]["epsilon"] == 0.5
    assert set(line) == {"id", "data", "project", "question", "terms", "price", "status", "words", "asked",
                         "synthetic", "decided", "decided_by"}  # fmt: skip
    assert service.call("POST", f"/v1/review/{said['id']}/decline", json={}).status_code == 422, "without words"
    declined = service.call("POST", f"/v1/review/{said['id']}/decline", json={"words": "Say why you need it."})
    assert declined.json()["status"] == "declined"
    assert service.ask_data("count by sex").json()["words"] == "Say why you need it."
    assert service.call("POST", f"/v1/review/{said['id']}/approve", json={}).json()["status"] == "approved"
    assert service.spent_on_data == Amount(epsilon=0), "paid when it is drawn"
    answered = service.ask_data("count by sex").json()
    assert answered["status"] == "answered" and service.spent_on_data == Amount.price(0.5)
    late = service.call("POST", f"/v1/review/{said['id']}/decline", json={"words": "late"})
    assert late.status_code == 409
    assert service.call("POST", f"/v1/review/{'0' * 20}/approve", json={}).status_code == 404


RULES = Rules(columns=("sex", "region", "charge"), epsilon=0.5, smallest=30)


JUDGED = [
    ("mean of charge by sex", 0.5, ""),
    ("share of died=yes", 0.5, "died"),
    ("count by sex", 0.6, "epsilon 0.5"),
    ("mean of charge by region", 0.5, "30 records"),
    ("mean of charge where region=Island", 0.5, "30 records"),
    ("linear charge ~ sex where region=Island", 0.5, "30 records"),
]


def test_rules_decide_on_public_values(make_answers):
    service = make_answers(rules=RULES)
    for question, epsilon, broken in JUDGED:
        said = service.ask_data(question, epsilon=epsilon).json()
        assert said["status"] == ("declined" if broken else "answered") and broken in said["words"], said
    assert service.spent_on_data == Amount.price(0.5), "only what was answered"


def test_exceptions_go_to_the_steward(make_answers):
    service = make_answers(rules=RULES, review="exceptions")
    assert service.ask_data("mean of charge by sex").json()["status"] == "answered"
    waiting = service.ask_data("share of died=yes").json()
    assert waiting["status"] == "asked" and "died" in waiting["words"]


def test_changed_rules_decide_anew(make_answers):
    service = make_answers(rules=RULES)
    assert service.ask_data("share of died=yes").json()["status"] == "declined"
    object.__setattr__(service.desk.answers.data["stays"], "rules", Rules())
    assert service.ask_data("share of died=yes").json()["status"] == "answered"


def test_a_failed_draw_is_paid_for_and_says_nothing_of_the_data(make_answers, monkeypatch):
    service = make_answers()

    def failing(self, plan, stream):
        raise ValueError("patient Smith has 7 stays")

    with monkeypatch.context() as patched:
        patched.setattr(DataSet, "draw", failing)
        said = service.ask_data("count by sex")
    assert said.json()["status"] == "failed" and "Smith" not in said.text and "stays charged" in said.json()["words"]
    assert service.spent_on_data == Amount.price(0.5)
    assert service.ask_data("count by sex").json()["status"] == "answered"
    assert service.spent_on_data == Amount.price(1.0) and service.projects.faults() == []


def test_what_is_paid_for_is_drawn_whatever_becomes_of_its_request(make_answers, monkeypatch):
    service = make_answers()
    charge, is_paid, may_go_on = Questions.charge, threading.Event(), threading.Event()

    def charging(self, member, line):
        attempt = charge(self, member, line)
        is_paid.set()
        may_go_on.wait(120)
        return attempt

    monkeypatch.setattr(Questions, "charge", charging)
    desk = service.desk.answers

    async def hang_up() -> None:
        asking = asyncio.create_task(desk.ask(service.made.key, desk.data["stays"], "count by sex", {"epsilon": 0.5}))
        await asyncio.to_thread(is_paid.wait, 120)
        asking.cancel()
        await asyncio.wait({asking})
        may_go_on.set()

    asyncio.run(hang_up())
    until = time.monotonic() + 120
    while time.monotonic() < until and not (lines := service.questions.queue(["stays"], Status.ANSWERED)):
        time.sleep(0.05)
    assert len(lines) == 1 and service.spent_on_data == Amount.price(0.5)


def test_hard_questions_hold_up_nobody_else_and_cost_nothing(make_answers, monkeypatch):
    """More of them than a server has threads for its small jobs: others are still let in, and all get a sentence."""
    service = make_answers()
    prepare, may_go_on, given_up = DataSet.prepare, threading.Event(), []

    def hard(self, text, terms):
        if "region" in text:
            may_go_on.wait(120)
        return prepare(self, text, terms)

    monkeypatch.setattr(DataSet, "prepare", hard)
    monkeypatch.setattr(asking, "_PLANNING", 0.5)
    headers = {"Authorization": f"Bearer {service.made.text}"}
    body = {"question": "count by region", "epsilon": 0.5}

    async def crowd() -> None:
        transport = httpx.ASGITransport(app=service.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://s", headers=headers) as client:
            paths = [f"/v1/data/stays/{path}" for path in ("quote", "answer") for _ in range(45)]
            crowd = [asyncio.create_task(client.post(path, json=body)) for path in paths]
            try:
                await asyncio.sleep(0)
                assert (await asyncio.wait_for(client.get("/v1/data/stays"), 60)).status_code == 200
                given_up.extend(await asyncio.wait_for(asyncio.gather(*crowd), 60))
            finally:
                may_go_on.set()

    asyncio.run(crowd())
    assert {(said.status_code, said.json()["type"]) for said in given_up} == {(503, "/docs#problem-busy")}
    assert all("Nothing was charged" in said.json()["detail"] and said.headers["Retry-After"] for said in given_up)
    assert service.spent_on_data == Amount(epsilon=0) and service.questions.queue(["stays"]) == []
    monkeypatch.setattr(asking, "_PLANNING", 60.0)
    assert service.ask_data("count by region").json()["status"] == "answered"


def test_a_hard_question_holds_up_neither_other_questions_nor_draws(make_answers, monkeypatch):
    """It is worked out without a lock that others need: one of two threads is enough for all others."""
    service = make_answers(rules=Rules(smallest=20))
    prepare, on_release, may_go_on = DataSet._prepare, data_sets.on_release, threading.Event()

    def hard(self, text, terms):
        if text == "median of charge":
            assert may_go_on.wait(120)
        return prepare(self, text, terms)

    def hard_to_try(question, *given, **terms):
        if question.text == "mean of charge":
            assert may_go_on.wait(120)
        return on_release(question, *given, **terms)

    monkeypatch.setattr(DataSet, "_prepare", hard)
    monkeypatch.setattr(data_sets, "on_release", hard_to_try)
    for number, (question, other) in enumerate(
        (("median of charge", "count by sex where region=North"), ("mean of charge", "count by region, sex")), start=1
    ):
        may_go_on.clear()
        waiting = threading.Thread(target=service.ask_data, args=(question,))
        waiting.start()
        try:
            asked = ThreadPoolExecutor(1).submit(service.ask_data, other)
            assert asked.result(60).json()["status"] in ("answered", "declined")
        finally:
            may_go_on.set()
            waiting.join()
        assert service.projects.faults() == []
        assert len(service.questions.queue(["stays"], Status.ANSWERED)) >= number


def test_the_ledger_adds_up(make_answers):
    service = make_answers()
    service.ask_data("count by sex")
    service.ask_data("count by region", epsilon=0.25)
    books = service.call("GET", "/v1/data/stays/ledger").json()
    paid = [line for line in books["lines"] if line["what"] == "answer"]
    assert sum(line["epsilon"] for line in paid) == books["budget"]["spent"]["epsilon"] == 0.75
    assert books["faults"] == [] and books["account"]["dataset"] == "stays"


# Attacks


def test_rephrasing_averages_nothing(make_answers):
    """The same question in other words, order and spacing is the same line, and its answer has one noise."""
    service = make_answers()
    same = ["count by sex, region", "table of region, sex", "Count   by region, sex", "TABLE OF sex ,region"]
    answers = [service.ask_data(question).json() for question in same]
    assert len({said["id"] for said in answers}) == 1 and sum(said["charged"] for said in answers) == 1
    conditions = ["mean of charge where sex=F, region=North", "mean of charge where region=North and sex=F"]
    assert len({service.ask_data(question).json()["id"] for question in conditions}) == 1
    models = ["linear charge ~ sex + died", "linear charge~died+sex", "linear charge ~ died + sex + died"]
    assert len({service.ask_data(question, epsilon=1.0).json()["id"] for question in models}) == 1
    assert service.spent_on_data == Amount.price(2.0)
    for epsilon in (0.5000001, 0.4999999):  # other noise is another price
        service.ask_data("count by sex, region", epsilon=epsilon)
    spent = service.spent_on_data.epsilon  # a price is that of the noise, a trifle below what was asked for
    assert 2_999_000_000 < spent <= 3_000_000_000, "nothing is averaged that was not paid for"


def test_differencing_two_groups_pays_for_both(make_answers):
    service = make_answers(rules=Rules())
    everybody = service.ask_data("sum of charge").json()
    part = service.ask_data("sum of charge where region=North, region=South").json()
    assert everybody["charged"] and part["charged"] and everybody["id"] != part["id"]
    assert service.spent_on_data == Amount.price(1.0)


def test_a_group_of_one_is_refused_by_the_release_and_else_drowned(make_answers):
    """Three people are on the island. With the rule nothing is drawn; without it noise is all that there is to see."""
    service = make_answers(rules=Rules(smallest=20))
    assert service.ask_data("mean of charge where region=Island").json()["status"] == "declined"
    assert service.spent_on_data == Amount(epsilon=0)
    object.__setattr__(service.desk.answers.data["stays"], "rules", Rules())
    (figure,) = service.ask_data("mean of charge where region=Island", epsilon=0.25).json()["answer"]["figures"]
    assert figure["estimate"] is None or figure["high"] - figure["low"] > 300, "an interval as wide as the column"


def test_refusals_and_their_order_do_not_depend_on_the_rows(lite, whole_stays, tmp_path, monkeypatch):
    """Two tables that differ in whether anybody is on the island: same status, same bytes, and no row is touched."""
    from understudy.answers import Plan

    said, touched = [], []
    opened = Plan.open
    for number, island in enumerate((0, 40)):
        stays = whole_stays.copied(tmp_path / str(number))
        pq.write_table(stays_table(island=island), stays.folder / "stays.parquet")
        with Store.open(f"sqlite:///{tmp_path}/{number}.db") as store:
            service = AnswerService(store, stays, rules=RULES, project=Amount.cap(0.4))
            monkeypatch.setattr(Plan, "open", lambda *words, **more: touched.append(words) or opened(*words, **more))
            replies = []
            for question, epsilon in [
                ("mean of charge where region=Island", 0.1),
                ("count by region, sex", 0.1),
                ("share of died=yes", 0.1),
                ("mean of nothing", 0.1),
                ("count by sex", 0.45),
                ("linear charge ~ region", 0.3),
            ]:
                for path in ("quote", "answer"):
                    body = {"question": question, "epsilon": epsilon}
                    if path == "answer" and question == "linear charge ~ region":
                        continue
                    reply = service.call("POST", f"/v1/data/stays/{path}", json=body)
                    facts = reply.json()
                    for own in ("request_id", "id", "asked"):
                        facts.pop(own, None)
                    replies.append((reply.status_code, json.dumps(facts)))
            said.append(replies)
            assert not touched, "no refusal waits for the rows, so its time cannot tell of them"
            assert service.ask_data("mean of charge by sex", epsilon=0.1).json()["status"] == "answered"
            assert len(touched) == 1, "an answer is what reads them"
            touched.clear()
            monkeypatch.undo()
    assert said[0] == said[1]


def test_what_cannot_be_served_is_refused_at_the_start(lite, stays, whole_stays, tmp_path):
    from understudy.errors import DataError, ParameterError, RefusalError, UnderstudyError
    from understudy.privacy import Neighbours
    from understudy.privacy.account import Account

    with pytest.raises(ParameterError, match="no release to judge"):
        DataSet(name="s", address=str(stays.folder / "stays.parquet"), book=BOOK, account=stays.account,
                rules=Rules(smallest=3))  # fmt: skip
    with pytest.raises(ParameterError, match="does not describe"):
        stays.data_set(rules=Rules(columns=("income",)))
    with pytest.raises(UnderstudyError, match="release"):
        stays.data_set(table="release/synthetic.parquet")
    other = Account.create(tmp_path / "other", dataset="x", epsilon=9.0, delta=0.0, neighbours=Neighbours.ADD_REMOVE)
    with pytest.raises(RefusalError, match="has not paid"):
        DataSet(name="s", address=str(stays.folder / "stays.parquet"), book=BOOK, account=other,
                release=stays.folder / "release")  # fmt: skip
    replaced = Account.create(tmp_path / "ro", dataset="x", epsilon=9.0, delta=0.0,
                              neighbours=Neighbours.ADD_REMOVE_PERSON)  # fmt: skip
    with pytest.raises(RefusalError, match="priced for"):
        DataSet(name="s", address=str(stays.folder / "stays.parquet"), book=BOOK, account=replaced)
    pq.write_table(stays_table().drop(["charge"]), stays.folder / "narrow.parquet")
    with pytest.raises(DataError, match="charge"):
        stays.data_set(table="narrow.parquet")


def test_values_outside_the_codebook_are_told_to_whoever_starts_it(stays):
    """An answer that failed on one would tell analysts that it is there."""
    from understudy.errors import DataError
    from understudy.service.data_sets import open_data_sets

    table = stays_table()
    odd = table.set_column(0, "sex", pa.array(["X", *table["sex"].to_pylist()[1:]]))
    pq.write_table(odd, stays.folder / "stays.parquet")
    with pytest.raises(DataError, match="sex"):
        open_data_sets(stays.folder / "data.toml")


def test_an_account_from_a_back_up_stops_the_service(lite, stays, whole_stays, make_answers):
    import shutil

    from understudy.errors import RefusalError
    from understudy.service import Desk

    make_answers()
    shutil.copy(whole_stays.folder / "stays.account", stays.folder / "stays.account")
    with pytest.raises(RefusalError, match="has paid for"):
        Desk(store=lite, models={}, data={"stays": stays.data_set()})
