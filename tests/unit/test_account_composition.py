"""Releases add up by a rule that holds when each is planned after seeing the earlier ones."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from account_events import AR, Bell, LooseCurve, Slice, epsilon_of, ledger_of, new_account, pure
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from understudy.errors import BudgetError, ParameterError
from understudy.privacy import ApproxDP, Entry, Event, Guarantee, Ledger, Neighbours, PureDP
from understudy.privacy.account import Account, Composition
from understudy.privacy.account_file import open_lines
from understudy.privacy.composition import ROUNDING, BasicRule, Paid, RenyiRule, Rule, fixed_order
from understudy.privacy.conversion import conversion_cost


@dataclass(frozen=True, kw_only=True)
class Coin(Event):
    """Randomised response; with probability delta it tells the truth in the open. Of all (epsilon, delta)-DP
    mechanisms it is the most telling one [KOV15], and its laws can be enumerated."""

    kind: ClassVar[str] = "test-account-coin"
    proof: ClassVar[str | None] = "geometric_histogram.md"
    epsilon: float
    delta: float = 0.0

    def guarantee(self) -> Guarantee:
        if self.delta == 0:
            return PureDP(epsilon=self.epsilon, neighbours=AR)
        return ApproxDP(epsilon=self.epsilon, delta=self.delta, neighbours=AR)

    @property
    def laws(self) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities of (heads, tails, truth one, truth two) under the two neighbours."""
        heads = (1 - self.delta) / (1 + math.exp(-self.epsilon))
        tails = 1 - self.delta - heads
        return np.array([heads, tails, self.delta, 0.0]), np.array([tails, heads, 0.0, self.delta])

    def renyi(self, orders: Any) -> Any:
        if self.delta > 0:
            return None
        one, two = (np.log(law[:2, None]) for law in self.laws)
        return np.logaddexp.reduce(one * orders + two * (1 - orders), axis=0) / (orders - 1)


@dataclass(frozen=True, kw_only=True)
class Unproved(Bell):
    kind: ClassVar[str] = "test-account-unproved"
    proof: ClassVar[str | None] = None


def paid(*events: Event, delta: float | None = None) -> Paid:
    return Paid(name="a release", ledger=json.dumps(ledger_of(*events).to_list()), delta=delta)


def basic(epsilon: float, delta: float) -> BasicRule:
    return BasicRule(epsilon=epsilon, delta=delta, neighbours=AR)


def renyi(epsilon: float, delta: float) -> RenyiRule:
    return RenyiRule(epsilon=epsilon, delta=delta, neighbours=AR, order=fixed_order(epsilon, delta))


# The truth of the cap


def slack(
    rule: BasicRule | RenyiRule, plan: Callable[[tuple[int, ...]], Coin], *, steps: int, at: float | None = None
) -> float:
    """The exact delta, at the cap's epsilon or another, of all coins together.

    After every outcome the adversary plans the next coin; what does not fit under the cap is refused, and he goes on.
    """
    factor = math.exp(rule.epsilon if at is None else at)

    def beyond(seen: tuple[int, ...], granted: list[Paid], one: float, two: float) -> float:
        if len(seen) == steps or two == 0:
            return max(0.0, one - factor * two)
        coin = plan(seen)
        total = rule.total([*granted, paid(coin)])
        assert isinstance(total, PureDP | ApproxDP)
        if total.epsilon > rule.epsilon or total.delta > rule.delta:
            return beyond((*seen, 0), granted, one, two)
        first, second = coin.laws
        return math.fsum(
            beyond((*seen, outcome), [*granted, paid(coin)], one * first[outcome], two * second[outcome])
            for outcome in range(4)
            if first[outcome] > 0
        )

    return beyond((), [], 1.0, 1.0)


COINS = [Coin(epsilon=e) for e in (0.05, 0.2, 0.5, 1.0)] + [Coin(epsilon=0.1, delta=d) for d in (0.005, 0.02)]


@settings(max_examples=50, deadline=None)
@given(
    composition=st.sampled_from(["basic", "renyi"]),
    epsilon=st.sampled_from([0.5, 1.0, 2.0]),
    delta=st.sampled_from([0.02, 0.1]),
    choices=st.lists(st.sampled_from(COINS), min_size=16, max_size=16),
)
def test_law_no_adaptive_plan_exceeds_the_cap(
    composition: str, epsilon: float, delta: float, choices: list[Coin]
) -> None:
    """Next coin by number of steps and by whether heads lead; the exact law is compared with the cap."""
    rule = basic(epsilon, delta) if composition == "basic" else renyi(epsilon, delta)

    def plan(seen: tuple[int, ...]) -> Coin:
        leading = sum(1 if outcome == 0 else -1 for outcome in seen) > 0
        return choices[2 * len(seen) + leading]

    # 1e-12: rounding of sums of at most 4^8 probabilities
    assert slack(rule, plan, steps=8) <= delta + 1e-12


class Careless(BasicRule):
    """Forgets a tenth of every price."""

    def total(self, paid: Sequence[Paid]) -> Guarantee:
        return PureDP(epsilon=0.9 * epsilon_of(super().total(paid)), neighbours=AR)


def test_the_enumeration_would_find_a_rule_that_is_not_true() -> None:
    def coin(_: tuple[int, ...]) -> Coin:
        return Coin(epsilon=0.25)

    rule = basic(1.75, 0.0)  # seven fit, exactly
    heads = 1 / (1 + math.exp(-0.25))
    assert slack(rule, coin, steps=8) <= 1e-15
    # Seven heads are e^1.75 times likelier on one side: all of the cap is used.
    assert slack(rule, coin, steps=8, at=1.74) == pytest.approx(heads**7 * -math.expm1(-0.01), rel=1e-9)
    # A rule that is a tenth off grants an eighth coin, and only eight heads are beyond the cap.
    found = slack(Careless(epsilon=1.9, delta=0.0, neighbours=AR), coin, steps=8)
    assert found == pytest.approx(heads**8 * -math.expm1(-0.1), rel=1e-9)


# Basic composition


def test_basic_is_the_default_and_sums_the_totals_of_the_releases(tmp_path: Path) -> None:
    one = ledger_of(Bell(rho=0.005, delta=1e-9))
    account = new_account(tmp_path, epsilon=10.0, delta=1e-5)
    assert (account.composition, account.renyi_order) == (Composition.BASIC, None)
    prices = [one.total(delta=delta) for delta in (1e-6, 2e-6, 1e-7)]
    for delta in (1e-6, 2e-6, 1e-7):
        assert account.reserve(one, label="bell", delta=delta).charge.guarantee == one.total(delta=delta)
    total = account.spent()
    assert isinstance(total, ApproxDP)
    assert total.epsilon == math.fsum(epsilon_of(price) for price in prices)
    assert total.delta == math.fsum([1e-6, 2e-6, 1e-7])
    # One order for the whole list, picked afterwards, would prove less, and only for plans made beforehand.
    assert total.epsilon > 1.5 * epsilon_of((one + one + one).total(delta=total.delta))
    assert account.summary()["remaining_delta"] == pytest.approx(1e-5 - 3.1e-6, rel=1e-12)


def test_without_a_delta_a_release_costs_the_sum_of_its_entries(tmp_path: Path) -> None:
    ledger = ledger_of(Bell(rho=0.005, delta=1e-7), Coin(epsilon=0.1), Slice(epsilon=0.1, delta=1e-8))
    account = new_account(tmp_path, epsilon=10.0, delta=1e-5)
    assert account.reserve(ledger, label="sum", delta=None).charge.running == ledger.basic()
    assert account.history()[0].delta is None


def test_a_release_has_no_default_delta(tmp_path: Path) -> None:
    account = new_account(tmp_path, delta=1e-6)
    with pytest.raises(TypeError, match="delta"):
        account.reserve(pure(0.1), label="x")  # type: ignore[call-arg]
    for bad in (0, 0.0, 1.0, -1e-9, math.nan, True, "1e-6"):
        with pytest.raises(ParameterError, match=r"`delta` is .*above 0 and below 1"):
            account.reserve(pure(0.1), label="x", delta=bad)  # type: ignore[arg-type]
    assert account.history() == []


def test_a_cap_without_delta_prices_everything_as_pure(tmp_path: Path) -> None:
    many = ledger_of(*[Coin(epsilon=0.01)] * 50)
    by_curve = many.total(delta=1e-6)
    assert epsilon_of(by_curve) < 0.5  # the manifest states less, at delta 1e-6
    account = new_account(tmp_path, epsilon=1.0, delta=0.0)
    charge = account.reserve(many, label="coins", delta=1e-6).charge
    assert isinstance(charge.guarantee, PureDP)
    assert charge.guarantee.epsilon == epsilon_of(account.spent()) == math.fsum([0.01] * 50)
    assert account.history()[0].delta == 1e-6
    (tmp_path / "other").mkdir()
    with_delta = new_account(tmp_path / "other", epsilon=1.0, delta=1e-6)
    assert with_delta.reserve(many, label="coins", delta=1e-6).charge.guarantee == by_curve


def test_the_refusal_says_which_of_the_two_ran_out(tmp_path: Path) -> None:
    account = new_account(tmp_path, epsilon=1.0, delta=3e-6)
    account.reserve(ledger_of(Bell(rho=0.001, delta=1e-9)), label="first", delta=2e-6)
    with pytest.raises(BudgetError, match=r"basic composition\)\. Of the cap's delta 1e-06 is left: .*smaller delta"):
        account.reserve(ledger_of(Bell(rho=0.001, delta=1e-9)), label="second", delta=2e-6)
    account.reserve(ledger_of(Bell(rho=0.001, delta=1e-9)), label="second", delta=1e-6)
    with pytest.raises(BudgetError, match="Nothing of the cap's delta is left: use pure"):
        account.reserve(ledger_of(Bell(rho=0.001, delta=1e-9)), label="third", delta=1e-6)
    account.reserve(pure(0.1), label="pure", delta=None)
    with pytest.raises(BudgetError, match="Ask for less"):
        account.reserve(pure(1.0), label="large", delta=None)


def test_prices_are_recomputed_and_not_believed(tmp_path: Path) -> None:
    account = new_account(tmp_path, epsilon=10.0, delta=1e-5)
    one = ledger_of(Bell(rho=0.005, delta=1e-9))
    free = json.dumps(PureDP(epsilon=0.0, neighbours=AR).to_dict())
    ledger = json.dumps(one.to_list())
    with open_lines(account.path, 1.0, write=True) as lines:
        lines.append("reserved", charge=1, when="now", label="bell", ledger=ledger, delta=1e-6, cost=free, total=free)
    assert account.spent() == one.total(delta=1e-6)


# Renyi composition


def test_conversion_is_the_published_one() -> None:
    for order, delta, divergence in [(1.5, 1e-6, 0.3), (12.0, 1e-9, 0.1), (200.0, 1e-3, 2.0)]:
        expected, _ = rdp_privacy_accountant.compute_epsilon([order], [divergence], delta)
        assert divergence + conversion_cost(order, delta) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 8.0, 300.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01])
def test_the_order_is_the_best_one_for_the_zcdp_budget_that_meets_the_cap(epsilon: float, delta: float) -> None:
    order = fixed_order(epsilon, delta)
    rho = (epsilon - conversion_cost(order, delta / 2)) / order  # meets the cap at this order

    def total(log: float) -> float:
        return rho * (1 + math.exp(log)) + conversion_cost(1 + math.exp(log), delta / 2)

    middle = math.log(order - 1)
    best = optimize.minimize_scalar(total, bounds=(middle - 3, middle + 3), method="bounded", options={"xatol": 1e-9})
    # Orders are h = ln(1e8)/40000 apart in ln(l - 1): the nearest is within h/2, the loss within (h/2)^2/2 times the
    # curvature, 2.7e-8 of rho l + |conversion|, which is a few epsilon.
    assert epsilon - 1e-6 * epsilon <= best.fun <= epsilon * (1 + 1e-12)


def test_the_order_comes_from_the_cap_alone_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = new_account(tmp_path, epsilon=1.0, delta=1e-6, composition="renyi")
    assert account.composition is Composition.RENYI
    assert account.renyi_order == fixed_order(1.0, 1e-6)
    account.reserve(ledger_of(Bell(rho=1e-4, delta=1e-9)), label="bell", delta=None)
    monkeypatch.setattr("understudy.privacy.account.fixed_order", lambda *_: 2.0)  # another version
    again = Account.open(account.path, patience=account.patience)
    assert again == account
    assert again.summary()["renyi_order"] == account.renyi_order
    assert again.summary()["composition"] == "renyi"


def test_mixed_events_add_their_divergence_or_their_epsilon(tmp_path: Path) -> None:
    account = new_account(tmp_path, epsilon=3.0, delta=1e-6, composition="renyi")
    order = account.renyi_order
    assert order is not None
    bell, coin = Bell(rho=0.002, delta=1e-3), Coin(epsilon=0.3)  # a curve's own delta is not used
    assert account.spent() == PureDP(epsilon=0.0, neighbours=AR)
    first = ledger_of(bell, Slice(epsilon=0.25, delta=1e-7))
    charge = account.reserve(first, label="mixed", delta=1e-2).charge
    assert charge.guarantee == first.total(delta=1e-2)  # as its manifest says; the account's total does not use it
    account.reserve(ledger_of(coin, Slice(epsilon=0.125)), label="pure", delta=None)
    parts = [0.002 * order, 0.25, float(coin.renyi(np.array([order]))[0]), 0.125]
    total = account.spent()
    assert isinstance(total, ApproxDP)
    assert total.epsilon == pytest.approx(math.fsum(parts) + conversion_cost(order, 5e-7), rel=1e-12)
    assert total.delta == 1e-6
    assert account.summary()["remaining_delta"] == pytest.approx(4e-7, rel=1e-12)
    assert account.remaining() == pytest.approx(3.0 - total.epsilon, rel=1e-12)


def test_deltas_of_events_have_half_of_the_cap(tmp_path: Path) -> None:
    account = new_account(tmp_path, epsilon=3.0, delta=0.6, composition="renyi")
    for number in range(3):  # 0.1 three times is 0.3 and a rounding error
        account.reserve(ledger_of(Slice(epsilon=0.1, delta=0.1)), label="slice", delta=None).commit(str(number))
    with pytest.raises(BudgetError, match=r"renyi composition\)\. Prices without a Renyi curve share half.*and 0 of"):
        account.reserve(ledger_of(Slice(epsilon=0.1, delta=1e-9)), label="more", delta=None)
    account.reserve(ledger_of(Bell(rho=0.01, delta=0.1), Slice(epsilon=0.1)), label="none needed", delta=None)
    with pytest.raises(BudgetError, match="Ask for less"):
        account.reserve(pure(3.0), label="large", delta=None)


def test_a_curve_is_taken_even_where_it_is_loose(tmp_path: Path) -> None:
    """Which of two bounds is used does not depend on what else was charged."""
    account = new_account(tmp_path, epsilon=3.0, delta=1e-6, composition="renyi")
    with pytest.raises(BudgetError, match="above its cap"):
        account.reserve(ledger_of(LooseCurve(epsilon=0.1, delta=1e-9)), label="loose", delta=None)


def test_many_small_releases_suit_renyi_and_few_large_ones_basic() -> None:
    epsilon, delta, rho = 1.0, 1e-6, 5e-5

    def fitting(rule: Rule, one: Paid) -> int:
        number = 0
        while epsilon_of(rule.total([one] * (number + 1))) <= epsilon:
            number += 1
        return number

    small = paid(Bell(rho=rho, delta=1e-9), delta=delta / 100)
    order = fixed_order(epsilon, delta)
    by_filter = fitting(renyi(epsilon, delta), small)
    assert by_filter == math.floor((epsilon - conversion_cost(order, delta / 2)) / (rho * order) * (1 + ROUNDING))
    assert by_filter > 10 * fitting(basic(epsilon, delta), small)
    large = paid(Slice(epsilon=0.5))
    assert (fitting(renyi(epsilon, delta), large), fitting(basic(epsilon, delta), large)) == (1, 2)


def test_what_renyi_composition_cannot_do_is_said(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"`delta` is 0 and `composition` 'renyi'.*basic"):
        new_account(tmp_path, delta=0.0, composition="renyi")
    with pytest.raises(ParameterError, match=r"`epsilon` is 1e-06 .*before anything is charged"):
        new_account(tmp_path, epsilon=1e-6, delta=1e-9, composition="renyi")
    assert list(tmp_path.iterdir()) == []


def test_the_figures_in_the_guide() -> None:
    epsilon, delta = 1.0, 1e-6
    order = fixed_order(epsilon, delta)
    filling = (epsilon - conversion_cost(order, delta / 2)) / order
    for number, said in [(1, 0.97), (2, 1.38), (10, 3.2), (1000, 35.0)]:
        one = ledger_of(Bell(rho=filling / number, delta=1e-9)).total(delta=delta / number)
        assert number * epsilon_of(one) == pytest.approx(said, rel=0.01)  # the guide gives two or three digits


# From the command line


def test_the_command_line_takes_and_shows_the_rule(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from understudy.cli.account import app
    from understudy.facade.releases import create_account

    place, run = tmp_path / "x.account", CliRunner()
    terms = ["--dataset", "d", "--epsilon", "1", "--delta", "1e-6"]
    opened = run.invoke(app, ["create", str(place), *terms, "--composition", "renyi"])
    assert opened.exit_code == 0, opened.output
    assert "renyi composition" in " ".join(opened.output.split())
    shown = " ".join(run.invoke(app, ["show", str(place)]).output.split())
    assert f"rule renyi composition, order {fixed_order(1.0, 1e-6):.4g}, fixed when" in shown
    assert "delta 5e-07 for one further release; one with a Renyi curve may cost more" in shown
    assert json.loads(run.invoke(app, ["show", str(place), "--json"]).output)["composition"] == "renyi"
    plain = create_account(tmp_path / "y.account", dataset="d", epsilon=1.0, delta=0.0, neighbours="add-remove")
    assert plain.composition is Composition.BASIC
    assert "rule basic composition, fixed" in run.invoke(app, ["show", str(plain.path)]).output.replace("   ", " ")
    wrong = run.invoke(app, ["create", str(tmp_path / "z"), *terms, "--composition", "best"])
    assert isinstance(wrong.exception, ParameterError)
    assert "`composition` is 'best'" in str(wrong.exception)


# The ledger at one order


def test_no_divergence_is_claimed_where_no_total_is() -> None:
    other = Slice(epsilon=0.1, neighbours=Neighbours.REPLACE.value)
    peek = Entry.unpriced(stage="levels", reads="ages", why="levels were read")
    for ledger in (
        Ledger(),
        ledger_of(Slice(epsilon=0.1), other),
        ledger_of(Unproved(rho=0.1, delta=1e-6)),
        Ledger.of([peek]) + pure(0.1),
    ):
        assert ledger.renyi_at(8.0)[0] == math.inf


def test_a_curve_that_is_no_number_is_infinite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bell, "renyi", lambda _, orders: np.full(len(orders), math.nan))
    assert ledger_of(Bell(rho=0.1, delta=1e-6)).renyi_at(8.0) == (math.inf, 0.0)


def test_a_ledger_is_a_list_of_entries() -> None:
    ledger = ledger_of(Slice(epsilon=0.1), Slice(epsilon=0.1), Bell(rho=0.1, delta=1e-6))
    assert list(ledger) == list(ledger.entries)
    # equal events are each counted, with or without a curve
    total = epsilon_of(ledger.total(delta=1e-6))
    assert total == pytest.approx(0.2 + epsilon_of(ledger_of(ledger.entries[2].event).total(delta=1e-6)), rel=1e-9)
