"""Where places without coordinates lie on a map: in the middle of their outlines, or else in a diagram."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from understudy.commute.levels import Level
from understudy.commute.outlines import Drawn, areas_of_rings
from understudy.commute.places import Places

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_WIDE = 1.0
"""Degrees along a side of a diagram, around the point where a degree is equally long both ways."""


def located(places: Places, drawn: Sequence[Drawn]) -> tuple[Places, bool]:
    """The places with coordinates, and whether these are those of a diagram, which says nothing about distances.

    Places that have none lie in the middle of their own outlines, if files of outlines hold all of them.
    """
    if places.has_coordinates:
        return places, False
    own = Level(name="place", codes=places.names, labels=places.labels, of=np.arange(len(places)))
    middles = np.full((len(places), 2), np.nan)
    for file in drawn:
        for number, area in areas_of_rings(file, own).items():
            if np.isnan(middles[area, 0]):  # of several parts, the first is the one that is drawn first
                middles[area] = _middle(file.rings[number][1])
    known = bool(np.isfinite(middles).all())
    longitudes, latitudes = (middles if known else _diagram(places)).T
    return replace(places, longitudes=longitudes, latitudes=latitudes), not known


def _middle(ring: Floats) -> Floats:
    """The centre of gravity of a ring; the mean of its points where it has no area.

    >>> _middle(np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 2.0], [0.0, 2.0]])).tolist()
    [2.0, 1.0]
    """
    start = ring[0]
    here = ring - start
    after = np.roll(here, -1, axis=0)
    twice = here[:, 0] * after[:, 1] - after[:, 0] * here[:, 1]
    if abs(whole := twice.sum()) < 1e-12:
        return np.asarray(ring.mean(axis=0))
    return np.asarray(start + ((here + after) * twice[:, None]).sum(axis=0) / (3 * whole))


def _diagram(places: Places) -> Floats:
    """Longitude and latitude of every place along a curve that fills a square, so that units lie together."""
    order = np.lexsort((np.array(places.names), *(level.of for level in places.levels[::-1])))
    bits = max(1, int(np.ceil(np.log2(max(len(places), 2)) / 2)))
    spots = np.empty((len(places), 2))
    spots[order] = _along_a_curve(np.arange(len(places)) * (4**bits) // len(places), bits)
    return np.asarray((spots / 2**bits - 0.5) * _WIDE, dtype=np.float64)


def _along_a_curve(steps: Integers, bits: int) -> Floats:
    """Points of Hilbert's curve through a square of 2^bits by 2^bits; neighbours on it are neighbours in the square.

    >>> _along_a_curve(np.arange(4), 1).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]
    """
    x, y, left = np.zeros(len(steps), dtype=np.int64), np.zeros(len(steps), dtype=np.int64), steps.copy()
    for bit in range(bits):
        side = 1 << bit
        over = (left // 2) & 1
        up = (left ^ over) & 1
        turned, mirrored = up == 0, (up == 0) & (over == 1)
        x, y = np.where(mirrored, side - 1 - x, x), np.where(mirrored, side - 1 - y, y)
        x, y = np.where(turned, y, x), np.where(turned, x, y)
        x, y, left = x + side * over, y + side * up, left // 4
    return np.stack([x, y], axis=1).astype(np.float64)
