"""Engine errors turned into one sentence a data steward can act on."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from understudy.errors import DataError

__all__ = ["engine_errors", "first_bad_line"]


@contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Turn anything the engine raises while reading ``what`` into a :class:`DataError`."""
    import duckdb
    import pyarrow as pa
    from ibis.common.exceptions import IbisError

    try:
        yield
    except (duckdb.Error, IbisError, pa.ArrowException) as reason:
        raise DataError(f"{what} cannot be read: {_first_sentence(str(reason))}{_remedy(str(reason))}") from None


def _first_sentence(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "the engine gave no reason")
    return line if line.endswith(".") else line + "."


def _remedy(text: str) -> str:
    low = text.lower()
    if "state machine" in low:
        return " Check its quotes, and that all lines end alike (not some with CRLF and some with LF)."
    if "unicode" in low or "utf-8" in low or "utf8" in low:
        return " Save the file as UTF-8."
    if "parquet" in low or "magic" in low or "footer" in low:
        return " The file looks truncated or is not Parquet; copy it again from its source."
    if "out of memory" in low or "no space" in low:
        return " Free memory or disk space, or set TMPDIR to a larger private disk."
    if "expected number of columns" in low or "csv" in low:
        return " Mend that line, or check the delimiter and quotes of the file."
    return ""


def first_bad_line(path: Path) -> int | None:
    """Number of the first line that is not UTF-8, or None."""
    import gzip

    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rb") as lines, suppress(EOFError, gzip.BadGzipFile):
        for number, line in enumerate(lines, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return None
