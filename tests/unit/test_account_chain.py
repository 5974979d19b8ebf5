"""An account is a chain of lines: a flipped bit is found and named, old files are read, and the account is asked."""

import json
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from account_events import AR, epsilon_of, new_account, pure

from understudy.errors import AccountError, BudgetError, ParameterError
from understudy.privacy import account_file
from understudy.privacy.account import Account, ChargeState, digest_of_choices
from understudy.privacy.account_file import open_lines

VERSION_1 = """
PRAGMA application_id = 1433298035;
PRAGMA user_version = 1;
CREATE TABLE terms (
    id INTEGER PRIMARY KEY CHECK (id = 1), dataset TEXT NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL,
    neighbours TEXT NOT NULL, composition TEXT NOT NULL, renyi_order REAL, created TEXT NOT NULL
);
CREATE TABLE charges (
    number INTEGER PRIMARY KEY AUTOINCREMENT, reserved TEXT NOT NULL, settled TEXT, label TEXT NOT NULL,
    state TEXT NOT NULL, ledger TEXT NOT NULL, delta REAL, cost TEXT NOT NULL, total TEXT NOT NULL, release_id TEXT
);
CREATE TRIGGER terms_stay BEFORE UPDATE ON terms
BEGIN SELECT RAISE(ABORT, 'the cap of an account never changes'); END;
CREATE TRIGGER charges_last BEFORE DELETE ON charges
BEGIN SELECT RAISE(ABORT, 'a charge is never deleted'); END;
INSERT INTO terms VALUES (1, 'hospital', 1.0, 0.0, 'add-remove', 'basic', NULL, '2026-01-01T00:00:00+00:00');
"""


@pytest.fixture
def account(tmp_path: Path) -> Account:
    return new_account(tmp_path)


@pytest.fixture
def version_1(tmp_path: Path) -> Path:
    """As understudy 0.1 wrote it: one release, one that was given back, one that is held."""
    place = tmp_path / "old.account"
    with closing(sqlite3.connect(place)) as old:
        old.executescript(VERSION_1)
        for number, (state, epsilon) in enumerate((("committed", 0.25), ("cancelled", 0.5), ("held", 0.125)), 1):
            price = json.dumps({"kind": "PureDP", "epsilon": epsilon, "delta": 0.0, "neighbours": "add-remove"})
            settled = None if state == "held" else "2026-01-02T00:00:00+00:00"
            old.execute(
                "INSERT INTO charges VALUES (?, '2026-01-02T00:00:00+00:00', ?, ?, ?, ?, NULL, ?, ?, ?)",
                (
                    number,
                    settled,
                    f"release {number}",
                    state,
                    json.dumps(pure(epsilon).to_list()),
                    price,
                    price,
                    "r1" if state == "committed" else None,
                ),
            )
        old.commit()
    return place


def test_an_account_of_version_1_is_brought_up_once_with_every_charge(version_1: Path) -> None:
    account = Account.open(version_1)
    assert [(c.number, c.state.value, c.release_id) for c in account.history()] == [
        (1, "committed", "r1"),
        (2, "cancelled", None),
        (3, "held", None),
    ]
    assert epsilon_of(account.spent()) == 0.375
    assert account.has_paid("r1", pure(0.25))
    again = Account.open(version_1)
    assert again == account and len(account.identity) == 32
    with pytest.raises(BudgetError, match="above its cap"):
        account.reserve(pure(0.7), label="too much", delta=None)
    account.reserve(pure(0.5), label="fits", delta=None)
    assert account.history()[-1].number == 4


def test_nobody_charges_an_old_account_while_it_is_brought_up(version_1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process would see no charges between the old tables and the new lines."""
    refused: list[str] = []
    rows = account_file._rows

    def interrupted(connection: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
        with closing(sqlite3.connect(version_1, timeout=0)) as other, pytest.raises(sqlite3.OperationalError) as told:
            other.execute("DELETE FROM sqlite_sequence")
        refused.append(str(told.value))
        return rows(connection, table)

    monkeypatch.setattr(account_file, "_rows", interrupted)
    assert epsilon_of(Account.open(version_1).spent()) == 0.375
    assert refused == ["database is locked"] * 2
    Account.open(version_1)
    assert len(refused) == 2, "once"


def test_a_flipped_bit_is_found_or_changes_nothing(account: Account) -> None:
    """Bits that SQLite does not use may flip; no flip makes the cap larger or the spending smaller."""
    account.reserve(pure(0.25), label="first", delta=None).commit("r1", "sha256:1")
    account.reserve(pure(0.5), label="second", delta=None)
    content = account.path.read_bytes()
    used = [place for place in range(len(content)) if content[place]]
    chosen = random.Random(5).sample(used, min(len(used), 1200))
    found = 0
    for place in chosen:
        for bit in (0, 3, 6):
            account.path.write_bytes(content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :])
            try:
                opened = Account.open(account.path)
                spent = epsilon_of(opened.spent())
            except BudgetError:
                found += 1
                continue
            assert (opened.epsilon, opened.delta, spent) == (1.0, 0.0, 0.75), (place, bit)
    assert found > 2 * len(chosen)  # most of what is used is lines


def test_the_line_that_was_changed_is_named(account: Account) -> None:
    account.reserve(pure(0.5), label="first", delta=None)
    with closing(sqlite3.connect(account.path)) as other:
        other.execute("DROP TRIGGER lines_stay")
        other.execute("UPDATE lines SET body = replace(body, '0.5', '0.1') WHERE number = 2")
        other.commit()
    with pytest.raises(AccountError, match=r"its line 2 \('reserved', of 20.*do not start a new account"):
        account.spent()


def test_a_line_that_is_missing_in_the_middle_is_found(account: Account) -> None:
    for label in ("a", "b", "c"):
        account.reserve(pure(0.1), label=label, delta=None)
    with closing(sqlite3.connect(account.path)) as other:
        other.execute("DROP TRIGGER lines_last")
        other.execute("DELETE FROM lines WHERE number = 3")
        other.commit()
    with pytest.raises(AccountError, match="its line 3"):
        account.remaining()


def test_two_accounts_of_one_name_are_two(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    first, second = (new_account(folder) for folder in folders)
    assert first.dataset == second.dataset and first.identity != second.identity


# What an account paid for


def test_the_account_itself_says_what_it_paid_for(account: Account) -> None:
    copy = account.path.read_bytes()
    account.reserve(pure(0.25), label="answers", delta=None, pays_for="score m").commit("m", "sha256:1")
    account.reserve(pure(0.125), label="more answers", delta=None, pays_for="score m")
    account.reserve(pure(0.125), label="others", delta=None, pays_for="score n").cancel()
    assert [epsilon_of(charge.guarantee) for charge in account.paid_for("score m")] == [0.25, 0.125]
    assert account.paid_for("score n") == []
    account.path.write_bytes(copy)  # an older copy knows nothing of it, and is asked all the same
    assert account.paid_for("score m") == []


def test_a_purchase_is_known_by_its_whole_ledger(account: Account) -> None:
    draft, whole = pure(0.25), pure(0.25) + pure(0.5)
    account.reserve(draft, label="draft", delta=None).commit("codebook 1", "sha256:1")
    account.reserve(pure(0.5), label="release", delta=None, whole=whole).commit("r1", "sha256:2")
    assert account.has_paid("codebook 1", draft) and account.has_paid("r1", whole)
    assert not account.has_paid("r2", whole)
    with pytest.raises(BudgetError, match="another price"):
        account.has_paid("r1", pure(0.1))


# Coming back to a charge


def test_of_two_copies_of_a_claim_the_first_goes_on_and_the_other_is_refused(account: Account) -> None:
    account.reserve(pure(0.25), label="release 1", delta=None, claim="one")
    back = account.resume(pure(0.25), label="release 1", claims=["one"], fresh="two")
    assert back is not None and back.charge.state is ChargeState.HELD
    with pytest.raises(BudgetError, match="another copy"):
        account.resume(pure(0.25), label="release 1", claims=["one"], fresh="three")
    assert account.resume(pure(0.25), label="release 1", claims=["two", "one"], fresh="three") is not None
    assert len(account.history()) == 1 and account.remaining() == 0.75


def test_a_committed_charge_tells_what_it_bought(account: Account) -> None:
    account.reserve(pure(0.25), label="release 1", delta=None, claim="one").commit("r1", "sha256:7")
    back = account.resume(pure(0.25), label="release 1", claims=["whatever"], fresh="two")
    assert back is not None and (back.charge.state, back.charge.digest) == (ChargeState.COMMITTED, "sha256:7")


def test_what_the_account_never_charged_is_not_resumed(account: Account, tmp_path: Path) -> None:
    before = shutil.copy(account.path, tmp_path / "backup")
    account.reserve(pure(0.25), label="release 1", delta=None, claim="one")
    with pytest.raises(BudgetError, match="something else"):
        account.resume(pure(0.5), label="release 1", claims=["one"], fresh="two")
    shutil.copy(before, account.path)
    assert account.resume(pure(0.25), label="release 1", claims=["one"], fresh="two") is None
    account.reserve(pure(0.25), label="release 1", delta=None, claim="one").cancel()
    assert account.resume(pure(0.25), label="release 1", claims=["one"], fresh="two") is None


# Looks, and choices that were fixed before them


def test_a_charge_after_a_look_says_so_unless_its_choices_were_fixed_before(account: Account) -> None:
    early = digest_of_choices(method="laplace", rows=10)
    late = digest_of_choices(method="laplace", rows=20)
    account.fix(early, label="laplace, 10 rows")
    assert not account.reserve(pure(0.1), label="before any look", delta=None).looked
    account.look("evaluation of a release")
    account.fix(late, label="laplace, 20 rows")
    assert not account.reserve(pure(0.1), label="fixed before", delta=None, choices=early).looked
    assert account.reserve(pure(0.1), label="fixed after", delta=None, choices=late).looked
    assert account.reserve(pure(0.1), label="never fixed", delta=None).looked
    assert [what for _, what in account.looks()] == ["evaluation of a release"]
    assert account.summary()["looks"][0]["what"] == "evaluation of a release"


def test_what_was_charged_before_a_look_was_fixed_before_it(account: Account) -> None:
    choices = digest_of_choices(method="laplace")
    account.reserve(pure(0.1), label="first", delta=None, choices=choices)
    account.look("map")
    assert not account.reserve(pure(0.1), label="again", delta=None, choices=choices).looked


def test_looks_and_fixed_choices_are_named(account: Account) -> None:
    with pytest.raises(ParameterError, match="`what`"):
        account.look(" ")
    with pytest.raises(ParameterError, match="`label`"):
        account.fix("sha256:1", label="")
    assert account.looks() == [] and AR is account.neighbours


def test_a_line_of_tomorrow_stops_everything(account: Account) -> None:
    with open_lines(account.path, 1.0, write=True) as lines:
        lines.append("lent", when="now", to="somebody")
    with pytest.raises(AccountError, match=r"line 2 .*'lent'.*version of understudy that wrote it"):
        account.spent()
    with open_lines(account.path, 1.0, write=False) as lines:
        assert [line.kind for line in lines.all] == ["opened", "lent"]
    assert ChargeState.HELD == "held"
