"""Rows that agree with many small tables at once: a gradual update, then coordinate descent.

The update moves rows out of over-full cells of one table after the other, by copying a row of an under-full cell or by
overwriting two values, with a decaying step (after PrivSyn's GUM). The descent then changes single values wherever that
lowers the squared distance to all tables together; it reaches what the update alone leaves over, and where the tables
contradict each other it settles on a compromise that rows can realise. Rows start within the rules of the codebook, and
no step leaves them. All of it works on released tables, so its random numbers need no secure generator: a fast one is
seeded from the stream.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook.constraints import Allowed
from understudy.compiled import kernel
from understudy.mechanisms.stream import Stream

__all__ = ["draw_gradual"]

Codes = npt.NDArray[np.int32]
_SWEEPS, _DECAY, _COPY = 60, 0.915, 0.8
_PASSES = 10
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
def _sort_by_cell(rows: Any, first: int, second: int, width: int, counts: Any, starts: Any, order: Any) -> None:
    """Counting sort of the rows by their cell of one table."""
    counts[:] = 0
    for row in range(rows.shape[1]):
        counts[rows[first, row] * width + rows[second, row]] += 1
    total = 0
    for cell in range(len(counts)):
        starts[cell] = total
        total += counts[cell]
    place = starts.copy()
    for row in range(rows.shape[1]):
        cell = rows[first, row] * width + rows[second, row]
        order[place[cell]] = row
        place[cell] += 1


@kernel
def _take_excess(target: Any, step: float, counts: Any, starts: Any, order: Any, state: Any, free: Any) -> Any:
    """Random rows of over-full cells, shuffled; how many."""
    taken = 0
    for cell in range(len(target)):
        over = step * (counts[cell] - target[cell])
        if over <= 0:
            continue
        some = np.int64(over)
        some += _uniform(state) < over - some
        for number in range(min(some, counts[cell])):
            here = starts[cell] + number
            there = here + _below(state, counts[cell] - number)
            order[here], order[there] = order[there], order[here]
            free[taken] = order[here]
            taken += 1
    for number in range(taken - 1, 0, -1):
        other = _below(state, number + 1)
        free[number], free[other] = free[other], free[number]
    return taken


@kernel
def _holds(rows: Any, row: int, first: int, one: int, second: int, two: int, rules: Any) -> Any:
    """Whether the row breaks no rule of two columns once they hold these values."""
    class_of, member_at, member, stride, table_at, table, check_at, check = rules
    for turn in range(2):
        column = first if turn == 0 else second
        for number in range(check_at[column], check_at[column + 1]):
            cell = table_at[check[number]]
            for place in range(member_at[check[number]], member_at[check[number] + 1]):
                other = member[place]
                value = one if other == first else two if other == second else rows[other, row]
                cell += class_of[other, value] * stride[place]
            if not table[cell]:
                return False
        if first == second:
            break
    return True


@kernel
def _move(
    rows: Any,
    first: int,
    second: int,
    width: int,
    target: Any,
    step: float,
    copy: float,
    state: Any,
    work: Any,
    rules: Any,
) -> None:
    """One table's turn."""
    counts, starts, order, free = work
    cells = len(target)
    _sort_by_cell(rows, first, second, width, counts[:cells], starts[:cells], order)
    taken = _take_excess(target, step, counts, starts, order, state, free)
    room = 0.0
    for cell in range(cells):
        room += max(0.0, target[cell] - counts[cell])
    if room <= 0:
        return
    used = 0
    owed = 0.0
    for cell in range(cells):
        lack = target[cell] - counts[cell]
        if lack <= 0:
            continue
        owed += taken * lack / room
        while owed >= 0.5 and used < taken:
            owed -= 1.0
            row = free[used]
            used += 1
            one, two = cell // width, cell % width
            fits = _holds(rows, row, first, one, second, two, rules)
            if counts[cell] > 0 and (not fits or _uniform(state) < copy):
                model = order[starts[cell] + _below(state, counts[cell])]
                for column in range(rows.shape[0]):
                    rows[column, row] = rows[column, model]
            elif fits:
                rows[first, row] = one
                rows[second, row] = two


@kernel
def _descend(
    rows: Any, sizes: Any, offsets: Any, gap: Any, weights: Any, shares: Any, share_at: Any, state: Any, rules: Any
) -> None:
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
                change += weights[column, other] * (gap[enter] - gap[leave] + 1.0)
        if change >= 0 or not _holds(rows, row, column, new, column, new, rules):
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


def draw_gradual(
    sizes: Sequence[int],
    ones: Sequence[npt.NDArray[np.float64]],
    pairs: Mapping[tuple[int, int], npt.NDArray[np.float64]],
    *,
    allowed: Allowed,
    rows: int,
    stream: Stream,
    report: Callable[[int, int], None] | None = None,
) -> list[Codes]:
    """``rows`` rows whose one-way tables are ``ones`` and whose two-way tables come close to ``pairs``."""
    seeds = stream.words(1) | np.uint64(1)
    rules = _flat(allowed)
    if allowed:  # what is impossible is not aimed at
        ones = [_possible(one, allowed.possible((place,))) for place, one in enumerate(ones)]
        pairs = {pair: _possible(table, allowed.possible(pair)) for pair, table in pairs.items()}
    drawn = _started(ones, allowed, rows, seeds)
    keys = list(pairs)
    targets = [np.ascontiguousarray((pairs[key] * (rows / pairs[key].sum())).ravel()) for key in keys]
    largest = max((len(target) for target in targets), default=1)
    work = (
        np.zeros(largest, dtype=np.int64),
        np.zeros(largest, dtype=np.int64),
        np.zeros(rows, dtype=np.int64),
        np.zeros(rows, dtype=np.int64),
    )
    for sweep in range(_SWEEPS if keys else 0):
        for number in _shuffled(len(keys), seeds):
            first, second = keys[number]
            _move(drawn, first, second, sizes[second], targets[number], _DECAY**sweep, _COPY, seeds, work, rules)
        if report:
            report(sweep + 1, _SWEEPS + _PASSES)
    if keys:
        _descent(drawn, sizes, ones, dict(zip(keys, targets, strict=True)), seeds, rules, report)
    return [np.ascontiguousarray(column) for column in drawn]


def _descent(
    drawn: Codes,
    sizes: Sequence[int],
    ones: Sequence[npt.NDArray[np.float64]],
    targets: Mapping[tuple[int, int], npt.NDArray[np.float64]],
    seeds: Any,
    rules: Any,
    report: Callable[[int, int], None] | None,
) -> None:
    columns = len(sizes)
    offsets = np.full((columns, columns), -1, dtype=np.int64)
    gaps, at = [], 0
    for (first, second), target in targets.items():
        offsets[first, second] = offsets[second, first] = at
        cell = drawn[first].astype(np.int64) * sizes[second] + drawn[second]
        gaps.append(np.bincount(cell, minlength=len(target)) - target)
        at += len(target)
    gap = np.concatenate(gaps)
    shares = [np.cumsum(np.maximum(one, 0) + 1e-9 * one.sum()) for one in ones]
    flat = np.concatenate([share / share[-1] for share in shares])
    share_at = np.concatenate([[0], np.cumsum([len(share) for share in shares])])
    weights = np.ones((columns, columns))
    for done in range(_PASSES):
        _descend(drawn, np.array(sizes), offsets, gap, weights, flat, share_at, seeds, rules)
        if report:
            report(_SWEEPS + done + 1, _SWEEPS + _PASSES)


def _possible(table: npt.NDArray[np.float64], mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """The table without its impossible cells; where the noise left nothing else, all others alike."""
    kept = np.where(mask, np.maximum(table, 0), 0.0)
    return kept if kept.sum() > 0 else mask.astype(np.float64)


def _started(ones: Sequence[npt.NDArray[np.float64]], allowed: Allowed, rows: int, seeds: Any) -> Codes:
    """Columns independent of each other but for the rules: each goes on as those before it allow."""
    drawn = np.zeros((len(ones), rows), dtype=np.int32)
    for column, step in enumerate(allowed.plan(range(len(ones)))):
        if step is None:
            drawn[column] = _apportioned(ones[column], rows, seeds)
            continue
        sets = step.sets(list(drawn))
        for number in np.unique(sets):
            here = np.flatnonzero(sets == number)
            drawn[column, here] = _apportioned(_possible(ones[column], step.choices.levels[number]), len(here), seeds)
    return drawn


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


def _apportioned(one: npt.NDArray[np.float64], rows: int, seeds: Any) -> Codes:
    """Values in proportion to ``one`` as nearly as whole rows allow, in random order."""
    wanted = np.maximum(one, 0) / max(float(np.maximum(one, 0).sum()), 1e-300) * rows
    whole = np.floor(wanted).astype(np.int64)
    whole[np.argsort(whole - wanted)[: rows - int(whole.sum())]] += 1
    values = np.repeat(np.arange(len(one), dtype=np.int32), whole)
    _shuffle(values, seeds)
    return values


@kernel
def _shuffle(values: Any, state: Any) -> None:
    for number in range(len(values) - 1, 0, -1):
        other = _below(state, number + 1)
        values[number], values[other] = values[other], values[number]


def _shuffled(count: int, seeds: Any) -> npt.NDArray[np.int64]:
    order = np.arange(count, dtype=np.int64)
    _shuffle(order, seeds)
    return order
