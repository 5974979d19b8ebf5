"""The same recipe on the same tables, again and again, on as many cores as there are.

Each run has a key of its own, drawn beforehand from one stream, so that what a run does depends neither on the number
of processes nor on their order.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from typing import Any

from understudy.errors import RefusalError
from understudy.mechanisms.stream import Stream, StreamKey
from understudy.sources.base import Report, Source
from understudy.synth.methods.plugs import PLUGS
from understudy.synth.processes import helper_processes
from understudy.synth.recipe import Fitted, Recipe

See = Callable[[Fitted, int], Any]
"""What is kept of one run, given what was fitted and the number of rows; it must survive a trip to another process."""

_WARM = 1.0
"""Seconds of runs in this process before anything is decided: the first run compiles."""
_WORTH = 10.0
"""Seconds of work left below which starting other processes does not pay."""
_PIECES = 40


@dataclass(frozen=True, kw_only=True, eq=False)
class _Task:
    """Some runs on one table; it travels to another process and nowhere else."""

    recipe: Recipe
    source: Source
    rows: int
    see: See
    keys: tuple[StreamKey, ...]


def _work(task: _Task) -> list[Any]:
    found = []
    for key in task.keys:
        fitted = task.recipe.fit(task.source, stream=Stream(key=key))
        found.append(task.see(fitted, task.rows))
    return found


def repeated(
    recipe: Recipe,
    tables: Sequence[Source],
    *,
    rows: int,
    runs: int,
    see: See,
    stream: Stream,
    processes: int = 1,
    seconds: float | None = None,
    label: str,
    report: Report | None = None,
) -> list[list[Any]]:
    """What was seen of ``runs`` runs on each of the tables, table by table.

    With more than one process the caller's main module must be importable, as Python's own ``spawn`` demands. If the
    whole would take longer than ``seconds``, it is refused once that is known.
    """
    if isinstance(recipe, PLUGS):
        recipe = replace(recipe, processes=1)  # the runs share the cores already
    total = runs * len(tables)
    keys = [stream.fresh_key() for _ in range(total)]

    def task(start: int, stop: int) -> _Task:
        return _Task(
            recipe=recipe,
            source=tables[start // runs],
            rows=rows,
            see=see,
            keys=tuple(keys[start:stop]),
        )

    found: list[Any] = []

    def tell(new: Sequence[Any]) -> None:
        found.extend(new)
        if report:
            report(label, len(found), total)

    tell(_work(task(0, 1)))  # compiles, loads libraries: says nothing about the pace
    began = time.perf_counter()
    while len(found) < total and (time.perf_counter() - began < _WARM or len(found) < 2):
        tell(_work(task(len(found), len(found) + 1)))
    left = (time.perf_counter() - began) / max(len(found) - 1, 1) * (total - len(found))
    helpers = processes if left > _WORTH else 1
    if seconds is not None and left / helpers > seconds:
        raise RefusalError(
            f"{total:,} runs of {recipe.name} would take about {left / helpers / 60:.0f} minutes here, more than the "
            f"{seconds / 60:.0f} that are spent unasked; name a number of runs (--shadow-runs) to have them "
            "all the same."
        )
    for new in _pieces(_cut(len(found), total, runs, task), helpers):
        tell(new)
    return [found[start : start + runs] for start in range(0, total, runs)]


def _cut(start: int, total: int, runs: int, task: Callable[[int, int], _Task]) -> list[_Task]:
    """What is left, in pieces that do not reach from one table to the next."""
    step = max(1, min((total - start) // _PIECES, 64))
    pieces = []
    while start < total:
        stop = min(start + step, (start // runs + 1) * runs)
        pieces.append(task(start, stop))
        start = stop
    return pieces


def _pieces(tasks: Sequence[_Task], processes: int) -> Iterator[list[Any]]:
    if processes == 1 or len(tasks) < 2:
        yield from map(_work, tasks)
        return
    try:
        with helper_processes(processes) as spread:
            yield from spread(_work, tasks)
    except BrokenProcessPool:
        raise RefusalError(
            "a helper process was ended from outside, as systems do that run out of memory; use a smaller table, "
            "or fewer rows."
        ) from None
