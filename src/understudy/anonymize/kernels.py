"""Compiled loops: the classes of a generalisation, the boxes of Mondrian, and whether each satisfies the criteria."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from understudy.anonymize.criteria import (
    SLACK,
    Closeness,
    Criterion,
    DistinctDiversity,
    EntropyDiversity,
    RecursiveDiversity,
)
from understudy.compiled import kernel

_DISTINCT, _ENTROPY, _RECURSIVE, _EQUAL, _ORDERED, _TREE = range(6)
_DISTANCE = {"equal": _EQUAL, "ordered": _ORDERED, "hierarchical": _TREE}


class Packed(NamedTuple):
    """Criteria as arrays that a compiled loop can walk: one line per criterion."""

    kinds: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    """Which sensitive column each criterion is about."""
    first: npt.NDArray[np.float64]
    second: npt.NDArray[np.float64]
    """The numbers that a criterion asks for: one, or two."""
    sizes: npt.NDArray[np.int64]
    """Levels of each sensitive column."""
    trees: npt.NDArray[np.int64]
    """Node of each level at each height, criterion by criterion; padded with -1."""
    heights: npt.NDArray[np.int64]


def pack(
    criteria: Sequence[Criterion], names: Sequence[str], sizes: Sequence[int], trees: dict[str, npt.NDArray[np.int64]]
) -> Packed:
    """``names`` and ``sizes`` are those of the sensitive columns, ``trees`` their hierarchies where needed."""
    numbers = [_numbers(criterion) for criterion in criteria]
    tall = max([len(tree) for tree in trees.values()], default=1)
    packed = np.full((max(len(criteria), 1), tall, max(sizes, default=1)), -1, dtype=np.int64)
    heights = np.zeros(max(len(criteria), 1), dtype=np.int64)
    for place, criterion in enumerate(criteria):
        if numbers[place][0] == _TREE:
            tree = trees[criterion.column]
            packed[place, : len(tree), : tree.shape[1]] = tree
            heights[place] = len(tree) - 1
    return Packed(
        kinds=np.array([kind for kind, _, _ in numbers], dtype=np.int64),
        places=np.array([names.index(criterion.column) for criterion in criteria], dtype=np.int64),
        first=np.array([first for _, first, _ in numbers], dtype=np.float64),
        second=np.array([second for _, _, second in numbers], dtype=np.float64),
        sizes=np.array(sizes or [1], dtype=np.int64),
        trees=packed,
        heights=heights,
    )


def _numbers(criterion: Criterion) -> tuple[int, float, float]:
    if isinstance(criterion, DistinctDiversity):
        return _DISTINCT, float(criterion.l), 0.0
    if isinstance(criterion, EntropyDiversity):
        return _ENTROPY, math.log(criterion.l), 0.0
    if isinstance(criterion, RecursiveDiversity):
        return _RECURSIVE, float(criterion.c), float(criterion.l)
    assert isinstance(criterion, Closeness)
    return _DISTANCE[criterion.distance], float(criterion.t), 0.0


@kernel
def keys_of(
    codes: npt.NDArray[np.int32],
    lookup: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.int64],
    radix: npt.NDArray[np.int64],
    keys: npt.NDArray[np.int64],
) -> None:
    """One number per record: its groups in mixed radix."""
    for row in range(len(keys)):
        key = np.int64(0)
        for column in range(codes.shape[1]):
            key = key * radix[column] + lookup[offsets[column] + codes[row, column]]
        keys[row] = key


@kernel
def class_of(
    keys: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    slots: npt.NDArray[np.int64],
    owners: npt.NDArray[np.int64],
    classes: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
) -> int:
    """Number equal keys from 0 on by an open hash table; returns how many there are. ``owners`` comes in as -1."""
    mask = np.uint64(len(slots) - 1)
    number = 0
    for row in range(len(keys)):
        key = keys[row]
        mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        place = np.int64((mixed ^ (mixed >> np.uint64(29))) & mask)
        while owners[place] >= 0 and slots[place] != key:
            place = (place + 1) & np.int64(mask)
        if owners[place] < 0:
            owners[place] = number
            slots[place] = key
            sizes[number] = 0
            number += 1
        classes[row] = owners[place]
        sizes[owners[place]] += counts[row]
    return number


@kernel
def _is_bad(  # noqa: PLR0912 - one branch per criterion
    histogram: npt.NDArray[np.int64], total: int, criteria: Packed, place: int, wholes: npt.NDArray[np.int64]
) -> bool:
    """Whether one class breaks one criterion; the formulas are those of ``criteria.py``."""
    kind, first, second = criteria.kinds[place], criteria.first[place], criteria.second[place]
    levels, whole = criteria.sizes[criteria.places[place]], wholes[criteria.places[place]]
    tree, height = criteria.trees[place], criteria.heights[place]
    if kind == _DISTINCT:
        distinct = 0
        for level in range(levels):
            distinct += histogram[level] > 0
        return bool(distinct < first)
    if kind == _ENTROPY:
        entropy = 0.0
        for level in range(levels):
            if histogram[level] > 0:
                share = histogram[level] / total
                entropy -= share * math.log(share)
        return bool(entropy + SLACK < first)
    if kind == _RECURSIVE:
        order = np.sort(histogram[:levels])
        tail = 0
        for rank in range(levels - int(second) + 1):
            tail += order[rank]
        return tail == 0 or not order[levels - 1] / tail < first
    n = 0
    for level in range(levels):
        n += whole[level]
    if kind == _EQUAL:
        gap = 0.0
        for level in range(levels):
            gap += abs(histogram[level] / total - whole[level] / n)
        return bool(gap / 2 > first + SLACK)
    if kind == _ORDERED:
        cumulated, moved, seen = 0.0, 0.0, 0
        for level in range(levels):
            if whole[level] > 0:
                cumulated += histogram[level] / total - whole[level] / n
                moved += abs(cumulated)
                seen += 1
        return seen > 1 and moved / (seen - 1) > first + SLACK
    extra = np.empty(levels)
    for level in range(levels):
        extra[level] = histogram[level] / total - whole[level] / n
    cost = 0.0
    for step in range(1, height + 1):
        surplus, lack, above = np.zeros(levels), np.zeros(levels), np.zeros(levels)
        seen_child = np.zeros(levels, dtype=np.bool_)
        for level in range(levels):
            child = tree[step - 1, level]
            if not seen_child[child]:
                seen_child[child] = True
                node = tree[step, level]
                flow = extra[child]
                above[node] += flow
                if flow > 0:
                    surplus[node] += flow
                else:
                    lack[node] -= flow
        for node in range(levels):
            cost += step / height * min(surplus[node], lack[node])
        extra = above
    return bool(cost > first + SLACK)


@kernel
def bad_classes(
    classes: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    sensitive: npt.NDArray[np.int32],
    totals: npt.NDArray[np.int64],
    k: int,
    criteria: Packed,
    wholes: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """Which classes are too small or break a criterion."""
    number = len(totals)
    bad = np.zeros(number, dtype=np.bool_)
    starts = np.zeros(number + 1, dtype=np.int64)
    for row in range(len(classes)):
        starts[classes[row] + 1] += 1
    for place in range(number):
        starts[place + 1] += starts[place]
    order = np.empty(len(classes), dtype=np.int64)
    fill = starts[:number].copy()
    for row in range(len(classes)):
        order[fill[classes[row]]] = row
        fill[classes[row]] += 1
    histogram = np.zeros(criteria.sizes.max(), dtype=np.int64)
    for place in range(number):
        bad[place] = totals[place] < k
        for criterion in range(len(criteria.kinds)):
            if bad[place]:
                break
            column = criteria.places[criterion]
            histogram[:] = 0
            for entry in range(starts[place], starts[place + 1]):
                histogram[sensitive[order[entry], column]] += counts[order[entry]]
            bad[place] = _is_bad(histogram, totals[place], criteria, criterion, wholes)
    return bad


@kernel
def _half_is_bad(
    order: npt.NDArray[np.int64],
    ranks: npt.NDArray[np.int32],
    column: int,
    cut: int,
    left: bool,
    counts: npt.NDArray[np.int64],
    sensitive: npt.NDArray[np.int32],
    total: int,
    criteria: Packed,
    wholes: npt.NDArray[np.int64],
    histogram: npt.NDArray[np.int64],
) -> bool:
    """Whether one side of a cut breaks a criterion; ``order`` are the rows of the box, ``total`` those of the side."""
    for criterion in range(len(criteria.kinds)):
        histogram[:] = 0
        for row in order:
            if (ranks[row, column] <= cut) == left:
                histogram[sensitive[row, criteria.places[criterion]]] += counts[row]
        if _is_bad(histogram, total, criteria, criterion, wholes):
            return True
    return False


@kernel
def cut_boxes(  # noqa: PLR0912, PLR0915 - one compiled loop: calls between kernels would copy their state
    ranks: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int64],
    sensitive: npt.NDArray[np.int32],
    spans: npt.NDArray[np.int64],
    k: int,
    criteria: Packed,
    wholes: npt.NDArray[np.int64],
    box: npt.NDArray[np.int64],
) -> int:
    """Number the boxes from 0 on in ``box``; returns how many there are.

    Strict: all rows with one value of the cut column go to one side. The column with the widest range (as a share of
    ``spans``) is cut first; in it, the cut nearest to the median that both halves survive. A column without one
    passes its turn to the next.
    """
    rows, columns = ranks.shape
    order = np.arange(rows)
    spare = np.empty(rows, dtype=np.int64)
    stack = np.empty((2 * rows + 2, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1] = 0, rows
    waiting, boxes = 1, 0
    tally = np.zeros(spans.max() + 1, dtype=np.int64)
    histogram = np.zeros(criteria.sizes.max(), dtype=np.int64)
    lows, highs = np.empty(columns, dtype=np.int64), np.empty(columns, dtype=np.int64)
    widths = np.empty(columns)
    while waiting:
        waiting -= 1
        start, end = stack[waiting, 0], stack[waiting, 1]
        total = 0
        for column in range(columns):
            lows[column], highs[column] = ranks[order[start], column], ranks[order[start], column]
        for place in range(start, end):
            row = order[place]
            total += counts[row]
            for column in range(columns):
                rank = ranks[row, column]
                lows[column] = min(lows[column], rank)
                highs[column] = max(highs[column], rank)
        for column in range(columns):
            widths[column] = (highs[column] - lows[column]) / max(spans[column], 1)
        done = False
        if total >= 2 * k:
            for column in np.argsort(-widths, kind="mergesort"):
                low, high = lows[column], highs[column]
                if low == high:
                    continue
                tally[low : high + 1] = 0
                for place in range(start, end):
                    tally[ranks[order[place], column]] += counts[order[place]]
                for rank in range(low + 1, high + 1):
                    tally[rank] += tally[rank - 1]
                while True:  # the allowed cut nearest to the median, not yet tried
                    cut, nearest = -1, 2.0 * total
                    for rank in range(low, high):
                        if tally[rank] >= k and total - tally[rank] >= k:
                            away = abs(2.0 * tally[rank] - total)
                            if away < nearest:
                                cut, nearest = rank, away
                    if cut < 0:
                        break
                    left = tally[cut]
                    bad = False
                    for side in range(2):
                        part = left if side == 0 else total - left
                        bad = bad or _half_is_bad(
                            order[start:end],
                            ranks,
                            column,
                            cut,
                            side == 0,
                            counts,
                            sensitive,
                            part,
                            criteria,
                            wholes,
                            histogram,
                        )
                    if not bad:
                        done = True
                        break
                    tally[cut] = -1  # tried
                if done:
                    middle, behind = start, 0
                    for place in range(start, end):
                        row = order[place]
                        if ranks[row, column] <= cut:
                            order[middle] = row
                            middle += 1
                        else:
                            spare[behind] = row
                            behind += 1
                    order[middle:end] = spare[:behind]
                    stack[waiting, 0], stack[waiting, 1] = middle, end
                    stack[waiting + 1, 0], stack[waiting + 1, 1] = start, middle
                    waiting += 2
                    break
        if not done:
            for place in range(start, end):
                box[order[place]] = boxes
            boxes += 1
    return boxes
