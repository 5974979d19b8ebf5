"""The list of everything that was read from private data, and its total.

``total`` is the smallest epsilon that one of our composition theorems proves for all entries together:

- basic composition of epsilons and deltas [DMNS06, DR14 Thm 3.16];
- addition of Renyi curves and conversion to (epsilon, delta) [Mironov17, CKS20 Prop 12] (``conversion``).

Any unpriced read, missing proof or mixture of neighbour relations makes it ``NoFormal``, naming the culprit. A ledger
that promises entropy l-diversity and nothing else totals as the smallest l, and one k-anonymous table alone as its k:
other promises, never added to these.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from understudy.errors import ParameterError
from understudy.privacy.conversion import smallest_epsilon
from understudy.privacy.events import Event, Renyi, UnpricedRead, event_from_dict
from understudy.privacy.guarantees import (
    ApproxDP,
    Guarantee,
    KAnonymous,
    LDiverse,
    NoFormal,
    PureDP,
    differential_privacy,
)

_FIRST_ORDERS = 1.0 + np.geomspace(1e-4, 1e6, 161)
_REFINEMENTS = 3
_WORTHWHILE = 1e-6


@cache
def _proofs() -> frozenset[str]:
    """Names of the proof files that lie beside the mechanisms."""
    return frozenset(path.name for path in (Path(__file__).parents[1] / "mechanisms" / "proofs").glob("*.md"))


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of the ledger."""

    stage: str
    """Which step read the data: codebook, parents, seeds, tables, rows, ..."""
    reads: str
    """What it read, in words."""
    event: Event
    """What prices it."""
    assumptions: tuple[str, ...] = ()
    """What must be public knowledge for the price to be true."""

    @cached_property
    def guarantee(self) -> Guarantee:
        """The price of this line alone; a formal claim without a proof file is none."""
        claim = self.event.guarantee()
        if claim.is_formal and self.event.proof not in _proofs():
            return NoFormal(why=f"{self.stage}: no proof recorded")
        return claim

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for a manifest."""
        return {
            "stage": self.stage,
            "reads": self.reads,
            "guarantee": self.guarantee.to_dict(),
            "proof": self.event.proof,
            "event": self.event.to_dict(),
            "assumptions": list(self.assumptions),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Entry":
        """Read back what :meth:`to_dict` wrote; the price is recomputed from the event, not believed."""
        return cls(
            stage=data["stage"],
            reads=data["reads"],
            event=event_from_dict(data["event"]),
            assumptions=tuple(data["assumptions"]),
        )

    @classmethod
    def unpriced(cls, *, stage: str, reads: str, why: str) -> "Entry":
        """A read that nobody paid for."""
        return cls(stage=stage, reads=reads, event=UnpricedRead(why=why))


@dataclass(frozen=True)
class Ledger:
    """An immutable list of entries; ``+`` joins two lists."""

    entries: tuple[Entry, ...] = field(default=())

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> "Ledger":
        """A ledger of these entries."""
        return cls(tuple(entries))

    def __add__(self, other: "Ledger") -> "Ledger":
        return Ledger(self.entries + other.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def pays_for(self, event: Event) -> bool:
        """Whether some entry prices ``event``, for one record or for a whole person."""
        return any(event in (entry.event, entry.event.inner) for entry in self.entries)

    def unpaid(self, entries: Iterable[Entry]) -> list[Entry]:
        """Those of ``entries`` whose event no line prices; a line pays for one of them, not for two alike."""
        left = list(self.entries)
        missing = []
        for entry in entries:
            paying = next((line for line in left if entry.event in (line.event, line.event.inner)), None)
            if paying is None:
                missing.append(entry)
            else:
                left.remove(paying)
        return missing

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Every assumption once, in order of appearance."""
        return tuple(dict.fromkeys(item for entry in self.entries for item in entry.assumptions))

    def why_informal(self) -> NoFormal | None:
        """The reasons why no total can be claimed, or None."""
        claims = [entry.guarantee for entry in self.entries]
        reasons = [claim.why for claim in claims if isinstance(claim, NoFormal)]
        if not reasons:
            others = sorted({claim.kind for claim in claims if not isinstance(claim, PureDP | ApproxDP)})
            relations = sorted({claim.neighbours.value for claim in claims if isinstance(claim, PureDP | ApproxDP)})
            if others == [LDiverse.kind] and not relations:
                return None  # a promise of its own kind
            if others == [KAnonymous.kind] and not relations:
                if len(claims) == 1:
                    return None  # a property of one table
                reasons = ["k-anonymity is a property of one table; several tables together have none"]
            elif others:
                reasons = [f"a promise of kind {', '.join(others)} does not add up to differential privacy"]
            elif len(relations) > 1:
                reasons = [f"entries of different neighbour relations ({', '.join(relations)}) cannot be added"]
            elif not relations:
                reasons = ["nothing is recorded, so nothing can be claimed"]
        return NoFormal(why="; ".join(dict.fromkeys(reasons))) if reasons else None

    def basic(self) -> Guarantee:
        """Sum of epsilons and of deltas; the smallest l where that is all that is promised."""
        if informal := self.why_informal():
            return informal
        claims = [entry.guarantee for entry in self.entries]
        diverse = [claim.l for claim in claims if isinstance(claim, LDiverse)]
        if diverse:  # all of them, or why_informal had spoken: every draw keeps its own l
            return LDiverse(l=min(diverse))
        if isinstance(claims[0], KAnonymous):
            return claims[0]
        priced = [claim for claim in claims if isinstance(claim, PureDP | ApproxDP)]  # all of them, of one relation
        epsilon = math.fsum(claim.epsilon for claim in priced)
        return differential_privacy(epsilon, math.fsum(claim.delta for claim in priced), priced[0].neighbours)

    def total(self, *, delta: float | None = None) -> Guarantee:
        """The smallest proven total; ``delta`` is the slack allowed for the whole, None for basic composition only.

        The Renyi order is the best one for this list. That is proved because the list of one release is fixed before
        its first draw; releases that are planned one after another are added up by an account instead.
        """
        basic = self.basic()
        if delta is None or isinstance(basic, NoFormal | LDiverse | KAnonymous):
            return basic
        if not 0 < delta < 1:
            raise ParameterError(f"`delta` is {delta}; it must lie strictly between 0 and 1. Try 1e-6.")
        assert isinstance(basic, PureDP | ApproxDP)
        by_renyi = _renyi_epsilon([entry.event for entry in self.entries], delta)
        # a gain in the seventh digit is not worth the whole of delta
        limit = basic.epsilon * (1 - _WORTHWHILE) if basic.delta <= delta else math.inf
        if by_renyi < limit:
            return ApproxDP(epsilon=by_renyi, delta=delta, neighbours=basic.neighbours)
        return basic

    def renyi_at(self, order: float) -> tuple[float, float]:
        """The Renyi divergence of one order for the whole list, and the probability of what it leaves out.

        An event with a curve adds its divergence, and its slack to what is left out. One without adds its (epsilon,
        delta): outside a part of probability delta its laws are within a factor e^epsilon [KOV15], so their divergence
        of any order is at most epsilon.
        Infinite where no total can be claimed.
        """
        if self.why_informal():
            return math.inf, 0.0
        divergences, slacks = [], []
        for entry in self.entries:
            curve = entry.event.renyi(np.array([order]))
            claim = entry.guarantee
            value = getattr(claim, "epsilon", math.inf) if curve is None else float(curve[0])
            divergences.append(math.inf if math.isnan(value) else max(0.0, value))
            slacks.append(getattr(claim, "delta", 0.0) if curve is None else entry.event.slack)
        return math.fsum(divergences), math.fsum(slacks)

    def to_list(self) -> list[dict[str, Any]]:
        """As plain data, for a manifest."""
        return [entry.to_dict() for entry in self.entries]

    @classmethod
    def from_list(cls, data: Iterable[dict[str, Any]]) -> "Ledger":
        """Read back what :meth:`to_list` wrote."""
        return cls(tuple(Entry.from_dict(item) for item in data))


def _renyi_epsilon(events: Sequence[Event], delta: float) -> float:
    """Add the Renyi curves and convert; infinite when some event has none.

    What has a delta of its own is taken off first: the slack of a curve, which holds outside an event of that
    probability (delta-approximate Renyi DP adds up so [BS16 section 8]), and the delta of an event without a curve,
    which is added by basic composition, (epsilon_1 + epsilon_2, delta_1 + delta_2) [DR14 Thm 3.16].
    """
    with_curve: list[Event] = []
    rest: list[Guarantee] = []
    for event in events:
        if event.renyi(_FIRST_ORDERS[:1]) is None:
            rest.append(event.guarantee())
        else:
            with_curve.append(event)
    taken = math.fsum([*(getattr(claim, "delta", 0.0) for claim in rest), *(event.slack for event in with_curve)])
    if not with_curve or taken >= delta:
        return math.inf
    left = delta - taken
    best, order = _convert(with_curve, _FIRST_ORDERS, left)
    width = math.log(_FIRST_ORDERS[1] - 1) - math.log(_FIRST_ORDERS[0] - 1)
    for _ in range(_REFINEMENTS):
        around = 1.0 + np.exp(math.log(order - 1) + np.linspace(-width, width, 41))
        refined, refined_order = _convert(with_curve, around, left)
        if refined <= best:
            best, order = refined, refined_order
        width /= 10
    return best + math.fsum(getattr(claim, "epsilon", math.inf) for claim in rest)


def _convert(events: Sequence[Event], orders: np.ndarray, delta: float) -> tuple[float, float]:
    curve, bounds = np.zeros(len(orders)), dict[Any, Renyi]()
    for event in events:  # a list often holds one event many times
        key = _key_of(event)
        if key not in bounds:
            bound = event.renyi(orders)
            assert bound is not None
            bounds[key] = bound
        curve += bounds[key]
    return smallest_epsilon(orders, curve, delta)


def _key_of(event: Event) -> Any:
    """What equal events share. Events of methods from outside may hold lists, which have no hash: each is its own."""
    try:
        hash(event)
    except TypeError:
        return id(event)
    return event


def stream_entries(secure: bool) -> list[Entry]:
    """What a seed does to every promise."""
    if secure:
        return []
    why = "the randomness was seeded, so whoever knows or guesses the seed can undo it"
    return [Entry.unpriced(stage="randomness", reads="a seed instead of the secure stream", why=why)]
