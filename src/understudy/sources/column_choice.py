"""The column of a codebook that its values suggest: its kind, its levels, or bins with round edges."""

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from understudy.codebook import Categorical, Column, Continuous, Dates, Grain, Integer, Ordinal, Origin
from understudy.codebook.encode import number_of
from understudy.codebook.numbers import MOST_STEPS
from understudy.codebook.readings import Reading, tidy
from understudy.sources.column_summary import Summary
from understudy.sources.reading_guesses import guess_levels

FEW = 20
"""Numbers with at most this many distinct values are listed, not binned."""
_ENOUGH_ROWS = 100  # below this, distinct whole numbers may well be amounts
_MOST_DECIMALS = 6
_MOST_GRAINS = 120
_MOST_DAYS = 62


def column_of(seen: Summary, rows: int, max_levels: int) -> Column | str:
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
    if is_numeric and (seen.levels is None or len(seen.levels) > FEW or not seen.found.is_plain):
        return _number(seen, _with_codes(seen, common), notes, rows)
    if seen.levels is None:
        return _why_text(seen, rows, max_levels)
    return _levels(seen, common, notes, is_numeric)


def _levels(seen: Summary, common: dict[str, Any], notes: list[str], is_numeric: bool) -> Column:
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


def _with_codes(seen: Summary, common: dict[str, Any]) -> dict[str, Any]:
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


def _why_text(seen: Summary, rows: int, max_levels: int) -> str:
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


def _number(seen: Summary, common: dict[str, Any], notes: list[str], rows: int) -> Column | str:
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
    needed = -((cuts[-1] - cuts[0]) / FEW).adjusted()
    room = 13 - max(abs(cuts[0]), abs(cuts[-1])).adjusted()
    return max(0, min(max(min(decimals, _MOST_DECIMALS), needed, 1), room, 12))


def _dates(seen: Summary, common: dict[str, Any], notes: list[str]) -> Column:
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
