"""A variable as a document describes it, and the column that follows from that alone."""

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from understudy.codebook import Categorical, Column, Continuous, Dates, Grain, Integer, Ordinal, Role, Text
from understudy.codebook.columns import ValueLabels
from understudy.codebook.encode import number_of, spelling
from understudy.codebook.readings import Reading

_FEW = 20
"""Whole numbers of a range that are listed one by one instead of binned."""
_BINS = 16
_MOST_LEVELS = 5000
_DECIMALS = 2
"""Decimals of a number where the document names none."""
_BLANK = "NA"
"""What missing values are called where the document has no code for them."""


@dataclass(frozen=True, kw_only=True)
class Variable:
    """What a document says about one column of a table; anything may be lacking."""

    name: str
    label: str = ""
    type: str = ""
    """``integer``, ``number``, ``date``, ``boolean``, ``text``, or empty where nothing is said."""
    values: ValueLabels = ()
    """The values that it may have, each with its label, which may be empty."""
    missing: tuple[str, ...] = ()
    required: bool = False
    """Whether no value may be missing."""
    low: Any = None
    high: Any = None
    """Smallest and largest value of a number or date."""
    decimals: int | None = None
    is_ordered: bool = False

    def column(self) -> Column | str:
        """The column, or why there is none."""
        absent: dict[str, Any] = {}
        if self.missing:
            absent = {"missing": self.missing[0], "reading": Reading(missing=self.missing[1:])}
        elif not self.required:
            absent = {"missing": _BLANK}
        common: dict[str, Any] = {"name": self.name, "description": self.label, **absent}
        labels = tuple((code, label) for code, label in self.values if label and label != code)
        if self.type == "boolean" and not self.values:
            return Categorical(levels=("false", "true"), **common)
        if self.low is not None and self.high is not None:
            return self._ranged(common, labels)
        levels = tuple(dict.fromkeys(code for code, _ in self.values if code not in self.missing and code != ""))
        if not levels:
            return "the document lists neither its values nor a range"
        if len(levels) > _MOST_LEVELS:
            return f"the document lists {len(levels):,} values, more than {_MOST_LEVELS:,}"
        if _BLANK in levels and common.get("missing") == _BLANK:
            common["missing"] = ""
        kind = Ordinal if self.is_ordered else Categorical
        return kind(levels=levels, value_labels=labels, **common)

    def _ranged(self, common: dict[str, Any], labels: ValueLabels) -> Column | str:
        if isinstance(self.low, dt.date):
            return _days(self.low, self.high, common)
        low, high = Fraction(str(self.low)), Fraction(str(self.high))
        coded = [(code, number_of(code)) for code, _ in self.values if code not in self.missing]
        beyond = [Fraction(str(number)) for _, number in coded if number is not None]
        low, high = min([low, *beyond]), max([high, *beyond])
        special = tuple(code for code, number in coded if number is None)
        if high < low:
            return f"the document has it run from {float(low):g} down to {float(high):g}"
        is_whole = self.type == "integer" or (self.type != "number" and low.denominator == high.denominator == 1)
        if is_whole and high - low < _FEW:
            levels = tuple(str(number) for number in range(math.ceil(low), math.floor(high) + 1))
            return Ordinal(levels=(*levels, *special), value_labels=labels, **common)
        if low == high:
            return "the document gives it one value only"
        edges = bin_edges(low, high, is_whole=is_whole)
        common = {**common, "value_labels": labels, "edges": edges} | ({"special": special} if special else {})
        if is_whole:
            return Integer(**common)
        finest = max(
            len(f"{Decimal(edge.numerator) / edge.denominator:f}".partition(".")[2].rstrip("0")) for edge in edges
        )
        return Continuous(precision=max(self.decimals if self.decimals is not None else _DECIMALS, finest), **common)


def left_out(name: str, label: str) -> Text:
    """A column that the document does not say enough about."""
    return Text(
        name=name, role=Role.IDENTIFIER, description=label or "left out; declare its kind and levels to keep it"
    )


def bin_edges(low: Fraction, high: Fraction, *, is_whole: bool) -> tuple[Fraction, ...]:
    """About sixteen bins of one width, on round numbers inside, from the smallest to the largest value.

    >>> [float(edge) for edge in bin_edges(Fraction(0), Fraction(95), is_whole=True)][:4]
    [0.0, 10.0, 20.0, 30.0]
    """
    rough = (high - low) / _BINS
    decade = Fraction(10) ** math.floor(math.log10(rough))
    step = next(factor * decade for factor in (1, 2, 5, 10) if factor * decade >= rough)
    if is_whole:
        step = max(step, Fraction(1))
    inner = []
    edge = (low // step + 1) * step
    while edge < high:
        inner.append(edge)
        edge += step
    return (low, *inner, high)


def _days(first: dt.date, last: dt.date, common: dict[str, Any]) -> Column | str:
    if last < first:
        return f"the document has it run from {first} back to {last}"
    months = (last.year - first.year) * 12 + last.month - first.month
    grain = Grain.DAY if (last - first).days < 62 else Grain.MONTH if months < 120 else Grain.YEAR
    return Dates(grain=grain, start=grain.first(grain.number(first)), end=last, **common)


def number_in(text: Any) -> Fraction | None:
    """A number of a document, exactly, or None."""
    value = text if isinstance(text, str) else spelling(text) if isinstance(text, int | float) else ""
    number = number_of(value)
    if number is None or abs(number) >= 1e15:
        return None
    return Fraction(Decimal(value.strip()) if number else 0)  # 1e-999999999 would fill the memory


def day_in(text: Any) -> dt.date | None:
    """A day of a document, or None."""
    try:
        return dt.date.fromisoformat(str(text)[:10])
    except ValueError:
        return None
