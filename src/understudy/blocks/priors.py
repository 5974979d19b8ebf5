"""Shapes of the virtual records: uniform, order-aware, or that of a public table.

Every shape is public. It multiplies the smallest virtual count, which alone sets the price of a draw.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook, Column, Dates, Number, Ordinal
from understudy.errors import ParameterError
from understudy.mechanisms.smoothing import VirtualRecords
from understudy.privacy.provenance import DECLARED, Provenance

_STEEPEST = 1 << 20


class PriorShape(StrEnum):
    """Shapes that need nothing but the codebook."""

    UNIFORM = "uniform"
    ORDINAL = "ordinal"


@dataclass(frozen=True, kw_only=True)
class PublicShape:
    """Marginal counts of a table that is itself public, by column."""

    counts: Mapping[str, tuple[int, ...]]
    source: str
    """Where the public table came from, for the manifest."""
    provenance: Provenance = DECLARED
    """What it is; a table that a caller counted is what the caller says."""


Shape = PriorShape | PublicShape


def virtual_records(book: Codebook, *, smallest: Fraction, shape: Shape) -> list[VirtualRecords]:
    """Virtual records of every modelled column."""
    return [VirtualRecords.shaped(smallest=smallest, ratios=_ratios(column, shape)) for column in book.modelled]


def _ratios(column: Column, shape: Shape) -> Sequence[int]:
    if isinstance(shape, PublicShape):
        return _public_ratios(column, shape)
    if shape is PriorShape.ORDINAL and isinstance(column, Ordinal | Number | Dates):
        return _triangle(column)
    return [1] * column.size


def _triangle(column: Column) -> list[int]:
    """Rises by one per level towards the middle: extremes are rarer than what lies between. Missing stays at one."""
    proper = column.proper_levels
    ratios = [min(level + 1, proper - level) for level in range(proper)]
    return ratios + [1] * (column.size - proper)


def _public_ratios(column: Column, shape: PublicShape) -> list[int]:
    """Proportional to the public counts plus one, in whole multiples of the smallest, capped at 2^20."""
    counts: npt.NDArray[np.int64] = np.array(shape.counts.get(column.name, ()), dtype=np.int64)
    if len(counts) != column.size:
        raise ParameterError(
            f"the public shape has {len(counts)} counts for column {column.name!r}, which has {column.size} levels; "
            "give one count per level."
        )
    weights = counts + 1
    return [min(int(w) // int(weights.min()), _STEEPEST) for w in weights]
