"""Counts of one set of columns, dense where the domain is small and sparse where it is not."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook
from understudy.codebook.unit import COUNTED
from understudy.errors import RefusalError

DENSE_LIMIT = 1 << 24
"""Largest number of cells that is ever laid out in full (128 MiB of 64-bit counts)."""

Codes = npt.NDArray[np.unsignedinteger]


def code_type(levels: int) -> type[np.unsignedinteger]:
    """The smallest unsigned type that holds codes 0 .. levels - 1.

    >>> code_type(25).__name__, code_type(257).__name__
    ('uint8', 'uint16')
    """
    return np.uint8 if levels <= 1 << 8 else np.uint16 if levels <= 1 << 16 else np.uint32


def added_up(codes: npt.NDArray[Any], counts: npt.NDArray[np.int64]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Cells in lexicographic order, each once: the counts of equal ones are added up."""
    order = np.lexsort(codes.T[::-1])
    codes, counts = codes[order], counts[order]
    if not len(codes):
        return codes, counts
    is_first = np.concatenate([[True], (codes[1:] != codes[:-1]).any(axis=1)])
    return codes[is_first], np.add.reduceat(counts, np.flatnonzero(is_first))


def counts_people(book: Codebook) -> bool:
    """Whether a codebook asks how many records people have."""
    return book.unit is not None and book.unit.records_per_person == COUNTED


def people_table(grid: npt.NDArray[np.int64]) -> "CountTable":
    """Numbers of people who have 1, 2, ... records, as a table of counts."""
    return CountTable.dense(("records per person",), grid)


@dataclass(frozen=True, kw_only=True, eq=False)
class CountTable:
    """How many records share each combination of codes of ``columns``.

    Exactly one of the two layouts is present: ``grid`` (one cell per combination, shape ``sizes``), or ``codes`` and
    ``counts`` (occupied cells only, one row of codes each, in lexicographic order).
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    grid: npt.NDArray[np.int64] | None = None
    codes: Codes | None = None
    counts: npt.NDArray[np.int64] | None = None

    @classmethod
    def dense(cls, columns: Sequence[str], grid: npt.NDArray[np.int64]) -> "CountTable":
        """From one count per combination."""
        return cls(columns=tuple(columns), sizes=tuple(grid.shape), grid=grid)

    @classmethod
    def sparse(
        cls, columns: Sequence[str], sizes: Sequence[int], codes: Codes, counts: npt.NDArray[np.int64]
    ) -> "CountTable":
        """From occupied cells in any order; repeated combinations are added up."""
        if len(columns) == 0:
            raise ValueError("a count table has at least one column")
        codes, counts = added_up(codes, counts)
        codes, counts = codes[counts > 0], counts[counts > 0]
        return cls(columns=tuple(columns), sizes=tuple(int(s) for s in sizes), codes=codes, counts=counts)

    @property
    def cells(self) -> int:
        """Size of the public domain, as an exact integer of any size."""
        return math.prod(self.sizes)

    def to_grid(self) -> npt.NDArray[np.int64]:
        """One count per combination; refused for domains beyond ``DENSE_LIMIT``."""
        if self.grid is not None:
            return self.grid
        if self.cells > DENSE_LIMIT:
            raise RefusalError(
                f"the columns {', '.join(self.columns)} have {self.cells:,} combinations; at most {DENSE_LIMIT:,} "
                "are laid out in full. Use fewer columns, or a method that works on occupied cells."
            )
        grid = np.zeros(self.sizes, dtype=np.int64)
        codes, counts = self.occupied()
        grid[tuple(codes.T)] = counts
        return grid

    def occupied(self) -> tuple[Codes, npt.NDArray[np.int64]]:
        """Codes and counts of the occupied cells, in lexicographic order."""
        if self.codes is not None and self.counts is not None:
            return self.codes, self.counts
        assert self.grid is not None
        where = np.nonzero(self.grid)
        kind = code_type(max(self.sizes))
        return np.stack(where, axis=1).astype(kind), self.grid[where]

    def project(self, columns: Sequence[str]) -> "CountTable":
        """Counts of some of the columns, in the order asked for."""
        axes = [self.columns.index(name) for name in columns]
        if self.grid is not None:
            rest = tuple(axis for axis in range(len(self.columns)) if axis not in axes)
            summed = self.grid.sum(axis=rest)
            kept = sorted(axes)
            return CountTable.dense(columns, np.ascontiguousarray(summed.transpose([kept.index(a) for a in axes])))
        codes, counts = self.occupied()
        return CountTable.sparse(columns, [self.sizes[a] for a in axes], codes[:, axes], counts)
