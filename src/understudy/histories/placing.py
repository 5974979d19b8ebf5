"""Dates of many levels from the gaps and rough places by which views tell them (``codebook/views.py``).

A date is put where its gap or place says, and then within what the dates around it leave: after all that it must not
precede, before all that it must not exceed. So no order is ever broken, whatever gap was drawn.
"""

import numpy as np
import numpy.typing as npt

from understudy.codebook.columns import Dates
from understudy.codebook.decode import BelowEach
from understudy.codebook.views import Placed, View
from understudy.histories.rows import Codes, LinkedRows, Places

Bools = npt.NDArray[np.bool_]
_FAR = 1 << 40


def place_dates(
    histories: LinkedRows, view: View, one: Placed, rows: Places, told: Codes, below_each: BelowEach
) -> tuple[Codes, Bools]:
    """Codes of a date for some rows, and for which of them the dates around leave room."""
    size, start = one.dates.proper_levels, _start(one.dates)
    absent = told >= len(one.gaps) + len(one.rough)
    low, high = np.full(len(rows), start), np.full(len(rows), start + size - 1)
    for name, least in one.above:
        value, there = _moment(histories, view, name, rows)
        low = np.where(there, np.maximum(low, value + least), low)
    for name, least in one.below:
        if name in _unplaced(view, one):
            high = high - least  # drawn after this one, and must find room
            continue
        value, there = _moment(histories, view, name, rows)
        high = np.where(there, np.minimum(high, value - least), high)
    first, last = low, high
    if one.gaps:
        anchor, there = _anchor(histories, view, one, rows)
        edges = np.array([*one.gaps, size])
        gap = np.minimum(told, len(one.gaps) - 1)
        is_gap = there & (told < len(one.gaps))
        first = np.where(is_gap, anchor + edges[gap], first)
        last = np.where(is_gap, anchor + edges[gap + 1] - 1, last)
    edges = np.array([*one.rough, size]) + start
    part = np.clip(told - len(one.gaps), 0, len(one.rough) - 1)
    is_rough = (told >= len(one.gaps)) & ~absent
    first = np.clip(np.where(is_rough, edges[part], first), low, np.maximum(low, high))
    last = np.clip(np.where(is_rough, edges[part + 1] - 1, last), first, np.maximum(first, high))
    drawn = first + below_each((last - first + 1).astype(np.uint64)).astype(np.int64)
    return np.where(absent, size, drawn - start), absent | (low <= high)


def _unplaced(view: View, one: Placed) -> set[str]:
    """Dates of the same row that are placed after this one."""
    names = [other.column for other in view.placed]
    return set(names[names.index(one.column) + 1 :])


def _anchor(histories: LinkedRows, view: View, one: Placed, rows: Places) -> tuple[Places, Bools]:
    """Where the gap begins, and whether that is known."""
    anchor, there = np.full(len(rows), -_FAR), np.zeros(len(rows), dtype=bool)
    for name in (one.anchor, one.later):
        if name is not None:
            value, known = _moment(histories, view, name, rows)
            anchor, there = np.where(known, value, anchor), there | known
    return anchor, there


def _moment(histories: LinkedRows, view: View, name: str, rows: Places) -> tuple[Places, Bools]:
    """A date as a number of grains, and where it is known."""
    column = histories.book.column(name)
    codes, there = histories.exact(view.table.name, name, rows)
    assert isinstance(column, Dates)
    return codes.astype(np.int64) + _start(column), there & (codes < column.proper_levels)


def _start(column: Dates) -> int:
    return column.grain.number(column.start)
