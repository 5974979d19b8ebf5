"""Rows that agree with many small tables at once: drawn from latent classes, then changed value by value.

Rows are apportioned to the classes, and within a class every column's levels to its rows (systematic sampling: the
number of rows with a level differs from its expectation by less than one). Single values are then changed wherever that
lowers the squared distance to all tables together; where tables contradict each other this settles on a compromise that
rows can realise. Rows start within the rules of the codebook, and no change leaves them. All of it works on released
tables, so its random numbers need no secure generator: a fast one is seeded from the stream.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook.constraints import Allowed
from understudy.compiled import kernel
from understudy.mechanisms.stream import Stream

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
        swapped = _below(state, number + 1)
        values[number], values[swapped] = values[swapped], values[number]


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
def _holds(rows: Any, row: int, column: int, value: int, rules: Any) -> Any:
    """Whether the row breaks no rule once this column holds this value."""
    class_of, member_at, member, stride, table_at, table, check_at, check = rules
    for number in range(check_at[column], check_at[column + 1]):
        cell = table_at[check[number]]
        for place in range(member_at[check[number]], member_at[check[number] + 1]):
            held = value if member[place] == column else rows[member[place], row]
            cell += class_of[member[place], held] * stride[place]
        if not table[cell]:
            return False
    return True


@kernel
def _cell(offsets: Any, sizes: Any, column: int, level: int, partner: int, value: int) -> Any:
    """Where the table of two columns keeps the cell of these two values."""
    first, second, width = (level, value, sizes[partner]) if column < partner else (value, level, sizes[column])
    return offsets[column, partner] + first * width + second


@kernel
def _descend(rows: Any, sizes: Any, offsets: Any, gap: Any, shares: Any, share_at: Any, state: Any, rules: Any) -> None:
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
        for partner in range(columns):
            if offsets[column, partner] >= 0:
                enter = _cell(offsets, sizes, column, new, partner, rows[partner, row])
                leave = _cell(offsets, sizes, column, old, partner, rows[partner, row])
                change += gap[enter] - gap[leave] + 1.0
        if change >= 0 or not _holds(rows, row, column, new, rules):
            continue
        for partner in range(columns):
            if offsets[column, partner] >= 0:
                gap[_cell(offsets, sizes, column, new, partner, rows[partner, row])] += 1.0
                gap[_cell(offsets, sizes, column, old, partner, rows[partner, row])] -= 1.0
        rows[column, row] = new


def draw_agreeing(
    weights: Values,
    levels: Sequence[Values],
    pairs: Mapping[tuple[int, int], Values],
    *,
    allowed: Allowed,
    rows: int,
    stream: Stream,
    report: Callable[[int, int], None] | None = None,
) -> list[Codes]:
    """``rows`` rows from classes of these weights and levels, brought close to the two-way tables ``pairs``."""
    state = stream.words(1) | np.uint64(1)
    ends = np.rint(np.cumsum(weights) / weights.sum() * rows).astype(np.int64)
    if allowed:  # what is impossible is not aimed at
        single = [allowed.possible((place,)) for place in range(len(levels))]
        levels = [
            np.stack([_possible(row, mask) for row in shares]) for shares, mask in zip(levels, single, strict=True)
        ]
        pairs = {pair: _possible(table, allowed.possible(pair)) for pair, table in pairs.items()}
    drawn = _started(levels, ends, allowed, state)
    order = np.arange(rows)
    _shuffle(order, state)
    drawn = np.ascontiguousarray(drawn[:, order])
    if report:
        report(1, (_passes(len(levels)) if pairs else 0) + 1)
    if pairs:
        _mend(drawn, weights, levels, pairs, _flat(allowed), state, report)
    return list(drawn)


def _started(levels: Sequence[Values], ends: npt.NDArray[np.int64], allowed: Allowed, state: Any) -> Codes:
    """Rows class by class; where rules join columns, each column goes on as those before it allow."""
    rows = int(ends[-1])
    drawn = np.zeros((len(levels), rows), dtype=np.int32)
    kind = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    for column, step in enumerate(allowed.plan(range(len(levels)))):
        shares = np.ascontiguousarray(levels[column])
        if step is None:
            _fill(drawn[column], shares, ends, state)
            continue
        masks = np.asarray(step.choices.levels)
        groups, of_row, sizes = np.unique(
            kind * len(masks) + step.sets(list(drawn)), return_inverse=True, return_counts=True
        )
        within = np.stack([_possible(shares[group // len(masks)], masks[group % len(masks)]) for group in groups])
        values = np.empty(rows, dtype=np.int32)
        _fill(values, within, np.cumsum(sizes), state)
        drawn[column, np.argsort(of_row, kind="stable")] = values
    return drawn


def _mend(
    drawn: Codes,
    weights: Values,
    levels: Sequence[Values],
    pairs: Mapping[tuple[int, int], Values],
    rules: Any,
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
        _descend(drawn, sizes, offsets, gap, flat, share_at, state, rules)
        if report:
            report(done + 2, passes + 1)


def _passes(columns: int) -> int:
    return max(_FEWEST, min(_PASSES, _LOOKS // columns))


def _possible(table: Values, mask: npt.NDArray[np.bool_]) -> Values:
    """The table without its impossible cells; where the noise left nothing else, all others alike."""
    kept = np.where(mask, np.maximum(table, 0), 0.0)
    return kept if kept.sum() > 0 else mask.astype(np.float64)


def _flat(allowed: Allowed) -> tuple[Any, ...]:
    """The rules as arrays that a compiled loop can walk: classes, members of each rule, rules of each column."""
    checks = allowed.checks()
    width = max(len(classes) for classes in allowed.classes)
    class_of = np.stack([np.pad(classes, (0, width - len(classes))) for classes in allowed.classes])
    columns = len(allowed.classes)
    member = [column for places, _ in checks for column in places]
    stride = [size // table.itemsize for _, table in checks for size in np.ascontiguousarray(table).strides]
    member_at = np.cumsum([0, *(len(places) for places, _ in checks)])
    table_at = np.cumsum([0, *(table.size for _, table in checks)])
    by_column = [[number for number, (places, _) in enumerate(checks) if column in places] for column in range(columns)]
    flat = np.concatenate([np.ascontiguousarray(table).ravel() for _, table in checks] or [np.ones(1, dtype=np.bool_)])
    return (
        class_of,
        member_at.astype(np.int64),
        np.array(member, dtype=np.int64),
        np.array(stride, dtype=np.int64),
        table_at.astype(np.int64),
        flat,
        np.cumsum([0, *(len(numbers) for numbers in by_column)]).astype(np.int64),
        np.array([number for numbers in by_column for number in numbers], dtype=np.int64),
    )
