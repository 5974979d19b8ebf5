"""Answers whose prices are chosen as one goes, under caps that were fixed first (proofs/capped_answers.md)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from understudy.mechanisms.discrete_laplace import float_above
from understudy.parameters import OneOf, Text, option
from understudy.privacy.events import Event
from understudy.privacy.guarantees import Guarantee, Neighbours, differential_privacy

_EPSILON = Text(
    words="a Fraction of at least 0",
    example="Fraction(1)",
    admitted=lambda value: isinstance(value, Fraction) and value >= 0,
)
_DELTA = Text(
    words="a Fraction of at least 0 and below 1",
    example="Fraction(1, 10**6)",
    admitted=lambda value: isinstance(value, Fraction) and 0 <= value < 1,
)


@dataclass(frozen=True, kw_only=True)
class CappedAnswers(Event):
    """All answers that are given while their epsilons and deltas add up to no more than these."""

    kind: ClassVar[str] = "capped-answers"
    proof: ClassVar[str | None] = "capped_answers.md"
    epsilon: Fraction = option(rule=_EPSILON, help="what the epsilons of all answers may add up to")
    delta: Fraction = option(rule=_DELTA, help="what their deltas may add up to")
    neighbours: Neighbours = option(rule=OneOf.of(Neighbours), help="the relation that each answer is priced for")

    def guarantee(self) -> Guarantee:
        """The caps themselves. No curve: an answer may lie in two charges, so only sums are proved."""
        return differential_privacy(float_above(self.epsilon), float_above(self.delta), self.neighbours)
