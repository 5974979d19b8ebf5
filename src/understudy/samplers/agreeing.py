"""Rows that agree with many small tables at once: drawn from latent classes, then mended value by value.

Rows are apportioned to the classes, and within a class every column's levels to its rows (systematic sampling: the
number of rows with a level differs from its expectation by less than one). Single values are then changed wherever that
lowers the squared distance to all tables together; where tables contradict each other this settles on a compromise that
rows can realise. All of it works on released tables, so its random numbers need no secure generator: a fast one is
seeded from the stream.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.compiled import kernel
from understudy.mechanisms.stream import Stream

__all__ = ["draw_agreeing"]

Codes = npt.NDArray[np.int32]
Values = npt.NDArray[np.float64]
_PASSES, _FEWEST, _LOOKS = 10, 3, 300
"""Passes over all values; fewer where a value is in more than 30 tables, since every look at it is in all of them."""
_UNIT = 1.0 / 9007199254740992.0  # 2^-53


@kernel
def _next(state: Any) -> Any:
    word = state[0]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    state[0] = word
    return word


@kernel
def _uniform(state: Any) -> Any:
    return (_next(state) >> np.uint64(11)) * _UNIT


@kernel
def _below(state: Any, bound: int) -> Any:
    return np.int64(_uniform(state) * bound)


@kernel
def _shuffle(values: Any, state: Any) -> None:
    for number in range(len(values) - 1, 0, -1):
        other = _below(state, number + 1)
        values[number], values[other] = values[other], values[number]


@kernel
def _fill(values: Any, shares: Any, ends: Any, state: Any) -> None:
    """One column: rows of class k lie before ``ends[k]``, and get its levels by systematic sampling in random order."""
    start = 0
    for number in range(len(ends)):
        rows = ends[number] - start
        total = shares[number].sum()
        level, below = 0, 0.0
        offset = _uniform(state)
        for row in range(rows):
            place = (row + offset) / rows * total
            while level < shares.shape[1] - 1 and place >= below + shares[number, level]:
                below += shares[number, level]
                level += 1
            values[start + row] = level
        _shuffle(values[start : ends[number]], state)
        start = ends[number]


@kernel
def _descend(rows: Any, sizes: Any, offsets: Any, gap: Any, shares: Any, share_at: Any, state: Any) -> None:
    """One pass of single-value changes that lower the squared distance; ``gap`` is count minus target of every cell."""
    columns, number = rows.shape
    for _ in range(columns * number):
        row = _below(state, number)
        column = _below(state, columns)
        old = rows[column, row]
        new = np.searchsorted(shares[share_at[column] : share_at[column + 1]], _uniform(state), side="right")
        if new >= sizes[column] or new == old:
            continue
        change = 0.0
        for other in range(columns):
            at = offsets[column, other]
            if at >= 0:
                value = rows[other, row]
                if column < other:
                    enter, leave = at + new * sizes[other] + value, at + old * sizes[other] + value
                else:
                    enter, leave = at + value * sizes[column] + new, at + value * sizes[column] + old
                change += gap[enter] - gap[leave] + 1.0
        if change >= 0:
            continue
        for other in range(columns):
            at = offsets[column, other]
            if at >= 0:
                value = rows[other, row]
                if column < other:
                    enter, leave = at + new * sizes[other] + value, at + old * sizes[other] + value
                else:
                    enter, leave = at + value * sizes[column] + new, at + value * sizes[column] + old
                gap[enter] += 1.0
                gap[leave] -= 1.0
        rows[column, row] = new


def draw_agreeing(
    weights: Values,
    levels: Sequence[Values],
    pairs: Mapping[tuple[int, int], Values],
    *,
    rows: int,
    stream: Stream,
    report: Callable[[int, int], None] | None = None,
) -> list[Codes]:
    """``rows`` rows from classes of these weights and levels, brought close to the two-way tables ``pairs``."""
    state = stream.words(1) | np.uint64(1)
    ends = np.rint(np.cumsum(weights) / weights.sum() * rows).astype(np.int64)
    drawn = np.empty((len(levels), rows), dtype=np.int32)
    for values, shares in zip(drawn, levels, strict=True):
        _fill(values, np.ascontiguousarray(shares), ends, state)
    order = np.arange(rows)
    _shuffle(order, state)
    drawn = np.ascontiguousarray(drawn[:, order])
    if report:
        report(1, (_passes(len(levels)) if pairs else 0) + 1)
    if pairs:
        _mend(drawn, weights, levels, pairs, state, report)
    return list(drawn)


def _mend(
    drawn: Codes,
    weights: Values,
    levels: Sequence[Values],
    pairs: Mapping[tuple[int, int], Values],
    state: Any,
    report: Callable[[int, int], None] | None,
) -> None:
    sizes = np.array([shares.shape[1] for shares in levels])
    offsets = np.full((len(sizes), len(sizes)), -1, dtype=np.int64)
    gap = np.empty(sum(table.size for table in pairs.values()))
    at = 0
    for (first, second), table in pairs.items():
        offsets[first, second] = offsets[second, first] = at
        cell = drawn[first].astype(np.int64) * sizes[second] + drawn[second]
        here = gap[at : at + table.size]
        here[:] = np.bincount(cell, minlength=table.size)
        here -= table.ravel() * (drawn.shape[1] / table.sum())
        at += table.size
    shares = [np.cumsum(weights @ column + 1e-9 * weights.sum()) for column in levels]
    flat = np.concatenate([share / share[-1] for share in shares])
    share_at = np.concatenate([[0], np.cumsum(sizes)])
    passes = _passes(len(sizes))
    for done in range(passes):
        _descend(drawn, sizes, offsets, gap, flat, share_at, state)
        if report:
            report(done + 2, passes + 1)


def _passes(columns: int) -> int:
    return max(_FEWEST, min(_PASSES, _LOOKS // columns))
