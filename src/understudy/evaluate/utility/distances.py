"""Distances of one-way tables and of conditional distributions (pegs.txt section 4.3).

Every function takes relative frequencies or counts as arrays; none of them knows where the counts came from.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.evaluate.metric import Score
from understudy.evaluate.utility.tables import given_grids, grids, left_out, tables_of_width
from understudy.sources.base import Source

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


def marginal_score(metric: str, which: str, real: Source, synthetic: Source) -> Score:
    """One of the two distances, averaged over columns; the breakdown has one value per column."""
    tables = grids(real, synthetic, tables_of_width(real.codebook, 1))
    parts = {name: float(getattr(marginal_distance(a, b), which)) for (name,), a, b in tables}
    return Score(metric=metric, value=float(np.mean(list(parts.values()))), breakdown=parts)


def conditional_score(metric: str, which: str, real: Source, synthetic: Source, conditional_on: str | None) -> Score:
    """Given one column, or averaged over all ordered pairs; the breakdown says "other | given"."""
    tables = given_grids(real, synthetic, conditional_on)
    parts = {f"{other} | {given}": float(getattr(conditional_distance(a, b), which)) for (given, other), a, b in tables}
    if not parts:
        return Score(metric=metric, value=float("nan"), note="no column has another to be given.")
    return Score(
        metric=metric,
        value=float(np.mean(list(parts.values()))),
        breakdown=parts,
        note="Given levels that no real row has are left out; one that no synthetic row has counts as uniform."
        + left_out(real.codebook, 2),
    )
