"""Nearest records, by compiled search: the mean over columns of how far two values lie apart (Gower 1971).

Levels without an order are 0 or 1 apart; ordered ones |code - code'| / (levels - 1), a missing value 1 from all others.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook
from understudy.compiled import kernel
from understudy.evaluate.risk.cells import Ints
from understudy.evaluate.values import is_ordered

Floats = npt.NDArray[np.float64]
Scale = tuple[Floats, Ints]
"""For each column the distance of two neighbouring codes (0: no order), and the first code that is in no order."""


def scale_of(book: Codebook, columns: Sequence[str]) -> Scale:
    """How far apart the codes of some columns are."""
    chosen = [book.column(name) for name in columns]
    steps = [1 / (c.proper_levels - 1) if is_ordered(c) and c.proper_levels > 1 else 0.0 for c in chosen]
    return np.array(steps), np.array([c.proper_levels for c in chosen], dtype=np.int64)


def nearest(points: Ints, table: Ints, scale: Scale) -> tuple[Ints, Floats]:
    """For each point the first nearest row of the table, and its distance averaged over the columns.

    >>> found, far = nearest(np.array([[0, 1]]), np.array([[1, 0], [0, 0]]), (np.zeros(2), np.full(2, 2)))
    >>> found.tolist(), far.tolist()
    ([1], [0.5])
    """
    places = np.empty(len(points), dtype=np.int64)
    distances = np.empty(len(points))
    _search(np.ascontiguousarray(points), np.ascontiguousarray(table), *scale, places, distances)
    return places, distances / max(points.shape[1], 1)


@kernel
def _search(points: Ints, table: Ints, steps: Floats, unordered: Ints, places: Ints, distances: Floats) -> None:
    for point in range(len(points)):
        best, where = np.inf, -1
        for row in range(len(table)):
            far = 0.0
            for column in range(points.shape[1]):
                here, there = points[point, column], table[row, column]
                if here != there:
                    if steps[column] == 0.0 or here >= unordered[column] or there >= unordered[column]:
                        far += 1.0
                    else:
                        far += abs(here - there) * steps[column]
                    if far >= best:
                        break
            if far < best:
                best, where = far, row
                if far == 0.0:
                    break
        places[point] = where
        distances[point] = best
