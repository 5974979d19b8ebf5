"""A first codebook read from the data, for a person to review.

Levels, bounds and bins are read from private rows without a price. So every column is marked as drafted, and no
release made from a drafted column may claim a guarantee until a person has attested that it is public knowledge.
"""

import datetime as dt
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

import ibis

from understudy.codebook import (
    Categorical,
    Codebook,
    Column,
    Continuous,
    Dates,
    Grain,
    Integer,
    Ordinal,
    Origin,
    Role,
    Text,
)
from understudy.codebook.encode import day_of, number_of
from understudy.codebook.labels import ColumnLabels
from understudy.codebook.numbers import MOST_STEPS
from understudy.errors import DataError, ParameterError, listed
from understudy.parameters import Whole
from understudy.sources.expressions import as_date, as_number, as_text, present
from understudy.sources.faults import engine_errors
from understudy.sources.files import Opened, open_table, without_missing_codes

BINS = Whole(least=2, tried=16)
MAX_LEVELS = Whole(least=2, tried=256)
MISSING_TOKENS = ("NA", "N/A", "n/a", "?", "", "null", "NULL", "None", "NaN", "nan", ".")
"""Texts that usually stand for a value that was not recorded."""

_FEW = 20
"""Numbers with at most this many distinct values are listed, not binned."""
_ENOUGH_ROWS = 100  # below this, distinct whole numbers may well be amounts
_MOST_DECIMALS = 6
_MOST_GRAINS = 120
_MOST_DAYS = 62
_BATCH = 50
"""Columns summarised in one scan."""
_PADDED = "^ *[+-]?0[0-9]"
_DECIMALS = "[.]([0-9]*[1-9])0*$"


def draft_codebook(
    what: Any, *, table: str | None = None, bins: int = 16, max_levels: int = 256, drop: Sequence[str] = ()
) -> Codebook:
    """Describe a table as it is; a person must then correct the draft and attest what is public knowledge.

    >>> import pyarrow as pa
    >>> book = draft_codebook(pa.table({"sex": ["F", "M", "F"], "stay": [1, 2, None]}))
    >>> [(column.name, column.kind, column.labels, column.is_public) for column in book.columns]
    [('sex', 'categorical', ('F', 'M'), False), ('stay', 'categorical', ('1', '2', 'NA'), False)]
    """
    return draft_with_reasons(what, table=table, bins=bins, max_levels=max_levels, drop=drop)[0]


def draft_with_reasons(
    what: Any, *, table: str | None = None, bins: int = 16, max_levels: int = 256, drop: Sequence[str] = ()
) -> tuple[Codebook, dict[str, str]]:
    """The draft, and why each column that it leaves out was left out.

    The reasons are for the person at the screen only. A release carries its codebook, descriptions included, and what
    a column that nobody attests holds (that it is constant, or one of its values) is in no price.
    """
    BINS.check("bins", bins)
    MAX_LEVELS.check("max_levels", max_levels)
    opened = without_missing_codes(open_table(what, table))
    if opened.connection.name != "duckdb":
        raise DataError(
            f"{opened.label}: a draft reads levels and quantiles off the values, and only counts leave a database "
            "through Understudy. Draft from a small export in a safe place, or write the codebook by hand."
        )
    opened.verify()
    header = [name for name in opened.header if name]
    names = [name for name in header if name not in named_columns(header, drop, "`drop`")]
    if not names:
        raise DataError("every column is dropped, so nothing is left to draft; drop fewer.")
    described: dict[str, Column | str] = {}
    with engine_errors(repr(opened.label)):
        rows = int(opened.table.count().to_pyarrow().as_py())
        if rows == 0:
            raise DataError(f"{opened.label!r} has no rows; a draft needs some. Write the codebook by hand.")
        for start in range(0, len(names), _BATCH):
            for summary in _summaries(opened, names[start : start + _BATCH], bins, max_levels):
                described[summary.name] = _describe(summary, rows, max_levels)
    reasons = {name: why for name, why in described.items() if isinstance(why, str)}
    if len(reasons) == len(names):
        shown = "; ".join(f"{name!r} {why}" for name, why in list(reasons.items())[:5])
        raise DataError(
            f"no column of {opened.label!r} can be drafted ({shown}). Write the codebook by hand, or raise "
            "`max_levels`."
        )
    book = Codebook(
        columns=tuple(
            _labelled(_or_left_out(described.get(name, "dropped"), name), opened.labels.get(name)) for name in header
        ),
        file=None if opened.file.says_nothing else opened.file,
        # what a release made with it will still say, so it must be as true after the attestation as before
        description="Levels, edges and ranges were first drafted from the data; a release has a formal guarantee only "
        "where every column is attested as public knowledge (`understudy codebook declare`).",
    )
    return book, reasons


def named_columns(header: Sequence[str], words: Sequence[str], option: str) -> tuple[str, ...]:
    """Columns that an option names, one by one or between commas.

    >>> named_columns(["a", "b", "c,d"], ["a, b", "c,d"], "`drop`")
    ('a', 'b', 'c,d')
    """
    names: list[str] = []
    for word in words:
        names += [word] if word in header else [part.strip() for part in word.split(",") if part.strip()]
    for name in names:
        if name not in header:
            raise ParameterError(f"there is no column {name!r} ({option}); the table has {listed(header)}.")
    return tuple(names)


@dataclass(frozen=True, kw_only=True)
class _Summary:
    """What one or two scans say about a column; all counts leave missing values out."""

    name: str
    present: int
    distinct: int
    """Exact when ``levels`` is known, otherwise an estimate."""
    levels: tuple[str, ...] | None
    tokens: tuple[str, ...]
    """Texts that look like missing values, the most frequent first."""
    has_missing: bool
    numbers: int
    wholes: int
    padded: int
    """Numbers with a leading zero, such as ZIP codes: they are names, not amounts."""
    dates: int
    cuts: tuple[float, ...]
    """Smallest value, quantiles and largest value, when all are numbers."""
    decimals: int
    first: dt.date | None
    last: dt.date | None
    strange: str | None
    """A value that is not a number, where most are."""


def _summaries(opened: Opened, names: Sequence[str], bins: int, max_levels: int) -> Iterator[_Summary]:
    """Two scans for many columns. What has few levels is looked at level by level here, the rest in the engine."""
    places = range(len(names))
    staged = opened.connection.compile(_staged(opened, names))
    aggregates = {f"distinct{p}": f"approx_count_distinct(text{p})" for p in places}
    answers = _ask(opened, staged, aggregates)
    steps = [k / bins for k in range(1, bins)]
    few = {p for p in places if answers[f"distinct{p}"] <= 2 * max_levels}  # the estimate is a rough one
    aggregates = {f"{key}{p}": sql.format(p=p, steps=steps) for p in places if p not in few for key, sql in _MANY}
    aggregates |= {f"levels{p}": f"histogram(text{p})" for p in few}
    aggregates |= {f"tokens{p}": f"histogram(token{p})" for p in places}
    aggregates |= {f"missing{p}": f"count(*) - count(text{p})" for p in places}
    answers |= _ask(opened, staged, aggregates)
    for p, name in enumerate(names):
        tokens: Mapping[str, int] = answers[f"tokens{p}"] or {}
        common: dict[str, Any] = {
            "name": name,
            # the empty text comes first: it can be the missing token, but never a level
            "tokens": tuple(sorted(tokens, key=lambda token: (token != "", -tokens[token], token))),
            "has_missing": answers[f"missing{p}"] > 0,
        }
        if p in few:
            yield _seen_in_levels(answers[f"levels{p}"] or {}, common, bins, max_levels)
        else:
            yield _seen_in_rows({key: answers[f"{key}{p}"] for key, _ in (*_MANY, ("distinct", ""))}, common)


_MANY = (
    ("present", "count(text{p})"),
    ("numbers", "count(number{p})"),
    ("wholes", "count(*) FILTER (number{p} % 1 = 0)"),
    ("padded", "count(*) FILTER (regexp_matches(text{p}, '" + _PADDED + "'))"),
    ("least", "min(number{p})"),
    ("most", "max(number{p})"),
    ("cuts", "approx_quantile(number{p}, {steps})"),
    ("decimals", "max(length(regexp_extract(text{p}, '" + _DECIMALS + "', 1)))"),
    ("strange", "min(text{p}) FILTER (number{p} IS NULL)"),
    ("dates", "count(date{p})"),
    ("first", "min(date{p})"),
    ("last", "max(date{p})"),
)
"""What one scan finds out about a column of many values, in DuckDB's words: all files are read with it."""


def _seen_in_rows(answers: Mapping[str, Any], common: Mapping[str, Any]) -> _Summary:
    is_numeric = answers["numbers"] == answers["present"] and not answers["padded"]
    as_found = {key: value for key, value in answers.items() if key not in ("least", "most", "cuts", "decimals")}
    return _Summary(
        levels=None,
        cuts=(answers["least"], *(answers["cuts"] or ()), answers["most"]) if is_numeric else (),
        decimals=answers["decimals"] or 0,
        **as_found,
        **common,
    )


def _seen_in_levels(counts: Mapping[str, int], common: Mapping[str, Any], bins: int, max_levels: int) -> _Summary:
    """The same from all levels and how often each occurs."""
    levels = sorted(counts)
    numbers = {level: number for level in levels if (number := number_of(level)) is not None}
    days = {level: day for level in levels if (day := day_of(level)) is not None}
    padded = [level for level in levels if re.match(_PADDED, level)]
    endings = (re.search(_DECIMALS, level) for level in levels)
    return _Summary(
        present=sum(counts.values()),
        distinct=len(levels),
        levels=tuple(levels) if len(levels) <= max_levels else None,
        numbers=sum(counts[level] for level in numbers),
        wholes=sum(counts[level] for level, number in numbers.items() if number % 1 == 0),
        padded=len(padded),
        dates=sum(counts[level] for level in days),
        cuts=_quantiles(numbers, counts, bins) if len(numbers) == len(levels) > 0 and not padded else (),
        decimals=max((len(ending[1]) for ending in endings if ending), default=0),
        first=min(days.values(), default=None),
        last=max(days.values(), default=None),
        strange=next((level for level in levels if level not in numbers), None),
        **common,
    )


def _quantiles(numbers: Mapping[str, float], counts: Mapping[str, int], bins: int) -> tuple[float, ...]:
    """Smallest value, quantiles and largest value."""
    rising = sorted((number, counts[level]) for level, number in numbers.items())
    reached = list(accumulate(count for _, count in rising))
    inner = (rising[bisect_left(reached, reached[-1] * k / bins)][0] for k in range(1, bins))
    return (rising[0][0], *inner, rising[-1][0])


def _ask(opened: Opened, staged: str, asked: Mapping[str, str]) -> dict[str, Any]:
    """One row of aggregates."""
    cursor = opened.connection.raw_sql(f"SELECT {', '.join(asked.values())} FROM ({staged}) AS staged")
    return dict(zip(asked, cursor.fetchone(), strict=True))


def _staged(opened: Opened, names: Sequence[str]) -> Any:
    """Each column as text, number and date, with missing values as nulls."""
    stages: dict[str, Any] = {}
    for p, name in enumerate(names):
        value = present(opened.value(name))
        typed = value.type()
        text = as_text(value)
        if typed.is_string():
            # not isin(): the engine turns each such list into a join, and fifty of them into out of memory
            is_token = ibis.literal(list(MISSING_TOKENS)).contains(text.strip())
            stages[f"token{p}"] = is_token.ifelse(text, ibis.null("string"))
            value = text = is_token.ifelse(ibis.null("string"), text)
        else:
            stages[f"token{p}"] = ibis.null("string")
        stages[f"text{p}"] = text
        stages[f"number{p}"] = as_number(value)
        stages[f"date{p}"] = as_date(value)
    return opened.table.select(**stages)


def _describe(seen: _Summary, rows: int, max_levels: int) -> Column | str:
    """Choose a kind, or say why there is none: what is doubtful becomes an identifier, which is never released."""
    if seen.distinct == 0:
        return "it held no value at all"
    missing = (seen.tokens[0] if seen.tokens else "NA") if seen.has_missing else None
    notes: list[str] = []  # only what the levels say too: that a column is drafted stands in `origin`
    if missing is not None:
        notes.append(
            f"{missing!r} and empty fields are taken as missing" if seen.tokens else "empty fields are missing"
        )
    common: dict[str, Any] = {"name": seen.name, "missing": missing, "origin": Origin.DRAFTED}
    if seen.distinct > 1 and seen.dates == seen.present and seen.first is not None and seen.last is not None:
        return _dates(seen, common, notes)
    is_numeric = bool(seen.cuts)
    if is_numeric and (seen.levels is None or len(seen.levels) > _FEW):
        return _number(seen, common, notes, rows)
    if seen.levels is None:
        return _why_text(seen, rows, max_levels)
    levels = tuple(sorted(seen.levels, key=float if is_numeric else _reading_order))
    levels += tuple(sorted(seen.tokens[1:]))  # one token is missing, the others are levels
    if len(seen.tokens) > 1:
        notes.append(f"{', '.join(map(repr, seen.tokens[1:]))} may mean missing too")
    kind = Ordinal if is_numeric and len(levels) > 2 else Categorical
    return kind(levels=levels, description="; ".join(notes), **common)


def _reading_order(level: str) -> list[tuple[int, str]]:
    """Numbers inside texts by their size, so that "6-99" comes before "100-199".

    >>> sorted(["100-199", "500+", "6-99"], key=_reading_order)
    ['6-99', '100-199', '500+']
    """
    parts = re.split("([0-9]{1,18})", level)
    return [(int(part) if place % 2 else -1, part) for place, part in enumerate(parts)]


def _labelled(column: Column, labels: ColumnLabels | None) -> Column:
    return column if labels is None else labels.describe(column)


def _or_left_out(described: Column | str, name: str) -> Column:
    if not isinstance(described, str):
        return described
    return Text(
        name=name,
        role=Role.IDENTIFIER,
        origin=Origin.DRAFTED,
        description="left out; declare its kind and levels if it should be kept",
    )


def _why_text(seen: _Summary, rows: int, max_levels: int) -> str:
    many = f"it has more than {max_levels} distinct texts"
    if seen.numbers > 0.5 * seen.present and seen.strange is not None:
        return f"{many}; most are numbers, but some are not, such as {seen.strange!r}"
    if seen.distinct > 0.9 * rows:
        return f"{many}, nearly one per row, as identifiers do"
    if seen.padded:
        return f"{many}, which look like code numbers with leading zeros"
    return many


def _number(seen: _Summary, common: dict[str, Any], notes: list[str], rows: int) -> Column | str:
    whole = seen.wholes == seen.numbers
    if whole and rows >= _ENOUGH_ROWS and seen.distinct > 0.9 * rows:
        return "nearly every row has its own whole number, as identifiers do"
    cuts = [Decimal(repr(cut)) for cut in seen.cuts]
    precision = 0 if whole else _precision(cuts, seen.decimals)
    edges = _pleasant_edges(cuts, precision)
    if edges is None:
        return "its numbers have more digits than can be compared exactly"
    if len(seen.tokens) > 1:
        # which texts is not said: they are no levels of this column, so nobody attests them
        notes.append("other texts may mean missing too, but only one can: mend the data or use --unknown missing")
    common["description"] = "; ".join(notes)
    if whole:
        return Integer(edges=edges, **common)
    return Continuous(edges=edges, precision=precision, **common)


def _precision(cuts: Sequence[Decimal], decimals: int) -> int:
    """Decimals seen, at most six unless the range is tiny, and no more than fifteen digits in all."""
    needed = -((cuts[-1] - cuts[0]) / _FEW).adjusted()
    room = 13 - max(abs(cuts[0]), abs(cuts[-1])).adjusted()
    return max(0, min(max(min(decimals, _MOST_DECIMALS), needed, 1), room, 12))


def _dates(seen: _Summary, common: dict[str, Any], notes: list[str]) -> Column:
    first, last = seen.first, seen.last
    assert first is not None
    assert last is not None
    if (last - first).days < _MOST_DAYS:
        grain = Grain.DAY
    elif (last - first).days < 7 * (_MOST_GRAINS - 1):
        grain = Grain.WEEK
    elif Grain.MONTH.number(last) - Grain.MONTH.number(first) < _MOST_GRAINS:
        grain = Grain.MONTH
    else:
        grain = Grain.YEAR
    start = grain.first(grain.number(first))
    if last.year - first.year >= _MOST_GRAINS:
        notes.append("the range is long; is a far date a stand-in for missing?")
    return Dates(grain=grain, start=start, end=last, description="; ".join(notes), **common)


def _pleasant_edges(cuts: Sequence[Decimal], precision: int) -> tuple[Fraction, ...] | None:
    """Round quantiles to short numbers, each as coarsely as its neighbours allow; the ends are rounded outwards.

    None when the numbers are too long for exact comparison (see ``Number.faults``) or too close for two bins.

    >>> [float(edge) for edge in _pleasant_edges([Decimal(x) for x in ("0.3", "18.7", "41.2", "97.9")], 1)]
    [0.0, 20.0, 40.0, 100.0]
    """
    finest = Decimal(1).scaleb(-precision)
    if max(abs(cut) for cut in cuts) / finest >= MOST_STEPS // 10:
        return None
    low, high = cuts[0], cuts[-1]
    inner = sorted({cut for cut in cuts[1:-1] if low < cut < high})
    if len(inner) < 2:  # nearly all rows share one value: quantiles say nothing about the rest
        inner = sorted({*inner, *((low * (8 - k) + high * k) / 8 for k in range(1, 8))})
    points = [low, *inner, high]
    first_unit = _unit(points[1] - points[0], finest)
    last_unit = _unit(points[-1] - points[-2], finest)
    edges = {_rounded(low, first_unit, ROUND_FLOOR), _rounded(high, last_unit, ROUND_CEILING)}
    bottom, top = min(edges), max(edges)
    gaps = [after - before for before, after in pairwise(points)]
    for cut, before, after in zip(inner, gaps, gaps[1:], strict=False):
        edge = _rounded(cut, _unit(min(before, after), finest), ROUND_HALF_EVEN)
        if bottom < edge < top:
            edges.add(edge)
    return tuple(Fraction(edge) for edge in sorted(edges)) if len(edges) > 2 else None


def _unit(gap: Decimal, finest: Decimal) -> Decimal:
    """The largest of 1, 2, 5, 10, ... that is at most half the gap, so that neighbours stay apart."""
    if gap <= 0:
        return finest
    decade = Decimal(1).scaleb((gap / 2).adjusted())
    largest = max(step * decade for step in (1, 2, 5) if step * decade <= gap / 2)
    return max(largest, finest)


def _rounded(value: Decimal, unit: Decimal, how: str) -> Decimal:
    return (value / unit).to_integral_value(rounding=how) * unit
