"""The released tables of all views, from which any number of people with histories may be drawn at no price."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from understudy.codebook.linked import LinkedCodebook
from understudy.errors import RefusalError
from understudy.histories.decoding import decode_rows
from understudy.histories.drawing import Measured, draw_block
from understudy.mechanisms.stream import Stream
from understudy.release.model_head import ModelHead
from understudy.sources.base import Report

_BLOCK = 1 << 16
"""People who are drawn and written together."""
_LEAST, _MOST_LOST = 1_000, 50
"""People of a block at least, and by how many times as many may be drawn as can stand."""
Where = Mapping[str, Sequence[int]]
"""Columns of the persons, each with the codes that it may hold."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HistoriesModel(ModelHead):
    """Perturbed tables of every view, and the ledger that paid for them."""

    book: LinkedCodebook
    measured: tuple[Measured, ...]

    def __repr__(self) -> str:
        return f"<released histories model of {', '.join(one.view.table.name for one in self.measured)}>"

    def blocks(
        self, people: int, stream: Stream, *, where: Where | None = None, report: Report | None = None
    ) -> Iterator[dict[str, pa.Table]]:
        """So many people with their histories, a block at a time: memory does not grow with their number."""
        each = math.ceil(people / max(1, math.ceil(people / _BLOCK)))
        made, tried = 0, 0
        while made < people:
            wanted = min(each, people - made)
            asked = max(_LEAST, wanted) if made or where else wanted
            rows = draw_block(self.book, self.measured, asked, stream, where=where, report=report)
            tried += asked
            if tried > _MOST_LOST * _LEAST and made + rows.people < tried / _MOST_LOST / 20:
                raise RefusalError(
                    f"of {tried:,} people drawn only {made + rows.people:,} have a history that rules (and `where`) "
                    "allow to its end; use fewer or looser rules, a larger part of the people, or a larger epsilon."
                )
            if rows.people > wanted:
                rows = rows.only(np.arange(rows.people) < wanted)
            made += rows.people
            if report:
                report("drawing people", made, people)
            if rows.people:
                yield decode_rows(rows, self.measured, stream)
                pa.default_memory_pool().release_unused()  # or every block would add to what is kept for the next
