"""Steps that change values at random: rank swapping and additive noise. Neither promises anything by itself."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from understudy.anonymize.cells import Cells, is_ordered
from understudy.anonymize.state import State, Step, texts
from understudy.codebook import Number
from understudy.compiled import kernel
from understudy.errors import CodebookError, ParameterError
from understudy.mechanisms.exact_gaussian import exact_gaussian
from understudy.mechanisms.exact_laplace import MAX_SCALE, SCALE_BITS, exact_noise
from understudy.mechanisms.stream import Stream


def _rows(cells: Cells) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    rows = cells.expanded()
    return rows, np.ones(len(rows), dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class RankSwap(Step):
    """Each value trades places with one whose rank is at most ``share`` of the rows away [Moore96].

    The shares of the column stay exactly as they are; its connection with other columns is loosened.
    """

    do: ClassVar[str] = "rank-swap"
    says: ClassVar[str] = "swap values of neighbouring rank"
    is_random: ClassVar[bool] = True
    is_record_wise = False
    columns: tuple[str, ...]
    share: float

    def __post_init__(self) -> None:
        texts("columns", self.columns)
        if isinstance(self.share, bool) or not isinstance(self.share, int | float) or not 0 < self.share <= 1:
            raise ParameterError(f"`share` is {self.share!r}; it is a share of the rows above 0, up to 1. Try 0.05.")

    def apply(self, state: State) -> State:
        """Swap column by column; missing values stay where they are."""
        cells = state.cells
        rows, ones = _rows(cells)
        for name in self.columns:
            column = cells.column(name)
            if not is_ordered(column):
                raise CodebookError(
                    f"column {name!r} is of kind {column.kind!r}; only numbers, dates and ordinal columns have ranks."
                )
            place = cells.place(name)
            known = np.flatnonzero(rows[:, place] != (-1 if column.missing_code is None else column.missing_code))
            rows[known, place] = _swapped(rows[known, place], self.share, state.stream)
        merged = Cells(columns=cells.columns, codes=rows, counts=ones).merged()
        return replace(state, cells=merged).told(do=self.do, columns=list(self.columns))


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
            other = place + 1 + (offsets[place] + step) % ahead
            if not taken[other]:
                ranked[place], ranked[other] = ranked[other], ranked[place]
                taken[place] = taken[other] = True
                break


@dataclass(frozen=True, kw_only=True)
class AddNoise(Step):
    """A number plus whole steps of Laplace or Gaussian noise, cut off at the codebook's ends.

    What is known of a value is its bin, so that a value is first drawn inside it. The noise is not calibrated to
    anything and no promise rests on it.
    """

    do: ClassVar[str] = "noise"
    says: ClassVar[str] = "add noise to a number"
    is_random: ClassVar[bool] = True
    is_record_wise = True
    column: str
    scale: Any
    law: str = "gaussian"

    def __post_init__(self) -> None:
        if self.law not in ("gaussian", "laplace"):
            raise ParameterError(f"`law` is {self.law!r}; it must be gaussian or laplace.")
        if isinstance(self.scale, bool) or not isinstance(self.scale, int | float) or not self.scale > 0:
            raise ParameterError(f"`scale` is {self.scale!r}; it must be a number above 0, in the column's own unit.")

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
        rows, ones = _rows(cells)
        place = cells.place(self.column)
        known = np.flatnonzero(rows[:, place] != (-1 if column.missing_code is None else column.missing_code))
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
        merged = Cells(columns=cells.columns, codes=rows, counts=ones).merged()
        drawn = state.drawn | {self.column}
        return replace(state, cells=merged, drawn=drawn).told(do=self.do, column=self.column)
