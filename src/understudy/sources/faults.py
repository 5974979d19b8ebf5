"""Engine errors turned into one sentence a data steward can act on."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from understudy.errors import DataError
from understudy.sources.engines import engines


@contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Turn anything the engine raises while reading ``what`` into a :class:`DataError`."""
    try:
        yield
    except engine_failures() as reason:
        engine = next((each for each in engines().values() if isinstance(reason, each.failures())), None)
        message = without_secrets(str(reason) if engine is None else engine.words(reason))
        raise DataError(f"{what} cannot be read: {_first_sentence(message)}{_remedy(message)}") from None


def engine_failures() -> tuple[type[BaseException], ...]:
    """What the engines in use raise; an engine that nobody imported cannot raise anything."""
    import pyarrow as pa
    from ibis.common.exceptions import IbisError

    return (IbisError, pa.ArrowException, *(kind for engine in engines().values() for kind in engine.failures()))


def without_secrets(text: str) -> str:
    """What an engine said, without the password it may have been given by the environment."""
    for name in (name for engine in engines().values() for name in engine.secrets):
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
    remedies = (*_FIRST, *(each for engine in engines().values() for each in engine.remedies), *_REMEDIES)
    return next((f" {remedy}" for signs, remedy in remedies if any(sign in low for sign in signs)), "")


_FIRST = (  # before the names of files
    (
        ("out of memory", "no space", "file too large"),
        "Free memory or disk space, or set TMPDIR to a larger private disk.",
    ),
)
_REMEDIES = (
    (("state machine",), "Check its quotes, and that all lines end alike (not some with CRLF and some with LF)."),
    (("json",), 'Mend that line: every line holds one object, such as {"age": 41}.'),
    (("unicode", "utf-8", "utf8"), "Save the file as UTF-8."),
    (
        ("parquet", "magic", "footer"),
        "The file looks truncated or is not Parquet; copy it again from its source.",
    ),
    (("expected number of columns", "csv"), "Mend that line, or check the delimiter and quotes of the file."),
)
"""What may be said about files, and what to do about it; the first that fits is taken, those of engines before."""
