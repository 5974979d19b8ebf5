"""Log lines of a server: JSON, without anything that a caller sent, and paced so that nobody can fill a disk with them.

Lines of the application's own logger have fields from its closed list. Libraries fill their messages with whatever they
have at hand (asyncio shows objects and their values); of them only fixed sentences, types and places are written. Of
those that nobody foresaw, and of Python's warnings, only that there was one.
"""

import json
import logging
import sys
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TextIO

OWN_FIELDS: Final = "understudy_fields"
"""Attribute of a record of the application's own logger: its fields, by name."""

_LIBRARIES = {
    "understudy.front": logging.WARNING,
    "uvicorn": logging.WARNING,
    "asyncio": logging.WARNING,
    "concurrent.futures": logging.WARNING,
    "sqlalchemy": logging.ERROR,
}
_OF_ASYNCIO: Final = (
    *("Fatal read error on socket transport", "Fatal write error on socket transport", "Fatal error on transport"),
    *("Fatal error: protocol", "Fatal error on SSL protocol", "SSL handshake failed", "SSL error in data received"),
    *("Error on transport creation for incoming connection", "socket.accept() out of system resource"),
    *("socket.send() raised exception", "Task exception was never retrieved", "Task was destroyed but it is pending"),
    *("Future exception was never retrieved", "Exception in callback", "Unhandled exception in event loop"),
    *("Unhandled error in exception handler", "an error occurred during closing of asynchronous generator"),
)
"""Beginnings of asyncio's messages; what follows them may be anything."""
_KNOWN: Final = frozenset(name.partition(".")[0] for name in _LIBRARIES)
"""Whose templates may be written; others put values into them, and warnings of Python quote what they are about."""

_A_MINUTE, _MOST_A_MINUTE, _MOST_SENTENCES = 60.0, 5, 200


class JsonLines(logging.Formatter):
    """The application's own lines with their fields; of other loggers a fixed sentence."""

    def __init__(self, own: str) -> None:
        super().__init__()
        self._own = own

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
        }
        fields = getattr(record, OWN_FIELDS, None)
        if fields is not None and record.name == self._own:
            known = {name: value for name, value in fields.items() if value is not None}
            line |= {"event": record.getMessage(), **known}
        else:
            line |= {"event": "server", "logger": record.name, "message": sentence_of(record)}
            if record.exc_info and record.exc_info[1] is not None:
                line |= {"error": type(record.exc_info[1]).__name__, "places": places_of(record.exc_info[1])}
        if dropped := getattr(record, "understudy_dropped", 0):
            line["dropped"] = dropped
        return json.dumps(line, ensure_ascii=True)


def sentence_of(record: logging.LogRecord) -> str:
    """The fixed part of a library's message: its template without arguments, or what we know of asyncio's."""
    if not isinstance(record.msg, str):
        return type(record.msg).__name__
    if record.name.partition(".")[0] not in _KNOWN:
        return "a message of a library"
    if record.name == "asyncio":
        return next((known for known in _OF_ASYNCIO if record.msg.startswith(known)), "another message of asyncio")
    return record.msg.strip()


class Paced(logging.Filter):
    """Lets the same sentence through five times a minute; the next one says how many were left out.

    The application's own lines about single requests are not paced: each is wanted.
    """

    def __init__(self, own: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._own, self._clock = own, clock
        self._minutes: dict[tuple[str, str], tuple[float, int, int]] = {}  # since when, written, left out

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write it."""
        if record.name == self._own and record.levelno < logging.WARNING:
            return True
        key = record.name, record.getMessage() if record.name == self._own else sentence_of(record)
        if key not in self._minutes and len(self._minutes) >= _MOST_SENTENCES:
            key = record.name, ""
        moment = self._clock()
        since, written, left_out = self._minutes.get(key, (moment, 0, 0))
        if moment - since >= _A_MINUTE:
            record.understudy_dropped, since, written, left_out = left_out, moment, 0, 0
        is_written = written < _MOST_A_MINUTE
        self._minutes[key] = since, written + is_written, left_out + (not is_written)
        return is_written


def places_of(error: BaseException) -> list[str]:
    """Where it happened, innermost last, without any value."""
    return [f"{Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)[-12:]]


def configure(*, own: str, stream: TextIO | None = None, level: int = logging.INFO) -> None:
    """Send the logger ``own`` and those of the libraries to ``stream`` (standard error), as JSON lines."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(own))
    handler.addFilter(Paced(own))
    for name, least in {own: logging.INFO, **_LIBRARIES}.items():
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(max(least, level))
        logger.propagate = False
    root = logging.getLogger()  # every other library, and Python's warnings
    root.handlers[:] = [kept for kept in root.handlers if not isinstance(kept.formatter, JsonLines)] + [handler]
    logging.captureWarnings(True)
    for name in ("uvicorn.error", "uvicorn.access", "uvicorn.asgi"):
        logging.getLogger(name).handlers[:] = []
        logging.getLogger(name).propagate = name != "uvicorn.access"
    logging.getLogger("uvicorn.access").disabled = True
    logging.raiseExceptions = False  # a broken pipe of the log must not print a traceback with values
