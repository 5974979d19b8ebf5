"""Codes back to values: the one place where a bin becomes a number again.

Inside a bin the value is drawn from the declared grid, by the declared shape: no private data is read, nothing is paid.
Numbers that the rules of the codebook put in order are drawn one after the other, each within what its bin and those
before it leave, so that the order holds for values that share a bin too.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.codebook.book import Codebook
from understudy.codebook.columns import Column, Dates, Levelled
from understudy.codebook.numbers import Continuous, Integer, Number
from understudy.codebook.pseudonyms import pseudonyms

__all__ = ["BelowEach", "decode_column", "decode_table"]

BelowEach = Callable[[npt.NDArray[np.uint64]], npt.NDArray[np.uint64]]
"""Draws one uniform integer below each bound; supplied by ``mechanisms.stream``."""

Codes = npt.NDArray[np.unsignedinteger]
_FAR = 1 << 60


def decode_table(
    book: Codebook,
    codes: Sequence[Codes],
    below_each: BelowEach,
    details: Mapping[str, Codes] | None = None,
    *,
    packed: bool = False,
    people: Sequence[int] = (),
) -> pa.Table:
    """One Arrow column per column of a release; missing values become nulls. ``details`` holds the detail codes.

    ``people`` says how common each number of records per synthetic person is, where ids are made.

    ``packed`` leaves levels as dictionaries, for a writer that would only make dictionaries of them again.
    """
    ordered = _ordered_steps(book, codes, below_each) if book.constraints else {}
    arrays = {}
    for column, values in zip(book.modelled, codes, strict=True):
        if column.name in ordered:
            assert isinstance(column, Number)
            arrays[column.name] = _from_steps(column, ordered[column.name], np.asarray(values == column.missing_code))
        else:
            arrays[column.name] = decode_column(column, values, below_each, packed=packed)
    for detail in book.details:
        if details is not None:
            arrays[detail.name] = decode_column(detail, details[detail.name], below_each, packed=packed)
    if book.unit is not None and book.unit.pseudonyms:
        arrays[book.unit.id] = pseudonyms(len(codes[0]), below_each, people)
    return pa.table({column.name: arrays[column.name] for column in book.columns if column.name in arrays})


def _ordered_steps(book: Codebook, codes: Sequence[Codes], below_each: BelowEach) -> dict[str, npt.NDArray[np.int64]]:
    """Values, in steps, of the number columns that order rules compare.

    The codes satisfy the rules, so some values do (difference constraints: every chain fits between the ends of any two
    bins), and drawing lower columns first, each below what the higher ones can still reach, finds some.
    """
    from understudy.codebook.clauses import value_range
    from understudy.codebook.constraints import Orders

    orders = Orders(book.modelled, book.constraints)
    names = [name for name in orders.order if isinstance(book.column(name), Number)]
    low: dict[str, npt.NDArray[np.int64]] = {}
    high: dict[str, npt.NDArray[np.int64]] = {}
    for name in names:
        smallest, largest = value_range(book.column(name))
        found = codes[book.position(name)]
        absent = found >= len(smallest)
        inside = np.where(absent, 0, found)
        low[name] = np.where(absent, -_FAR, smallest[inside])
        high[name] = np.where(absent, _FAR, largest[inside])
    drawn: dict[str, npt.NDArray[np.int64]] = {}
    for name in names:
        start, end = low[name], high[name]
        for other in names:
            if (other, name) in orders.gaps:
                start = np.maximum(start, drawn[other] + orders.gaps[other, name])
            if (name, other) in orders.gaps:
                end = np.minimum(end, high[other] - orders.gaps[name, other])
        known = low[name] > -_FAR
        width = np.where(known, end - start + 1, 1)
        steps = start + below_each(width.astype(np.uint64)).astype(np.int64)
        drawn[name] = np.where(known, steps, -_FAR)
    return drawn


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
    first = np.array([start for start, _ in column.grids], dtype=np.int64)
    width = np.array([count for _, count in column.grids], dtype=np.uint64)
    if column.shape == "log":
        return _from_steps(column, first[proper] + _log_steps(first[proper], width[proper], below_each), absent)
    return _from_steps(column, first[proper] + below_each(width[proper]).astype(np.int64), absent)


def _log_steps(
    first: npt.NDArray[np.int64], width: npt.NDArray[np.uint64], below_each: BelowEach
) -> npt.NDArray[np.int64]:
    """Steps above the first value, evenly in the logarithm: floor of a (b / a)^u, a value as likely as its log gap.

    Public shape and fresh randomness only, so a float is good enough. Zero counts as a half.
    """
    evenly = below_each(np.full(len(first), 1 << 53, dtype=np.uint64)).astype(np.float64) / 2.0**53
    low = np.maximum(first.astype(np.float64), 0.5)
    high = first.astype(np.float64) + width.astype(np.float64)
    drawn = np.floor(low * (high / low) ** evenly).astype(np.int64) - first
    steps: npt.NDArray[np.int64] = np.clip(drawn, 0, width.astype(np.int64) - 1)
    return steps


def _from_steps(column: Number, steps: npt.NDArray[np.int64], absent: npt.NDArray[np.bool_]) -> pa.Array:
    steps = np.where(absent, 0, steps)
    if isinstance(column, Integer):
        return pa.array(steps, mask=absent, type=pa.int64())
    assert isinstance(column, Continuous)
    return pa.array(steps / 10**column.precision, mask=absent, type=pa.float64())
