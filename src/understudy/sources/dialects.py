"""How values are read by rules, and which engine an expression runs on.

What differs between engines stands with them (:mod:`understudy.sources.engines.dialect`); here are the steps that are
the same everywhere.
"""

import datetime as dt
from typing import Any

import ibis

from understudy.codebook.encode import DAY_PATTERN
from understudy.codebook.readings import EXCEL, MONTHS, SERIAL, SERIALS, DayPattern, Reading
from understudy.sources.engines import engine_behind, engines
from understudy.sources.engines.dialect import Dialect


def dialect_of(what: Any) -> Dialect:
    """The dialect of the engine that an expression would run on."""
    backends, _ = what._find_backends()
    return engine_behind(backends[0]).dialect if backends else engines()["duckdb"].dialect


def number_read(text: Any, reading: Reading) -> Any:
    """The float that a text spells by reading rules: the steps of :meth:`Reading.number_text`."""
    dialect = dialect_of(text)
    plain = dialect.tidy(text)
    if reading.parentheses:
        plain = dialect.replaced(plain, "^[(](.*)[)]$", dialect.kept("-"))
    if reading.words_taken_off is not None:
        front, behind = reading.words_taken_off
        plain = dialect.replaced(dialect.replaced(plain, front, dialect.kept("")), behind, "")
    if reading.grouped is not None:
        plain = plain.re_search(reading.grouped).ifelse(plain.replace(reading.thousands, ""), plain)
    if reading.decimal != ".":
        spelled = plain.re_search(reading.ungrouped)
        plain = spelled.ifelse(plain.replace(reading.decimal, "."), ibis.null("string"))
    return dialect.number_in(plain)


def day_read(text: Any, reading: Reading) -> Any:
    """The day that a text spells in the first of the orders of its reading that gives one."""
    plain = dialect_of(text).tidy(text)
    patterns = {pattern.spelled: pattern for pattern in reading.day_patterns}
    days = [
        _day_of_serial(plain, order) if order in EXCEL else _ordered_day(plain, patterns[order], reading)
        for order in reading.dates
    ]
    return ibis.coalesce(*days)


def _day_of_serial(plain: Any, order: str) -> Any:
    """Of a spreadsheet; what is no serial is day 1, which the range leaves out again."""
    dialect = dialect_of(plain)
    first, last = SERIALS[order]
    serial = dialect.number_in(plain.re_search(SERIAL).ifelse(plain, ibis.null("string")))
    inside = serial.between(first, last + 0.999999)
    days = inside.ifelse(serial, float(first)).floor()
    day = dialect.day_after(dt.date.fromisoformat(EXCEL[order]), days)
    return inside.ifelse(day, ibis.null("date"))


def _ordered_day(plain: Any, pattern: DayPattern, reading: Reading) -> Any:
    dialect = dialect_of(plain)
    year, month, day = (dialect.group_of(plain, pattern.pattern, pattern.group(kind)) for kind in "YMD")
    if "MON" in pattern.parts:
        name = dialect.named_month(month)
        month = name.cases(*((each, f"{place:02d}") for place, each in enumerate(MONTHS, start=1)), else_="")
    if "YYYY" not in pattern.parts:
        start, two = reading.century // 100, f"{reading.century % 100:02d}"
        year = (year >= two).ifelse(ibis.literal(str(start)), ibis.literal(str(start + 1))) + year
    spelled = year + "-" + month + "-" + day
    return dialect.day_of(plain.re_search(pattern.pattern).ifelse(spelled, ibis.null("string")))


def day_in(text: Any) -> Any:
    """The day that a text spells, null when it spells none.

    The pattern comes first: engines also take 2020/2/1 and ignore what follows a date.
    """
    dialect = dialect_of(text)
    return dialect.day_of(dialect.group_of(dialect.stripped(text), DAY_PATTERN, 1))
