"""Noisy sums and counts of groups, and from them noisy means: Laplace means with declared bounds.

Every value is cut to its declared bounds and rounded to one of ``2 reach + 1`` whole steps about the middle, so that
one record moves the sum of its group by at most ``reach`` steps. Sums get discrete Laplace noise, counts a geometric
histogram of their own; the means are their quotients, which is post-processing. See ``proofs/bounded_sums.md``.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from understudy.errors import DataError, ParameterError
from understudy.mechanisms.discrete_laplace import (
    RELATION,
    SCALE,
    count_sensitivity,
    discrete_laplace,
    laplace_deviation,
    pure_claim,
    pure_renyi,
    scale_for,
)
from understudy.mechanisms.exact_laplace import COUNT_LIMIT
from understudy.mechanisms.histogram import GeometricHistogram
from understudy.mechanisms.laplace_tables import share_of
from understudy.mechanisms.stream import Stream
from understudy.parameters import EPSILON, Whole, option
from understudy.privacy.events import Event, Orders, Renyi
from understudy.privacy.guarantees import Neighbours, PureDP
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import Secret

REACH = 1 << 10
"""Steps from the middle of the bounds to either end: a value is rounded by at most 1/4096 of the range."""


@dataclass(frozen=True, kw_only=True)
class BoundedSums(Event):
    """Discrete Laplace noise on the sum of every group of a public partition; a record adds at most ``reach`` steps."""

    kind: ClassVar[str] = "bounded-sums"
    proof: ClassVar[str | None] = "bounded_sums.md"
    scale: Fraction = option(rule=SCALE, help="of the discrete Laplace noise, in steps")
    reach: int = option(rule=Whole(), help="most steps that a record adds to a sum")
    neighbours: Neighbours = option(rule=RELATION, help="the relation that it is priced for")

    def guarantee(self) -> PureDP:
        """Reach (twice where a record may be replaced) over scale, rounded up to a float."""
        moved = self.reach * count_sensitivity(self.neighbours)
        return pure_claim(moved, scale=self.scale, neighbours=self.neighbours)

    def renyi(self, orders: Orders) -> Renyi:
        """What holds for every epsilon-DP mechanism [BS16 Prop 3.3]."""
        return pure_renyi(orders, self.guarantee().epsilon)


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupValues:
    """Every record's group (a code of a public list) and value."""

    groups: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyMeans:
    """What was released: noisy sums and counts of all groups, and what follows from them."""

    sums: npt.NDArray[np.float64]
    """Of value minus the middle of the bounds."""
    sum_deviation: float
    """Standard deviation of the noise of each sum."""
    counts: npt.NDArray[np.int64]
    means: npt.NDArray[np.float64]
    """Noisy sum over noisy count (at least 1), cut to the bounds."""
    deviations: npt.NDArray[np.float64]
    """Standard deviation of the noise of each mean, from public numbers and the noisy counts (delta method)."""


def steps_of(values: npt.NDArray[np.float64], *, lower: float, upper: float, reach: int) -> npt.NDArray[np.int64]:
    """Whole steps from the middle of the bounds, within +-reach whatever the value; NaN is refused.

    >>> steps_of(np.array([-5.0, 0.0, 5.0, 10.0, 99.0]), lower=0.0, upper=10.0, reach=4).tolist()
    [-4, -4, 0, 4, 4]
    """
    if np.isnan(values).any():
        raise DataError("some value is missing; a sum needs a number in every record. Leave those records out first.")
    middle, half = (lower + upper) / 2, (upper - lower) / 2
    steps = np.rint((np.clip(values, lower, upper) - middle) / half * reach)
    return np.clip(steps, -reach, reach).astype(np.int64)  # the clip is what the proof rests on


def noisy_means_entries(
    group: str, value: str, *, lower: float, upper: float, epsilon: float, neighbours: Neighbours, reach: int = REACH
) -> tuple[Entry, Entry]:
    """The two lines that :func:`noisy_means` writes in the ledger; half of epsilon each. Needs no data."""
    EPSILON.check("epsilon", epsilon)
    if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
        raise ParameterError(f"the bounds of {value!r} are {lower} and {upper}; declare two finite numbers that rise.")
    if not 0 < (upper - lower) / 2 < math.inf:  # a step would be no number, and no clip holds what is none
        raise ParameterError(f"the bounds of {value!r} are {lower} and {upper}; floats cannot halve what lies between.")
    half = share_of(epsilon, 2)
    sensitivity = count_sensitivity(neighbours)
    known = (
        f"the groups of {group} are public knowledge",
        f"the bounds of {value}, {lower:g} to {upper:g}, are public knowledge",
    )
    sums = BoundedSums(scale=scale_for(half, reach * sensitivity), reach=reach, neighbours=neighbours)
    counts = GeometricHistogram(scale=scale_for(half, sensitivity), neighbours=neighbours)
    return (
        Entry(stage="sums", reads=f"sums of {value} by {group}, cut to its bounds", event=sums, assumptions=known),
        Entry(stage="counts", reads=f"records by {group}", event=counts, assumptions=known[:1]),
    )


def noisy_means(
    records: Secret[GroupValues],
    *,
    groups: int,
    group: str,
    value: str,
    lower: float,
    upper: float,
    epsilon: float,
    neighbours: Neighbours,
    stream: Stream,
    reach: int = REACH,
) -> tuple[NoisyMeans, tuple[Entry, Entry]]:
    """Noisy means of all ``groups`` groups, empty ones among them, and their price."""
    entries = noisy_means_entries(
        group, value, lower=lower, upper=upper, epsilon=epsilon, neighbours=neighbours, reach=reach
    )
    opened = records.open()
    steps = steps_of(opened.values, lower=lower, upper=upper, reach=reach)
    exact = np.zeros(groups, dtype=np.int64)
    np.add.at(exact, opened.groups, steps)  # whole numbers: exact in any order
    tally = np.bincount(opened.groups, minlength=groups).astype(np.int64)
    sums_event, counts_event = entries[0].event, entries[1].event
    assert isinstance(sums_event, BoundedSums) and isinstance(counts_event, GeometricHistogram)
    # neighbours stay as near to each other under this cut; larger numbers would be refused, which tells something
    exact = np.clip(exact, -COUNT_LIMIT, COUNT_LIMIT)
    noisy = discrete_laplace(exact, scale=sums_event.scale, stream=stream)
    counts = np.maximum(discrete_laplace(tally, scale=counts_event.scale, stream=stream), 0)
    return _released(noisy, counts, sums_event, counts_event, lower=lower, upper=upper, reach=reach), entries


def _released(
    noisy: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    sums_event: BoundedSums,
    counts_event: GeometricHistogram,
    *,
    lower: float,
    upper: float,
    reach: int,
) -> NoisyMeans:
    middle, step = (lower + upper) / 2, (upper - lower) / 2 / reach
    people = np.maximum(counts, 1)
    shift = np.clip(noisy * step / people, lower - middle, upper - middle)
    of_sums, of_counts = (laplace_deviation(event.scale) for event in (sums_event, counts_event))
    spread = np.hypot(of_sums * step / people, of_counts * np.abs(shift) / people)
    return NoisyMeans(
        sums=np.asarray(noisy * step, dtype=np.float64),
        sum_deviation=laplace_deviation(sums_event.scale) * step,
        counts=counts,
        means=middle + shift,
        deviations=np.minimum(spread, (upper - lower) / 2),
    )
