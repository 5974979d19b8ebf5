"""One value to its code: the reference that every engine's encoding is tested against.

Text that looks like a number counts as one in a numeric column. Where a column has reading rules of its own
(:mod:`understudy.codebook.readings`), they say how its texts are spelled. ``None`` as a result means that the codebook
does not know the value.
"""

import datetime as dt
import math
import re
from decimal import Decimal
from numbers import Real
from typing import Any

from understudy.codebook.coded import Coded, CodeLevel
from understudy.codebook.columns import Column, Dates, Levelled
from understudy.codebook.numbers import Integer, Number
from understudy.codebook.readings import EXCEL, MONTHS, PLAIN, SERIAL, SERIALS, SPACES, Reading, tidy

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")  # the engines know only ASCII digits
DAY_PATTERN = (
    r"^([0-9]{4}-[0-9]{1,2}-[0-9]{1,2})"
    r"([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?$"
)
"""An ISO day, with or without a time of day; what is kept is the day as written, in whatever zone."""
_DAY = re.compile(DAY_PATTERN)


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
    text, reading = spelling(value), column.reading
    if column.missing is not None and text == column.missing:
        return column.missing_code
    if isinstance(column, Coded | CodeLevel):
        if column.missing is not None and reading.word(text) in map(reading.word, reading.missing):
            return column.missing_code
        return column.find(text)
    if isinstance(column, Levelled):
        word = reading.tidied(text)
        if column.missing is not None and word in map(reading.tidied, (*reading.missing, column.missing)):
            return column.missing_code
        return column.code_of_tidied.get(word)
    word = reading.word(text)
    if column.missing is not None and word in map(reading.word, reading.missing):
        return column.missing_code
    if isinstance(column, Dates):
        day = day_of(value, reading)
        return None if day is None else column.bin_of(day)
    if isinstance(column, Number):
        if column.special and word in (words := [reading.word(code) for code in column.special]):
            return column.proper_levels + words.index(word)
        number = number_of(value, reading)
        if number is not None and number in column.missing_numbers:
            return column.missing_code
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
    if isinstance(column, Dates) and (day := day_of(value, column.reading)) is not None:
        return min(max(day, column.start), column.end)
    if isinstance(column, Number) and (number := number_of(value, column.reading)) is not None:
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


def number_of(value: Any, reading: Reading = PLAIN) -> float | None:
    """The finite number that a value stands for, or None."""
    if isinstance(value, bool) or not isinstance(value, str | Real | Decimal):
        return None
    if reading.means and (means := reading.meaning.get(reading.word(spelling(value)))) is not None:
        return float(means)
    if isinstance(value, str):
        if not reading.is_plain and (value := reading.number_text(value)) is None:
            return None
        value = value.strip(SPACES)
        if not _NUMBER.fullmatch(value):
            return None
    number = float(value)
    return number if math.isfinite(number) else None


def day_of(value: Any, reading: Reading = PLAIN) -> dt.date | None:
    """The day that a value stands for, or None."""
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, dt.date):
        return value
    if reading.dates:
        return next(filter(None, (_ordered_day(spelling(value), order, reading) for order in reading.dates)), None)
    match = _DAY.fullmatch(str(value).strip(SPACES))
    return _day(*match[1].split("-")) if match else None


def _ordered_day(text: str, order: str, reading: Reading) -> dt.date | None:
    """The day that a text spells in one order."""
    text = tidy(text)
    if order in EXCEL:
        serial = math.floor(float(text)) if re.search(SERIAL, text) else 0
        first, last = SERIALS[order]
        return dt.date.fromisoformat(EXCEL[order]) + dt.timedelta(serial) if first <= serial <= last else None
    pattern = next(each for each in reading.day_patterns if each.spelled == order)
    match = pattern.compiled.search(text)
    if match is None:
        return None
    year, month, day = (match[pattern.group(kind)] for kind in "YMD")
    number = month if month.isdigit() else str(MONTHS.index(month[:3].lower()) + 1)
    return _day(reading.year_text(year), number, day)


def _day(year: str, month: str, day: str) -> dt.date | None:
    try:
        return dt.date(int(year), int(month), int(day))
    except ValueError:
        return None
