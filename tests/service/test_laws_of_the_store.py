"""What stands in the store and in a body, rule by rule: names, caps that were paid for, texts at any depth (0178)."""

import hashlib
import itertools
import json
import struct
from types import SimpleNamespace

import pytest
from sqlalchemy import update

from understudy.errors import BudgetError, ParameterError
from understudy.service import Budgets, KeyBook, Store
from understudy.service.bodies import DEEPEST, parse
from understudy.service.problems import Problem
from understudy.service.secret import ServiceSecret
from understudy.service.store import _prepare_postgres
from understudy.service.tables import meta, models

MODEL, OTHER = "m" * 64, "n" * 64


# ---- bodies


def wrapped(value, depth):
    """The value at the end of every path of objects and lists of so many steps."""
    for steps in itertools.product("on", repeat=depth):
        made = value
        for step in steps:
            made = {"a": 1, "x": made, "z": None} if step == "o" else [0, made, "c"]
        yield made


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
@pytest.mark.parametrize("wrong", ["a\x00", "\ud800b", "\udfff"])
def test_a_text_that_is_none_is_refused_wherever_it_stands(depth, wrong):
    for good in wrapped("a\n", depth):
        assert parse(json.dumps(good).encode()) == good
    for bad in [*wrapped(wrong, depth), *wrapped({wrong: 1}, depth)]:
        with pytest.raises(Problem) as refused:
            parse(json.dumps(bad).encode())
        assert refused.value.kind == "bad-json"


def test_what_is_no_strict_json_is_refused():
    deep = b"[" * DEEPEST + b"]" * DEEPEST
    assert parse(deep) and parse(b'"' + b"[" * 4 * DEEPEST + b'"') == "[" * 4 * DEEPEST
    for bad in (
        b"[" + deep + b"]", b'{"a": 1, "a": 2}', b'[{"b": {"a": 1, "a": 1}}]', b"NaN", b"[Infinity]", b"-Infinity",
        b"1e999", b"[-1e999]", b"1" * 5000, b"\xff", b"\xef\xbb\xbf1", b"", b"{", b"1 2",
    ):  # fmt: skip
        with pytest.raises(Problem) as refused:
            parse(bad)
        assert refused.value.kind == "bad-json", bad[:20]
    assert parse(b'{"a": 1e308, "b": -12345678901234567890}') == {"a": 1e308, "b": -12345678901234567890}


# ---- caps that an account has paid for


@pytest.fixture
def budgets(lite):
    made = Budgets(lite)
    for model in (MODEL, OTHER):
        made.register(model, name=model[:3], price=0.1)
    return made


def cap_of(budgets, model=MODEL):
    balance = budgets.model_balances()[model][1]
    return None if balance is None else balance.cap / 10**9


def test_a_cap_that_an_account_paid_for_rises_by_that_account_alone(budgets, lite):
    budgets.set_cap(MODEL, 5.0)
    budgets.set_cap(MODEL, 7.0)  # nobody's promise, so far
    budgets.set_cap(MODEL, 2.0, charged_to="a" * 32)
    key = KeyBook(lite).create(label="k", scopes=["score"]).key.key_id
    budgets.grant(key, MODEL, 90.0)  # of a key, which is held to the cap of the model besides
    for lower in (1.0, 2.0, 0.5, 1.5, 2.0):
        budgets.set_cap(MODEL, lower)
        assert cap_of(budgets) == lower
    for higher in (2.000000001, 2.5, 7.0):
        with pytest.raises(BudgetError, match="up to epsilon 2"):
            budgets.set_cap(MODEL, higher)
        assert cap_of(budgets) == 2.0
    budgets.set_cap(MODEL, 3.0, charged_to="b" * 32)
    budgets.set_cap(MODEL, 1.0)
    budgets.set_cap(MODEL, 3.0)
    with pytest.raises(BudgetError, match="up to epsilon 3"):
        budgets.set_cap(MODEL, 3.5)
    budgets.set_cap(OTHER, 50.0)
    assert (cap_of(budgets), cap_of(budgets, OTHER)) == (3.0, 50.0)


def test_a_cap_above_what_was_paid_may_stay_and_fall_but_not_rise(budgets, lite):
    """As of a database in which a larger cap had been set before the first account paid."""
    budgets.set_cap(MODEL, 4.0, charged_to="a" * 32)
    with lite.writing() as connection:
        connection.execute(update(models).where(models.c.model_id == MODEL).values(cap=9 * 10**9))
    with pytest.raises(BudgetError, match="up to epsilon 4"):
        budgets.set_cap(MODEL, 9.1)
    for cap in (9.0, 6.0, 4.0):
        budgets.set_cap(MODEL, cap)
        with pytest.raises(BudgetError, match="up to epsilon 4"):
            budgets.set_cap(MODEL, cap + 0.1)
        assert cap_of(budgets) == cap


def test_a_price_and_a_cap_are_what_they_were(budgets):
    budgets.register(MODEL, name="again", price=0.1)
    with pytest.raises(BudgetError, match="one of the two was altered"):
        budgets.register(MODEL, name="again", price=0.2)
    for asked in (budgets.check_cap, budgets.set_cap):
        with pytest.raises(ParameterError, match="no per-call model"):
            asked("x" * 64, 1.0)


def test_accounts_that_paid_before_a_database_had_a_name_are_known_by_its_first_changes(lite, budgets):
    assert lite.unnamed_changes == 0, "this one always had a name"
    assert lite.identity == Budgets(lite).database and len(lite.identity) == 32
    budgets.set_cap(OTHER, 1.0)
    budgets.set_cap(MODEL, 1.0, charged_to="a" * 32)
    budgets.set_cap(MODEL, 2.0, charged_to="b" * 32)
    assert not budgets.was_charged_to(MODEL, ["a" * 32, "b" * 32])
    for unnamed, known in ((1, []), (2, ["a"]), (3, ["a", "b"])):
        with lite.writing() as connection:
            connection.execute(update(meta).where(meta.c.name == "unnamed").values(text=str(unnamed)))
        assert lite.unnamed_changes == unnamed
        assert [name for name in "abc" if budgets.was_charged_to(MODEL, [name * 32])] == known
        assert budgets.was_charged_to(MODEL, ["c" * 32, "b" * 32, "a" * 32]) is bool(known)
        assert not budgets.was_charged_to(OTHER, ["a" * 32]) and not budgets.was_charged_to(MODEL, [])


def test_two_databases_have_two_names_and_one_keeps_its_own(tmp_path):
    names = []
    for place in ("one.db", "two.db", "one.db"):
        with Store.open(f"sqlite:///{tmp_path / place}") as store:
            names.append(store.identity)
            store.check()
    assert names[0] == names[2] != names[1]
    with pytest.raises(ParameterError, match="there is no database"):
        Store.open(f"sqlite:///{tmp_path / 'three.db'}", may_create=False)
    assert not (tmp_path / "three.db").exists()


# ---- PostgreSQL, without one


class Cursor:
    """Of a server that holds these settings and notes what it is told."""

    def __init__(self, commit):
        self.commit, self.said = commit, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def execute(self, words):
        self.said.append(words)

    def fetchone(self):
        assert self.said[-1] == "SHOW synchronous_commit"
        return (self.commit, "another column")


@pytest.mark.parametrize("commit", ["on", "off", "remote_apply", "local"])
def test_every_connection_waits_for_the_disk_and_for_nobody_for_ever(commit):
    """A role that was told not to wait is told to; a server that is frozen in a charge loses its transaction."""
    cursor, committed = Cursor(commit), []
    connection = SimpleNamespace(cursor=lambda: cursor, commit=lambda: committed.append(list(cursor.said)))
    _prepare_postgres(connection, None)
    assert committed == [cursor.said], "at the end, once"
    limits = dict(said.removeprefix("SET SESSION ").split(" TO ") for said in cursor.said if " TO " in said)
    assert limits.pop("synchronous_commit", commit) == ("on" if commit == "off" else commit)
    assert set(limits) == {"statement_timeout", "idle_in_transaction_session_timeout"}
    assert all(1_000 <= int(milliseconds) <= 60_000 for milliseconds in limits.values())


# ---- marks under the secret


def test_a_mark_is_what_it_always_was_and_no_two_lists_of_parts_share_one():
    """A database holds marks of keys and questions: computed otherwise, no key would be known and all be paid again."""
    secret = ServiceSecret(bytes(range(32)))
    parts = [(), (b"",), (b"", b""), (b"a",), (b"a", b""), (b"", b"a"), (b"ab",), (b"a", b"b"), (b"a\0b",)]
    marks = [secret.mac(purpose, *each) for purpose in ("mark", "answer", "") for each in parts]
    assert len(set(marks)) == len(marks)
    for each in parts:
        framed = b"".join(struct.pack(">Q", len(part)) + part for part in (b"answer", *each))
        assert secret.mac("answer", *each) == hashlib.blake2b(framed, key=bytes(range(32)), digest_size=32).digest()
    assert secret.mark == secret.mac("mark").hex() != ServiceSecret(bytes(32)).mark
