"""Choose one candidate by a private score: the exponential mechanism, drawn exactly [MT07].

P(i) is proportional to e^(epsilon u_i / (2 Delta)), or e^(epsilon u_i / Delta) where all scores move the same way
between neighbours. Scores are put on a binary grid and the sensitivity is enlarged to cover that rounding and the float
error of the scores; from there on only integers are drawn and compared. See ``proofs/exponential_selection.md``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from understudy.errors import DataError, ParameterError
from understudy.mechanisms.discrete_laplace import RELATION, float_above
from understudy.mechanisms.stream import Stream
from understudy.parameters import EPSILON, Flag, Number, Text, Whole, option
from understudy.privacy.events import Event, Orders, Renyi
from understudy.privacy.guarantees import Guarantee, Neighbours, PureDP
from understudy.privacy.secret import Secret

SCORE_ERROR = Fraction(1, 1 << 16)
"""How far a float score may be from the true one, in units of the sensitivity."""

MAX_EPSILON = 1 << 20
"""Beyond this a choice is not private in any sense."""

_FRACTION = Text(
    words=f"a Fraction above 0 and at most {MAX_EPSILON:,}",
    example="Fraction(1, 10)",
    admitted=lambda value: isinstance(value, Fraction) and 0 < value <= MAX_EPSILON,
)
_ENLARGED = 1 + 8 * SCORE_ERROR  # the proof needs 1 + 6 SCORE_ERROR
_UP = 1.0 + 1e-12


@dataclass(frozen=True, kw_only=True)
class ExponentialSelection(Event):
    """Some choices by the exponential mechanism, each at ``epsilon``; a later one may depend on earlier ones."""

    kind: ClassVar[str] = "exponential-selection"
    proof: ClassVar[str | None] = "exponential_selection.md"
    epsilon: Fraction = option(rule=_FRACTION, help="of one choice")
    selections: int = option(rule=Whole(), help="how many choices")
    neighbours: Neighbours = option(rule=RELATION, help="the relation that it is priced for")

    def guarantee(self) -> Guarantee:
        """The sum of the epsilons, rounded up to a float."""
        return PureDP(epsilon=float_above(self.selections * self.epsilon), neighbours=self.neighbours)

    def renyi(self, orders: Orders) -> Renyi:
        """Order epsilon^2 / 8 for each choice, because its log-ratios have range epsilon; at most epsilon each."""
        epsilon = float_above(self.epsilon)
        each = np.minimum(np.asarray(orders, dtype=np.float64) * (epsilon**2 / 8), epsilon)
        return each * (self.selections * _UP)


def selection_event(*, epsilon: float, selections: int, neighbours: Neighbours) -> ExponentialSelection:
    """What ``selections`` calls of :func:`select` at ``epsilon`` each will pay; needs no data."""
    EPSILON.check("epsilon", epsilon)
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
    EPSILON.check("epsilon", epsilon)
    Number(above=0).check("sensitivity", sensitivity)
    Flag().check("monotone", monotone)
    if len(scores) == 0:
        raise ParameterError("`scores` is empty; a choice needs at least one candidate. Name the candidates.")
    if not all(math.isfinite(score) for score in scores):
        raise DataError("some score is not a finite number; a choice among such scores is not private. Mend the score.")
    unit = Fraction(sensitivity)
    step = _power_of_two_below(unit * SCORE_ERROR)
    steps = [round(Fraction(score) / step) for score in scores]
    best = max(steps)
    step_penalty = Fraction(epsilon) * step / (unit * _ENLARGED * (1 if monotone else 2))
    return [step_penalty * (best - each) for each in steps]


def _power_of_two_below(value: Fraction) -> Fraction:
    """The largest power of two that is not above ``value``."""
    power = value.numerator.bit_length() - value.denominator.bit_length()  # value lies in (2^(power-1), 2^(power+1))
    nearest = Fraction(2) ** power
    return nearest if nearest <= value else nearest / 2


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
