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


def in_threads(
    starts: range,
    rows_each: int,
    work: Callable[[int, WordPool, npt.NDArray[np.int64]], None],
    stream: Stream,
    threads: int | None,
    report: Callable[[int, int], None] | None,
    rows: int,
) -> None:
    """Deal the blocks out to threads in contiguous runs; stop all of them when one fails or the user interrupts."""
    count = min(threads or os.cpu_count() or 1, max(1, len(starts)))
    runs = np.array_split(np.array(starts, dtype=np.int64), count)
    stopped = threading.Event()
    progress, lock = [0], threading.Lock()
    pools = [WordPool(stream.spawn()) for _ in runs]

    def go(run: npt.NDArray[np.int64], pool: WordPool) -> None:
        keys = np.empty(BLOCK, dtype=np.int64)
        for start in run:
            if stopped.is_set():
                return
            work(int(start), pool, keys)
            with lock:
                progress[0] = min(rows, progress[0] + rows_each)
                if report:
                    report(progress[0], rows)

    if count == 1:
        go(runs[0], pools[0])
        return
    with ThreadPoolExecutor(count) as executor:
        try:
            for future in [executor.submit(go, run, pool) for run, pool in zip(runs, pools, strict=True)]:
                future.result()
        except BaseException:
            stopped.set()
            raise
