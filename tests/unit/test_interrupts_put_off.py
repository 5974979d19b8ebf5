"""A signal that arrives in a finalizer is heard a moment later, and what the finalizer does is done to its end."""

import signal
import time
import weakref

import pytest

from understudy.interrupts import interrupts_held, interrupts_put_off


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
