"""Rules while gaps are filled: which rows can be filled within them, and which levels each gap may take.

Observed values stay. Gaps are filled one after the other, each with a level that the rules allow after those before it
and that leaves a level for those after it (:class:`understudy.codebook.constraints.Allowed`). Numbers that an order
rule compares are compared with the observed values, not only with their bins. A row whose observed values break a rule
cannot be filled within it: it is left alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.codebook import Codebook, Number
from understudy.codebook.clauses import value_range
from understudy.codebook.constraints import Allowed, Orders, Step
from understudy.codebook.decode import Known
from understudy.errors import ParameterError

Codes = npt.NDArray[np.unsignedinteger]
Bools = npt.NDArray[np.bool_]
_NEAR = 1e-6
"""A value so near to a step, in steps, is that step: floats of decimal numbers are never exact."""


def _in_steps(book: Codebook, values: Sequence[pa.Array]) -> dict[str, tuple[npt.NDArray[np.float64], Bools]]:
    """Numbers of columns that order rules compare, in steps, and where they are observed."""
    compared = {name for pair in Orders(book.modelled, book.constraints).gaps for name in pair}
    compared_steps = {}
    for column, array in zip(book.modelled, values, strict=True):
        if column.name in compared and isinstance(column, Number):
            observed = np.asarray(array.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
            numbers = np.nan_to_num(array.cast(pa.float64()).to_numpy(zero_copy_only=False), nan=0.0)
            compared_steps[column.name] = (numbers / float(column.step), observed)
    return compared_steps


def known_numbers(book: Codebook, values: Sequence[pa.Array]) -> Known:
    """The observed numbers of :func:`_in_steps`, as floor and ceiling."""
    known = {}
    for name, (steps, observed) in _in_steps(book, values).items():
        near = np.abs(steps - np.rint(steps)) < _NEAR
        low, high = (np.where(near, np.rint(steps), way(steps)).astype(np.int64) for way in (np.floor, np.ceil))
        known[name] = (low, high, observed)
    return known


@dataclass(frozen=True, kw_only=True, eq=False)
class _Group:
    """Rows with gaps in the same tied columns."""

    rows: npt.NDArray[np.int64]
    steps: tuple[Step | None, ...]
    is_whole: bool
    """Whether every gap can be filled; otherwise the rules want some of them to stay."""


class GapRules:
    """The rules of a codebook for the gaps of one table."""

    def __init__(
        self,
        book: Codebook,
        state: Sequence[Codes],
        values: Sequence[pa.Array],
        absent: Mapping[str, Bools],
        order: Sequence[str],
    ) -> None:
        self._book, self.known = book, known_numbers(book, values)
        self._rows = len(state[0])
        self.left = np.zeros(self._rows, dtype=bool)
        """Rows that are left alone."""
        tied = [place for group in book.allowed.tied for place in group]
        self._tied = {book.names[place] for place in tied}
        gaps = [book.position(name) for name in order if name in absent]
        self._groups = self._group(state, absent, gaps, tied) if tied else []
        self.left |= self._disordered(_in_steps(book, values))

    def _group(
        self, state: Sequence[Codes], absent: Mapping[str, Bools], gaps: Sequence[int], tied: Sequence[int]
    ) -> list[_Group]:
        names = self._book.names
        open_ = [place for place in gaps if place in tied]
        pattern = np.zeros(self._rows, dtype=np.int64)
        for bit, place in enumerate(open_):
            pattern |= absent[names[place]].astype(np.int64) << bit
        groups = []
        for word in np.unique(pattern):
            rows = np.flatnonzero(pattern == word)
            missing = [place for bit, place in enumerate(open_) if word >> bit & 1]
            others = [place for place in range(len(names)) if place not in missing]
            order = (*others, *missing)
            batch = [column[rows] for column in state]
            whole = np.zeros(len(rows), dtype=bool)
            if missing and self._filled is not None:
                whole = self._filled.completable(batch, order, len(others))
                groups.append(_Group(rows=rows[whole], steps=self._filled.plan(order), is_whole=True))
            partly = ~whole & self._book.allowed.completable(batch, order, len(others))
            if missing:
                groups.append(_Group(rows=rows[partly], steps=self._book.allowed.plan(order), is_whole=False))
            self.left[rows[~whole & ~partly]] = True
        return [group for group in groups if len(group.rows)]

    @cached_property
    def _filled(self) -> Allowed | None:
        """The rules for rows without any gap in the columns they tie, unless they never allow one."""
        proper = {c.name: range(c.proper_levels) for c in self._book.modelled if c.missing is not None}
        proper = {name: codes for name, codes in proper.items() if name in self._tied}
        try:
            return self._book.allowed.within(proper) if proper else self._book.allowed
        except ParameterError:
            return None

    @cached_property
    def _orders(self) -> Orders:
        return Orders(self._book.modelled, self._book.constraints)

    def _disordered(self, steps: Mapping[str, tuple[npt.NDArray[np.float64], Bools]]) -> Bools:
        """Rows in which two observed numbers are in the wrong order, though their bins need not be."""
        bad = np.zeros(self._rows, dtype=bool)
        for (low, high), gap in self._orders.gaps.items():
            if low in steps and high in steps:
                (below, low_observed), (above, high_observed) = steps[low], steps[high]
                wrong = below >= above - _NEAR if gap == 1 else below + gap > above + _NEAR
                bad |= low_observed & high_observed & wrong
        return bad

    def inside(self, name: str, rows: npt.NDArray[np.int64], state: Sequence[Codes]) -> Bools | None:
        """Which levels each of these rows may take in a column; None where all may. A row without any is left alone."""
        if name not in self._tied:
            return None
        place, column = self._book.position(name), self._book.column(name)
        allowed = self._in_order(name, rows)
        where = np.full(self._rows, -1, dtype=np.int64)
        where[rows] = np.arange(len(rows))
        for group in self._groups:
            step = group.steps[place]
            group_rows = group.rows[where[group.rows] >= 0]
            if step is not None and len(group_rows):
                allowed[where[group_rows]] &= step.choices.levels[step.sets([values[group_rows] for values in state])]
        if column.missing_code is not None:  # a gap stays one only where the rules leave nothing else
            proper = allowed[:, : column.missing_code].any(axis=1)
            allowed[:, column.missing_code] &= ~proper
        stuck = ~allowed.any(axis=1)
        self.left[rows[stuck]] = True
        return allowed

    def _in_order(self, name: str, rows: npt.NDArray[np.int64]) -> Bools:
        """Bins that hold a value between the observed numbers; the missing level is in no order."""
        column = self._book.column(name)
        allowed = np.ones((len(rows), column.size), dtype=bool)
        if not isinstance(column, Number):
            return allowed
        smallest, largest = value_range(column)
        for other, (floor, ceiling, observed) in self.known.items():
            observed_here = observed[rows]
            gap = self._orders.gaps.get((other, name))
            if gap is not None:
                least = ((floor if gap == 1 else ceiling) + gap)[rows]
                allowed[:, : len(largest)] &= ~observed_here[:, None] | (largest[None, :] >= least[:, None])
            gap = self._orders.gaps.get((name, other))
            if gap is not None:
                most = ((ceiling if gap == 1 else floor) - gap)[rows]
                allowed[:, : len(smallest)] &= ~observed_here[:, None] | (smallest[None, :] <= most[:, None])
        return allowed
