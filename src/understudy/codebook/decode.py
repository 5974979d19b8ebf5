"""Codes back to values: the one place where a bin becomes a number again.

Inside a bin the value is drawn uniformly from the declared grid. That reads no private data, so it costs nothing.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.codebook.book import Codebook
from understudy.codebook.columns import Column, Dates, Levelled
from understudy.codebook.numbers import Continuous, Integer, Number

__all__ = ["BelowEach", "decode_column", "decode_table"]

BelowEach = Callable[[npt.NDArray[np.uint64]], npt.NDArray[np.uint64]]
"""Draws one uniform integer below each bound; supplied by ``mechanisms.stream``."""

Codes = npt.NDArray[np.unsignedinteger]


def decode_table(book: Codebook, codes: Sequence[Codes], below_each: BelowEach, *, packed: bool = False) -> pa.Table:
    """One Arrow column per modelled column; missing values become nulls.

    ``packed`` leaves levels as dictionaries, for a writer that would only make dictionaries of them again.
    """
    arrays = [decode_column(c, col, below_each, packed=packed) for c, col in zip(book.modelled, codes, strict=True)]
    return pa.table(dict(zip(book.names, arrays, strict=True)))


def decode_column(column: Column, codes: Codes, below_each: BelowEach, *, packed: bool = False) -> pa.Array:
    """Values of one column."""
    absent = np.zeros(len(codes), dtype=bool) if column.missing is None else codes == column.missing_code
    proper = np.where(absent, 0, codes)
    if isinstance(column, Levelled):
        index = pa.array(proper.astype(np.int32), mask=absent)
        values = pa.DictionaryArray.from_arrays(index, pa.array(column.levels, type=pa.string()))
        return values if packed else values.cast(pa.string())
    if isinstance(column, Dates):
        days = np.array(column.firsts, dtype="datetime64[D]")
        return pa.array(days[proper], mask=absent, type=pa.date32())
    assert isinstance(column, Number)
    return _decode_number(column, proper, absent, below_each)


def _decode_number(
    column: Number, proper: npt.NDArray[np.integer], absent: npt.NDArray[np.bool_], below_each: BelowEach
) -> pa.Array:
    first = np.array([start for start, _ in column.grids], dtype=np.int64)
    width = np.array([count for _, count in column.grids], dtype=np.uint64)
    steps = first[proper] + below_each(width[proper]).astype(np.int64)
    if isinstance(column, Integer):
        return pa.array(steps, mask=absent, type=pa.int64())
    assert isinstance(column, Continuous)
    return pa.array(steps / 10**column.precision, mask=absent, type=pa.float64())
