"""Counts measured with discrete Gaussian noise, several times over where they matter more.

Every measurement has the same variance, and what is spent is simply how many times a record can move one of them by 1:
the *units*. A table measured r times is known with variance / r after averaging: noisy whole numbers are added up, and
only their sum is divided. One number of units, fixed before the data is read, pays for all measurements together,
whichever are chosen on the way (``proofs/gaussian_measurements.md``).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from understudy.errors import RefusalError
from understudy.mechanisms.discrete_gaussian import (
    MAX_DEVIATION,
    MIN_DEVIATION,
    VARIANCE,
    discrete_gaussian,
    first_fit,
    gaussian_delta,
    variance_for,
)
from understudy.mechanisms.discrete_laplace import RELATION, count_sensitivity, float_above
from understudy.mechanisms.exact_laplace import COUNT_LIMIT, LIMIT
from understudy.mechanisms.stream import Stream
from understudy.parameters import DELTA, EPSILON, Whole, option
from understudy.privacy.events import Event, Orders, Renyi
from understudy.privacy.guarantees import ApproxDP, Guarantee, Neighbours
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable

MOST_COPIES = 1 << 21
"""Measurements of one table that may be averaged: the sum of so many noisy counts stays within 64 bits."""

assert MOST_COPIES * LIMIT < 1 << 63

_EPSILONS = 1 << 32
_UP = 1 + 1e-12
Values = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class GaussianMeasurements(Event):
    """Discrete Gaussian measurements, of which a record can move at most ``units`` numbers by 1 each."""

    kind: ClassVar[str] = "gaussian-measurements"
    proof: ClassVar[str | None] = "gaussian_measurements.md"
    variance: Fraction = option(rule=VARIANCE, help="of the noise of one measurement")
    units: int = option(rule=Whole(), help="how many measured numbers a record can move by 1 each")
    delta: float = option(rule=DELTA, help="at which the guarantee states its epsilon")
    neighbours: Neighbours = option(rule=RELATION, help="the relation that it is priced for")

    def guarantee(self) -> Guarantee:
        """The smallest epsilon, on a grid of 2^-32, whose exact sum is within ``delta``."""
        epsilon = _smallest_epsilon(self.variance, self.units, self.delta)
        return ApproxDP(epsilon=epsilon, delta=self.delta, neighbours=self.neighbours)

    def renyi(self, orders: Orders) -> Renyi:
        """Order times rho = units / (2 variance)."""
        return orders * (float_above(Fraction(self.units) / (2 * self.variance)) * _UP)


@lru_cache(maxsize=1024)
def _smallest_epsilon(variance: Fraction, units: int, delta: float) -> float:
    def fits(steps: int) -> bool:
        return gaussian_delta(variance, units, Fraction(steps, _EPSILONS)) <= delta

    low, high = 0, _EPSILONS
    while not fits(high):
        low, high = high, 2 * high
    return first_fit(fits, low, high) / _EPSILONS


@lru_cache(maxsize=256)
def gaussian_measurements_event(
    *, epsilon: float, delta: float, units: int, neighbours: Neighbours
) -> GaussianMeasurements:
    """The least noise at which ``units`` units stay within (epsilon, delta); needs no data."""
    EPSILON.check("epsilon", epsilon)
    DELTA.check("delta", delta)
    target = Fraction(math.floor(Fraction(min(epsilon, float(1 << 20))) * _EPSILONS), _EPSILONS)

    def fits(deviation: float) -> bool:
        return gaussian_delta(variance_for(deviation), units, target) <= delta

    low, high = float(MIN_DEVIATION), float(MAX_DEVIATION)
    if not fits(high):
        raise RefusalError(
            f"epsilon {epsilon:g} at delta {delta:g} is too small for {units:,} measurements: their noise would exceed "
            f"{MAX_DEVIATION:,} records. Use a larger epsilon or fewer columns."
        )
    if not fits(low):
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if fits(middle) else (middle, high)
            if high - low < 1e-9 * high:
                break
    else:
        high = low
    return GaussianMeasurements(variance=variance_for(high), units=units, delta=delta, neighbours=neighbours)


class Meter:
    """Takes measurements against a fixed number of units, and none beyond it."""

    def __init__(self, event: GaussianMeasurements, stream: Stream) -> None:
        self.event = event
        self._stream = stream
        self.left = event.units
        self.table_price = count_sensitivity(event.neighbours)
        """Units of one measurement of a table: how many of its cells one record moves."""

    def _spend(self, copies: int, *, each: int) -> None:
        if copies > MOST_COPIES:
            raise RefusalError(f"{copies:,} measurements of one table were asked for; at most {MOST_COPIES:,} add up.")
        units = copies * each
        if units < 1 or units > self.left:
            raise RefusalError(f"{units} further units were asked for and {self.left} are paid for.")
        self.left -= units

    def variance(self, copies: int) -> float:
        """Of the average of so many measurements."""
        return float(self.event.variance) / copies

    def table(
        self, counts: Secret[CountTable], *, copies: int, groups: Sequence[npt.NDArray[np.int64]] | None = None
    ) -> Values:
        """Average of ``copies`` measurements of every cell; ``groups`` first adds up levels (public) axis by axis."""
        self._spend(copies, each=self.table_price)
        grid = counts.open().to_grid()
        for axis, group in enumerate(groups or ()):
            grid = _merged(grid, group, axis)
        average: Values = self._sums(grid, copies) / copies
        return average

    def dependence(self, counts: Secret[CountTable], *, expected: npt.NDArray[np.int64], copies: int) -> float:
        """How far a table lies from ``expected`` in all: the sum of absolute differences, measured.

        ``expected`` is public and whole. A new record changes one difference, and hence the sum, by 1. A replaced one
        changes two and leaves the parity of the sum as it is, so half of the sum changes by at most 1.
        """
        self._spend(copies, each=1)
        distance = int(np.abs(counts.open().to_grid() - expected).sum())
        step = self.table_price
        # neighbours stay within 1 of each other under this cut; larger numbers would be refused, which tells something
        exact = np.array([min(distance // step, COUNT_LIMIT)], dtype=np.int64)
        return step * int(self._sums(exact, copies)[0]) / copies

    def _sums(self, exact: npt.NDArray[np.int64], copies: int) -> npt.NDArray[np.int64]:
        """The sums of ``copies`` noisy copies of every number, all of them whole.

        Whoever divides does so once, at the end. Dividing the noise first and adding the count in floats would round by
        an amount that depends on the count, so that some results would be possible for one of two neighbours only.
        """
        noisy = discrete_gaussian(
            np.repeat(exact[np.newaxis], copies, axis=0), variance=self.event.variance, stream=self._stream
        )
        sums: npt.NDArray[np.int64] = noisy.sum(axis=0)
        return sums


def _merged(grid: npt.NDArray[np.int64], group: npt.NDArray[np.int64], axis: int) -> npt.NDArray[np.int64]:
    moved = np.moveaxis(grid, axis, 0)
    out = np.zeros((int(group.max()) + 1, *moved.shape[1:]), dtype=np.int64)
    np.add.at(out, group, moved)
    return np.moveaxis(out, 0, axis)
