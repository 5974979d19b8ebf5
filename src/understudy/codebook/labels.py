"""What files of SPSS, Stata and SAS, and data frames, say about a column beside its values."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from understudy.codebook.columns import Categorical, Column, Levelled, Ordinal, ValueLabels
from understudy.codebook.encode import number_of, spelling
from understudy.codebook.numbers import Number

_MOST_LISTED = 100
"""Whole numbers in a range of missing codes that are listed one by one."""
_MOST_LEVELS = 256
"""A longer list of levels is what is left of a larger table, and those that occur are enough."""


@dataclass(frozen=True, kw_only=True)
class ColumnLabels:
    """The dictionary entry of one variable."""

    label: str = ""
    value_labels: ValueLabels = ()
    missing: tuple[str, ...] = ()
    """Codes that mean missing, spelled as levels are; Stata's and SAS's own are ".a" to ".z"."""
    measure: str = ""
    """What the file says that it is: "nominal", "ordinal", "scale" or nothing."""
    levels: tuple[str, ...] = ()
    """All levels in their order, where a data frame says so (a categorical of pandas, a factor of R)."""

    def describe(self, column: Column) -> Column:
        """A drafted column with what the file says about it."""
        if not column.is_modelled:
            return replace(column, description=self.label or column.description)
        told = replace(column, description=self.label, value_labels=self.value_labels)
        if self.missing:
            further = tuple(dict.fromkeys((*self.missing[1:], *told.reading.missing)))
            told = replace(told, missing=self.missing[0], reading=replace(told.reading, missing=further))
        if not isinstance(told, Levelled):
            return told
        if 0 < len(self.levels) <= _MOST_LEVELS:
            return _with_listed_levels(told, self)
        return _with_labelled_levels(told, self)


def _with_listed_levels(column: Levelled, labels: ColumnLabels) -> Levelled:
    """Every listed level, whether or not it occurs, in the order of the list; what is read as one level stays one."""
    known = {column.reading.tidied(level): level for level in column.levels}
    missing = {column.reading.tidied(token) for token in (column.missing, *column.reading.missing) if token is not None}
    listed = {word: known.get(word, level) for level in labels.levels if (word := column.reading.tidied(level))}
    levels = tuple(level for word, level in {**listed, **known}.items() if word not in missing)
    return _of_kind(column, Ordinal if labels.measure == "ordinal" else Categorical, levels)


def _with_labelled_levels(column: Levelled, labels: ColumnLabels) -> Levelled:
    """Every labelled code is a level, whether or not it occurs; the order is that of the file, or of the numbers."""
    codes = [code for code, _ in labels.value_labels if code not in labels.missing and code != column.missing]
    levels = tuple(dict.fromkeys((*codes, *column.levels)))
    if all(number_of(level) is not None for level in levels):
        levels = tuple(sorted(levels, key=lambda level: number_of(level) or 0.0))
    kinds = {"nominal": Categorical, "ordinal": Ordinal}
    kind = kinds.get(labels.measure, Categorical if codes and not labels.measure else type(column))
    return _of_kind(column, kind, levels)


def _of_kind(column: Levelled, kind: type[Levelled], levels: tuple[str, ...]) -> Levelled:
    kept = {field.name: getattr(column, field.name) for field in fields(column)}
    return kind(**{**kept, "levels": levels})


def missing_codes(ranges: Iterable[Any], value_labels: Mapping[Any, str]) -> tuple[str, ...]:
    """The codes of SPSS's missing values: single ones, and of a range those with a label and the whole numbers.

    >>> missing_codes([{"lo": -9.0, "hi": -9.0}, {"lo": 97.0, "hi": 99.0}], {})
    ('-9', '97', '98', '99')
    """
    codes: list[str] = []
    for item in ranges:
        low, high = (item["lo"], item["hi"]) if isinstance(item, dict) else (item, item)
        if isinstance(low, str) or low == high:
            codes.append(spelling(low))
            continue
        codes += [spelling(code) for code in value_labels if not isinstance(code, str) and low <= code <= high]
        if math.isfinite(low) and math.isfinite(high) and high - low < _MOST_LISTED:
            codes += [str(code) for code in range(math.ceil(low), math.floor(high) + 1)]
    return tuple(dict.fromkeys(codes))


def has_number_levels(column: Column) -> bool:
    """Whether a statistical file keeps the column as numbers: amounts, and levels that are plain numbers.

    >>> [has_number_levels(Categorical(name="x", levels=levels)) for levels in (("1", "2"), ("01", "02"), ("F", "1"))]
    [True, False, False]
    """
    if isinstance(column, Levelled):
        return all(_is_plain_number(level) for level in column.levels)
    return isinstance(column, Number)


def _is_plain_number(text: str) -> bool:
    number = number_of(text)
    return number is not None and spelling(number) == text
