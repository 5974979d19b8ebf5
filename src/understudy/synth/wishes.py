"""What a release must be good for, in words: ``sex x age within 0.02``, ``died=yes ~ sex + age within 0.2``."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from understudy.codebook import Codebook, Number
from understudy.errors import ParameterError
from understudy.parameters import Rule, number_of, shown_value

MOST_CELLS = 1 << 20
"""Of a table that is certified or forecast: it is laid out in full."""
_WITHIN = re.compile(r"(.*\S)\s+within\s+(\S+)", re.S)
_BETWEEN = re.compile(r"\s+(?:x|by)\s+")
_SHARE = re.compile(r"shares?\s+of\s+")
_EXAMPLE = "sex x age within 0.02"


@dataclass(frozen=True, kw_only=True)
class Wish:
    """One thing that a release must be good for: a table, or a regression where there is an outcome."""

    words: str
    columns: tuple[str, ...]
    """Of the table, or the predictors."""
    tolerance: float
    outcome: str | None = None
    level: str | None = None
    """The level whose chance is modelled; None for a number."""

    @property
    def clique(self) -> tuple[str, ...]:
        """The columns to count together."""
        return self.columns if self.outcome is None else (*self.columns, self.outcome)


class Wishes(Rule):
    """Several wishes, each with a flag of its own."""

    metavar: ClassVar[str] = "WISH"
    repeats: ClassVar[bool] = True
    words = "tables or regressions, each with a tolerance"
    example = _EXAMPLE

    def admits(self, value: Any) -> bool:
        """Texts."""
        return isinstance(value, tuple | list) and all(isinstance(item, str) for item in value)

    def check(self, name: str, value: Any) -> Any:
        """As a tuple, every wish of which can be read."""
        wishes = tuple(super().check(name, value))
        for words in wishes:
            _parts(words)
        return wishes

    def read(self, name: str, given: Any, context: Any = None) -> Any:
        """One text stands for one wish."""
        return self.check(name, (given,) if isinstance(given, str) else given)


def _parts(words: str) -> tuple[str, float]:
    """What is asked for, and the tolerance."""
    match = _WITHIN.fullmatch(words.strip())
    if match is None:
        raise ParameterError(
            f"`certify` is {shown_value(words)}; a wish names columns and a tolerance. Try {_EXAMPLE!r}, or "
            "'died=yes ~ sex + age within 0.2' for a regression."
        )
    tolerance = number_of(match[2])
    if not isinstance(tolerance, float) or not 0 < tolerance < 1 or not math.isfinite(tolerance):
        raise ParameterError(
            f"the tolerance of {words!r} is {match[2]}; it must be a number above 0 and below 1: no noisy measurement "
            "shows that nothing differs, and every release is within 1. Try 0.02."
        )
    return match[1], tolerance


def read_wishes(words: Sequence[str], book: Codebook) -> tuple[Wish, ...]:
    """What the words ask for, with columns of this codebook."""
    return tuple(_wish(text, book) for text in words)


def _wish(words: str, book: Codebook) -> Wish:
    asked, tolerance = _parts(words)
    if "~" not in asked:
        return Wish(words=words, columns=table_columns(asked, book, what=f"{words!r}"), tolerance=tolerance)
    left, _, right = asked.partition("~")
    outcome, _, level = (part.strip() for part in left.partition("="))
    columns = _modelled([part.strip() for part in right.split("+")], book, what=f"{words!r}")
    _modelled([outcome], book, what=f"{words!r}")
    if outcome in columns:
        raise ParameterError(f"{words!r} has {outcome!r} on both sides; leave it out on the right.")
    column = book.column(outcome)
    if not isinstance(column, Number) or level:
        proper = column.labels[: column.proper_levels]
        if not level and len(proper) == 2:
            level = proper[1]
        if level not in proper:
            raise ParameterError(
                f"{words!r} must say which level of {outcome!r} is modelled, one of {column.shown_labels(8)}. Write "
                f"'{outcome}={proper[-1]} ~ {' + '.join(columns)} within {tolerance:g}'."
            )
    wish = Wish(words=words, columns=columns, tolerance=tolerance, outcome=outcome, level=level or None)
    _check_cells(wish.clique, book, wider=sum(book.column(name).size for name in columns) // 8 + 1)
    return wish


def table_columns(text: str, book: Codebook, *, what: str) -> tuple[str, ...]:
    """The columns of a table: ``diag x age``, ``diag by age`` or ``share of diag by age``."""
    bare = _SHARE.sub("", text.strip(), count=1) if _SHARE.match(text.strip()) else text.strip()
    names = [bare] if bare in book.names else _BETWEEN.split(bare)
    columns = _modelled(names, book, what=what)
    _check_cells(columns, book)
    return columns


def _modelled(names: Sequence[str], book: Codebook, *, what: str) -> tuple[str, ...]:
    for name in names:
        if name in book.names:
            continue
        detail = next((detail for detail in book.details if detail.name == name), None)
        if detail is not None:
            raise ParameterError(
                f"{what} names {name!r}, a detailed code whose rare levels become {detail.other!r}; name its coarse "
                f"column {detail.detail_of!r} instead."
            )
        raise ParameterError(f"{what} names {name!r}, which is no column of the model; it has {', '.join(book.names)}.")
    if len(set(names)) < len(names):
        raise ParameterError(f"{what} names a column twice; name each once.")
    return tuple(names)


def _check_cells(columns: Sequence[str], book: Codebook, *, wider: int = 1) -> None:
    cells = math.prod(book.column(name).size for name in columns)
    if cells * wider > MOST_CELLS:
        raise ParameterError(
            f"{' x '.join(columns)} has {cells:,} cells, which are too many to be laid out; name fewer or coarser "
            "columns."
        )
