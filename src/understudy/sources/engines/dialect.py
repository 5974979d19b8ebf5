"""The few expressions that cannot be written once for every engine.

The methods here are the plain way, which DuckDB takes as it is. An engine that lacks something, that raises where
others give null, or that evaluates an expression as often as it is written, derives a class and says what it does
instead. Engines without a safe cast share :class:`GuardedDialect`.
"""

import datetime as dt
import math
import uuid
from collections.abc import Sequence
from typing import Any

import ibis
import ibis.expr.datatypes as kinds

from understudy.codebook import Number
from understudy.codebook.encode import spelling
from understudy.codebook.readings import BLANKS, LOWER, UPPER
from understudy.sources.tables import code_type

NUMBER = r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"
_SURELY_FITS = r"^[+-]?[0-9]{0,50}[.]?[0-9]{0,50}([eE][+-]?0*(1?[0-9]{1,2}|2[0-4][0-9]))?$"
"""Neither overflows nor underflows a double, both of which some engines take for an error."""
_SURELY_ZERO = r"^[+-]?[0-9]{0,50}[.]?[0-9]{0,50}[eE]-0*([4-9][0-9]{2}|[1-9][0-9]{3,})$"
SIGNED = {"uint8": "int16", "uint16": "int32", "uint32": "int64"}
"""For engines without unsigned integers: the next type that holds the same codes."""
_EPOCH = dt.date(1970, 1, 1).toordinal()


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def translate(text: str, old: str, new: str) -> str:  # type: ignore[empty-body]
    """Each of the old characters becomes the new one at its place."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def isfinite(day: kinds.Date) -> bool:  # type: ignore[empty-body]
    """False for the dates before and after all others, which some engines have."""


@ibis.udf.scalar.builtin(name="sha256")  # type: ignore[untyped-decorator]
def _sha256_of_text(text: str) -> str:  # type: ignore[empty-body]
    """DuckDB: in hexadecimal digits."""


def finite_day(day: Any) -> Any:
    """The date, null where it is endless: that is no day, as an endless number is none."""
    return isfinite(day).ifelse(day, ibis.null("date"))


class Dialect:
    """The plain way."""

    has_unsigned = True
    """Whether there are unsigned integers for codes."""
    joins_lists = False
    """Whether very many levels are looked up in a table of their own."""

    def kind_of_codes(self, largest: int) -> str:
        """The smallest type for codes from 0 to ``largest``.

        >>> Dialect().kind_of_codes(200), GuardedDialect().kind_of_codes(25)
        ('uint8', 'int16')
        """
        kind = code_type(largest + 1).__name__
        return kind if self.has_unsigned else SIGNED[kind]

    def sha256(self, text: Any) -> Any:
        """The digest of a text in UTF-8, something to sort by."""
        return _sha256_of_text(text)

    def bytewise(self, text: Any) -> Any:
        """Something to sort by that sorts texts by their bytes, whatever language a server sorts by."""
        return text

    def stages(self, values: Sequence[Any]) -> bool:
        """Whether values are read in a query of their own before their codes are worked out, given those of numbers
        and days as they lie; where many bins repeat them that is done anyway.
        """
        return False

    def staged(self, table: Any) -> Any:
        """The same table as a query of its own, so that what reads it does not repeat how it was made."""
        connection = table.get_backend()
        return connection.sql(connection.compile(table), schema=table.schema())

    def present(self, value: Any) -> Any:
        """The value, null where nothing was recorded, which NaN means too; its text where no type is known."""
        if value.type().is_unknown():
            return value.cast("string")
        if value.type().is_floating():
            return value.isnan().ifelse(ibis.null(value.type()), value)
        return value

    def float_text(self, value: Any) -> Any:
        """How a float is spelled as a level: whole ones without a point."""
        fits = self.is_whole(value) & (value.abs() < 2.0**63)
        return fits.ifelse(value.try_cast("int64").cast("string"), value.cast("string"))

    def finite(self, number: Any) -> Any:
        """The float, null where it is none or endless."""
        return (~number.isnan() & (number.abs() < math.inf)).ifelse(number, ibis.null("float64"))

    def is_whole(self, number: Any) -> Any:
        """Whether a float has no fraction. ``floor`` goes through 64-bit integers, so it only sees what fits them."""
        small = (number.abs() < 2.0**53).ifelse(number, 0.0)  # from 2^53 on, every float is whole
        return (small == small.floor()) & (number.abs() < math.inf)

    def compares_floats(self, value: Any) -> bool:
        """Whether levels are compared as numbers, where an engine spells floats in its own way."""
        return False

    def level_index(self, levels: Sequence[str], spelled: Any) -> Any:
        """Place of a value among the levels, null when it is none of them."""
        if self.compares_floats(spelled):
            known = [(code, level) for code, level in enumerate(levels) if _spells_a_float(level)]
            if not known:
                return ibis.null("int64")
            branches = [(spelled == float(level), ibis.literal(code, "int64")) for code, level in known]
            return ibis.cases(*branches, else_=ibis.null("int64"))
        return self._place_of_text(levels, spelled)

    def _place_of_text(self, levels: Sequence[str], spelled: Any) -> Any:
        return ibis.literal(list(levels)).index(spelled).nullif(-1)

    def item_of(self, items: Sequence[int], place: Any) -> Any:
        """The item at a place, null where there is no place."""
        item = ibis.literal(list(items))[place.fill_null(0).cast("int32")]  # Spark counts items by small numbers only
        return place.isnull().ifelse(ibis.null("int64"), item.cast("int64"))

    def stripped(self, text: Any) -> Any:
        """Without white space around it."""
        return text.strip()

    def tidy(self, text: Any) -> Any:
        """Odd blanks as spaces, and none around (:func:`understudy.codebook.readings.tidy`)."""
        return self.stripped(translate(text, BLANKS, " " * len(BLANKS)))

    def folded(self, text: Any) -> Any:
        """In lower case (:func:`understudy.codebook.readings.folded`)."""
        return translate(text, UPPER, LOWER)

    def kept(self, before: str) -> str:
        """What replaces a match: a text, and the first group of the pattern."""
        return before + "\\1"

    def replaced(self, text: Any, pattern: str, new: str) -> Any:
        """The text with every match of a pattern replaced."""
        return text.re_replace(pattern, new)

    def group_of(self, text: Any, pattern: str, group: int) -> Any:
        """One group of a pattern in a text that matches it."""
        return text.re_extract(pattern, group)

    def number_in(self, text: Any) -> Any:
        """The float that a text spells, null when it spells none."""
        plain = self.stripped(text)
        return plain.contains("_").ifelse(ibis.null("float64"), plain.try_cast("float64"))

    def bin(self, column: Number, number: Any) -> Any:
        """Bin of a number by one look at all edges, null outside them; None for comparisons one after the other."""
        return None

    def is_day(self, value: Any) -> Any:
        """A date or moment as a date."""
        return value if value.type().is_date() else value.date()

    def ordinal(self, day: Any) -> Any:
        """Days since the day before 1 January 0001, counted as :meth:`datetime.date.toordinal` does, less one."""
        return day.epoch_seconds().cast("int64") // 86400 + (_EPOCH - 1)

    def day_after(self, start: dt.date, days: Any) -> Any:
        """The date so many days after another."""
        return (ibis.date(start) + days.cast("int32").as_interval("D")).cast("date")

    def day_of(self, day: Any) -> Any:
        """The date of a text that is year, month and day, null when there is no such day."""
        return day.nullif("").try_cast("date")

    def named_month(self, month: Any) -> Any:
        """The first three letters of the name of a month, in small letters."""
        return month.substr(0, 3).lower()


class GuardedDialect(Dialect):
    """For engines that raise where a text is no number and no day: no cast meets what it stumbles over."""

    has_unsigned = False

    def number_in(self, text: Any) -> Any:
        """Through patterns."""
        plain = self.stripped(text)
        spelled = ibis.cases(
            (~plain.re_search(NUMBER), ibis.null("string")),
            (plain.re_search(_SURELY_FITS), plain),
            (plain.re_search(_SURELY_ZERO), "0"),
            else_=ibis.null("string"),
        )
        return spelled.cast("float64")

    def parts_of_day(self, day: Any) -> tuple[Any, Any, Any]:
        """Year, month and day of the month as whole numbers."""
        year, month, of_month = (day.split("-")[place].cast("int64") for place in range(3))
        return year, month, of_month

    def day_of(self, day: Any) -> Any:
        """Through the calendar."""
        year, month, of_month = self.parts_of_day(day)
        leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
        last = ibis.cases((month == 2, leap.ifelse(29, 28)), (month.isin([4, 6, 9, 11]), 30), else_=31)
        exists = month.between(1, 12) & (of_month >= 1) & (of_month <= last) & (year >= 1)
        return exists.ifelse(day, ibis.null("string")).cast("date")


def _spells_a_float(level: str) -> bool:
    try:
        return spelling(float(level)) == level
    except ValueError:
        return False


def temporary_name(what: str) -> str:
    """A name that nobody else uses."""
    return f"understudy_{what}_{uuid.uuid4().hex}"
