"""What the method ``levels`` measures of a commuting table, and with which part of its budget; public facts alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from understudy.commute.levels import PLACE, Level, Pieces, pieces_of
from understudy.commute.places import CommuteInput
from understudy.errors import DataError, RefusalError
from understudy.mechanisms.flow_measurements import FlowMeasurements, measured_deviation
from understudy.privacy.events import Event

Integers = npt.NDArray[np.int64]

MOST_PAIRS = 1 << 22
"""Pairs of units that are all measured; of a level with more, only those are measured that were drawn."""
SPLIT = "flows to single places"
"""The table of flows whose origins are units and whose destinations are places."""

_FULL = 25.0  # flows of every level that is measured in full: equal noise at every zoom
_HOMES, _COARSE_HOMES = 8.0, 1.0  # workers by home: of places, and of every coarser level
_SPLIT = 6.0  # flows from the finest units that are measured in full to single destinations
_LISTED = 3.0  # flows that were drawn, of each level with too many pairs
_GROUPS = 1.5  # every characteristic, by home and by work


@dataclass(frozen=True, kw_only=True, eq=False)
class Hierarchy:
    """Trees of origins and of destinations with the same levels, the last of which are the places."""

    levels: tuple[Level, ...]
    origins: Integers
    """Which place every possible origin is."""
    destinations: Integers
    homes: Pieces
    work: Pieces
    totals: Integers
    """Workers of every destination; public."""
    groups: Mapping[str, tuple[str, ...]]
    """Columns of each characteristic."""

    places: tuple[str, ...]
    """Names of all places."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of all levels, coarse to fine."""
        return (*(level.name for level in self.levels), PLACE)

    @cached_property
    def measured(self) -> int:
        """How many levels, from the coarsest on, have all their pairs measured."""
        pairs = [home * work for home, work in zip(self.homes.sizes, self.work.sizes, strict=True)]
        return sum(number <= MOST_PAIRS for number in pairs)

    def is_public(self, step: int) -> bool:
        """Whether all origins lie in one unit of a level, whose flows are then the public totals of destinations."""
        return self.homes.sizes[step] == 1

    @cached_property
    def splits(self) -> bool:
        """Whether flows to single destinations are measured where pairs of places are too many."""
        full = self.measured == len(self.names)
        return not full and self.homes.sizes[self.measured - 1] * self.work.sizes[-1] <= MOST_PAIRS

    def shape(self, step: int) -> tuple[int, int]:
        """Pieces of homes and of work."""
        return self.homes.sizes[step], self.work.sizes[step]

    def work_totals(self, step: int) -> Integers:
        """Workers of every piece of destinations; public."""
        sums = np.bincount(self.work.of[step], weights=self.totals, minlength=self.work.sizes[step])
        return sums.astype(np.int64)

    def pair_parents(self, step: int) -> Integers:
        """The cell of the step before that each pair of pieces lies in; first of all, its column."""
        if step == 0:
            return np.tile(np.arange(self.work.sizes[0]), self.homes.sizes[0])
        cells: Integers = self.homes.parent[step][:, None] * self.work.sizes[step - 1] + self.work.parent[step]
        return cells.reshape(-1)

    @cached_property
    def shares(self) -> dict[str, float]:
        """Part of the budget of every table that is measured."""
        weights: dict[str, float] = {}
        for step, name in enumerate(self.names):
            if self.is_public(step):
                continue
            if step < self.measured:
                weights[f"flows:{name}"] = _FULL
            else:
                weights[f"drawn:{name}"] = _LISTED
            weights[f"homes:{name}"] = _HOMES if name == PLACE else _COARSE_HOMES
        if self.splits:
            weights[SPLIT] = _SPLIT
        for name in self.groups:
            weights[f"home groups:{name}"] = weights[f"work groups:{name}"] = _GROUPS
        whole = sum(weights.values())
        return {name: weight / whole for name, weight in weights.items()}

    def units(self, event: FlowMeasurements) -> dict[str, int]:
        """The shares in whole units of the price."""
        units = {name: int(share * event.units) for name, share in self.shares.items()}
        if min(units.values()) < 1:
            raise RefusalError(f"{len(units)} tables are too many to measure; leave levels or characteristics out.")
        return units


def noise_of(hierarchy: Hierarchy, event: Event) -> dict[str, float]:
    """Deviation of the noise of every table that is measured; public."""
    assert isinstance(event, FlowMeasurements)
    return {name: measured_deviation(event, units) for name, units in hierarchy.units(event).items()}


def build_hierarchy(given: CommuteInput) -> Hierarchy:
    """The trees of a table: places and levels are public, and so are destinations with their totals."""
    flows, places = given.flows, given.places
    names = tuple(flows.origins.to_pylist())
    levels: tuple[Level, ...] = ()
    if places is None:
        both = tuple(dict.fromkeys((*names, *flows.destinations)))
        number = {name: at for at, name in enumerate(both)}
        origins, destinations = (np.array([number[name] for name in side]) for side in (names, flows.destinations))
    else:
        both, levels = places.names, places.levels
        origins, destinations = places.positions(names, "origin"), places.positions(flows.destinations, "destination")
    hierarchy = Hierarchy(
        places=both,
        levels=levels,
        origins=origins,
        destinations=destinations,
        homes=pieces_of([level.of[origins] for level in levels], len(origins)),
        work=pieces_of([level.of[destinations] for level in levels], len(destinations)),
        totals=flows.totals,
        groups=flows.groups,
    )
    if len(names) < 2:
        raise DataError(f"the domain has {len(names)} origin; with fewer than two there is nothing to protect.")
    if hierarchy.measured == 0:
        coarsest = hierarchy.names[0]
        raise DataError(
            f"the level {coarsest!r} has {hierarchy.homes.sizes[0]:,} x {hierarchy.work.sizes[0]:,} pairs; at most "
            f"{MOST_PAIRS:,} can be measured. Give `places` a coarser level (a column such as tract or county, named "
            "with `levels`), or name a `certificate` for the method dirichlet, which needs none."
        )
    return hierarchy
