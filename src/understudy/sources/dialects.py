"""Where the engines differ: the few expressions that cannot be written once for DuckDB, PostgreSQL and Spark.

PostgreSQL evaluates an expression as often as it is written and raises where others give null, so it gets functions of
its own that read each value once and never meet one that they could stumble over.
"""

import datetime as dt
import uuid
from collections.abc import Sequence
from typing import Any

import ibis
import ibis.expr.datatypes as kinds
from ibis.expr import operations

from understudy.codebook import Number
from understudy.codebook.encode import DAY_PATTERN, spelling
from understudy.codebook.readings import (
    BLANKS,
    EXCEL,
    LOWER,
    MONTHS,
    SERIAL,
    SERIALS,
    UPPER,
    DayPattern,
    Reading,
)
from understudy.sources.tables import code_type

WITHOUT_UNSIGNED = ("postgres", "pyspark")
SIGNED = {"uint8": "int16", "uint16": "int32", "uint32": "int64"}
"""For engines without unsigned integers: the next type that holds the same codes."""
_MOST_IN_A_BYTE = 127

_NUMBER = r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"
_SURELY_FITS = r"^[+-]?[0-9]{0,50}[.]?[0-9]{0,50}([eE][+-]?0*(1?[0-9]{1,2}|2[0-4][0-9]))?$"
"""Neither overflows nor underflows a double, both of which PostgreSQL takes for an error."""
_SURELY_ZERO = r"^[+-]?[0-9]{0,50}[.]?[0-9]{0,50}[eE]-0*([4-9][0-9]{2}|[1-9][0-9]{3,})$"


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def array_position(levels: kinds.Array[kinds.String], text: str) -> int:  # type: ignore[empty-body]
    """PostgreSQL: place of a text among others, counted from 1; null when it is not there."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def width_bucket(number: float, edges: kinds.Array[kinds.Float64]) -> int:  # type: ignore[empty-body]
    """PostgreSQL: how many of the ascending edges lie at or below a number."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def translate(text: str, old: str, new: str) -> str:  # type: ignore[empty-body]
    """Every engine: each of the old characters becomes the new one at its place."""


@ibis.udf.scalar.builtin(name="floor")  # type: ignore[untyped-decorator]
def floor_of(number: float) -> float:  # type: ignore[empty-body]
    """PostgreSQL: as a float, so that nothing overflows."""


@ibis.udf.scalar.builtin(name="sha256")  # type: ignore[untyped-decorator]
def _sha256_of_text(text: str) -> str:  # type: ignore[empty-body]
    """DuckDB: in hexadecimal digits."""


@ibis.udf.scalar.builtin(name="sha256")  # type: ignore[untyped-decorator]
def _sha256_of_bytes(octets: bytes) -> bytes:  # type: ignore[empty-body]
    """PostgreSQL: as bytes, whose order is that of their digits."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def convert_to(text: str, encoding: str) -> bytes:  # type: ignore[empty-body]
    """PostgreSQL: a text in an encoding, whatever that of the database."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def sha2(text: str, bits: int) -> str:  # type: ignore[empty-body]
    """Spark: in hexadecimal digits."""


def sha256(text: Any) -> Any:
    """The digest of a text in UTF-8, something to sort by."""
    engine = engine_of(text)
    if engine == "postgres":
        return _sha256_of_bytes(convert_to(text, "UTF8"))
    return sha2(text, 256) if engine == "pyspark" else _sha256_of_text(text)


def engine_of(what: Any) -> str:
    """Name of the engine that an expression would run on."""
    backends, _ = what._find_backends()
    return str(backends[0].name) if backends else "duckdb"


def kind_of_codes(engine: str, largest: int) -> str:
    """The smallest type of an engine for codes from 0 to ``largest``.

    >>> kind_of_codes("duckdb", 200), kind_of_codes("postgres", 25), kind_of_codes("pyspark", 25)
    ('uint8', 'int16', 'int8')
    """
    if engine == "pyspark" and largest <= _MOST_IN_A_BYTE:  # half the memory of its workers; PostgreSQL has no bytes
        return "int8"
    kind = code_type(largest + 1).__name__
    return SIGNED[kind] if engine in WITHOUT_UNSIGNED else kind


def staged(table: Any) -> Any:
    """The same table as a query of its own, so that what reads it does not repeat how it was made."""
    connection = table.get_backend()
    if engine_of(table) != "pyspark":
        return connection.sql(connection.compile(table), schema=table.schema())
    # Spark would merge the two queries
    name = f"understudy_stage_{uuid.uuid4().hex}"
    connection._session.sql(connection.compile(table)).createOrReplaceTempView(name)
    return connection.table(name)


def compares_floats(value: Any) -> bool:
    """Whether levels are compared as numbers: Spark spells floats in its own way."""
    return value.type().is_floating() and engine_of(value) == "pyspark"


def level_index(levels: Sequence[str], spelled: Any) -> Any:
    """Place of a value among the levels, null when it is none of them."""
    if compares_floats(spelled):
        known = [(code, level) for code, level in enumerate(levels) if _spells_a_float(level)]
        if not known:
            return ibis.null("int64")
        branches = [(spelled == float(level), ibis.literal(code, "int64")) for code, level in known]
        return ibis.cases(*branches, else_=ibis.null("int64"))
    if engine_of(spelled) == "postgres":
        return array_position(ibis.literal(list(levels)), spelled) - 1
    return ibis.literal(list(levels)).index(spelled).nullif(-1)


def item_of(items: Sequence[int], place: Any) -> Any:
    """The item at a place, null where there is no place."""
    item = ibis.literal(list(items))[place.fill_null(0).cast("int32")]  # Spark counts items by small numbers only
    return place.isnull().ifelse(ibis.null("int64"), item.cast("int64"))


def _spells_a_float(level: str) -> bool:
    try:
        return spelling(float(level)) == level
    except ValueError:
        return False


def stripped(text: Any) -> Any:
    """Without white space around it."""
    if engine_of(text) == "pyspark":  # whose SQL reads the escapes for the rarer spaces as letters
        return text.re_replace(r"^\s+|\s+$", "")
    return text.strip()


def tidy(text: Any) -> Any:
    """Odd blanks as spaces, and none around (:func:`understudy.codebook.readings.tidy`)."""
    return stripped(translate(text, BLANKS, " " * len(BLANKS)))


def folded(text: Any) -> Any:
    """In lower case (:func:`understudy.codebook.readings.folded`)."""
    return translate(text, UPPER, LOWER)


def number_read(text: Any, reading: Reading) -> Any:
    """The float that a text spells by reading rules: the steps of :meth:`Reading.number_text`."""
    plain = tidy(text)
    if reading.parentheses:
        plain = plain.re_replace("^[(](.*)[)]$", _kept(text, "-"))
    if reading.words_taken_off is not None:
        front, behind = reading.words_taken_off
        plain = plain.re_replace(front, _kept(text, "")).re_replace(behind, "")
    if reading.grouped is not None:
        plain = plain.re_search(reading.grouped).ifelse(plain.replace(reading.thousands, ""), plain)
    if reading.decimal != ".":
        spelled = plain.re_search(reading.ungrouped)
        plain = spelled.ifelse(plain.replace(reading.decimal, "."), ibis.null("string"))
    return number_in(plain)


def _kept(text: Any, before: str) -> str:
    """What replaces a match: a text, and the first group of the pattern."""
    return before + ("$1" if engine_of(text) == "pyspark" else "\\1")


def number_in(text: Any) -> Any:
    """The float that a text spells, null when it spells none."""
    plain = stripped(text)
    engine = engine_of(text)
    if engine == "postgres":
        spelled = ibis.cases(
            (~plain.re_search(_NUMBER), ibis.null("string")),
            (plain.re_search(_SURELY_FITS), plain),
            (plain.re_search(_SURELY_ZERO), "0"),
            else_=ibis.null("string"),
        )
        return spelled.cast("float64")
    if engine == "pyspark":  # which also reads 1d and 1f
        return plain.re_search(_NUMBER).ifelse(plain, ibis.null("string")).try_cast("float64")
    return plain.contains("_").ifelse(ibis.null("float64"), plain.try_cast("float64"))


def plain_in_postgres(value: Any) -> Any:
    """Decimals know NaN there, which means null; enumerations pass for texts but cannot be compared with one."""
    if value.type().is_decimal():
        return value.nullif(ibis.literal("NaN").cast(value.type()))
    if value.type().is_string():
        return operations.Cast(value, to=kinds.string).to_expr()  # `cast` would see nothing to do
    return value


def whole_in_postgres(number: Any) -> Any:
    """Whether a float has no fraction."""
    return number == floor_of(number)


def bin_in_postgres(column: Number, number: Any) -> Any:
    """Bin of a number by one look at all edges; null outside them."""
    edges = column.float_edges
    inner = list(edges[1:-1])
    if column.closed == "left":
        code = width_bucket(number, ibis.literal(inner, "array<float64>"))
    else:  # edges at or above the number, counted from the other side
        code = len(inner) - width_bucket(-number, ibis.literal([-edge for edge in reversed(inner)], "array<float64>"))
    if not inner:
        code = ibis.literal(0, "int64")
    return number.between(edges[0], edges[-1]).ifelse(code.cast("int64"), ibis.null("int64"))


def day_read(text: Any, reading: Reading) -> Any:
    """The day that a text spells in the first of the orders of its reading that gives one."""
    plain = tidy(text)
    patterns = {pattern.spelled: pattern for pattern in reading.day_patterns}
    days = [
        _day_of_serial(plain, order) if order in EXCEL else _ordered_day(plain, patterns[order], reading)
        for order in reading.dates
    ]
    return ibis.coalesce(*days)


def _day_of_serial(plain: Any, order: str) -> Any:
    """Of a spreadsheet; what is no serial is day 1, which the range leaves out again."""
    first, last = SERIALS[order]
    serial = number_in(plain.re_search(SERIAL).ifelse(plain, ibis.null("string")))
    inside = serial.between(first, last + 0.999999)
    days = inside.ifelse(serial, float(first)).floor().cast("int32")
    start = dt.date.fromisoformat(EXCEL[order])
    return inside.ifelse((ibis.date(start) + days.as_interval("D")).cast("date"), ibis.null("date"))


def _ordered_day(plain: Any, pattern: DayPattern, reading: Reading) -> Any:
    year, month, day = (plain.re_extract(pattern.pattern, pattern.group(kind)) for kind in "YMD")
    if "MON" in pattern.parts:
        name = month.substr(0, 3).lower()
        month = name.cases(*((each, f"{place:02d}") for place, each in enumerate(MONTHS, start=1)), else_="")
    if "YYYY" not in pattern.parts:
        start, two = reading.century // 100, f"{reading.century % 100:02d}"
        year = (year >= two).ifelse(ibis.literal(str(start)), ibis.literal(str(start + 1))) + year
    spelled = year + "-" + month + "-" + day
    return _day_of(plain.re_search(pattern.pattern).ifelse(spelled, ibis.null("string")))


def day_in(text: Any) -> Any:
    """The day that a text spells, null when it spells none.

    The pattern comes first: engines also take 2020/2/1 and ignore what follows a date.
    """
    return _day_of(stripped(text).re_extract(DAY_PATTERN, 1))


def _day_of(day: Any) -> Any:
    """The date of a text that is year, month and day, null when there is no such day."""
    if engine_of(day) != "postgres":
        return day.nullif("").try_cast("date")
    year, month, of_month = (day.split("-")[place].cast("int64") for place in range(3))
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    last = ibis.cases((month == 2, leap.ifelse(29, 28)), (month.isin([4, 6, 9, 11]), 30), else_=31)
    exists = month.between(1, 12) & (of_month >= 1) & (of_month <= last) & (year >= 1)
    return exists.ifelse(day, ibis.null("string")).cast("date")
