"""Engine errors turned into one sentence a data steward can act on."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from understudy.errors import DataError


@contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Turn anything the engine raises while reading ``what`` into a :class:`DataError`."""
    try:
        yield
    except engine_failures() as reason:
        said = without_secrets(str(reason))
        raise DataError(f"{what} cannot be read: {_first_sentence(said)}{_remedy(said)}") from None


def engine_failures() -> tuple[type[BaseException], ...]:
    """What the engines in use raise; an engine that nobody imported cannot raise anything."""
    import duckdb
    import pyarrow as pa
    from ibis.common.exceptions import IbisError

    found: list[type[BaseException]] = [duckdb.Error, IbisError, pa.ArrowException]
    if psycopg := sys.modules.get("psycopg"):
        found.append(psycopg.Error)
    if "pyspark" in sys.modules:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException, PySparkRuntimeError

        # a driver whose Java side is gone gives plain connection errors
        found += [PySparkException, PySparkRuntimeError, Py4JError, ConnectionError]
    return tuple(found)


def without_secrets(text: str) -> str:
    """What an engine said, without the password it may have been given by the environment."""
    for name in ("PGPASSWORD", "PGSSLPASSWORD"):
        secret = os.environ.get(name, "")
        if secret:
            text = text.replace(secret, "<withheld>")
    return text


def _first_sentence(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "the engine gave no reason")
    return line if line.endswith(".") else line + "."


def _remedy(text: str) -> str:
    low = text.lower()
    if any(sign in low for sign in ("out of memory", "no space", "file too large")):  # before the names of files
        return " Free memory or disk space, or set TMPDIR to a larger private disk."
    if any(sign in low for sign in _GONE):
        return " The database went away while it was asked; nothing was released. Run again when it is back."
    if "connection refused" in low or "could not translate host name" in low or "timeout expired" in low:
        return " Is the server running, and may it be reached from here?"
    if "permission denied" in low or "authentication" in low or "no password supplied" in low:
        return " Check your user name and rights; a password comes from PGPASSWORD or ~/.pgpass."
    if "state machine" in low:
        return " Check its quotes, and that all lines end alike (not some with CRLF and some with LF)."
    if "unicode" in low or "utf-8" in low or "utf8" in low:
        return " Save the file as UTF-8."
    if "parquet" in low or "magic" in low or "footer" in low:
        return " The file looks truncated or is not Parquet; copy it again from its source."
    if "expected number of columns" in low or "csv" in low:
        return " Mend that line, or check the delimiter and quotes of the file."
    return ""


_GONE = (
    "server closed the connection",
    "terminating connection",
    "connection is lost",
    "the connection is closed",
    "consuming input failed",
    "connection not open",
    "shutting down",
    "sparkcontext was shut down",
    "answer from java side is empty",
)


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
