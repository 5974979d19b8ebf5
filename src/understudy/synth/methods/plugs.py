"""`plugs`: LUGS on random parts of the table, in parallel processes, mixed (lugs.txt Algorithm 2).

Every value is drawn from a block of some part. All of these are l-diverse, so the promise of the parts is the
promise of the whole. More parts are faster but have fewer records each.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.mechanisms.l_diversity import split_counts
from understudy.mechanisms.smoothing import open_for_draws
from understudy.mechanisms.stream import Stream, StreamKey
from understudy.parameters import Panel, Whole, option
from understudy.privacy.ledger import Ledger
from understudy.privacy.secret import Secret
from understudy.sources.base import Report, Source
from understudy.sources.tables import CountTable, code_type
from understudy.synth.drawers import DiverseChains, PartsDrawer
from understudy.synth.methods.lugs import LUGS, DiverseRecipe
from understudy.synth.processes import helper_processes
from understudy.synth.recipe import Fitted

Codes = npt.NDArray[np.unsignedinteger]


@dataclass(frozen=True, kw_only=True)
class PLUGS(DiverseRecipe):
    """LUGS in parts. Records are dealt to parts at random, whatever their values."""

    facts = replace(
        LUGS.facts,
        name="plugs",
        command="understudy synth -m plugs",
        paper="LUGS (PLUGS)",
        paper_claim="As LUGS, on parts of the table.",
        truth="The l-diversity carries over to mixtures of parts, because entropy is concave. Otherwise as LUGS.",
    )
    summary = "LUGS on random parts of the table, in parallel processes"
    example = {"l": 1.2, "sweeps": 2, "partitions": 2, "processes": 1}
    partitions: int = option(
        2, rule=Whole(most=1024, tried=2), help="Random parts of the table; 1 draws the same rows as lugs."
    )
    processes: int | None = option(
        None,
        rule=Whole(most=1024, tried=2),
        panel=Panel.SPEED,
        help="Processes at work (default: one per core). The rows do not depend on it.",
    )

    def fit_records(self, source: Source, stream: Stream, report: Report | None) -> "FittedParts":
        """Count once and deal the records out; blocks are estimated where they are drawn from."""
        counts = source.count([source.codebook.names], report)[0]
        parts = split_counts(counts, self.partitions, stream)
        return FittedParts(recipe=self, source=source, parts=parts, stream=stream, report=report)


class FittedParts(Fitted):
    """Counts of the parts, still secret."""

    def __init__(
        self,
        *,
        recipe: PLUGS,
        source: Source,
        parts: Sequence[Secret[CountTable]],
        stream: Stream,
        report: Report | None,
    ) -> None:
        super().__init__(recipe=recipe, source=source, stream=stream, report=report)
        self.choices = recipe
        self._parts = parts

    def _draw(self, rows: int, ledger: Ledger) -> Sequence[Codes]:
        """Which part each row comes from is drawn first, so that rows are independent draws from the mixture."""
        choices, book = self.choices, self.codebook
        number, chains = choices.partitions, choices.chains(book)
        tables = open_for_draws(self._parts, event=choices.event(book), ledger=ledger)
        origin = np.zeros(rows, dtype=np.int64)
        if number > 1:
            origin = self._stream.below_each(np.full(rows, number, dtype=np.uint64)).astype(np.int64)
        tasks = [
            _Task(
                table=table,
                chains=chains,
                rows=int(share),
                key=self._stream.fresh_key(),
            )
            for table, share in zip(tables, np.bincount(origin, minlength=number), strict=True)
        ]
        out = [np.empty(rows, dtype=code_type(max(book.sizes))) for _ in book.names]
        with _workers(min(choices.processes or os.cpu_count() or 1, number)) as apply:
            done = 0
            for part, codes in enumerate(apply(tasks)):
                of_part = origin == part
                for column, values in zip(out, codes, strict=True):
                    column[of_part] = values
                done += int(of_part.sum())
                self._tell("drawing rows", done, rows)
        return out

    def drawer(self, rows: int, ledger: Ledger) -> PartsDrawer:
        """The opened counts of all parts; whoever draws estimates the blocks."""
        choices, book = self.choices, self.codebook
        parts = open_for_draws(self._parts, event=choices.event(book), ledger=ledger)
        return PartsDrawer(parts=parts, chains=choices.chains(book))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Task:
    """What one part needs, all of it plain data; it travels to another process and nowhere else."""

    table: CountTable
    chains: DiverseChains
    rows: int
    key: StreamKey


def _work(task: _Task) -> list[Codes]:
    """Estimate, perturb and sample one part, on one thread."""
    chains, sizes = task.chains, task.chains.hashing.sizes
    if task.rows == 0:
        return [np.empty(0, dtype=code_type(max(sizes))) for _ in sizes]
    sampler = chains.sampler_of(task.table, threads=1)
    return sampler.draw(rows=task.rows, sweeps=chains.sweeps, stream=Stream(key=task.key), threads=1)


@contextmanager
def _workers(count: int) -> Iterator[Any]:
    """In this process where one is enough, else in new ones that share nothing with our threads."""
    if count == 1:
        yield lambda tasks: map(_work, tasks)
        return
    with helper_processes(count) as spread:
        yield lambda tasks: spread(_work, tasks)
