"""Rows from the cells of one table: exact independent draws in proportion to integer weights."""

import numpy as np
import numpy.typing as npt

from understudy.errors import RefusalError
from understudy.mechanisms.stream import Stream


def draw_cells(
    codes: npt.NDArray[np.unsignedinteger], weights: npt.NDArray[np.int64], *, rows: int, stream: Stream
) -> list[npt.NDArray[np.unsignedinteger]]:
    """``rows`` records, each cell with probability exactly weight / total."""
    cumulative = np.cumsum(weights.astype(np.uint64), dtype=np.uint64)
    if len(cumulative) == 0 or cumulative[-1] == 0:
        raise RefusalError(
            "no cell of the released table holds any record, so there is nothing to draw from. Use a larger epsilon, a "
            "larger delta, or fewer and coarser columns. This attempt is paid for: trying again costs again."
        )
    picks = stream.below_each(np.full(rows, cumulative[-1], dtype=np.uint64))
    chosen = codes[np.searchsorted(cumulative, picks, side="right")]
    return [np.ascontiguousarray(chosen[:, column]) for column in range(codes.shape[1])]
