"""Signals that wait: between "nothing" and "everything" nobody is interrupted, and no interrupt is forgotten."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["interrupts_held"]

_HELD = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C and SIGTERM back until the block has ended, then let them in, one of them if several came."""
    waiting: list[int] = []

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
        if waiting:
            signal.raise_signal(waiting[0])
