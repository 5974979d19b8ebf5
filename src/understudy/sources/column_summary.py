"""What the values of a column look like, in one or two scans of its table: counts, levels, quantiles, examples.

For the draft of a codebook only; whoever holds the data sees it, and nobody else.
"""

import datetime as dt
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import ibis

from understudy.codebook.encode import day_of, number_of
from understudy.codebook.readings import MISSING_TOKENS
from understudy.sources.expressions import as_text, present, read_day, read_number, word_of
from understudy.sources.files import Opened
from understudy.sources.reading_guesses import PLAINLY, GuessedReading, guess_levels

PADDED = "^ *[+-]?0[0-9]"
"""A number with a zero before it, which is a name."""
_DECIMALS = "[.]([0-9]*[1-9])0*$"
_MAY_BE_IDS = 0.7
"""Share of the rows from which on different values are counted exactly."""
_MOST_SHAPES = 300


@dataclass(frozen=True, kw_only=True)
class Summary:
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
    is_text: bool
    """Whether the values are texts, which may be written in many ways."""
    counts: Mapping[str, int] | None = None
    """All texts and how often each occurs, where they are few."""
    found: GuessedReading = PLAINLY
    """How they were read."""
    examples: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    """Where there are many texts, the commonest of them with all digits as 1: a date is a date still."""
    odd: int = 0
    """About how many of many texts are no numbers."""
    why_not: str = ""
    """Why they cannot be read as numbers or dates, though they look like some."""

    @property
    def merged(self) -> dict[str, tuple[str, ...]]:
        """Levels, each with all the ways it is written."""
        return guess_levels({level: (self.counts or {}).get(level, 0) for level in self.levels or ()})[1]


def summaries(
    opened: Opened, names: Sequence[str], bins: int, max_levels: int, found: Mapping[str, GuessedReading]
) -> Iterator[Summary]:
    """Two scans for many columns. What has few levels is looked at level by level here, the rest in the engine."""
    places = range(len(names))
    staged = opened.connection.compile(staged_columns(opened, names, found))
    aggregates = {f"distinct{p}": f"approx_count_distinct(text{p})" for p in places}
    answers = _ask(opened, staged, {"rows": "count(*)", **aggregates})
    steps = [k / bins for k in range(1, bins)]
    few = {p for p in places if answers[f"distinct{p}"] <= 2 * max_levels}  # the estimate is a rough one
    aggregates = {f"{key}{p}": sql.format(p=p, steps=steps) for p in places if p not in few for key, sql in _MANY}
    # an estimate may be off by an eighth, and ids are told by one value for nearly every row
    aggregates |= {
        f"distinct{p}": f"count(DISTINCT text{p})"
        for p in places
        if answers[f"distinct{p}"] > _MAY_BE_IDS * answers["rows"]
    }
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
            "is_text": opened.value(name).type().is_string(),
            "found": found.get(name, PLAINLY),
        }
        if p in few:
            yield _seen_in_levels(answers[f"levels{p}"] or {}, common, bins, max_levels)
        else:
            yield _seen_in_rows({key: answers[f"{key}{p}"] for key, _ in (*_MANY, ("distinct", ""))}, common)


_MANY = (
    ("present", "count(text{p})"),
    ("numbers", "count(number{p})"),
    ("wholes", "count(*) FILTER (number{p} % 1 = 0)"),
    ("padded", "count(*) FILTER (regexp_matches(text{p}, '" + PADDED + "'))"),
    ("least", "min(number{p})"),
    ("most", "max(number{p})"),
    ("cuts", "approx_quantile(number{p}, {steps})"),
    ("decimals", "max(length(regexp_extract(spelled{p}, '" + _DECIMALS + "', 1)))"),
    ("shapes", "approx_top_k(translate(text{p}, '023456789', '111111111'), " + str(_MOST_SHAPES) + ")"),
    ("odd", "approx_count_distinct(CASE WHEN number{p} IS NULL THEN text{p} END)"),
    ("examples", "[min(text{p}), max(text{p}), any_value(text{p})]"),
    ("strange", "min(text{p}) FILTER (number{p} IS NULL)"),
    ("dates", "count(date{p})"),
    ("first", "min(date{p})"),
    ("last", "max(date{p})"),
)
"""What one scan finds out about a column of many values, in DuckDB's words: all files are read with it."""


def _seen_in_rows(answers: Mapping[str, Any], common: Mapping[str, Any]) -> Summary:
    is_numeric = answers["numbers"] == answers["present"] and not answers["padded"]
    computed = ("least", "most", "cuts", "decimals", "examples", "shapes")
    as_found = {key: value for key, value in answers.items() if key not in computed}
    found: GuessedReading = common["found"]
    codes = (*found.reading.missing, *found.special, *(text for text, _ in found.reading.means))
    return Summary(
        examples=tuple(dict.fromkeys([*codes, *filter(None, answers["examples"] or ())])),
        shapes=tuple(filter(None, answers["shapes"] or ())),
        levels=None,
        cuts=(answers["least"], *(answers["cuts"] or ()), answers["most"]) if is_numeric else (),
        decimals=answers["decimals"] or 0,
        **as_found,
        **common,
    )


def _seen_in_levels(counts: Mapping[str, int], common: Mapping[str, Any], bins: int, max_levels: int) -> Summary:
    """The same from all levels and how often each occurs."""
    found: GuessedReading = common["found"]
    reading = found.reading
    levels = sorted(counts)
    numbers = {level: number for level in levels if (number := number_of(level, reading)) is not None}
    days = {level: day for level in levels if (day := day_of(level, reading)) is not None}
    padded = [level for level in levels if re.match(PADDED, level)]
    spelled = levels if reading.is_plain else [repr(number) for number in numbers.values()]
    endings = (re.search(_DECIMALS, text) for text in spelled)
    codes = (*reading.missing, *found.special, *(text for text, _ in reading.means))
    return Summary(
        counts=counts,
        examples=(*codes, *levels[:2], *levels[-2:]),
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


def staged_columns(opened: Opened, names: Sequence[str], found: Mapping[str, GuessedReading]) -> Any:
    """Each column as text, number and date, with missing values and codes as nulls."""
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
        guess = found.get(name, PLAINLY)
        reading = guess.reading
        number, day = read_number(reading, value), read_day(reading, value)
        if reading.missing or guess.special:
            # not isin() here either
            words = [reading.word(code) for code in (*reading.missing, *guess.special)]
            is_code = ibis.literal(words).contains(word_of(text, reading, always=True))
            if spelled := [each for code in reading.missing if (each := number_of(code, reading)) is not None]:
                is_code = is_code | ibis.literal(spelled, "array<float64>").contains(number)
            is_code = is_code.fill_null(False)
            text = is_code.ifelse(ibis.null("string"), text)
            number = is_code.ifelse(ibis.null("float64"), number)
            day = is_code.ifelse(ibis.null("date"), day)
        stages[f"text{p}"] = text
        stages[f"spelled{p}"] = text if reading.is_plain else number.cast("string")
        stages[f"number{p}"] = number
        stages[f"date{p}"] = day
    return opened.table.select(**stages)
