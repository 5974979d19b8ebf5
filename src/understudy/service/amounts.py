"""Epsilon as whole billionths, so that sums are exact."""

import math
from decimal import Decimal
from fractions import Fraction

from understudy.errors import ParameterError
from understudy.parameters import Number

_PER_EPSILON = 10**9
LARGEST = 1_000_000
"""The largest epsilon that a cap may have; beyond it nothing is protected and the sum might not fit 64 bits."""
_AMOUNT = Number(above=0, most=LARGEST, tried=1.0)


def price_of(epsilon: float | Fraction) -> int:
    """A price, rounded up: never charge less than it costs."""
    return math.ceil(_exact("price_per_call", epsilon) * _PER_EPSILON)


def cap_of(epsilon: float | Fraction) -> int:
    """A cap, rounded down: never allow more than was said."""
    cap = math.floor(_exact("epsilon", epsilon) * _PER_EPSILON)
    if cap < 1:
        raise ParameterError(f"`epsilon` is {float(epsilon)!r}; a cap below 1e-9 pays for nothing. Try 1.0.")
    return cap


def epsilon_of(amount: int) -> float:
    """Back to epsilon, for people to read."""
    return amount / _PER_EPSILON


def _exact(name: str, epsilon: float | Fraction) -> Fraction:
    """The number as it was written: 0.1 is one tenth, not the nearest binary fraction."""
    _AMOUNT.check(name, epsilon)
    return epsilon if isinstance(epsilon, Fraction) else Fraction(Decimal(repr(float(epsilon))))
