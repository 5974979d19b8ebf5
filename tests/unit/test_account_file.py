"""The file under an account: whoever opens it, however many at once, whenever they die."""

import math
import multiprocessing
import os
import signal
import sqlite3
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import FrozenInstanceError
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest
from account_events import AR, epsilon_of, locked, new_account, pure

from understudy.errors import BudgetError, ParameterError
from understudy.privacy import PureDP
from understudy.privacy.account import Account, ChargeState, Reservation
from understudy.privacy.account_file import SCHEMA_VERSION, open_lines

SPAWN = multiprocessing.get_context("spawn")  # children start afresh, as another command would


@pytest.fixture
def account(tmp_path: Path) -> Account:
    return new_account(tmp_path)


# Creating and opening


def test_a_new_account_has_spent_nothing_and_reopens_equal(account: Account) -> None:
    again = Account.open(str(account.path), patience=account.patience)
    assert again == account
    assert again.spent() == PureDP(epsilon=0.0, neighbours=AR)
    assert again.remaining() == 1.0
    assert again.history() == []
    with pytest.raises(FrozenInstanceError):
        again.epsilon = 5.0  # type: ignore[misc]


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o277])
def test_only_its_owner_may_read_or_write_the_file(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        account = new_account(tmp_path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(account.path.stat().st_mode) == 0o600


def test_nothing_about_the_budget_has_a_default(tmp_path: Path) -> None:
    whole = {"dataset": "d", "epsilon": 1.0, "delta": 0.0, "neighbours": AR}
    for name in whole:
        some: dict[str, Any] = {key: value for key, value in whole.items() if key != name}
        with pytest.raises(TypeError, match=name):
            Account.create(tmp_path / "x.account", **some)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("epsilon", bad) for bad in (0, -1.0, math.inf, math.nan, True, "1")],
        *[("delta", bad) for bad in (1, 1.5, -1e-9, math.nan, False, None)],
        *[("dataset", bad) for bad in ("", "  ", 7)],
        *[("neighbours", bad) for bad in ("swap", None)],
        *[("composition", bad) for bad in ("best", "", None)],
        *[("patience", bad) for bad in (-1, math.inf)],
    ],
)
def test_a_bad_term_is_named_and_leaves_no_file(tmp_path: Path, name: str, value: Any) -> None:
    terms: dict[str, Any] = {"dataset": "d", "epsilon": 1.0, "delta": 0.0, "neighbours": AR, name: value}
    with pytest.raises(ParameterError, match=f"`{name}` is "):
        Account.create(tmp_path / "x.account", **terms)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_never_overwritten(account: Account) -> None:
    account.reserve(pure(0.5), label="first", delta=None).commit("r1")
    with pytest.raises(BudgetError, match="exists already"):
        new_account(account.path.parent)
    assert account.remaining() == 0.5


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(BudgetError, match="needs a folder that exists"):
        new_account(tmp_path / "nowhere")


def test_what_is_not_an_account_is_not_opened(tmp_path: Path) -> None:
    place = tmp_path / "x"
    with pytest.raises(BudgetError, match="does not exist"):
        Account.open(place)
    assert not place.exists()  # a mistyped path must not become an empty budget
    with pytest.raises(BudgetError, match="is not a file"):
        Account.open(tmp_path)
    for content in (b"", b"name,age\n" * 400):
        place.write_bytes(content)
        with pytest.raises(BudgetError, match="is not an account file"):
            Account.open(place)
    place.unlink()
    with closing(sqlite3.connect(place)) as other:
        other.execute("CREATE TABLE charges (x)")
        other.commit()
    with pytest.raises(BudgetError, match="is not an account file"):
        Account.open(place)


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (f"PRAGMA user_version = {SCHEMA_VERSION + 1}", f"schema version {SCHEMA_VERSION + 1}"),
        ("DROP TRIGGER lines_last; DELETE FROM lines", "has no cap"),
        ("DROP TRIGGER lines_stay; UPDATE lines SET body = replace(body, 'add-remove', 'origin')", "its line 1"),
        ("DROP TRIGGER lines_stay; UPDATE lines SET number = 2", "its line 1"),
        ("DROP TABLE lines", "could not be read or written"),
    ],
)
def test_a_file_this_version_cannot_trust_is_refused(account: Account, tamper: str, message: str) -> None:
    with closing(sqlite3.connect(account.path)) as other:
        other.executescript(tamper)
    with pytest.raises(BudgetError, match=message):
        Account.open(account.path)


def test_a_damaged_file_is_refused(account: Account) -> None:
    content = account.path.read_bytes()
    account.path.write_bytes(content[:100] + b"\xff" * (len(content) - 100))
    with pytest.raises(BudgetError, match="is damaged"):
        Account.open(account.path)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM lines",
        "DELETE FROM lines WHERE number = 2",
        "UPDATE lines SET body = '{}'",
        "UPDATE lines SET kind = 'cancelled' WHERE number = 2",
        "UPDATE lines SET digest = ''",
    ],
)
def test_the_file_itself_refuses_to_forget(account: Account, statement: str) -> None:
    account.reserve(pure(0.5), label="first", delta=None)
    with pytest.raises(BudgetError, match="never"), open_lines(account.path, 1.0, write=True) as lines:
        lines._connection.execute(statement)
    assert account.remaining() == 0.5


# Files that resist


@contextmanager
def ordinary_user() -> Iterator[None]:
    """File permissions do not bind root, so step down for a moment (nobody is 65534 on Linux)."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that another user may enter, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_read_only_file_can_be_read_but_not_charged(shared: Path) -> None:
    account = new_account(shared)
    account.reserve(pure(0.25), label="first", delta=None).commit("r1")
    account.path.chmod(0o444)
    with ordinary_user():
        assert Account.open(account.path).remaining() == 0.75
        with pytest.raises(BudgetError, match="is read-only for this user"):
            account.reserve(pure(0.25), label="second", delta=None)


def test_a_read_only_folder_is_said(shared: Path) -> None:
    account = new_account(shared)
    account.path.chmod(0o666)
    shared.chmod(0o555)
    with ordinary_user(), pytest.raises(BudgetError, match="folder"):
        account.reserve(pure(0.25), label="second", delta=None)
    shared.chmod(0o755)


def test_an_unreadable_file_is_said(shared: Path) -> None:
    account = new_account(shared)
    account.path.chmod(0o000)
    with ordinary_user(), pytest.raises(BudgetError, match=r"cannot be opened.*permissions"):
        Account.open(account.path)


def test_a_lock_held_too_long_is_said_and_charges_nothing(tmp_path: Path) -> None:
    account = new_account(tmp_path, patience=0.2)
    with locked(account):
        began = time.monotonic()
        with pytest.raises(BudgetError, match=r"locked by another process for more than 0\.2 seconds"):
            account.reserve(pure(0.25), label="first", delta=None)
        assert time.monotonic() - began >= 0.2
    assert account.remaining() == 1.0


def test_every_connection_syncs_the_folder_too(account: Account) -> None:
    with open_lines(account.path, 1.0, write=True) as lines:
        assert lines._connection.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA
        assert lines._connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


# Several processes, and death


def reserve_often(path: Path, attempts: int, start: Barrier, answer: Connection) -> None:
    account = Account.open(path, patience=60.0)
    start.wait(60)
    granted = 0
    for attempt in range(attempts):
        try:
            account.reserve(pure(0.1), label="slice", delta=None).commit(f"{os.getpid()}-{attempt}")
            granted += 1
        except BudgetError as error:
            if "would cost" not in str(error):
                raise
    answer.send(granted)


def test_processes_together_get_exactly_what_the_cap_affords(account: Account) -> None:
    processes, attempts = 5, 4  # 20 requests for 0.1 each against a cap of 1: ten must succeed, ten must not
    start = SPAWN.Barrier(processes)
    receivers, children = [], []
    for _ in range(processes):
        receiver, sender = SPAWN.Pipe(duplex=False)
        child = SPAWN.Process(target=reserve_often, args=(account.path, attempts, start, sender))
        child.start()
        sender.close()
        receivers.append(receiver)
        children.append(child)
    granted = [receiver.recv() for receiver in receivers]
    for child, receiver in zip(children, receivers, strict=True):
        child.join(60)
        receiver.close()
        assert child.exitcode == 0
        child.close()
    assert sum(granted) == 10
    assert account.summary()["releases"] == 10
    assert epsilon_of(account.spent()) == math.fsum([0.1] * 10) == 1.0


def test_threads_together_get_exactly_what_the_cap_affords(account: Account) -> None:
    granted: list[Reservation] = []

    def ask() -> None:
        try:
            granted.append(account.reserve(pure(0.25), label="slice", delta=None))
        except BudgetError as error:
            assert "would cost" in str(error)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 4
    assert account.remaining() == 0.0


def reserve_and_linger(path: Path, answer: Connection) -> None:
    Account.open(path).reserve(pure(0.25), label="doomed", delta=None)
    answer.send("reserved")
    time.sleep(600)


def linger_in_a_transaction(path: Path, answer: Connection) -> None:
    with open_lines(path, 10.0, write=True) as lines:
        lines.append("reserved", charge=1, when="now", label="half", ledger="[]", delta=None, cost="{}", total="{}")
        answer.send("written, not committed")
        time.sleep(600)


def kill_once_it_answers(target: Any, path: Path) -> None:
    receiver, sender = SPAWN.Pipe(duplex=False)
    child = SPAWN.Process(target=target, args=(path, sender))
    child.start()
    sender.close()
    receiver.recv()
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    receiver.close()
    child.close()


def test_a_process_killed_after_reserving_stays_charged(account: Account) -> None:
    kill_once_it_answers(reserve_and_linger, account.path)
    assert account.remaining() == 0.75
    assert account.history()[0].state is ChargeState.HELD
    assert [held["label"] for held in account.summary()["held"]] == ["doomed"]
    with pytest.raises(BudgetError, match="of which 1 held by runs that are not finished, or died"):
        account.reserve(pure(1.0), label="whole", delta=None)


def test_a_process_killed_inside_the_transaction_leaves_neither_lock_nor_half_a_charge(
    account: Account,
) -> None:
    kill_once_it_answers(linger_in_a_transaction, account.path)
    assert account.history() == []
    account.reserve(pure(1.0), label="whole", delta=None).commit("r1")
