"""Compiled loops of the search: classes of a generalisation, and whether each satisfies the criteria."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, kw_only=True, eq=False)
class Packed:
    """Criteria as arrays that a compiled loop can walk: one line per criterion."""

    kinds: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    """Which sensitive column each criterion is about."""
    first: npt.NDArray[np.float64]
    second: npt.NDArray[np.float64]
    sizes: npt.NDArray[np.int64]
    """Levels of each sensitive column."""
    trees: npt.NDArray[np.int64]
    """Node of each level at each height, criterion by criterion; padded with -1."""
    heights: npt.NDArray[np.int64]


def pack(
    criteria: Sequence[Criterion], names: Sequence[str], sizes: Sequence[int], trees: dict[str, npt.NDArray[np.int64]]
) -> Packed:
    """``names`` and ``sizes`` are those of the sensitive columns, ``trees`` their hierarchies where needed."""
    kinds, first, second = [], [], []
    for one in criteria:
        if isinstance(one, DistinctDiversity):
            kinds.append(_DISTINCT)
            first.append(float(one.l))
            second.append(0.0)
        elif isinstance(one, EntropyDiversity):
            kinds.append(_ENTROPY)
            first.append(math.log(one.l))
            second.append(0.0)
        elif isinstance(one, RecursiveDiversity):
            kinds.append(_RECURSIVE)
            first.append(float(one.c))
            second.append(float(one.l))
        else:
            assert isinstance(one, Closeness)
            kinds.append(_DISTANCE[one.distance])
            first.append(float(one.t))
            second.append(0.0)
    tall = max([len(tree) for tree in trees.values()], default=1)
    packed = np.full((max(len(criteria), 1), tall, max(sizes, default=1)), -1, dtype=np.int64)
    heights = np.zeros(max(len(criteria), 1), dtype=np.int64)
    for place, one in enumerate(criteria):
        if kinds[place] == _TREE:
            tree = trees[one.column]
            packed[place, : len(tree), : tree.shape[1]] = tree
            heights[place] = len(tree) - 1
    return Packed(
        kinds=np.array(kinds, dtype=np.int64),
        places=np.array([names.index(one.column) for one in criteria], dtype=np.int64),
        first=np.array(first, dtype=np.float64),
        second=np.array(second, dtype=np.float64),
        sizes=np.array(sizes, dtype=np.int64),
        trees=packed,
        heights=heights,
    )


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
    found = 0
    for row in range(len(keys)):
        key = keys[row]
        mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        place = np.int64((mixed ^ (mixed >> np.uint64(29))) & mask)
        while owners[place] >= 0 and slots[place] != key:
            place = (place + 1) & np.int64(mask)
        if owners[place] < 0:
            owners[place] = found
            slots[place] = key
            sizes[found] = 0
            found += 1
        classes[row] = owners[place]
        sizes[owners[place]] += counts[row]
    return found


@kernel
def is_bad(  # noqa: PLR0912 - one branch per criterion
    histogram: npt.NDArray[np.int64],
    total: int,
    levels: int,
    kind: int,
    first: float,
    second: float,
    whole: npt.NDArray[np.int64],
    tree: npt.NDArray[np.int64],
    height: int,
) -> bool:
    """Whether one class breaks one criterion; the formulas are those of ``criteria``."""
    if kind == _DISTINCT:
        distinct = 0
        for level in range(levels):
            distinct += histogram[level] > 0
        return distinct < first
    if kind == _ENTROPY:
        entropy = 0.0
        for level in range(levels):
            if histogram[level] > 0:
                share = histogram[level] / total
                entropy -= share * math.log(share)
        return entropy + SLACK < first
    if kind == _RECURSIVE:
        order = np.sort(histogram[:levels])
        tail = 0
        for place in range(levels - int(second) + 1):
            tail += order[place]
        return tail == 0 or not order[levels - 1] / tail < first
    n = 0
    for level in range(levels):
        n += whole[level]
    if kind == _EQUAL:
        gap = 0.0
        for level in range(levels):
            gap += abs(histogram[level] / total - whole[level] / n)
        return gap / 2 > first + SLACK
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
    return cost > first + SLACK


@kernel
def bad_classes(
    classes: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    sensitive: npt.NDArray[np.int32],
    totals: npt.NDArray[np.int64],
    found: int,
    k: int,
    kinds: npt.NDArray[np.int64],
    places: npt.NDArray[np.int64],
    first: npt.NDArray[np.float64],
    second: npt.NDArray[np.float64],
    sizes: npt.NDArray[np.int64],
    wholes: npt.NDArray[np.int64],
    trees: npt.NDArray[np.int64],
    heights: npt.NDArray[np.int64],
    bad: npt.NDArray[np.bool_],
) -> None:
    """Mark the classes that are too small or break a criterion."""
    starts = np.zeros(found + 1, dtype=np.int64)
    for row in range(len(classes)):
        starts[classes[row] + 1] += 1
    for one in range(found):
        starts[one + 1] += starts[one]
    order = np.empty(len(classes), dtype=np.int64)
    fill = starts[:found].copy()
    for row in range(len(classes)):
        order[fill[classes[row]]] = row
        fill[classes[row]] += 1
    histogram = np.zeros(max(1, sizes.max()), dtype=np.int64)
    for one in range(found):
        bad[one] = totals[one] < k
        for criterion in range(len(kinds)):
            if bad[one]:
                break
            column = places[criterion]
            histogram[:] = 0
            for place in range(starts[one], starts[one + 1]):
                histogram[sensitive[order[place], column]] += counts[order[place]]
            bad[one] = is_bad(
                histogram,
                totals[one],
                sizes[column],
                kinds[criterion],
                first[criterion],
                second[criterion],
                wholes[column],
                trees[criterion],
                heights[criterion],
            )
