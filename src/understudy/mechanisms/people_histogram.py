"""How many people have one record, two, and so on, with noise for one person. See ``proofs/records_per_person.md``."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from understudy.mechanisms.discrete_laplace import (
    SCALE,
    discrete_laplace,
    laplace_renyi,
    pure_claim,
    scale_for,
)
from understudy.mechanisms.stream import Stream
from understudy.parameters import Text, option
from understudy.privacy.events import Event, Orders, Renyi
from understudy.privacy.guarantees import Guarantee, Neighbours
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable

_PEOPLE = Text(
    words="a Neighbours relation of people, who are what is counted: add-remove-person or replace-person",
    example="Neighbours.ADD_REMOVE_PERSON",
    admitted=lambda value: isinstance(value, Neighbours) and value.unit == "person",
)


@dataclass(frozen=True, kw_only=True)
class PeopleHistogram(Event):
    """Discrete Laplace noise on the numbers of people who have 1, 2, ..., cap records."""

    kind: ClassVar[str] = "people-histogram"
    proof: ClassVar[str | None] = "records_per_person.md"
    scale: Fraction = option(rule=SCALE, help="of the discrete Laplace noise")
    neighbours: Neighbours = option(rule=_PEOPLE, help="the relation that it is priced for")

    def guarantee(self) -> Guarantee:
        """One person is in one cell: 1 / scale, rounded up. (A replaced person keeps their number of records.)"""
        return pure_claim(1, scale=self.scale, neighbours=self.neighbours)

    def renyi(self, orders: Orders) -> Renyi:
        """Exact for one more person in one cell."""
        return laplace_renyi(orders, scale=self.scale, neighbours=Neighbours.ADD_REMOVE)


def people_histogram_event(*, epsilon: float, neighbours: Neighbours) -> PeopleHistogram:
    """What :func:`noisy_people` will cost a person; ``neighbours`` may be named for records or for people."""
    return PeopleHistogram(scale=scale_for(epsilon, 1), neighbours=neighbours.of_people)


def noisy_people(counts: Secret[CountTable], *, event: PeopleHistogram, stream: Stream) -> tuple[int, ...]:
    """How common each number of records is, none below 0; where nothing is left, everybody has one record."""
    noisy = np.maximum(discrete_laplace(counts.open().to_grid(), scale=event.scale, stream=stream), 0)
    return tuple(noisy.tolist()) if noisy.any() else (1,)
