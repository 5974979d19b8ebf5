"""Steps that recode or drop columns: variable reduction, coding at the ends, bins, rounding, groups."""

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from typing import Any, ClassVar

import numpy as np

from understudy.anonymize.cells import as_levels, base_texts, levelled
from understudy.anonymize.entries import COLUMN, COLUMNS, LEVELS, NUMBERS
from understudy.anonymize.state import State, Step
from understudy.codebook import Column, Levelled, Number, Ordinal, Origin
from understudy.errors import CodebookError, ParameterError
from understudy.parameters import ExactNumber, Text, Whole, exact, option

_LEVEL = Text(words="the name of a level", example="other", admitted=lambda value: isinstance(value, str))


@dataclass(frozen=True, kw_only=True)
class Keep(Step):
    """Variable reduction: only these columns go on."""

    do: ClassVar[str] = "keep"
    is_record_wise = True
    columns: tuple[str, ...] = option(rule=COLUMNS, help="The columns that go on.")

    def apply(self, state: State) -> State:
        """Project; the quasi-identifiers that are left stay quasi-identifiers."""
        cells = state.cells.select(self.columns)
        quasi = tuple(name for name in state.quasi if name in self.columns)
        return replace(state, quasi=quasi).after(cells, do=self.do, columns=list(cells.names))


@dataclass(frozen=True, kw_only=True)
class Drop(Step):
    """Variable reduction: these columns go."""

    do: ClassVar[str] = "drop"
    is_record_wise = True
    columns: tuple[str, ...] = option(rule=COLUMNS, help="The columns that go.")

    def apply(self, state: State) -> State:
        """Project on the others."""
        for name in self.columns:
            state.cells.place(name)
        kept = tuple(name for name in state.cells.names if name not in self.columns)
        if not kept:
            raise ParameterError(f"dropping {', '.join(self.columns)} leaves no column; keep at least one.")
        return Keep(columns=kept).apply(state)


def _edge(column: Number, at: Any) -> int:
    """Place of an edge strictly inside."""
    wanted = exact(ExactNumber().check("at", at))
    assert wanted is not None
    if wanted not in column.edges[1:-1]:
        near = ", ".join(str(float(edge)) for edge in sorted(column.edges[1:-1], key=lambda e: abs(e - wanted))[:3])
        raise ParameterError(
            f"`at` is {at} and column {column.name!r} has no bin that begins there; near it are {near or 'no edges'}. "
            "Choose one of them, or add the edge to the codebook."
        )
    return column.edges.index(wanted)


def _place(column: Column, at: Any) -> int:
    texts = base_texts(column)
    if str(at) not in texts:
        raise ParameterError(f"`at` is {at!r}; column {column.name!r} has the levels {', '.join(texts)}.")
    return texts.index(str(at))


@dataclass(frozen=True, kw_only=True)
class _EndCode(Step):
    """Values at one end become one."""

    is_record_wise = True
    column: str = option(rule=COLUMN, help="A column of numbers or ordered levels.")
    at: float | str = option(
        rule=Text(words="a number or a level", example="90", admitted=lambda value: value is not None),
        help="Where the end begins: an edge of the codebook, or a level.",
    )

    def apply(self, state: State) -> State:
        """Join the bins or levels at that end."""
        column = state.cells.column(self.column)
        if isinstance(column, Number):
            return _binned(state, column, self._edges(column, _edge(column, self.at)), self.do)
        if not isinstance(column, Ordinal):
            raise _no_order(column, self.do)
        return _relabelled(state, column, self._labels(column, _place(column, self.at)), self.do)

    @abstractmethod
    def _edges(self, column: Number, place: int) -> tuple[Fraction, ...]:
        """The edges that stay."""

    @abstractmethod
    def _labels(self, column: Ordinal, place: int) -> list[str]:
        """A label for each level, the same for those that become one."""


@dataclass(frozen=True, kw_only=True)
class TopCode(_EndCode):
    """All values from ``at`` on become one."""

    do: ClassVar[str] = "top-code"

    def _edges(self, column: Number, place: int) -> tuple[Fraction, ...]:
        return (*column.edges[: place + 1], column.edges[-1])

    def _labels(self, column: Ordinal, place: int) -> list[str]:
        return [*column.levels[:place], *([f"{self.at} or more"] * (len(column.levels) - place))]


@dataclass(frozen=True, kw_only=True)
class BottomCode(_EndCode):
    """All values below ``at`` become one (for levels: up to and including ``at``)."""

    do: ClassVar[str] = "bottom-code"

    def _edges(self, column: Number, place: int) -> tuple[Fraction, ...]:
        return (column.edges[0], *column.edges[place:])

    def _labels(self, column: Ordinal, place: int) -> list[str]:
        return [*([f"{self.at} or less"] * (place + 1)), *column.levels[place + 1 :]]


def _no_order(column: Column, do: str) -> CodebookError:
    return CodebookError(
        f"column {column.name!r} is of kind {column.kind!r}, which has no highest and lowest value here; {do} needs a "
        "number or an ordinal column."
    )


def _binned(state: State, column: Number, edges: Sequence[Fraction], do: str) -> State:
    coarse = replace(column, edges=tuple(edges), parents=None, hierarchy=())
    mapping = [bisect_right(edges, low) - 1 for low in column.edges[:-1]]
    mapping += range(len(edges) - 1, coarse.size)  # special codes and the missing level stay
    cells = state.cells.recoded(column.name, coarse, mapping)
    return state.after(cells, do=do, column=column.name, levels=coarse.size)


def _relabelled(
    state: State, column: Column, labels: Sequence[str], do: str, *, drafted: bool = False, ordered: bool | None = None
) -> State:
    """Proper codes to labels; equal labels become one level."""
    labels = labels if len(labels) > column.proper_levels else [*labels, *column.special]
    levels = tuple(dict.fromkeys(labels))
    code_of = {label: code for code, label in enumerate(levels)}
    mapping = [code_of[label] for label in labels]
    mapping += [] if column.missing_code is None else [len(levels)]
    fresh = levelled(column, levels, missing=column.missing is not None, ordered=ordered)
    if drafted:
        fresh = replace(fresh, origin=Origin.DRAFTED, attestation=None)
    if faults := fresh.faults():
        raise CodebookError(f"{do} gives column {column.name!r} levels that contradict each other:", faults)
    cells = state.cells.recoded(column.name, fresh, mapping)
    return state.after(cells, do=do, column=column.name, levels=fresh.size)


def _number(state: State, name: str, done: str) -> Number:
    column = state.cells.column(name)
    if not isinstance(column, Number):
        raise CodebookError(f"column {name!r} is of kind {column.kind!r}; only numbers are {done}.")
    return column


@dataclass(frozen=True, kw_only=True)
class Bin(Step):
    """Wider bins: by their edges, or all of one width."""

    do: ClassVar[str] = "bin"
    is_record_wise = True
    column: str = option(rule=COLUMN, help="A column of numbers.")
    edges: tuple[Any, ...] | None = option(None, rule=NUMBERS, help="The edges that stay.")
    width: float | None = option(None, rule=ExactNumber(above=0), help="The width of all bins.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.edges is None) == (self.width is None):
            raise ParameterError(f"bin of {self.column!r} needs edges or a width, one of them.")

    def apply(self, state: State) -> State:
        """Only edges that the codebook has can stay."""
        column = _number(state, self.column, "binned")
        wanted = self._wanted(column)
        if unknown := [edge for edge in wanted if edge not in column.edges]:
            raise ParameterError(
                f"bin of {self.column!r} asks for the edge {float(unknown[0]):g}, which the codebook's bins do not "
                "have; add it there, or choose among its edges."
            )
        inside = [edge for edge in wanted if column.edges[0] < edge < column.edges[-1]]
        return _binned(state, column, (column.edges[0], *sorted(set(inside)), column.edges[-1]), self.do)

    def _wanted(self, column: Number) -> list[Fraction]:
        if self.edges is not None:
            return [Fraction(str(edge)) for edge in self.edges]
        width = Fraction(str(self.width))
        first, last = floor(column.edges[0] / width) + 1, floor(column.edges[-1] / width)
        if last - first > 100_000:
            raise ParameterError(f"bin of {self.column!r} with width {self.width} would make too many bins; widen it.")
        return [place * width for place in range(first, last + 1) if place * width < column.edges[-1]]


@dataclass(frozen=True, kw_only=True)
class Round(Step):
    """Every number to the nearest multiple of ``to``, halves up."""

    do: ClassVar[str] = "round"
    is_record_wise = True
    column: str = option(rule=COLUMN, help="A column of numbers.")
    to: float = option(rule=ExactNumber(above=0, tried=10), help="What numbers become multiples of.")

    def apply(self, state: State) -> State:
        """All values of a bin must round to one multiple, or the bin cannot be rounded."""
        column, unit = _number(state, self.column, "rounded"), Fraction(str(self.to))
        labels = []
        for label, (first, count) in zip(column.labels, column.grids, strict=False):
            ends = {floor(value * column.step / unit + Fraction(1, 2)) * unit for value in (first, first + count - 1)}
            if len(ends) > 1:
                border = float(min(ends) + unit / 2)
                raise ParameterError(
                    f"column {self.column!r} is known to its bin {label}, whose values round to "
                    f"{float(min(ends)):g} and {float(max(ends)):g}; add the edge {border:g} to the codebook, "
                    "or round more coarsely."
                )
            nearest = ends.pop()
            labels.append(str(nearest.numerator) if nearest.denominator == 1 else repr(float(nearest)))
        return _relabelled(state, column, labels, self.do, ordered=True)


@dataclass(frozen=True, kw_only=True)
class GroupLevels(Step):
    """Named levels become one: public knowledge."""

    do: ClassVar[str] = "group"
    is_record_wise = True
    column: str = option(rule=COLUMN, help="A column of levels.")
    levels: tuple[str, ...] = option(rule=LEVELS, help="The levels that become one.")
    into: str = option(rule=_LEVEL, help="What the joint level is called.")

    def apply(self, state: State) -> State:
        """Join them."""
        column = as_levels(state.cells.column(self.column))
        assert isinstance(column, Levelled)
        if unknown := [level for level in self.levels if level not in column.levels]:
            raise ParameterError(f"column {self.column!r} has no level {', '.join(map(repr, unknown))}.")
        labels = [self.into if level in self.levels else level for level in column.levels]
        return _relabelled(_as_levels(state, self.column), column, labels, self.do)


def _as_levels(state: State, name: str) -> State:
    """The state with one column named level by level; codes stay."""
    column = state.cells.column(name)
    return replace(state, cells=state.cells.recoded(name, as_levels(column), np.arange(column.size)))


@dataclass(frozen=True, kw_only=True)
class GroupRare(Step):
    """Levels that fewer than ``below`` records have become one; which ones is read from the data."""

    do: ClassVar[str] = "group-rare"
    is_record_wise = False
    column: str = option(rule=COLUMN, help="A column of levels.")
    below: int = option(rule=Whole(least=2, tried=5), help="Levels of fewer records are rare.")
    into: str = option("other", rule=_LEVEL, help="What the joint level is called.")

    def apply(self, state: State) -> State:
        """Join the rare ones; if they are still too few together, the next rarest joins them."""
        column = as_levels(state.cells.column(self.column))
        assert isinstance(column, Levelled)
        counts = state.cells.marginal(self.column)[: column.proper_levels]
        rare = (counts < self.below) & (counts > 0)
        if rare.any() and self.into in column.levels:
            rare[column.levels.index(self.into)] = True
        order = [code for code in np.argsort(counts, kind="stable") if counts[code] >= self.below and not rare[code]]
        while rare.any() and counts[rare].sum() < self.below and order:
            rare[order.pop(0)] = True
        if not rare.any():
            return state.after(state.cells, do=self.do, column=self.column, grouped=0)
        rare |= counts == 0  # a level that nobody has says by its absence that it was not rare
        labels = [
            self.into if is_rare or level == self.into else level
            for level, is_rare in zip(column.levels, rare, strict=True)
        ]
        return _relabelled(_as_levels(state, self.column), column, labels, self.do, drafted=True)


@dataclass(frozen=True, kw_only=True)
class Generalise(Step):
    """A column to one declared step of its hierarchy."""

    do: ClassVar[str] = "generalise"
    is_record_wise = True
    column: str = option(rule=COLUMN, help="A column with a hierarchy.")
    to: int | str = option(
        rule=Text(words="the name or the number of a step", example="1", admitted=lambda value: value is not None),
        help="The step of the hierarchy that is released.",
    )

    def apply(self, state: State) -> State:
        """Recode by the hierarchy."""
        hierarchy = state.hierarchy(self.column)
        height = hierarchy.find(self.to)
        cells = state.cells.recoded(self.column, hierarchy.at(height), hierarchy.maps[height])
        return state.after(cells, do=self.do, column=self.column, to=hierarchy.names[height])
