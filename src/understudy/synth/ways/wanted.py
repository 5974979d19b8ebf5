"""The request to a way of drawing, and its result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook
from understudy.codebook.constraints import Allowed
from understudy.errors import RefusalError
from understudy.mechanisms.stream import Stream

Codes = npt.NDArray[np.unsignedinteger]
Progress = Callable[[int, int], None] | None
Where = Mapping[str, Sequence[int]]
"""Some columns, each with the codes that it may hold."""
_MOST_DRAWN, _MOST_EACH = 2_000_000, 20
"""Rows that are looked through for those of a sub-population: so many, or so many for each one that is wanted."""


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Rows of codes, and what a user should know about how they were drawn."""

    codes: Sequence[Codes]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """How many rows, of which sub-population, and what they are drawn with."""

    rows: int
    stream: Stream
    report: Progress
    where: Where
    """Empty for the whole population."""
    threads: int | None

    @property
    def whom(self) -> str:
        """The sub-population, as part of a sentence."""
        return f"with the values asked for in {' and '.join(self.where)} " if self.where else ""

    def rules(self, book: Codebook) -> Allowed:
        """Which rows are both possible and wanted."""
        return book.allowed.within(self.where) if self.where else book.allowed

    def filtered(self, book: Codebook, draw_rows: Callable[[int], list[Codes]]) -> Drawn:
        """Rows of the whole population until enough of them belong to the sub-population: its exact law."""
        if not self.where:
            return Drawn(codes=draw_rows(self.rows))
        rules = self.rules(book)
        batches: list[list[Codes]] = []
        kept, drawn, batch = 0, 0, min(max(1000, 2 * self.rows), _MOST_DRAWN)
        while kept < self.rows:
            if drawn >= max(_MOST_DRAWN, _MOST_EACH * self.rows):
                raise RefusalError(
                    f"only {kept:,} of {drawn:,} rows drawn {self.whom}were found, and {self.rows:,} were asked for; "
                    "the sub-population is too rare in this model. Ask for fewer rows, or for a larger sub-population."
                )
            codes = draw_rows(batch)
            fitting = rules.fits(codes)
            batches.append([column[fitting] for column in codes])
            kept, drawn = kept + int(fitting.sum()), drawn + batch
            share = max(kept, 1) / drawn
            batch = int(min(max(1000, 1.2 * (self.rows - kept) / share), _MOST_DRAWN))
        return Drawn(codes=[np.concatenate(parts)[: self.rows] for parts in zip(*batches, strict=True)])
