"""Random walks of an account beside sums by hand: what is held or committed counts until it is given back.

Nothing here knows how the account does it (decision 0178). Epsilons are eighths and deltas powers of two: their sums
are exact.
"""

import hashlib
import json
import random
import sqlite3
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from account_events import AR, Diverse, Forgetful, Slice, epsilon_of, ledger_of

from understudy.errors import AccountError, BudgetError, ParameterError
from understudy.privacy import ApproxDP, Entry, Ledger, Neighbours, PureDP
from understudy.privacy.account import Account, Allowance, History, Reservation, digest_of_choices, remember_look
from understudy.privacy.account_file import Lines, create_file, open_lines
from understudy.privacy.editions import forecast_editions, like_charge
from understudy.privacy.quote import Quote
from understudy.privacy.transaction import CHARGED, Claim, paying

STEP, TINY = 0.125, 2.0**-30
HELD, COMMITTED, CANCELLED = "held", "committed", "cancelled"


class Books:
    """What a steward would write on paper."""

    def __init__(self, folder, seed):
        self.random = random.Random(seed)
        self.account = Account.create(
            folder / "a.account", dataset="d", epsilon=40 * STEP, delta=12 * TINY, neighbours=AR
        )
        self.charges, self.open, self.looks, self.fixed = [], [], [], {}
        self.caps = {"ann": (10, 4), "bob": (30, 0)}

    def within(self, name):
        if name is None:
            return self.account
        epsilon, delta = self.caps[name]
        return self.account.within(Allowance(name=name, epsilon=epsilon * STEP, delta=delta * TINY))

    def spent(self, name=None):
        counted = [charge for charge in self.charges if charge.state != CANCELLED and name in (None, charge.name)]
        return sum(charge.epsilon for charge in counted), sum(charge.delta for charge in counted)

    def left(self, name=None):
        caps = [(40, 12), *([] if name is None else [self.caps[name]])]
        spent = [self.spent(), *([] if name is None else [self.spent(name)])]
        pairs = list(zip(caps, spent, strict=True))
        return tuple(min(cap[part] - done[part] for cap, done in pairs) for part in (0, 1))

    def ledger(self, epsilon, delta):
        return ledger_of(Slice(epsilon=epsilon * STEP, delta=delta * TINY))

    def reserve(self):
        name = self.random.choice([None, "ann", "bob"])
        epsilon, delta = self.random.randint(1, 6), self.random.choice([0, 0, 1, 2])
        choices, files = self.random.choice([None, "one", "two", "three"]), self.random.choice([1, 1, 3])
        ledger, account, number = self.ledger(epsilon, delta), self.within(name), len(self.charges) + 1
        label, left = f"c{number}", self.left(name)
        words: dict[str, Any] = {"label": label, "delta": None}
        if epsilon > left[0] or delta > left[1]:
            assert account.refusal(ledger, **words)
            with pytest.raises(BudgetError):
                account.reserve(ledger, **words)
            return
        assert account.refusal(ledger, **words) == ""
        pays_for = self.random.choice([None, "x", "y"])
        reservation = account.reserve(ledger, **words, pays_for=pays_for, choices=choices, claim=label, files=files)
        looked = bool(self.looks) and self.fixed.get(choices, 1) > 0
        assert reservation.looked == looked and reservation.charge.number == number
        if choices:
            self.fixed.setdefault(choices, len(self.looks))
        self.charges.append(
            SimpleNamespace(
                epsilon=epsilon, delta=delta, name=name, label=label, state=HELD, claim=label, files=files,
                pays_for=pays_for, release=None, digest=None, notices=0, after=self.spent(), choices=choices,
            )
        )  # fmt: skip
        self.charges[-1].after = self.spent()
        self.open.append((number - 1, reservation))

    def settle(self):
        if self.open:
            place, reservation = self.random.choice(self.open)
            charge, release = self.charges[place], f"r{place}"
            commits = self.random.random() < 0.7
            if charge.state == HELD:
                charge.state = COMMITTED if commits else CANCELLED
                charge.release, charge.digest = (release, "sha256:1") if commits else (None, None)
            if commits == (charge.state == COMMITTED):
                reservation.commit(release, "sha256:1") if commits else reservation.cancel()
                assert reservation.charge.state.value == charge.state
            else:
                with pytest.raises(BudgetError, match="already"):
                    reservation.commit(release, "sha256:1") if commits else reservation.cancel()
            if commits:
                with pytest.raises(BudgetError, match="already"):
                    reservation.commit(release, "sha256:2")

    def resume(self):
        if self.charges:
            charge = self.random.choice(self.charges)
            number = self.charges.index(charge) + 1
            ledger = self.ledger(charge.epsilon, charge.delta)
            words: dict[str, Any] = {"label": charge.label, "fresh": f"{charge.claim}'"}
            if charge.state == CANCELLED:
                assert self.account.resume(ledger, claims=[charge.claim], **words) is None
                return
            with pytest.raises(BudgetError, match="something else"):
                self.account.resume(self.ledger(charge.epsilon + 1, charge.delta), claims=[charge.claim], **words)
            if charge.state == HELD:
                with pytest.raises(BudgetError, match="another copy"):
                    self.account.resume(ledger, claims=["stale"], **words)
            resumed = self.account.resume(ledger, claims=["stale", charge.claim], **words)
            assert resumed.charge.number == number
            if charge.state == HELD:
                charge.claim = words["fresh"]
                self.open.append((number - 1, resumed))

    def look(self):
        self.looks.append(f"look {len(self.looks)}")
        self.account.look(self.looks[-1])

    def fix(self):
        choices = self.random.choice(["one", "two", "three"])
        self.account.fix(choices, label="plan")
        self.fixed.setdefault(choices, len(self.looks))

    def notice(self):
        paid = [charge for charge in self.charges if charge.state == COMMITTED]
        if paid:
            charge = self.random.choice(paid)
            name = charge.release if charge.files == 1 else f"{charge.release}-{self.random.randint(1, charge.files)}"
            charge.notices += 1
            assert len(self.account.notice(name, "withdrawn").notices) == charge.notices
            strange = charge.release if charge.files > 1 else f"{charge.release}-1"
            for nobody in (strange, f"{charge.release}-{charge.files + 1}", f"{charge.release}-0"):
                with pytest.raises(BudgetError, match="has not paid"):
                    self.account.notice(nobody, "withdrawn")

    def check(self):
        account = Account.open(self.account.path)
        epsilon, delta = self.spent()
        total = account.spent()
        assert (epsilon_of(total), getattr(total, "delta", 0.0)) == (epsilon * STEP, delta * TINY)
        assert account.keeps_cap(total) and account.cap == ApproxDP(epsilon=40 * STEP, delta=12 * TINY, neighbours=AR)
        for name in (None, "ann", "bob"):
            left = self.left(name)
            assert self.within(name).left() == (left[0] * STEP, left[1] * TINY)
        assert account.remaining() == self.left()[0] * STEP
        for number, (told, charge) in enumerate(zip(account.history(), self.charges, strict=True), start=1):
            said = (told.number, told.label, told.state.value, told.release_id, told.digest, told.allowance, told.files)
            kept = (number, charge.label, charge.state, charge.release, charge.digest, charge.name, charge.files)
            assert said == kept and len(told.notices) == charge.notices and told.pays_for == charge.pays_for
            assert (told.settled is None) == (charge.state == HELD) and told.claim == charge.claim
            assert (told.guarantee.epsilon, told.running.epsilon) == (charge.epsilon * STEP, charge.after[0] * STEP)
            assert json.loads(told.ledger) == self.ledger(charge.epsilon, charge.delta).to_list()
            if charge.state == COMMITTED:
                whole = self.ledger(charge.epsilon, charge.delta)
                names = [told.release_id] if told.files == 1 else [f"{told.release_id}-{n}" for n in (1, 2, 3)]
                assert all(account.has_paid(name, whole) for name in names)
                with pytest.raises(BudgetError, match="another price"):
                    account.has_paid(names[-1], self.ledger(charge.epsilon, charge.delta + 1))
            else:
                assert not account.has_paid(f"r{number - 1}", self.ledger(1, 0))
        for what in ("x", "y"):
            counted = [
                charge.label for charge in self.charges if (charge.pays_for, charge.state != CANCELLED) == (what, True)
            ]
            assert [charge.label for charge in account.paid_for(what)] == counted
        summary = account.summary()
        states = [charge.state for charge in self.charges]
        assert (summary["releases"], len(summary["held"])) == (states.count(COMMITTED), states.count(HELD))
        assert [held["label"] for held in summary["held"]] == [c.label for c in self.charges if c.state == HELD]
        assert [what for _, what in account.looks()] == self.looks == [look["what"] for look in summary["looks"]]


@pytest.mark.parametrize("seed", range(3))
def test_what_is_not_given_back_counts_once_and_no_cap_is_passed(tmp_path, seed):
    books = Books(tmp_path, seed)
    steps = [books.reserve] * 8 + [books.settle] * 6 + [books.resume] * 2 + [books.fix] * 2 + [books.notice]
    for number in range(90):
        books.random.choice(steps + [books.look] * (number > 20))()
        if number % 15 == 14:
            books.check()
    states = [charge.state for charge in books.charges]
    assert all(state in states for state in (COMMITTED, CANCELLED)) and books.spent()[0] > 20


def test_a_digest_of_choices_is_that_of_earlier_versions():
    """It stands in accounts: were it made otherwise, what was fixed before a look would seem to be chosen after it."""
    assert digest_of_choices(b=1, a="é") == digest_of_choices(a="é", b=1) != digest_of_choices(a="e", b=1)
    assert digest_of_choices(a="é", b=1) == "sha256:799d49d45db67c58d990c30f098c2001fcd16c2a1c9072d6653fd86b0d7e8a2d"


def test_a_refusal_counts_the_charges_that_are_held(tmp_path):
    account = Account.create(tmp_path / "a", dataset="d", epsilon=1.0, delta=0.0, neighbours=AR)
    for number in range(3):
        account.reserve(ledger_of(Slice(epsilon=STEP)), label="done", delta=None).commit(str(number))
    large = ledger_of(Slice(epsilon=1.0))
    assert "held by" not in account.refusal(large, label="x", delta=None)
    for held in (1, 2):
        account.reserve(ledger_of(Slice(epsilon=STEP)), label="held", delta=None)
        assert f"(of which {held} held by" in account.refusal(large, label="x", delta=None)
    assert account.spent() == PureDP(epsilon=5 * STEP, neighbours=AR)


def test_an_outlook_says_what_would_be_refused(tmp_path):
    account = Account.create(tmp_path / "a", dataset="d", epsilon=1.0, delta=0.0, neighbours=AR)
    account.reserve(ledger_of(Slice(epsilon=STEP)), label="first", delta=None).commit("1")
    lines = forecast_editions(account, like_charge(account, 1)).lines()
    assert any("One more than that would bring" in line and "1.125" in line for line in lines)


def test_whoever_runs_a_job_is_told_of_each_charge_and_of_nothing_else(tmp_path):
    account = Account.create(tmp_path / "a", dataset="d", epsilon=1.0, delta=0.0, neighbours=AR)
    quote = Quote(method="m", route="counts", own=ledger_of(Slice(epsilon=STEP)), own_delta=None, rows=1)
    told = []
    mark = CHARGED.set(told.append)
    try:
        with paying(account, quote, label="one") as payment:
            assert [(charge.label, charge.state.value) for charge in told] == [("one", HELD)]
            payment.commit("sha256:1")
        with paying(account, quote, label="two", resuming=Claim(held=(), fresh="a")) as payment:
            payment.commit("sha256:2")
        with paying(None, quote, label="three") as payment:
            payment.commit("sha256:3")
    finally:
        CHARGED.reset(mark)
    assert [charge.label for charge in told] == ["one", "two"] and account.spent().epsilon == 2 * STEP


# ---- what no walk meets


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 2.0**-20), (7.0, 1e-6)])
def test_a_cap_is_kept_to_the_last_digits_in_both_parts(tmp_path, epsilon, delta):
    """Sums of floats may end a trifle above a cap that they meet; a millionth of a millionth, and no more."""
    account = Account.create(tmp_path / "a", dataset="d", epsilon=epsilon, delta=delta, neighbours=AR)
    spender = account.within(Allowance(name="ann", epsilon=epsilon, delta=delta))
    for part, fits in ((0.9, True), (1.0, True), (1 + 5e-13, True), (1 + 3e-12, False), (1.01, False)):
        for other in (0.5, 1.0):
            for up, down in ((part, other), (other, part)):
                total = ApproxDP(epsilon=epsilon * up, delta=delta * down, neighbours=AR)
                assert account.keeps_cap(total) is fits, (up, down)
                ledger = ledger_of(Slice(epsilon=epsilon * up, delta=delta * down))
                for charged in (account, spender):
                    assert (charged.refusal(ledger, label="x", delta=None) == "") is fits, (up, down)
    loose = Account.create(tmp_path / "b", dataset="d", epsilon=9 * epsilon, delta=0.5, neighbours=AR)
    tight = loose.within(Allowance(name="ann", epsilon=epsilon, delta=delta))
    for up, down in ((1 + 3e-12, 0.5), (0.5, 1 + 3e-12)):
        ledger = ledger_of(Slice(epsilon=epsilon * up, delta=delta * down))
        assert loose.refusal(ledger, label="x", delta=None) == ""
        assert "allowance" in tight.refusal(ledger, label="x", delta=None)


def test_words_and_numbers_that_mean_nothing_are_refused_before_anything_is_written(tmp_path):
    usual: dict[str, Any] = {"dataset": "d", "epsilon": 1.0, "delta": 1e-6, "neighbours": AR}
    for number, wrong in enumerate(
        ({"dataset": " "}, {"epsilon": 0.0}, {"epsilon": float("inf")}, {"delta": -1e-9}, {"delta": 1.0},
         {"patience": -1.0}, {"composition": "hopeful"}, {"composition": "renyi", "delta": 0.0}, {"neighbours": "x"})
    ):  # fmt: skip
        path = tmp_path / f"{number}"
        with pytest.raises(ParameterError):
            Account.create(path, **{**usual, **wrong})
        assert not path.exists(), wrong
    account = Account.create(tmp_path / "a", **usual)
    with pytest.raises(ParameterError):
        Account.open(account.path, patience=-1.0)
    for wrong in ({"name": ""}, {"epsilon": 0.0}, {"delta": -1.0}, {"delta": 1.0}):
        with pytest.raises(ParameterError):
            Allowance(**{"name": "ann", "epsilon": 1.0, "delta": 0.0, **wrong})
    ledger, before = ledger_of(Slice(epsilon=STEP)), account.path.read_bytes()
    for words in ({"label": " "}, {"delta": 0.0}, {"delta": 1.0}):
        with pytest.raises(ParameterError):
            account.reserve(ledger, **{"label": "x", "delta": None, **words})
    for call in (
        lambda: account.look(" "), lambda: account.fix("c", label=""), lambda: account.notice("r", " "),
        lambda: Reservation(account=account, charge=None, looked=False).commit(" "),
    ):  # fmt: skip
        with pytest.raises(ParameterError):
            call()
    assert account.path.read_bytes() == before


def test_what_is_charged_is_written_as_earlier_versions_wrote_it(tmp_path):
    """A run that comes back to its charge compares texts and digests, perhaps with what another version wrote."""
    account = Account.create(tmp_path / "a", dataset="d", epsilon=1.0, delta=0.0, neighbours=AR)
    ledger = Ledger.of([Entry(stage="Zählung", reads="café", event=Slice(epsilon=STEP))])
    account.reserve(ledger, label="x", delta=None, claim="one")
    text = json.dumps(ledger.to_list(), ensure_ascii=False)
    [charge] = account.history()
    assert charge.ledger == text and "Zählung" in text
    assert charge.whole == hashlib.sha256(text.encode()).hexdigest()
    assert charge.to_dict().keys() == vars(charge).keys() - {"ledger", "whole", "choices", "claim", "files"}


def test_a_look_is_told_to_an_account_and_to_nobody_without_one(tmp_path):
    account = Account.create(tmp_path / "a", dataset="d", epsilon=1.0, delta=0.0, neighbours=AR)
    for told, what in ((account, "one"), (account.path, "two"), (str(account.path), "three"), (None, "four")):
        remember_look(told, what)
    assert [what for _, what in account.looks()] == ["one", "two", "three"]


def test_what_an_account_cannot_cover_is_refused_by_its_kind(tmp_path):
    account = Account.create(tmp_path / "a", dataset="d", epsilon=1.0, delta=0.0, neighbours=AR)
    for event, words in ((Diverse(), "not differential privacy"), (Forgetful(epsilon=STEP), "another price")):
        with pytest.raises(BudgetError, match=words):
            account.priced(ledger_of(event), label="x", delta=None)
    with pytest.raises(BudgetError, match="no formal total"):
        account.reserve(Ledger(()), label="x", delta=None)
    strange = ledger_of(Slice(epsilon=STEP, neighbours="replace-one"))
    with pytest.raises(BudgetError, match="kept for add-remove"):
        account.reserve(strange, label="x", delta=None)
    assert account.history() == [] and account.relation_fault(ledger_of(Slice(epsilon=STEP))) == ""


def test_the_way_out_of_two_relations_is_the_one_that_protects_more(tmp_path):
    """An account for people is never left for one of records, nor one that hides the number of records."""
    people, hiding = (Neighbours.ADD_REMOVE_PERSON, Neighbours.REPLACE_PERSON), (AR, Neighbours.ADD_REMOVE_PERSON)
    for kept in Neighbours:
        account = Account.create(tmp_path / kept.value, dataset="d", epsilon=1.0, delta=0.0, neighbours=kept)
        for priced in set(Neighbours) - {kept}:
            said = account.relation_fault(ledger_of(Slice(epsilon=STEP, neighbours=priced.value)))
            opens = f"--neighbours {priced.value}`" in said
            if Neighbours.ORIGIN in (kept, priced):
                assert not opens and "its own relation" in said
            elif (kept in people) != (priced in people):
                assert opens is (priced in people) and ("[unit]" in said)
            else:
                assert opens is (priced in hiding) and "also hides how many" in said
            assert f"--neighbours {kept.value}`" not in said


def test_a_refusal_names_what_may_still_be_done(tmp_path):
    def said(epsilon, delta, spent, asked, **more):
        account = Account.create(
            tmp_path / str(len(list(tmp_path.iterdir()))),
            dataset="d",
            epsilon=epsilon,
            delta=delta,
            neighbours=AR,
            **more,
        )
        for paid in spent:
            account.reserve(ledger_of(Slice(epsilon=paid[0], delta=paid[1])), label="paid", delta=None).commit("r")
        return account.refusal(ledger_of(Slice(epsilon=asked[0], delta=asked[1])), label="x", delta=None)

    assert "up to epsilon 0.5 fits" in said(1.0, 0.0, [(0.5, 0.0)], (0.75, 0.0))
    assert "up to epsilon 0.5 fits" in said(1.0, 1e-6, [(0.5, 1e-7)], (0.75, 1e-7))
    assert "Nothing is left" in said(1.0, 0.0, [(1.0, 0.0)], (0.25, 0.0))
    assert "has delta 0" in said(1.0, 0.0, [], (0.25, 1e-9))
    assert "Nothing of the cap's delta is left" in said(1.0, 1e-6, [(0.25, 1e-6)], (0.25, 1e-7))
    assert "5e-07 is left" in said(1.0, 1e-6, [(0.25, 5e-7)], (0.25, 6e-7))
    assert "a Renyi curve" in said(1.0, 1e-6, [], (0.25, 9e-7), composition="renyi")


def test_an_account_whose_terms_nobody_could_have_chosen_is_not_opened(tmp_path):
    """Its file was made by somebody else, or by hand: a cap of delta 1 would let everything pass."""
    account = Account.create(tmp_path / "a", dataset="d", epsilon=1.0, delta=1e-6, neighbours=AR)
    with open_lines(account.path, 1.0, write=False) as lines:
        terms = dict(lines.all[0].body)
    create_file(tmp_path / "same", terms)
    assert Account.open(tmp_path / "same").cap == account.cap
    for number, wrong in enumerate(
        (
            {"delta": 1.0},
            {"delta": -1e-9},
            {"epsilon": 0.0},
            {"epsilon": -1.0},
            {"neighbours": "x"},
            {"composition": "x"},
        )
    ):
        create_file(tmp_path / f"{number}", {**terms, **wrong})
        with pytest.raises((AccountError, ParameterError)):
            Account.open(tmp_path / f"{number}")


def test_an_account_with_a_line_that_nobody_here_knows_is_not_opened(tmp_path):
    """A later version may have written it, and it may be a charge."""
    account = Account.create(tmp_path / "a", dataset="d", epsilon=1.0, delta=0.0, neighbours=AR)
    with open_lines(account.path, 1.0, write=True) as lines:
        lines.append("danced", when="2026-11-19")
    for reading in (lambda: Account.open(account.path), account.spent, account.history, account.left):
        with pytest.raises(AccountError, match="danced"):
            reading()


def test_who_writes_holds_the_account_and_who_reads_holds_up_nobody(tmp_path, monkeypatch):
    """Or two processes read the same balance, and both spend it."""
    account = Account.create(tmp_path / "a", dataset="d", epsilon=1.0, delta=0.0, neighbours=AR)
    append, told, written, read = Lines.append, History.of, [], []

    def is_free():
        with closing(sqlite3.connect(account.path, timeout=0, isolation_level=None)) as other:
            try:
                other.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return False
            return True

    monkeypatch.setattr(Lines, "append", lambda *line, **body: (written.append(is_free()), append(*line, **body))[1])
    monkeypatch.setattr(History, "of", lambda lines: (read.append(is_free()), told(lines))[1])
    ledger = ledger_of(Slice(epsilon=STEP))
    reservation = account.reserve(ledger, label="x", delta=None, claim="one")
    account.resume(ledger, label="x", claims=["one"], fresh="two")
    reservation.commit("r")
    account.notice("r", "withdrawn")
    account.look("a figure")
    account.fix("choices", label="plan")
    assert written == [False] * 6
    read.clear()
    for reading in (
        account.spent, account.remaining, account.history, account.looks, account.paid, account.left, account.summary,
        lambda: Account.open(account.path), lambda: account.has_paid("r", ledger), lambda: account.paid_for("x"),
        lambda: account.refusal(ledger, label="y", delta=None),
    ):  # fmt: skip
        reading()
    assert len(read) >= 11 and all(read)


def test_a_charge_that_a_restored_copy_lacks_is_not_settled_as_that_of_another_run(tmp_path):
    account = Account.create(tmp_path / "a", dataset="d", epsilon=1.0, delta=0.0, neighbours=AR)
    copy, ledger = account.path.read_bytes(), ledger_of(Slice(epsilon=STEP))
    reservation = account.reserve(ledger, label="mine", delta=None)
    account.path.write_bytes(copy)
    for settling in (reservation.cancel, lambda: reservation.commit("r")):
        with pytest.raises(BudgetError, match="was replaced since"):
            settling()
    other = account.reserve(ledger, label="of another run", delta=None)
    assert other.charge.number == reservation.charge.number
    for settling in (reservation.cancel, lambda: reservation.commit("r")):
        with pytest.raises(BudgetError, match="was replaced since"):
            settling()
    assert [charge.state.value for charge in account.history()] == [HELD]
