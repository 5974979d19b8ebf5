"""Structured logs: one JSON object a line, from a closed list of fields, none of which can hold a person's data.

A field that is not in the list cannot be logged at all. Paths, query strings, headers, bodies, addresses of callers and
messages of exceptions are not in it.
"""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TextIO

FIELDS: Final = frozenset(
    {
        "cost",  # epsilon charged
        "error",  # type of an exception, never its message
        "key_id",  # public half of an API key
        "method",
        "milliseconds",
        "model",  # one of the served models, never what a caller wrote
        "places",  # files and lines of a traceback, without their values
        "problem",
        "request_id",  # ours; one that a caller sends is ignored
        "route",  # the template, never the path
        "rows",
        "status",
        "stored",
        "version",
    }
)
_NAME = "understudy.service"
LEVELS: Final = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
"""Lines about single requests are info."""


class EventLog:
    """The only way in which this room writes to a log."""

    def __init__(self) -> None:
        self._logger = logging.getLogger(_NAME)

    def say(self, event: str, *, level: int = logging.INFO, **fields: Any) -> None:
        """Log an event."""
        if not FIELDS.issuperset(fields):
            raise TypeError(f"not a field of the log: {sorted(set(fields) - FIELDS)}")
        if self._logger.isEnabledFor(level):
            # made by hand: looking up the line of code that speaks would cost more than all the rest
            record = self._logger.makeRecord(_NAME, level, "", 0, event, (), None, extra={"understudy_fields": fields})
            self._logger.handle(record)


class JsonLines(logging.Formatter):
    """Ours with their fields; of other loggers the bare template, without arguments or exception text."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
        }
        fields = getattr(record, "understudy_fields", None)
        if fields is not None and record.name == _NAME:
            line |= {
                "event": record.getMessage(),
                **{name: value for name, value in fields.items() if value is not None},
            }
        else:
            line |= {"event": "server", "logger": record.name, "message": str(record.msg)}
            if record.exc_info and record.exc_info[1] is not None:
                line |= {"error": type(record.exc_info[1]).__name__, "places": places_of(record.exc_info[1])}
        return json.dumps(line, ensure_ascii=True)


def places_of(error: BaseException) -> list[str]:
    """Where it happened, innermost last, without any value."""
    return [f"{Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)[-12:]]


def configure(stream: TextIO | None = None, level: str = "info") -> None:
    """Send our log and the web server's to ``stream`` (standard error), as JSON lines; no access log of its own."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    least = LEVELS[level]
    for name, own in ((_NAME, logging.INFO), ("uvicorn", logging.WARNING), ("sqlalchemy", logging.ERROR)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(max(own, least))
        logger.propagate = False
    for name in ("uvicorn.error", "uvicorn.access", "uvicorn.asgi"):
        logging.getLogger(name).handlers[:] = []
        logging.getLogger(name).propagate = name != "uvicorn.access"
    logging.getLogger("uvicorn.access").disabled = True
    logging.raiseExceptions = False  # a broken pipe of the log must not print a traceback with values
