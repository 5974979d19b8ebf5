"""Epsilon as whole billionths and delta as whole units of 1e-18, so that sums are exact."""

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from understudy.errors import ParameterError
from understudy.parameters import Number

PER_EPSILON = 10**9
PER_DELTA = 10**18
LARGEST = 1_000_000
"""The largest epsilon that a cap may have; beyond it nothing is protected and the sum might not fit 64 bits."""
_AMOUNT = Number(above=0, most=LARGEST, tried=1.0)
_SMALL = Number(least=0, below=1, tried=1e-6)


@dataclass(frozen=True, kw_only=True)
class Amount:
    """A price or a cap of answers: epsilon in billionths, delta in units of 1e-18."""

    epsilon: int
    delta: int = 0

    @classmethod
    def price(cls, epsilon: float | Fraction, delta: float | Fraction = 0) -> "Amount":
        """Rounded up: never charge less than it costs."""
        return cls(epsilon=price_of(epsilon), delta=math.ceil(_exact_delta(delta) * PER_DELTA))

    @classmethod
    def cap(cls, epsilon: float | Fraction, delta: float | Fraction = 0) -> "Amount":
        """Rounded down: never allow more than was said."""
        return cls(epsilon=cap_of(epsilon), delta=math.floor(_exact_delta(delta) * PER_DELTA))

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(epsilon=self.epsilon - other.epsilon, delta=self.delta - other.delta)

    def covers(self, other: "Amount") -> bool:
        """Whether both parts are at least as large."""
        return self.epsilon >= other.epsilon and self.delta >= other.delta

    def to_dict(self) -> dict[str, float]:
        """For people to read."""
        return {"epsilon": epsilon_of(self.epsilon), "delta": delta_of(self.delta)}

    @property
    def words(self) -> str:
        """In words, delta only where there is some."""
        return f"epsilon {epsilon_of(self.epsilon):g}" + (f", delta {delta_of(self.delta):g}" if self.delta else "")

    @property
    def digits(self) -> str:
        """The same to the last digit: two amounts never read alike."""
        epsilon, delta = Decimal(self.epsilon) / PER_EPSILON, Decimal(self.delta) / PER_DELTA
        return f"epsilon {epsilon:f}" + (f", delta {delta:g}" if self.delta else "")


def price_of(epsilon: float | Fraction) -> int:
    """A price, rounded up: never charge less than it costs."""
    return math.ceil(_exact("price_per_call", epsilon) * PER_EPSILON)


def cap_of(epsilon: float | Fraction) -> int:
    """A cap, rounded down: never allow more than was said."""
    cap = math.floor(_exact("epsilon", epsilon) * PER_EPSILON)
    if cap < 1:
        raise ParameterError(f"`epsilon` is {float(epsilon)!r}; a cap below 1e-9 pays for nothing. Try 1.0.")
    return cap


def epsilon_of(amount: int) -> float:
    """Back to epsilon, for people to read."""
    return amount / PER_EPSILON


def delta_of(amount: int) -> float:
    """Back to delta, for people to read."""
    return amount / PER_DELTA


def _exact(name: str, epsilon: float | Fraction) -> Fraction:
    _AMOUNT.check(name, epsilon)
    return _as_written(epsilon)


def _exact_delta(delta: float | Fraction) -> Fraction:
    _SMALL.check("delta", delta)
    return _as_written(delta)


def _as_written(number: float | Fraction) -> Fraction:
    """The number as it was written: 0.1 is one tenth, not the nearest binary fraction."""
    return number if isinstance(number, Fraction) else Fraction(Decimal(repr(float(number))))
