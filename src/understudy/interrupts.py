"""Signals that wait: between "nothing" and "everything" nobody is interrupted, and no interrupt is forgotten."""

import signal
import threading
from _thread import interrupt_main
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_HELD = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C and SIGTERM back until the block has ended, then let them in, one of them if several came."""
    waiting: list[int] = []
    try:
        with _collected(waiting):
            yield
    finally:
        if waiting:
            signal.raise_signal(waiting[0])


@contextmanager
def interrupts_put_off() -> Iterator[None]:
    """For finalizers, where Python swallows what is raised: signals that came are sent again a moment later."""
    waiting: list[int] = []
    try:
        with _collected(waiting):
            yield
    finally:
        if waiting:
            threading.Timer(0.01, interrupt_main, waiting[:1]).start()


@contextmanager
def _collected(waiting: list[int]) -> Iterator[None]:
    """Put the signals that arrive during the block into ``waiting``; they do not interrupt it."""

    def wait(number: int, _frame: FrameType | None) -> None:
        waiting.append(number)

    before = {}
    try:
        for number in _HELD:
            before[number] = signal.signal(number, wait)
    except ValueError:  # not the main thread: Python delivers no signal here
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
