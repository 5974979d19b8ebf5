"""Distances between shares of codes, which the metrics of linked tables have in common."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from understudy.codebook import Column
from understudy.evaluate.linked.rows import Ints
from understudy.evaluate.values import is_ordered

Floats = npt.NDArray[np.float64]
MOST_STEPS = 40
"""Columns with more ordered levels are compared in that many bands: shares of single days are noise."""


def coarse(column: Column, codes: Ints) -> tuple[Ints, int]:
    """Codes of a column, in bands where it has very many ordered levels; and how many there are. Unknown stays -1."""
    proper = column.proper_levels
    if not is_ordered(column) or proper <= MOST_STEPS:
        return codes, column.size
    banded = np.where((codes >= 0) & (codes < proper), codes * MOST_STEPS // proper, codes - proper + MOST_STEPS)
    return np.where(codes < 0, -1, banded), MOST_STEPS + column.size - proper


def shares(columns: Sequence[Ints], sizes: Sequence[int]) -> Floats:
    """Share of each combination of codes, among the rows in which all are known."""
    key = np.zeros(len(columns[0]), dtype=np.int64)
    known = np.ones(len(columns[0]), dtype=bool)
    for codes, size in zip(columns, sizes, strict=True):
        key = key * size + codes
        known &= codes >= 0
    counts = np.bincount(key[known], minlength=int(np.prod(sizes)))
    return counts / max(int(counts.sum()), 1)


def distance(first: Floats, second: Floats) -> float:
    """Total variation distance: the largest difference in probability that any event has; 1 against an empty table."""
    if not first.any() or not second.any():
        return float(bool(first.any()) != bool(second.any()))
    return float(np.abs(first - second).sum() / 2)


def independent(table: Floats, sizes: Sequence[int]) -> Floats:
    """What two columns with these shares would give if they had nothing to do with each other."""
    grid = table.reshape(tuple(sizes))
    return np.outer(grid.sum(axis=1), grid.sum(axis=0)).ravel()
