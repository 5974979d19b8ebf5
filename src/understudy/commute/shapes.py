"""Outlines of areas, drawn around their places: Voronoi cells, ended where no place is near, joined by area.

Everything is computed on a flat picture of the region, in whole steps of a grid, and needs no map from anywhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.commute.levels import Level
from understudy.commute.places import Places

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

STEPS = 65535
"""The region is this many steps wide or high, whichever is more: a metre or two for a small state."""
_REACH = 3.0
"""A cell ends at this many times the usual distance between places."""
_FAR = 95
"""What is usual: this percentile of the distances to the nearest place, so that open country belongs to somebody."""
_TINY = 0.002
"""A group of places with a smaller share than this, apart from all others, gets no shape."""
_SMOOTH = 2.5 / 10_000
"""How far an outline of joined cells may be moved to make it simpler, as a share of the region."""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The flat picture: web Mercator, as maps in browsers are, cut to the region."""

    left: float
    top: float
    size: float

    @classmethod
    def around(cls, longitudes: Any, latitudes: Any) -> "Frame":
        """With a margin, so that cells end inside."""
        x, y = mercator(longitudes, latitudes)
        wide, high = float(np.ptp(x)), float(np.ptp(y))
        size = max(wide, high, 1e-7) * 1.12
        return cls(left=float(x.min() + x.max() - size) / 2, top=float(y.min() + y.max() - size) / 2, size=size)

    def steps(self, longitudes: Any, latitudes: Any) -> Floats:
        """Positions on the grid, not yet rounded."""
        x, y = mercator(longitudes, latitudes)
        return np.stack([(x - self.left) / self.size * STEPS, (y - self.top) / self.size * STEPS], axis=-1)


def mercator(longitudes: Any, latitudes: Any) -> tuple[Floats, Floats]:
    """From degrees to the unit square, north at the top."""
    sine = np.sin(np.radians(np.clip(latitudes, -85.0, 85.0)))
    return (np.asarray(longitudes) + 180) / 360, 0.5 - np.log((1 + sine) / (1 - sine)) / (4 * np.pi)


@dataclass(frozen=True, kw_only=True)
class Outlines:
    """Rings of areas: ring ``r`` belongs to area ``areas[r]`` and has the points ``starts[r]`` to ``starts[r + 1]``."""

    areas: Integers
    starts: Integers
    points: Integers
    """Grid steps, two numbers each."""

    @classmethod
    def of_rings(cls, rings: Sequence[tuple[int, Any]]) -> "Outlines":
        """From the area and the points of each ring."""
        kept = sorted(((area, np.asarray(ring)) for area, ring in rings if len(ring) >= 3), key=lambda ring: ring[0])
        return cls(
            areas=np.array([area for area, _ in kept], dtype=np.int64),
            starts=np.cumsum([0, *(len(ring) for _, ring in kept)]).astype(np.int64),
            points=np.clip(np.rint(np.concatenate([np.zeros((0, 2)), *(ring for _, ring in kept)])), 0, STEPS).astype(
                np.int64
            ),
        )


class Cells:
    """Voronoi cells of places. Points without a place around the region end the cells at its edge."""

    def __init__(self, places: Places, frame: Frame) -> None:
        from scipy.spatial import Voronoi, cKDTree

        spots = np.rint(frame.steps(places.longitudes, places.latitudes))
        sites, self.site_of = np.unique(spots, axis=0, return_inverse=True)
        self.site_of = self.site_of.reshape(-1)
        self.sites = len(sites)
        tree = cKDTree(sites)
        nearest = tree.query(sites, k=[2])[0] if len(sites) > 1 else np.full((1, 1), STEPS / 10.0)
        reach = max(_REACH * float(np.percentile(nearest, _FAR)), STEPS / 100)
        self.diagram = Voronoi(np.concatenate([sites, _sea(tree, reach)]))
        self.lonely = self._lonely()

    def _lonely(self) -> Integers:
        """Sites of tiny groups apart from the others, such as points in the sea: they stay places, without a shape."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        ends = self.diagram.ridge_points[(self.diagram.ridge_points < self.sites).all(axis=1)]
        grid = coo_array((np.ones(len(ends)), ends.T), shape=(self.sites, self.sites))
        group = connected_components(grid, directed=False)[1]
        return np.flatnonzero(np.bincount(group)[group] < _TINY * self.sites)

    def rings(self, areas: Integers, *, smooth: bool) -> Outlines:
        """Outlines of the areas that the places belong to, -1 for none; a spot of several places takes the last."""
        owner = np.full(len(self.diagram.points), -1, dtype=np.int64)
        owner[self.site_of] = areas
        owner[self.lonely] = -1
        sides = owner[self.diagram.ridge_points]
        corners = np.asarray(self.diagram.ridge_vertices)
        border = np.flatnonzero((sides[:, 0] != sides[:, 1]) & (corners >= 0).all(axis=1))
        edges, neighbours = corners[border], sides[border]
        points = np.clip(self.diagram.vertices, 0, STEPS)
        arcs = list(_arcs(edges, neighbours))
        rings: list[tuple[int, Any]] = []
        pieces: dict[int, list[Any]] = {}
        for arc, (left, right) in arcs:
            line = points[arc]
            line = simplified(line, STEPS * _SMOOTH) if smooth else line
            for area in (left, right):
                if area >= 0:
                    pieces.setdefault(area, []).append((arc[0], arc[-1], line))
        for area, lines in pieces.items():
            rings += [(area, ring) for ring in _closed(lines)]
        return Outlines.of_rings(rings)


def _sea(tree: Any, reach: float) -> Floats:
    """Points of a grid that lie further than ``reach`` from every place, as far as they can touch a cell."""
    step = max(reach * 0.7, STEPS / 250)
    ticks = np.arange(-4 * reach, STEPS + 4 * reach, step)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    gaps = tree.query(grid)[0]
    inside = (grid > 0).all(axis=1) & (grid < STEPS).all(axis=1)
    return np.asarray(grid[(gaps > reach) & ((gaps < 6 * reach) | ~inside)])


def _arcs(edges: Integers, sides: Integers) -> Iterator[tuple[list[int], tuple[int, int]]]:
    """Edges strung together from corner to corner, where a corner is a point at which three areas meet."""
    at: dict[int, list[int]] = {}
    for number, (start, end) in enumerate(edges.tolist()):
        at.setdefault(start, []).append(number)
        at.setdefault(end, []).append(number)
    corner = {point for point, numbers in at.items() if len(numbers) != 2}
    pairs = [tuple(sorted(pair)) for pair in sides.tolist()]
    used = [False] * len(edges)
    ends = edges.tolist()

    def walk(point: int, number: int) -> list[int]:
        line = [point]
        while True:
            used[number] = True
            point = ends[number][0] if ends[number][1] == point else ends[number][1]
            line.append(point)
            if point in corner or point == line[0]:
                return line
            number = next((other for other in at[point] if not used[other]), -1)
            if number < 0:
                return line

    for start in (*sorted(corner), *at):
        for number in at[start]:
            if not used[number]:
                yield walk(start, number), pairs[number]


def _closed(lines: Sequence[tuple[int, int, Any]]) -> Iterator[Any]:
    """Rings from the arcs of one area, whichever way each of them runs."""
    waiting: dict[int, list[int]] = {}
    for number, (start, end, _) in enumerate(lines):
        waiting.setdefault(start, []).append(number)
        waiting.setdefault(end, []).append(number)
    used = [False] * len(lines)
    for first, (start, end, line) in enumerate(lines):
        if used[first]:
            continue
        used[first] = True
        ring, point = [line], end
        while point != start:
            number = next((other for other in waiting[point] if not used[other]), -1)
            if number < 0:
                break
            used[number] = True
            begin, finish, piece = lines[number]
            ring.append(piece[1:] if begin == point else piece[::-1][1:])
            point = finish if begin == point else begin
        yield np.concatenate(ring)


def simplified(line: Floats, tolerance: float) -> Floats:
    """Fewer points of a line, none of which lies further from the new line than ``tolerance`` (Douglas and Peucker).

    >>> simplified(np.array([[0.0, 0], [1, 0.1], [2, 0], [2, 5]]), 0.5).tolist()
    [[0.0, 0.0], [2.0, 0.0], [2.0, 5.0]]
    """
    if len(line) < 3:
        return line
    keep = np.zeros(len(line), dtype=np.bool_)
    keep[[0, -1]] = True
    if np.array_equal(line[0], line[-1]):  # a closed line is cut at its furthest point first
        keep[int(np.argmax(np.hypot(*(line - line[0]).T)))] = True
    ends = np.flatnonzero(keep)
    waiting = list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))
    while waiting:
        first, last = waiting.pop()
        if last - first < 2:
            continue
        way, middle = line[last] - line[first], line[first + 1 : last] - line[first]
        long = float(np.hypot(*way)) or 1.0
        gaps = np.abs(middle[:, 0] * way[1] - middle[:, 1] * way[0]) / long
        furthest = int(np.argmax(gaps))
        if gaps[furthest] > tolerance:
            keep[first + 1 + furthest] = True
            waiting += [(first, first + 1 + furthest), (first + 1 + furthest, last)]
    return line[keep]


def drawn_outlines(places: Places, levels: Sequence[Level], frame: Frame) -> list[Outlines]:
    """The joined cells of each level; cells that are joined with no other are left as they are."""
    cells = Cells(places, frame)
    return [cells.rings(level.of, smooth=len(level.codes) < len(places)) for level in levels]
