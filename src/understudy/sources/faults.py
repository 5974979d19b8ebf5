"""Engine errors turned into one sentence a data steward can act on."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from understudy.errors import DataError


@contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Turn anything the engine raises while reading ``what`` into a :class:`DataError`."""
    try:
        yield
    except engine_failures() as reason:
        message = without_secrets(str(reason))
        raise DataError(f"{what} cannot be read: {_first_sentence(message)}{_remedy(message)}") from None


def engine_failures() -> tuple[type[BaseException], ...]:
    """What the engines in use raise; an engine that nobody imported cannot raise anything."""
    import duckdb
    import pyarrow as pa
    from ibis.common.exceptions import IbisError

    failures: list[type[BaseException]] = [duckdb.Error, IbisError, pa.ArrowException]
    if psycopg := sys.modules.get("psycopg"):
        failures.append(psycopg.Error)
    if "pyspark" in sys.modules:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException, PySparkRuntimeError

        # a driver whose Java side is gone gives plain connection errors
        failures += [PySparkException, PySparkRuntimeError, Py4JError, ConnectionError]
    return tuple(failures)


def without_secrets(text: str) -> str:
    """What an engine said, without the password it may have been given by the environment."""
    for name in ("PGPASSWORD", "PGSSLPASSWORD"):
        secret = os.environ.get(name, "")
        if secret:
            text = text.replace(secret, "<withheld>")
    return text


def _first_sentence(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["the engine gave no reason"]
    if lines[0].startswith(_OF_JAVA) and len(lines) > 1:  # the reason stands on the next line, after its class
        lines = [lines[1].lstrip(": ").partition(": ")[2] or lines[1].lstrip(": "), *lines[2:]]
    line = lines[0]
    return line if line.endswith(".") else line + "."


_OF_JAVA = "An error occurred while calling"


def _remedy(text: str) -> str:
    low = text.lower()
    return next((f" {remedy}" for signs, remedy in _REMEDIES if any(sign in low for sign in signs)), "")


_REMEDIES = (
    (  # before the names of files
        ("out of memory", "no space", "file too large"),
        "Free memory or disk space, or set TMPDIR to a larger private disk.",
    ),
    (
        (
            "server closed the connection",
            "terminating connection",
            "connection is lost",
            "the connection is closed",
            "consuming input failed",
            "connection not open",
            "shutting down",
            "sparkcontext was shut down",
            "answer from java side is empty",
        ),
        "The database went away while it was asked; nothing was released. Run again when it is back.",
    ),
    (
        ("java_gateway_exited",),
        "Spark's own words stand above this line. Is it Java 17 or later, and are Spark's settings right?",
    ),
    (
        ("connection refused", "could not translate host name", "timeout expired"),
        "Is the server running, and may it be reached from here?",
    ),
    (
        ("file system operations are disabled",),
        "A view in the database reads a file beside it, which is not allowed here. Copy its rows into a table of the "
        "database: CREATE TABLE ... AS SELECT * FROM the view.",
    ),
    (
        ("permission denied", "authentication", "no password supplied"),
        "Check your user name and rights; a password comes from PGPASSWORD or ~/.pgpass.",
    ),
    (("state machine",), "Check its quotes, and that all lines end alike (not some with CRLF and some with LF)."),
    (("json",), 'Mend that line: every line holds one object, such as {"age": 41}.'),
    (("unicode", "utf-8", "utf8"), "Save the file as UTF-8."),
    (
        ("parquet", "magic", "footer"),
        "The file looks truncated or is not Parquet; copy it again from its source.",
    ),
    (("expected number of columns", "csv"), "Mend that line, or check the delimiter and quotes of the file."),
)
"""What an engine may say, and what to do about it; the first that fits is taken."""
