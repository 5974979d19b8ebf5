"""Encoding as an Ibis expression, so that it runs where the data lives.

The meaning is that of :func:`understudy.codebook.encode.encode_value`; a test holds the two against each other.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import ibis
import pyarrow as pa

from understudy.codebook import Codebook, Coded, CodeLevel, Column, Continuous, Dates, Grain, Integer, Levelled, Number
from understudy.codebook.readings import Reading
from understudy.errors import DataError
from understudy.parameters import OneOf
from understudy.sources import dialects

PERSON = "person"
"""The column of ids in a table of codes."""
UNKNOWN = OneOf(("error", "missing", "other", "other-or-missing", "clamp"))
"""Where values outside the codebook go; ``clamp`` sends numbers and dates to the nearest value within their bounds."""
_LISTED = 256
"""Up to so many levels are written into the query as a list."""
_REPEATED = 200
"""Bins of numbers from which on their values are read in a query of its own, which takes a while to write."""
_LOOKED_UP = "understudy looked up "


def unknown_code(column: Column) -> int:
    """The code that stands for "not in the codebook" while encoding: the one after the last."""
    return column.size


def encoded_table(table: Any, book: Codebook, unknown: str, columns: Sequence[Column], read: Sequence[str] = ()) -> Any:
    """The table of codes of these columns: small unsigned integers, named c0, c1, ...

    Beside them, as r0, r1, ..., the numbers themselves of the columns that ``read`` names.
    """
    ids = None if book.unit is None or book.unit.id not in table.columns else book.unit.id
    beside = {} if ids is None else {PERSON: person_of(table[ids])}
    return encoded_columns(table, unknown, columns, beside, read)


def encoded_columns(
    table: Any, unknown: str, columns: Sequence[Column], beside: Mapping[str, Any], read: Sequence[str] = ()
) -> Any:
    """The same with any expressions ``beside`` the codes."""
    UNKNOWN.check("unknown", unknown)
    codes = {}
    dialect = dialects.dialect_of(table)
    readings = [_reading(column, table[column.reads], unknown) for column in columns]
    repeated = sum(column.size for column in columns if isinstance(column, Number))
    looked_up = {
        place: column
        for place, column in enumerate(columns)
        if dialect.joins_lists and isinstance(column, Levelled) and len(_spelled(column)[0]) > _LISTED
    }
    measured = [table[column.reads] for column in columns if isinstance(column, Number | Dates)]
    rules = any(not column.reading.is_plain for column in columns)
    if dialect.stages(measured) or repeated > _REPEATED or looked_up or rules:
        # in two steps: one step would repeat every reading in every bin
        read_once = {f"v{place}": reading.value for place, reading in enumerate(readings)}
        read_once |= {f"a{place}": reading.absent for place, reading in enumerate(readings)}
        read_once |= {f"s{place}": each.special for place, each in enumerate(readings) if each.special is not None}
        table = dialect.staged(table.select(**read_once, **beside))
        for place, levelled in looked_up.items():
            table = _joined_codes(table, levelled, place)
        readings = [
            Meaning(table[f"v{place}"], table[f"a{place}"], None if each.special is None else table[f"s{place}"])
            for place, each in enumerate(readings)
        ]
        beside = {name: table[name] for name in beside}
    for place, (column, meaning) in enumerate(zip(columns, readings, strict=True)):
        kind = dialect.kind_of_codes(column.size)
        if place in looked_up:
            looked = _or_other(column, meaning.value, table[f"{_LOOKED_UP}{place}"])
            code = _or_missing(column, meaning.absent, looked)
        else:
            code = _code(column, meaning)
        codes[f"c{place}"] = ibis.coalesce(code, ibis.literal(stand_in(column, unknown))).cast(kind)
    places = {column.name: place for place, column in enumerate(columns)}
    codes |= {f"r{number}": readings[places[name]].value for number, name in enumerate(read)}
    return table.select(**codes, **beside)


def person_of(value: Any) -> Any:
    """The id of a person as text; null where there is none, which a blank means too."""
    text = as_text(present(value))
    return (dialects.dialect_of(text).stripped(text) == "").ifelse(ibis.null("string"), text)


def _joined_codes(table: Any, column: Levelled, place: int) -> Any:
    """The table with the codes of one column of very many levels: a hash join instead of a search through a list."""
    text, code = f"{_LOOKED_UP}text{place}", f"{_LOOKED_UP}{place}"
    texts, codes = _spelled(column)
    levels = ibis.memtable(pa.table({text: texts, code: codes}))
    return table.left_join(levels, table[f"v{place}"] == levels[text]).drop(text)


def _spelled(column: Levelled) -> tuple[list[str], list[int]]:
    """Every text that stands for a level, and the code of the level."""
    if isinstance(column, Coded | CodeLevel):
        return list(column.spellings), list(column.spellings.values())
    return list(column.code_of_tidied), list(column.code_of_tidied.values())


def _listed_code(column: Coded | CodeLevel, text: Any) -> Any:
    """The code as :meth:`Coded.find` finds it, from a text that was made comparable."""
    pack = column.codes if isinstance(column, Coded) else column.coded.codes
    reading = pack.reading
    folded = dialects.dialect_of(text).stripped(text)
    folded = folded.upper() if reading.upper else folded
    cut = folded.re_extract("^[^.]*", 0) if reading.dot else folded
    if reading.zeros is not None:
        lost = cut.re_search("^[0-9]+$") & (cut.length() < reading.zeros)
        cut = lost.ifelse(cut.lpad(reading.zeros, "0"), cut)
    if reading.width is not None:
        width: Any = ibis.literal(reading.width)
        for letter, size in reading.widths:
            width = (cut.substr(0, 1) == letter).ifelse(size, width)
        cut = cut.substr(0, width)
    return folded.isin(list(pack.exact)).ifelse(folded, cut) if pack.exact else cut


def _or_missing(column: Column, absent: Any, code: Any) -> Any:
    if column.missing_code is None:
        return code
    return absent.ifelse(ibis.literal(column.missing_code, "int64"), code)


def _or_other(column: Column, text: Any, code: Any) -> Any:
    """A code that a pack lacks is its ``other``, whatever the policy."""
    if not isinstance(column, Coded | CodeLevel):
        return code
    return text.isnull().ifelse(ibis.null("int64"), ibis.coalesce(code, column.code_of[str(column.other)]))


def is_known(column: Column, value: Any, *, looked_up: bool = True) -> Any:
    """Whether the codebook knows a value; very many levels are looked up in a table of their own, if that may be."""
    if isinstance(column, Coded | CodeLevel):
        return present(value).notnull() | (column.missing is not None)
    if isinstance(column, Levelled) and column.size > _LISTED:
        texts = list(column.code_of_tidied)
        levels = ibis.memtable(pa.table({"level": texts})).level if looked_up else texts
        meaning = _reading(column, value, "error")
        known = as_text(meaning.value).isin(levels).fill_null(False)
        return known if column.missing is None else known | meaning.absent
    return code_expression(column, value).notnull()


def stand_in(column: Column, unknown: str) -> int:
    """Which code a value outside the codebook gets under the caller's policy."""
    if unknown == "missing" and column.missing_code is not None:
        return column.missing_code
    if unknown.startswith("other") and isinstance(column, Levelled) and column.other is not None:
        return column.code_of[column.other]
    if unknown == "other-or-missing" and column.missing_code is not None:
        return column.missing_code
    return unknown_code(column)


def code_expression(column: Column, value: Any, unknown: str = "error") -> Any:
    """Code of a value, null where the codebook does not know it."""
    return _code(column, _reading(column, value, unknown))


class Meaning(NamedTuple):
    """What values mean to their column."""

    value: Any
    """A text, a number or a day."""
    absent: Any
    """Whether it is missing."""
    special: Any = None
    """Which special code it is, counted from 0; null for numbers."""


def _reading(column: Column, value: Any, unknown: str) -> Meaning:
    value, reading = present(value), column.reading
    text = as_text(value)
    if isinstance(column, Coded | CodeLevel):
        codes = [reading.word(code) for code in reading.missing]
        absent = _is_missing(column, value, word_of(text, reading, always=True) if codes else text, codes)
        return Meaning(_listed_code(column, text), absent)
    if isinstance(column, Levelled):
        word = word_of(text, reading, always=False)
        tokens = () if reading.is_plain else (*reading.missing, column.missing or "")
        absent = _is_missing(column, value, word, [reading.tidied(code) for code in tokens])
        return Meaning(value if dialects.dialect_of(value).compares_floats(value) else word, absent)
    rules = bool(reading.missing or reading.means or column.special)
    word = word_of(text, reading, always=True) if rules else text
    absent = _is_missing(column, value, word, [reading.word(code) for code in reading.missing])
    if isinstance(column, Number):
        number = read_number(reading, value)
        if column.missing_numbers:
            absent = absent | number.isin(list(column.missing_numbers)).fill_null(False)
        if isinstance(column, Integer) and not value.type().is_integer():
            number = is_whole(number).ifelse(number, ibis.null("float64"))
        special = None
        if column.special:
            special = _place(word, [reading.word(code) for code in column.special])
        return Meaning(_between(number, column.bounds) if unknown == "clamp" else number, absent, special)
    if isinstance(column, Dates):
        day = read_day(reading, value)
        return Meaning(_between(day, (column.start, column.end)) if unknown == "clamp" else day, absent)
    raise DataError(f"column {column.name!r} of kind {column.kind!r} has no codes.")


def word_of(text: Any, reading: Reading, *, always: bool) -> Any:
    """A text as it is compared with levels and codes; among numbers and days blanks never count."""
    dialect = dialects.dialect_of(text)
    text = dialect.tidy(text) if reading.strip or always else text
    return dialect.folded(text) if reading.fold else text


def _place(word: Any, words: Sequence[str]) -> Any:
    """Which of a few words it is, counted from 0, or null."""
    branches = [(word == each, ibis.literal(place, "int64")) for place, each in enumerate(words)]
    return ibis.cases(*branches, else_=ibis.null("int64"))


def _is_missing(column: Column, value: Any, word: Any, codes: Sequence[str]) -> Any:
    """Whether there is no value, the missing token, or one of the further codes that mean missing."""
    if column.missing is None:
        return ibis.literal(False)
    absent = value.isnull() | (as_text(value) == column.missing)
    for code in codes:
        absent = absent | (word == code)
    return absent


def read_number(reading: Reading, value: Any) -> Any:
    """The number that a value stands for by the rules of its column, null where it is none."""
    value = present(value)
    if reading.is_plain:
        return as_number(value)
    if value.type().is_string():
        number = dialects.dialect_of(value).finite(dialects.number_read(value, reading))
    else:
        number = as_number(value)
    if not reading.means:
        return number
    word = word_of(as_text(value), reading, always=True)
    branches = [(word == each, ibis.literal(float(means))) for each, means in reading.meaning.items()]
    return ibis.cases(*branches, else_=number)


def read_day(reading: Reading, value: Any) -> Any:
    """The day that a value stands for by the rules of its column, null where it is none."""
    value = present(value)
    kind = value.type()
    if not reading.dates or kind.is_date() or kind.is_timestamp():
        return as_date(value)
    return dialects.day_read(as_text(value), reading)


def _code(column: Column, meaning: Meaning) -> Any:
    if isinstance(column, Coded | CodeLevel):
        texts, codes = _spelled(column)
        dialect = dialects.dialect_of(meaning.value)
        found = dialect.item_of(codes, dialect.level_index(texts, meaning.value))
        code = _or_other(column, meaning.value, found)
    elif isinstance(column, Levelled):
        code = dialects.dialect_of(meaning.value).level_index(list(column.code_of_tidied), meaning.value)
    elif isinstance(column, Number):
        code = _bin(column, meaning.value)
        if meaning.special is not None:
            code = ibis.coalesce(meaning.special + column.proper_levels, code)
    else:
        assert isinstance(column, Dates)
        code = _grain_index(column, meaning.value)
    return _or_missing(column, meaning.absent, code)


def present(value: Any) -> Any:
    """The value with NaN turned into null: both mean that nothing was recorded."""
    return dialects.dialect_of(value).present(value)


def as_text(value: Any) -> Any:
    """How a level is spelled, see :func:`understudy.codebook.encode.spelling`."""
    kind = value.type()
    if kind.is_string():
        return value
    if kind.is_floating():
        return dialects.dialect_of(value).float_text(value)
    return value.cast("string")


def as_number(value: Any) -> Any:
    """A finite float, or null for what is not a number."""
    if value.type().is_integer():
        return value.cast("float64")
    if value.type().is_string():
        number = dialects.dialect_of(value).number_in(value)
    elif value.type().is_numeric():
        number = value.cast("float64")
    else:
        return ibis.null("float64")
    return dialects.dialect_of(value).finite(number)


def is_whole(number: Any) -> Any:
    """Whether a float has no fraction."""
    return dialects.dialect_of(number).is_whole(number)


def _bin(column: Number, number: Any) -> Any:
    code = dialects.dialect_of(number).bin(column, _clipped(column, number))
    if code is not None:
        return code
    if column.within is not None and column.within.shape == "measured":
        return _piece(column.within, _clipped(column, number))
    if column.within is not None:
        return _smooth_piece(column, column.within, _clipped(column, number))
    return _binned(
        column, _clipped(column, number), [ibis.literal(code, "int64") for code in range(column.proper_levels)]
    )


def _clipped(column: Number, number: Any) -> Any:
    if not column.clip:
        return number
    return _between(number, (column.float_edges[0], column.float_edges[-1]))


def _between(value: Any, bounds: tuple[Any, Any]) -> Any:
    """The value or the bound that it exceeds; not greatest(least()), which skip nulls, so that what is none would be
    at a bound.
    """
    return ibis.cases((value < bounds[0], bounds[0]), (value > bounds[1], bounds[1]), else_=value)


def _binned(column: Number, number: Any, codes: Sequence[Any]) -> Any:
    """What each bin gives, null outside all of them."""
    edges = column.float_edges
    inside = [(number < e) if column.closed == "left" else (number <= e) for e in edges[1:-1]]
    branches: list[tuple[Any, Any]] = [(number < edges[0], ibis.null("int64"))]
    branches += list(zip(inside, codes[:-1], strict=True))
    branches.append((number <= edges[-1], codes[-1]))
    return ibis.cases(*branches, else_=ibis.null("int64"))


def _piece(coarse: Number, number: Any) -> Any:
    """The piece of its bin that a number falls in, by arithmetic: however many pieces, the query stays small.

    A value between two steps counts as the nearer one of its bin; see :attr:`Number.cuts` for where pieces begin.
    """
    per_step = float(10**coarse.precision) if isinstance(coarse, Continuous) else 1.0
    scaled = number if per_step == 1 else number * per_step
    codes, start = [], 0
    for (first, width), cuts in zip(coarse.grids, coarse.cuts, strict=True):
        if len(cuts) == 1:
            codes.append(ibis.literal(start, "int64"))
        else:  # held to the bin before it becomes a whole number: an engine may look at values of other bins too
            held = ibis.greatest(ibis.least(scaled, float(first + width - 1)), float(first))
            nearest = (held + 0.5).floor() if coarse.closed == "left" else (held - 0.5).ceil()
            codes.append(((nearest - (first - 1)) * len(cuts) - 1) // width + start)
        start += len(cuts)
    return _binned(coarse, number, codes)


def _smooth_piece(fine: Number, coarse: Number, number: Any) -> Any:
    """The piece of its bin that a number falls in, by comparisons: with the edges of bins first, then inside one."""
    codes, start = [], 0
    for cuts in coarse.cuts:
        inside = fine.float_edges[start + 1 : start + len(cuts)]
        tests = [(number < edge) if fine.closed == "left" else (number <= edge) for edge in inside]
        places = [ibis.literal(start + place, "int64") for place in range(len(cuts))]
        codes.append(ibis.cases(*zip(tests, places, strict=False), else_=places[-1]) if tests else places[0])
        start += len(cuts)
    return _binned(coarse, number, codes)


def as_date(value: Any) -> Any:
    """A date, or null for what is not one."""
    kind = value.type()
    if kind.is_date() or kind.is_timestamp():
        return dialects.dialect_of(value).is_day(value)
    if kind.is_string():
        return dialects.day_in(value)
    return ibis.null("date")


def _grain_index(column: Dates, day: Any) -> Any:
    year = day.year().cast("int64")
    if column.grain is Grain.YEAR:
        number = year
    elif column.grain is Grain.MONTH:
        number = year * 12 + day.month().cast("int64") - 1
    else:
        days = dialects.dialect_of(day).ordinal(day)
        number = days // 7 if column.grain is Grain.WEEK else days
    index = number - column.grain.number(column.start)
    return ((index >= 0) & (index < column.proper_levels)).ifelse(index, ibis.null("int64"))
