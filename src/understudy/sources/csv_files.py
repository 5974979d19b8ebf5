"""CSV files: how one is laid out, by its codebook or by its header line alone, and a repaired copy of a broken one.

Guessing from rows whenever a file is opened would make its meaning depend on which rows come first: a guesser may take
``#`` for a comment sign and drop rows in silence. So a file is guessed at once, in the draft of its codebook
(:mod:`understudy.sources.file_guesses`), whose ``[file]`` table then says how it is read. Without one, the text is
UTF-8, the first line is the header, and only the delimiter is found out, by counting in the header. Quotes are always
``"``, doubled inside quotes, and there are no comments.
"""

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from understudy.codebook import FileReading
from understudy.errors import DataError
from understudy.files import refuse_special

DELIMITERS = (",", ";", "\t", "|")
PLAIN_FILE = FileReading()


@dataclass(frozen=True, kw_only=True)
class CsvDialect:
    """The delimiter, the names exactly as the file or its codebook spells them, and whether the file has a header."""

    delimiter: str
    header: tuple[str, ...]
    has_header: bool = True

    @property
    def engine_options(self) -> dict[str, Any]:
        """What DuckDB's CSV reader must be told so that it guesses nothing."""
        return {
            "auto_detect": False,
            "header": self.has_header,
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
    """The content of a plain or gzipped file; anything else would be waited for, or read for ever."""
    refuse_special(path, follow=True)
    return gzip.GzipFile(path) if is_compressed(path) else path.open("rb")


def codec_of(file: FileReading) -> str:
    """The codec that reads a text file; a byte order mark is no part of its text."""
    name = file.encoding.lower().replace("_", "-")
    return "utf-8-sig" if name in ("", "utf-8", "utf8") else name


def open_text(path: Path, file: FileReading = PLAIN_FILE, *, errors: str = "strict") -> io.TextIOWrapper:
    """A text file from its first line on."""
    return io.TextIOWrapper(open_bytes(path), encoding=codec_of(file), newline="", errors=errors)


def lines_before(file: FileReading) -> int:
    """Lines before the row of names, or before the first row where there are none."""
    return file.skip + max((1 if file.header_row is None else file.header_row) - 1, 0)


def read_dialect(path: Path, file: FileReading = PLAIN_FILE, *, errors: str = "strict") -> CsvDialect:
    """Read the header of a CSV file and nothing else."""
    delimiters = (file.delimiter,) if file.delimiter else DELIMITERS
    try:
        with open_text(path, file, errors=errors) as lines:
            head = "".join(islice(lines, lines_before(file), lines_before(file) + 50))
        readings = [CsvDialect(delimiter=d, header=_first_record(head, d)) for d in delimiters]
    except UnicodeError:
        raise DataError(_not_in_encoding(path, file)) from None
    except (gzip.BadGzipFile, EOFError, csv.Error) as reason:
        raise DataError(f"{str(path)!r} cannot be read ({reason}); copy it again from its source.") from None
    best = max(readings, key=lambda reading: len(reading.header))  # the comma wins a tie: it comes first
    if not any(name.strip() for name in best.header):
        raise DataError(
            f"{str(path)!r} has an empty {'first line' if file.says_nothing else 'header line'}; a table needs a "
            "header and rows. If its names stand further down, draft a codebook, which says where in [file]."
        )
    if file.names:
        return _named(path, best, file)
    return CsvDialect(delimiter=best.delimiter, header=named_columns_of(best.header))


def _named(path: Path, found: CsvDialect, file: FileReading) -> CsvDialect:
    """With the names of the codebook; where the file has names too, there must be as many of them, or one less."""
    width = len(found.header)
    if len(file.names) - width not in (0, 1):
        raise DataError(
            f"{str(path)!r} has {width} columns, and [file] of the codebook names {len(file.names)}; is this the "
            "codebook of another file?"
        )
    return CsvDialect(delimiter=found.delimiter, header=file.names, has_header=file.header_row != 0)


def _first_record(head: str, delimiter: str) -> tuple[str, ...]:
    return tuple(next(csv.reader(io.StringIO(head, newline=""), delimiter=delimiter), ()))


def named_columns_of(header: Sequence[str]) -> tuple[str, ...]:
    """The names of a header; a blank one becomes ``column`` with its place, counted from 1.

    >>> named_columns_of(["", "age", " "])
    ('column 1', 'age', 'column 3')
    """
    taken = {name.lower() for name in header}
    names = []
    for place, name in enumerate(header, start=1):
        fresh = name if name.strip() else f"column {place}"
        while not name.strip() and fresh in taken:
            fresh = f"unnamed {fresh}"
        names.append(fresh)
    return tuple(names)


def plain_copy(path: Path, file: FileReading, copy: Path, delimiter: str) -> None:
    """The table of a file as UTF-8, from its row of names on: what the engine reads then has nothing before it."""
    try:
        with open_text(path, file) as lines, copy.open("w", encoding="utf-8", newline="") as target:
            rows = islice(lines, lines_before(file), None)
            if file.names and file.header_row != 0:  # they may be one more than the file has
                csv.writer(target, delimiter=delimiter, lineterminator="\n").writerow(file.names)
                next(rows, None)
            while piece := "".join(islice(rows, 10_000)):
                target.write(piece)
    except UnicodeError:
        raise DataError(_not_in_encoding(path, file)) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as reason:
        raise DataError(f"{str(path)!r} is cut short or damaged ({reason}); copy it again from its source.") from None


def needs_copy(file: FileReading) -> bool:
    """Whether the engine cannot read the file as it lies there."""
    return codec_of(file) != "utf-8-sig" or lines_before(file) > 0 or (bool(file.names) and file.header_row != 0)


def _not_in_encoding(path: Path, file: FileReading) -> str:
    if file.encoding:
        return (
            f"{str(path)!r} is not {file.encoding} text, as [file] of the codebook says; correct its encoding there, "
            "or draft a codebook from this file."
        )
    return (
        f"{str(path)!r} is not UTF-8 text from line {_first_bad_line(path)} on; save it as UTF-8, or draft a codebook "
        "from it, which finds its encoding and keeps it in [file]."
    )


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


def repair_csv(path: Path, copy: Path, most: int, file: FileReading = PLAIN_FILE) -> Damage:
    """Copy ``path`` to ``copy`` with undecodable bytes replaced and every row as wide as the header.

    Rows are never dropped or added, so that row numbers stay right. What cannot be repaired ends the copy.
    """
    damage = Damage(most)
    try:
        dialect = read_dialect(path, file, errors="replace")
        lines = _lines(path, damage) if codec_of(file) == "utf-8-sig" else open_text(path, file, errors="replace")
        rows = csv.reader(islice(lines, lines_before(file), None), delimiter=dialect.delimiter)
        with copy.open("w", encoding="utf-8", newline="") as target:
            _copy_rows(rows, target, damage, dialect)
    except (DataError, EOFError, OSError, zlib.error, csv.Error):
        damage.is_cut = True
    return damage


def _copy_rows(rows: Iterator[list[str]], target: Any, damage: Damage, dialect: CsvDialect) -> None:
    writer = csv.writer(target, lineterminator="\n")
    if dialect.has_header:
        next(rows, [])
    damage.width = len(dialect.header)
    writer.writerow(dialect.header)
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
