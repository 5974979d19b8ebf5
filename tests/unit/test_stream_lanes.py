"""No two streams of one key hold the same lane, whatever threads ask at once and whatever a fork interrupts."""

import multiprocessing
import os
import threading
import time

import pytest

from understudy.mechanisms.stream import Stream, _Lanes

THREADS = 16


class Slow(int):
    """A number that takes its time to be added to: other threads run between reading a lane and writing the next."""

    def __add__(self, other):
        time.sleep(0.002)
        return Slow(int(self) + other)


@pytest.mark.parametrize("make", [Stream.from_system, lambda: Stream.seeded(1)], ids=["secure", "seeded"])
def test_threads_that_spawn_at_once_get_streams_of_their_own(make):
    """Also from children: they share the lanes of their parent."""
    parent = make()
    child = parent.spawn()
    parent._lanes._next = Slow(parent._lanes._next)
    together, drawn = threading.Barrier(THREADS), []

    def spawn(number):
        together.wait()
        drawn.append(tuple((parent, child)[number % 2].spawn().words(4).tolist()))

    threads = [threading.Thread(target=spawn, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    drawn += [tuple(stream.words(4).tolist()) for stream in (parent, child)]
    assert len(drawn) == len(set(drawn)) == THREADS + 2


def _spawned(pipe, stream):
    pipe.send(stream.spawn().words(4).tolist())
    pipe.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process")
@pytest.mark.parametrize("make", [Stream.from_system, lambda: Stream.seeded(1)], ids=["secure", "seeded"])
def test_a_fork_in_the_middle_of_taking_a_lane_does_not_stop_the_child(make):
    """The lock is held at the moment of the fork, and in the child nobody is left who could release it."""
    context = multiprocessing.get_context("fork")
    stream = make()
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_spawned, args=(theirs, stream))
    with _Lanes._one_at_a_time:
        process.start()
    try:
        assert ours.poll(60), "the child waits for ever"
        there = ours.recv()
    finally:
        process.kill()
        process.join()
    here = stream.spawn().words(4).tolist()
    assert (here == there) is (not stream.is_secure)  # a seed repeats itself, a secure stream never does
