"""Secret flows between places, counted between coarser units and measured with discrete Gaussian noise.

Every worker is one record, and is in one cell of each table that is measured here: one pair of units, one home, one
group of a characteristic in one unit. So each table costs the same, however large it is, and one Gaussian price pays
for all of them (``proofs/flow_measurements.md``). Which units are taken, and which pairs are listed, may depend on
earlier results, never on the flows.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from understudy.errors import RefusalError
from understudy.mechanisms.discrete_laplace import count_sensitivity
from understudy.mechanisms.gaussian_measurements import GaussianMeasurements, Meter, joining_event
from understudy.parameters import Text, option
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.secret import Secret
from understudy.sources.flows import GroupCells, Histograms

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

TIMES = 64
"""Counts are measured as such multiples, beside which the rounding of noise to whole numbers is small."""


@dataclass(frozen=True, kw_only=True)
class FlowMeasurements(GaussianMeasurements):
    """Discrete Gaussian measurements of flows: a worker who moves changes two cells of every table by 1 each."""

    kind: ClassVar[str] = "flow-measurements"
    proof: ClassVar[str | None] = "flow_measurements.md"
    neighbours: Neighbours = option(
        rule=Text(
            words="Neighbours.ORIGIN, the only relation that this is proved for",
            example="Neighbours.ORIGIN",
            admitted=lambda value: value is Neighbours.ORIGIN,
        ),
        help="the relation that it is priced for",
    )


@lru_cache(maxsize=64)
def flow_event(*, epsilon: float, delta: float) -> FlowMeasurements:
    """So many units that they can be shared out among tables, each of them joined into one draw; needs no data."""
    units = (1 << bits for bits in range(16, 35, 2))
    event = joining_event(epsilon=epsilon, delta=delta, neighbours=Neighbours.ORIGIN, units=units)
    if event is None:
        raise RefusalError(f"epsilon {epsilon:g} leaves hardly any noise to share out. Use a smaller epsilon.")
    return FlowMeasurements(variance=event.variance, units=event.units, delta=delta, neighbours=Neighbours.ORIGIN)


@dataclass(frozen=True, kw_only=True, eq=False)
class FlowMeter:
    """The flows and the meter that pays for what is measured of them."""

    cells: Secret[Histograms]
    meter: Meter
    groups: Mapping[str, Secret[GroupCells]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """The lengths are those of one worker whose origin, and perhaps group, changes."""
        if not isinstance(self.meter.event, FlowMeasurements) or not self.meter.event.joins:
            raise RefusalError(
                "flows are measured at the price of flow measurements only, with a delta of 1e-40 or more."
            )

    def pairs(self, homes: Integers, work: Integers, shape: tuple[int, int], *, units: int) -> tuple[Floats, float]:
        """Workers between every unit of homes and every unit of work, row by row, and the variance of the noise.

        ``homes`` and ``work`` say in which unit every origin and every destination lies.
        """
        cells = self.cells.open()
        where = homes[cells.units] * shape[1] + work[cells.rows]
        return self._measured(_added(where, cells.counts, shape[0] * shape[1]), units)

    def homes(self, homes: Integers, number: int, *, units: int) -> tuple[Floats, float]:
        """Workers who live in every unit, and the variance of the noise."""
        cells = self.cells.open()
        return self._measured(_added(homes[cells.units], cells.counts, number), units)

    def listed(
        self, homes: Integers, work: Integers, pairs: Integers, width: int, *, units: int
    ) -> tuple[Floats, float]:
        """Workers of the listed pairs of units alone; a pair is home * width + work, ascending, each once."""
        cells = self.cells.open()
        where = homes[cells.units] * width + work[cells.rows]
        at = np.minimum(np.searchsorted(pairs, where), max(len(pairs) - 1, 0))
        hit = pairs[at] == where if len(pairs) else np.zeros(len(where), dtype=np.bool_)
        return self._measured(_added(at[hit], cells.counts[hit], len(pairs)), units)

    def characteristic(
        self, name: str, unit: Integers, number: int, *, by_home: bool, units: int
    ) -> tuple[Floats, float]:
        """Workers of every group in every unit, and the variance; ``unit`` is that of every origin or destination."""
        cells = self.groups[name].open()
        where = unit[cells.units if by_home else cells.rows]
        kinds = cells.counts.shape[1]
        counts = np.zeros((number, kinds), dtype=np.int64)
        np.add.at(counts, where, cells.counts)
        noisy, variance = self._measured(counts.reshape(-1), units)
        return noisy.reshape(number, kinds), variance

    def _measured(self, counts: Integers, units: int) -> tuple[Floats, float]:
        squared = self.meter.step * TIMES**2
        noisy, variance = self.meter.sums(TIMES * counts, squared=squared, units=units)
        return noisy / TIMES, variance / TIMES**2


def measured_deviation(event: FlowMeasurements, units: int) -> float:
    """Of the noise on one count that so many units buy; needs no data."""
    variance = event.sums_variance(squared=count_sensitivity(event.neighbours) * TIMES**2, units=units)
    if variance is None:
        raise RefusalError(f"{units} units buy too little to measure flows with; use a larger epsilon.")
    return math.sqrt(variance) / TIMES


def _added(where: Integers, counts: Integers, number: int) -> Integers:
    """Whole counts of every cell; floats hold whole numbers below 2^53 exactly."""
    return np.bincount(where, weights=counts, minlength=number).astype(np.int64)
