"""Signals that wait: between "nothing" and "everything" nobody is interrupted, and no interrupt is forgotten."""

import signal
import time
from _thread import get_ident, interrupt_main, start_new_thread
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

Handler = Callable[[int, FrameType | None], None]

_HELD = (signal.SIGINT, signal.SIGTERM)
_IMPORTING = "<frozen importlib._bootstrap>"
_A_MOMENT = 0.01


@contextmanager
def interrupts_held(let_in: Callable[[int], object] = signal.raise_signal) -> Iterator[None]:
    """Hold Ctrl-C and SIGTERM back until the block has ended, then let them in, one of them if several came."""
    waiting: list[int] = []
    try:
        with _collected(waiting):
            yield
    finally:
        if waiting:
            let_in(waiting[0])


def interrupts_put_off() -> AbstractContextManager[None]:
    """For finalizers, where Python swallows what is raised: signals that came are sent again a moment later."""
    return interrupts_held(_send_again)


def not_while_importing(raising: Handler) -> Handler:
    """The handler, put off while Python's import machinery itself is at work.

    It takes the lock of all imports before its `try`: what is raised in between leaves that lock held for ever, and
    the next import in another thread waits for it without end.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        if frame is not None and frame.f_code.co_filename == _IMPORTING:
            _send_again(number)
        else:
            raising(number, frame)

    return handle


def _send_again(number: int) -> None:
    """In a moment, and by a bare thread: `threading` takes locks that the interrupted code may hold."""
    main = get_ident()  # Python runs handlers in the main thread

    def send() -> None:
        time.sleep(_A_MOMENT)
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(main, number)  # ends a wait in the operating system too
        else:
            interrupt_main(signal.Signals(number))

    start_new_thread(send, ())


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
