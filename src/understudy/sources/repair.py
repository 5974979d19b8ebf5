"""A copy of a broken CSV file that an engine can read, and a list of what was broken."""

import csv
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.errors import DataError
from understudy.sources.dialect import read_dialect


@dataclass(kw_only=True)
class Damage:
    """What had to be mended; counts are exact, places are the first few."""

    most: int
    width: int = 0
    rows: int = 0
    bad_lines: int = 0
    ragged: int = 0
    broken: str | None = None
    _lines: list[int] = field(default_factory=list)
    _ragged_rows: list[int] = field(default_factory=list)

    @property
    def first_bad_lines(self) -> tuple[int, ...]:
        """Lines of the file that are not UTF-8, counted from 1 with the header."""
        return tuple(self._lines)

    @property
    def first_ragged(self) -> tuple[int, ...]:
        """Data rows, counted from 1, that have more or fewer fields than the header."""
        return tuple(self._ragged_rows)

    def note_line(self, number: int) -> None:
        """A line that is not UTF-8."""
        self.bad_lines += 1
        if len(self._lines) < self.most:
            self._lines.append(number)

    def note_row(self, number: int) -> None:
        """A row with a wrong number of fields."""
        self.ragged += 1
        if len(self._ragged_rows) < self.most:
            self._ragged_rows.append(number)


def repair_csv(path: Path, copy: Path, most: int) -> Damage:
    """Copy ``path`` to ``copy`` with undecodable bytes replaced and every row as wide as the header.

    Rows are never dropped or added, so that row numbers stay right. What cannot be mended ends the copy.
    """
    damage = Damage(most=most)
    try:
        delimiter = read_dialect(path, errors="replace").delimiter
        with copy.open("w", encoding="utf-8", newline="") as target:
            _copy_rows(csv.reader(_lines(path, damage), delimiter=delimiter), target, damage)
    except (DataError, EOFError, OSError, zlib.error, csv.Error) as reason:
        damage.broken = str(reason)
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
            damage.note_row(damage.rows)
        writer.writerow((row + [""] * damage.width)[: damage.width])


def _lines(path: Path, damage: Damage) -> Iterator[str]:
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rb") as source:
        for number, line in enumerate(source, start=1):
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError:
                damage.note_line(number)
                text = line.decode("utf-8", errors="replace")
            yield text.removeprefix("\ufeff") if number == 1 else text
