"""Adding up releases, each of which may have been planned after looking at the earlier ones.

Theorems with the best constants fix all prices beforehand. Here a price may depend on every earlier release, so only
privacy filters count: rules that refuse what would exceed a cap that was fixed first. Two are offered.

**Basic.** Release i is (epsilon_i, delta_i)-DP whatever came before it. If the epsilons never add up to more than
epsilon and the deltas never to more than delta, all releases together are (epsilon, delta)-DP [RRUV16].

**Renyi.** One order l is fixed beforehand. If the Renyi divergences of order l never add up to more than R, they do
not exceed R for all releases together [FZ21]; that is (R + c, d)-DP with c = :func:`conversion_cost` (l, d)
[CKS20 Prop 12].
An event that is only (epsilon_i, delta_i)-DP has laws (1-delta_i) P'_i + delta_i P''_i and (1-delta_i) Q'_i +
delta_i Q''_i, with P'_i and Q'_i within a factor e^epsilon_i of each other, so of Renyi divergence at most epsilon_i
[KOV15]. Let P', Q' be all releases together drawn from these parts, and w, at most 1, the product of (1-delta_i) along
them. Then P(S) <= wP'(S) + sum delta_i <= e^(R+c) wQ'(S) + d + sum delta_i <= e^(R+c) Q(S) + d + sum delta_i.
Half of the cap's delta is kept for d and half for the sum.

What is proved is the cap. The running total is the meter that is held against it: an amount stated at a moment that
was itself chosen from the outputs is not covered by the Renyi rule [RRUV16 on odometers].
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from understudy.errors import BudgetError, ParameterError
from understudy.privacy.conversion import conversion_cost
from understudy.privacy.guarantees import ApproxDP, Guarantee, Neighbours, PureDP, differential_privacy
from understudy.privacy.ledger import Ledger

Answer = TypeVar("Answer")

ROUNDING = 1e-12
"""Relative excess over the cap that passes: three charges of 0.1 fit a cap of 0.3, whatever floats say.

It is compared with the total, not with each charge, so it never accumulates.
"""

_ORDERS = 1.0 + np.geomspace(1e-2, 1e6, 40_001)  # below 1.01 curves lose digits; the step is 0.05 percent


class Composition(StrEnum):
    """How an account adds up its releases; chosen once, when it is created."""

    BASIC = "basic"
    """Each release at its own best total; epsilons and deltas are summed. Best for a few releases."""
    RENYI = "renyi"
    """Renyi divergences of one order are summed and converted once. Best for many small releases."""


@dataclass(frozen=True, kw_only=True)
class Paid:
    """A release as an account remembers it; prices are recomputed from it, never believed."""

    name: str
    """How to speak of it when it cannot be priced."""
    ledger: str
    """``Ledger.to_list`` as JSON."""
    delta: float | None
    """The delta at which the release's own total is stated; None for basic composition only."""


@dataclass(frozen=True, kw_only=True)
class BasicRule:
    """Sum of the epsilons and of the deltas of the releases' own totals."""

    epsilon: float
    delta: float
    neighbours: Neighbours

    def price(self, paid: Paid) -> Guarantee:
        """The total that its manifest states, or under a cap without delta the pure one."""
        return _ask(paid, _price, None if self.delta == 0 else paid.delta)

    def total(self, paid: Sequence[Paid]) -> PureDP | ApproxDP:
        """The sums."""
        return differential_privacy(*self._sums(paid), self.neighbours)

    def left(self, paid: Sequence[Paid]) -> tuple[float, float]:
        """Cap less sums."""
        epsilon, delta = self._sums(paid)
        return _left(self.epsilon, epsilon), _left(self.delta, delta)

    def _sums(self, paid: Sequence[Paid]) -> tuple[float, float]:
        prices = [self.price(item) for item in paid]
        # A promise of any other kind has no epsilon and fits no cap.
        epsilon = math.fsum(getattr(price, "epsilon", math.inf) for price in prices)
        return epsilon, math.fsum(getattr(price, "delta", 0.0) for price in prices)


@dataclass(frozen=True, kw_only=True)
class RenyiRule:
    """Sum of the Renyi divergences of one order, converted at half of the cap's delta."""

    epsilon: float
    delta: float
    neighbours: Neighbours
    order: float

    def price(self, paid: Paid) -> Guarantee:
        """The total that its manifest states; what it adds to the account may be less or more."""
        return _ask(paid, _price, paid.delta)

    def total(self, paid: Sequence[Paid]) -> PureDP | ApproxDP:
        """Sum and conversion; delta is the cap's, or more if the events' own deltas exceed their half of it."""
        if not paid:
            return PureDP(epsilon=0.0, neighbours=self.neighbours)
        divergence, slack = self._sums(paid)
        epsilon = max(0.0, divergence + conversion_cost(self.order, self.delta / 2))
        return differential_privacy(epsilon, max(self.delta, self.delta / 2 + slack), self.neighbours)

    def left(self, paid: Sequence[Paid]) -> tuple[float, float]:
        """Cap less sums, conversion and the half of delta that pays for it."""
        divergence, slack = self._sums(paid)
        epsilon = divergence + conversion_cost(self.order, self.delta / 2)
        return _left(self.epsilon, epsilon), _left(self.delta / 2, slack)

    def _sums(self, paid: Sequence[Paid]) -> tuple[float, float]:
        spent = [_ask(item, _renyi_at, self.order) for item in paid]
        return math.fsum(divergence for divergence, _ in spent), math.fsum(slack for _, slack in spent)


Rule = BasicRule | RenyiRule
"""A filter with its cap: ``price`` of one release alone, ``total`` of several (the meter; 0 when there are none), and
what is ``left``, the epsilon and the delta that one further release without a Renyi curve may cost."""


def fixed_order(epsilon: float, delta: float) -> float:
    """The Renyi order for a cap, from the cap alone.

    rho-zCDP (divergence at most rho l at every order l) meets the cap at order l if rho l + conversion_cost(l, delta/2)
    is at most epsilon, so the largest rho that meets it at all is the maximum over l of (epsilon - conversion) / l, and
    the order is where that is reached. Any other order would be as true, and worse for releases like these.
    """
    # :func:`conversion_cost` of all orders at once, whose last bits may differ: accounts keep the order that was found
    conversions = np.log1p(-1 / _ORDERS) - (math.log(delta / 2) + np.log(_ORDERS)) / (_ORDERS - 1)
    budgets = (epsilon - conversions) / _ORDERS
    best = int(np.argmax(budgets))
    if not budgets[best] > 0:
        raise ParameterError(
            f"`epsilon` is {epsilon!r} and `delta` {delta!r}; Renyi composition costs more than that before anything "
            "is charged. Raise them, or use basic composition."
        )
    return float(_ORDERS[best])


def _left(cap: float, spent: float) -> float:
    """What is left, without the dust that floats leave of an exact fit."""
    return cap - spent if cap - spent > cap * ROUNDING else 0.0


def _ask(paid: Paid, price: Callable[[str, Any], Answer], argument: float | None) -> Answer:
    try:
        return price(paid.ledger, argument)
    except Exception as error:  # anybody may define an event, and how it fails to be read is open
        raise BudgetError(
            f"{paid.name} cannot be priced ({error}), and a total without it would be wrong. Use the version of "
            "understudy, with the extensions, that made the charge."
        ) from error


# A price is a pure function of what is stored. Keeping it lets an account price its past before it takes the lock.


@lru_cache(maxsize=16_384)
def _price(ledger: str, delta: float | None) -> Guarantee:
    return Ledger.from_list(json.loads(ledger)).total(delta=delta)


@lru_cache(maxsize=16_384)
def _renyi_at(ledger: str, order: float) -> tuple[float, float]:
    return Ledger.from_list(json.loads(ledger)).renyi_at(order)
