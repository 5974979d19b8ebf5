"""Steps that change values at random: two kinds of swapping and additive noise. None promises anything by itself."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from understudy.anonymize.cells import Cells, Codes
from understudy.anonymize.entries import COLUMN, COLUMNS
from understudy.anonymize.state import State, Step
from understudy.codebook import Column, Number
from understudy.compiled import kernel
from understudy.errors import CodebookError, ParameterError
from understudy.evaluate.values import is_ordered
from understudy.mechanisms.exact_gaussian import exact_gaussian
from understudy.mechanisms.exact_laplace import MAX_SCALE, SCALE_BITS, exact_noise
from understudy.mechanisms.stream import Stream
from understudy.parameters import ExactNumber, OneOf, option
from understudy.parameters import Number as NumberRule


def _of_rows(cells: Cells, rows: Codes) -> Cells:
    """The same columns, from one row of codes per record."""
    return Cells(columns=cells.columns, codes=rows, counts=np.ones(len(rows), dtype=np.int64)).merged()


def _known(column: Column, codes: Codes) -> npt.NDArray[np.intp]:
    """The rows whose value is not missing, and no special code among numbers."""
    return np.flatnonzero(codes < column.proper_levels)


@dataclass(frozen=True, kw_only=True)
class RankSwap(Step):
    """Each value trades places with one whose rank is at most ``share`` of the rows away [Moore96].

    The shares of the column stay exactly as they are; its connection with other columns is loosened.
    """

    do: ClassVar[str] = "rank-swap"
    is_random: ClassVar[bool] = True
    is_record_wise = False
    columns: tuple[str, ...] = option(rule=COLUMNS, help="Columns of numbers, dates or ordered levels.")
    share: float = option(
        rule=NumberRule(above=0, most=1, tried=0.05), help="How far a partner's rank may be, as a share of the rows."
    )

    def apply(self, state: State) -> State:
        """Swap column by column; missing values stay where they are."""
        cells = state.cells
        rows = cells.expanded()
        for name in self.columns:
            column = cells.column(name)
            if not is_ordered(column):
                raise CodebookError(
                    f"column {name!r} is of kind {column.kind!r}; only numbers, dates and ordinal columns have ranks."
                )
            place = cells.place(name)
            known = _known(column, rows[:, place])
            rows[known, place] = _swapped(rows[known, place], self.share, state.stream)
        return state.after(_of_rows(cells, rows), do=self.do, columns=list(self.columns))


@dataclass(frozen=True, kw_only=True)
class Swap(Step):
    """A ``share`` of the records trade their values of ``columns``, all of them together, pair by pair [DR78].

    Nothing needs an order. The joint shares of the columns stay exactly as they are, and with ``within`` also those of
    the columns together with these, for partners agree in them; the connection with all other columns is loosened.
    """

    do: ClassVar[str] = "swap"
    is_random: ClassVar[bool] = True
    is_record_wise = False
    columns: tuple[str, ...] = option(rule=COLUMNS, help="Columns whose values trade places together.")
    share: float = option(rule=NumberRule(above=0, most=1, tried=0.05), help="Share of the records that take part.")
    within: tuple[str, ...] | None = option(None, rule=COLUMNS, help="Columns in which both partners agree.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if both := [name for name in self.columns if name in (self.within or ())]:
            raise ParameterError(
                f"`within` names {both[0]!r}, which `columns` swaps: partners that agree in it would trade nothing. "
                "Leave it out of one of them."
            )

    def apply(self, state: State) -> State:
        """Take records at random, and pair those that agree."""
        cells = state.cells
        rows = cells.expanded()
        places = np.array([cells.place(name) for name in self.columns], dtype=np.intp)
        taking_part = np.argsort(state.stream.words(len(rows)), kind="stable")[: int(self.share * len(rows))]
        first, second = _partners(rows[taking_part][:, [cells.place(name) for name in self.within or ()]])
        left, right = np.ix_(taking_part[first], places), np.ix_(taking_part[second], places)
        rows[left], rows[right] = rows[right], rows[left]
        return state.after(_of_rows(cells, rows), do=self.do, columns=list(self.columns))


def _partners(keys: Codes) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Two by two, the rows that agree in all keys, in the order in which they come; an odd one stays alone."""
    if len(keys) < 2:
        nobody = np.zeros(0, dtype=np.intp)
        return nobody, nobody
    order = np.lexsort(keys.T) if keys.shape[1] else np.arange(len(keys))
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = np.any(keys[order[1:]] != keys[order[:-1]], axis=1)
    starts = np.flatnonzero(is_new)
    place = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
    second = np.flatnonzero(place % 2 == 1)
    return order[second - 1], order[second]


def _swapped(codes: npt.NDArray[np.int32], share: float, stream: Stream) -> npt.NDArray[np.int32]:
    n = len(codes)
    window = max(1, int(share * n))
    ties = stream.words(n)  # rows of one value have no order of their own
    order = np.lexsort((ties, codes))
    ahead = np.minimum(window, np.arange(n - 1, -1, -1)).astype(np.uint64)
    offsets = stream.below_each(np.maximum(ahead, 1).astype(np.uint64)).astype(np.int64)
    ranked = codes[order]
    _swap(ranked, offsets, window)
    swapped = np.empty_like(codes)
    swapped[order] = ranked
    return swapped


@kernel
def _swap(ranked: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], window: int) -> None:
    n = len(ranked)
    taken = np.zeros(n, dtype=np.bool_)
    for place in range(n):
        if taken[place]:
            continue
        ahead = min(window, n - 1 - place)
        for step in range(ahead):
            partner = place + 1 + (offsets[place] + step) % ahead
            if not taken[partner]:
                ranked[place], ranked[partner] = ranked[partner], ranked[place]
                taken[place] = taken[partner] = True
                break


@dataclass(frozen=True, kw_only=True)
class AddNoise(Step):
    """A number plus whole steps of Laplace or Gaussian noise, cut off at the codebook's ends.

    What is known of a value is its bin, so that a value is first drawn inside it. The noise is not calibrated to
    anything and no promise rests on it.
    """

    do: ClassVar[str] = "noise"
    is_random: ClassVar[bool] = True
    is_record_wise = True
    column: str = option(rule=COLUMN, help="A column of numbers.")
    scale: float = option(rule=ExactNumber(above=0), help="Scale of the noise, in the column's own unit.")
    law: str = option("gaussian", rule=OneOf(("gaussian", "laplace")), help="The law of the noise.")

    def apply(self, state: State) -> State:
        """Draw inside the bin, add, cut off, and put back into bins."""
        cells, column = state.cells, state.cells.column(self.column)
        if not isinstance(column, Number):
            raise CodebookError(f"column {self.column!r} is of kind {column.kind!r}; noise is added to numbers only.")
        steps = Fraction(str(self.scale)) / column.step
        rounded = Fraction(max(1, round(steps * (1 << SCALE_BITS))), 1 << SCALE_BITS)
        if rounded > MAX_SCALE:
            raise ParameterError(
                f"`scale` is {self.scale}; noise of more than {MAX_SCALE:,} steps of {column.name!r} is not drawn."
            )
        rows = cells.expanded()
        place = cells.place(self.column)
        known = _known(column, rows[:, place])
        firsts = np.array([first for first, _ in column.grids], dtype=np.int64)
        widths = np.array([width for _, width in column.grids], dtype=np.uint64)
        codes = rows[known, place]
        values = firsts[codes] + state.stream.below_each(widths[codes]).astype(np.int64)
        if self.law == "laplace":
            values += exact_noise(len(values), scale=rounded, stream=state.stream)
        else:
            values += exact_gaussian(len(values), deviation=rounded, stream=state.stream)
        values = np.clip(values, firsts[0], firsts[-1] + int(widths[-1]) - 1)
        rows[known, place] = np.searchsorted(firsts, values, side="right") - 1
        drawn = replace(state, drawn=state.drawn | {self.column})
        return drawn.after(_of_rows(cells, rows), do=self.do, column=self.column)
