"""An engine's own progress, passed on."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from understudy.sources.base import Report


@contextmanager
def watched(connection: Any, report: Report | None) -> Iterator[None]:
    """Report the engine's own progress while it reads, twice a second."""
    if report is None or not hasattr(connection.con, "query_progress"):
        yield
        return
    finished = threading.Event()

    def watch() -> None:
        while not finished.wait(0.5):
            done = connection.con.query_progress()
            if done >= 0:
                report("reading", int(done), 100)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
        report("reading", 100, 100)
    finally:
        finished.set()
        watcher.join()
