"""The public domain of origins as a sampler sees it: units, distance classes around each destination, and an index.

A *unit* is one origin, or one cell of a public partition. Around every destination the units fall into classes by
distance; a class may be one merged cell (everything beyond a cut-off, or long commutes modelled apart). The index finds
an exactly uniform unit of a class without listing the class: a uniform candidate of a box that covers it, redrawn while
it lies outside.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.compiled import kernel
from understudy.mechanisms.stream import below

EARTH_MILES = 3958.7613
"""Mean radius of the earth."""

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_UNITS_PER_CELL = 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Index:
    """Units sorted by the cells of a latitude-longitude grid, row by row."""

    order: Integers
    offsets: Integers
    """Where each grid cell begins in ``order``; one more at the end."""
    shape: npt.NDArray[np.int64]
    """Rows and columns."""
    box: Floats
    """Lowest latitude, lowest longitude, and the two steps, in degrees."""

    @classmethod
    def build(cls, latitudes: Floats, longitudes: Floats) -> "Index":
        """Sort the units into about one grid cell for every two of them."""
        south, west = float(latitudes.min()), float(longitudes.min())
        height = max(float(latitudes.max()) - south, 1e-6)
        width = max(float(longitudes.max()) - west, 1e-6)
        aim = max(1, len(latitudes) // _UNITS_PER_CELL)
        step = max(math.sqrt(height * width / aim), height / 1e5, width / 1e5)
        rows, columns = int(height / step) + 1, int(width / step) + 1
        row = np.minimum(((latitudes - south) / step).astype(np.int64), rows - 1)
        column = np.minimum(((longitudes - west) / step).astype(np.int64), columns - 1)
        cell = row * columns + column
        offsets = np.zeros(rows * columns + 1, dtype=np.int64)
        np.cumsum(np.bincount(cell, minlength=rows * columns), out=offsets[1:])
        return cls(
            order=np.argsort(cell, kind="stable").astype(np.int64),
            offsets=offsets,
            shape=np.array([rows, columns], dtype=np.int64),
            box=np.array([south, west, step, step]),
        )

    @classmethod
    def none(cls) -> "Index":
        """For domains without distances."""
        empty = np.zeros(0, dtype=np.int64)
        return cls(order=empty, offsets=empty, shape=np.zeros(2, dtype=np.int64), box=np.zeros(4))

    def arrays(self) -> tuple[Any, Any, Any, Any]:
        """As the kernels want them."""
        return self.order, self.offsets, self.shape, self.box


@dataclass(frozen=True, kw_only=True, eq=False)
class OriginDomain:
    """Where workers of each destination may come from, as numbers."""

    units: int
    vectors: Floats
    """Unit vectors of the units, and below of the destinations; empty without coordinates."""
    destinations: Floats
    places: Floats
    """Latitude and longitude of each destination, in degrees."""
    edges: Floats
    """Outer edge of each class in radians, ascending; the last one may be infinite."""
    merged: npt.NDArray[np.bool_]
    members: Integers
    """Units of each class around each destination."""
    index: Index

    @property
    def cosines(self) -> Floats:
        """A unit is within an edge when the product of the vectors is at least this."""
        return np.where(np.isfinite(self.edges), np.cos(np.minimum(self.edges, math.pi)), -2.0)

    def geometry(self) -> tuple[Any, ...]:
        """Where units and destinations lie, as the kernels want it."""
        return (self.destinations, self.places, self.vectors, self.edges, self.cosines, *self.index.arrays())

    @property
    def cells(self) -> Integers:
        """Cells of each class: its units, or one where it is merged."""
        return np.where(self.merged, np.minimum(self.members, 1), self.members)


@kernel
def class_of(left: Any, right: Any, cosines: Floats) -> int:
    """Class of one unit around one destination."""
    if len(cosines) == 1:
        return 0
    product = left[0] * right[0] + left[1] * right[1] + left[2] * right[2]
    for place in range(len(cosines) - 1):
        if product >= cosines[place]:
            return place
    return len(cosines) - 1


@kernel
def _box(place: Any, radius: float, shape: Any, box: Any) -> tuple[int, int, int, int]:
    """Rows and columns of a box that holds every unit within ``radius``; generous by one step on every side."""
    rows, columns = shape[0], shape[1]
    if not radius < 1.5:
        return 0, rows - 1, 0, columns - 1
    degrees = math.degrees(radius)
    low = math.floor((place[0] - degrees - box[0]) / box[2]) - 1
    high = math.floor((place[0] + degrees - box[0]) / box[2]) + 1
    first, last = 0, columns - 1
    if abs(place[0]) + degrees < 89.0:
        across = math.degrees(math.asin(min(1.0, math.sin(radius) / math.cos(math.radians(place[0])))))
        if place[1] - across > -180.0 and place[1] + across < 180.0:  # else the box crosses the date line
            first = math.floor((place[1] - across - box[1]) / box[3]) - 1
            last = math.floor((place[1] + across - box[1]) / box[3]) + 1
    return max(low, 0), min(high, rows - 1), max(first, 0), min(last, columns - 1)


@kernel
def count_classes(
    destinations: Any,
    places: Any,
    vectors: Any,
    edges: Any,
    cosines: Any,
    order: Any,
    offsets: Any,
    shape: Any,
    box: Any,
    out: Integers,
    start: int,
    stop: int,
) -> None:
    """How many units each class holds around the destinations from ``start`` to ``stop``; the rest lies beyond."""
    classes = len(cosines)
    reach = edges[classes - 1]
    open_ended = not math.isfinite(reach)
    if open_ended:
        reach = edges[classes - 2] if classes > 1 else 0.0
    for place in range(start, stop):
        inside = 0
        low, high, first, last = _box(places[place], reach, shape, box)
        for row in range(low, high + 1):
            if first > last:
                break
            begin = offsets[row * shape[1] + first]
            end = offsets[row * shape[1] + last + 1]
            for position in range(begin, end):
                kind = class_of(destinations[place], vectors[order[position]], cosines)
                if kind < classes - 1:
                    out[place, kind] += 1
                    inside += 1
        out[place, classes - 1] = len(vectors) - inside


@kernel
def draw_member(kind: int, row: int, geometry: Any, words: Any, position: int) -> tuple[Any, int]:
    """An exactly uniform unit of a class around a destination, and the next word; -1 where the words ran out.

    The class is not empty; ``geometry`` is :meth:`OriginDomain.geometry`.
    """
    destinations, places, vectors, edges, cosines, order, offsets, shape, box = geometry
    if len(cosines) == 1:
        unit, position = below(np.uint64(len(vectors)), words, position)
        return np.int64(unit), position
    low, high, first, last = _box(places[row], edges[kind], shape, box)
    total = 0
    for line in range(low, high + 1):
        total += offsets[line * shape[1] + last + 1] - offsets[line * shape[1] + first]
    while True:
        drawn, position = below(np.uint64(total), words, position)
        if position < 0:
            return np.int64(0), -1
        pick = np.int64(drawn)
        for line in range(low, high + 1):
            begin = offsets[line * shape[1] + first]
            size = offsets[line * shape[1] + last + 1] - begin
            if pick < size:
                unit = order[begin + pick]
                if class_of(destinations[row], vectors[unit], cosines) == kind:
                    return unit, position
                break
            pick -= size


@kernel
def distances(left: Any, right: Any) -> Any:
    """Miles between pairs of unit vectors, by the chord, which is exact for near places too."""
    out = np.empty(len(left))
    for pair in range(len(left)):
        square = 0.0
        for axis in range(3):
            step = left[pair, axis] - right[pair, axis]
            square += step * step
        out[pair] = 2.0 * EARTH_MILES * math.asin(min(1.0, 0.5 * math.sqrt(square)))
    return out


def everywhere(units: int, destinations: int) -> OriginDomain:
    """One class of all units around every destination: no coordinates are needed."""
    return OriginDomain(
        units=units,
        vectors=np.broadcast_to(np.zeros(3), (units, 3)),  # a length and no memory
        destinations=np.broadcast_to(np.zeros(3), (destinations, 3)),
        places=np.broadcast_to(np.zeros(2), (destinations, 2)),
        edges=np.array([math.inf]),
        merged=np.zeros(1, dtype=np.bool_),
        members=np.full((destinations, 1), units, dtype=np.int64),
        index=Index.none(),
    )
