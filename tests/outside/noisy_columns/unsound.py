"""Two methods that break the rules, each in its own way: what Understudy says of them is tested."""

import math
from dataclasses import dataclass
from typing import ClassVar

from noisy_columns import NoisyColumns
from understudy.privacy.events import Event
from understudy.privacy.guarantees import Guarantee, Neighbours, PureDP
from understudy.privacy.ledger import Entry
from understudy.synth.method_facts import synthesis_facts
from understudy.synth.released import Perturbed, ReleasedRecipe


def _facts(name):
    return synthesis_facts(
        name,
        route="N",
        guarantee="what it says itself",
        public="levels",
        paper="an example",
        paper_claim="nothing",
        sound="our own",
        truth="Nobody has checked it.",
        page="noisy-columns",
        proofs=("geometric_histogram",),
    )


@dataclass(frozen=True, kw_only=True)
class Cheap(Event):
    """Claims a price, and the name of a proof of ours."""

    kind: ClassVar[str] = "cheap"
    proof: ClassVar[str] = "geometric_histogram.md"
    epsilon: float

    def guarantee(self) -> Guarantee:
        return PureDP(epsilon=self.epsilon, neighbours=Neighbours.ADD_REMOVE)

    def rdp(self, order: float) -> float:
        return math.inf


@dataclass(frozen=True, kw_only=True)
class OwnEvent(NoisyColumns):
    """Prices what it does by an event of its own."""

    facts = _facts("own-event")
    summary = "prices itself"

    def price(self, book, rows):
        return [Entry(stage="tables", reads="one-way tables", event=Cheap(epsilon=self.epsilon))]

    def perturb(self, source, stream, report):
        made = super().perturb(source, stream, report)
        return Perturbed(way=made.way, tables=made.tables, entries=self.price(source.codebook, 1))


@dataclass(frozen=True, kw_only=True)
class Opener(NoisyColumns):
    """Looks at the exact counts beside what it pays for."""

    facts = _facts("opener")
    summary = "looks"

    def perturb(self, source, stream, report):
        exact = source.count([source.codebook.names])[0].open()
        assert exact is not None
        return super().perturb(source, stream, report)


@dataclass(frozen=True, kw_only=True)
class Terse(NoisyColumns):
    """Says nothing of what its price rests on."""

    facts = _facts("terse")
    summary = "says little"

    def price(self, book, rows):
        return [Entry(stage="tables", reads="one-way tables", event=self.event(book))]


class HalfDone(ReleasedRecipe):
    """What somebody has on the first evening."""

    facts = _facts("half-done")
