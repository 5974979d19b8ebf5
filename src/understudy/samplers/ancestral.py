"""Rows from a directed network: every column drawn once, after its parents."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from understudy.mechanisms.stream import Stream
from understudy.samplers.gibbs import ConditionalSampler
from understudy.samplers.threads import BLOCK, WordPool, in_threads


def draw_ancestral(
    sampler: ConditionalSampler,
    order: Sequence[int],
    *,
    rows: int,
    stream: Stream,
    report: Callable[[int, int], None] | None = None,
    threads: int | None = None,
) -> list[npt.NDArray[np.unsignedinteger]]:
    """``rows`` independent records; ``order`` lists the columns, parents before children."""
    drawn = [np.zeros(rows, dtype=sampler.code_kind) for _ in order]

    def work(start: int, pool: WordPool, keys: npt.NDArray[np.int64]) -> None:
        block = [column[start : start + BLOCK] for column in drawn]
        for column in order:
            sampler.draw(column, sampler.slots(column, block, keys), pool, block[column], block)

    in_threads(range(0, rows, BLOCK), BLOCK, work, stream, threads, report, rows)
    return drawn
