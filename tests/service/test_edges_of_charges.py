"""Edges of amounts, purses, keys, budgets and projects, each held to by itself (see decision 0178).

On SQLite alone, without threads: what runs at once has tests of its own.
"""

import threading
import time
from collections import OrderedDict
from fractions import Fraction
from types import SimpleNamespace

import pytest
from sqlalchemy import insert, update

from understudy.answers import parse_question
from understudy.codebook import Categorical, Codebook
from understudy.errors import BudgetError, ParameterError, RefusalError
from understudy.mechanisms.leaf_answers import call_ledger
from understudy.privacy import Neighbours
from understudy.privacy.account import Account, ChargeState
from understudy.privacy.provenance import DECLARED
from understudy.privacy.transaction import Payment, Point
from understudy.service import Budgets, KeyBook, Store, caps
from understudy.service import keys as keys_module
from understudy.service.amounts import Amount, cap_of, delta_of, epsilon_of, price_of
from understudy.service.budgets import Balance, Charged, NoGrantError, SpentError
from understudy.service.data_sets import DataSet, Rules, Terms, _rules, read_data_sets
from understudy.service.projects import Projects
from understudy.service.purses import Attempts, NotCovered, Purse, take
from understudy.service.questions import Asked, NoMemberError, Questions, UncoveredError
from understudy.service.tables import Status, answers, grants, members, models, payments
from understudy.trees.scorers import CallForest

MODEL, CAP = "m" * 64, Amount.cap(1.0, 1e-6)


# ---- amounts


def test_prices_are_rounded_up_and_caps_down():
    tiny = Fraction(1, 10**10)
    assert (price_of(0.1), price_of(Fraction(1, 10) + tiny), price_of(tiny)) == (10**8, 10**8 + 1, 1)
    assert (cap_of(0.1), cap_of(Fraction(1, 10) + tiny), cap_of(Fraction(1, 10**9))) == (10**8, 10**8, 1)
    assert Amount.price(1, Fraction(1, 10**19)) == Amount(epsilon=10**9, delta=1)
    assert Amount.cap(1, Fraction(19, 10**19)) == Amount(epsilon=10**9, delta=1)
    assert Amount.price(0.3, 1e-6) == Amount.cap(0.3, 1e-6) == Amount(epsilon=3 * 10**8, delta=10**12)
    assert Amount.price(1.0).delta == Amount.cap(1.0).delta == 0
    assert (epsilon_of(5 * 10**8), delta_of(10**12)) == (0.5, 1e-6)
    for wrong in (tiny, 0, -1.0, 1_000_001, float("nan")):
        with pytest.raises(ParameterError):
            cap_of(wrong)
    assert cap_of(1_000_000) == 10**15
    for wrong in (0, -1.0, 1_000_001):
        with pytest.raises(ParameterError):
            price_of(wrong)
    for wrong in (-1e-9, 1.0, 2.0):
        for made in (Amount.price, Amount.cap):
            with pytest.raises(ParameterError):
                made(1.0, wrong)


def test_amounts_are_compared_and_taken_part_by_part():
    large, small = Amount(epsilon=5, delta=7), Amount(epsilon=3, delta=4)
    assert large - small == Amount(epsilon=2, delta=3) and large.covers(small) and large.covers(large)
    for other in (Amount(epsilon=6, delta=7), Amount(epsilon=5, delta=8), Amount(epsilon=6, delta=8)):
        assert not large.covers(other)
    assert CAP.to_dict() == {"epsilon": 1.0, "delta": 1e-6} and CAP.words == "epsilon 1, delta 1e-06"
    assert Amount.cap(1.0).words == "epsilon 1"


# ---- keys


@pytest.fixture
def book(lite):
    return KeyBook(lite)


def test_a_key_is_known_by_its_text_until_it_is_revoked(book, monkeypatch):
    made = book.create(label=" ann ", scopes=["score", "answer:stays", "score"], rate=7)
    key = made.key
    assert (key.label, key.scopes, key.rate, key.revoked) == ("ann", ("score", "answer:stays"), 7, None)
    assert (
        made.text not in repr(made)
        and made.text not in str(key.to_dict())
        and key.to_dict()["scopes"] == list(key.scopes)
    )
    assert book.recall(made.text) is None, "nobody looked it up yet"
    assert book.check(made.text) == key == book.find(key.key_id) == book.recall(made.text)
    wrong = made.text[:-1] + ("A" if made.text[-1] != "A" else "B")
    stranger = made.text.replace(key.key_id, "0" * 16)
    for text in (wrong, stranger, "us_", made.text + "x", "x" + made.text, ""):
        assert book.check(text) is None and book.recall(text) is None
    now = time.monotonic()
    monkeypatch.setattr(keys_module.time, "monotonic", lambda: now + 0.5)
    assert book.recall(made.text) == key
    monkeypatch.setattr(keys_module.time, "monotonic", lambda: now + 30)
    assert book.recall(made.text) is None, "after a second the store is asked again"
    monkeypatch.undo()
    assert book.check(made.text) == key
    first = book.revoke(key.key_id).revoked
    assert first is not None and book.recall(made.text) is None and book.check(made.text) is None
    monkeypatch.setattr(keys_module, "now", lambda: "later")
    assert book.revoke(key.key_id).revoked == first, "it was revoked once"
    with pytest.raises(ParameterError, match="there is no key"):
        book.find("nobody")
    assert book._row("a\x00b") is None


def test_what_a_key_may():
    key = keys_module.ApiKey(key_id="k", label="l", scopes=("budget", "answer:stays"), rate=1, created="", revoked=None)
    assert key.may("budget") and key.may("budget", "x") and key.may("answer", "stays")
    assert not key.may("answer") and not key.may("answer", "other") and not key.may("score")


def test_scopes_labels_rates_and_identities_are_checked(book):
    for words in (
        {"scopes": []},
        {"scopes": ["score", "root"]},
        {"scopes": ["budget:x"]},
        {"label": "   "},
        {"label": "x" * 121},
        {"rate": 0},
        {"rate": 1_000_001},
        {"identity": " ann"},
        {"identity": ""},
        {"identity": "x" * 201},
    ):
        with pytest.raises(ParameterError):
            book.create(**{"label": "l", "scopes": ["score"], **words})
    assert book.all() == []
    made = [book.create(label="x" * 120, scopes=["score"], rate=1_000_000, identity="x" * 200)]
    assert book.of_identity("x" * 200) == made[0].key and book.of_identity("ann") is None
    with pytest.raises(ParameterError, match="has the key"):
        book.create(label="l", scopes=["score"], identity="x" * 200)
    book.revoke(made[0].key.key_id)
    assert book.of_identity("x" * 200) is None
    again = book.create(label="l", scopes=["score"], identity="x" * 200)
    assert book.of_identity("x" * 200) == again.key and len(book.all()) == 2
    assert len({len(each.text) for each in (*made, again)}) == 1 and made[0].text != again.text


# ---- purses


@pytest.fixture
def till(lite):
    """A model at 0.25 a call with a cap of 1, and a key with a grant of 0.5."""
    budgets = Budgets(lite, abandoned=15.0)
    budgets.register(MODEL, name="m", price=0.25)
    budgets.set_cap(MODEL, 1.0)
    key = KeyBook(lite).create(label="k", scopes=["score"]).key.key_id
    budgets.grant(key, MODEL, 0.5)
    return SimpleNamespace(budgets=budgets, key=key, store=lite, book=KeyBook(lite))


def test_a_purse_is_emptied_to_the_last_and_no_further(till):
    own = Purse(table=grants, row=(grants.c.key_id == till.key,))
    for amount, covered in ((5 * 10**8 + 1, False), (5 * 10**8, True), (1, False)):
        with till.store.writing() as connection:
            if covered:
                take(connection, [own], Amount(epsilon=amount), key_id=till.key)
            else:
                with pytest.raises(NotCovered):
                    take(connection, [own], Amount(epsilon=amount), key_id=till.key)
    assert till.budgets.grants_of(MODEL)[till.key] == Balance(cap=5 * 10**8, spent=5 * 10**8)
    with pytest.raises(AssertionError, match="epsilon alone"):
        own.taking(Amount(epsilon=1, delta=1))
    everybody = Purse(table=models, row=(models.c.model_id == MODEL,))
    till.book.revoke(till.key)
    with till.store.writing() as connection, pytest.raises(NotCovered):
        take(connection, [everybody], Amount(epsilon=1), key_id=till.key)


def test_who_may_pay_for_a_line(monkeypatch):
    attempts = Attempts(answers, abandoned=15.0)

    def line(*, answer=None, tries=1, age=0.0, question=b"q"):
        return SimpleNamespace(answer=answer, attempts=tries, since=time.time() - age, question=question)

    assert not attempts.is_payable(line(answer="a", tries=0)) and not attempts.is_payable(line(answer="a", age=99))
    assert attempts.is_payable(line(tries=0)) and not attempts.is_payable(line())
    assert attempts.is_payable(line(age=16)) and not attempts.is_payable(line(age=14, question=b"r"))
    begun = time.monotonic()
    for later, payable in ((14.0, False), (17.0, True)):
        monkeypatch.setattr("understudy.service.purses.time.monotonic", lambda later=later: begun + later)
        assert attempts.is_payable(line(age=-999)) is payable, "by a clock that nobody sets"
    assert not attempts.is_payable(line(age=-999, tries=2)), "another attempt is another age"
    monkeypatch.setattr("understudy.service.purses._MOST_NOTICED", 2)
    monkeypatch.setattr("understudy.service.purses.time.monotonic", lambda: begun + 25.0)
    assert not attempts.is_payable(line(question=b"new")) and (b"q", 2) in attempts._noticed
    assert (b"q", 1) not in attempts._noticed and (b"r", 1) not in attempts._noticed


# ---- budgets


def test_charges_by_hand(till):
    budgets, key = till.budgets, till.key
    first = budgets.charge(key, MODEL, [b"b", b"a", b"a"])
    assert first == Charged(stored={}, paid={b"a": 1, b"b": 1}, waiting=())
    assert budgets.charge(key, MODEL, [b"a"]) == Charged(stored={}, paid={}, waiting=(b"a",))
    assert budgets.settle(key, MODEL, {b"a": (1, "A"), b"b": (2, "never")}) == {b"a": "A"}
    assert budgets.stored(key, MODEL, [b"a", b"b"]) == {b"a": "A"}
    assert budgets.charge(key, MODEL, [b"a", b"b"]) == Charged(stored={b"a": "A"}, paid={}, waiting=(b"b",))
    with pytest.raises(SpentError) as refused:
        budgets.charge(key, MODEL, [b"a", b"c"])
    assert (refused.value.asked, refused.value.key.left, refused.value.model.left) == (25 * 10**7, 0, 5 * 10**8)
    assert "this would cost epsilon 0.25; the key has 0 left" in str(refused.value)
    assert budgets.balances(key) == {
        MODEL: (Balance(cap=5 * 10**8, spent=5 * 10**8), Balance(cap=10**9, spent=5 * 10**8))
    }
    assert budgets.balances(key)[MODEL][1].to_dict() == {"cap": 1.0, "spent": 0.5, "remaining": 0.5}
    assert budgets.faults() == [] and budgets.balances("nobody") == {}


def test_a_question_under_way_is_not_paid_for_beside_a_new_one(till):
    assert till.budgets.charge(till.key, MODEL, [b"a"]).paid == {b"a": 1}
    both = till.budgets.charge(till.key, MODEL, [b"a", b"b"])
    assert both == Charged(stored={}, paid={b"b": 1}, waiting=(b"a",)) and till.budgets.faults() == []


def test_an_abandoned_attempt_is_paid_for_again(till):
    assert till.budgets.charge(till.key, MODEL, [b"a"]).paid == {b"a": 1}
    with till.store.writing() as connection:
        connection.execute(update(answers).values(since=time.time() - 99))
    assert till.budgets.charge(till.key, MODEL, [b"a"]).paid == {b"a": 2}
    assert till.budgets.settle(till.key, MODEL, {b"a": (1, "late")}) == {}, "the first one was given up"
    assert till.budgets.settle(till.key, MODEL, {b"a": (2, "A")}) == {b"a": "A"}
    assert till.budgets.model_balances() == {MODEL: ("m", Balance(cap=10**9, spent=5 * 10**8))}
    assert till.budgets.faults() == []


def test_caps_are_not_lowered_below_what_is_spent(till):
    budgets = till.budgets
    budgets.charge(till.key, MODEL, [b"a"])
    for change in (
        lambda cap: budgets.set_cap(MODEL, cap),
        lambda cap: budgets.grant(till.key, MODEL, cap),
        lambda cap: budgets.check_cap(MODEL, cap),
    ):
        with pytest.raises(ParameterError, match=r"0\.25 is spent already"):
            change(0.2)
        change(0.25)
    assert budgets.balances(till.key)[MODEL] == (Balance(cap=25 * 10**7, spent=25 * 10**7),) * 2
    for call in (
        lambda: budgets.check_cap("x", 1.0),
        lambda: budgets.grant(till.key, "x", 1.0),
        lambda: budgets.set_cap("x", 1.0),
    ):
        with pytest.raises(ParameterError, match="knows no per-call model"):
            call()


def test_a_model_keeps_its_price_and_a_key_needs_a_grant(till):
    budgets = till.budgets
    budgets.register(MODEL, name="renamed", price=0.25)
    assert budgets.model_balances()[MODEL][0] == "renamed"
    with pytest.raises(BudgetError, match="one of the two was altered"):
        budgets.register(MODEL, name="m", price=0.5)
    other = till.book.create(label="o", scopes=["score"]).key.key_id
    with pytest.raises(NoGrantError):
        budgets.charge(other, MODEL, [b"a"])
    budgets.register("n" * 64, name="n", price=0.25)
    budgets.grant(till.key, "n" * 64, 1.0)
    assert budgets.model_balances()["n" * 64] == ("n", None) and "n" * 64 not in budgets.balances(till.key)
    with pytest.raises(NoGrantError):
        budgets.charge(till.key, "n" * 64, [b"a"])
    till.book.revoke(till.key)
    with pytest.raises(NoGrantError):
        budgets.charge(till.key, MODEL, [b"a"])


def test_altered_books_are_noticed(till):
    budgets = till.budgets
    other = till.book.create(label="o", scopes=["score"]).key.key_id
    budgets.charge(till.key, MODEL, [b"a", b"b"])
    for table, change, faults in (
        (grants, {"spent": 1}, ["lines say otherwise"]),
        (models, {"spent": 1}, ["1 spent, the lines say 500000000"]),
        (grants, {"key_id": other}, ["lines say otherwise", "lines without a grant"]),
    ):
        with till.store.writing() as connection:
            before = connection.execute(table.select()).one()._mapping
            connection.execute(update(table).values(**change))
        said = budgets.faults()
        assert len(said) == len(faults) and all(words in fault for words, fault in zip(faults, said, strict=True))
        with till.store.writing() as connection:
            connection.execute(update(table).values(**{name: before[name] for name in change}))
    assert budgets.faults() == []


# ---- projects


@pytest.fixture
def office(lite):
    projects = Projects(lite)
    projects.set_data_cap("stays", CAP, account="a" * 32)
    projects.create("one", "stays", CAP)
    key = KeyBook(lite).create(label="k", scopes=["answer"]).key.key_id
    projects.join("one", key, CAP)
    questions = Questions(projects, abandoned=600.0)
    return SimpleNamespace(projects=projects, questions=questions, key=key, store=lite, book=KeyBook(lite))


def put(office, name="count", *, epsilon=0.5, delta=0.0, status=Status.APPROVED):
    asked = Asked(
        question=name.encode(), text=name, terms="{}", price=Amount.price(epsilon, delta), synthetic="[]",
        status=status, words="",
    )  # fmt: skip
    member = office.projects.membership(office.key, "stays")
    return member, office.questions.put(member, asked)


def test_a_question_is_decided_once_and_before_it_is_paid_for(office):
    questions = office.questions
    member, line = put(office, status=Status.ASKED)
    assert (line.decided, line.decided_by, line.attempts) == (None, None, 0)
    assert questions.charge(member, line) is None and questions.queue(["stays"])[0].answer_id == line.answer_id
    assert questions.queue(["other"]) == [] and questions.queue(["stays"], Status.APPROVED) == []
    for words in ("", "  ", "x" * 2001, "a\x00"):
        with pytest.raises(ParameterError):
            questions.decide(line.answer_id, approve=False, words=words, by="s")
    declined = questions.decide(line.answer_id, approve=False, words=" too small ", by="s")
    assert (declined.status, declined.words, declined.decided_by) == ("declined", "too small", "s")
    assert questions.charge(member, declined) is None
    with pytest.raises(ParameterError, match="only what waits"):
        questions.decide(line.answer_id, approve=False, words="again", by="s")
    approved = questions.decide(line.answer_id, approve=True, by="s")
    with pytest.raises(ParameterError, match="only what waits"):
        questions.decide(line.answer_id, approve=True, by="s")
    assert questions.judge_again(approved, Status.DECLINED, "rule").status == "approved", "a person decided"
    assert questions.charge(member, approved) == 1 and questions.charge(member, approved) is None
    with pytest.raises(ParameterError, match="is approved and paid for"):
        questions.decide(line.answer_id, approve=False, words="late", by="s")
    with pytest.raises(ParameterError, match="there is no question"):
        questions.decide("nobody", approve=True, by="s")
    assert questions.find("a\x00") is None and questions.find(line.answer_id).attempts == 1
    member, ruled = put(office, "other", epsilon=0.1)
    assert ruled.decided_by == "rules" and ruled.decided is not None
    assert questions.judge_again(ruled, Status.DECLINED, "rule").status == "declined"


def test_what_failed_is_paid_for_again_and_what_was_answered_is_not(office):
    projects, questions = office.projects, office.questions
    member, line = put(office, epsilon=0.25, delta=1e-7)
    assert questions.charge(member, line) == 1
    failed = questions.settle(line, 1, None)
    assert failed.status == "failed" and questions.charge(member, failed) == 2
    assert questions.settle(line, 1, "late").answer is None
    answered = questions.settle(line, 2, "{}")
    assert (answered.status, answered.answer) == ("answered", "{}") and questions.charge(member, answered) is None
    now = projects.membership(office.key, "stays")
    assert now.key.spent == now.whole.spent == now.everybody.spent == Amount.price(0.5, 2e-7)
    assert now.remaining()["project"] == {"epsilon": 0.5, "delta": pytest.approx(8e-7)}
    told = projects.ledger("stays")
    assert [(entry["what"], entry.get("attempt"), entry.get("answered")) for entry in told][3:] == [
        ("answer", 1, False), ("answer", 2, True),
    ]  # fmt: skip
    assert [(entry["of"], entry["delta"]) for entry in told][:3] == [
        ("data stays", 1e-6),
        ("project one", 1e-6),
        ("project one", 1e-6),
    ]
    assert projects.ledger("other") == [] and projects.faults() == []


def test_projects_refuse_what_is_beyond_a_cap_and_whom_they_do_not_know(office):
    projects, questions = office.projects, office.questions
    for epsilon, delta in ((1.5, 0.0), (0.5, 2e-6)):
        member, line = put(office, f"{epsilon}", epsilon=epsilon, delta=delta)
        with pytest.raises(UncoveredError):
            questions.charge(member, line)
    assert projects.membership(office.key, "stays").key.spent == Amount(epsilon=0) and projects.faults() == []
    member, line = put(office, "whole", epsilon=1.0, delta=1e-6)
    assert questions.charge(member, line) == 1
    member, line = put(office, "more", epsilon=1e-9)
    office.book.revoke(office.key)
    with pytest.raises(NoMemberError):
        questions.charge(member, line)
    assert projects.membership("nobody", "stays") is None and projects.membership(office.key, "other") is None


def test_caps_of_projects(office):
    projects, questions = office.projects, office.questions
    member, line = put(office, epsilon=0.5, delta=1e-7)
    questions.charge(member, line)
    exact, low, lower = Amount.cap(0.5, 1e-7), Amount.cap(0.4, 1e-7), Amount.cap(0.5, 1e-8)
    for change in (
        lambda cap: projects.check_data_cap("stays", cap, account="a" * 32),
        lambda cap: projects.set_data_cap("stays", cap, account="a" * 32),
        lambda cap: projects.set_cap("one", cap),
        lambda cap: projects.join("one", office.key, cap),
    ):
        for cap in (low, lower):
            with pytest.raises(ParameterError, match="is spent already"):
                change(cap)
        change(exact)
    assert projects.budget_of("stays").cap == exact == projects.membership(office.key, "stays").whole.cap
    for call, words in (
        (lambda: projects.set_data_cap("stays", CAP, account="b" * 32), "another account"),
        (lambda: projects.check_data_cap("stays", CAP, account="b" * 32), "another account"),
        (lambda: projects.create("one", "stays", CAP), "already"),
        (lambda: projects.create("Two", "stays", CAP), "small letters"),
        (lambda: projects.create("two", "other", CAP), "no default for privacy"),
        (lambda: projects.set_cap("two", CAP), "there is no project"),
        (lambda: projects.join("two", office.key, CAP), "there is no project"),
        (lambda: projects.set_data_cap("No", CAP, account="a"), "small letters"),
        (lambda: projects.check_data_cap("No", CAP, account="a"), "small letters"),
    ):
        with pytest.raises(ParameterError, match=words):
            call()
    projects.create("two", "stays", CAP)
    with pytest.raises(ParameterError, match="a key asks for one project"):
        projects.join("two", office.key, CAP)
    projects.set_cap("two", Amount.cap(0.5))
    assert [entry["delta"] for entry in projects.ledger("stays") if entry["of"] == "project two"] == [1e-6, 0.0]
    assert projects.check_data_cap("new", CAP, account="b") is None and projects.account_of("new") is None
    assert projects.account_of("stays") == "a" * 32
    assert [(each["project"], len(each["members"])) for each in projects.all()] == [("one", 1), ("two", 0)]
    assert projects.all("other") == [] and len(projects.all("stays")) == 2


def test_altered_books_of_projects_are_noticed(office):
    member, line = put(office)
    other = office.book.create(label="o", scopes=["answer"]).key.key_id
    office.questions.charge(member, line)
    for change, faults in (
        (update(members).values(spent=1), ["1 and 0 spent"]),
        (update(members).values(spent=5 * 10**8, spent_delta=3), ["and 3 spent"]),
        (
            update(members).values(spent_delta=0, key_id=other),
            ["spent", "payments without a budget", "payments without a budget"],
        ),
        (update(members).values(key_id=office.key), []),
        (
            insert(payments).values(answer_id=line.answer_id, attempt=2, key_id=office.key, paid=""),
            ["key", "project", "data", "1 attempts, 2 payments"],
        ),
    ):
        with office.store.writing() as connection:
            connection.execute(change)
        said = office.projects.faults()
        assert len(said) == len(faults) and all(words in fault for words, fault in zip(faults, said, strict=True)), said


# ---- data sets


BOOK = Codebook(columns=(Categorical(name="sex", levels=("F", "M")), Categorical(name="ward", levels=("a", "b"))))


def stub_set(**rules):
    """A data set of which only the rules are looked at; the release knows of 30 women and of 10 men."""
    sizes = {"count by sex": (30.0, 10.0), "count where sex=F": (30.0,), "count by ward": (30.0, None)}
    tried = lambda question, _plan: [SimpleNamespace(estimate=size) for size in sizes[question.text]]  # noqa: E731
    return SimpleNamespace(rules=Rules(**rules), book=BOOK, tried=tried)


@pytest.mark.parametrize(
    ("rules", "text", "price", "broken"),
    [
        ({}, "count by sex", 9.0, 0),
        ({"columns": ("sex",)}, "count by sex", 1.0, 0),
        ({"columns": ("sex",)}, "count by ward", 1.0, 1),
        ({"epsilon": 0.5}, "count", 0.5, 0),
        ({"epsilon": 0.5}, "count", 0.500000001, 1),
        ({"smallest": 10}, "count by sex", 1.0, 0),
        ({"smallest": 11}, "count by sex", 1.0, 1),
        ({"smallest": 30}, "count where sex=F", 1.0, 0),
        ({"smallest": 31}, "count where sex=F", 1.0, 1),
        ({"smallest": 31}, "count", 1.0, 0),
        ({"smallest": 1}, "count by ward", 1.0, 1),
        ({"columns": ("ward",), "epsilon": 0.1, "smallest": 99}, "count by sex", 1.0, 3),
    ],
)
def test_rules_at_their_edges(rules, text, price, broken):
    prepared = SimpleNamespace(question=parse_question(text, BOOK), price=Amount.price(price), plan=None)
    assert len(DataSet.broken_rules(stub_set(**rules), prepared)) == broken


def test_rules_of_a_file():
    assert _rules("x", {}) == Rules() and Rules(columns=("a",)).to_dict()["columns"] == ["a"]
    assert Rules().to_dict() == {"columns": None, "epsilon": None, "smallest": None}
    table = {"columns": ["sex"], "epsilon": 0.5, "smallest": 30}
    assert _rules("x", table) == Rules(columns=("sex",), epsilon=0.5, smallest=30)
    for wrong in ({"other": 1}, {"columns": "sex"}, {"columns": [1]}, {"epsilon": 0}, {"smallest": 0.5}):
        with pytest.raises(ParameterError):
            _rules("x", wrong)
    for level in (0.4, 1.0):
        with pytest.raises(ParameterError):
            Terms(epsilon=1.0, level=level)
    known, stub = OrderedDict((number, number) for number in range(256)), SimpleNamespace(_lock=threading.Lock())
    assert DataSet._recalled(stub, known, "new", lambda: 1) == 1
    assert len(known) == 256 and 0 not in known and known["new"] == 1
    assert DataSet._recalled(stub, known, 255, lambda: pytest.fail("it is remembered")) == 255


def test_a_file_of_data_sets_is_checked(tmp_path):
    path = tmp_path / "data.toml"

    def read(text):
        path.write_text(text, encoding="utf-8")
        return read_data_sets(path)

    whole = '[stays]\nsource = "s"\ncodebook = "c"\naccount = "a"\n'
    assert list(read(whole)) == list(read("format = 1\n" + whole)) == ["stays"]
    for text, words in (
        ("format = 2\n" + whole, "of format 2"),
        ("", "names no data set"),
        ("format = 1\n", "names no data set"),
        (whole.replace("stays", "Stays"), "small letters"),
        ("stays = 1\n", "is no table"),
        (whole.replace('account = "a"\n', ""), "lacks account"),
        (whole + "release = 1\n", "cannot have 'release'"),
        (whole + "other = 1\n", "cannot have 'other'"),
        (whole + 'review = "never"\n', "review"),
        (whole + 'unknown = "guess"\n', "unknown"),
        (whole + "[stays.rules]\nother = 1\n", "the rules are columns"),
    ):
        with pytest.raises(ParameterError, match=words):
            read(text)


# ---- caps that an account pays for


def test_a_cap_of_a_data_set_is_charged_once_and_in_one_database(lite, tmp_path):
    account = Account.create(
        tmp_path / "a.account", dataset="stays", epsilon=9.0, delta=1e-3, neighbours=Neighbours.ADD_REMOVE
    )
    projects, here = Projects(lite), {"account": account, "database": "d" * 32}
    what = f"answers on stays of service {here['database']}"

    def paid():
        return caps.paid_amount(account, "stays", here["database"]), account.spent().epsilon, account.spent().delta

    for cap, charges in (
        (Amount.cap(1.0), 1),
        (Amount.cap(1.0), 1),
        (Amount.cap(0.5), 1),
        (Amount.cap(1.0, 1e-6), 2),
        (Amount.cap(2.0, 1e-6), 3),
    ):
        caps.set_data_cap(projects, "stays", cap, **here)
        assert len(account.paid_for(what)) == charges and projects.budget_of("stays").cap == cap
        caps.check_paid(projects, "stays", **here)
    amount, epsilon, delta = paid()
    assert (amount, epsilon) == (Amount.cap(2.0, 1e-6), 2.0) and 1e-6 <= delta <= 1e-6 * (1 + 1e-12)
    with pytest.raises(RefusalError, match="has paid for epsilon 0"):
        caps.check_paid(projects, "stays", account=account, database="e" * 32)


def account_of(folder, name):
    return Account.create(folder / name, dataset="stays", epsilon=9.0, delta=1e-3, neighbours=Neighbours.ADD_REMOVE)


def test_another_account_pays_for_no_cap_that_it_was_not_charged_for(lite, tmp_path):
    """Not even one that has paid as much: what is spent would count in the first, and be watched in the second."""
    one, two, database = account_of(tmp_path, "one"), account_of(tmp_path, "two"), "d" * 32
    with Store.open(f"sqlite:///{tmp_path / 'other.db'}", secret_file=tmp_path / "secret") as elsewhere:
        for store, account in ((lite, one), (elsewhere, two)):
            caps.set_data_cap(Projects(store), "stays", Amount.cap(1.0), account=account, database=database)
    caps.check_paid(Projects(lite), "stays", account=one, database=database)
    with pytest.raises(ParameterError, match="another account"):
        caps.check_paid(Projects(lite), "stays", account=two, database=database)
    with pytest.raises(ParameterError, match="another account"):
        caps.set_data_cap(Projects(lite), "stays", Amount.cap(2.0), account=two, database=database)
    assert two.spent().epsilon == 1.0, "and it is not charged for the attempt"


@pytest.mark.parametrize("again", [1.0, 2.0, 0.5])
def test_a_cap_whose_run_died_after_the_charge_is_charged_for_once(lite, tmp_path, monkeypatch, again):
    account, projects, database = account_of(tmp_path, "a"), Projects(lite), "d" * 32

    def died(_payment, point):
        if point is Point.COMMITTING:
            raise RuntimeError("the power is gone")

    with monkeypatch.context() as patched, pytest.raises(RuntimeError):
        patched.setattr(Payment, "reached", died)
        caps.set_data_cap(projects, "stays", Amount.cap(1.0), account=account, database=database)
    assert [charge.state for charge in account.history()] == [ChargeState.HELD]
    with pytest.raises(ParameterError, match="no cap"):
        projects.budget_of("stays")
    caps.set_data_cap(projects, "stays", Amount.cap(again), account=account, database=database)
    assert account.spent().epsilon == max(1.0, again) and projects.budget_of("stays").cap == Amount.cap(again)
    assert {charge.state for charge in account.history()} == {ChargeState.COMMITTED}
    caps.check_paid(projects, "stays", account=account, database=database)


def test_answers_that_were_paid_for_are_counted_in_whole_calls(monkeypatch):
    call = call_ledger(Fraction(4), 2)
    monkeypatch.setattr(caps, "_paid_as", lambda *_words: ["here", "before"])
    monkeypatch.setattr(caps, "_committed", lambda _account, _what: call.to_list() * 3)
    served = SimpleNamespace(model=SimpleNamespace(scorer=CallForest.__new__(CallForest)), promises=True, name="m")
    monkeypatch.setattr(CallForest, "call_ledger", lambda _scorer: call)
    assert caps.paid_answers(None, served, None) == 6
    for changed in ({"promises": False}, {"model": SimpleNamespace(scorer=None)}):
        with pytest.raises(RefusalError, match="has no proved price"):
            caps.paid_answers(None, SimpleNamespace(**{**vars(served), **changed}), None)


@pytest.mark.parametrize("relation", [Neighbours.ADD_REMOVE, Neighbours.REPLACE])
def test_a_question_is_priced_for_the_relation_of_its_account(relation):
    account = SimpleNamespace(neighbours=relation)
    stub = SimpleNamespace(name="x", book=BOOK, account=account, release=None, _provenance=DECLARED, _compared={})
    prepared = DataSet._prepare(stub, "count", Terms(epsilon=0.5))
    assert prepared.stated.total.neighbours is relation and prepared.price == Amount.price(0.5)


def test_rules_that_nobody_could_judge_are_refused():
    for rules, words in ((Rules(columns=("sex", "age")), "allow the columns 'age'"), (Rules(smallest=5), "no release")):
        with pytest.raises(ParameterError, match=words):
            DataSet(name="x", address="nowhere.csv", book=BOOK, account=None, rules=rules)
