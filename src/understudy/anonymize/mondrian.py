"""Multidimensional k-anonymity: strict Mondrian with median cuts and local recoding [LeFevre06].

Boxes are cut in the space of codes, in the declared order of ordered columns; levels without an order are sorted so
that the groups of their hierarchy are neighbours. Each box is released as the range, or the set, of the values that
occur in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from understudy.anonymize.cells import STAR, Cells, base_texts, join_labels, levelled
from understudy.anonymize.criteria import Closeness, Criterion
from understudy.anonymize.hierarchy import Hierarchy
from understudy.anonymize.kernels import cut_boxes
from understudy.anonymize.problem import Problem, pose
from understudy.codebook import Column, Number, Origin
from understudy.errors import RefusalError
from understudy.evaluate.values import is_ordered


@dataclass(frozen=True, kw_only=True, eq=False)
class Partition:
    """Boxes over the quasi-identifiers: one number per cell of the problem, and the extent of each box."""

    problem: Problem
    box: npt.NDArray[np.int64]
    boxes: int
    ranks: tuple[npt.NDArray[np.int32], ...]
    """Place of every code of each quasi-identifier in the order it was cut in."""
    lows: npt.NDArray[np.int64]
    highs: npt.NDArray[np.int64]


def partition(
    cells: Cells, *, quasi: Sequence[str], hierarchies: Mapping[str, Hierarchy], k: int, criteria: Sequence[Criterion]
) -> Partition:
    """Cut until no further cut leaves both halves with k rows and everything else that is asked."""
    problem = pose(cells, quasi=quasi, hierarchies=hierarchies, k=k, criteria=criteria, suppression=0.0)
    ranks = tuple(_ranks(hierarchy) for hierarchy in problem.hierarchies)
    ranked = np.stack([rank[problem.codes[:, place]] for place, rank in enumerate(ranks)], axis=1).astype(np.int32)
    wholes = problem.wholes()
    _refuse_whole(problem, wholes)
    spans = np.array([len(rank) - 1 for rank in ranks], dtype=np.int64)
    box = np.empty(len(ranked), dtype=np.int64)
    boxes = cut_boxes(ranked, problem.counts, problem.sensitive, spans, k, problem.packed, wholes, box)
    lows = np.full((boxes, len(ranks)), np.iinfo(np.int64).max)
    highs = np.full((boxes, len(ranks)), -1)
    np.minimum.at(lows, box, ranked)
    np.maximum.at(highs, box, ranked)
    return Partition(problem=problem, box=box, boxes=boxes, ranks=ranks, lows=lows, highs=highs)


def _refuse_whole(problem: Problem, wholes: npt.NDArray[np.int64]) -> None:
    """The table as one class must pass, or no cut of it can."""
    if problem.forms_class(np.ones(len(problem.counts), dtype=bool)):
        return
    broken = []
    for criterion, place in zip(problem.criteria, problem.packed.places, strict=True):
        if not isinstance(criterion, Closeness):  # the whole table is always close to itself
            value = criterion.measure(wholes[place], wholes[place])
            if not criterion.passes(value):
                broken.append(f"{criterion.label} (the whole table measures {value:.4g})")
    raise RefusalError(
        f"even the whole table as one class does not satisfy {', '.join(broken)}; no generalisation can. Ask for less."
    )


def _ranks(hierarchy: Hierarchy) -> npt.NDArray[np.int32]:
    """Place of every code in the order to cut in; the missing level, if any, is last."""
    column = hierarchy.column
    if is_ordered(column):
        return np.arange(column.size, dtype=np.int32)
    # coarsest group first, then the finer ones inside it; np.lexsort takes the most important key last
    by_group = [hierarchy.maps[height][: column.proper_levels] for height in range(hierarchy.height + 1)]
    order = np.lexsort(by_group)
    ranks = np.arange(column.size, dtype=np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return ranks


def apply_partition(cells: Cells, cut: Partition) -> Cells:
    """The table with every quasi-identifier replaced by the range or set of its box."""
    problem = cut.problem
    known, asked = problem.keys_beside(tuple(0 for _ in problem.quasi), cells)
    order = np.argsort(known, kind="stable")
    box = cut.box[order[np.searchsorted(known[order], asked)]]
    columns, codes = list(cells.columns), cells.codes.copy()
    for place, (name, hierarchy) in enumerate(zip(problem.quasi, problem.hierarchies, strict=True)):
        where = cells.place(name)
        columns[where], codes[:, where] = _recoded(hierarchy, cut, place, box)
    return replace(cells, columns=tuple(columns), codes=codes).merged()


def _recoded(
    hierarchy: Hierarchy, cut: Partition, place: int, box: npt.NDArray[np.int64]
) -> tuple[Column, npt.NDArray[np.int32]]:
    """One column as labels of ranges: data-derived, so the released levels are marked as drafted."""
    column = hierarchy.column
    if is_ordered(column):
        spans = np.stack([cut.lows[:, place], cut.highs[:, place]], axis=1)
        distinct, which = np.unique(spans, axis=0, return_inverse=True)
        labels = [_range_label(column, int(low), int(high)) for low, high in distinct]
    else:
        labels, which = _sets(hierarchy, cut.box, cut.problem.codes[:, place], cut.boxes)
    which = which.ravel()
    token = column.missing
    levels = tuple(dict.fromkeys(label for label in labels if label != token))
    released = levelled(column, levels, missing=token is not None and token in labels)
    code_of = {label: code for code, label in enumerate(levels)}  # a box of missing values only: they stay missing
    code = np.array([code_of.get(label, len(levels)) for label in labels], dtype=np.int32)
    return replace(released, origin=Origin.DRAFTED, attestation=None), code[which][box]


def _sets(
    hierarchy: Hierarchy, box: npt.NDArray[np.int64], codes: npt.NDArray[np.int32], boxes: int
) -> tuple[list[str], npt.NDArray[np.int64]]:
    """The different sets of levels that boxes hold, as labels, and which one each box has."""
    pairs = np.unique(box * hierarchy.column.size + codes)
    ends = np.searchsorted(pairs, np.arange(1, boxes + 1) * hierarchy.column.size)
    known: dict[bytes, int] = {}
    labels: list[str] = []
    which = np.empty(boxes, dtype=np.int64)
    for number, members in enumerate(np.split(pairs % hierarchy.column.size, ends[:-1])):
        key = members.tobytes()
        if key not in known:
            known[key] = len(labels)
            labels.append(_set_label(hierarchy, members))
        which[number] = known[key]
    return labels, which


def _range_label(column: Column, low: int, high: int) -> str:
    proper = column.proper_levels
    behind = column.labels[max(low, proper) : high + 1]  # special codes, and what is missing
    return " or ".join((*((_proper_range(column, low, min(high, proper - 1)),) if low < proper else ()), *behind))


def _proper_range(column: Column, low: int, high: int) -> str:
    texts = base_texts(column)
    if (low, high) == (0, column.proper_levels - 1) and low < high:
        return STAR
    if low == high:
        return texts[low]
    return join_labels(column, low, high) if isinstance(column, Number) else f"{texts[low]} to {texts[high]}"


def _set_label(hierarchy: Hierarchy, members: npt.NDArray[np.int64]) -> str:
    """A group of the hierarchy where it fits exactly, or the levels one by one."""
    column = hierarchy.column
    if len(members) == column.size > 1:
        return STAR
    for height in range(1, hierarchy.height + 1):
        group = hierarchy.maps[height][members[0]]
        if np.array_equal(np.flatnonzero(hierarchy.maps[height] == group), members) and len(members) > 1:
            labels = hierarchy.labels[height]
            return labels[group] if group < len(labels) else str(column.missing)
    return " | ".join(column.labels[code] for code in members)
