"""Conditional tables made of released counts; nothing in them is secret."""

from collections.abc import Sequence

import numpy as np

from understudy.blocks.conditional import DENSE_CELLS
from understudy.blocks.keys import ColumnKey
from understudy.codebook import Codebook
from understudy.mechanisms.smoothing import Weights, counts_by_key
from understudy.sources.tables import CountTable


def released_key(book: Codebook, table: CountTable) -> ColumnKey:
    """The last column of a released table is the child, the others are its key."""
    reads = table.columns[:-1]
    return ColumnKey(reads=reads, sizes=tuple(book.column(name).size for name in reads))


def released_weights(key: ColumnKey, table: CountTable, *, last_row: Sequence[int] | None = None) -> Weights:
    """Cumulative weights by key; the last row is ``last_row``, or else the table's own one-way counts."""
    dense = key.space * table.sizes[-1] <= DENSE_CELLS
    grid, distinct = counts_by_key(table, key_of=key.keys, key_space=key.space, dense=dense)
    grid[-1] = grid.sum(axis=0) if last_row is None else np.array(last_row, dtype=np.uint64)
    return Weights(cumulative=np.cumsum(grid, axis=1, dtype=np.uint64), keys=distinct)
