"""How many people have one record, two, and so on, with noise for one person. See ``proofs/records_per_person.md``."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from understudy.errors import ParameterError
from understudy.mechanisms.discrete_laplace import (
    check_scale,
    discrete_laplace,
    float_above,
    laplace_renyi,
    scale_for,
)
from understudy.mechanisms.stream import Stream
from understudy.privacy.events import Event, Orders, Renyi
from understudy.privacy.guarantees import Guarantee, Neighbours, PureDP
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable


@dataclass(frozen=True, kw_only=True)
class PeopleHistogram(Event):
    """Discrete Laplace noise on the numbers of people who have 1, 2, ..., cap records."""

    kind: ClassVar[str] = "people-histogram"
    proof: ClassVar[str | None] = "records_per_person.md"
    scale: Fraction
    neighbours: Neighbours

    def __post_init__(self) -> None:
        check_scale(self.scale)
        if not isinstance(self.neighbours, Neighbours) or self.neighbours.unit != "person":
            raise ParameterError(
                f"`neighbours` is {self.neighbours!r}; people are counted, so the relation is one of people: "
                "add-remove-person or replace-person."
            )

    def guarantee(self) -> Guarantee:
        """One person is in one cell: 1 / scale, rounded up. (A replaced person keeps their number of records.)"""
        return PureDP(epsilon=float_above(1 / self.scale), neighbours=self.neighbours)

    def renyi(self, orders: Orders) -> Renyi:
        """Exact for one more person in one cell."""
        return laplace_renyi(orders, scale=self.scale, neighbours=Neighbours.ADD_REMOVE)

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> "PeopleHistogram":
        """From the plain data of a manifest."""
        try:
            return cls(scale=Fraction(values["scale"]), neighbours=Neighbours(values["neighbours"]))
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise ParameterError(
                f"the event {values!r} cannot be read ({error}); it needs `scale` and `neighbours`. Take the manifest "
                "from its original."
            ) from error


def people_histogram_event(*, epsilon: float, neighbours: Neighbours) -> PeopleHistogram:
    """What :func:`noisy_people` will cost a person; ``neighbours`` may be named for records or for people."""
    return PeopleHistogram(scale=scale_for(epsilon, 1), neighbours=neighbours.of_people)


def noisy_people(counts: Secret[CountTable], *, event: PeopleHistogram, stream: Stream) -> tuple[int, ...]:
    """How common each number of records is, none below 0; where nothing is left, everybody has one record."""
    noisy = np.maximum(discrete_laplace(counts.open().to_grid(), scale=event.scale, stream=stream), 0)
    return tuple(noisy.tolist()) if noisy.any() else (1,)
