"""Where hierarchies come from: the codebook, interval rules, masked prefixes, dates, and ARX's CSV files."""

import csv
import datetime as dt
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

from understudy.anonymize.cells import STAR, base_texts, join_labels
from understudy.anonymize.entries import read_entry, read_text
from understudy.anonymize.hierarchy import Hierarchy, build
from understudy.codebook import Column, Dates, Grain, Integer, Levelled, Number
from understudy.codec import to_fraction
from understudy.errors import CodebookError, ParameterError
from understudy.loading import loader, loading
from understudy.parameters import Declared, ExactNumber, Flag, OneOf, Several, Text, Whole, exact, option

_FILE, _REMEDY = "the hierarchy file", "give a CSV file with one line per value."
_SHOWN = 8
_MOST_IN_BIN = 1000
_UNITS = ("month", "quarter", "year", "decade")
_FINER = {Grain.DAY: 0, Grain.MONTH: 1, Grain.YEAR: 3}
"""The first unit that is coarser than a grain."""
_KINDS = ("codebook", "intervals", "prefix", "dates", "arx")


@dataclass(frozen=True, kw_only=True)
class Rule(Declared):
    """How a recipe names a hierarchy: public words, turned into a tree when the column is at hand.

    One of intervals, prefix, dates and arx; without any of them the codebook's own steps.
    """

    intervals: tuple[Any, ...] | None = option(
        None,
        rule=Several(each=ExactNumber(above=0), words="a list of widths above 0", example="[5, 10, 20]"),
        help="Widths of intervals of numbers, finest first.",
    )
    start: float = option(0, rule=ExactNumber(), help="Where the intervals are counted from.")
    prefix: tuple[int, ...] | None = option(
        None,
        rule=Several(each=Whole(least=0), words="a list of lengths", example="[4, 3]"),
        help="Characters that are kept, most first.",
    )
    dates: tuple[str, ...] | None = option(
        None,
        rule=Several(each=OneOf(_UNITS), words=f"a list of units ({', '.join(_UNITS)})", example='["month", "year"]'),
        help="Units that dates are joined by, finest first.",
    )
    arx: Path | None = option(
        None,
        rule=Text(words="the name of a file", example="zip.csv", admitted=lambda value: isinstance(value, Path)),
        help="A hierarchy file of ARX.",
    )
    top: bool = option(True, rule=Flag(), help="Whether a last step may replace everything by *.")

    def build(self, column: Column) -> Hierarchy:
        """The hierarchy of a column, checked."""
        if self.intervals:
            return from_intervals(column, self.intervals, start=self.start, top=self.top)
        if self.prefix:
            return from_prefixes(column, self.prefix, top=self.top)
        if self.dates:
            return from_dates(column, self.dates, top=self.top)
        if self.arx is not None:
            return from_arx(column, self.arx, top=self.top)
        return from_codebook(column, top=self.top)

    def to_dict(self) -> dict[str, Any]:
        """As plain data; a file is known by its name and digest, never by its place."""
        plain: dict[str, Any] = {"codebook": True}
        if self.intervals:
            plain = {"intervals": [_as_number(width) for width in self.intervals], "start": _as_number(self.start)}
        elif self.prefix:
            plain = {"prefix": list(self.prefix)}
        elif self.dates:
            plain = {"dates": list(self.dates)}
        elif self.arx is not None:
            digest = hashlib.sha256(self.arx.read_bytes()).hexdigest() if self.arx.is_file() else None
            plain = {"arx": self.arx.name, "digest": f"sha256:{digest}"}
        return plain if self.top else {**plain, "top": False}


def _as_number(value: Any) -> int | float:
    return value if isinstance(value, int | float) else float(value)


def rule_from_dict(name: str, data: Any, folder: Path) -> Rule:
    """From a recipe; files are looked for beside it."""
    called = f"the hierarchy of {name!r}"
    if not isinstance(data, Mapping):
        raise ParameterError(f"{called} is {data!r}; write it as a table, such as prefix = [3, 2].")
    given = [kind for kind in _KINDS if kind in data]
    if len(given) > 1:
        raise ParameterError(f"{called} is given by {' and by '.join(given)}; choose one.")
    entry = {key: value for key, value in data.items() if key != "codebook"}
    if isinstance(entry.get("arx"), str):
        entry["arx"] = folder / entry["arx"]
    try:
        return read_entry(Rule, "it", entry)
    except ParameterError as fault:
        raise ParameterError(f"{called}: {fault}") from None


def from_codebook(column: Column, *, top: bool = True) -> Hierarchy:
    """The steps that the codebook declares for a column.

    >>> from understudy.codebook import Categorical, Generalisation
    >>> step = Generalisation(name="county", groups=(("Dallas", ("75217", "75211")), ("Tarrant", ("76101",))))
    >>> place = Categorical(name="zip", levels=("75217", "75211", "76101"), hierarchy=(step,))
    >>> from_codebook(place).labels[1]
    ('Dallas', 'Tarrant')
    """
    if not isinstance(column, Levelled):
        if column.hierarchy:
            raise CodebookError(
                f"column {column.name!r} is of kind {column.kind!r}; a codebook hierarchy lists levels by name. "
                "Use interval rules (numbers) or dates instead."
            )
        return build(column, (), top=top)
    if faults := [fault for step in column.hierarchy for fault in step.faults(column.name, column.levels)]:
        raise CodebookError(f"the hierarchy of column {column.name!r} does not fit:", faults)
    steps = [(step.name, [step.group_of(level) for level in column.levels]) for step in column.hierarchy]
    return build(column, steps, top=top)


def from_intervals(
    column: Column, widths: Sequence[int | float | Decimal], *, start: int | float | Decimal = 0, top: bool = True
) -> Hierarchy:
    """Numbers by intervals of growing width, counted from ``start``: ages by 5, 10 and 20 years.

    >>> age = Integer(name="age", edges=tuple(Fraction(edge) for edge in range(0, 101, 5)))
    >>> from_intervals(age, [10, 20]).labels[1][:3]
    ('0-9', '10-19', '20-29')
    """
    sizes, origin = [exact(width) for width in widths], exact(start)
    if not sizes or origin is None or any(size is None or size <= 0 for size in sizes):
        raise ParameterError(
            f"the intervals of column {column.name!r} are {list(widths)}, counted from {start!r}; give finite "
            "numbers, and widths above 0, such as [5, 10, 20]."
        )
    steps = [(f"by {_plain(size)}", _intervals(column, size, origin)) for size in sizes if size is not None]
    return build(column, steps, top=top)


def _plain(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else repr(float(value))


def _intervals(column: Column, width: Fraction, start: Fraction) -> list[str]:
    if isinstance(column, Number):
        return _bins(column, width, start)
    if not isinstance(column, Levelled):
        raise CodebookError(
            f"column {column.name!r} is of kind {column.kind!r}, which has no intervals; use dates for dates."
        )
    values = []
    for level in column.levels:
        try:
            values.append(to_fraction(str(Decimal(level))))
        except (InvalidOperation, ValueError, OverflowError):
            raise CodebookError(
                f"column {column.name!r} has the level {level!r}, which is no number, so that it lies in no interval; "
                "declare a hierarchy by name instead."
            ) from None
    places = [floor((value - start) / width) for value in values]
    whole = all(number.denominator == 1 for number in (width, start, *values))
    labels = []
    for place in places:
        low, high = start + place * width, start + (place + 1) * width
        if place == max(places):  # its last level often means "or more"
            labels.append(f"{_plain(low)}+")
        elif whole:
            labels.append(_plain(low) if high == low + 1 else f"{_plain(low)}-{_plain(high - 1)}")
        else:
            labels.append(f"[{_plain(low)}, {_plain(high)})")
    return labels


def _bins(column: Number, width: Fraction, start: Fraction) -> list[str]:
    places = []
    for label, low, high in zip(column.labels, column.edges, column.edges[1:], strict=False):
        place = floor((low - start) / width)
        if high > start + (place + 1) * width:
            raise CodebookError(
                f"column {column.name!r} has the bin {label}, which crosses {_plain(start + (place + 1) * width)}, a "
                f"border of the intervals of {_plain(width)}; add that edge to the codebook, or choose other widths."
            )
        places.append(place)
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for code, place in enumerate(places):
        first.setdefault(place, code)
        last[place] = code
    return [join_labels(column, first[place], last[place]) for place in places]


def from_prefixes(column: Column, keep: Sequence[int], *, mask: str = STAR, top: bool = True) -> Hierarchy:
    """Codes whose last characters are masked: ZIP 75217 becomes 752** when 3 are kept.

    >>> from understudy.codebook import Categorical
    >>> from_prefixes(Categorical(name="zip", levels=("75217", "75211", "76101")), [4, 3]).labels[2]
    ('752**', '761**')
    """
    if not keep or any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in keep):
        raise ParameterError(
            f"the prefixes of column {column.name!r} are {list(keep)}; give how many characters are kept at each step, "
            "such as [4, 3]."
        )
    if list(keep) != sorted(set(keep), reverse=True):
        raise ParameterError(
            f"the prefixes of column {column.name!r} are {list(keep)}; each step must keep fewer than the one before."
        )
    texts = base_texts(column)
    steps = [(f"first {n}", [text[:n] + mask * max(len(text) - n, 0) for text in texts]) for n in keep]
    return build(column, steps, top=top)


def from_dates(column: Column, units: Sequence[str], *, top: bool = True) -> Hierarchy:
    """Dates by month, quarter, year or decade.

    >>> day = Dates(name="d", grain=Grain.MONTH, start=dt.date(2009, 11, 1), end=dt.date(2010, 2, 1))
    >>> from_dates(day, ["quarter", "year"]).labels[1:3]
    (('2009 Q4', '2010 Q1'), ('2009', '2010'))
    """
    if not isinstance(column, Dates):
        raise CodebookError(f"column {column.name!r} is of kind {column.kind!r}, not a date; use another rule.")
    if column.grain is Grain.WEEK:
        raise CodebookError(
            f"column {column.name!r} is kept by week, and weeks cross the ends of months and years; keep it by day."
        )
    allowed = _UNITS[_FINER[column.grain] :]
    if not units or any(unit not in allowed for unit in units):
        raise ParameterError(
            f"the units of column {column.name!r} are {list(units)}; dates kept by {column.grain.value} can be joined "
            f"by {', '.join(allowed)}."
        )
    return build(column, [(unit, [_unit(day, unit) for day in column.firsts]) for unit in units], top=top)


def _unit(day: dt.date, unit: str) -> str:
    if unit == "month":
        return f"{day.year:04}-{day.month:02}"
    if unit == "quarter":
        return f"{day.year:04} Q{(day.month + 2) // 3}"
    return f"{day.year:04}" if unit == "year" else f"{day.year // 10 * 10:04}s"


def from_arx(column: Column, path: str | Path, *, top: bool = True) -> Hierarchy:
    """A hierarchy file of ARX: one line per value, then its group at each step, separated by ``;`` or ``,``."""
    lines = _read_lines(Path(path))
    widths = {len(line) for line in lines}
    faults = []
    if len(widths) > 1:
        faults.append(f"its lines have {' or '.join(map(str, sorted(widths)))} fields; give every value every step.")
    known: dict[str, list[str]] = {}
    for line in lines:
        if known.setdefault(line[0], line) != line:
            faults.append(f"the value {line[0]!r} is listed twice, with different groups; list it once.")
    texts = _first_values(column, known, faults)
    if missing := [text for text in texts if text not in known]:
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        shown = ", ".join(map(repr, missing[:_SHOWN])) + more
        faults.append(f"it misses the value{'s' * (len(missing) > 1)} {shown}; add a line for each.")
    if not faults and max(widths) < 2:
        faults.append("it has no step beside the values; add at least one field per line.")
    if faults:
        plural = "fault" if len(faults) == 1 else "faults"
        raise CodebookError(
            f"the hierarchy file {Path(path).name!r} of column {column.name!r} has {len(faults)} {plural}:", faults
        )
    steps = [(f"step {height}", [known[text][height] for text in texts]) for height in range(1, max(widths))]
    with loading(path, _FILE, remedy=_REMEDY, error=CodebookError):
        return build(column, steps, top=top)


def _first_values(column: Column, known: dict[str, list[str]], faults: list[str]) -> tuple[str, ...]:
    """What to look up for each code: its text, or for a bin of whole numbers its first one, if all go the same way."""
    texts = list(base_texts(column))
    if not isinstance(column, Integer):
        return tuple(texts)
    for code, (first, width) in enumerate(column.grids):
        values = [str(value) for value in range(first, first + width)] if 1 < width <= _MOST_IN_BIN else []
        if not values or texts[code] in known:
            continue
        if unknown := next((value for value in values if value not in known), None):
            texts[code] = unknown
            continue
        if len({tuple(known[value][1:]) for value in values}) > 1:
            faults.append(f"it parts the values of the bin {texts[code]}; add an edge to the codebook.")
        texts[code] = values[0]
    return tuple(texts)


@loader(_FILE, remedy=_REMEDY, error=CodebookError)
def _read_lines(path: Path) -> list[list[str]]:
    text = read_text(path, _FILE, "there is no hierarchy file")
    first = text.partition("\n")[0]
    delimiter = ";" if ";" in first else ","
    lines = [line for line in csv.reader(text.splitlines(), delimiter=delimiter) if line]
    if not lines:
        raise CodebookError(f"the hierarchy file {str(path)!r} is empty; give one line per value.")
    return lines
