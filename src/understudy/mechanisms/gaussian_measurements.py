"""Counts measured with discrete Gaussian noise, several times over where they matter more.

What is spent are *units*: how many times a record can move a number by 1 under noise of the event's variance. A table
measured r times is known with variance / r after averaging: noisy whole numbers are added up, and only their sum is
divided. Where the variance is large the same is had from one draw: whole multiples of the counts under noise of another
variance. So are interactions, which hold nothing of the margins of a table and cost less for it. One number of units,
fixed before the data is read, pays for all measurements together, whichever are chosen on the way
(``proofs/gaussian_measurements.md``).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from understudy.errors import RefusalError
from understudy.mechanisms.discrete_gaussian import (
    LEAST_DELTA,
    LEAST_VARIANCE,
    MAX_DEVIATION,
    MIN_DEVIATION,
    SPREAD,
    VARIANCE,
    discrete_gaussian,
    first_fit,
    gaussian_delta,
    smooth_delta,
    variance_for,
)
from understudy.mechanisms.discrete_laplace import RELATION, clamped_sum, count_sensitivity, float_above
from understudy.mechanisms.exact_gaussian import exact_gaussian
from understudy.mechanisms.exact_laplace import COUNT_LIMIT, LIMIT, MAX_SCALE, SCALE_BITS
from understudy.mechanisms.stream import Stream
from understudy.parameters import DELTA, EPSILON, Whole, option
from understudy.privacy.events import Event, Orders, Renyi
from understudy.privacy.guarantees import ApproxDP, Guarantee, Neighbours
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable

MOST_COPIES = 1 << 21
"""Measurements of one table that may be averaged: the sum of so many noisy counts stays within 64 bits."""

assert MOST_COPIES * LIMIT < 1 << 63

_FINE = 4096
"""Variance that a joined measurement should have at least, so that what is given up is small beside it."""
MOST_CELLS, _MOST_TIMES = 1024, 1024
"""Cells of an interaction, and multiples of a count: they stay exact up to a thousand million records."""

_MOST_UNITS = 1 << 40
"""So many the proof adds up."""
_TOO_LITTLE = Fraction("31.98") ** 2
"""Variance that is surely too little for units to be joined."""
_EPSILONS = 1 << 32
_GRID = 1 << SCALE_BITS
_UP = 1 + 1e-12
Values = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class GaussianMeasurements(Event):
    """Discrete Gaussian measurements, of which a record can move at most ``units`` numbers by 1 each."""

    kind: ClassVar[str] = "gaussian-measurements"
    proof: ClassVar[str | None] = "gaussian_measurements.md"
    variance: Fraction = option(rule=VARIANCE, help="of the noise of one measurement")
    units: int = option(rule=Whole(most=_MOST_UNITS), help="how many measured numbers a record can move by 1 each")
    delta: float = option(rule=DELTA, help="at which the guarantee states its epsilon")
    neighbours: Neighbours = option(rule=RELATION, help="the relation that it is priced for")

    def guarantee(self) -> Guarantee:
        """The smallest epsilon, on a grid of 2^-32, whose exact sum is within ``delta``."""
        epsilon = _smallest_epsilon(self.variance, self.units, self.delta)
        return ApproxDP(epsilon=epsilon, delta=self.delta, neighbours=self.neighbours)

    def renyi(self, orders: Orders) -> Renyi:
        """Order times rho = units / (2 variance)."""
        return orders * (float_above(Fraction(self.units) / (2 * self.variance)) * _UP)

    @property
    def joins(self) -> bool:
        """Whether several units may be joined into one draw."""
        return self.variance >= LEAST_VARIANCE and self.delta >= LEAST_DELTA

    def joined_deviation(self, share: Fraction) -> Fraction:
        """Of one draw that costs as many units as a record's squared length is multiples of ``share``."""
        variance = (self.variance + SPREAD) * share + SPREAD
        return Fraction(math.ceil(math.sqrt(variance) * (1 + 1e-12) * _GRID), _GRID)

    def sums_variance(self, *, squared: int, units: int) -> float | None:
        """Of the noise that :meth:`Meter.sums` would add, or None where none is drawn or proved."""
        deviation = self.joined_deviation(Fraction(squared, max(units, 1)))
        return float(deviation) ** 2 if self.joins and deviation <= MAX_SCALE else None


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


def joining_event(
    *, epsilon: float, delta: float, neighbours: Neighbours, units: Iterable[int]
) -> GaussianMeasurements | None:
    """The event of the first number of units under whose noise they can be joined into one draw; needs no data."""
    EPSILON.check("epsilon", epsilon)
    target = Fraction(min(epsilon, float(1 << 20)))
    for number in units:
        if delta >= LEAST_DELTA and smooth_delta(number / (_TOO_LITTLE - SPREAD), target) <= delta:
            continue  # less noise is enough, as adding it up would find too, in a long time
        event = gaussian_measurements_event(epsilon=epsilon, delta=delta, units=number, neighbours=neighbours)
        if event.variance >= LEAST_VARIANCE:
            return event
    return None


@lru_cache(maxsize=256)
def gaussian_sums_event(*, epsilon: float, delta: float, neighbours: Neighbours) -> GaussianMeasurements:
    """An event with so many units that their variance lets :meth:`Meter.sums` join them; needs no data."""
    units = (1 << bits for bits in range(10, 40, 2))
    event = joining_event(epsilon=epsilon, delta=delta, neighbours=neighbours, units=units)
    if event is None:
        raise RefusalError(f"epsilon {epsilon:g} leaves hardly any noise to share out. Use a smaller epsilon.")
    return event


class Meter:
    """Takes measurements against a fixed number of units, and none beyond it."""

    def __init__(self, event: GaussianMeasurements, stream: Stream) -> None:
        self.event = event
        self._stream = stream
        self.units = self.left = event.units
        self.rows = 1
        """Rows of a table that one unit of protection adds at most."""

    def apart(self, units: int, *, rows: int) -> "Meter":
        """A part of the units, for tables to which a person adds up to ``rows`` rows (``proofs/histories.md``)."""
        if units < 1 or units > self.left or rows < 1:
            raise RefusalError(f"{units} units for {rows} rows of a person were asked for and {self.left} are left.")
        if rows > 1 and not self.event.joins:
            raise RefusalError(
                f"{rows} rows of each person cannot be measured under so little noise; use one, or a smaller epsilon."
            )
        self.left -= units
        part = Meter(self.event, self._stream)
        part.units = part.left = units
        part.rows = rows
        return part

    @property
    def step(self) -> int:
        """How many cells of a table one record moves."""
        return count_sensitivity(self.event.neighbours)

    @property
    def number_price(self) -> int:
        """Units of measuring a number that every row moves by 1: rows of one person may all move the same one."""
        return self.rows**2

    @property
    def table_price(self) -> int:
        """Units of one measurement of a table."""
        return self.step * self.number_price

    def _spend(self, copies: int, *, each: int) -> None:
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
        grid = _grouped(counts.open(), groups)
        if self.rows > 1 or (self.event.joins and copies > 1):
            return self._multiplied(grid, copies)
        average: Values = self._sums(grid, copies) / copies
        return average

    def _multiplied(self, exact: npt.NDArray[np.int64], copies: int) -> Values:
        """The average of ``copies`` measurements in one draw: a multiple of every number under one noise."""
        times = min(math.isqrt(math.ceil(_FINE * copies / self.event.variance)) + 1, _MOST_TIMES)
        return self._joined(times * exact, Fraction(times**2, copies)) / times

    def interaction(
        self, counts: Secret[CountTable], *, copies: int, groups: Sequence[npt.NDArray[np.int64]] | None = None
    ) -> tuple[Values, float]:
        """What a table says beyond its margins: every cell minus what they explain, and the variance of its noise.

        Costs what ``copies`` measurements of the table cost, and has less noise than they. Measured are the whole
        numbers (a - 1)(b - 1) n_ij - ... of a table of a x b cells, each a multiple ab of the interaction; a record
        moves them by a vector of squared length ab(a - 1)(b - 1), and by less than twice that of a table when it is
        replaced. Where a table is too large for that it is measured itself.
        """
        units = copies * self.table_price
        table = counts.open()
        shape = tuple(int(group.max()) + 1 for group in groups) if groups is not None else table.sizes
        moved = self.number_price * squared_sensitivity(shape, self.event.neighbours)
        deviation = math.sqrt(moved * float(self.event.variance) / units)
        if not self.event.joins or math.prod(shape) > MOST_CELLS or deviation > MAX_SCALE / 2:
            return centred(self.table(counts, copies=copies, groups=groups)), self.variance(copies)
        self._spend(copies, each=self.table_price)
        whole = math.prod(shape)
        contrasts = _grouped(table, groups)
        for axis, size in enumerate(shape):
            contrasts = size * contrasts - contrasts.sum(axis=axis, keepdims=True)
        share = Fraction(moved, units)
        variance = float(self.event.joined_deviation(share)) ** 2 / whole**2
        return centred(self._joined(contrasts, share) / whole), variance

    def sums(self, exact: npt.NDArray[np.int64], *, squared: int, units: int) -> tuple[Values, float]:
        """Whole numbers that a record moves by a vector of squared length at most ``squared``, and their variance."""
        if self.rows > 1:
            raise RefusalError("sums of several rows of a person are not measured here; measure tables of them.")
        variance = self.event.sums_variance(squared=squared, units=units)
        if variance is None:
            raise RefusalError(
                "noise for these sums cannot be drawn or is not proved; use a larger epsilon, or a delta of "
                f"{LEAST_DELTA:g} or more."
            )
        self._spend(units, each=1)
        return self._joined(exact, Fraction(squared, units)), variance

    def _joined(self, exact: npt.NDArray[np.int64], share: Fraction) -> Values:
        deviation = self.event.joined_deviation(share)
        # neighbours stay as near to each other under this cut; larger numbers would be refused, which tells something
        exact = np.clip(exact, -COUNT_LIMIT, COUNT_LIMIT)
        noisy = clamped_sum(exact, lambda size: exact_gaussian(size, deviation=deviation, stream=self._stream))
        return noisy.astype(np.float64)

    def dependences(
        self, tables: Sequence[Secret[CountTable]], expected: Iterable[npt.NDArray[Any]], *, copies: int
    ) -> Values:
        """How far each table lies from what is ``expected`` in all: the sum of absolute differences, measured.

        What is expected is public, and rounded to whole numbers here. A new record changes one difference of a table,
        and hence its sum, by 1. A replaced one changes two and leaves the parity of the sum as it is, so half of the
        sum changes by at most 1.
        """
        self._spend(copies, each=len(tables) * self.number_price)
        distances = [
            int(np.abs(table.open().to_grid() - np.rint(values).astype(np.int64)).sum())
            for table, values in zip(tables, expected, strict=True)
        ]
        step = self.step
        # neighbours stay as near to each other under this cut; larger numbers would be refused, which tells something
        exact = np.minimum(np.array(distances, dtype=np.int64) // step, COUNT_LIMIT)
        return step * (self._multiplied(exact, copies) if self.rows > 1 else self._sums(exact, copies) / copies)

    def _sums(self, exact: npt.NDArray[np.int64], copies: int) -> npt.NDArray[np.int64]:
        """The sums of ``copies`` noisy copies of every number, all of them whole.

        Whoever divides does so once, at the end. Dividing the noise first and adding the count in floats would round by
        an amount that depends on the count, so that some results would be possible for one of two neighbours only.
        """
        if copies > MOST_COPIES:
            raise RefusalError(f"{copies:,} measurements of one table were asked for; at most {MOST_COPIES:,} add up.")
        noisy = discrete_gaussian(
            np.repeat(exact[np.newaxis], copies, axis=0), variance=self.event.variance, stream=self._stream
        )
        sums: npt.NDArray[np.int64] = noisy.sum(axis=0)
        return sums


def squared_sensitivity(shape: Sequence[int], neighbours: Neighbours) -> int:
    """The squared length by which a record moves the contrasts of a table of this shape, at most."""
    alone = math.prod(size * (size - 1) for size in shape)
    if neighbours is Neighbours.ADD_REMOVE:
        return alone
    least = min(shape)
    return 0 if least < 2 else 2 * alone * least // (least - 1)


def centred(table: Values) -> Values:
    """The table minus what its margins explain: every axis sums to nothing."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def _grouped(table: CountTable, groups: Sequence[npt.NDArray[np.int64]] | None) -> npt.NDArray[np.int64]:
    grid = table.to_grid()
    for axis, group in enumerate(groups or ()):
        grid = _merged(grid, group, axis)
    return grid


def _merged(grid: npt.NDArray[np.int64], group: npt.NDArray[np.int64], axis: int) -> npt.NDArray[np.int64]:
    moved = np.moveaxis(grid, axis, 0)
    out = np.zeros((int(group.max()) + 1, *moved.shape[1:]), dtype=np.int64)
    np.add.at(out, group, moved)
    return np.moveaxis(out, 0, axis)
