"""The holder's log: everything that happened, with the words of errors, which may quote rows. Nobody else reads it."""

import datetime as dt
import json
import secrets
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.errors import UnderstudyError
from understudy.files import append_to

NAME = "confidential.log"

UNWRITTEN = (
    "the confidential log of the server cannot be written, so nothing is told until the holder has seen to it: is the "
    "disk full, or was its folder taken away?"
)


class LogError(UnderstudyError):
    """Nothing can be written down; its words name neither the file nor what was to be written."""


@dataclass(frozen=True, kw_only=True)
class HolderLog:
    """Lines of JSON in a file of its owner (0600)."""

    path: Path

    def say(self, what: str, **facts: Any) -> str:
        """Write a line; gives its reference, a random word by which others may point to it."""
        reference = secrets.token_hex(4)
        when = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        line = {"when": when, "reference": reference, "what": what, **facts}
        written = json.dumps(line, ensure_ascii=False, default=str) + "\n"
        try:  # names of files may hold bytes that are no text
            append_to(self.path, written.encode("utf-8", "backslashreplace"))
        except (OSError, UnderstudyError):
            raise LogError(UNWRITTEN) from None
        return reference

    def failed(self, what: str, error: BaseException) -> str:
        """Write down an error with everything it says."""
        return self.say(
            what,
            error=type(error).__name__,
            words=" ".join([str(error), *getattr(error, "__notes__", ())]),
            traceback=traceback.format_exception(error),
        )
