"""Budgets that somebody tries to spend twice, forget, race for or talk down."""

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.errors import AccountError, BudgetError, ParameterError, RefusalError, ReleaseError
from understudy.privacy import Neighbours, PureDP
from understudy.privacy.account import Account
from understudy.privacy.transaction import Payment
from understudy.release.workshop import Workshop
from understudy.service import Budgets, KeyBook, Store
from understudy.service.budgets import SpentError
from understudy.synth import make_recipe
from understudy.synth.ranged import synthesize_parts
from understudy.trees import PerCallAlphaTree

NOTHING = PureDP(epsilon=0.0, neighbours=Neighbours.ADD_REMOVE)


def price(epsilon=1.0):
    return make_recipe("laplace", epsilon=epsilon)


def test_a_release_that_was_seen_is_paid_for(table, book, account):
    """What was handed over is spent, saved or not."""
    release = price().fit(us.open(table, book, account=account)).sample(5)
    assert release.table.num_rows == 5
    assert account.spent().epsilon == pytest.approx(1.0)


def test_drawing_again_pays_again_on_route_s(table, book, account):
    fitted = make_recipe("pegs", alpha=100.0).fit(us.open(table, book, account=account))
    once = fitted.sample(5).manifest.total.epsilon
    fitted.sample(5)
    assert account.spent().epsilon == pytest.approx(2 * once)


def test_a_second_fit_of_route_n_pays_again(table, book, account):
    for number in (1, 2):
        price(0.5).fit(us.open(table, book, account=account)).sample(5)
        assert account.spent().epsilon == pytest.approx(0.5 * number)


def test_racing_for_the_last_epsilon(table, book, account):
    """Eight threads, each wanting the half that fits four times."""
    fits = [price(0.5).fit(us.open(table, book, account=account)) for _ in range(8)]
    paid, refused, start = [], [], threading.Barrier(8)

    def go(fitted):
        start.wait()
        try:
            paid.append(fitted.sample(5))
        except BudgetError as reason:
            refused.append(str(reason))

    threads = [threading.Thread(target=go, args=(fitted,)) for fitted in fits]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(paid), len(refused)) == (4, 4) and all("above its cap" in reason for reason in refused)


@pytest.mark.parametrize(
    "words",
    [
        "UPDATE lines SET kind = 'cancelled' WHERE number = 3",
        "UPDATE lines SET body = replace(body, '2.0', '9.0')",
        "UPDATE lines SET digest = ''",
        "DELETE FROM lines WHERE number > 1",
        "DELETE FROM lines",
    ],
)
def test_an_account_is_not_edited(words, table, book, account):
    price().fit(us.open(table, book, account=account)).sample(5)
    with sqlite3.connect(account.path) as hand, pytest.raises(sqlite3.Error, match="never"):
        hand.execute(words)
    assert account.spent().epsilon == pytest.approx(1.0)


def test_a_promise_of_another_kind_is_not_charged(table, book, account):
    for recipe, why in [
        (make_recipe("lugs", l=1.2, sweeps=2), "is not differential privacy"),
        (make_recipe("contingency"), "no formal total"),
        (make_recipe("laplace", epsilon=1.0, neighbours=Neighbours.REPLACE), "prices of different neighbour relations"),
    ]:
        with pytest.raises(BudgetError, match=why):
            recipe.fit(us.open(table, book, account=account)).sample(5)
    assert account.spent() == NOTHING


def test_an_old_copy_of_an_account_forgets_and_the_guide_says_so(table, book, account):
    """No software can see that a file was put back: this is what the guide must say, and does."""
    copy = shutil.copy(account.path, account.path.with_suffix(".old"))
    price(2.0).fit(us.open(table, book, account=account)).sample(5)
    shutil.copy(copy, account.path)
    assert Account.open(account.path).spent() == NOTHING
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "account.md").read_text()
    promise = (Path(__file__).parents[2] / "docs" / "methods" / "promise.md").read_text()
    assert "Do not restore an old copy" in guide
    assert "old copy of an account" in promise and "second account" in promise


def test_a_reservation_from_before_the_file_was_put_back_is_refused(table, book, account):
    copy = shutil.copy(account.path, account.path.with_suffix(".old"))
    fitted = price().fit(us.open(table, book, account=account))
    with pytest.MonkeyPatch.context() as patched, pytest.raises(BudgetError, match="the file was replaced since"):
        patched.setattr(Payment, "drawing", lambda _: shutil.copy(copy, account.path))
        fitted.sample(5)


_KILLED = """
import os, sqlite3, sys
pen = sqlite3.connect(sys.argv[1], isolation_level=None)
pen.execute("PRAGMA cache_size = 1")
pen.execute("BEGIN IMMEDIATE")
for number in range(100, 140):
    pen.execute("INSERT INTO lines VALUES (?, 'looked', ?, '')", (number, "x" * 4000))
os._exit(9)
"""
"""Dies while it writes: some pages are on disk, and the journal that undoes them lies beside this name of the file."""


def test_an_account_of_two_names_is_refused(table, book, account, tmp_path):
    """A killed charge is undone by the name it was made under: what was charged by another name is undone with it."""
    second = tmp_path / "second.account"
    price().fit(us.open(table, book, account=account)).sample(5)
    os.link(account.path, second)
    subprocess.run([sys.executable, "-c", _KILLED, str(account.path)], check=False)
    assert Path(f"{account.path}-journal").is_file() and not Path(f"{second}-journal").exists()
    for name in (second, account.path):
        with pytest.raises(AccountError, match="hard links"):
            Account.open(name)
    with pytest.raises(AccountError, match="hard links"):
        price(0.5).fit(us.open(table, book, account=account)).sample(5)
    second.unlink()
    price(0.5).fit(us.open(table, book, account=account)).sample(5)
    assert account.spent().epsilon == pytest.approx(1.5)


def test_going_on_with_another_table_is_refused(table, book, account, tmp_path):
    """An unfinished release of one table is not finished with the rows of another."""
    first, second = tmp_path / "one.parquet", tmp_path / "two.parquet"
    pq.write_table(table, first)
    pq.write_table(table.slice(50), second)
    asked = {"rows": 40, "part_rows": 10, "out": tmp_path / "out", "account": account}
    recipe = make_recipe("pegs", alpha=500.0)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Workshop, "finish", lambda *_, **__: (_ for _ in ()).throw(OSError("power cut")))
        with pytest.raises(ReleaseError, match="power cut"):
            synthesize_parts(first, book, recipe, **asked)
    with pytest.raises(ReleaseError, match="an unfinished release of other data"):
        synthesize_parts(second, book, recipe, **asked)
    assert synthesize_parts(first, book, recipe, **asked).manifest.rows == 40
    assert len(account.history()) == 1


def test_training_is_charged_beside_its_answers(account):
    """A per-call tree with an account pays for its questions too, not for answers alone."""
    values = pa.table({"x": [0.1, 0.9] * 50}).to_pandas()
    tree = PerCallAlphaTree(
        epsilon=0.5, call_epsilon=0.25, account=account, depth=1, bounds=(0.0, 1.0), bins=2, classes=(0, 1)
    )
    tree.fit(values.to_numpy(), [0, 1] * 50)
    trained = account.spent().epsilon
    assert 0.49 < trained <= 0.5
    tree.predict(values.to_numpy()[:2])
    assert account.spent().epsilon == pytest.approx(trained + 0.5)
    with pytest.raises(BudgetError, match="above its cap"):
        tree.predict(values.to_numpy()[:10])


MODEL = "m" * 64


@pytest.fixture
def till(tmp_path):
    with Store.open(f"sqlite:///{tmp_path / 'service.db'}") as store:
        budgets = Budgets(store)
        budgets.register(MODEL, name="m", price=0.25)
        budgets.set_cap(MODEL, 0.5)
        key = KeyBook(store).create(label="caller", scopes=["score"]).key.key_id
        budgets.grant(key, MODEL, 0.5)
        yield budgets, key


def test_a_replayed_request_gets_its_stored_answer(till):
    budgets, key = till
    asked = budgets.charge(key, MODEL, [b"q" * 32])
    budgets.settle(key, MODEL, {b"q" * 32: (asked.paid[b"q" * 32], "0.7")})
    for _ in range(20):
        again = budgets.charge(key, MODEL, [b"q" * 32])
        assert (again.stored, again.paid) == ({b"q" * 32: "0.7"}, {})
    assert budgets.grants_of(MODEL)[key].spent == 250_000_000


@pytest.mark.parametrize("jump", [-1e9, 1e9], ids=["back", "ahead"])
def test_a_clock_that_jumps_never_gives_a_free_answer(jump, till, monkeypatch):
    """Ahead, an attempt under way counts as dead and is paid again; back, it is waited for. Neither draws unpaid."""
    budgets, key = till
    budgets.charge(key, MODEL, [b"q" * 32])
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + jump)
    again = budgets.charge(key, MODEL, [b"q" * 32])
    spent = budgets.grants_of(MODEL)[key].spent
    assert (len(again.paid), spent) == ((1, 500_000_000) if jump > 0 else (0, 250_000_000))
    if jump > 0:
        with pytest.raises(SpentError, match="0 left"):
            budgets.charge(key, MODEL, [b"r" * 32])


def test_a_database_of_two_names_is_refused(tmp_path):
    """Each name would have a log of its own, and the same budget could be spent once in each."""
    first, second = tmp_path / "service.db", tmp_path / "second.db"
    Store.open(f"sqlite:///{first}").close()
    os.link(first, second)
    for name in (first, second):
        with pytest.raises(RefusalError, match="hard links"):
            Store.open(f"sqlite:///{name}", secret_file=Path(f"{first}.secret"))
    second.unlink()
    Store.open(f"sqlite:///{first}").close()


def test_a_price_talked_down_is_refused(till):
    budgets, _ = till
    with pytest.raises(BudgetError, match="one of the two was altered"):
        budgets.register(MODEL, name="m", price=0.001)


@pytest.mark.parametrize("cap", [-1.0, float("nan"), float("inf")])
def test_a_cap_is_a_number(cap, till):
    with pytest.raises(ParameterError):
        till[0].set_cap(MODEL, cap)
