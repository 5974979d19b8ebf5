"""Base of `laplace`, `sba` and `contingency`: one table of full records, and rows drawn from its cells."""

from abc import abstractmethod
from dataclasses import dataclass, replace

from understudy.codebook import Codebook
from understudy.mechanisms.stream import Stream
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import Secret
from understudy.sources.base import Report, Source
from understudy.sources.tables import CountTable
from understudy.synth.assumed import public_size
from understudy.synth.released import Perturbed, ReleasedRecipe
from understudy.synth.ways import Cells


@dataclass(frozen=True, kw_only=True)
class TableRecipe(ReleasedRecipe):
    """Count full records, perturb the counts once, draw rows from what is left."""

    @abstractmethod
    def table_entry(self, book: Codebook) -> Entry:
        """What releasing the table costs; needs no data."""

    @abstractmethod
    def perturb_table(self, counts: Secret[CountTable], stream: Stream) -> tuple[CountTable, Entry]:
        """The released table, and the entry that the mechanism wrote."""

    def price(self, book: Codebook, rows: int) -> list[Entry]:
        """The table once; rows are free."""
        entry = self.table_entry(book)
        if not entry.assumptions:
            return [entry]
        return [replace(entry, assumptions=public_size(book, self.neighbours))]  # type: ignore[attr-defined]

    def perturb(self, source: Source, stream: Stream, report: Report | None) -> Perturbed:
        """One table of full records."""
        counts = source.count([source.codebook.names], report)
        table, entry = self.perturb_table(counts[0], stream)
        return Perturbed(way=Cells(), tables=[table], entries=[entry])
