"""What `laplace`, `sba` and `contingency` share: one table of full records, and rows drawn from its cells."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook
from understudy.mechanisms.stream import Stream
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.secret import Secret
from understudy.samplers.cells import draw_cells
from understudy.sources.base import Report, Source
from understudy.sources.tables import CountTable
from understudy.synth.recipe import Fitted, Recipe

__all__ = ["FittedTable", "TableRecipe"]


@dataclass(frozen=True, kw_only=True)
class TableRecipe(Recipe):
    """Count full records, perturb the counts once, draw rows from what is left."""

    @abstractmethod
    def table_entry(self, book: Codebook) -> Entry:
        """What releasing the table costs; needs no data."""

    @abstractmethod
    def perturb(self, counts: Secret[CountTable], stream: Stream) -> tuple[CountTable, Entry]:
        """The released table, and the entry that the mechanism wrote."""

    def price(self, book: Codebook, rows: int) -> list[Entry]:
        """The table once; rows are free."""
        entry = self.table_entry(book)
        public_size = ("the number of confidential records is public",)
        replaced = getattr(self, "neighbours", None) is Neighbours.REPLACE
        assumptions = book.assumptions + (public_size if replaced else ())
        return [replace(entry, assumptions=assumptions if entry.assumptions else ())]

    def fit(self, source: Source, *, stream: Stream | None = None, report: Report | None = None) -> "FittedTable":
        """Count, perturb, forget the counts."""
        self.quote(source.codebook, 1)  # refuse a hopeless domain before anything is read
        counts = source.count([source.codebook.names], report)
        stream = stream or Stream.from_system()
        table, entry = self.perturb(counts[0], stream)
        return FittedTable(recipe=self, source=source, table=table, entry=entry, stream=stream, report=report)


class FittedTable(Fitted):
    """The perturbed table of full records."""

    def __init__(
        self,
        *,
        recipe: TableRecipe,
        source: Source,
        table: CountTable,
        entry: Entry,
        stream: Stream,
        report: Report | None,
    ) -> None:
        super().__init__(recipe=recipe, source=source, stream=stream, report=report)
        self._table = table
        self._entry = entry

    def _draw(self, rows: int, ledger: Ledger) -> Sequence[npt.NDArray[np.unsignedinteger]]:
        assert self._entry.event in [entry.event for entry in ledger.entries], "the ledger must pay for the table"
        codes, counts = self._table.occupied()
        self._tell("drawing rows", 0, rows)
        drawn = draw_cells(codes, counts, rows=rows, stream=self._stream)
        self._tell("drawing rows", rows, rows)
        return drawn
