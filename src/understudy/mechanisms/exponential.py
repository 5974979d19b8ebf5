"""Choose one candidate by a private score: the exponential mechanism, drawn exactly [MT07].

P(i) is proportional to e^(epsilon u_i / (2 Delta)), or e^(epsilon u_i / Delta) where all scores move the same way
between neighbours. Scores are put on a binary grid and the sensitivity is enlarged to cover that rounding and the float
error of the scores; from there on only integers are drawn and compared. See ``proofs/exponential_selection.md``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from understudy.errors import DataError, ParameterError
from understudy.mechanisms.discrete_laplace import check_epsilon, check_neighbours, float_above
from understudy.mechanisms.stream import Stream
from understudy.privacy.events import Event, Orders, Renyi
from understudy.privacy.guarantees import Guarantee, Neighbours, PureDP
from understudy.privacy.secret import Secret

SCORE_ERROR = Fraction(1, 1 << 16)
"""How far a float score may be from the true one, in units of the sensitivity."""

MAX_EPSILON = 1 << 20
"""Beyond this a choice is not private in any sense."""

_ENLARGED = 1 + 8 * SCORE_ERROR  # the proof needs 1 + 6 SCORE_ERROR
_UP = 1.0 + 1e-12


@dataclass(frozen=True, kw_only=True)
class ExponentialSelection(Event):
    """Some choices by the exponential mechanism, each at ``epsilon``; a later one may depend on earlier ones."""

    kind: ClassVar[str] = "exponential-selection"
    proof: ClassVar[str | None] = "exponential_selection.md"
    epsilon: Fraction
    """Of one choice."""
    selections: int
    neighbours: Neighbours

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction) or not 0 < self.epsilon <= MAX_EPSILON:
            raise ParameterError(
                f"`epsilon` is {self.epsilon!r}; it must be a Fraction above 0 and at most {MAX_EPSILON:,}. "
                "Try Fraction(1, 10)."
            )
        if isinstance(self.selections, bool) or not isinstance(self.selections, int) or self.selections < 1:
            raise ParameterError(
                f"`selections` is {self.selections!r}; it must be a whole number of 1 or more. Try 1, or record no "
                "event where nothing was chosen."
            )
        check_neighbours(self.neighbours)

    def guarantee(self) -> Guarantee:
        """The sum of the epsilons, rounded up to a float."""
        return PureDP(epsilon=float_above(self.selections * self.epsilon), neighbours=self.neighbours)

    def renyi(self, orders: Orders) -> Renyi:
        """Order epsilon^2 / 8 for each choice, because its log-ratios have range epsilon; at most epsilon each."""
        epsilon = float_above(self.epsilon)
        each = np.minimum(np.asarray(orders, dtype=np.float64) * (epsilon**2 / 8), epsilon)
        return each * (self.selections * _UP)

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> "ExponentialSelection":
        """From the plain data of a manifest."""
        try:
            read = {**values, "epsilon": Fraction(values["epsilon"]), "neighbours": Neighbours(values["neighbours"])}
            return cls(**read)
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise ParameterError(
                f"the selection event {values!r} cannot be read ({error}); it needs an `epsilon` like '1/10', "
                "`selections` and a `neighbours` like 'add-remove'. Take the manifest from its original."
            ) from error


def selection_event(*, epsilon: float, selections: int, neighbours: Neighbours) -> ExponentialSelection:
    """What ``selections`` calls of :func:`select` at ``epsilon`` each will pay; needs no data."""
    check_epsilon(epsilon)
    return ExponentialSelection(epsilon=Fraction(epsilon), selections=selections, neighbours=neighbours)


def select(
    scores: Sequence[float] | Secret[Sequence[float]],
    *,
    epsilon: float,
    sensitivity: float,
    monotone: bool,
    neighbours: Neighbours,
    stream: Stream,
) -> tuple[int, ExponentialSelection]:
    """The number of one candidate, and what choosing it cost.

    ``sensitivity`` is the most that one score changes between ``neighbours``; every score is within ``SCORE_ERROR`` of
    its true value in that unit. ``monotone`` says that all scores rise together, or fall together, between neighbours.
    The list of candidates is public: it depends on nothing but earlier releases.
    """
    event = selection_event(epsilon=epsilon, selections=1, neighbours=neighbours)
    values = scores.open() if isinstance(scores, Secret) else scores
    gaps = penalties(values, epsilon=epsilon, sensitivity=sensitivity, monotone=monotone)
    while True:  # a uniform candidate, kept with probability e^-gap; the best one is always kept
        candidate = stream.below(len(gaps))
        if _exp_minus(gaps[candidate], stream):
            return candidate, event


def penalties(scores: Sequence[float], *, epsilon: float, sensitivity: float, monotone: bool) -> list[Fraction]:
    """ln(P(best) / P(i)) of every candidate, exactly as it is drawn; 0 for the best."""
    check_epsilon(epsilon)
    if isinstance(sensitivity, bool) or not isinstance(sensitivity, int | float) or not 0 < sensitivity < math.inf:
        raise ParameterError(f"`sensitivity` is {sensitivity!r}; it must be a finite number above 0. Try 1.0.")
    if not isinstance(monotone, bool):
        raise ParameterError(
            f"`monotone` is {monotone!r}; say True only if all scores move the same way between neighbours. Try False."
        )
    if len(scores) == 0:
        raise ParameterError("`scores` is empty; a choice needs at least one candidate. Name the candidates.")
    if not all(math.isfinite(score) for score in scores):
        raise DataError("some score is not a finite number; a choice among such scores is not private. Mend the score.")
    unit = Fraction(sensitivity)
    step = _power_of_two_below(unit * SCORE_ERROR)
    steps = [round(Fraction(score) / step) for score in scores]
    best = max(steps)
    one = Fraction(epsilon) * step / (unit * _ENLARGED * (1 if monotone else 2))
    return [one * (best - each) for each in steps]


def _power_of_two_below(value: Fraction) -> Fraction:
    """The largest power of two that is not above ``value``."""
    power = value.numerator.bit_length() - value.denominator.bit_length()  # value lies in (2^(power-1), 2^(power+1))
    found = Fraction(2) ** power
    return found if found <= value else found / 2


def _exp_minus(gap: Fraction, stream: Stream) -> bool:
    """Bernoulli(e^-gap) for any gap >= 0 [CKS20 Alg 1]: whole units one by one, then the fraction."""
    whole, part = divmod(gap, 1)
    return all(_exp_minus_part(Fraction(1), stream) for _ in range(whole)) and _exp_minus_part(part, stream)


def _exp_minus_part(gap: Fraction, stream: Stream) -> bool:
    """Bernoulli(e^-gap) for 0 <= gap <= 1: the first k whose Bernoulli(gap / k) fails is odd."""
    run = 1
    while _happens(gap / run, stream):
        run += 1
    return run % 2 == 1


def _happens(chance: Fraction, stream: Stream) -> bool:
    """Bernoulli(chance), exact."""
    return stream.below(chance.denominator) < chance.numerator
