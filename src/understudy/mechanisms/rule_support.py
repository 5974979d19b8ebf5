"""Which combinations of pairs of columns have support, for rules learned at a price.

Every pair of columns is a :mod:`understudy.mechanisms.stability` histogram: combinations that occur get noise, and
show where the noisy count reaches a threshold. One event pays for all pairs together: ``proofs/rule_support.md``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

from understudy.mechanisms.discrete_laplace import RELATION, SCALE, count_sensitivity, discrete_laplace, float_above
from understudy.mechanisms.laplace_tables import share_of
from understudy.mechanisms.stability import THRESHOLD, shown_cells, stability_delta, stability_threshold
from understudy.mechanisms.stream import Stream
from understudy.parameters import Whole, option
from understudy.privacy.events import Event
from understudy.privacy.guarantees import ApproxDP, Guarantee, Neighbours, NoFormal
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable


@dataclass(frozen=True, kw_only=True)
class RuleSupport(Event):
    """Noisy counts of the occupied combinations of ``pairs`` pairs of columns, shown from a threshold on."""

    kind: ClassVar[str] = "rule-support"
    proof: ClassVar[str | None] = "rule_support.md"
    scale: Fraction = option(rule=SCALE, help="of the discrete Laplace noise")
    threshold: int = option(rule=THRESHOLD, help="smallest noisy count that is shown")
    pairs: int = option(rule=Whole(most=1 << 12), help="pairs of columns that are counted")  # delta is a power of it
    neighbours: Neighbours = option(rule=RELATION, help="the relation that it is priced for")

    def guarantee(self) -> Guarantee:
        """k times epsilon, and delta 1 - (1 - delta_1)^k: none of the k tables may fail. Both are rounded up."""
        kept = (1 - Fraction(stability_delta(self.scale, self.threshold))) ** self.pairs
        delta = float_above(1 - kept)
        if delta >= 1:
            return NoFormal(why=f"{self.pairs} pairs shown from {self.threshold} records on have a delta of 1 together")
        epsilon = float_above(self.pairs * count_sensitivity(self.neighbours) / self.scale)
        return ApproxDP(epsilon=epsilon, delta=delta, neighbours=self.neighbours)


def rule_support_event(*, epsilon: float, delta: float, pairs: int, neighbours: Neighbours) -> RuleSupport:
    """The event that spends at most this price on so many pairs; needs no data."""
    scale, threshold = stability_threshold(
        epsilon=share_of(epsilon, pairs), delta=share_of(delta, pairs), neighbours=neighbours
    )
    return RuleSupport(scale=scale, threshold=threshold, pairs=pairs, neighbours=neighbours)


def supported(counts: Sequence[Secret[CountTable]], *, event: RuleSupport, stream: Stream) -> list[CountTable]:
    """Of every pair the combinations that reach the threshold, with their noisy counts."""
    if len(counts) != event.pairs:
        raise ValueError(f"{len(counts)} pairs were counted, and {event.pairs} are paid for")
    noised = partial(discrete_laplace, scale=event.scale, stream=stream)
    return [shown_cells(table.open(), event.threshold, noised) for table in counts]
