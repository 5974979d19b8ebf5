"""The ledger: never more than the cap, never twice for one question, whatever runs at once and whatever dies."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from understudy.errors import BudgetError, ParameterError
from understudy.service import Budgets, KeyBook
from understudy.service.budgets import NoGrantError, SpentError

MODEL = "m" * 64


def question(number: int) -> bytes:
    return number.to_bytes(32, "big")


class Till:
    """A model at epsilon 0.1 a call, and keys with grants on it."""

    def __init__(self, store, *, cap: float, grants: dict[str, float], abandoned: float = 15.0) -> None:
        self.store, self.budgets = store, Budgets(store, abandoned=abandoned)
        self.budgets.register(MODEL, name="m", price=0.1)
        self.budgets.set_cap(MODEL, cap)
        self.keys = {}
        for name, grant in grants.items():
            self.keys[name] = KeyBook(store).create(label=name, scopes=["score"]).key.key_id
            self.budgets.grant(self.keys[name], MODEL, grant)

    def pay(self, name: str, *numbers: int) -> int:
        """How many were charged."""
        return len(self.budgets.charge(self.keys[name], MODEL, [question(n) for n in numbers]).paid)

    def spent(self, name: str | None = None) -> float:
        if name is None:
            balance = self.budgets.model_balances()[MODEL][1]
        else:
            balance = self.budgets.grants_of(MODEL)[self.keys[name]]
        return balance.spent / 10**9


def test_a_charge_is_exact_and_refused_whole(store):
    till = Till(store, cap=1.0, grants={"a": 0.5, "b": 1.0})
    assert till.pay("a", 1, 2, 3) == 3
    with pytest.raises(SpentError) as refused:
        till.pay("a", 4, 5, 6)
    assert "0.2 left" in str(refused.value) and (refused.value.key.left, refused.value.asked) == (2 * 10**8, 3 * 10**8)
    assert till.spent() == till.spent("a") == 0.3, "nothing of a refused charge is kept"
    assert till.pay("a", 4, 5) == 2, "exactly the cap"
    assert till.pay("b", *range(5)) == 5
    with pytest.raises(SpentError) as refused:
        till.pay("b", 99)
    assert refused.value.model.left == 0 and refused.value.key.left == 5 * 10**8, "the model's cap binds every key"
    assert (till.spent(), till.spent("a"), till.spent("b")) == (1.0, 0.5, 0.5)
    assert till.budgets.faults() == []


def test_an_answered_question_is_free_and_stays_what_it_was(store):
    till = Till(store, cap=1.0, grants={"a": 1.0, "b": 1.0})
    key = till.keys["a"]
    charged = till.budgets.charge(key, MODEL, [question(1), question(1)])
    assert charged.paid == {question(1): 1} and charged.stored == {} and charged.waiting == ()
    assert till.budgets.settle(key, MODEL, {question(1): (1, "first")}) == {question(1): "first"}
    again = till.budgets.charge(key, MODEL, [question(1)])
    assert again.stored == {question(1): "first"} and again.paid == {}
    assert till.budgets.settle(key, MODEL, {question(1): (1, "second")}) == {question(1): "first"}, "never overwritten"
    assert till.spent() == 0.1
    assert till.pay("b", 1) == 1, "another key pays for itself"


def test_a_question_under_way_is_waited_for(store):
    till = Till(store, cap=1.0, grants={"a": 1.0})
    assert till.pay("a", 1) == 1
    second = till.budgets.charge(till.keys["a"], MODEL, [question(1), question(2)])
    assert second.waiting == (question(1),) and second.paid == {question(2): 1}
    assert till.spent() == 0.2


def test_a_dead_attempt_is_paid_again_and_cannot_come_back(store):
    till = Till(store, cap=0.25, grants={"a": 1.0}, abandoned=0.0)
    key = till.keys["a"]
    assert till.pay("a", 1) == 1
    taken = till.budgets.charge(key, MODEL, [question(1)])
    assert taken.paid == {question(1): 2} and till.spent() == 0.2, "the crash wasted 0.1"
    assert till.budgets.settle(key, MODEL, {question(1): (1, "from the dead")}) == {}, "its line is no longer its own"
    assert till.budgets.settle(key, MODEL, {question(1): (2, "alive")}) == {question(1): "alive"}
    assert till.budgets.charge(key, MODEL, [question(1)]).stored == {question(1): "alive"}
    assert till.budgets.faults() == []


def test_a_dead_attempt_that_cannot_be_paid_again_is_refused(store):
    till = Till(store, cap=0.1, grants={"a": 1.0}, abandoned=0.0)
    till.pay("a", 1)
    with pytest.raises(SpentError):
        till.pay("a", 1)
    assert till.spent() == 0.1 and till.budgets.faults() == []


def test_no_grant_no_answer(store):
    till = Till(store, cap=1.0, grants={"a": 1.0})
    stranger = KeyBook(store).create(label="s", scopes=["score"]).key.key_id
    with pytest.raises(NoGrantError):
        till.budgets.charge(stranger, MODEL, [question(1)])
    KeyBook(store).revoke(till.keys["a"])
    with pytest.raises(NoGrantError):
        till.pay("a", 1)
    assert till.spent() == 0 and till.budgets.faults() == []


def test_caps_change_on_the_record(store):
    till = Till(store, cap=1.0, grants={"a": 1.0})
    till.pay("a", *range(6))
    with pytest.raises(ParameterError, match=r"0\.6 is spent already"):
        till.budgets.set_cap(MODEL, 0.5)
    with pytest.raises(ParameterError, match=r"0\.6 is spent already"):
        till.budgets.grant(till.keys["a"], MODEL, 0.5)
    till.budgets.set_cap(MODEL, 0.6)
    with pytest.raises(SpentError):
        till.pay("a", 7)
    till.budgets.set_cap(MODEL, 0.7)
    assert till.pay("a", 7) == 1
    with store.reading() as connection:
        caps = connection.execute(text("SELECT cap FROM understudy_cap_changes ORDER BY number")).scalars().all()
    assert caps == [10**9, 10**9, 6 * 10**8, 7 * 10**8]
    with pytest.raises(ParameterError, match="knows no per-call model"):
        till.budgets.set_cap("other", 1.0)
    with pytest.raises(BudgetError, match="altered"):
        till.budgets.register(MODEL, name="m", price=0.2)


def test_the_database_itself_refuses_to_overspend(store):
    """Were our condition wrong, this would still hold."""
    Till(store, cap=1.0, grants={"a": 0.5})
    for table in ("understudy_models", "understudy_grants"):
        with pytest.raises(IntegrityError), store.writing() as connection:
            connection.execute(text(f"UPDATE {table} SET spent = cap + 1"))


def test_faults_are_found(store):
    till = Till(store, cap=1.0, grants={"a": 0.5})
    till.pay("a", 1, 2)
    with store.writing() as connection:
        connection.execute(text("UPDATE understudy_models SET spent = 1"))
    assert len(till.budgets.faults()) == 1 and "model" in till.budgets.faults()[0]
    with store.writing() as connection:
        connection.execute(text("UPDATE understudy_grants SET spent = 1"))
    assert len(till.budgets.faults()) == 2


def test_threads_together_spend_the_cap_and_no_more(store):
    """Sixteen threads, 30 payable questions, 320 asked; all keys share the model's cap."""
    till = Till(store, cap=3.0, grants={str(number): 10.0 for number in range(16)})
    barrier = threading.Barrier(16)

    def run(name: str) -> int:
        barrier.wait()
        paid = 0
        for number in range(20):
            with contextlib.suppress(SpentError):
                paid += till.pay(name, number)
        return paid

    with ThreadPoolExecutor(16) as pool:
        paid = list(pool.map(run, till.keys))
    assert sum(paid) == 30 and till.spent() == 3.0 and till.budgets.faults() == []


def test_identical_questions_at_one_moment_are_paid_once(store):
    till = Till(store, cap=3.0, grants={"a": 3.0})
    barrier = threading.Barrier(12)

    def run(_: int) -> int:
        barrier.wait()
        return till.pay("a", 1, 2, 3)

    with ThreadPoolExecutor(12) as pool:
        paid = list(pool.map(run, range(12)))
    assert sum(paid) == 3 and till.spent() == 0.3


def test_rivals_for_a_dead_attempt_pay_once(store):
    till = Till(store, cap=9.0, grants={"a": 9.0})
    till.pay("a", 1)
    with store.writing() as connection:
        connection.execute(text("UPDATE understudy_answers SET since = 0"))
    barrier = threading.Barrier(12)

    def run(_: int) -> int:
        barrier.wait()
        return till.pay("a", 1)

    with ThreadPoolExecutor(12) as pool:
        assert sum(pool.map(run, range(12))) == 1
    assert till.spent() == 0.2 and till.budgets.faults() == []


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.sampled_from("ab"), st.lists(st.integers(0, 12), min_size=1, max_size=4)),
        st.tuples(st.just("die"), st.sampled_from("ab"), st.lists(st.integers(0, 12), min_size=1, max_size=4)),
        st.tuples(st.just("cap"), st.sampled_from("abm"), st.integers(1, 15)),
    ),
    max_size=25,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_any_history_keeps_the_caps(steps, tmp_path_factory):
    """Answers already given never change; nothing exceeds a cap; the lines add up to what was spent."""
    from understudy.service import Store

    folder = tmp_path_factory.mktemp("history")
    with Store.open(f"sqlite:///{folder / 's.db'}") as store:
        till = Till(store, cap=0.8, grants={"a": 0.5, "b": 0.6}, abandoned=0.0)
        given_out: dict[tuple[str, bytes], str] = {}
        for count, (kind, who, what) in enumerate(steps):
            if kind == "cap":
                try:
                    if who == "m":
                        till.budgets.set_cap(MODEL, what / 10)
                    else:
                        till.budgets.grant(till.keys[who], MODEL, what / 10)
                except ParameterError:
                    pass
                continue
            key = till.keys[who]
            try:
                charged = till.budgets.charge(key, MODEL, [question(n) for n in what])
            except SpentError:
                continue
            for asked, answer in charged.stored.items():
                assert given_out[who, asked] == answer
            if kind == "ask":
                drawn = {asked: (attempt, f"{count}") for asked, attempt in charged.paid.items()}
                given_out |= {(who, asked): f"{count}" for asked in till.budgets.settle(key, MODEL, drawn)}
        _, balance = till.budgets.model_balances()[MODEL]
        grants = till.budgets.grants_of(MODEL)
        assert balance.spent <= balance.cap and all(own.spent <= own.cap for own in grants.values())
        assert balance.spent == sum(own.spent for own in grants.values()) >= len(given_out) * 10**8
        assert till.budgets.faults() == []
