"""Distances of one-way tables and of conditional distributions (pegs.txt section 4.3).

Every function takes relative frequencies or counts as arrays; none of them knows where the counts came from.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Distance", "conditional_distance", "marginal_distance"]

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Distance:
    """How far two sets of probabilities lie apart: mean absolute and mean squared difference per level."""

    mae: float
    mse: float


def marginal_distance(real: Counts, synthetic: Counts) -> Distance:
    """Average over the levels of one column of the difference of their shares.

    >>> marginal_distance(np.array([5, 5]), np.array([10, 0]))
    Distance(mae=0.5, mse=0.25)
    """
    gap = _shares(real) - _shares(synthetic)
    return Distance(mae=float(np.abs(gap).mean()), mse=float((gap**2).mean()))


def conditional_distance(real: Counts, synthetic: Counts) -> Distance:
    """Average over the rows (given level) and columns (levels) of the difference of conditional shares.

    Rows that no real record has say nothing about the real table and are left out; a row that the synthetic table
    lacks counts as uniform, the best guess of somebody who has only that table.
    """
    seen = real.sum(axis=1) > 0
    if not seen.any():
        return Distance(mae=0.0, mse=0.0)
    gap = _shares(real[seen]) - _shares(synthetic[seen])
    return Distance(mae=float(np.abs(gap).mean()), mse=float((gap**2).mean()))


def _shares(counts: Counts) -> npt.NDArray[np.float64]:
    totals = counts.sum(axis=-1, keepdims=True)
    uniform = np.full(counts.shape, 1 / counts.shape[-1])
    return np.where(totals > 0, counts / np.maximum(totals, 1), uniform)
