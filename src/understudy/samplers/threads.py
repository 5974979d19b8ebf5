"""Blocks of rows dealt out to threads, each with a stream of its own."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from understudy.mechanisms.stream import Stream

BLOCK = 1 << 14
"""Rows that are worked through together: their columns fit the processor's cache."""


class WordPool:
    """Secure words in one reusable buffer. A rejected word is gone; the next attempt takes a fresh one."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.words = np.empty(1 << 16, dtype=np.uint64)
        self.position = len(self.words)

    def refill(self) -> None:
        """Start over with fresh words."""
        self._stream.fill(self.words)
        self.position = 0

    def run(self, step: Callable[[int, int], tuple[int, int]], items: int) -> None:
        """Drive a kernel: ``step(done, position)`` goes on from there and returns (items done, next position)."""
        done = 0
        while True:
            done, self.position = step(done, self.position)
            if done == items:
                return
            self.refill()


def in_threads(
    starts: range,
    rows_each: int,
    work: Callable[[int, WordPool, npt.NDArray[np.int64]], None],
    stream: Stream,
    threads: int | None,
    report: Callable[[int, int], None] | None,
    rows: int,
) -> None:
    """Deal the blocks out to threads in contiguous runs, each with a stream of its own."""
    count = min(threads or os.cpu_count() or 1, max(1, len(starts)))
    runs = np.array_split(np.array(starts, dtype=np.int64), count)
    pools = [WordPool(stream.spawn()) for _ in runs]
    progress = Progress(rows, report)

    def go(number: int, stopped: threading.Event) -> None:
        keys = np.empty(BLOCK, dtype=np.int64)
        for start in runs[number]:
            if stopped.is_set():
                return
            work(int(start), pools[number], keys)
            progress.add(rows_each)

    run_all(go, count, count)


class Progress:
    """Rows that are done, counted from several threads."""

    def __init__(self, rows: int, report: Callable[[int, int], None] | None) -> None:
        self._rows, self._report, self._done = rows, report, 0
        self.lock = threading.Lock()

    def add(self, rows: int) -> None:
        """So many rows more."""
        with self.lock:
            self._done = min(self._rows, self._done + rows)
            if self._report:
                self._report(self._done, self._rows)


def run_all(work: Callable[[int, threading.Event], None], items: int, threads: int) -> None:
    """``work(item, stopped)`` for all items; ``stopped`` is set when one of them fails or the user interrupts."""
    stopped = threading.Event()
    if threads == 1:
        for item in range(items):
            work(item, stopped)
        return
    with ThreadPoolExecutor(threads) as executor:
        try:
            for future in [executor.submit(work, item, stopped) for item in range(items)]:
                future.result()
        except BaseException:
            stopped.set()
            raise
