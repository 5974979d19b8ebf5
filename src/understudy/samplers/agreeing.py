"""Rows that agree with many small tables at once: begun from a model of few parts, then mended value by value.

Rows begin as latent classes or as the tree of strongest dependence would have them, whichever is nearer to the tables
(``starting.py``). Single values are then changed wherever that lowers the squared distance to all tables together;
where tables contradict each other this settles on a compromise that rows can realise. New values are proposed from the
column's own table and given the value of one of the columns that it depends on most, so that values which imply each
other find each other. No change leaves the rules of the codebook. All of it works on released tables, so its random
numbers need no secure generator: a fast one is seeded from the stream.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook.constraints import Allowed
from understudy.compiled import kernel
from understudy.errors import CodebookError
from understudy.mechanisms.stream import Stream
from understudy.samplers.starting import (
    Beginning,
    Codes,
    Values,
    below,
    dependence,
    from_classes,
    from_tree,
    possible,
    uniform,
)

Columns = tuple[int, ...]
Tables = Mapping[Columns, Values]
_PASSES, _SETTLED = 60, 0.98
"""At most so many passes over all values; none after one that leaves more than this of the squared distance."""
_PARTNERS, _TIED = 3, 0.01
"""Columns whose values propose values of another, and from which dependence on."""
_PROBE = 20_000
"""Rows by which two beginnings are compared."""


@kernel
def _holds(values: Any, column: int, value: int, rules: Any) -> Any:
    """Whether the row breaks no rule once this column holds this value."""
    class_of, member_at, member, moves_at, width, moves, check_at, check = rules
    for number in range(check_at[column], check_at[column + 1]):
        state = 0
        for place in range(member_at[check[number]], member_at[check[number] + 1]):
            held = value if member[place] == column else values[member[place]]
            state = moves[moves_at[place] + state * width[place] + class_of[member[place], held]]
        if state == 0:
            return False
    return True


@kernel
def _descend(rows: Any, sizes: Any, tables: Any, gap: Any, proposals: Any, state: Any, rules: Any) -> None:
    """One pass of single-value changes that lower the squared distance; ``gap`` is count minus target of every cell."""
    table_at, offset, own, others, strides = tables
    ways, partner, begins, chances = proposals
    columns = len(sizes)
    for row in range(len(rows)):
        values = rows[row]
        for _ in range(columns):
            column = below(state, columns)
            old = values[column]
            way = below(state, ways[column])
            begin = begins[column, way]
            if partner[column, way] >= 0:
                begin += values[partner[column, way]] * sizes[column]
            new = np.searchsorted(chances[begin : begin + sizes[column]], np.float32(uniform(state)), side="right")
            if new >= sizes[column] or new == old:
                continue
            change = 0.0
            for number in range(table_at[column], table_at[column + 1]):
                cell = offset[number] + values[others[number, 0]] * strides[number, 0]
                cell += values[others[number, 1]] * strides[number, 1]
                change += gap[cell + new * own[number]] - gap[cell + old * own[number]] + 1.0
            if change >= 0 or not _holds(values, column, int(new), rules):
                continue
            for number in range(table_at[column], table_at[column + 1]):
                cell = offset[number] + values[others[number, 0]] * strides[number, 0]
                cell += values[others[number, 1]] * strides[number, 1]
                gap[cell + new * own[number]] += 1.0
                gap[cell + old * own[number]] -= 1.0
            values[column] = new


def draw_agreeing(
    weights: Values,
    levels: Sequence[Values],
    tables: Tables,
    *,
    allowed: Allowed,
    rows: int,
    stream: Stream,
    report: Callable[[int, int], None] | None = None,
) -> list[Codes]:
    """``rows`` rows from classes of these weights and levels, brought close to ``tables`` of two or three columns."""
    state = stream.words(1) | np.uint64(1)
    if allowed:  # what is impossible is not aimed at
        single = [allowed.possible((place,)) for place in range(len(levels))]
        levels = [
            np.stack([possible(row, mask) for row in shares]) for shares, mask in zip(levels, single, strict=True)
        ]
        tables = {columns: possible(table, allowed.possible(columns)) for columns, table in tables.items()}
    ones = [weights @ column for column in levels]
    goal = _Goal(tables, [len(one) for one in ones])
    drawn = _nearest(_beginnings(weights, levels, ones, goal), goal, rows, allowed, state)
    if report:
        report(1, _PASSES + 1)
    if tables:
        _mend(drawn, goal, _proposals(ones, goal), _flat(allowed), state, report)
    if report:
        report(_PASSES + 1, _PASSES + 1)
    return [np.ascontiguousarray(column) for column in drawn.T]


class _Goal:
    """All tables side by side, each cell at one place."""

    def __init__(self, tables: Tables, sizes: Sequence[int]) -> None:
        self.tables = tables
        self.sizes = np.array(sizes)
        self.pairs = {(columns[0], columns[1]): table for columns, table in tables.items() if len(columns) == 2}
        starts = np.cumsum([0, *(table.size for table in tables.values())])
        self.cells = int(starts[-1])
        self._starts = dict(zip(tables, starts[:-1], strict=True))

    def gap(self, rows: Codes) -> npt.NDArray[np.float32]:
        """Count minus target of every cell."""
        gap = np.empty(self.cells, dtype=np.float32)
        for columns, table in self.tables.items():
            cell = np.ravel_multi_index(tuple(rows[:, column] for column in columns), table.shape)
            start = self._starts[columns]
            gap[start : start + table.size] = np.bincount(cell, minlength=table.size) - table.ravel() * (
                len(rows) / table.sum()
            )
        return gap

    def by_column(self) -> tuple[npt.NDArray[Any], ...]:
        """For every column the tables that hold it: where they begin, its stride, the other columns and theirs."""
        entries: list[list[tuple[int, int, Columns, Columns]]] = [[] for _ in self.sizes]
        for columns, table in self.tables.items():
            stride = [size // table.itemsize for size in np.ascontiguousarray(table).strides]
            for place, column in enumerate(columns):
                rest = [(columns[at], stride[at]) for at in range(len(columns)) if at != place]
                rest += [(rest[0][0], 0)] * (2 - len(rest))
                entries[column].append(
                    (self._starts[columns], stride[place], (rest[0][0], rest[1][0]), (rest[0][1], rest[1][1]))
                )
        table_at = np.cumsum([0, *(len(mine) for mine in entries)])
        flat = list(itertools.chain(*entries))
        return (
            table_at.astype(np.int64),
            np.array([entry[0] for entry in flat], dtype=np.int64),
            np.array([entry[1] for entry in flat], dtype=np.int64),
            np.array([entry[2] for entry in flat], dtype=np.int64).reshape(-1, 2),
            np.array([entry[3] for entry in flat], dtype=np.int64).reshape(-1, 2),
        )


def _beginnings(weights: Values, levels: Sequence[Values], ones: Sequence[Values], goal: _Goal) -> list[Beginning]:
    return [from_classes(weights, levels), *([from_tree(ones, goal.pairs)] if goal.pairs else [])]


def _nearest(choices: Sequence[Beginning], goal: _Goal, rows: int, allowed: Allowed, state: Any) -> Codes:
    """Rows of the beginning that is nearest to the tables, judged by a few rows of each."""
    distances: list[tuple[float, Beginning]] = []
    for choice in choices:
        try:
            tried = choice.rows(min(rows, _PROBE), allowed, state)
        except CodebookError:  # the rules do not allow this order of columns
            continue
        distances.append((float(np.square(goal.gap(tried), dtype=np.float64).sum()), choice))
    return min(distances, key=lambda entry: entry[0])[1].rows(rows, allowed, state)


def _mend(
    drawn: Codes, goal: _Goal, proposals: Any, rules: Any, state: Any, report: Callable[[int, int], None] | None
) -> None:
    gap, tables = goal.gap(drawn), goal.by_column()
    distance = float(np.square(gap, dtype=np.float64).sum())
    for done in range(_PASSES):
        _descend(drawn, goal.sizes, tables, gap, proposals, state, rules)
        before, distance = distance, float(np.square(gap, dtype=np.float64).sum())
        if report:
            report(done + 2, _PASSES + 1)
        if distance > _SETTLED * before:
            break


def _proposals(ones: Sequence[Values], goal: _Goal) -> tuple[npt.NDArray[Any], ...]:
    """For every column the ways to propose a value, as cumulative shares: on its own, and given another column."""
    columns = len(ones)
    tied = np.zeros((columns, columns))
    for (i, j), table in goal.pairs.items():
        tied[i, j] = tied[j, i] = dependence(table)
    ways = np.ones(columns, dtype=np.int64)
    partner = np.full((columns, _PARTNERS + 1), -1, dtype=np.int64)
    begins = np.zeros((columns, _PARTNERS + 1), dtype=np.int64)
    parts: list[npt.NDArray[np.float32]] = []
    length = 0
    for column, one in enumerate(ones):
        alone = one / one.sum() + 1e-9
        tables = [alone[np.newaxis]]
        for other in np.argsort(-tied[column], kind="stable")[:_PARTNERS]:
            if tied[column, other] >= _TIED:
                table = goal.pairs[other, column] if other < column else goal.pairs[column, other].T
                partner[column, len(tables)] = other
                tables.append(table / table.sum() + 1e-9 * alone)
        for way, table in enumerate(tables):
            sums = np.cumsum(table, axis=1)
            parts.append((sums / sums[:, -1:]).astype(np.float32).ravel())
            begins[column, way] = length
            length += table.size
        ways[column] = len(tables)
    return ways, partner, begins, np.concatenate(parts)


def _flat(allowed: Allowed) -> tuple[Any, ...]:
    """The rules as arrays that a compiled loop can walk: classes, members of each rule, rules of each column."""
    checks = allowed.checks()
    width = max(len(classes) for classes in allowed.classes)
    class_of = np.stack([np.pad(classes, (0, width - len(classes))) for classes in allowed.classes])
    columns = len(allowed.classes)
    member = [column for places, _ in checks for column in places]
    layers = [layer for _, moves in checks for layer in moves]
    member_at = np.cumsum([0, *(len(places) for places, _ in checks)])
    moves_at = np.cumsum([0, *(layer.size for layer in layers)])
    by_column = [[number for number, (places, _) in enumerate(checks) if column in places] for column in range(columns)]
    return (
        class_of,
        member_at.astype(np.int64),
        np.array(member, dtype=np.int64),
        moves_at.astype(np.int64),
        np.array([layer.shape[1] for layer in layers], dtype=np.int64),
        np.concatenate([layer.ravel() for layer in layers] or [np.ones(1, dtype=np.int64)]),
        np.cumsum([0, *(len(numbers) for numbers in by_column)]).astype(np.int64),
        np.array([number for numbers in by_column for number in numbers], dtype=np.int64),
    )
