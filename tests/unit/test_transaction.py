"""The one way to pay: what becomes of a price when a block is struck at each of its points."""

import errno
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from account_events import AR, locked, new_account, pure

from understudy.errors import BudgetError, DataError, RefusalError, ReleaseError
from understudy.privacy import Ledger
from understudy.privacy.account import Account
from understudy.privacy.provenance import Bought, InputRole, Made, Provenance
from understudy.privacy.quote import Quote
from understudy.privacy.transaction import NO_ACCOUNT, Claim, Payment, Point, paying


def quote_of(ledger: Ledger, **more: Any) -> Quote:
    return Quote(method="test", route="counts", own=ledger, own_delta=None, rows=1, **more)


@pytest.fixture
def account(tmp_path: Path) -> Account:
    return new_account(tmp_path)


def state_of(account: Account) -> list[str]:
    return [charge.state.value for charge in account.history()]


INTERRUPT = KeyboardInterrupt()
FULL = OSError(errno.ENOSPC, "No space left on device")
REFUSAL = RefusalError("nothing survives")
BUG = IndexError("list index out of range")
FAULT = DataError("a value outside the codebook")


def struck(account: Account, error: BaseException, *, after: str) -> list[str]:
    """What the account says after a block that gets as far as ``after`` and then raises."""
    with pytest.raises(type(error)), paying(account, quote_of(pure(0.25)), label="x") as payment:
        if after in ("drawing", "shown", "commit"):
            payment.drawing()
        if after == "shown":
            payment.shown()
        if after == "commit":
            payment.commit("sha256:1")
        raise error
    return state_of(account)


@pytest.mark.parametrize("error", [INTERRUPT, FULL, REFUSAL, BUG, FAULT], ids=lambda e: type(e).__name__)
def test_before_the_draw_everything_is_given_back(account: Account, error: BaseException) -> None:
    assert struck(account, error, after="reserve") == ["cancelled"]


@pytest.mark.parametrize(
    ("error", "state"),
    [(INTERRUPT, "cancelled"), (FULL, "committed"), (REFUSAL, "committed"), (BUG, "committed"), (FAULT, "committed")],
    ids=lambda e: str(type(e).__name__),
)
def test_after_the_draw_only_what_nobody_saw_is_given_back(account: Account, error: Any, state: str) -> None:
    assert struck(account, error, after="drawing") == [state]


@pytest.mark.parametrize("error", [INTERRUPT, FULL, REFUSAL, BUG], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("after", ["shown", "commit"])
def test_what_was_shown_is_spent_whatever_happens(account: Account, error: BaseException, after: str) -> None:
    assert struck(account, error, after=after)[0] in ("held", "committed")
    assert account.remaining() == 0.75


def test_the_size_of_a_file_tells_of_the_draw_so_a_full_disk_is_charged(account: Account) -> None:
    """Or one could set the disk just so, and try for nothing until the draw is as small as one likes."""
    with pytest.raises(ReleaseError) as failed, paying(account, quote_of(pure(0.25)), label="x") as payment:
        payment.drawing()
        raise ReleaseError("the release could not be written") from FULL
    assert state_of(account) == ["committed"]
    assert failed.value.__notes__ == ["What it would have cost stays charged."]


@pytest.mark.parametrize(("draws", "left"), [(False, 1.0), (True, 0.75)])
def test_a_block_must_commit_and_what_it_drew_is_charged_all_the_same(
    account: Account, draws: bool, left: float
) -> None:
    with (
        pytest.raises(BudgetError, match="not committed in its block"),
        paying(account, quote_of(pure(0.25)), label="x") as payment,
    ):
        if draws:
            payment.drawing()
    assert account.remaining() == left


def test_retrying_until_a_test_passes_pays_for_every_try(account: Account) -> None:
    """An assertion about what was drawn is a look at it: four tries cost four prices, and the fifth is refused."""
    for attempt in range(5):
        with (
            pytest.raises(BudgetError if attempt == 4 else AssertionError),
            paying(account, quote_of(pure(0.25)), label=f"try {attempt}") as payment,
        ):
            payment.drawing()
            raise AssertionError("not good enough")
    assert account.remaining() == 0.0


def test_a_commit_that_fails_is_never_followed_by_a_refund(tmp_path: Path) -> None:
    account = new_account(tmp_path, patience=0.05)
    with pytest.raises(BudgetError, match="locked"), paying(account, quote_of(pure(0.25)), label="x") as payment:
        payment.drawing()
        with locked(account):
            payment.commit("sha256:1")
    assert state_of(account) == ["held"]
    assert account.remaining() == 0.75


def test_a_commit_whose_answer_is_lost_stays_committed(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(self: Payment, point: Point) -> None:
        if point is Point.COMMITTED:
            raise ConnectionResetError("the answer never came")

    monkeypatch.setattr(Payment, "reached", lost)
    with pytest.raises(ConnectionResetError), paying(account, quote_of(pure(0.25)), label="x") as payment:
        payment.commit("sha256:1")
    assert [(c.state.value, c.digest) for c in account.history()] == [("committed", "sha256:1")]


def test_a_refund_that_fails_does_not_hide_what_went_wrong_first(tmp_path: Path) -> None:
    account = new_account(tmp_path, patience=0.05)
    with pytest.raises(ZeroDivisionError) as failed, locked_at_the_end(account) as payment:
        assert payment.charge == 1
        raise ZeroDivisionError
    assert "stays" in failed.value.__notes__[0]
    assert account.remaining() == 0.75


class locked_at_the_end:  # noqa: N801 - reads as a block
    def __init__(self, account: Account) -> None:
        self._account = account

    def __enter__(self) -> Payment:
        self._block = paying(self._account, quote_of(pure(0.25)), label="x")
        payment = self._block.__enter__()
        self._lock = locked(self._account)
        self._lock.__enter__()
        return payment

    def __exit__(self, *error: Any) -> Any:
        try:
            return self._block.__exit__(*error)
        finally:
            self._lock.__exit__(None, None, None)


@pytest.fixture
def raising_signals() -> Iterator[None]:
    def stop(number: int, _frame: Any) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_charge_is_written_gives_it_back(
    account: Account, monkeypatch: pytest.MonkeyPatch, raising_signals: None, number: int
) -> None:
    real = Account.reserve

    def reserve(self: Account, *args: Any, **more: Any) -> Any:
        made = real(self, *args, **more)
        os.kill(os.getpid(), number)
        return made

    monkeypatch.setattr(Account, "reserve", reserve)
    with pytest.raises(KeyboardInterrupt), paying(account, quote_of(pure(0.25)), label="x"):
        pytest.fail("the block must not begin")
    assert state_of(account) == ["cancelled"]


def test_without_an_account_nothing_is_charged_and_the_words_say_so() -> None:
    with paying(None, quote_of(pure(0.25)), label="x") as payment:
        payment.drawing()
        payment.commit(None)
    assert payment.words == NO_ACCOUNT and payment.charge is None


def test_earlier_purchases_are_charged_once(account: Account) -> None:
    draft = Bought(name="codebook 1", ledger=pure(0.25))
    with paying(account, quote_of(pure(0.25)), label="draft", release_id="codebook 1") as payment:
        payment.commit("sha256:1")
    for number in range(2):
        whole = quote_of(pure(0.25), bought=(draft,))
        assert whole.total.to_dict()["epsilon"] == 0.5  # a reader sees both
        with paying(account, whole, label=f"release {number}") as payment:
            payment.commit(f"sha256:{number}")
    assert account.remaining() == 0.25


def test_files_of_one_charge_are_paid_each_and_no_other(account: Account) -> None:
    """A file of several may serve as public knowledge later: its price was paid, under the number that it has."""
    with paying(account, quote_of(pure(0.125)).times(2), label="two files", release_id="r") as payment:
        payment.commit("sha256:1")
    assert account.remaining() == 0.75
    for name, left in (("r-2", 0.625), ("r-1", 0.5), ("r-3", 0.25), ("r", 0.0)):
        known = Bought(name=name, ledger=pure(0.125))
        with paying(account, quote_of(pure(0.125), bought=(known,)), label=f"made with {name}") as payment:
            payment.commit(f"sha256:{name}")
        assert account.remaining() == left
    cheaper = Bought(name="r-1", ledger=pure(0.0625))
    with (
        pytest.raises(BudgetError, match="another price"),
        paying(account, quote_of(pure(0.0), bought=(cheaper,)), label="forged"),
    ):
        pass


def test_of_tables_that_were_joined_only_the_unpaid_ones_are_charged(account: Account) -> None:
    with paying(account, quote_of(pure(0.25)), label="first", release_id="r") as payment:
        payment.commit("sha256:1")
    tables = [
        Provenance(made=Made.SYNTHETIC, release=name, ledger=pure(price), record_wise=False)
        for name, price in (("r", 0.25), ("of another account", 0.125))
    ]
    joined = (tables[0] | tables[1]).as_public(InputRole.SEEDS)
    assert joined is not None and joined.ledger == pure(0.25) + pure(0.125)
    with paying(account, quote_of(pure(0.125), bought=(joined,)), label="made with both") as payment:
        payment.commit("sha256:2")
    assert account.remaining() == 0.5


def test_what_this_account_did_not_pay_is_charged_with_the_release(account: Account) -> None:
    elsewhere = Bought(name="codebook of another account", ledger=pure(0.25))
    with paying(account, quote_of(pure(0.25), bought=(elsewhere,)), label="release") as payment:
        payment.commit("sha256:1")
    assert account.remaining() == 0.5


def test_a_run_that_comes_back_pays_no_second_time(account: Account) -> None:
    for held, fresh in (((), "one"), (("one",), "two")):
        with (
            pytest.raises(KeyboardInterrupt),
            paying(account, quote_of(pure(0.25)), label="release 1", resuming=Claim(held=held, fresh=fresh)) as payment,
        ):
            payment.shown()
            raise KeyboardInterrupt
    assert state_of(account) == ["held"]
    with (  # at once after it came back: what the first run showed is not given back
        pytest.raises(KeyboardInterrupt),
        paying(account, quote_of(pure(0.25)), label="release 1", resuming=Claim(held=("two",), fresh="2b")),
    ):
        raise KeyboardInterrupt
    assert state_of(account) == ["held"]
    with paying(
        account, quote_of(pure(0.25)), label="release 1", release_id="r", resuming=Claim(held=("2b",), fresh="three")
    ) as payment:
        payment.commit("sha256:1")
    assert state_of(account) == ["committed"] and account.remaining() == 0.75
    assert account.neighbours is AR
