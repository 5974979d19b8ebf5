"""Rules of asking on data sets, without a release, a thread pool of a server or HTTP: a stand-in answers for the rows.

They say what a request is told, what it pays, and what is drawn for it, whatever review and rules make of its question
(decision 0178). The stand-in notes what was drawn, and what had been paid by then.
"""

import asyncio
import json
import logging
import random
import threading
import time
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.codebook import Categorical, Codebook
from understudy.errors import RefusalError, UnderstudyError
from understudy.infer.inference import Figure
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours
from understudy.privacy.account import Account
from understudy.privacy.provenance import DECLARED
from understudy.service import KeyBook, asking
from understudy.service.amounts import Amount
from understudy.service.asking import AnswerDesk
from understudy.service.data_sets import ALWAYS, EXCEPTIONS, RULES, DataSet, Rules, Terms, open_data_sets
from understudy.service.problems import Problem
from understudy.service.projects import Projects
from understudy.service.tables import Status

BOOK = Codebook(columns=(Categorical(name="sex", levels=("F", "M")), Categorical(name="ward", levels=("a", "b"))))
PLENTY = Amount.cap(900.0, 1e-3)


class Rows:
    """Stands in for the rows of a data set: what may be asked of it, and all that was drawn."""

    name, book, release, _provenance, _compared, is_there = "stays", BOOK, None, DECLARED, {}, True
    prepare, broken_rules = DataSet._prepare, DataSet.broken_rules

    def __init__(self, desk: Any) -> None:
        self.desk, self.account = desk, SimpleNamespace(neighbours=Neighbours.ADD_REMOVE)
        self.review, self.rules, self.told = RULES, Rules(), ()
        self.draws: list[Any] = []
        self.fault: Exception | None = None
        self.estimate, self.may_end = 7.0, threading.Event()
        self.may_end.set()

    def tried(self, question: Any, plan: Any) -> tuple[Figure, ...]:
        return self.told

    def draw(self, plan: Any, stream: Stream) -> tuple[Figure, ...]:
        self.draws.append(SimpleNamespace(stream=stream, plan=plan, spent=self.desk.spent()))
        self.may_end.wait(60)
        if self.fault is not None:
            raise self.fault
        return (Figure(name=plan.question.text, group="count", estimate=self.estimate, low=float("-inf")),)


class Office:
    """A desk with one data set, two projects on it, and keys."""

    def __init__(self, store: Any) -> None:
        self.said: list[Any] = []
        self.projects, self.book = Projects(store), KeyBook(store)
        log = SimpleNamespace(say=lambda event, **fields: self.said.append((event, fields)))
        self.data = Rows(self)
        self.desk = AnswerDesk(store, {"stays": self.data}, projects=self.projects, log=log)
        self.projects.set_data_cap("stays", PLENTY, account="a" * 32)
        for project in ("one", "two"):
            self.projects.create(project, "stays", PLENTY)
        self.keys = [self.key(project) for project in ("one", "one", "two")]

    def key(self, project: str | None, cap: Amount = PLENTY) -> Any:
        key = self.book.create(label="k", scopes=["answer"]).key
        if project is not None:
            self.projects.join(project, key.key_id, cap)
        return key

    def spent(self) -> Amount:
        return self.projects.budget_of("stays").spent

    def on_record(self) -> list[Any]:
        return [line for status in Status for line in self.desk.questions.queue(["stays"], status)]

    def ask(self, key: Any, text: str = "count", **terms: Any) -> Any:
        return asyncio.run(self.desk.ask(key, self.data, text, {"epsilon": 0.5, **terms}))

    def price(self, text: str, **terms: Any) -> Amount:
        return self.data.prepare(text, Terms(**{"epsilon": 0.5, **terms})).price


@pytest.fixture
def office(lite):
    return Office(lite)


# ---- what becomes of a question


def test_what_nobody_could_draw_is_not_paid_for(office):
    """A disk that is not there would spend every budget, question by question."""
    office.data.is_there = False
    with pytest.raises(Problem) as refused:
        office.ask(office.keys[0])
    assert refused.value.kind == "data-away" and "was charged nothing" in refused.value.detail
    assert office.spent() == Amount(epsilon=0) and not office.data.draws
    assert office.said[-1] == ("data away", {"level": logging.ERROR, "data": "stays"})
    office.data.is_there = True
    assert office.ask(office.keys[0]).charged and office.spent() == office.price("count")


@pytest.mark.parametrize(
    ("review", "breaks", "status"),
    [
        (ALWAYS, False, "asked"), (ALWAYS, True, "asked"), (EXCEPTIONS, False, "answered"),
        (EXCEPTIONS, True, "asked"), (RULES, False, "answered"), (RULES, True, "declined"),
    ],
)  # fmt: skip
def test_who_decides_and_what_is_said(office, review, breaks, status):
    office.data.review, office.data.rules = review, Rules(columns=("sex",), epsilon=0.3)
    text, epsilon = ("count by ward", 0.5) if breaks else ("count by sex", 0.25)
    quoted = office.desk.quote(office.data, text, {"epsilon": epsilon})
    assert quoted["review"] == ("approved" if status == "answered" else status)
    assert office.spent() == Amount(epsilon=0) and office.on_record() == [], "a quote is free"
    told = office.ask(office.keys[0], text, epsilon=epsilon)
    assert told.line.status == status and told.charged is (status == "answered") is bool(office.data.draws)
    assert office.spent() == (office.price(text, epsilon=epsilon) if told.charged else Amount(epsilon=0))
    assert told.line.words == quoted["words"]
    said = told.line.words
    assert (said.startswith("By the rules: ") and "; " in said) is (breaks and review != ALWAYS), said
    assert all(word in said for word in ("ward", "epsilon 0.3")) or not (breaks and review != ALWAYS)


class Walk:
    """A steward's notes of what was asked, and what each rule and each decision makes of it."""

    texts, epsilons = ("count", "count by sex", "count by ward"), (0.25, 0.5)

    def __init__(self, office: Office, seed: int) -> None:
        self.office, self.random = office, random.Random(seed)
        self.lines: dict[Any, Any] = {}
        self.prices = {(text, eps): office.price(text, epsilon=eps) for text in self.texts for eps in self.epsilons}
        self.paid: list[Amount] = []

    def change(self) -> None:
        data = self.office.data
        data.review = self.random.choice([ALWAYS, RULES, RULES, EXCEPTIONS])
        data.rules = self.random.choice([Rules(), Rules(columns=("sex",)), Rules(epsilon=0.3)])

    def verdict(self, text: str, epsilon: float) -> Status:
        data = self.office.data
        breaks = ("ward" in text and data.rules.columns) or (epsilon > 0.3 and data.rules.epsilon)
        if data.review == ALWAYS or (breaks and data.review == EXCEPTIONS):
            return Status.ASKED
        return Status.DECLINED if breaks else Status.APPROVED

    def ask(self) -> None:
        number, text, epsilon = (
            self.random.randrange(3),
            self.random.choice(self.texts),
            self.random.choice((0.25, 0.5)),
        )
        project, status = ("one", "one", "two")[number], self.verdict(text, epsilon)
        known = self.lines.setdefault(
            (project, text, epsilon),
            SimpleNamespace(
                status=status, attempts=0, by=None if status is Status.ASKED else "rules", id=None, text=None
            ),
        )
        if known.by == "rules" and known.attempts == 0:
            known.status = status  # what nobody has paid for follows the rules of the day
        self.office.data.fault = self.random.choice([None, None, ValueError("Ann is 7")])
        pays = known.status in (Status.APPROVED, Status.FAILED)
        if pays:
            known.attempts += 1
            known.status = Status.FAILED if self.office.data.fault else Status.ANSWERED
            self.paid.append(self.prices[text, epsilon])
        told = self.office.ask(self.office.keys[number], text.replace("count", " COUNT  "), epsilon=epsilon)
        line = told.line
        assert (told.charged, line.status, line.attempts) == (pays, known.status, known.attempts)
        assert (line.project, line.text, told.member.project) == (project, text, project)
        assert known.id in (None, line.answer_id) and (line.answer is not None) is (known.status is Status.ANSWERED)
        assert known.text in (None, line.answer), "an answer is drawn once"
        known.id, known.text = line.answer_id, line.answer
        assert Amount(epsilon=line.price, delta=line.price_delta) == self.prices[text, epsilon]

    def decide(self) -> None:
        waiting = [line for line in self.lines.values() if line.status is Status.ASKED and line.attempts == 0]
        if waiting:
            known, approve = self.random.choice(waiting), self.random.random() < 0.6
            self.office.desk.questions.decide(known.id, approve=approve, words="why", by="steward")
            known.status, known.by = Status.APPROVED if approve else Status.DECLINED, "steward"

    def check(self) -> None:
        assert self.office.spent().epsilon == sum(price.epsilon for price in self.paid)
        drawn = [draw.spent.epsilon for draw in self.office.data.draws]
        sums = [sum(price.epsilon for price in self.paid[: number + 1]) for number in range(len(self.paid))]
        assert drawn == sums, "each draw was paid for before, and each payment is drawn once"
        assert self.office.projects.faults() == []


@pytest.mark.parametrize("seed", range(2))
def test_what_is_drawn_is_paid_for_once_whoever_decides(office, seed):
    walk = Walk(office, seed)
    for _ in range(40):
        walk.random.choice([walk.ask] * 5 + [walk.decide] * 2 + [walk.change])()
    walk.check()
    assert len(walk.paid) > 3


@pytest.mark.parametrize(
    ("before", "after"), [("approved", "declined"), ("declined", "approved"), ("declined", "asked")]
)
def test_what_nobody_has_paid_for_follows_the_rules_of_the_day_and_what_was_paid_stays(office, before, after):
    rules = {"approved": Rules(), "declined": Rules(columns=("sex",)), "asked": Rules(columns=("sex",))}

    def turn(status):
        office.data.review, office.data.rules = EXCEPTIONS if status == "asked" else RULES, rules[status]

    def asked(text):
        told = office.ask(office.keys[0], text)
        return told.line.answer_id, str(told.line.status), told.charged, bool(told.line.words)

    turn("approved")
    paid = asked("count by sex, ward")
    assert paid[1:] == ("answered", True, False)
    turn(before)
    if before == "approved":
        office.data.is_there = False  # on record, and nobody has paid
        with pytest.raises(Problem, match="data-away"):
            office.ask(office.keys[0], "count by ward")
        office.data.is_there = True
    else:
        assert asked("count by ward")[1:] == ("declined", False, True)
    turn(after)
    due = {
        "declined": ("declined", False, True),
        "approved": ("answered", True, False),
        "asked": ("asked", False, True),
    }
    assert asked("count by ward")[1:] == due[after]
    assert asked("count by sex, ward") == (paid[0], "answered", False, False), "an answer stays, whatever the rules say"
    assert len(office.on_record()) == 2


# ---- which questions are the same


def test_a_question_is_another_one_on_other_terms_and_the_same_in_other_words(office):
    key = office.keys[0]
    first = office.ask(key, "count by sex, ward").line.answer_id
    for text in ("COUNT  by ward, sex", "table of sex, ward", " count by sex,ward "):
        assert office.ask(key, text).line.answer_id == first
    assert office.ask(office.keys[1], "count by sex, ward").line.answer_id == first
    others: list[tuple[Any, str, dict[str, Any]]] = [
        (office.keys[2], "count by sex, ward", {}),
        (key, "count by sex", {}),
        (key, "count by sex, ward", {"epsilon": 0.6}),
        (key, "count by sex, ward", {"delta": 1e-6}),
        (key, "count by sex, ward", {"delta": 2e-6}),
        (key, "count by sex, ward", {"level": 0.9}),
        (key, "count by sex, ward", {"target": "table"}),
    ]
    ids = [office.ask(who, text, **terms).line.answer_id for who, text, terms in others]
    assert len({first, *ids}) == 1 + len(others)


@pytest.mark.parametrize("part", ["epsilon", "delta"])
def test_a_question_that_has_another_price_by_now_is_another_question(office, part, monkeypatch):
    """A line is charged at the price that it was put on record with: a new price must never be paid as the old one."""
    key, prepare = office.keys[0], Rows.prepare
    cheap = office.ask(key).line
    more = Amount(**{"epsilon": 0, "delta": 0, part: 1})

    def dearer(self: Any, text: str, terms: Terms) -> Any:
        prepared = prepare(self, text, terms)
        price = Amount(epsilon=prepared.price.epsilon + more.epsilon, delta=prepared.price.delta + more.delta)
        return type(prepared)(question=prepared.question, plan=prepared.plan, price=price, stated=prepared.stated)

    monkeypatch.setattr(Rows, "prepare", dearer)
    before = office.spent()
    told = office.ask(key)
    assert told.charged and told.line.answer_id != cheap.answer_id
    assert office.spent() - before == office.price("count")


def test_a_codebook_that_says_something_else_makes_other_questions(office, monkeypatch):
    first = office.ask(office.keys[0]).line.answer_id
    other = Codebook(columns=(Categorical(name="sex", levels=("F", "M", "X")),))
    monkeypatch.setattr(Rows, "book", other)
    assert office.ask(office.keys[0]).line.answer_id != first


# ---- what is refused


def test_who_is_in_no_project_pays_nothing_and_is_told_so(office):
    stranger, left = office.key(None), office.keys[0]
    office.book.revoke(left.key_id)
    for key in (stranger, left):
        with pytest.raises(Problem) as refused:
            office.ask(key)
        assert (refused.value.kind, refused.value.status) == ("no-budget", 403)
        assert "Nothing was spent" in refused.value.detail
    assert office.spent() == Amount(epsilon=0) and office.data.draws == []


@pytest.mark.parametrize("cap", [Amount.cap(0.4), Amount.cap(0.1, 1e-3)])
def test_what_no_budget_covers_is_refused_with_what_is_left(office, cap):
    key = office.key("one", cap)
    with pytest.raises(Problem) as refused:
        office.ask(key)
    assert (refused.value.kind, refused.value.status) == ("budget-exhausted", 429)
    assert refused.value.more["price"] == office.price("count").to_dict()
    assert refused.value.more["remaining"]["key"] == cap.to_dict()
    assert refused.value.more["remaining"]["data"] == PLENTY.to_dict()
    assert office.spent() == Amount(epsilon=0) and office.data.draws == []
    assert office.ask(office.keys[0]).charged, "another key of the project may still pay for the same question"
    assert not office.ask(key).charged and len(office.data.draws) == 1, "what is answered is free"


@pytest.mark.parametrize(
    "terms", [{"epsilon": 0.0}, {"epsilon": 0.5, "level": 1.0}, {"epsilon": 0.5, "target": "moon"}]
)
def test_questions_and_terms_that_nobody_can_answer_are_refused_alike(office, terms):
    data, desk = office.data, office.desk
    data.release = "somewhere"
    asked = [("mean of nothing", {"epsilon": 0.5}), ("", {"epsilon": 0.5}), ("count", terms)]
    for text, given in asked:
        for refusing in (
            lambda: desk.try_out(data, text, given),  # noqa: B023
            lambda: desk.quote(data, text, given),  # noqa: B023
            lambda: office.ask(office.keys[0], text, **given),  # noqa: B023
        ):
            with pytest.raises(Problem) as refused:
                refusing()
            assert refused.value.kind == "bad-question" and len(refused.value.detail.split()) > 4
    assert office.spent() == Amount(epsilon=0) and office.on_record() == []


def test_what_is_tried_needs_a_release_and_costs_nothing(office):
    with pytest.raises(Problem) as refused:
        office.desk.try_out(office.data, "count", {})
    assert refused.value.kind == "no-release"
    office.data.release = "somewhere"
    office.data.told = (Figure(name="count", group="count", estimate=float("nan"), low=1.0),)
    tried = office.desk.try_out(office.data, " COUNT ", {"level": 0.9})
    assert (tried["data"], tried["question"]) == ("stays", "count")
    assert [(figure["estimate"], figure["low"]) for figure in tried["figures"]] == [(None, 1.0)]
    assert office.spent() == Amount(epsilon=0) and office.data.draws == []


# ---- drawing, failing, waiting


def test_a_failure_is_paid_for_and_only_its_kind_and_place_are_told(office):
    office.data.fault = ValueError("Ann Smith is 7")
    told = office.ask(office.keys[0])
    assert told.charged and told.line.status == "failed" and told.line.answer is None
    [(event, fields)] = office.said
    assert event == "answer failed" and fields["error"] == "ValueError" and fields["level"] == logging.ERROR
    assert fields["answer"] == told.line.answer_id and fields["places"] and "Smith" not in str(office.said)
    office.data.fault, price = None, office.price("count")
    again = office.ask(office.keys[1])
    assert again.charged and again.line.answer_id == told.line.answer_id and again.line.status == "answered"
    assert office.spent().epsilon == 2 * price.epsilon and len(office.said) == 1


def test_every_draw_has_random_numbers_of_its_own(office):
    for text in ("count", "count by sex", "count by ward"):
        office.ask(office.keys[0], text)
    streams = [draw.stream for draw in office.data.draws]
    assert len({id(stream) for stream in streams}) == 3 and office.desk._stream not in streams
    numbers = [stream.spawn().words(4).tobytes() for stream in streams]
    assert len(set(numbers)) == 3


def test_an_answer_holds_what_was_drawn_beside_what_the_release_had_said(office):
    told = office.ask(office.keys[0])
    answer = json.loads(told.line.answer)
    assert [(figure["estimate"], figure["low"]) for figure in answer["figures"]] == [(7.0, None)]
    assert answer["synthetic"] is None and answer["answer"] == told.line.answer_id and answer["epsilon"] == 0.5
    assert json.loads(told.line.terms) == {"epsilon": 0.5, "delta": None, "level": 0.95, "target": "population"}
    assert json.loads(told.line.synthetic) == []
    office.data.told = (Figure(name="count by sex", group="count", estimate=5.0),)
    line = office.ask(office.keys[0], "count by sex").line
    answer = json.loads(line.answer)
    assert [figure["gap"] for figure in answer["figures"]] == [2.0]
    assert [figure["estimate"] for figure in json.loads(line.synthetic)] == [5.0]


def test_whoever_asks_while_it_is_drawn_waits_for_the_same_answer_and_pays_nothing(office):
    data = office.data
    data.may_end.clear()
    told: dict[int, Any] = {}
    asking_now = [threading.Thread(target=lambda n=n: told.update({n: office.ask(office.keys[n])})) for n in (0, 1)]
    try:
        asking_now[0].start()
        until = time.monotonic() + 30
        while not data.draws and time.monotonic() < until:
            time.sleep(0.01)
        asking_now[1].start()
        time.sleep(0.3)
        assert told == {}, "both wait"
    finally:
        data.may_end.set()
        for thread in asking_now:
            thread.join(60)
    assert told[0].charged and not told[1].charged and len(data.draws) == 1
    assert told[0].line.answer == told[1].line.answer is not None
    assert office.spent() == office.price("count")


def test_a_long_draw_is_told_of_before_it_ends_and_is_there_later(office, monkeypatch):
    monkeypatch.setattr(asking, "_PATIENCE", 0.2)
    office.data.may_end.clear()
    try:
        for number, charged in ((0, True), (1, False)):
            told = office.ask(office.keys[number])
            assert told.charged is charged and (told.line.status, told.line.attempts) == ("approved", 1)
            assert told.line.answer is None and told.member.key_id == office.keys[number].key_id
    finally:
        office.data.may_end.set()
    monkeypatch.undo()
    assert office.ask(office.keys[0]).line.status == "answered" and len(office.data.draws) == 1


def test_a_question_that_takes_too_long_to_price_is_given_up_and_free(office, monkeypatch):
    monkeypatch.setattr(asking, "_PLANNING", 0.1)
    may_end = threading.Event()

    async def hard() -> Any:
        return await office.desk.planned(may_end.wait, 60)

    try:
        with pytest.raises(Problem) as refused:
            asyncio.run(hard())
    finally:
        may_end.set()
    assert refused.value.kind == "busy" and int(refused.value.headers["Retry-After"]) > 0
    assert "Nothing was charged" in refused.value.detail and office.spent() == Amount(epsilon=0)
    monkeypatch.undo()
    assert asyncio.run(office.desk.planned(lambda value: value + 1, 1)) == 2


# ---- data sets


def served(
    folder: Any, book: Codebook = BOOK, *, table: Any = None, relation: Neighbours = Neighbours.ADD_REMOVE
) -> Any:
    """What a data set is made of, beside its rules: a table, a codebook and an account."""
    path = folder / "rows.parquet"
    pq.write_table(pa.table({"sex": ["F", "M"] * 40, "ward": ["a"] * 79 + ["b"]}) if table is None else table, path)
    (folder / "d.account").unlink(missing_ok=True)
    account = Account.create(folder / "d.account", dataset="d", epsilon=9.0, delta=1e-3, neighbours=relation)
    return {"name": "stays", "address": str(path), "book": BOOK, "account": account}


def test_what_could_never_be_answered_is_refused_before_anybody_asks(tmp_path):
    usual = served(tmp_path)
    data = DataSet(**usual)
    assert (data.review, data.rules, data.tried(None, None)) == (ALWAYS, Rules(), ())
    for wrong, words in (
        ({"name": "Stays"}, "small letters"),
        ({"review": "never"}, "review"),
        ({"rules": Rules(columns=("sex", "age"))}, "age"),
        ({"rules": Rules(smallest=5)}, "no release"),
        ({"release": tmp_path / "nothing"}, "nothing"),
        ({"address": str(tmp_path / "nothing.parquet")}, "nothing"),
    ):
        with pytest.raises(UnderstudyError, match=words):
            DataSet(**{**usual, **wrong})
    with pytest.raises(UnderstudyError, match="ward"):
        DataSet(**served(tmp_path, table=pa.table({"sex": ["F"]})))
    drawn = pa.table({"sex": ["F"], "ward": ["a"]}).replace_schema_metadata({b"understudy.kind": b"reconstructed"})
    with pytest.raises(UnderstudyError):
        DataSet(**served(tmp_path, table=drawn))


@pytest.mark.parametrize(
    ("relation", "serves"),
    [
        (Neighbours.ADD_REMOVE, True), (Neighbours.REPLACE, True), (Neighbours.ADD_REMOVE_PERSON, False),
        (Neighbours.REPLACE_PERSON, False),
    ],
)  # fmt: skip
def test_answers_are_priced_for_the_relation_that_the_account_is_kept_for(tmp_path, relation, serves):
    words = served(tmp_path, relation=relation)
    if serves:
        assert DataSet(**words).prepare("count", Terms(epsilon=0.5)).stated.total.neighbours is relation
    else:
        with pytest.raises(RefusalError, match="open an account for the former"):
            DataSet(**words)


def test_the_rows_are_counted_as_they_are_and_what_is_strange_is_told_at_the_start(tmp_path):
    data = DataSet(**served(tmp_path))
    data.check_rows()
    prepared = data.prepare("count by ward", Terms(epsilon=1000.0))
    figures = data.draw(prepared.plan, Stream.seeded(1))
    assert [round(figure.estimate) for figure in figures] == [79, 1], "with so little noise"
    assert data.prepare("count by ward", Terms(epsilon=1000.0)) is prepared, "worked out once"
    strange = DataSet(**served(tmp_path, table=pa.table({"sex": ["F", "X"], "ward": ["a", "b"]})))
    with pytest.raises(UnderstudyError, match="sex"):
        strange.check_rows()


def test_a_file_of_data_sets_is_looked_up_beside_it_and_checked_with_its_rows(tmp_path):
    served(tmp_path)
    BOOK.save(tmp_path / "book.toml")
    words = '[stays]\nsource = "rows.parquet"\ncodebook = "book.toml"\naccount = "d.account"\n'
    (tmp_path / "data.toml").write_text(words + 'review = "rules"\n[stays.rules]\nepsilon = 0.5\n', encoding="utf-8")
    [(name, data)] = open_data_sets(tmp_path / "data.toml").items()
    assert (name, data.review, data.release) == ("stays", RULES, None)
    assert data.rules == Rules(epsilon=0.5) and data.book == BOOK and data.account.dataset == "d"
    assert data.address == str(tmp_path / "rows.parquet")
    served(tmp_path, table=pa.table({"sex": ["F", "X"], "ward": ["a", "b"]}))
    with pytest.raises(UnderstudyError, match="sex"):
        open_data_sets(tmp_path / "data.toml")
