"""Gibbs chains over released tables with missing cells (SBHG, sbhg.txt Algorithm 2 with a corrected test).

A proposal for column j is accepted when every column whose key reads x_j still finds a non-empty histogram; otherwise
the old value stays. (The printed test is inverted and looks at column j's own key, which does not contain x_j.)
Columns that rules of the codebook tie together are proposed one after the other, each within what the rules allow after
those before it, and are accepted or kept together, so that no chain ever holds a forbidden row.
Everything here works on perturbed tables that are already paid for: starts, sweeps and diagnostics are post-processing.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.blocks.keys import KeyFunction
from understudy.codebook import Codebook
from understudy.codebook.constraints import Allowed
from understudy.compiled import kernel
from understudy.errors import RefusalError
from understudy.mechanisms.smoothing import Weights
from understudy.mechanisms.stream import Stream
from understudy.samplers.gibbs import ConditionalSampler
from understudy.samplers.threads import BLOCK, WordPool, in_threads

Codes = npt.NDArray[np.unsignedinteger]
Keys = npt.NDArray[np.int64]
_WARM_UP_SWEEPS = 50
_TRIES = 1 << 12


@dataclass(frozen=True, kw_only=True)
class Mixing:
    """How often the proposals of each column were accepted."""

    moved: dict[str, float]
    """Accepted, and another value than before."""
    rejected: dict[str, float]
    blockers: dict[str, str]
    """The column whose table rejected most proposals for this one; only where some were rejected."""

    def warnings(self, *, fixed: Sequence[str] = ()) -> list[str]:
        """What a user should know about chains that hardly move; ``fixed`` columns are not meant to."""
        sentences = []
        for name, share in self.moved.items():
            if share == 0 and name not in fixed:
                cause = f": the table of {self.blockers[name]!r} rejects every change" if name in self.blockers else ""
                sentences.append(
                    f"no chain ever changed {name!r}{cause}. Use fewer parents or a larger epsilon, or drop the column."
                )
        return sentences


class RejectingSampler:
    """Chains that never leave the states all of whose histograms are known.

    ``weights[i]`` are the perturbed counts of column i; its last row is the column's own perturbed marginal and serves
    only while a start is being looked for.
    """

    def __init__(
        self,
        book: Codebook,
        keys: Sequence[KeyFunction],
        weights: Sequence[Weights],
        *,
        allowed: Allowed | None = None,
    ) -> None:
        self._book = book
        self._allowed = allowed or book.allowed
        self._sampler = ConditionalSampler(book, keys, weights, allowed=self._allowed)
        self._alive = [_alive(table) for table in weights]
        names = book.names
        self._readers = [[j for j, key in enumerate(keys) if name in key.reads] for name in names]
        tied = {group[0]: group for group in self._allowed.tied if len(group) > 1}
        inner = {column for group in tied.values() for column in group}
        self._groups = [
            tied.get(column, (column,)) for column in range(len(names)) if column in tied or column not in inner
        ]

    def starts(self, count: int, stream: Stream, *, among: int = _TRIES) -> list[Codes]:
        """``count`` states that satisfy all blocks, found by sweeps in which a missing block lends its marginal."""
        sampler = self._sampler
        rows = [
            stream.below_each(np.full(among, size, dtype=np.uint64)).astype(sampler.code_kind)
            for size in self._book.sizes
        ]
        keys = np.empty(among, dtype=np.int64)
        pool = WordPool(stream.spawn())
        kept = [column.copy() for column in rows]
        is_start = np.zeros(among, dtype=np.bool_)
        for _ in range(_WARM_UP_SWEEPS):
            for column in range(len(rows)):
                slots = sampler.slots(column, rows, keys)
                _lend(slots, self._alive[column])
                sampler.draw(column, slots, pool, rows[column], rows)
            fits = self._satisfied(rows, keys)
            for states, values in zip(kept, rows, strict=True):
                states[fits] = values[fits]  # a later sweep may leave the known states again
            is_start |= fits
            if fits.all():
                break
        good = np.flatnonzero(is_start)
        if len(good) == 0:
            raise RefusalError(self._no_start(rows, keys))
        chosen = good[stream.below_each(np.full(count, len(good), dtype=np.uint64)).astype(np.int64)]
        return [np.ascontiguousarray(states[chosen]) for states in kept]

    def _satisfied(self, rows: Sequence[Codes], keys: Keys) -> npt.NDArray[np.bool_]:
        fits = np.ones(len(rows[0]), dtype=np.bool_)
        for column in range(len(rows)):
            _require(self._sampler.slots(column, rows, keys), self._alive[column], fits)
        return fits

    def _no_start(self, rows: Sequence[Codes], keys: Keys) -> str:
        missing = {
            name: float((~self._alive[column][self._sampler.slots(column, rows, keys)]).mean())
            for column, name in enumerate(self._book.names)
        }
        worst = max(missing, key=missing.__getitem__)
        return (
            "no starting state satisfies all released tables, so the chains have nowhere to begin; the table of "
            f"{worst!r} misses most often. Use fewer parents, a larger epsilon or delta, or coarser levels. This "
            "attempt is paid for, and trying again costs again. (Confidential: this depends on the data.)"
        )

    def run(
        self,
        starts: Sequence[Codes],
        *,
        sweeps: int,
        stream: Stream,
        report: Callable[[int, int], None] | None = None,
        threads: int | None = None,
    ) -> tuple[list[Codes], Mixing]:
        """``sweeps`` sweeps of every chain; what each chain ends on is its row."""
        rows = [column.copy() for column in starts]
        columns = len(rows)
        tallies = np.zeros((columns, 2 + columns), dtype=np.int64)  # moved, rejected, rejected by each reader
        lock = threading.Lock()

        def work(start: int, pool: WordPool, keys: Keys) -> None:
            block = [column[start : start + BLOCK] for column in rows]
            counted = np.zeros_like(tallies)
            for _ in range(sweeps):
                for group in self._groups:
                    if len(group) > 1:
                        self._step_together(group, block, pool, keys, counted)
                    else:
                        self._step(group[0], block, pool, keys, counted[group[0]])
            with lock:
                tallies[:] += counted

        in_threads(range(0, len(rows[0]), BLOCK), BLOCK, work, stream, threads, report, len(rows[0]))
        return rows, self._mixing(tallies, len(rows[0]) * sweeps)

    def _mixing(self, tallies: npt.NDArray[np.int64], proposals: int) -> Mixing:
        names = self._book.names
        return Mixing(
            moved=dict(zip(names, (tallies[:, 0] / proposals).tolist(), strict=True)),
            rejected=dict(zip(names, (tallies[:, 1] / proposals).tolist(), strict=True)),
            blockers={
                name: names[int(tallies[column, 2:].argmax())]
                for column, name in enumerate(names)
                if tallies[column, 1]
            },
        )

    def _step(self, column: int, block: list[Codes], pool: WordPool, keys: Keys, counted: Any) -> None:
        slots = self._sampler.slots(column, block, keys)
        before = block[column]
        proposal = np.empty_like(before)
        self._sampler.draw(column, slots, pool, proposal, block)
        fits = np.ones(len(before), dtype=np.bool_)
        readers = self._readers[column]
        if readers:
            proposed = [proposal if i == column else values for i, values in enumerate(block)]
            for reader in readers:
                counted[2 + reader] += _require(self._sampler.slots(reader, proposed, keys), self._alive[reader], fits)
        _accept(before, proposal, fits, counted)

    def _step_together(
        self, group: Sequence[int], block: list[Codes], pool: WordPool, keys: Keys, counted: Any
    ) -> None:
        """Propose columns that rules tie together; a missing block lends its marginal on the way, not at the end."""
        proposed = list(block)
        for column in group:
            slots = self._sampler.slots(column, proposed, keys)
            _lend(slots, self._alive[column])
            fresh = np.empty_like(block[column])
            self._sampler.draw(column, slots, pool, fresh, proposed)
            proposed[column] = fresh
        fits = np.ones(len(block[0]), dtype=np.bool_)
        for reader in sorted({*group, *(reader for column in group for reader in self._readers[column])}):
            struck = _require(self._sampler.slots(reader, proposed, keys), self._alive[reader], fits)
            counted[list(group), 2 + reader] += struck
        for column in group:
            _accept(block[column], proposed[column], fits, counted[column])


def _alive(table: Weights) -> npt.NDArray[np.bool_]:
    """Rows that hold a histogram; the last one, the lent marginal, does not count."""
    alive: npt.NDArray[np.bool_] = table.cumulative[:, -1] > 0
    alive[table.unseen] = False
    return alive


@kernel
def _lend(slots: Keys, alive: Any) -> None:
    last = len(alive) - 1
    for row in range(len(slots)):
        if not alive[slots[row]]:
            slots[row] = last


@kernel
def _require(slots: Keys, alive: Any, fits: Any) -> int:
    """Strike out the rows whose histogram is missing; how many were struck out first by this table."""
    struck = 0
    for row in range(len(slots)):
        if not alive[slots[row]]:
            struck += fits[row]
            fits[row] = False
    return struck


@kernel
def _accept(values: Any, proposal: Any, fits: Any, counted: Any) -> None:
    rejected = 0
    moved = 0
    for row in range(len(values)):
        if fits[row]:
            moved += values[row] != proposal[row]
            values[row] = proposal[row]
        else:
            rejected += 1
    counted[0] += moved
    counted[1] += rejected
