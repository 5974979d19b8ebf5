"""A share or a mean in a released table, with its variance as a simple random sample: what combining rules take."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from understudy.errors import DataError, ParameterError, ReleaseError
from understudy.evaluate.report.release_facts import find_release
from understudy.release.release import MANIFEST
from understudy.sources.expressions import as_number, as_text, present
from understudy.sources.faults import engine_errors
from understudy.sources.files import Opened, open_table

_SHOWN = 10
Estimate = tuple[float, float]
"""An estimate and its variance."""


def released_tables(places: Sequence[str]) -> list[str]:
    """The tables behind release folders, folders of numbered releases (`synth --files`) and files, in their order."""
    tables = []
    for place in places:
        for part in _numbered(Path(place)) or [Path(place)]:
            table, facts = find_release(str(part))
            if facts is not None and facts.problems:
                raise ReleaseError(f"the release {str(part)!r} does not verify: {facts.problems[0]}. Make it again.")
            tables.append(table)
    return tables


def _numbered(place: Path) -> list[Path]:
    if not place.is_dir() or (place / MANIFEST).exists():
        return []
    return sorted((part for part in place.iterdir() if part.name.isdecimal()), key=lambda part: int(part.name))


def shares_in(tables: Sequence[str], column: str, value: str) -> list[Estimate]:
    """p and p (1 - p) / n of each table, of the rows that have any value in the column.

    A value that no table has is refused: its variance would be 0, a certainty that nobody has.
    """
    found, seen = [], set()
    for table in tables:
        opened = _opened(table, column)
        known = as_text(present(opened.value(column)))
        count, hits = _sums(opened, known, (known == value).cast("int64"))
        found.append((hits / count, hits / count * (1 - hits / count) / count))
        if not hits:
            with engine_errors(repr(opened.label)):
                seen |= set(known.name("value").as_table().distinct().limit(_SHOWN).to_pyarrow()["value"].to_pylist())
    if tables and not any(share for share, _ in found):
        values = ", ".join(sorted(text for text in seen if text is not None)[:_SHOWN])
        raise ParameterError(f"no row has {value!r} in {column!r}, so there is nothing to combine; it has {values}.")
    return found


def mean_in(table: str, column: str) -> Estimate:
    """The mean and s^2 / n, of the rows that have a number in the column; bands and other words are refused."""
    opened = _opened(table, column)
    known = as_text(present(opened.value(column)))
    number = as_number(known)
    with engine_errors(repr(opened.label)):
        words = opened.table.filter(known.notnull() & number.isnull()).select(word=known).limit(1).to_pyarrow()
    if words.num_rows:
        raise ParameterError(
            f"column {column!r} holds {words['word'][0].as_py()!r}, which is no number, so it has no mean; combine the "
            "share of a value instead."
        )
    count, total = _sums(opened, number, number)
    mean = total / count
    if count < 2:
        raise DataError(f"{table!r} has one number in {column!r}; a variance needs two rows or more.")
    _, squares = _sums(opened, number, (number - mean) ** 2)
    return mean, squares / (count - 1) / count


def _opened(table: str, column: str) -> Opened:
    opened = open_table(table)
    if column not in opened.header:
        raise ParameterError(f"{table!r} has no column {column!r}; choose among {', '.join(opened.header)}.")
    return opened


def _sums(opened: Opened, known: Any, value: Any) -> tuple[int, float]:
    """How many rows are known, and the sum of ``value`` over them."""
    with engine_errors(repr(opened.label)):
        summed = opened.table.aggregate(count=known.count(), total=value.cast("float64").sum()).to_pyarrow()
    count, total = summed["count"][0].as_py(), summed["total"][0].as_py()
    if not count:
        raise DataError(f"{opened.label!r} has no value to estimate from in that column; choose another.")
    return count, float(total or 0.0)
