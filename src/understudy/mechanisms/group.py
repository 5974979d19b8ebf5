"""The price for a whole person: what a mechanism that is private for one record costs for several of them at once.

One wrapper for every event, see ``proofs/group_of_records.md``. At most ``cap`` records of each person take part,
chosen at random. That choice is made here too, because all randomness that a promise depends on is in this package.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from understudy.codebook.unit import MOST_RECORDS
from understudy.errors import ParameterError
from understudy.mechanisms.discrete_laplace import float_above
from understudy.mechanisms.stream import Stream
from understudy.parameters import Whole, option
from understudy.privacy.events import Event, Orders, Renyi, event_from_dict
from understudy.privacy.guarantees import ApproxDP, Guarantee, NoFormal, PureDP
from understudy.privacy.ledger import Entry

_UP = 1.0 + 1e-12


@dataclass(frozen=True, kw_only=True)
class GroupOf(Event):
    """``event``, priced for ``records`` records that belong to one person and change together."""

    kind: ClassVar[str] = "group-of-records"
    proof: ClassVar[str | None] = "group_of_records.md"
    event: Event
    records: int = option(rule=Whole(most=MOST_RECORDS), help="most records of one person")

    def __post_init__(self) -> None:
        super().__post_init__()
        claim = self.event.guarantee() if isinstance(self.event, Event) else None
        if not isinstance(claim, PureDP | ApproxDP) or claim.neighbours.unit != "record" or self.event.proof is None:
            raise ParameterError(
                f"`event` is {self.event!r}; only a proven price for one record can be raised to one for a person."
            )

    @property
    def inner(self) -> Event:
        """The event as the mechanism writes it."""
        return self.event

    def guarantee(self) -> Guarantee:
        """k epsilon, and delta (e^(k epsilon) - 1) / (e^epsilon - 1): k steps, each of one record."""
        claim = self.event.guarantee()
        assert isinstance(claim, PureDP | ApproxDP)
        relation, epsilon = claim.neighbours.of_people, _times(claim.epsilon, self.records)
        if claim.delta == 0:
            return PureDP(epsilon=epsilon, neighbours=relation)
        delta = claim.delta * group_factor(claim.epsilon, self.records)
        if not delta < 1:
            return NoFormal(
                why=f"for a person with {self.records} records the delta of {claim.delta:.3g} per record grows to 1; "
                "lower epsilon, delta or the cap"
            )
        return ApproxDP(epsilon=epsilon, delta=delta, neighbours=relation)

    def renyi(self, orders: Orders) -> Renyi | None:
        """Sum over j = 0 .. k - 1 of k a / (k a - j) times the divergence of order k a - j, for order a.

        For a curve rho a this is k^2 rho a. None where the curve of one record leaves something out.
        """
        if self.event.slack > 0:
            return None
        wanted = np.asarray(orders, dtype=np.float64)
        total = np.zeros_like(wanted)
        for j in range(self.records):
            higher = self.records * wanted - j
            curve = self.event.renyi(higher)
            if curve is None:
                return None
            total += (self.records * wanted / higher) * curve
        if self.records > 1:
            total *= _UP
        claim = self.guarantee()
        return np.minimum(total, claim.epsilon) if isinstance(claim, PureDP) else total

    def to_dict(self) -> dict[str, Any]:
        """As plain data, the event of one record inside."""
        return {"kind": self.kind, "event": self.event.to_dict(), "records": self.records}

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> "GroupOf":
        """From the plain data of a manifest."""
        return cls(event=event_from_dict(values["event"]), records=values["records"])


def _times(epsilon: float, records: int) -> float:
    """The product, rounded up."""
    return float_above(Fraction(epsilon) * records) if math.isfinite(epsilon) else math.inf


def group_factor(epsilon: float, records: int) -> float:
    """1 + e^epsilon + ... + e^((k - 1) epsilon), rounded up; infinite where a float cannot hold it."""
    if records == 1:
        return 1.0
    try:
        return math.fsum(math.exp(step * epsilon) for step in range(records)) * _UP
    except OverflowError:
        return math.inf


def share_of_group(*, epsilon: float, delta: float | None, records: int) -> tuple[float, float | None]:
    """What one record may cost so that a person with ``records`` records costs at most (epsilon, delta).

    >>> share_of_group(epsilon=1.0, delta=None, records=4)
    (0.25, None)
    """
    if records == 1:
        return epsilon, delta
    each = epsilon / records
    if _times(each, records) > epsilon:
        each = math.nextafter(each, 0.0)
    if delta is None:
        return each, None
    slack = delta / group_factor(each, records)
    return each, slack if slack * group_factor(each, records) <= delta else math.nextafter(slack, 0.0)


def for_person(entry: Entry, records: int) -> Entry:
    """The same line priced for a person; what promises no differential privacy for a record promises none for them."""
    claim = entry.guarantee
    if not isinstance(claim, PureDP | ApproxDP) or claim.neighbours.unit != "record":
        return entry
    return replace(entry, event=GroupOf(event=entry.event, records=records))


@dataclass(frozen=True, kw_only=True)
class RecordChoice:
    """Which records of each person take part, left to a stream (:class:`understudy.sources.base.Choice`)."""

    cap: int
    stream: Stream

    def keep(self, people: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Where the records are in memory."""
        return kept_records(people, cap=self.cap, stream=self.stream)

    def key(self) -> str:
        """Where they stay in an engine, which orders them by a hash under this key."""
        return self.stream.fresh_key().bits.hex()


def kept_records(people: npt.NDArray[np.int64], *, cap: int, stream: Stream) -> npt.NDArray[np.bool_]:
    """Which records take part: of each person a random ``cap``, or all where there are no more.

    Every record gets a random key; the smallest keys of each person stay. What happens to one person does not depend on
    any other, which is what the proof needs.
    """
    keys = stream.words(len(people))
    order = np.lexsort((keys, people))
    sorted_people = people[order]
    first = np.ones(len(people), dtype=bool)
    first[1:] = sorted_people[1:] != sorted_people[:-1]
    starts = np.flatnonzero(first)
    rank = np.arange(len(people)) - np.repeat(starts, np.diff(np.append(starts, len(people))))
    kept = np.zeros(len(people), dtype=bool)
    kept[order[rank < cap]] = True
    return kept
