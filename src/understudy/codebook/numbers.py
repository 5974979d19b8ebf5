"""Number columns, kept as bins. Public knowledge only; no data is read here."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from understudy.codebook.columns import Column

Closed = Literal["left", "right"]
Shape = Literal["smooth", "uniform", "log", "measured"]
MOST_PIECES = 2000
"""Pieces of all bins of a column together: each is a comparison in a query, and each gets noise."""
_MOST_SMOOTH, _OCTAVES, _FINEST = 128, 10, 10
"""Pieces of a smooth number in all; powers of two below its largest value that are told apart however wide its bins
are; and the logarithm of the pieces that a power of two may have where all values lie close together."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Number(Column):
    """A number, kept as the bin it falls in.

    With ``closed = "left"`` a bin holds its lower edge and not its upper one; the outermost edge belongs to the
    outermost bin. ``clip`` sends values beyond the edges to the end bins; otherwise they are unknown.
    """

    edges: tuple[Fraction, ...]
    closed: Closed = "left"
    clip: bool = False
    spikes: tuple[Fraction, ...] = ()
    """Values that many records share, such as 0: each has a bin of its own, made of edges around it."""
    shape: Shape = "smooth"
    """How values lie inside a bin: as the counts of the bins around it suggest (or as a method measures within its own
    budget); evenly; evenly in their logarithm (more small ones); or as a priced count of ``pieces`` says."""
    pieces: int | None = None
    """Into how many equal pieces a bin is cut where the shape is measured; fewer where it holds fewer values."""
    special: tuple[str, ...] = ()
    """Texts among the numbers that are values of their own, such as "N": levels after the bins."""
    within: "Number | None" = None
    """Whose pieces these bins are; only for the columns that a codebook makes itself (:attr:`fine`)."""
    units: str = ""
    """What is measured, for readers: "kg", "US dollars"."""

    def __post_init__(self) -> None:
        if self.spikes and self._steps_are_sane() and self.edges:
            step = self.step
            cut = {s for s in self.spikes if self._is_spike(s)}
            around = cut | {s + step / 2 for s in cut} if self.closed == "left" else cut | {s - step / 2 for s in cut}
            inside = {edge for edge in around if self.edges[0] < edge}
            low = {min(around)} if self.closed == "right" and self.edges[0] in cut else set()
            if low or inside - set(self.edges):
                object.__setattr__(self, "edges", tuple(sorted({*self.edges, *inside, *low})))

    def _steps_are_sane(self) -> bool:
        precision = getattr(self, "precision", 0)
        return isinstance(precision, int) and 0 <= precision <= 12

    def _is_spike(self, value: Fraction) -> bool:
        """On the grid of values and within the edges, so that a bin can hold it and nothing else."""
        return (value / self.step).denominator == 1 and self.edges[0] <= value <= self.edges[-1]

    @property
    def step(self) -> Fraction:
        """Distance of two neighbouring values that decoding may draw."""
        raise AttributeError(self.kind)

    @property
    def proper_levels(self) -> int:
        """One per bin."""
        return len(self.edges) - 1

    @cached_property
    def grids(self) -> tuple[tuple[int, int], ...]:
        """First value and number of values that decoding may draw in each bin, in steps."""
        return tuple(self._grid(index) for index in range(self.proper_levels))

    def _grid(self, index: int) -> tuple[int, int]:
        low, high = self.edges[index] / self.step, self.edges[index + 1] / self.step
        has_low = self.closed == "left" or index == 0
        has_high = self.closed == "right" or index == self.proper_levels - 1
        first = -((-low) // 1) if has_low else low // 1 + 1
        last = high // 1 if has_high else -((-high) // 1) - 1
        return int(first), int(last - first + 1)

    def bin_of(self, value: Fraction | float | int) -> int | None:
        """Code of a finite number, or None when it lies outside the edges and is not clipped."""
        number, edges = float(value), self.float_edges  # as the engines compare
        if self.clip:
            number = min(max(number, edges[0]), edges[-1])
        if not edges[0] <= number <= edges[-1]:
            return None
        inside = edges[1:-1]
        return bisect_right(inside, number) if self.closed == "left" else bisect_left(inside, number)

    def bins_of(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
        """Codes of numbers that lie within the edges or are clipped."""
        return np.searchsorted(self.float_edges[1:-1], values, side="right" if self.closed == "left" else "left")

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest value that decoding may draw."""
        return float(self.grids[0][0] * self.step), float((sum(self.grids[-1]) - 1) * self.step)

    @property
    def reads(self) -> str:
        """Pieces are read from the column that they are pieces of."""
        return self.name if self.within is None else self.within.name

    @cached_property
    def cuts(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For every bin its pieces, each as first value and number of values, in steps; all are public."""
        if self.shape == "smooth":
            return self._smooth_cuts()
        pieces = []
        for first, width in self.grids:
            number = min(self.pieces or 1, width)
            ends = [first + place * width // number for place in range(number + 1)]
            pieces.append(tuple((low, high - low) for low, high in pairwise(ends)))
        return tuple(pieces)

    @cached_property
    def scale(self) -> Fraction:
        """In steps: below it, on both sides of 0, pieces of a smooth number are equal; above it they grow."""
        ends: list[Fraction] = [abs(edge) / self.step for edge in self.edges if edge]
        smallest = min(*ends, max(ends) / 2**_OCTAVES)
        return smallest if smallest > 1 else Fraction(1)

    def _smooth_cuts(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """As fine as there is room for. A piece grows with the distance from 0, and 0 has a piece of its own."""
        cuts: tuple[tuple[tuple[int, int], ...], ...] = tuple((grid,) for grid in self.grids)
        for level in range(_FINEST + 1):
            marks = self._marks(2**level)
            finer = tuple(_cut(first, width, marks) for first, width in self.grids)
            if sum(map(len, finer)) > _MOST_SMOOTH:
                break
            cuts = finer
            if all(width == 1 for pieces in cuts for _, width in pieces):
                break
        return cuts

    def _marks(self, per_octave: int) -> list[int]:
        """Where pieces begin, in steps: whole multiples of the scale's parts, the parts doubling with every octave.

        All of it is exact: two machines cut alike.
        """
        start, end = self.grids[0][0], sum(self.grids[-1])
        nearest, farthest = max(start, -end), max(abs(start), abs(end))
        parts, whole = self.scale.numerator, self.scale.denominator * per_octave
        above = [-(-parts * place // whole) for place in range(per_octave)]
        while parts * per_octave < farthest * whole:
            if 2 * parts * per_octave > nearest * whole:
                above += [-(-parts * place // whole) for place in range(per_octave, 2 * per_octave)]
            parts *= 2
        inside = {place for mark in above for place in (mark, 1 - mark) if start < place < end}
        return sorted(inside | {place for place in (0, 1) if start < place < end})

    @property
    def is_cut(self) -> bool:
        """Whether some bin has several pieces."""
        return any(len(pieces) > 1 for pieces in self.cuts)

    @cached_property
    def fine(self) -> "Number":
        """The pieces of all bins as a column of its own, to be counted: edges halfway between two values."""
        inside = {(low - Fraction(1, 2)) * self.step for pieces in self.cuts for low, _ in pieces[1:]}
        return replace(
            self,
            name=f"{self.name} within its bins",
            within=self,
            edges=tuple(sorted({*self.edges, *inside})),
            shape="uniform",
            pieces=None,
            parents=None,
            hierarchy=(),
        )

    @cached_property
    def float_edges(self) -> tuple[float, ...]:
        """The edges as the engines see them."""
        return tuple(float(edge) for edge in self.edges)

    def _proper_labels(self) -> tuple[str, ...]:
        ends = [_short(edge) for edge in self.edges]
        left, right = ("[", ")") if self.closed == "left" else ("(", "]")
        labels = [f"{left}{low}, {high}{right}" for low, high in pairwise(ends)]
        if labels:
            labels[0] = "[" + labels[0][1:]
            labels[-1] = labels[-1][:-1] + "]"
        if self.spikes:
            for place, (first, width) in enumerate(self.grids):
                if width == 1 and first * self.step in self.spikes:
                    labels[place] = _short(first * self.step)
        return tuple(labels)

    def _drawn_missing(self) -> str | None:
        """A token or code of the missing level that a drawn value would be read back as, if there is one."""
        for code in self._missing_codes:
            try:
                token = Decimal(code or "none")
            except InvalidOperation:
                continue
            if token.is_finite() and self.edges[0] <= token <= self.edges[-1]:
                return code
        return None

    def _texts(self) -> tuple[str, ...]:
        return (*self.special, *super()._texts())

    def _special_faults(self) -> list[str]:
        """A special code is no number, is not missing, and stands once."""
        words = [self.reading.word(text) for text in self.special]
        taken = {self.reading.word(text) for text in self._missing_codes} | set(self.reading.meaning)
        odd = [
            text
            for text, word in zip(self.special, words, strict=True)
            if not word or word in taken or words.count(word) > 1 or self.reading.number_text(text) is not None
        ]
        if not odd:
            return []
        return [
            f"column {self.name!r} has the special code {odd[0]!r}, which is empty, a number, missing or listed twice; "
            "list each text that is a value of its own once."
        ]

    @property
    def _missing_codes(self) -> tuple[str, ...]:
        return self.reading.missing if self.missing is None else (*self.reading.missing, self.missing)

    @cached_property
    def missing_numbers(self) -> tuple[float, ...]:
        """The further codes that mean missing and are numbers: -8 is one however it is spelled."""
        spelled = (self.reading.number_text(code) for code in self.reading.missing)
        return tuple(float(number) for number in spelled if number is not None)

    def faults(self) -> list[str]:
        """Edges must rise, and every bin must hold a value that can be drawn."""
        faults = [*super().faults(), *self._special_faults()]
        if len(self.edges) < 2:
            return [*faults, f"column {self.name!r} has {len(self.edges)} edges; bins need at least two."]
        if any(low >= high for low, high in pairwise(self.edges)):
            return [*faults, f"column {self.name!r} has edges that do not rise; sort them and drop repeats."]
        odd = [edge for edge in self.edges if abs(edge / self.step) > MOST_STEPS or not _is_exact(edge)]
        if odd:
            return [
                *faults,
                f"column {self.name!r} has the edge {_short(odd[0])}, which has too many digits to be compared "
                "exactly; keep edges to 15 digits, those after the point that the precision asks for included.",
            ]
        if drawn := self._drawn_missing():
            faults.append(
                f"column {self.name!r} has the missing token {drawn!r}, which is also one of its values; end "
                "the edges before it, or choose a token that is no number."
            )
        faults += self._shape_faults()
        empty = [label for label, (_, width) in zip(self._proper_labels(), self.grids, strict=True) if width < 1]
        if empty:
            faults.append(
                f"column {self.name!r} has bins {', '.join(empty)} without any value at its precision; widen them."
            )
        return faults

    def _shape_faults(self) -> list[str]:
        faults = []
        if odd := [spike for spike in self.spikes if not self._is_spike(spike)]:
            faults.append(
                f"column {self.name!r} has the spike {_short(odd[0])}, outside its edges or between two values of its "
                "precision; widen the edges, or write a code for unknown values as its missing token."
            )
        return [*faults, *self._piece_faults()]

    def _piece_faults(self) -> list[str]:
        if self.shape != "measured":
            if self.pieces is None:
                return []
            return [
                f"column {self.name!r} has pieces and shape = {self.shape!r}; pieces are counted, at a price, where "
                'shape = "measured". Write that, or drop pieces.'
            ]
        if self.pieces is None or isinstance(self.pieces, bool) or self.pieces < 2:
            return [
                f'column {self.name!r} has shape = "measured" and pieces = {self.pieces}; say into how many '
                "equal pieces each bin is cut, 2 or more. Try pieces = 8."
            ]
        number = sum(min(self.pieces, width) for _, width in self.grids)
        if number > MOST_PIECES:
            return [f"column {self.name!r} is cut into {number:,} pieces in all, more than {MOST_PIECES:,}; use fewer."]
        if number == self.proper_levels:
            return [
                f'column {self.name!r} has shape = "measured", and none of its bins holds more than one value; drop it.'
            ]
        return []


@dataclass(frozen=True, kw_only=True, repr=False)
class Integer(Number):
    """Whole numbers in bins."""

    kind: ClassVar[str] = "integer"

    @property
    def step(self) -> Fraction:
        """Whole numbers."""
        return Fraction(1)


@dataclass(frozen=True, kw_only=True, repr=False)
class Continuous(Number):
    """Decimal numbers in bins, drawn with ``precision`` digits after the point."""

    kind: ClassVar[str] = "continuous"
    precision: int

    @property
    def step(self) -> Fraction:
        """One unit of the last kept digit."""
        return Fraction(1, 10**self.precision) if self.precision >= 0 else Fraction(10**-self.precision)

    def faults(self) -> list[str]:
        """The precision must be a small whole number."""
        if not 0 <= self.precision <= 12:
            return [f"column {self.name!r} has precision {self.precision}; it must be 0 to 12 digits after the point."]
        return super().faults()


MOST_STEPS = 10**15
"""Decimal numbers of 15 digits are all told apart by a 64-bit float, so that no drawn value changes its bin."""


def _cut(first: int, width: int, marks: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """One bin cut at the marks that lie inside it."""
    inside = marks[bisect_right(marks, first) : bisect_left(marks, first + width)]
    return tuple((low, high - low) for low, high in pairwise([first, *inside, first + width]))


def _is_exact(edge: Fraction) -> bool:
    """Whether the engines, which compare floats, see the edge that was written."""
    return abs(edge) < 2 * MOST_STEPS and Fraction(repr(float(edge))) == edge


def _short(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else repr(float(value))
