"""Gibbs sweeps over conditional tables, and the chains with reset.

Rows are independent of each other, so they are worked through in blocks that fit the processor's cache, column by
column, and ranges of rows go to different threads with streams of their own.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from understudy.blocks.keys import KeyFunction
from understudy.codebook import Codebook
from understudy.codebook.constraints import Allowed, Step
from understudy.mechanisms.smoothing import Weights
from understudy.mechanisms.stream import Stream
from understudy.samplers.kernels import SCAN_LEVELS, LookUp, draw_by_halving, draw_by_scan, mark_visits
from understudy.samplers.threads import BLOCK, WordPool, in_threads
from understudy.samplers.within import draw_within, fill_sets, outside_of
from understudy.sources.tables import code_type

Codes = npt.NDArray[np.unsignedinteger]


class ConditionalSampler:
    """Turns opened conditional tables into rows of codes.

    ``order`` is the order in which the columns of a row are drawn; each is drawn within what the rules allow after
    those before it (``allowed``, by default the codebook's own), so that every finished sweep leaves rows that break
    none. ``virtual`` says that the last row of each table holds the prior alone, as on route S.
    """

    def __init__(
        self,
        book: Codebook,
        keys: Sequence[KeyFunction],
        weights: Sequence[Weights],
        *,
        order: Sequence[int] | None = None,
        virtual: bool = False,
        allowed: Allowed | None = None,
    ) -> None:
        self._book = book
        self._virtual = virtual
        self._steps = (allowed or book.allowed).plan(range(len(keys)) if order is None else order)
        self._keys = keys
        self.code_kind = code_type(max(book.sizes))
        self._weights = weights
        self._reads = [[book.position(name) for name in key.reads] for key in keys]
        self._outside = [None if step is None else self._left_out(step) for step in self._steps]
        self._look_ups = [None if w.keys is None else LookUp(w.keys, w.unseen) for w in weights]

    def sweep(
        self,
        seeds: Sequence[Codes],
        *,
        sweeps: int,
        stream: Stream,
        report: Callable[[int, int], None] | None = None,
        threads: int | None = None,
    ) -> list[Codes]:
        """``sweeps`` Gibbs sweeps from each seed row (Eq 4 of the PeGS paper when there is one)."""
        rows = [np.array(seed, dtype=self.code_kind) for seed in seeds]
        starts = range(0, len(rows[0]), BLOCK)

        def work(start: int, source: WordPool, keys: npt.NDArray[np.int64]) -> None:
            block = [column[start : start + BLOCK] for column in rows]
            for _ in range(sweeps):
                for column in range(len(block)):
                    slots = self.slots(column, block, keys)
                    self.draw(column, slots, source, block[column], block)

        in_threads(starts, BLOCK, work, stream, threads, report, len(rows[0]))
        return rows

    def sweep_with_reset(
        self,
        seeds: Sequence[Codes],
        *,
        block_size: int,
        stream: Stream,
        report: Callable[[int, int], None] | None = None,
        threads: int | None = None,
    ) -> list[Codes]:
        """PeGS.rs: from each seed a chain of ``block_size`` rows; a cell is reset to the prior once drawn from.

        Every chain starts from fresh tables. All rows of all chains are released, chain after chain.
        """
        chains = len(seeds[0])
        kind = self.code_kind
        out = [np.empty(chains * block_size, dtype=kind) for _ in seeds]
        together = max(1, BLOCK // block_size)

        def work(start: int, source: WordPool, keys: npt.NDArray[np.int64]) -> None:
            state = [np.array(seed[start : start + together], dtype=kind) for seed in seeds]
            number = len(state[0])
            owners = np.arange(number, dtype=np.int64)
            visits = [_VisitedSet(number * block_size) for _ in state]
            for step in range(block_size):
                for column in range(len(state)):
                    slots = self.slots(column, state, keys)
                    visits[column].mark(slots, owners, self._weights[column].unseen)
                    self.draw(column, slots, source, state[column], state)
                where = slice(start * block_size + step, (start + number) * block_size, block_size)
                for target, column_state in zip(out, state, strict=True):
                    target[where] = column_state

        in_threads(range(0, chains, together), together * block_size, work, stream, threads, report, len(out[0]))
        return out

    def slots(self, column: int, block: Sequence[Codes], keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Row of column's table that each record of the block reads, written into the front of ``keys``."""
        slots = keys[: len(block[0])]
        self._keys[column].fill([block[position] for position in self._reads[column]], slots)
        look_up = self._look_ups[column]
        if look_up is not None:
            look_up.replace(slots)
        return slots

    def draw(
        self, column: int, slots: npt.NDArray[np.int64], source: WordPool, out: Codes, block: Sequence[Codes]
    ) -> None:
        """One exact draw per record of the block, within what the rules allow."""
        cumulative = self._weights[column].cumulative
        step = self._steps[column]
        if step is not None:
            self._draw_within(step, slots, source, out, block)
            return
        draw = draw_by_scan if cumulative.shape[1] <= SCAN_LEVELS else draw_by_halving
        source.run(lambda done, position: draw(slots, cumulative, source.words, position, out, done), len(slots))

    def _left_out(self, step: Step) -> npt.NDArray[np.uint64]:
        """Virtual records outside each set of levels; none where the tables are released ones."""
        if not self._virtual:
            return np.zeros(len(step.choices.levels), dtype=np.uint64)
        table = self._weights[step.column]
        virtual = np.diff(table.cumulative[table.unseen], prepend=np.uint64(0))
        return np.asarray(outside_of(step, virtual))

    def _draw_within(
        self, step: Step, slots: npt.NDArray[np.int64], source: WordPool, out: Codes, block: Sequence[Codes]
    ) -> None:
        sets = np.empty(len(slots), dtype=np.int64)
        fill_sets(step, block, sets)
        table = self._weights[step.column]
        prior = table.unseen if self._virtual else -1
        stage = np.zeros(1, dtype=np.int64)
        weights = (table.cumulative, self._outside[step.column], prior)
        source.run(
            lambda done, position: draw_within(
                slots, sets, *step.choices.runs, *weights, source.words, position, out, done, stage
            ),
            len(slots),
        )


class _VisitedSet:
    """Which rows of one table each chain has drawn from."""

    def __init__(self, most: int) -> None:
        size = 1 << max(4, (2 * most).bit_length())
        self._table = np.full(size, -1, dtype=np.int64)
        self._owners = np.zeros(size, dtype=np.int64)

    def mark(self, slots: npt.NDArray[np.int64], chains: npt.NDArray[np.int64], unseen: int) -> None:
        mark_visits(slots, chains, self._table, self._owners, unseen)
