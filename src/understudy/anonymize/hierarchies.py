"""Where hierarchies come from: the codebook, interval rules, masked prefixes, dates, and ARX's CSV files."""

import csv
import datetime as dt
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import floor
from pathlib import Path

from understudy.anonymize.cells import STAR, base_texts
from understudy.anonymize.hierarchy import Hierarchy, build
from understudy.codebook import Column, Continuous, Dates, Grain, Integer, Levelled, Number
from understudy.errors import CodebookError, ParameterError

_SHOWN = 8
_MOST_IN_BIN = 1000


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
    sizes = [_exactly(column, "width", width) for width in widths]
    origin = _exactly(column, "start", start)
    if not sizes or any(size <= 0 for size in sizes):
        raise ParameterError(
            f"the intervals of column {column.name!r} are {list(widths)}; give widths above 0, such as [5, 10, 20]."
        )
    steps = [(f"by {_plain(size)}", _intervals(column, size, origin)) for size in sizes]
    return build(column, steps, top=top)


def _exactly(column: Column, what: str, value: int | float | Decimal) -> Fraction:
    try:
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise ParameterError(
            f"the {what} {value!r} of the intervals of column {column.name!r} is no finite number; write it like 5."
        ) from None


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
            values.append(Fraction(Decimal(level)))
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
            labels.append(_span(int(low), int(high) - 1))
        else:
            labels.append(f"[{_plain(low)}, {_plain(high)})")
    return labels


def _span(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"


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
    return [_range_label(column, first[place], last[place]) for place in places]


def _range_label(column: Number, low: int, high: int) -> str:
    """The values from one bin to another, as the codebook's bins really hold them."""
    if isinstance(column, Integer):
        return _span(column.grids[low][0], sum(column.grids[high]) - 1)
    assert isinstance(column, Continuous)
    if low == high:
        return column.labels[low]
    return column.labels[low].partition(",")[0] + "," + column.labels[high].partition(",")[2]


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


_UNITS = ("month", "quarter", "year", "decade")
_FINER = {Grain.DAY: 0, Grain.MONTH: 1, Grain.YEAR: 3}
"""The first unit that is coarser than a grain."""


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
    lines = _read(Path(path))
    widths = {len(line) for line in lines}
    faults = []
    if len(widths) > 1:
        faults.append(f"its lines have {' or '.join(map(str, sorted(widths)))} fields; give every value every step.")
    known: dict[str, list[str]] = {}
    for line in lines:
        if known.setdefault(line[0], line) != line:
            faults.append(f"the value {line[0]!r} is listed twice, with different groups; list it once.")
    texts = _first_values(column, known, faults)
    if lost := [text for text in texts if text not in known]:
        shown = ", ".join(map(repr, lost[:_SHOWN])) + (f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else "")
        faults.append(f"it misses the value{'s' * (len(lost) > 1)} {shown}; add a line for each.")
    if not faults and max(widths) < 2:
        faults.append("it has no step beside the values; add at least one field per line.")
    if faults:
        plural = "fault" if len(faults) == 1 else "faults"
        raise CodebookError(
            f"the hierarchy file {Path(path).name!r} of column {column.name!r} has {len(faults)} {plural}:", faults
        )
    steps = [(f"step {height}", [known[text][height] for text in texts]) for height in range(1, max(widths))]
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
        if lost := next((value for value in values if value not in known), None):
            texts[code] = lost
        elif len({tuple(known[value][1:]) for value in values}) > 1:
            faults.append(f"it parts the values of the bin {texts[code]}; add an edge to the codebook.")
            texts[code] = values[0]
        else:
            texts[code] = values[0]
    return tuple(texts)


def _read(path: Path) -> list[list[str]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise CodebookError(f"there is no hierarchy file {str(path)!r}; check the path.") from None
    except UnicodeDecodeError:
        raise CodebookError(f"the hierarchy file {str(path)!r} is not UTF-8 text; save it as UTF-8.") from None
    except OSError as reason:
        raise CodebookError(f"the hierarchy file {str(path)!r} cannot be read ({reason.strerror}).") from None
    first = text.partition("\n")[0]
    delimiter = ";" if ";" in first else ","
    lines = [line for line in csv.reader(text.splitlines(), delimiter=delimiter) if line]
    if not lines:
        raise CodebookError(f"the hierarchy file {str(path)!r} is empty; give one line per value.")
    return lines
