"""CSV files: how one is laid out, decided from its header line alone, and a repaired copy of a broken one.

Guessing from rows would make the meaning of a file depend on which rows come first: a guesser may take ``#`` for a
comment sign and drop rows in silence. So quotes are always ``"``, doubled inside quotes, there are no comments, and
only the delimiter is found out, by counting in the header.
"""

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from understudy.errors import DataError

_DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """The delimiter, and the names exactly as the file spells them."""

    delimiter: str
    header: tuple[str, ...]

    @property
    def engine_options(self) -> dict[str, Any]:
        """What DuckDB's CSV reader must be told so that it guesses nothing."""
        return {
            "auto_detect": False,
            "header": True,
            "delim": self.delimiter,
            "quote": '"',
            "escape": '"',
            "nullstr": "",
            "comment": "",
            "columns": dict.fromkeys(unique_names(self.header), "VARCHAR"),
        }


def is_compressed(path: Path) -> bool:
    """Whether a file is gzipped, by its name."""
    return path.suffix.lower() == ".gz"


def open_bytes(path: Path) -> gzip.GzipFile | io.BufferedReader:
    """The content of a plain or gzipped file."""
    return gzip.GzipFile(path) if is_compressed(path) else path.open("rb")


def read_dialect(path: Path, *, errors: str = "strict") -> Dialect:
    """Read the header of a CSV file and nothing else."""
    try:
        with io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", newline="", errors=errors) as lines:
            readings = [Dialect(delimiter=d, header=_first_record(lines, d)) for d in _DELIMITERS]
    except UnicodeDecodeError:
        raise DataError(
            f"{str(path)!r} is not UTF-8 text from line {_first_bad_line(path)} on; save it as UTF-8."
        ) from None
    except (gzip.BadGzipFile, EOFError, csv.Error) as reason:
        raise DataError(f"{str(path)!r} cannot be read ({reason}); copy it again from its source.") from None
    best = max(readings, key=lambda reading: len(reading.header))  # the comma wins a tie: it comes first
    if not any(best.header):
        raise DataError(f"{str(path)!r} has an empty first line; a table needs a header and rows.")
    return best


def _first_record(lines: TextIO, delimiter: str) -> tuple[str, ...]:
    lines.seek(0)
    return tuple(next(csv.reader(lines, delimiter=delimiter), ()))


def repeated_names(header: tuple[str, ...]) -> list[str]:
    """Names that an engine cannot tell apart; most take no notice of case.

    >>> repeated_names(("age", "sex", "Age"))
    ['Age', 'age']
    """
    lowered = Counter(name.lower() for name in header)
    return sorted({name for name in header if lowered[name.lower()] > 1})


def unique_names(header: tuple[str, ...]) -> list[str]:
    """Names for the engine: the header's own, with a stand-in for empty and repeated ones."""
    taken = {name.lower() for name in header}
    seen: set[str] = set()
    names = []
    for position, name in enumerate(header):
        fresh = name
        while not fresh or fresh.lower() in seen or (fresh != name and fresh.lower() in taken):
            fresh = f"{fresh or 'column'}_{position}"
        seen.add(fresh.lower())
        names.append(fresh)
    return names


def _first_bad_line(path: Path) -> int | None:
    """Number of the first line that is not UTF-8, or None."""
    damage = Damage(1)
    with suppress(EOFError, gzip.BadGzipFile):
        for _ in _lines(path, damage):
            if damage.bad_lines:
                return damage.bad_lines.first[0]
    return None


@dataclass(kw_only=True)
class Places:
    """How often something happened, and the first few places."""

    most: int
    count: int = 0
    first: list[int] = field(default_factory=list)

    def note(self, number: int) -> None:
        """It happened at this line or row."""
        self.count += 1
        if len(self.first) < self.most:
            self.first.append(number)

    def __bool__(self) -> bool:
        return self.count > 0


class Damage:
    """What had to be repaired; counts are exact, places are the first few."""

    def __init__(self, most: int) -> None:
        self.width = 0
        self.rows = 0
        self.bad_lines = Places(most=most)
        """Lines of the file that are not UTF-8, counted from 1 with the header."""
        self.ragged = Places(most=most)
        """Data rows, counted from 1, that have more or fewer fields than the header."""
        self.is_cut = False
        """Whether something could not be mended, so that the copy ends there."""


def repair_csv(path: Path, copy: Path, most: int) -> Damage:
    """Copy ``path`` to ``copy`` with undecodable bytes replaced and every row as wide as the header.

    Rows are never dropped or added, so that row numbers stay right. What cannot be repaired ends the copy.
    """
    damage = Damage(most)
    try:
        delimiter = read_dialect(path, errors="replace").delimiter
        with copy.open("w", encoding="utf-8", newline="") as target:
            _copy_rows(csv.reader(_lines(path, damage), delimiter=delimiter), target, damage)
    except (DataError, EOFError, OSError, zlib.error, csv.Error):
        damage.is_cut = True
    return damage


def _copy_rows(rows: Iterator[list[str]], target: Any, damage: Damage) -> None:
    writer = csv.writer(target, lineterminator="\n")
    header = next(rows, [])
    damage.width = len(header)
    writer.writerow(header)
    for row in rows:
        if not row and damage.width > 1:
            continue  # the engine skips blank lines too
        damage.rows += 1
        if len(row) != damage.width and (row or damage.width > 1):
            damage.ragged.note(damage.rows)
        writer.writerow((row + [""] * damage.width)[: damage.width])


def _lines(path: Path, damage: Damage) -> Iterator[str]:
    with open_bytes(path) as source:
        for number, line in enumerate(source, start=1):
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError:
                damage.bad_lines.note(number)
                text = line.decode("utf-8", errors="replace")
            yield text.removeprefix("\ufeff") if number == 1 else text
