"""Structured logs: one JSON object a line, from a closed list of fields, none of which can hold a person's data.

A field that is not in the list cannot be logged at all. Paths, query strings, headers, bodies, addresses of callers and
messages of exceptions are not in it.
"""

import logging
from typing import Any, Final, TextIO

from understudy.front.lines import OWN_FIELDS, places_of
from understudy.front.lines import configure as configure_lines

__all__ = ["FIELDS", "LEVELS", "EventLog", "configure", "places_of"]

FIELDS: Final = frozenset(
    {
        "answer",  # id of a question on data
        "cost",  # epsilon charged
        "data",  # one of the served data sets, never what a caller wrote
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
            record = self._logger.makeRecord(_NAME, level, "", 0, event, (), None, extra={OWN_FIELDS: fields})
            self._logger.handle(record)


def configure(stream: TextIO | None = None, level: str = "info") -> None:
    """Send our log and those of the libraries to ``stream`` (standard error), as JSON lines."""
    configure_lines(own=_NAME, stream=stream, level=LEVELS[level])
