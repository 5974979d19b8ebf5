"""Answers under a cap by brute force: every asker who chooses prices after looking at answers stays within it."""

import itertools
import math
from fractions import Fraction

import pytest

from understudy.mechanisms import CappedAnswers
from understudy.privacy import Neighbours
from understudy.privacy.guarantees import ApproxDP, PureDP

AR = Neighbours.ADD_REMOVE
TOP = 3
"""Prices are whole steps of the cap; three steps are the cap."""


def answer_law(bit: int, steps: int, step: float, leak: float) -> dict[tuple[int, int], float]:
    """Randomised response of ``steps`` steps, which with probability ``leak`` tells the truth in the open: exactly
    (steps * step, leak)-DP, the worst that such a price allows."""
    keep = 1 / (1 + math.exp(-steps * step))
    law = {(0, y): (1 - leak) * (keep if y == bit else 1 - keep) for y in (0, 1)}
    return law | {(1, bit): leak, (1, 1 - bit): 0.0}


def strategies(left: int):
    """Every way to spend what is left: stop, or a price and then a strategy for each answer."""
    yield None
    for steps in range(1, left + 1):
        after = list(strategies(left - steps))
        for choice in itertools.product(after, repeat=2):
            yield steps, choice


def view_law(bit, strategy, step, leak) -> dict[tuple, float]:
    """The law of everything that the asker sees; what leaked does not change the choice that follows."""
    if strategy is None:
        return {(): 1.0}
    steps, after = strategy
    law: dict[tuple, float] = {}
    for seen, chance in answer_law(bit, steps, step, leak * steps).items():
        for rest, given in view_law(bit, after[seen[1]], step, leak).items():
            law[(seen, *rest)] = law.get((seen, *rest), 0.0) + chance * given
    return law


def test_no_adaptive_choice_of_prices_exceeds_the_cap():
    step, worst = 0.4, 0.0
    for strategy in strategies(TOP):
        laws = [view_law(bit, strategy, step, 0.0) for bit in (0, 1)]
        ratio = max(math.log(laws[0][view] / laws[1][view]) for view in laws[0] if laws[0][view])
        assert ratio <= TOP * step + 1e-9
        worst = max(worst, ratio)
    assert worst == pytest.approx(TOP * step), "attained: not a step less would do"


def test_with_deltas_the_sums_hold_too():
    step, leak, worst = 0.4, 0.01, 0.0
    for strategy in strategies(TOP):
        here, there = (view_law(bit, strategy, step, leak) for bit in (0, 1))
        # the smallest delta at the cap's epsilon is the mass by which one law exceeds e^epsilon times the other
        delta = math.fsum(max(0.0, here[view] - math.exp(TOP * step) * there[view]) for view in here)
        assert delta <= TOP * leak + 1e-12
        worst = max(worst, delta)
    assert worst > 0.5 * TOP * leak


def test_the_event_states_the_caps():
    pure = CappedAnswers(epsilon=Fraction(3, 10), delta=Fraction(0), neighbours=AR)
    claim = pure.guarantee()
    assert isinstance(claim, PureDP) and 0 <= Fraction(claim.epsilon) - Fraction(3, 10) < Fraction(1, 10**15)
    assert pure.renyi([2.0]) is None
    both = CappedAnswers(epsilon=Fraction(1, 3), delta=Fraction(1, 10**6), neighbours=AR).guarantee()
    assert isinstance(both, ApproxDP) and Fraction(both.epsilon) >= Fraction(1, 3)
    assert Fraction(both.delta) >= Fraction(1, 10**6)
