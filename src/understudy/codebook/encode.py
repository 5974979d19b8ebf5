"""One value to its code: the reference that every engine's encoding is tested against.

Text that looks like a number counts as one in a numeric column. ``None`` as a result means that the codebook does
not know the value.
"""

import datetime as dt
import math
import re
from decimal import Decimal
from numbers import Real
from typing import Any

from understudy.codebook.coded import Coded, CodeLevel
from understudy.codebook.columns import Column, Dates, Levelled
from understudy.codebook.numbers import Continuous, Integer

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")  # the engines know only ASCII digits
DAY_PATTERN = (
    r"^([0-9]{4}-[0-9]{1,2}-[0-9]{1,2})"
    r"([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?$"
)
"""An ISO day, with or without a time of day; what is kept is the day as written, in whatever zone."""
_DAY = re.compile(DAY_PATTERN)
_SPACES = " \t\n\r\v\f"


def encode_value(column: Column, value: Any) -> int | None:
    """Code of ``value``, or None when it is outside the codebook.

    >>> from understudy.codebook import Integer
    >>> from fractions import Fraction
    >>> age = Integer(name="age", edges=(Fraction(0), Fraction(5), Fraction(10)), missing="NA")
    >>> [encode_value(age, v) for v in (4, "5", 10, "NA", None, 11, "old")]
    [0, 1, 1, 2, 2, None, None]
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return column.missing_code
    if column.missing is not None and spelling(value) == column.missing:
        return column.missing_code
    if isinstance(column, Coded | CodeLevel):
        return column.find(spelling(value))
    if isinstance(column, Levelled):
        return column.code_of.get(spelling(value))
    if isinstance(column, Dates):
        day = day_of(value)
        return None if day is None else column.bin_of(day)
    if isinstance(column, Integer | Continuous):
        number = number_of(value)
        if number is None or (isinstance(column, Integer) and number != math.floor(number)):
            return None
        return column.bin_of(number)
    return None


def clamped(column: Column, value: Any) -> Any:
    """A number or day beyond the bounds of its column becomes the bound; every other value stays what it is.

    >>> from understudy.codebook import Integer
    >>> from fractions import Fraction
    >>> age = Integer(name="age", edges=(Fraction(0), Fraction(5), Fraction(10)))
    >>> [clamped(age, v) for v in (-3, "4", 11, 11.5, "old")]
    [0, '4', 10, 11.5, 'old']
    """
    if value is None or encode_value(column, value) is not None:
        return value
    if isinstance(column, Dates) and (day := day_of(value)) is not None:
        return min(max(day, column.start), column.end)
    if isinstance(column, Integer | Continuous) and (number := number_of(value)) is not None:
        low, high = column.bounds
        whole = isinstance(column, Integer)
        if not whole or number == math.floor(number):
            held = min(max(number, low), high)
            return int(held) if whole else held
    return value


def spelling(value: Any) -> str:
    """How a level is spelled: whole floats lose their ``.0``, as a table read by pandas would otherwise not match."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and abs(value) < 2.0**63 and value == math.floor(value):
        return str(int(value))
    return str(value)


def number_of(value: Any) -> float | None:
    """The finite number that a value stands for, or None."""
    if isinstance(value, bool) or not isinstance(value, str | Real | Decimal):
        return None
    if isinstance(value, str):
        value = value.strip(_SPACES)
        if not _NUMBER.fullmatch(value):
            return None
    number = float(value)
    return number if math.isfinite(number) else None


def day_of(value: Any) -> dt.date | None:
    """The day that a value stands for, or None."""
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, dt.date):
        return value
    match = _DAY.fullmatch(str(value).strip(_SPACES))
    try:
        return dt.date(*map(int, match[1].split("-"))) if match else None
    except ValueError:
        return None
