"""What the codes of a column mean to somebody who computes with them.

A number is taken at the middle of its bin, an ordinal level at its rank (in models and means at its number, where it
has one), a date at its grain; levels without an order have no value. Missing values are NaN.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook, Column, Dates, Ordinal
from understudy.codebook.encode import encode_value
from understudy.codebook.numbers import Number
from understudy.codebook.weight import bin_weights
from understudy.errors import DataError
from understudy.evaluate.checks import check_column
from understudy.evaluate.opened import open_grids

if TYPE_CHECKING:
    from understudy.sources.base import Source
    from understudy.sources.tables import Codes

Floats = npt.NDArray[np.float64]


def is_ordered(column: Column) -> bool:
    """Whether its codes can be computed with."""
    return isinstance(column, Number | Ordinal | Dates)


def values_of(column: Column) -> Floats:
    """One number per code; NaN for special codes and the missing level.

    >>> from fractions import Fraction
    >>> from understudy.codebook import Integer
    >>> values_of(Integer(name="age", edges=(Fraction(0), Fraction(10), Fraction(31)), missing="NA"))
    array([ 4.5, 20.5,  nan])
    """
    if isinstance(column, Number):
        step = float(column.step)
        proper = [(first + (width - 1) / 2) * step for first, width in column.grids]
    else:
        proper = [float(code) for code in range(column.proper_levels)]
    return np.array(proper + [np.nan] * (column.size - len(proper)))


def numbers_of(column: Column) -> Floats:
    """As ``values_of``; but levels that are numbers are what they say, in whatever order, and not their ranks.

    >>> from understudy.codebook import Ordinal
    >>> numbers_of(Ordinal(name="race", levels=("1", "2", "4"))), numbers_of(Ordinal(name="size", levels=("S", "L")))
    (array([1., 2., 4.]), array([0., 1.]))
    """
    values = values_of(column)
    if isinstance(column, Ordinal):
        with suppress(ValueError):  # levels that are no numbers stand at their rank
            told = np.array([float(level) for level in column.levels])
            if np.isfinite(told).all() and len(np.unique(told)) == len(told):  # 1 and 01 are two levels
                values[: column.proper_levels] = told
    return values


def codes_of(values: Any, column: Column) -> npt.NDArray[np.int64]:
    """Codes of an Arrow column, in the order of its rows; -1 where the codebook does not know a value."""
    array = values.combine_chunks()
    array = array if hasattr(array, "dictionary") else array.dictionary_encode()
    distinct = array.dictionary.to_pylist()
    known = [encode_value(column, value) for value in (*distinct, None)]  # each distinct value once
    table = np.array([-1 if code is None else code for code in known], dtype=np.int64)
    return np.asarray(table[array.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)])


def weights_by_code(book: Codebook) -> tuple[str, Floats] | None:
    """The survey weight column, and the weight of each of its codes: the middle of its bin. None without one."""
    if book.weight is None:
        return None
    column = book.column(book.weight)
    assert isinstance(column, Number)
    return book.weight, np.array([float(weight) for weight in bin_weights(column)])


@dataclass(frozen=True, kw_only=True, eq=False)
class Records:
    """Distinct records of some columns, and how often each occurs: all that a model needs to see of a table."""

    names: tuple[str, ...]
    codes: Codes
    """One row per distinct record."""
    weights: Floats

    def codes_of(self, name: str) -> npt.NDArray[np.int64]:
        """Codes of one column."""
        return self.codes[:, self.names.index(name)].astype(np.int64)

    @property
    def rows(self) -> float:
        """Number of records, repeated ones counted."""
        return float(self.weights.sum())

    def where(self, kept: npt.NDArray[np.bool_]) -> Records:
        """Some of the records."""
        return Records(names=self.names, codes=self.codes[kept], weights=self.weights[kept])


def records(source: Source, names: tuple[str, ...]) -> Records:
    """Distinct records by counting: the number of rows costs time only while they are counted."""
    codes, counts = source.count([names])[0].open().occupied()
    return Records(names=names, codes=codes, weights=counts.astype(np.float64))


@dataclass(frozen=True, kw_only=True, eq=False)
class Event:
    """A yes-or-no question about one column, for models that need two classes."""

    column: str
    says: str
    """As an expression, for a formula or a caption."""
    yes: npt.NDArray[np.bool_]
    """One answer per code; missing values are left out of the question."""
    asked: npt.NDArray[np.bool_]


def event_of(real: Source, target: str, *, positive: str | None = None) -> Event:
    """The question that a target stands for: ``positive`` against the other levels.

    Without ``positive``: above the median for an ordered column of more than two levels (LUGS section 5.5 asks AMT >
    3), the last level for a column of two, and otherwise the most common level.
    """
    check_column(real, target, called="target")
    column = real.codebook.column(target)
    (counts,) = open_grids(real, [[target]])
    asked = np.arange(column.size) != (-1 if column.missing_code is None else column.missing_code)
    if positive is None and column.special:  # which lie neither above nor below the numbers
        asked &= np.arange(column.size) < column.proper_levels
    seen = counts * asked
    if np.count_nonzero(seen) < 2:
        held = f"only {column.labels[int(seen.argmax())]!r}" if seen.any() else "no value"
        raise DataError(
            f"the target {target!r} holds {held} in the real table; a model needs two classes. Choose another target."
        )
    yes, says = _answers(real.codebook, column, seen, positive)
    if not seen[yes].any() or not seen[~yes].any():
        raise DataError(
            f"in the real table {says} is always {'true' if seen[yes].any() else 'false'}; a model needs two classes. "
            "Choose another target or another positive level."
        )
    return Event(column=target, says=says, yes=yes & asked, asked=asked)


def _answers(
    book: Codebook, column: Column, seen: npt.NDArray[np.int64], positive: str | None
) -> tuple[npt.NDArray[np.bool_], str]:
    codes = np.arange(column.size)
    if positive is not None:
        if positive not in column.labels:
            raise DataError(
                f"the positive level {positive!r} is none of the levels of {column.name!r}; it has "
                f"{', '.join(map(repr, column.labels[:12]))}."
            )
        code = column.labels.index(positive)
    elif is_ordered(column) and column.proper_levels > 2:
        numbers = numbers_of(column)
        order = np.argsort(numbers[: column.proper_levels], kind="stable")  # levels that are numbers may fall
        ranked = seen[order]
        below = np.cumsum(ranked) / ranked.sum()
        last = int(np.flatnonzero(ranked)[-1])
        cut = numbers[order[min(int(np.searchsorted(below, 0.5)), int(np.flatnonzero(ranked[:last])[-1]))]]
        return numbers > cut, f"{quoted(column.name)} > {_spelled(cut)}"
    else:
        code = column.proper_levels - 1 if column.proper_levels == 2 else int(seen.argmax())
    if is_ordered(column):
        return codes == code, f"{quoted(column.name)} == {_spelled(numbers_of(column)[code])}"
    return codes == code, f"{quoted(column.name)} == {column.labels[code]!r}"


def _spelled(number: float) -> str:
    """Short, but never another number: a formula is compared with it."""
    short = f"{number:g}"
    return short if float(short) == number else repr(float(number))


def quoted(name: str) -> str:
    """A column as a formula names it."""
    return name if name.isidentifier() else f"Q({name!r})"
