"""`network`: every column after its parents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from understudy.blocks.released import released_key, released_weights
from understudy.codebook import Codebook
from understudy.samplers.ancestral import draw_ancestral
from understudy.samplers.gibbs import ConditionalSampler
from understudy.sources.tables import CountTable
from understudy.synth.ways.wanted import Codes, Drawn, Wanted
from understudy.synth.ways.way import Read, Way, each_column_faults


@dataclass(frozen=True, kw_only=True, eq=False)
class Network(Way):
    """One table per column in codebook order, the column last and its parents before it."""

    kind: ClassVar[str] = "network"
    order: tuple[int, ...]
    """Positions of the columns, parents first."""

    def faults(self, book: Codebook, tables: Sequence[CountTable]) -> list[str]:
        """Tables of other columns, or a child before its parents."""
        if column_faults := each_column_faults(book, tables):
            return column_faults
        return [] if self._parents_first(book, tables) else ["the order of its columns does not put parents first"]

    def _parents_first(self, book: Codebook, tables: Sequence[CountTable]) -> bool:
        names = book.names
        if sorted(self.order) != list(range(len(names))):
            return False
        place = {names[column]: when for when, column in enumerate(self.order)}
        return all(place[parent] < place[t.columns[-1]] for t in tables for parent in t.columns[:-1])

    def draw(self, book: Codebook, tables: Sequence[CountTable], wanted: Wanted) -> Drawn:
        """In order, each column given its parents."""
        keys = [released_key(book, table) for table in tables]
        weights = []
        for key, table in zip(keys, tables, strict=True):
            uniform = [1] * table.sizes[-1]
            column_weights = released_weights(key, table, last_row=uniform)
            bare = column_weights.cumulative[:, -1] == 0  # a parent combination that the noise left without any child
            column_weights.cumulative[bare] = np.cumsum(np.array(uniform, dtype=np.uint64))
            weights.append(column_weights)
        sampler = ConditionalSampler(book, keys, weights, order=self.order)

        def draw_rows(rows: int) -> list[Codes]:
            return draw_ancestral(
                sampler, self.order, rows=rows, stream=wanted.stream, report=wanted.report, threads=wanted.threads
            )

        return wanted.filtered(book, draw_rows)

    def described(self) -> dict[str, Any]:
        """The order."""
        return {"order": list(self.order)}

    @classmethod
    def rebuilt(cls, described: Mapping[str, Any], read: Read) -> "Network":
        """In the same order."""
        return cls(order=tuple(described["order"]))
