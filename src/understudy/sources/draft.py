"""A first codebook read from the data, for a person to review.

Levels, bounds and bins are read from private rows without a price. So every column is marked as drafted, and no
release made from a drafted column may claim a guarantee until a person has attested that it is public knowledge.
"""

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook, Column, FileReading, Levelled, Origin, Role, Text
from understudy.codebook.encode import day_of, number_of
from understudy.codebook.labels import ColumnLabels
from understudy.codebook.readings import PLAIN, Reading, tidy
from understudy.errors import DataError, ParameterError, listed
from understudy.parameters import Whole
from understudy.sources.column_choice import FEW, column_of
from understudy.sources.column_summary import Summary, staged_columns, summaries
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
    Clues,
    GuessedReading,
    guess_dates,
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

_BATCH = 50
"""Columns summarised in one scan."""
_FAR_YEAR = 2900
"""From here on a date is a code for no date."""
_MOST_EXAMPLES = 3000
_ENDS = 12
"""Numbers at either end of a column among which codes are looked for."""
_NINES = re.compile("7+|8+|9+[678]?")


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
        seen = _read_by_guesses(opened, names, bins, max_levels, file)
    described: dict[str, Column | str] = {}
    for summary in seen:
        described[summary.name] = column_of(summary, rows, max_levels)
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
) -> list[Summary]:
    """Every column as it is seen by the plain convention, and again by the reading rules that its values suggest."""
    batches = [names[start : start + _BATCH] for start in range(0, len(names), _BATCH)]
    seen = {s.name: s for batch in batches for s in summaries(opened, batch, bins, max_levels, {})}
    looks = {name: look for name in names if (look := _Look(opened, seen[name])).is_odd}
    found = {name: guess for name, look in looks.items() if (guess := look.guess(Clues())) is not None}
    clues = _clues(found.values(), file)
    for name in [name for name, guess in found.items() if guess.swapped]:
        found[name] = looks[name].guess(clues) or found[name]
    readable = {name: guess for name, guess in found.items() if not guess.why_not}
    again = [name for name in names if name in readable]
    for start in range(0, len(again), _BATCH):
        for summary in summaries(opened, again[start : start + _BATCH], bins, max_levels, readable):
            fits = summary.dates if summary.found.is_date else summary.numbers
            if fits == summary.present > 0:
                seen[summary.name] = summary
    for name, guess in found.items():
        if guess.why_not:
            seen[name] = replace(seen[name], why_not=guess.why_not)
    return list(seen.values())


def _clues(found: Iterable[GuessedReading], file: FileReading | None) -> Clues:
    """Whether days come first: as in other dates of the file, or as people write who use a decimal comma."""
    sure = [order for guess in found if guess.is_date and not guess.swapped for order in guess.reading.dates]
    first = {order.startswith("DD") for order in sure if re.match("(DD|MM)[/.-](DD|MM)", order)}
    if len(first) == 1:
        return Clues(days_first=first.pop())
    commas = any(guess.reading.decimal == "," for guess in found)
    return Clues(days_first=True) if commas or (file is not None and file.delimiter == ";") else Clues()


class _Look:
    """A closer look at one column whose values are not plain, to guess how they are written."""

    def __init__(self, opened: Opened, seen: Summary) -> None:
        self.opened, self.seen = opened, seen

    @property
    def is_odd(self) -> bool:
        """Whether there may be something to guess: texts, days as numbers, codes among numbers."""
        seen = self.seen
        if seen.distinct == 0:
            return False
        if seen.cuts:
            return seen.levels is None or len(seen.levels) > FEW or self._serials() is not None
        if seen.dates == seen.present:
            return seen.last is not None and seen.last.year >= _FAR_YEAR
        return seen.distinct > 1 and seen.is_text

    def guess(self, clues: Clues) -> GuessedReading | None:
        """How the values are written, if not plainly."""
        seen = self.seen
        if seen.cuts:
            if (serials := self._serials()) is not None:
                return serials
            codes = self._sentinels(PLAIN)
            return GuessedReading(reading=Reading(missing=codes)) if codes else None
        if seen.dates == seen.present:
            codes = tuple(
                text for text in self._texts(_MOST_EXAMPLES) if (day := day_of(text)) and day.year >= _FAR_YEAR
            )
            return GuessedReading(reading=Reading(missing=codes), is_date=True) if len(codes) < 4 else None
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

    def _serials(self) -> GuessedReading | None:
        seen = self.seen
        return guess_serials(seen.name, seen.cuts[0], seen.cuts[-1], seen.wholes == seen.numbers) if seen.cuts else None

    def _with_all_codes(self, found: GuessedReading) -> GuessedReading | None:
        """Every text that is no number by the reading, and not only those among the examples; None if they are many."""
        reading = found.reading
        if self.seen.counts is None:
            if replace(reading, missing=(), means=()).is_plain and self.seen.odd > 2 * MOST_CODES:
                return None  # the estimate is a rough one
            bare = replace(reading, missing=(), means=())
            staged = self.opened.connection.compile(
                staged_columns(self.opened, [self.seen.name], {self.seen.name: GuessedReading(reading=bare)})
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
            if len(numbers) <= FEW or len(numbers) < 4 * strange:
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
            staged_columns(self.opened, [self.seen.name], {self.seen.name: GuessedReading(reading=reading)})
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
        return str(self.opened.connection.compile(staged_columns(self.opened, [self.seen.name], {})))

    def _ask(self, query: str) -> list[str]:
        return [text for (text,) in self.opened.connection.raw_sql(query).fetchall()]


def _said(seen: Summary, described: Column | str) -> list[Guess]:
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
