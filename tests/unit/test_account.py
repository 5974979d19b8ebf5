"""The account never lets a data set pay more than its cap."""

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
from account_events import (
    AR,
    RO,
    Bell,
    Diverse,
    Forgetful,
    LooseCurve,
    Slice,
    epsilon_of,
    ledger_of,
    new_account,
    pure,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import BudgetError, ParameterError
from understudy.privacy import Entry, Ledger, PureDP, composition, events
from understudy.privacy.account import Account, Allowance
from understudy.privacy.composition import ROUNDING


@pytest.fixture
def account(tmp_path: Path) -> Account:
    return new_account(tmp_path)


# Charging


def test_charges_add_up_until_the_cap_and_not_beyond(account: Account) -> None:
    account.reserve(pure(0.5), label="first", delta=None).commit("r1")
    second = account.reserve(pure(0.25), label="second", delta=None)
    assert second.charge.guarantee == PureDP(epsilon=0.25, neighbours=AR)
    assert second.charge.running == account.spent() == PureDP(epsilon=0.75, neighbours=AR)
    with pytest.raises(BudgetError) as refused:
        account.reserve(pure(0.5), label="third", delta=None)
    sentence = str(refused.value)
    for part in ("'third'", "cost epsilon 0.5", "'hospital'", "from epsilon 0.75", "of which 1 held"):
        assert part in sentence
    for part in ("to epsilon 1.25", "cap of epsilon 1, delta 0 (basic", "up to epsilon 0.25 fits", "free"):
        assert part in sentence
    assert account.remaining() == 0.25  # a refusal costs nothing
    account.reserve(pure(0.25), label="exact fit", delta=None).commit("r3")
    with pytest.raises(BudgetError, match="Nothing is left"):
        account.reserve(pure(1e-6), label="crumb", delta=None)


def test_rounding_never_refuses_an_exact_fit_and_never_accumulates(tmp_path: Path) -> None:
    assert math.fsum([0.1] * 3) > 0.3  # the dust this is about
    account = new_account(tmp_path, epsilon=0.3)
    for number in range(3):
        account.reserve(pure(0.1), label="slice", delta=None).commit(str(number))
    for _ in range(3):  # at most one crumb of the tolerance fits, not one per request
        with pytest.raises(BudgetError):
            account.reserve(pure(0.3 * 2 * ROUNDING), label="crumb", delta=None)


@pytest.mark.parametrize("event", [Slice, LooseCurve])
def test_rounding_of_delta_never_refuses_an_exact_fit(tmp_path: Path, event: type[Slice]) -> None:
    assert math.fsum([0.1] * 3) > 0.3
    account = new_account(tmp_path, epsilon=1.0, delta=0.3)
    for number in range(3):
        account.reserve(ledger_of(event(epsilon=0.1, delta=0.1)), label="slice", delta=None).commit(str(number))
    with pytest.raises(BudgetError, match=r"cap of epsilon 1, delta 0\.3"):
        account.reserve(ledger_of(Slice(epsilon=0.1, delta=1e-9)), label="more", delta=None)


@pytest.mark.parametrize("composition", ["basic", "renyi"])
def test_an_allowance_holds_beside_the_cap(tmp_path: Path, composition: str) -> None:
    account = new_account(tmp_path, epsilon=4.0, delta=1e-6, composition=composition)
    account.reserve(pure(0.7), label="others", delta=None).commit("r0")
    allowance = Allowance(name="agents", epsilon=0.3, delta=1e-7)
    agents = account.within(allowance)
    for number in range(3):  # 0.1 three times fits 0.3
        agents.reserve(pure(0.1), label="slice", delta=None).commit(str(number))
    assert agents.refusal(pure(1e-6), label="crumb", delta=None)
    with pytest.raises(
        BudgetError, match=r"'crumb' would bring what was charged under 'agents'.*allowance of epsilon 0.3"
    ):
        Account.open(account.path).within(allowance).reserve(pure(1e-6), label="crumb", delta=None)
    assert [charge.allowance for charge in account.history()] == [None, "agents", "agents", "agents"]
    assert agents.left()[0] == 0 and account.left()[0] > 0
    assert not account.refusal(pure(0.1), label="others again", delta=None)
    account.within(Allowance(name="robots", epsilon=0.3, delta=0)).reserve(pure(0.1), label="x", delta=None)
    # an allowance beyond the rest of the account is no more than that rest
    rich = account.within(Allowance(name="rich", epsilon=100.0, delta=0.5))
    assert rich.left() == account.left()
    with pytest.raises(BudgetError, match="above its cap"):
        rich.reserve(pure(3.9), label="all", delta=None)


def test_what_died_or_was_given_back_in_an_allowance(account: Account) -> None:
    """What is held counts, what was cancelled does not; without a delta only pure prices are paid."""
    agents = account.within(Allowance(name="agents", epsilon=0.3, delta=0.0))
    agents.reserve(pure(0.2), label="died", delta=None)
    assert agents.left()[0] == pytest.approx(0.1)
    agents.reserve(pure(0.1), label="nobody saw it", delta=None).cancel()
    assert agents.left()[0] == pytest.approx(0.1)
    with pytest.raises(BudgetError):
        agents.reserve(ledger_of(Slice(epsilon=0.05, delta=1e-12)), label="approximate", delta=None)


@pytest.mark.parametrize("wrong", [{"epsilon": 0}, {"epsilon": math.nan}, {"delta": 1.0}, {"delta": -1}, {"name": " "}])
def test_an_allowance_is_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"cap_epsilon|cap_delta|allowance"):
        Allowance(**{"name": "agents", "epsilon": 1.0, "delta": 0.0, **wrong})


def test_the_lines_of_an_account_without_allowances_are_what_they_were(account: Account) -> None:
    account.reserve(pure(0.1), label="plain", delta=None)
    with account._lines(write=False) as lines:
        assert "allowance" not in lines.all[-1].body


def test_delta_zero_takes_pure_prices_only(account: Account) -> None:
    with pytest.raises(BudgetError, match="delta 0: use a method with pure"):
        account.reserve(ledger_of(Slice(epsilon=0.1, delta=1e-12)), label="approximate", delta=None)
    assert account.history() == []


@pytest.mark.parametrize("composition", ["basic", "renyi"])
@pytest.mark.parametrize("before", [True, False])
def test_remaining_is_always_affordable(tmp_path: Path, composition: str, before: bool) -> None:
    account = new_account(tmp_path, epsilon=2.0, delta=1e-6, composition=composition)
    if before:
        mixed = ledger_of(Bell(rho=0.01, delta=1e-7), Slice(epsilon=0.2))
        account.reserve(mixed, label="mixed", delta=1e-7)
    left = account.remaining()
    assert 0 < left <= 2
    account.reserve(pure(left), label="the rest", delta=None)
    assert account.remaining() <= 2 * ROUNDING


def test_what_has_no_formal_total_is_refused_with_its_reason(account: Account) -> None:
    peek = Ledger.of([Entry.unpriced(stage="levels", reads="ages", why="levels were read from the data")])
    for ledger, reason in [
        (peek + pure(0.1), "levels were read from the data"),
        (ledger_of(Diverse()), "LDiverse"),
        (Ledger(), "nothing is recorded"),
    ]:
        with pytest.raises(BudgetError, match=f"{reason}.*run without an account.*manifest will say"):
            account.reserve(ledger, label="peek", delta=None)
    assert account.history() == []


def test_another_neighbour_relation_is_refused(account: Account) -> None:
    other = ledger_of(Slice(epsilon=0.1, neighbours=RO.value))
    for ledger in (other, other + pure(0.1)):
        with pytest.raises(BudgetError, match=r"replace-one.*listed, never added up"):
            account.reserve(ledger, label="other", delta=None)


def test_a_ledger_that_does_not_survive_writing_never_reaches_the_file(account: Account) -> None:
    with pytest.raises(BudgetError, match="another price when it is read back"):
        account.reserve(ledger_of(Forgetful(epsilon=0.5)), label="forgetful", delta=None)
    with pytest.raises(BudgetError, match="cannot be written down"):
        account.reserve(ledger_of(Slice(epsilon=0.5, neighbours=object())), label="odd", delta=None)  # type: ignore[arg-type]
    with pytest.raises(BudgetError, match="to epsilon inf"):
        account.reserve(pure(math.inf), label="endless", delta=None)
    assert account.history() == []


def test_an_event_of_another_version_stops_every_total(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    account.reserve(ledger_of(Slice(epsilon=0.5, neighbours=AR.value)), label="first", delta=None)
    monkeypatch.delitem(events._EVENTS, "test-account-slice")
    monkeypatch.setattr(composition, "_price", composition._price.__wrapped__)  # what was priced before is remembered
    for question in (account.spent, account.summary):
        with pytest.raises(BudgetError, match=r"charge 1 \('first'\) cannot be priced .*test-account-slice"):
            question()
    assert [charge.label for charge in account.history()] == ["first"]  # what was recorded can still be read


@pytest.mark.parametrize("label", ["", " ", None])
def test_a_charge_needs_a_label(account: Account, label: Any) -> None:
    with pytest.raises(ParameterError, match="`label`"):
        account.reserve(pure(0.1), label=label, delta=None)


@settings(max_examples=20, deadline=None)
@given(steps=st.lists(st.tuples(st.floats(0.01, 0.6), st.sampled_from(["commit", "cancel", "hold"])), max_size=8))
def test_law_a_reservation_is_granted_exactly_when_the_sum_fits(steps: list[tuple[float, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        account, counted = new_account(Path(folder)), list[float]()
        for number, (price, fate) in enumerate(steps):
            if math.fsum([*counted, price]) > 1 + ROUNDING:
                with pytest.raises(BudgetError):
                    account.reserve(pure(price), label=fate, delta=None)
                continue
            reservation = account.reserve(pure(price), label=fate, delta=None)
            if fate == "cancel":
                reservation.cancel()
                continue
            counted.append(price)
            if fate == "commit":
                reservation.commit(str(number))
        assert epsilon_of(account.spent()) == math.fsum(counted)


# Settling


def test_a_price_is_settled_once_for_one_set_of_bytes(account: Account) -> None:
    first = account.reserve(pure(0.25), label="first", delta=None)
    first.commit("r1", "sha256:1")
    first.commit("r1", "sha256:1")  # a retry that says the same is harmless
    for other in (("r2", "sha256:1"), ("r1", "sha256:2"), ("r1", None)):
        with pytest.raises(BudgetError, match="committed as 'r1' already and cannot be committed as"):
            first.commit(*other)
    with pytest.raises(BudgetError, match="cannot be cancelled"):
        first.cancel()
    second = account.reserve(pure(0.25), label="second", delta=None)
    second.cancel()
    second.cancel()
    with pytest.raises(BudgetError, match="cancelled already and cannot be committed as 'r2'"):
        second.commit("r2")
    with pytest.raises(ParameterError, match="`release_id`"):
        account.reserve(pure(0.25), label="third", delta=None).commit("")
    assert [charge.state for charge in account.history()] == ["committed", "cancelled", "held"]
    assert account.history()[0].digest == "sha256:1"


def test_a_reservation_is_not_settled_in_another_file(account: Account) -> None:
    reservation = account.reserve(pure(0.25), label="a", delta=None)
    account.path.unlink()
    new_account(account.path.parent)
    with pytest.raises(BudgetError, match=r"another account.*replaced since"):
        reservation.commit("r1")
    with pytest.raises(BudgetError, match=r"another account.*replaced since"):
        account.remaining()


# Reporting


def test_history_and_summary_tell_the_whole_story(account: Account) -> None:
    account.reserve(pure(0.25), label="first", delta=None).commit("r1")
    account.reserve(pure(0.5), label="second", delta=None).cancel()
    account.reserve(pure(0.125), label="third", delta=None)
    history = account.history()
    assert [(c.number, c.label, c.state.value, c.release_id) for c in history] == [
        (1, "first", "committed", "r1"),
        (2, "second", "cancelled", None),
        (3, "third", "held", None),
    ]
    assert [epsilon_of(c.guarantee) for c in history] == [0.25, 0.5, 0.125]
    assert [epsilon_of(c.running) for c in history] == [
        0.25,
        0.75,
        0.375,
    ]  # as on the day: the second was cancelled later
    assert all(c.when.endswith("+00:00") for c in history)
    assert [c.settled is None for c in history] == [False, False, True]
    assert json.loads(json.dumps([c.to_dict() for c in history]))[0]["guarantee"]["epsilon"] == 0.25
    summary = json.loads(json.dumps(account.summary()))
    assert summary == {
        "dataset": "hospital",
        "identity": account.identity,
        "created": account.created,
        "cap": {"epsilon": 1.0, "delta": 0.0, "neighbours": "add-remove"},
        "composition": "basic",
        "renyi_order": None,
        "spent": {"kind": "PureDP", "epsilon": 0.375, "delta": 0.0, "neighbours": "add-remove"},
        "remaining_epsilon": 0.625,
        "remaining_delta": 0.0,
        "releases": 1,
        "held": [{"number": 3, "when": history[2].when, "label": "third"}],
        "looks": [],
    }
    assert [path.name for path in account.path.parent.iterdir()] == ["hospital.account"]  # no journal is left
