"""A signal that arrives in a finalizer is heard a moment later, and what the finalizer does is done to its end."""

import signal
import sys
import time
import weakref
from importlib import import_module

import pytest

from understudy.interrupts import interrupts_held, interrupts_put_off, not_while_importing


class Thing:
    pass


def test_a_finalizer_ends_its_work_and_the_interrupt_is_heard():
    done = []

    def forget() -> None:
        with interrupts_put_off():
            signal.raise_signal(signal.SIGINT)
            done.append("removed")

    thing = Thing()
    weakref.finalize(thing, forget)
    del thing
    assert done == ["removed"]
    with pytest.raises(KeyboardInterrupt):
        time.sleep(5)


@pytest.mark.parametrize("holding", [interrupts_held, interrupts_put_off])
def test_an_exception_in_the_block_does_not_lose_the_interrupt(holding):
    with pytest.raises(KeyboardInterrupt):
        try:
            with holding():
                signal.raise_signal(signal.SIGINT)
                raise ValueError
        except ValueError:
            time.sleep(5)


def test_handlers_are_what_they_were():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with interrupts_put_off():
        assert signal.getsignal(signal.SIGINT) is not before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_signal_never_strikes_the_import_machinery(monkeypatch):
    """There it could leave the lock of all imports held; it is heard a moment later instead."""
    taking_the_lock = []

    def watch(frame, _event, _argument):
        if frame.f_code.co_name == "_get_module_lock":
            taking_the_lock.append(frame)

    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    sys.setprofile(watch)
    try:
        import_module("colorsys")
    finally:
        sys.setprofile(None)
    handle = not_while_importing(signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        handle(signal.SIGINT, sys._getframe())
    handle(signal.SIGINT, taking_the_lock[0])
    with pytest.raises(KeyboardInterrupt):
        time.sleep(5)
