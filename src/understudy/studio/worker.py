"""The process that does the work of one job: ``python -m understudy.studio.worker FOLDER LOCK``.

Its folder and its working directory are all that it knows. It reports steps, notes its charge as soon as the account
has it, and leaves one result. An interrupt ends it as Ctrl-C ends a command: the spine gives back what nobody saw.
"""

import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from understudy.errors import StoppedError, UnderstudyError
from understudy.files import Access, append_to, write_file
from understudy.interrupts import not_while_importing
from understudy.studio.jobs import CANCEL, CHARGE, PID, PROGRESS, REQUEST, RESULT, JobState
from understudy.studio.kept import keep, kept

_OFTEN = 0.2
"""Seconds between two lines about one step."""


class Reporter:
    """Writes steps down, not too often, and always the first and the last line of each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: dict[str, float] = {}

    def __call__(self, step: str, done: int, total: int) -> None:
        """As every use case reports."""
        now = time.time()
        if done < total and now - self._last.get(step, 0.0) < _OFTEN:
            return
        self._last[step] = now
        line = json.dumps({"at": now, "step": str(step), "done": int(done), "total": int(total)})
        append_to(self._path, line.encode() + b"\n")


def main(folder: Path, lock: int) -> None:
    """Do the work and leave a result; what kills the process leaves none."""
    os.register_at_fork(after_in_child=lambda: os.close(lock))  # helpers of ours do not keep a dead job alive
    raising = not_while_importing(signal.default_int_handler)
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, raising)
        _note(folder / PID, str(os.getpid()))
        if (folder / CANCEL).exists():
            raise KeyboardInterrupt
        result = _work(folder)
    except (KeyboardInterrupt, StoppedError):
        result = {"state": JobState.CANCELLED}
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # it has ended; how it ended is written down in any case
    keep(folder / RESULT, result)


def _work(folder: Path) -> dict[str, Any]:
    from understudy.facade.peeks import read_databases_alone
    from understudy.facade.releases import told_of_charges
    from understudy.studio.work import KINDS

    read_databases_alone()
    try:
        request = kept(folder / REQUEST)
        report = Reporter(folder / PROGRESS)
        with told_of_charges(lambda charge: keep(folder / CHARGE, {"number": charge.number})):
            told = KINDS[request["kind"]](request["arguments"], report)
        return {"state": JobState.DONE, "told": told}
    except StoppedError:
        raise
    except UnderstudyError as reason:
        return {"state": JobState.REFUSED, "sentence": " ".join([str(reason), *getattr(reason, "__notes__", ())])}
    except Exception as error:  # its words may quote the data: only its kind and place are kept
        if "Query interrupted" in str(error):  # DuckDB's word for Ctrl-C
            raise KeyboardInterrupt from None
        frames = traceback.extract_tb(error.__traceback__)[-4:]
        places = ", ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
        return {"state": JobState.FAILED, "sentence": f"{type(error).__name__} at {places}"}


def _note(path: Path, text: str) -> None:
    write_file(path, text, Access.OWNER)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
