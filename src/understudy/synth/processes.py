"""Helper processes that ignore Ctrl-C, so that only the main process handles it."""

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

_Map = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]


@contextmanager
def helper_processes(count: int) -> Iterator[_Map]:
    """A ``map`` over new processes that share nothing with our threads; whatever ends it early ends them too.

    A terminal sends Ctrl-C to all processes at once, and each helper would print a traceback of its own. They are
    therefore started with the signal blocked, which they inherit; it stays pending for us meanwhile.
    """
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:

        def spread(work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
            with _deaf():
                return pool.map(work, tasks)  # hands out every task, and so starts every process

        try:
            yield spread
        except BaseException:
            running = list((getattr(pool, "_processes", None) or {}).values())
            for item in list((getattr(pool, "_pending_work_items", None) or {}).values()):
                # Python 3.11 tells cancelled work that its pool broke, which raises in a thread of the pool
                item.future.set_exception = _nobody_listens
            pool.shutdown(wait=False, cancel_futures=True)
            for process in running:
                process.terminate()
            raise


def _nobody_listens(_: BaseException | None) -> None:
    """In the place of telling a future how it ended."""


@contextmanager
def _deaf() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
