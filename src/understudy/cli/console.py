"""What all commands share: how to answer a person or a machine, and how to show progress."""

import json as json_text
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from understudy.codec import to_plain
from understudy.errors import StoppedError

out = Console(highlight=False, soft_wrap=True)
errors_to = Console(stderr=True, highlight=False, soft_wrap=True)

NOT_FOR_RELEASE = "(computed on confidential data: not for release)"
STOPPED = "interrupted; nothing was written and nothing was charged. Run it again."

_PATIENCE = 1.0  # seconds before a bar appears: short runs stay quiet


def print_json(value: Any) -> None:
    """One JSON document on standard output, nothing else."""
    sys.stdout.write(json_text.dumps(to_plain(value), indent=2, ensure_ascii=False) + "\n")


def tell(document: Any, lines: Iterable[Any], *, json: bool) -> None:
    """Answer a machine with the document, or a person with the lines: texts as they are, and tables."""
    if json:
        print_json(document)
        return
    for line in lines:
        out.print(line, markup=False)


def wrote(paths: Iterable[Path]) -> Iterator[str]:
    """A line for each file that was written."""
    return (f"wrote {path}" for path in paths)


def warn(warnings: Iterable[str]) -> None:
    """What a reader should know, on standard error."""
    for warning in warnings:
        errors_to.print("[bold yellow]warning:[/] ", end="")
        errors_to.print(warning, markup=False)


def note(notes: Iterable[str], word: str = "note") -> None:
    """Remarks on standard error."""
    for text in notes:
        errors_to.print(f"{word}: {text}", markup=False)


def table(
    headings: Iterable[str], rows: Iterable[Iterable[str]], *, right: Iterable[str] = (), whole: Iterable[str] = ()
) -> Table:
    """A plain table; columns of ``right`` are aligned right, those of ``whole`` are never broken over lines."""
    shown = Table(box=None, pad_edge=False)
    to_the_right, unbroken = set(right), set(whole)
    for heading in headings:
        justify: Any = "right" if heading in to_the_right else "left"
        shown.add_column(heading, overflow="fold", justify=justify, no_wrap=heading in unbroken)
    for cells in rows:
        shown.add_row(*map(Text, cells))
    return shown


@contextmanager
def progress(*, quiet: bool) -> "Iterator[Callable[[str, int, int], None] | None]":
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
def _bar(*, quiet: bool) -> "Iterator[Callable[[str, int, int], None] | None]":
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
