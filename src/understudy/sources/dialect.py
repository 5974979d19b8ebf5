"""How a CSV file is laid out, decided from its header line alone.

Guessing from rows would make the meaning of a file depend on which rows come first: a guesser may take ``#`` for a
comment sign and drop rows in silence. So quotes are always ``"``, doubled inside quotes, there are no comments, and
only the delimiter is found out, by counting in the header.
"""

import csv
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from understudy.errors import DataError
from understudy.sources.faults import first_bad_line

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


@contextmanager
def open_text(path: Path, *, errors: str = "strict") -> Iterator[TextIO]:
    """A plain or gzipped text file, without its byte order mark."""
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="", errors=errors) as lines:
        yield lines


def read_dialect(path: Path, *, errors: str = "strict") -> Dialect:
    """Read the header of a CSV file and nothing else."""
    try:
        with open_text(path, errors=errors) as lines:
            readings = [Dialect(delimiter=d, header=_first_record(lines, d)) for d in _DELIMITERS]
    except UnicodeDecodeError:
        raise DataError(
            f"{str(path)!r} is not UTF-8 text from line {first_bad_line(path)} on; save it as UTF-8."
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
    lowered = [name.lower() for name in header]
    return sorted({name for name in header if lowered.count(name.lower()) > 1}) if _repeats(lowered) else []


def _repeats(names: list[str]) -> bool:
    return len(set(names)) < len(names)


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
