"""How a command ends: one sentence, one exit code, and never a traceback on somebody's screen.

0 done; 1 the answer is no; 2 mend the request; 3 `audit` refuted a promise; 70 a mistake of ours; 130 interrupted;
143 told to stop; 141 nobody reads the output, or it cannot be written.
"""

import contextlib
import datetime as dt
import errno
import os
import re
import signal
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import typer

from understudy.cli.console import STOPPED
from understudy.cli.declared import DeclaredCommand
from understudy.errors import (
    AccountError,
    BudgetError,
    MissingExtraError,
    ParameterError,
    RefusalError,
    StoppedError,
    UnderstudyError,
)
from understudy.facade import releases
from understudy.interrupts import not_while_importing

NO, MEND, OURS, INTERRUPTED, UNREAD, TERMINATED = 1, 2, 70, 130, 141, 143
TRACEBACK_VARIABLE = "UNDERSTUDY_TRACEBACK"

_NAMED = re.compile(r"`([a-z_]+)(?:=True)?`")
_SET = re.compile(r"\b([a-z_]+) = '([a-z-]+)'")


class Terminated(KeyboardInterrupt):
    """SIGTERM, on its way through the same doors as Ctrl-C: what was begun is tidied up."""


@contextlib.contextmanager
def stop_on_signals() -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl-C does; a child process that inherits this dies of it as usual.

    Neither strikes Python's import machinery, whose locks would stay behind.
    """
    owner = os.getpid()

    def stop(number: int, _frame: FrameType | None) -> None:
        if os.getpid() != owner:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        raise Terminated

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        signal.signal(signal.SIGTERM, not_while_importing(stop))
    except ValueError:  # not the main thread
        yield
        return
    if before[signal.SIGINT] is signal.default_int_handler:  # a caller who ignores Ctrl-C goes on doing so
        signal.signal(signal.SIGINT, not_while_importing(signal.default_int_handler))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def answers_that_end() -> Iterator[None]:
    """Where an answer is asked for, Ctrl-C stops as anywhere else, and the end of the input is said."""
    try:
        yield
    except typer.Abort as ended:
        if isinstance(ended.__context__, KeyboardInterrupt):
            raise StoppedError(STOPPED) from None
        raise ParameterError(
            "the input ended where an answer was asked for; nothing was written. Call it at a terminal, or give the "
            "answers as options (see --help)."
        ) from None


class Started:
    """What was there when a command began, to say truly what an interrupt left behind."""

    def __init__(self, words: Sequence[str]) -> None:
        self._when = dt.datetime.now(dt.UTC).replace(microsecond=0)  # accounts write down whole seconds
        self._out = _given(words, "--out", "-o")
        self._account = _given(words, "--account")
        self._was_there = self._out is not None and _stamp(Path(self._out))

    def interrupted(self) -> str:
        """One sentence about what is there now and what is charged."""
        charged = self._charged()
        if self._out is not None and _stamp(Path(self._out)) not in (None, self._was_there):
            paid = ", and it is charged" if charged else ""
            return f"interrupted after {self._out!r} was written: it is whole{paid}. There is no need to run it again."
        if charged is None:
            return "interrupted; nothing was written. See with `understudy account show` whether it was charged."
        if charged:
            return (
                f"interrupted; nothing was written, but {self._account!r} stays charged: its price was reserved and "
                "noise may have been drawn. Running it again is charged again."
            )
        return STOPPED

    def _charged(self) -> bool | None:
        """Whether the account that was named holds a charge of this run; None if it cannot be asked."""
        if self._account is None:
            return False
        try:
            return bool(releases.charges_since(self._account, self._when))
        except (UnderstudyError, OSError, ValueError, TypeError):
            return None


def _given(words: Sequence[str], *names: str) -> str | None:
    """The value of an option, as typed."""
    for place, word in enumerate(words):
        for name in names:
            if word == name and place + 1 < len(words):
                return words[place + 1]
            if name.startswith("--") and word.startswith(f"{name}="):
                return word.partition("=")[2]
    return None


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_mtime_ns


def code_of(reason: UnderstudyError) -> int:
    """The exit code of a mistake or a refusal."""
    if isinstance(reason, StoppedError):
        return TERMINATED if isinstance(reason.__context__, Terminated) else INTERRUPTED
    if isinstance(reason, AccountError):
        return MEND
    return NO if isinstance(reason, BudgetError | MissingExtraError | RefusalError) else MEND


def as_typed(sentence: str, command: Any, words: Sequence[str]) -> str:
    """The sentence with options spelled as on the command line: `block_size` becomes --block-size."""
    flags = _flags(command, words)

    def flag(match: re.Match[str]) -> str:
        return flags.get(match[1], match[0])

    def flag_and_value(match: re.Match[str]) -> str:
        return f"{flags[match[1]]} {match[2]}" if match[1] in flags else match[0]

    return _SET.sub(flag_and_value, _NAMED.sub(flag, sentence))


def _flags(command: Any, words: Sequence[str]) -> Mapping[str, str]:
    """Python name of every option of the command that was called, and how it is typed."""
    for word in words:
        inner = getattr(command, "commands", {})
        if word in inner:
            command = inner[word]
    for hidden in ("files",):  # `understudy reconstruct FILE`: the group's own action
        command = getattr(command, "commands", {}).get(hidden, command)
    if isinstance(command, DeclaredCommand):
        with contextlib.suppress(MissingExtraError):  # then that is what the sentence is about
            command.take_flags(None)
    flags = {}
    for option in getattr(command, "params", ()):
        spelled = [text for text in option.opts if text.startswith("--")]
        if spelled:
            flags[option.name] = spelled[0]
    if "codebook" in flags:
        flags["book"] = flags["codebook"]  # as Python calls it
    return flags


def our_mistake(error: BaseException) -> str:
    """What may be said of an error that nobody foresaw: where, and never its words, which may quote the data."""
    places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)[-4:]]
    if isinstance(error, MemoryError):
        return (
            "the memory of this machine does not suffice; ask for fewer rows, or draw them in parts with --engine "
            "local. Nothing was written."
        )
    return (
        f"understudy made a mistake ({type(error).__name__} at {', '.join(places)}); please report this line. "
        f"{TRACEBACK_VARIABLE}=1 shows more, which may quote confidential values."
    )


def open_streams() -> None:
    """Let nothing that is printed be our mistake: streams that were closed swallow it, strange letters are spelled."""
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - open to the end
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def impossible_place(error: Exception) -> str:
    """What any command may meet and none can do without: a current folder, and paths that the system takes."""
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return f"the path {str(error.filename)[:60]!r}… is longer than this system allows; name a shorter one."
    if isinstance(error, FileNotFoundError):
        try:
            Path.cwd()
        except FileNotFoundError:
            return "the current folder was removed; change to one that is there."
    return ""


def flush_quietly() -> None:
    """Let the interpreter end without a word about output that cannot be written."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
