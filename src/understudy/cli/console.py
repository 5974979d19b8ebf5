"""What all commands share: how to answer a person or a machine, and how to show progress."""

import json as json_text
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleOptions, RenderHook
from rich.control import Control
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from understudy.codec import to_plain
from understudy.errors import StoppedError

_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that a terminal acts upon, or that turn the order of others around; names of columns may hold them."""


def quoted(text: str) -> str:
    """The text with such characters as they are written in programs: nothing that is printed steers a terminal.

    >>> quoted("sex\\x1b[31m")
    'sex\\\\x1b[31m'
    """
    return _ACTING.sub(lambda found: repr(found[0])[1:-1], text)


class _Quoted:
    """Anything that is printed; its words are quoted, its colours and places are our own."""

    def __init__(self, shown: Any) -> None:
        self._shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self._shown, options):
            yield segment if segment.control else Segment(quoted(segment.text), segment.style)


class _Quoting(RenderHook):
    def process_renderables(self, renderables: list[Any]) -> list[Any]:
        return [shown if isinstance(shown, Control) else _Quoted(shown) for shown in renderables]


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, soft_wrap=True)
    console.push_render_hook(_Quoting())
    return console


out = _console(stderr=False)
errors_to = _console(stderr=True)

NOT_FOR_RELEASE = "(computed on confidential data: not for release)"
STOPPED = "interrupted; nothing was written and nothing was charged. Run it again."

_PATIENCE = 1.0  # seconds before a bar appears: short runs stay quiet


class UnwritableError(Exception):
    """Standard output takes nothing more, for example on a full disk."""


@contextmanager
def printing() -> Iterator[None]:
    """Around whatever writes to standard output: what fails there is the fault of neither request nor program."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as reason:
        raise UnwritableError(
            f"the output cannot be written ({reason.strerror}). What the command makes may be there and paid for; look "
            "before you run it again."
        ) from None


def print_json(value: Any) -> None:
    """One JSON document on standard output, nothing else."""
    plain = to_plain(value)
    text = json_text.dumps(plain, indent=2, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # a terminal of few letters, or a file name that is no text
        text = json_text.dumps(plain, indent=2)
    with printing():
        sys.stdout.write(_ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")  # the same JSON
        sys.stdout.flush()


def tell(document: Any, lines: Iterable[Any], *, json: bool) -> None:
    """Answer a machine with the document, or a person with the lines: texts as they are, and tables."""
    if json:
        print_json(document)
        return
    for line in lines:
        with printing():
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
