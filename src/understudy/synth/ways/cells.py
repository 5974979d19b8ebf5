"""`cells`: whole records from one table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from understudy.codebook import Codebook
from understudy.errors import RefusalError
from understudy.samplers.cells import draw_cells
from understudy.sources.tables import CountTable
from understudy.synth.ways.wanted import Codes, Drawn, Wanted
from understudy.synth.ways.way import Read, Way


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells(Way):
    """One table of all columns; every row is one of its cells."""

    kind: ClassVar[str] = "cells"

    def faults(self, book: Codebook, tables: Sequence[CountTable]) -> list[str]:
        """Anything but the one table."""
        return [] if [table.columns for table in tables] == [book.names] else ["it needs one table of all columns"]

    def draw(self, book: Codebook, tables: Sequence[CountTable], wanted: Wanted) -> Drawn:
        """In proportion to the counts."""
        return Drawn(codes=draw_records(book, tables[0], wanted))

    def described(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    @classmethod
    def rebuilt(cls, described: Mapping[str, Any], read: Read) -> "Cells":
        """From nothing."""
        return cls()


def draw_records(book: Codebook, table: CountTable, wanted: Wanted) -> list[Codes]:
    """Whole records, from the cells that break no rule and belong to the sub-population."""
    codes, counts = table.occupied()
    kept = wanted.rules(book).fits([codes[:, place] for place in range(codes.shape[1])])
    if len(kept) and not kept.any():
        raise RefusalError(
            f"no cell of the released table {wanted.whom}satisfies the rules of the codebook, so there is nothing to "
            "draw from. Use a larger epsilon, or fewer and coarser columns. This attempt is paid for."
        )
    return draw_cells(codes[kept], counts[kept], rows=wanted.rows, stream=wanted.stream)
