"""A first codebook read from the data, for a person to review.

Levels, bounds and bins are read from private rows without a price. So every column is marked as drafted, and no
release made from a drafted column may claim a guarantee until a person has attested that it is public knowledge.
"""

import datetime as dt
import re
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import ibis

from understudy.codebook import (
    Categorical,
    Codebook,
    Column,
    Continuous,
    Dates,
    FileReading,
    Grain,
    Integer,
    Levelled,
    Ordinal,
    Origin,
    Role,
    Text,
)
from understudy.codebook.encode import day_of, number_of
from understudy.codebook.labels import ColumnLabels
from understudy.codebook.numbers import MOST_STEPS
from understudy.codebook.readings import MISSING_TOKENS, PLAIN, Reading, tidy
from understudy.errors import DataError, ParameterError, listed
from understudy.parameters import Whole
from understudy.sources.expressions import as_text, present, read_day, read_number, word_of
from understudy.sources.faults import engine_errors
from understudy.sources.file_guesses import Guess, guess_file
from understudy.sources.files import (
    Opened,
    files_and_reading,
    is_database,
    open_table,
    told_apart,
    without_missing_codes,
)
from understudy.sources.kinds import CSV, file_kind
from understudy.sources.reading_guesses import (
    MOST_CODES,
    PLAINLY,
    Clues,
    Found,
    guess_dates,
    guess_levels,
    guess_numbers,
    guess_sentinels,
    guess_serials,
    is_called_a_code,
    readings_of,
    with_codes,
    words_of,
)

BINS = Whole(least=2, tried=16)
MAX_LEVELS = Whole(least=2, tried=256)

_FEW = 20
"""Numbers with at most this many distinct values are listed, not binned."""
_MAY_BE_IDS = 0.7
"""Share of the rows from which on different values are counted exactly."""
_ENOUGH_ROWS = 100  # below this, distinct whole numbers may well be amounts
_MOST_DECIMALS = 6
_MOST_GRAINS = 120
_MOST_DAYS = 62
_BATCH = 50
"""Columns summarised in one scan."""
_FAR_YEAR = 2900
"""From here on a date is a code for no date."""
_MOST_SHAPES, _MOST_EXAMPLES = 300, 3000
_ENDS = 12
"""Numbers at either end of a column among which codes are looked for."""
_NINES = re.compile("7+|8+|9+[678]?")
_PADDED = "^ *[+-]?0[0-9]"
_DECIMALS = "[.]([0-9]*[1-9])0*$"


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A drafted codebook, and what whoever holds the data should know about it; all but the codebook is private."""

    codebook: Codebook
    reasons: Mapping[str, str]
    """Why each column that is left out was left out."""
    guesses: tuple[Guess, ...]
    """What was taken for granted about the file and its columns, with examples."""


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
    """The draft, and why each column that it leaves out was left out."""
    outcome = draft_in_full(what, table=table, bins=bins, max_levels=max_levels, drop=drop)
    return outcome.codebook, dict(outcome.reasons)


def guessed_file(what: Any) -> tuple[FileReading | None, list[Guess]]:
    """The rules of the file behind an address, where it is a text file that does not keep to the plain convention."""
    if not isinstance(what, str | Path) or is_database(str(what)):
        return None, []
    paths, said = files_and_reading(str(what))
    path = paths[0]
    if said.layout or file_kind(path) != CSV or path.stat().st_size == 0:
        return None, []
    try:
        return guess_file(path)
    except (OSError, EOFError, zlib.error):
        return None, []  # opening it says what is wrong


def draft_in_full(
    what: Any,
    *,
    table: str | None = None,
    bins: int = 16,
    max_levels: int = 256,
    drop: Sequence[str] = (),
    guessed: tuple[FileReading | None, list[Guess]] | None = None,
    tell_apart: bool = False,
) -> Draft:
    """The draft with its reasons and guesses; ``guessed`` is what :func:`guessed_file` said, if it was asked already.
    With ``tell_apart`` names that differ only by case are renamed instead of refused.

    Reasons and guesses are for the person at the screen only. A release carries its codebook, descriptions included,
    and what a column that nobody attests holds (that it is constant, or one of its values) is in no price.
    """
    BINS.check("bins", bins)
    MAX_LEVELS.check("max_levels", max_levels)
    file, about_file = guessed_file(what) if guessed is None else guessed
    guesses = list(about_file)
    opened = without_missing_codes(open_table(what, table, file=file, allow_repeats=tell_apart))
    opened = told_apart(opened) if tell_apart else opened
    if opened.connection.name != "duckdb":
        raise DataError(
            f"{opened.label}: a draft reads levels and quantiles off the values, and only counts leave a database "
            "through Understudy. Draft from a small export in a safe place, or write the codebook by hand."
        )
    opened.verify()
    header = list(opened.header)
    names = [name for name in header if name not in named_columns(header, drop, "`drop`")]
    if not names:
        raise DataError("every column is dropped, so nothing is left to draft; drop fewer.")
    with engine_errors(repr(opened.label)):
        rows = int(opened.table.count().to_pyarrow().as_py())
        if rows == 0:
            raise DataError(f"{opened.label!r} has no rows; a draft needs some. Write the codebook by hand.")
        summaries = _read_by_guesses(opened, names, bins, max_levels, file)
    described: dict[str, Column | str] = {}
    for summary in summaries:
        described[summary.name] = _describe(summary, rows, max_levels)
        guesses += _said(summary, described[summary.name])
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
        # what a release made with it will still say, so it must be as true after the attestation as before
        description="Levels, edges and ranges were first drafted from the data; a release has a formal guarantee only "
        "where every column is attested as public knowledge (`understudy codebook declare`).",
        file=None if opened.file.says_nothing else opened.file,
    )
    return Draft(codebook=book, reasons=reasons, guesses=tuple(guesses))


def _read_by_guesses(
    opened: Opened, names: Sequence[str], bins: int, max_levels: int, file: FileReading | None
) -> list["_Summary"]:
    """Every column as it is seen by the plain convention, and again by the reading rules that its values suggest."""
    batches = [names[start : start + _BATCH] for start in range(0, len(names), _BATCH)]
    seen = {s.name: s for batch in batches for s in _summaries(opened, batch, bins, max_levels, {})}
    looks = {name: look for name in names if (look := _Look(opened, seen[name])).is_odd}
    found = {name: guess for name, look in looks.items() if (guess := look.guess(Clues())) is not None}
    clues = _clues(found.values(), file)
    for name in [name for name, guess in found.items() if guess.swapped]:
        found[name] = looks[name].guess(clues) or found[name]
    readable = {name: guess for name, guess in found.items() if not guess.why_not}
    again = [name for name in names if name in readable]
    for start in range(0, len(again), _BATCH):
        for summary in _summaries(opened, again[start : start + _BATCH], bins, max_levels, readable):
            fits = summary.dates if summary.found.is_date else summary.numbers
            if fits == summary.present > 0:
                seen[summary.name] = summary
    for name, guess in found.items():
        if guess.why_not:
            seen[name] = replace(seen[name], why_not=guess.why_not)
    return list(seen.values())


def _clues(found: Iterable[Found], file: FileReading | None) -> Clues:
    """Whether days come first: as in other dates of the file, or as people write who use a decimal comma."""
    sure = [order for guess in found if guess.is_date and not guess.swapped for order in guess.reading.dates]
    first = {order.startswith("DD") for order in sure if re.match("(DD|MM)[/.-](DD|MM)", order)}
    if len(first) == 1:
        return Clues(days_first=first.pop())
    commas = any(guess.reading.decimal == "," for guess in found)
    return Clues(days_first=True) if commas or (file is not None and file.delimiter == ";") else Clues()


class _Look:
    """A closer look at one column whose values are not plain, to guess how they are written."""

    def __init__(self, opened: Opened, seen: "_Summary") -> None:
        self.opened, self.seen = opened, seen

    @property
    def is_odd(self) -> bool:
        """Whether there may be something to guess: texts, days as numbers, codes among numbers."""
        seen = self.seen
        if seen.distinct == 0:
            return False
        if seen.cuts:
            return seen.levels is None or len(seen.levels) > _FEW or self._serials() is not None
        if seen.dates == seen.present:
            return seen.last is not None and seen.last.year >= _FAR_YEAR
        return seen.distinct > 1 and seen.is_text

    def guess(self, clues: Clues) -> Found | None:
        """How the values are written, if not plainly."""
        seen = self.seen
        if seen.cuts:
            if (serials := self._serials()) is not None:
                return serials
            codes = self._sentinels(PLAIN)
            return Found(reading=Reading(missing=codes)) if codes else None
        if seen.dates == seen.present:
            codes = tuple(
                text for text in self._texts(_MOST_EXAMPLES) if (day := day_of(text)) and day.year >= _FAR_YEAR
            )
            return Found(reading=Reading(missing=codes), is_date=True) if len(codes) < 4 else None
        if seen.levels is not None and is_called_a_code(seen.name):
            return None
        examples = list(seen.shapes if seen.counts is None else seen.counts)
        found = guess_dates(examples, clues)
        if found is not None and seen.counts is None:
            found = guess_dates(self._texts(_MOST_EXAMPLES), clues)
        if found is not None:
            return found
        found = guess_numbers(examples)
        if found is None or found.why_not:
            return found
        return self._with_all_codes(found)

    def _serials(self) -> Found | None:
        seen = self.seen
        return guess_serials(seen.name, seen.cuts[0], seen.cuts[-1], seen.wholes == seen.numbers) if seen.cuts else None

    def _with_all_codes(self, found: Found) -> Found | None:
        """Every text that is no number by the reading, and not only those among the examples; None if they are many."""
        reading = found.reading
        if self.seen.counts is None:
            if replace(reading, missing=(), means=()).is_plain and self.seen.odd > 2 * MOST_CODES:
                return None  # the estimate is a rough one
            bare = replace(reading, missing=(), means=())
            staged = self.opened.connection.compile(
                _staged(self.opened, [self.seen.name], {self.seen.name: Found(reading=bare)})
            )
            odd = self._ask(
                f"SELECT text0 FROM ({staged}) AS staged WHERE text0 IS NOT NULL AND number0 IS NULL GROUP BY text0 "
                f"LIMIT {MOST_CODES + 1}"
            )
            if len(odd) > MOST_CODES:
                return None
            found = with_codes(replace(found, reading=bare, special=(), doubts=found.doubts), map(tidy, odd))
        else:
            numbers = {number_of(text, found.reading) for text in self.seen.counts} - {None}
            strange = len(found.special)
            if len(numbers) <= _FEW or len(numbers) < 4 * strange:
                return None  # so few numbers are listed, as levels, with everything else
        codes = self._sentinels(found.reading)
        return replace(found, reading=replace(found.reading, missing=(*found.reading.missing, *codes)))

    def _sentinels(self, reading: Reading) -> tuple[str, ...]:
        """Codes such as -8 or 999 at the ends of the numbers."""
        if self.seen.counts is not None:
            counts: dict[float, int] = {}
            for text, count in self.seen.counts.items():
                if (number := number_of(text, reading)) is not None:
                    counts[number] = counts.get(number, 0) + count
            rising = sorted(counts.items())
            return guess_sentinels(rising[:_ENDS], rising[: -_ENDS - 1 : -1])
        if self.seen.cuts and not (self.seen.cuts[0] < 0 or _NINES.fullmatch(f"{self.seen.cuts[-1]:.12g}")):
            return ()
        staged = self.opened.connection.compile(
            _staged(self.opened, [self.seen.name], {self.seen.name: Found(reading=reading)})
        )
        ends = []
        for order in ("", "DESC"):
            ends.append(
                self.opened.connection.raw_sql(
                    f"SELECT number0, count(*) FROM ({staged}) AS staged WHERE number0 IS NOT NULL GROUP BY number0 "
                    f"ORDER BY number0 {order} LIMIT {_ENDS}"
                ).fetchall()
            )
        return guess_sentinels(*ends)

    def _texts(self, most: int) -> list[str]:
        if self.seen.counts is not None:
            return list(self.seen.counts)
        return self._ask(
            f"SELECT text0 FROM ({self._plainly}) AS staged WHERE text0 IS NOT NULL GROUP BY text0 "
            f"ORDER BY hash(text0) LIMIT {most}"
        )

    @property
    def _plainly(self) -> str:
        return str(self.opened.connection.compile(_staged(self.opened, [self.seen.name], {})))

    def _ask(self, query: str) -> list[str]:
        return [text for (text,) in self.opened.connection.raw_sql(query).fetchall()]


def _said(seen: "_Summary", described: Column | str) -> list[Guess]:
    """What the holder should know of how one column was read."""
    found, name = seen.found, seen.name
    if isinstance(described, str):
        return []
    guesses = []
    if not found.reading.is_plain or found.special:
        examples = readings_of(seen.examples, found)
        guesses.append(Guess(column=name, rule="reading", sentence=words_of(found), examples=examples))
    guesses += [Guess(column=name, rule="doubt", sentence=f"{doubt}.") for doubt in found.doubts]
    if seen.why_not:
        guesses.append(Guess(column=name, rule="doubt", sentence=f"{seen.why_not}; for now its texts are levels."))
    if isinstance(described, Levelled) and not described.reading.is_plain:
        slips = [(text, level) for level, texts in seen.merged.items() for text in texts if text != level]
        rules = (("blanks around", described.reading.strip), ("upper and lower case of", described.reading.fold))
        words = " and ".join(word for word, holds in rules if holds)
        if slips:
            sentence = f"{words} its levels do not count; the commonest spelling is kept."
            guesses.append(Guess(column=name, rule="reading", sentence=sentence, examples=tuple(slips[:5])))
    return guesses


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
    is_text: bool
    """Whether the values are texts, which may be written in many ways."""
    counts: Mapping[str, int] | None = None
    """All texts and how often each occurs, where they are few."""
    found: Found = PLAINLY
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


def _summaries(
    opened: Opened, names: Sequence[str], bins: int, max_levels: int, found: Mapping[str, Found]
) -> Iterator[_Summary]:
    """Two scans for many columns. What has few levels is looked at level by level here, the rest in the engine."""
    places = range(len(names))
    staged = opened.connection.compile(_staged(opened, names, found))
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
    ("padded", "count(*) FILTER (regexp_matches(text{p}, '" + _PADDED + "'))"),
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


def _seen_in_rows(answers: Mapping[str, Any], common: Mapping[str, Any]) -> _Summary:
    is_numeric = answers["numbers"] == answers["present"] and not answers["padded"]
    computed = ("least", "most", "cuts", "decimals", "examples", "shapes")
    as_found = {key: value for key, value in answers.items() if key not in computed}
    found: Found = common["found"]
    codes = (*found.reading.missing, *found.special, *(text for text, _ in found.reading.means))
    return _Summary(
        examples=tuple(dict.fromkeys([*codes, *filter(None, answers["examples"] or ())])),
        shapes=tuple(filter(None, answers["shapes"] or ())),
        levels=None,
        cuts=(answers["least"], *(answers["cuts"] or ()), answers["most"]) if is_numeric else (),
        decimals=answers["decimals"] or 0,
        **as_found,
        **common,
    )


def _seen_in_levels(counts: Mapping[str, int], common: Mapping[str, Any], bins: int, max_levels: int) -> _Summary:
    """The same from all levels and how often each occurs."""
    found: Found = common["found"]
    reading = found.reading
    levels = sorted(counts)
    numbers = {level: number for level in levels if (number := number_of(level, reading)) is not None}
    days = {level: day for level in levels if (day := day_of(level, reading)) is not None}
    padded = [level for level in levels if re.match(_PADDED, level)]
    spelled = levels if reading.is_plain else [repr(number) for number in numbers.values()]
    endings = (re.search(_DECIMALS, text) for text in spelled)
    codes = (*reading.missing, *found.special, *(text for text, _ in reading.means))
    return _Summary(
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


def _staged(opened: Opened, names: Sequence[str], found: Mapping[str, Found]) -> Any:
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
    if any("\x00" in text for text in (*seen.tokens, *(seen.levels or ()))):
        return "some of its texts hold NUL bytes, which no engine takes; mend the file"
    if seen.distinct > 1 and seen.dates == seen.present and seen.first is not None and seen.last is not None:
        return _dates(seen, _with_codes(seen, common), notes)
    is_numeric = bool(seen.cuts)
    if is_numeric and (seen.levels is None or len(seen.levels) > _FEW or not seen.found.is_plain):
        return _number(seen, _with_codes(seen, common), notes, rows)
    if seen.levels is None:
        return _why_text(seen, rows, max_levels)
    return _levels(seen, common, notes, is_numeric)


def _levels(seen: _Summary, common: dict[str, Any], notes: list[str], is_numeric: bool) -> Column:
    """A column of listed levels; those that differ by slips of the pen are one."""
    assert seen.levels is not None
    reading, merged = guess_levels({level: (seen.counts or {}).get(level, 0) for level in seen.levels})
    absent = reading.tidied(common["missing"] or "")
    known = {word: level for level in merged if (word := reading.tidied(level)) != absent or common["missing"] is None}
    # one token is missing, the others are levels
    tokens = {reading.tidied(token): token for token in seen.tokens[1:]}
    further = sorted(tidy(tokens[word]) if reading.strip else tokens[word] for word in {*tokens} - {*known, absent})
    levels = (*sorted(known.values(), key=float if is_numeric else _reading_order), *further)
    if further:
        notes.append(f"{', '.join(map(repr, further))} may mean missing too")
    kind = Ordinal if is_numeric and len(levels) > 2 else Categorical
    return kind(levels=levels, description="; ".join(notes), reading=reading, **common)


def _with_codes(seen: _Summary, common: dict[str, Any]) -> dict[str, Any]:
    """The reading of numbers and dates: every text that means missing is one of its codes, blanks around it aside."""
    reading = seen.found.reading
    tokens = list(dict.fromkeys(tidy(token) for token in seen.tokens))
    further = [*tokens[1:], *reading.missing]
    if any(tidy(token) != token for token in seen.tokens):
        further = [*tokens[:1], *further]
    missing = common["missing"]
    if further:
        missing = tokens[0] if tokens else missing or "NA"
        reading = replace(reading, missing=tuple(dict.fromkeys(further)))
    return {**common, "missing": missing, "reading": reading}


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
    if seen.why_not:
        return f"{many}, and {seen.why_not}"
    if seen.dates > 0.5 * seen.present:
        return f"{many}; most are dates, but some are not"
    if seen.numbers > 0.5 * seen.present and seen.strange is not None:
        return f"{many}; most are numbers, but some are not, such as {seen.strange!r}"
    if seen.distinct > 0.9 * rows:
        return f"{many}, nearly one per row, as identifiers do"
    if seen.padded:
        return f"{many}, which look like code numbers with leading zeros"
    return many


def _number(seen: _Summary, common: dict[str, Any], notes: list[str], rows: int) -> Column | str:
    whole = seen.wholes == seen.numbers
    is_amount = seen.found.reading.taken_off or seen.found.reading.thousands or seen.found.special
    if whole and not is_amount and rows >= _ENOUGH_ROWS and seen.distinct > 0.9 * rows:
        return "nearly every row has its own whole number, as identifiers do"
    cuts = [Decimal(repr(cut)) for cut in seen.cuts]
    precision = 0 if whole else _precision(cuts, seen.decimals)
    edges = _pleasant_edges(cuts, precision)
    if edges is None:
        return "its numbers have more digits than can be compared exactly"
    edges = _beside_codes(edges, cuts, precision, common["reading"], common["missing"])
    common |= {"description": "; ".join(notes), "edges": edges, "special": seen.found.special}
    number = Integer(**common) if whole else Continuous(precision=precision, **common)
    if faults := number.faults():
        return f"its numbers cannot be put into bins ({faults[0]})"
    return number


def _beside_codes(
    edges: tuple[Fraction, ...], cuts: Sequence[Decimal], precision: int, reading: Reading, token: str | None
) -> tuple[Fraction, ...]:
    """Edges that end before a code that means missing: rounding them outwards must not take it in."""
    step = Fraction(1, 10**precision)
    for code in (*reading.missing, token or ""):
        spelled = number_of(code, reading)
        if spelled is None:
            continue
        number = Fraction(repr(spelled))
        if Fraction(cuts[-1]) < number <= edges[-1]:
            edges = (
                *(edge for edge in edges[:-1] if edge < Fraction(cuts[-1])),
                max(Fraction(cuts[-1]), number - step),
            )
        elif edges[0] <= number < Fraction(cuts[0]):
            edges = (min(Fraction(cuts[0]), number + step), *(edge for edge in edges[1:] if edge > Fraction(cuts[0])))
    return edges


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
