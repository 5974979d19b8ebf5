"""Gibbs chains over l-diverse blocks (step 3 of LUGS): many at once, and a stream of its own for every chunk.

Chunks, not threads, own the streams, so the same seed gives the same rows on any number of cores or processes.
"""

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.blocks.minhash import GOLDEN, NO_HASH, RecordMinHash, key_from, mixed
from understudy.blocks.nearest import BlockIndex, nearest_block
from understudy.codebook.constraints import Step
from understudy.compiled import kernel
from understudy.mechanisms.diverse_weights import UNIFORM
from understudy.mechanisms.l_diversity import DiverseTables
from understudy.mechanisms.stream import Stream, below, first_above
from understudy.samplers.threads import Progress, WordPool, run_all
from understudy.sources.tables import code_type

Codes = npt.NDArray[np.unsignedinteger]
_CHUNK = 1 << 14
_GROUP = 1 << 10
_SCAN_CELLS = 16
_ATTEMPTS = 16
_FREE = (np.zeros(0, dtype=np.int64), np.zeros((0, 1), dtype=np.bool_))


class DiverseSampler:
    """Turns opened l-diverse tables into rows of codes."""

    def __init__(
        self, tables: DiverseTables, hashing: RecordMinHash, bands: int, steps: Sequence[Step | None] = ()
    ) -> None:
        self.tables = tables
        self._steps = tuple(steps) or (None,) * len(tables.sizes)
        """How each column goes on within the rules of the codebook, in codebook order."""
        self._hashing = hashing
        self._index = BlockIndex.build(tables, hashing, bands)
        self._sizes = np.array(tables.sizes, dtype=np.int64)
        self._kind = code_type(max(tables.sizes))
        self.unseen = np.zeros(3, dtype=np.int64)
        """Draws so far, those whose key no record has, and those for which no block was near."""

    def draw(
        self,
        *,
        rows: int,
        sweeps: int,
        stream: Stream,
        report: Callable[[int, int], None] | None = None,
        threads: int | None = None,
    ) -> list[Codes]:
        """One chain per row from a uniform start; its state after ``sweeps`` sweeps is the row."""
        out = [np.empty(rows, dtype=self._kind) for _ in self.tables.sizes]
        starts = range(0, rows, _CHUNK)
        streams = [stream.spawn() for _ in starts]
        progress = Progress(rows, report)

        def work(number: int, stopped: threading.Event) -> None:
            if stopped.is_set():
                return
            pool, counted = WordPool(streams[number]), np.zeros(3, dtype=np.int64)
            start, end = starts[number], min(starts[number] + _CHUNK, rows)
            for begin in range(start, end, _GROUP):
                group = _Group(self, min(_GROUP, end - begin), pool, counted)
                for _ in range(sweeps):
                    group.sweep()
                for column, values in zip(out, group.state, strict=True):
                    column[begin : begin + len(values)] = values
            with progress.lock:
                self.unseen += counted
            progress.add(end - start)

        run_all(work, len(starts), threads or os.cpu_count() or 1)
        return out

    def trace(self, *, chains: int, sweeps: int, stream: Stream) -> Codes:
        """Every state of ``chains`` chains: shape (sweeps, columns, chains). For diagnostics, not for release."""
        group = _Group(self, chains, WordPool(stream.spawn()), self.unseen)
        seen = np.empty((sweeps, len(self.tables.sizes), chains), dtype=self._kind)
        for number in range(sweeps):
            group.sweep()
            seen[number] = group.state
        return seen


class _Group:
    """Chains that are worked through together, column by column, so that their tables' cache misses overlap."""

    def __init__(self, sampler: DiverseSampler, chains: int, pool: WordPool, counted: npt.NDArray[np.int64]) -> None:
        self._sampler = sampler
        self._pool = pool
        self._counted = counted
        hashing = sampler._hashing
        columns = len(hashing.sizes)
        self.state = np.zeros((columns, chains), dtype=sampler._kind)
        self._suffix = np.empty((columns + 1, hashing.hashes, chains), dtype=np.uint64)
        self._prefix = np.empty((hashing.hashes, chains), dtype=np.uint64)
        self._run(lambda *where: _scatter(self.state, sampler._sizes, pool.words, *where))

    def _run(self, step: Callable[[int, int, int], tuple[int, int, int]], first: int = 0, last: int = -1) -> None:
        """Until the columns from first to last of all chains are done; words that run out are replaced."""
        column, chain = first, 0
        while True:
            column, chain, self._pool.position = step(self._pool.position, column, chain)
            if column == (last if last >= 0 else len(self.state)):
                return
            self._pool.refill()

    def sweep(self) -> None:
        """Every column once, given all others."""
        sampler = self._sampler
        hashing = sampler._hashing
        _suffixes(self.state, hashing.tokens, hashing.offsets, self._suffix, self._prefix)
        if not any(sampler._steps):
            self._columns(0, len(self.state), _FREE)
            return
        for column, step in enumerate(sampler._steps):
            rules = _FREE if step is None else (step.sets(list(self.state)), step.choices.levels)
            self._columns(column, column + 1, rules)

    def _columns(self, first: int, last: int, rules: Any) -> None:
        """Draw some columns of all chains, within ``rules`` where they hold any."""
        sampler = self._sampler
        hashing, tables, index = sampler._hashing, sampler.tables, sampler._index
        hashes = (hashing.tokens, hashing.offsets, self._suffix, self._prefix)
        blocks = (sampler._sizes, tables.slots, tables.first, tables.blocks, tables.levels, tables.cumulative)
        near = (index.picked, index.starts, index.entries, index.copies)
        self._run(
            lambda *where: _sweep(
                self.state, hashes, blocks, near, self._counted, self._pool.words, last, *rules, *where
            ),
            first,
            last,
        )


@kernel
def _scatter(state: Any, sizes: Any, words: Any, position: int, column: int, chain: int) -> tuple[int, int, int]:
    """Uniform starts; they read no data."""
    while column < state.shape[0]:
        bound = np.uint64(sizes[column])
        while chain < state.shape[1]:
            pick, position = below(bound, words, position)
            if position < 0:
                return column, chain, len(words)
            state[column, chain] = pick
            chain += 1
        column += 1
        chain = 0
    return column, 0, position


@kernel
def _suffixes(state: Any, tokens: Any, offsets: Any, suffix: Any, prefix: Any) -> None:
    """Smallest hashes of the columns behind each one, as they are before the sweep."""
    columns, chains = state.shape
    hashes = tokens.shape[0]
    for number in range(hashes):
        for chain in range(chains):
            suffix[columns, number, chain] = NO_HASH
            prefix[number, chain] = NO_HASH
    for column in range(columns - 1, 0, -1):
        for number in range(hashes):
            for chain in range(chains):
                token = tokens[number, offsets[column] + state[column, chain]]
                suffix[column, number, chain] = min(suffix[column + 1, number, chain], token)


@kernel
def _sweep(
    state: Any,
    hashes: Any,
    blocks: Any,
    near: Any,
    counted: Any,
    words: Any,
    last: int,
    sets: Any,
    allowed: Any,
    position: int,
    column: int,
    chain: int,
) -> tuple[int, int, int]:
    """One Gibbs sweep up to a column; returns where it stopped, so that it can go on with fresh words.

    Where rules narrow a column (``sets`` is not empty), a level that is not allowed is drawn again, and after some
    attempts any allowed level is taken.
    """
    tokens, offsets, suffix, prefix = hashes
    sizes, slots, first, weights, levels, cumulative = blocks
    picked, starts, entries, copies = near
    while column < last:
        while chain < state.shape[1]:
            total = np.uint64(0)
            for number in range(len(tokens)):
                smallest = min(prefix[number, chain], suffix[column + 1, number, chain])
                total = mixed(total * np.uint64(GOLDEN) + smallest)
            block: Any = np.int64(slots[column, key_from(total, slots.shape[1])])
            unseen, lost = 0, 0
            if block < 0:
                unseen = 1
                block = nearest_block(
                    state[:, chain], column, picked[column], tokens, offsets, starts[column], entries, copies
                )
                if block < 0:
                    lost = 1
                    block = first[column + 1] - 1
            if len(sets):
                level, position = _draw_allowed(
                    weights[block], sizes[column], levels, cumulative, words, position, allowed[sets[chain]]
                )
            else:
                level, position = _draw_level(weights[block], sizes[column], levels, cumulative, words, position)
            if level < 0:
                return column, chain, position
            counted[0] += 1
            counted[1] += unseen
            counted[2] += lost
            state[column, chain] = level
            for number in range(len(tokens)):
                prefix[number, chain] = min(prefix[number, chain], tokens[number, offsets[column] + level])
            chain += 1
        column += 1
        chain = 0
    return column, 0, position


@kernel
def _draw_level(block: Any, size: int, levels: Any, cumulative: Any, words: Any, position: int) -> Any:
    """A level of the block, -1 when the words ran out, and how many words are used up."""
    virtual = block[0]
    pick, after = below(block[1], words, position)
    if after < 0:
        return np.int64(-1), len(words)
    smooth = virtual * np.uint64(size)
    if pick < smooth:
        return np.int64(pick // virtual), after
    return _level(pick - smooth, block[2], block[3], levels, cumulative), after


@kernel
def _draw_allowed(block: Any, size: int, levels: Any, cumulative: Any, words: Any, position: int, allowed: Any) -> Any:
    """The same within the levels that rules allow: drawn again while it is outside, and at last any allowed one."""
    for _ in range(_ATTEMPTS):
        level, position = _draw_level(block, size, levels, cumulative, words, position)
        if level < 0 or allowed[level]:
            return level, position
    number = np.uint64(0)
    for code in range(size):
        number += np.uint64(allowed[code])
    pick, position = below(number, words, position)
    if position < 0:
        return np.int64(-1), len(words)
    for code in range(size):
        if allowed[code]:
            if pick == 0:
                return np.int64(code), position
            pick -= np.uint64(1)
    return np.int64(0), position  # never: no set is empty


@kernel
def _level(pick: np.uint64, start: np.uint64, packed: np.uint64, levels: Any, cumulative: Any) -> Any:
    """The level of the pick-th weight among the real records."""
    record: Any = np.int64(pick >> (packed & np.uint64(UNIFORM)))
    low: Any = np.int64(start)
    high: Any = low + np.int64(packed >> np.uint64(8)) - 1
    if high - low > _SCAN_CELLS:
        return np.int64(levels[first_above(cumulative, low, high, record)])
    while cumulative[low] <= record:
        low += 1
    return np.int64(levels[low])
