"""What all commands share: how to print, how to fail, how to show progress."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeRemainingColumn

from understudy.errors import StoppedError

if TYPE_CHECKING:
    from understudy.sources.base import Report

out = Console(highlight=False, soft_wrap=True)
errors_to = Console(stderr=True, highlight=False, soft_wrap=True)

_PATIENCE = 1.0  # seconds before a bar appears: short runs stay quiet


def print_json(value: Any) -> None:
    """One JSON document on standard output, nothing else."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


STOPPED = "interrupted; nothing was written and nothing was charged. Run it again."


@contextmanager
def progress(*, quiet: bool) -> "Iterator[Report | None]":
    """A bar with the time left on standard error, once the work has taken a second."""
    try:
        with _bar(quiet=quiet) as report:
            yield report
    except KeyboardInterrupt:
        raise StoppedError(STOPPED) from None
    except RuntimeError as reason:
        if "Query interrupted" not in str(reason):  # DuckDB's word for the same key
            raise
        raise StoppedError(STOPPED) from None


@contextmanager
def _bar(*, quiet: bool) -> "Iterator[Report | None]":
    if quiet or not errors_to.is_terminal:
        yield None
        return
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(compact=True),
        console=errors_to,
        transient=True,
    )
    started = time.monotonic()
    tasks: dict[str, TaskID] = {}

    def report(step: str, done: int, total: int) -> None:
        if step not in tasks:
            tasks[step] = bar.add_task(step, total=total)
        bar.update(tasks[step], completed=done, total=total)
        if not bar.live.is_started and time.monotonic() - started > _PATIENCE:
            bar.start()

    try:
        yield report
    finally:
        if bar.live.is_started:
            bar.stop()
