"""Rows that agree with many small tables at once: begun from a model of few parts, then mended value by value.

Rows begin as latent classes or as the tree of strongest dependence would have them, whichever is nearer to the tables
(``starting.py``), a block at a time. Single values are then changed wherever that lowers the squared distance of all
rows so far to all tables together; where tables contradict each other this settles on a compromise that rows can
realise. What a beginning gets wrong, it gets wrong in every block: the distance that earlier blocks left behind is
carried on, and grows until the changes in each new block make up for it. So it stays about as large in rows, however
many rows there are, and one pass over a large file is nearly enough (as in herding, Welling 2009).

New values are proposed from the column's own table and given the value of one of the columns that it depends on most,
so that values which imply each other find each other. No change leaves the rules of the codebook. All of it works on
released tables, so its random numbers need no secure generator: fast ones are seeded from the stream, one for every
``_LANE`` rows, so that the same rows come out however many threads share the lanes.
"""

import itertools
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook.constraints import Allowed
from understudy.compiled import inlined, kernel
from understudy.errors import CodebookError
from understudy.mechanisms.stream import Stream
from understudy.samplers.starting import (
    Beginning,
    Codes,
    Values,
    dependence,
    from_classes,
    from_tree,
    next_word,
    possible,
)
from understudy.samplers.threads import Progress, run_all
from understudy.sources.tables import code_type

Columns = tuple[int, ...]
Tables = Mapping[Columns, Values]
Gap = npt.NDArray[np.float32]
_LANE, _BLOCK = 1 << 19, 1 << 16
"""Rows that agree with the tables among themselves, and those that are begun together: they stay in the cache."""
_PASSES, _SETTLED = 60, 0.98
"""At most so many passes over all values; none after one that leaves more than this of the squared distance."""
_FEW, _ENOUGH = 1 << 18, 0.2
"""More rows than a few are mended until so much is left of the total variation from pairs that they began with."""
_PARTNERS, _TIED = 3, 0.01
"""Columns whose values propose values of another, and from which dependence on."""
_PROBE = 20_000
"""Rows by which two beginnings are compared."""
_TALLIED = 1 << 12
"""Rows that are counted at a time: all their columns stay in the cache."""
_CELLS_A_ROW = 64
"""The gap of all cells is brought up to date once for as many rows as make this few cells each."""


@inlined
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


@inlined
def _proposed(values: Any, column: int, size: int, proposals: Any, state: Any) -> Any:
    """A value for the column, by Walker's alias method from 16 + 24 + 24 bits of one word."""
    ways, partner, begins, kept, other = proposals
    word = next_word(state)
    way = ((word & np.uint64(0xFFFF)) * np.uint64(ways[column])) >> np.uint64(16)
    begin = begins[column, way]
    if partner[column, way] >= 0:
        begin += np.int64(values[partner[column, way]]) * size
    level = np.int64((((word >> np.uint64(16)) & np.uint64(0xFFFFFF)) * np.uint64(size)) >> np.uint64(24))
    if np.int64(word >> np.uint64(40)) < kept[begin + level]:
        return level
    return np.int64(other[begin + level])


@inlined
def _place(values: Any, cells: Any, spots: Any) -> None:
    """The cell of every table of three columns in which a row counts."""
    start, members, strides = cells[-3:]
    for table in range(len(start)):
        cell = start[table] + np.int32(values[members[table, 0]]) * strides[table, 0]
        cell += np.int32(values[members[table, 1]]) * strides[table, 1]
        spots[table] = cell + np.int32(values[members[table, 2]])


@inlined
def _change(values: Any, column: int, old: Any, new: Any, cells: Any, spots: Any, gap: Any, weight: Any) -> Any:
    """Half of the change of the squared distance, by weight, if a row of this weight took another value.

    Places are unsigned where they are looked up: for signed ones the compiler would ask each time whether they are
    below 0, which takes as long as the rest.
    """
    pair_at, mate, within, base, width, _mirror, triple_at, number, own = cells[:9]
    here, there = base[column] + np.int32(old) * width[column], base[column] + np.int32(new) * width[column]
    after = weight * np.float32(pair_at[column + 1] - pair_at[column] + triple_at[column + 1] - triple_at[column])
    before = np.float32(0)
    for entry in range(pair_at[column], pair_at[column + 1]):
        place = within[np.uint64(entry)] + np.int32(values[np.uint64(mate[np.uint64(entry)])])
        after += gap[np.uint64(there + place)]
        before += gap[np.uint64(here + place)]
    step = np.int32(new - old)
    for entry in range(triple_at[column], triple_at[column + 1]):
        cell = spots[np.uint64(number[np.uint64(entry)])]
        after += gap[np.uint64(cell + step * own[np.uint64(entry)])]
        before += gap[np.uint64(cell)]
    return after - before


@inlined
def _move(values: Any, column: int, old: Any, new: Any, cells: Any, spots: Any, gap: Any, weight: Any) -> None:
    """Give a row of this weight another value, and bring the gap and the places of the row up to date."""
    pair_at, mate, within, base, width, mirror, triple_at, number, own = cells[:9]
    here, there = base[column] + np.int32(old) * width[column], base[column] + np.int32(new) * width[column]
    for entry in range(pair_at[column], pair_at[column + 1]):
        other = mate[np.uint64(entry)]
        value = np.int32(values[np.uint64(other)])
        place = within[np.uint64(entry)] + value
        reflected = mirror[np.uint64(entry)] + value * width[np.uint64(other)]
        gap[np.uint64(there + place)] += weight
        gap[np.uint64(here + place)] -= weight
        gap[np.uint64(reflected + np.int32(new))] += weight
        gap[np.uint64(reflected + np.int32(old))] -= weight
    step = np.int32(new - old)
    for entry in range(triple_at[column], triple_at[column + 1]):
        table = np.uint64(number[np.uint64(entry)])
        cell = spots[table]
        gap[np.uint64(cell)] -= weight
        cell += step * own[np.uint64(entry)]
        gap[np.uint64(cell)] += weight
        spots[table] = cell
    values[column] = new


@kernel
def _descend(rows: Any, sizes: Any, cells: Any, gap: Any, drift: Any, batch: int, work: Any) -> None:
    """One pass of single-value changes that lower the squared distance; ``gap`` is count minus target of every cell.

    What one row adds to the gap on average, ``drift``, is added for ``batch`` rows at a time, before they are mended.
    """
    proposals, rules, state = work
    one = np.float32(1)
    spots = np.empty(len(cells[-1]), dtype=np.int32)
    for start in range(0, len(rows), batch):
        stop = min(start + batch, len(rows))
        for cell in range(len(drift)):
            gap[cell] += np.float32(stop - start) * drift[cell]
        for row in range(start, stop):
            values = rows[row]
            _place(values, cells, spots)
            for column in range(len(sizes)):
                old = np.int64(values[column])
                new = _proposed(values, column, sizes[column], proposals, state)
                if new == old or _change(values, column, old, new, cells, spots, gap, one) >= 0:
                    continue
                if _holds(values, column, new, rules):
                    _move(values, column, old, new, cells, spots, gap, one)


@kernel
def _descend_linked(rows: Any, sizes: Any, cells: Any, gap: Any, links: Any, work: Any) -> None:
    """The same for rows of different weight, some of whose columns stay as they are, and which look back.

    ``links``: the columns that may change; the weight of each row; the row that comes after each (or -1); and for each
    column that in which the row after it repeats its value (or -1). Both rows change together, or neither does.
    """
    proposals, rules, state = work
    free, weights, follower, repeated = links
    spots, spots_after = np.empty(len(cells[-1]), dtype=np.int32), np.empty(len(cells[-1]), dtype=np.int32)
    for row in range(len(rows)):
        values, after = rows[row], follower[row]
        _place(values, cells, spots)
        if after >= 0:
            _place(rows[after], cells, spots_after)
        for place in range(len(free)):
            column = free[place]
            old = np.int64(values[column])
            new = _proposed(values, column, sizes[column], proposals, state)
            if new == old:
                continue
            again = repeated[column] if after >= 0 else -1
            change = weights[row] * _change(values, column, old, new, cells, spots, gap, weights[row])
            if again >= 0:
                change += weights[after] * _change(
                    rows[after], again, old, new, cells, spots_after, gap, weights[after]
                )
            if change >= 0 or not _holds(values, column, new, rules):
                continue
            if again >= 0:
                if not _holds(rows[after], again, new, rules):
                    continue
                _move(rows[after], again, old, new, cells, spots_after, gap, weights[after])
            _move(values, column, old, new, cells, spots, gap, weights[row])


@kernel
def _tally(rows: Any, weights: Any, tables: Any, even: Any, odd: Any) -> None:
    """Add the rows to the cells of each table; without weights every row counts 1.

    Table by table over a block of rows that stays in the cache, by turns into two copies of all cells: the next
    addition need not wait for the last one.
    """
    begins, members, strides = tables
    keys = np.empty(_TALLIED, dtype=np.uint32)
    columns = np.empty((rows.shape[1], _TALLIED), dtype=np.uint32)
    for start in range(0, len(rows), _TALLIED):
        count = min(_TALLIED, len(rows) - start)
        for row in range(count):
            for column in range(rows.shape[1]):
                columns[column, row] = rows[start + row, column]
        for table in range(len(begins)):
            first, second, third = (
                columns[members[table, 0]],
                columns[members[table, 1]],
                columns[members[table, 2]],
            )
            for row in range(count):
                keys[row] = (
                    begins[table]
                    + first[row] * strides[table, 0]
                    + second[row] * strides[table, 1]
                    + third[row] * strides[table, 2]
                )
            for row in range(0, count - 1, 2):
                even[keys[row]] += weights[start + row] if len(weights) else 1
                odd[keys[row + 1]] += weights[start + row + 1] if len(weights) else 1
            if count % 2:
                even[keys[count - 1]] += weights[start + count - 1] if len(weights) else 1


@kernel
def _reflect(sizes: Any, cells: Any, counts: Any) -> None:
    """Every table of two columns in its second place."""
    pair_at, mate, within, base, width, mirror = cells[:6]
    for column in range(len(sizes)):
        for entry in range(pair_at[column], pair_at[column + 1]):
            if mate[entry] > column:
                for value in range(sizes[column]):
                    here = base[column] + value * width[column] + within[entry]
                    for other in range(sizes[mate[entry]]):
                        counts[mirror[entry] + other * width[mate[entry]] + value] = counts[here + other]


def draw_agreeing(
    weights: Values,
    levels: Sequence[Values],
    tables: Tables,
    *,
    allowed: Allowed,
    rows: int,
    stream: Stream,
    report: Callable[[int, int], None] | None = None,
    threads: int | None = None,
) -> list[Codes]:
    """``rows`` rows from classes of these weights and levels, brought close to ``tables`` of two or three columns."""
    if allowed:  # what is impossible is not aimed at
        single = [allowed.possible((place,)) for place in range(len(levels))]
        levels = [
            np.stack([possible(row, mask) for row in shares]) for shares, mask in zip(levels, single, strict=True)
        ]
        tables = {columns: possible(table, allowed.possible(columns)) for columns, table in tables.items()}
    ones = [weights @ column for column in levels]
    goal = Goal(tables, [len(one) for one in ones])
    choices = [from_classes(weights, levels), *([from_tree(ones, goal.pairs)] if goal.pairs else [])]
    beginning = _nearest(choices, goal, min(rows, _PROBE), allowed, seed_of(stream))
    proposals, rules = proposals_for(ones, goal), flat_rules(allowed)
    lanes = np.linspace(0, rows, -(-rows // _LANE) + 1).astype(np.int64)
    seeds = [seed_of(stream) for _ in lanes[1:]]
    drawn = [np.empty(rows, dtype=code_type(max(goal.sizes))) for _ in levels]
    progress = Progress(2 * rows, report)

    def work(lane: int, stopped: threading.Event) -> None:
        start, stop = lanes[lane : lane + 2]
        made = np.empty((stop - start, len(drawn)), dtype=drawn[0].dtype)
        _mend(made, beginning, goal, allowed, (proposals, rules, seeds[lane]), stopped, progress)
        for column, values in zip(drawn, made.T, strict=True):
            column[start:stop] = values

    run_all(work, len(seeds), min(threads or os.cpu_count() or 1, len(seeds)))
    progress.add(2 * rows)
    return drawn


def seed_of(stream: Stream) -> Any:
    """The state of a fast generator."""
    return stream.words(1) | np.uint64(1)


class Goal:
    """All tables side by side. Those of pairs are there twice, by both of their columns: all cells in which a value of
    a column counts lie together, as do those of its next value.
    """

    def __init__(self, tables: Tables, sizes: Sequence[int]) -> None:
        self.sizes = np.array(sizes)
        self.pairs = {(columns[0], columns[1]): table for columns, table in tables.items() if len(columns) == 2}
        self._triples = {columns: table for columns, table in tables.items() if len(columns) == 3}
        mates = [
            sorted({other for pair in self.pairs if column in pair for other in pair} - {column})
            for column in range(len(sizes))
        ]
        places = [np.cumsum([0, *self.sizes[mine]]) for mine in mates]
        width = np.array([place[-1] for place in places])
        base = np.cumsum([0, *(width * self.sizes)])
        self._twice = int(base[-1])
        """Cells of pairs, in both places; those of triples follow."""
        starts = self._twice + np.cumsum([0, *(table.size for table in self._triples.values())])
        target = np.zeros(int(starts[-1]))
        strides = [(table.shape[1] * table.shape[2], table.shape[2], 1) for table in self._triples.values()]
        entries: list[list[tuple[int, int]]] = [[] for _ in sizes]
        for number, ((columns, table), start) in enumerate(zip(self._triples.items(), starts, strict=False)):
            for place, column in enumerate(columns):
                entries[column].append((number, strides[number][place]))
            target[start : start + table.size] = table.ravel() / table.sum()
        for column, mine in enumerate(mates):
            lines = target[base[column] : base[column + 1]].reshape(sizes[column], width[column])
            for other, place in zip(mine, places[column], strict=False):
                table = self.pairs[column, other] if column < other else self.pairs[other, column].T
                lines[:, place : place + sizes[other]] = table / table.sum()
        self._target = target.astype(np.float32)
        flat = list(itertools.chain(*entries))
        mirror = [
            base[other] + places[other][mates[other].index(column)]
            for column, mine in enumerate(mates)
            for other in mine
        ]
        within = list(itertools.chain(*(place[:-1] for place in places)))
        self.cells = tuple(
            np.array(part, dtype=np.int32)
            for part in (
                np.cumsum([0, *(len(mine) for mine in mates)]),
                list(itertools.chain(*mates)),
                within,
                base,
                width,
                mirror,
                np.cumsum([0, *(len(mine) for mine in entries)]),
                [number for number, _ in flat],
                [stride for _, stride in flat],
                starts[:-1],
                np.array(list(self._triples)).reshape(-1, 3),
                np.array(strides).reshape(-1, 3),
            )
        )
        """By column and other column of a pair where its cells are; by column of a triple its number and the step
        between two values; by number of a triple its first cell, its columns and the steps between their values.
        """
        first_places = [
            (base[column] + place, (column, other, column), (width[column], 1, 0))
            for column, mine in enumerate(mates)
            for other, place in zip(mine, places[column], strict=False)
            if column < other
        ]
        every = [*first_places, *zip(starts, self._triples, strides, strict=False)]
        self._tables = (
            np.array([begin for begin, _, _ in every], dtype=np.uint32),
            np.array([columns for _, columns, _ in every], dtype=np.int64).reshape(-1, 3),
            np.array([stride for _, _, stride in every], dtype=np.uint32).reshape(-1, 3),
        )
        """Every table once: its first cell, its columns (of a pair the first again), the steps between their values."""
        self._batch = max(len(target) // _CELLS_A_ROW, 1)

    def gap(self, rows: Codes) -> Gap:
        """Count minus target of every cell."""
        gap = self._counts(rows, np.empty(0, dtype=np.float32), np.float32)
        gap -= np.float32(len(rows)) * self._target
        return gap

    def _counts(self, rows: Codes, weights: Gap, kind: type[np.floating]) -> npt.NDArray[Any]:
        counts, others = np.zeros(len(self._target), dtype=kind), np.zeros(len(self._target), dtype=kind)
        _tally(rows, weights, self._tables, counts, others)
        counts += others
        _reflect(self.sizes, self.cells, counts)
        return counts

    def weighted_gap(self, rows: Codes, weights: Gap) -> Gap:
        """The same for rows of different weight; thirds add up only in double precision."""
        counts = self._counts(rows, weights, np.float64)
        counts -= weights.sum(dtype=np.float64) * self._target
        return counts.astype(np.float32)

    def distance(self, gap: Gap) -> float:
        """Sum of squares, every table once."""
        squares = np.square(gap, dtype=np.float64)
        return float(squares[: self._twice].sum() / 2 + squares[self._twice :].sum())

    def variation(self, gap: Gap) -> float:
        """Rows that are in a wrong cell, summed over the tables of two columns."""
        return float(np.abs(gap[: self._twice]).sum(dtype=np.float64)) / 4

    def descend(self, rows: Codes, gap: Gap, work: Any, drift: Gap | None = None) -> None:
        """One pass over the rows, which add ``drift`` each to the gap, or are part of it already."""
        none = np.empty(0, dtype=np.float32)
        _descend(rows, self.sizes, self.cells, gap, none if drift is None else drift, self._batch, work)

    def descend_linked(self, rows: Codes, gap: Gap, links: Any, work: Any) -> None:
        """One pass over rows of different weight that look back."""
        _descend_linked(rows, self.sizes, self.cells, gap, links, work)


def _nearest(choices: Sequence[Beginning], goal: Goal, rows: int, allowed: Allowed, state: Any) -> Beginning:
    """The beginning that is nearest to the tables, judged by a few rows of each."""
    distances: list[tuple[float, Beginning]] = []
    for choice in choices:
        try:
            tried = choice.rows(rows, allowed, state)
        except CodebookError:  # the rules do not allow this order of columns
            continue
        distances.append((goal.distance(goal.gap(tried)), choice))
    return min(distances, key=lambda entry: entry[0])[1]


def _mend(
    made: Codes,
    beginning: Beginning,
    goal: Goal,
    allowed: Allowed,
    work: Any,
    stopped: threading.Event,
    progress: Progress,
) -> None:
    """Begin rows and mend them block by block, then all together until no pass is worth its time."""
    gap = goal.gap(made[:0])
    begun = gap.copy()
    for start in range(0, len(made), _BLOCK):
        block = made[start : start + _BLOCK]
        block[:] = beginning.rows(len(block), allowed, work[-1])
        drift = goal.gap(block)
        begun += drift
        if len(made) > _BLOCK:
            goal.descend(block, gap, work, drift / np.float32(len(block)))
        else:  # nothing is carried on: seen as a whole, three-way tables come out 1 % nearer
            gap += drift
        progress.add(len(block))
        if stopped.is_set():
            return
    left = goal.distance(gap)
    for _ in range(_PASSES):
        if stopped.is_set() or (len(made) > _FEW and goal.variation(gap) <= _ENOUGH * goal.variation(begun)):
            break
        goal.descend(made, gap, work)
        before, left = left, goal.distance(gap)
        progress.add(len(made) // _PASSES)
        if left > _SETTLED * before:
            break


@kernel
def _alias(shares: Any, kept: Any, other: Any) -> None:
    """Walker's tables of shares, of which every line is above 0 somewhere: a level, or else another, by 24 bits."""
    size = shares.shape[1]
    poor, rich = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    for line in range(len(shares)):
        height = shares[line] / shares[line].sum() * size
        poors, riches = 0, 0
        for level in range(size):
            kept[line, level], other[line, level] = 1 << 24, level
            if height[level] < 1:
                poor[poors] = level
                poors += 1
            else:
                rich[riches] = level
                riches += 1
        while poors > 0 and riches > 0:
            poors -= 1
            low, high = poor[poors], rich[riches - 1]
            kept[line, low], other[line, low] = np.int64(height[low] * (1 << 24)), high
            height[high] -= 1 - height[low]
            if height[high] < 1:
                riches -= 1
                poor[poors] = high
                poors += 1


def proposals_for(ones: Sequence[Values], goal: Goal) -> tuple[npt.NDArray[Any], ...]:
    """For every column the ways to propose a value: on its own, and given another column."""
    columns = len(ones)
    tied = np.zeros((columns, columns))
    for (i, j), table in goal.pairs.items():
        tied[i, j] = tied[j, i] = dependence(table)
    ways = np.ones(columns, dtype=np.int64)
    partner = np.full((columns, _PARTNERS + 1), -1, dtype=np.int64)
    begins = np.zeros((columns, _PARTNERS + 1), dtype=np.int64)
    parts: list[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]] = []
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
            kept, instead = np.empty(table.shape, dtype=np.int32), np.empty(table.shape, dtype=np.int32)
            _alias(np.ascontiguousarray(table), kept, instead)
            parts.append((kept.ravel(), instead.ravel()))
            begins[column, way] = length
            length += table.size
        ways[column] = len(tables)
    return ways, partner, begins, *(np.concatenate(both) for both in zip(*parts, strict=True))


def flat_rules(allowed: Allowed) -> tuple[Any, ...]:
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
