"""Conditional tables made of counts that are already released: nothing here is secret any more."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from understudy.blocks.keys import ColumnKey
from understudy.codebook import Codebook
from understudy.mechanisms.smoothing import Weights
from understudy.sources.tables import CountTable

_DENSE_CELLS = 1 << 22


def released_key(book: Codebook, table: CountTable) -> ColumnKey:
    """The last column of a released table is the child, the others are its key."""
    reads = table.columns[:-1]
    return ColumnKey(reads=reads, sizes=tuple(book.column(name).size for name in reads))


def released_weights(key: ColumnKey, table: CountTable, *, last_row: Sequence[int] | None = None) -> Weights:
    """Cumulative weights by key; the last row is ``last_row``, or else the table's own one-way counts."""
    codes, counts = table.occupied()
    levels = table.sizes[-1]
    target = codes[:, -1].astype(np.int64)
    parents = [np.ascontiguousarray(codes[:, position]) for position in range(len(key.reads))]
    keys: npt.NDArray[np.int64] = key.keys(parents) if parents else np.zeros(len(target), dtype=np.int64)
    if key.space * levels <= _DENSE_CELLS:
        distinct, slots, rows = None, keys, key.space
    else:
        distinct, slots = np.unique(keys, return_inverse=True)
        rows = len(distinct)
    grid = np.zeros((rows + 1, levels), dtype=np.uint64)
    np.add.at(grid, (slots, target), counts.astype(np.uint64))
    grid[rows] = grid[:rows].sum(axis=0) if last_row is None else np.array(last_row, dtype=np.uint64)
    return Weights(cumulative=np.cumsum(grid, axis=1, dtype=np.uint64), keys=distinct)
