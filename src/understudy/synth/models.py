"""Released models: perturbed tables that are paid for, from which any number of rows may be drawn.

A model holds only public knowledge and perturbed counts. Unlike a fit on route S, it may be written to a file and
published.
"""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from understudy.codebook import Codebook
from understudy.mechanisms.stream import Stream
from understudy.release.model_head import NOT_CHARGED, ModelHead
from understudy.sources.tables import CountTable, counts_people
from understudy.synth.details import Details, detail_cliques
from understudy.synth.ways import Drawn, Progress, Wanted, Way, Where

__all__ = ["NOT_CHARGED", "ReleasedModel"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedModel(ModelHead):
    """Perturbed tables, how rows are drawn from them, and the ledger that paid for them."""

    way: Way
    codebook: Codebook
    tables: tuple[CountTable, ...]
    """Those that the way of drawing asks for, in its order."""
    details: Details = field(default_factory=Details)
    """Tables of the detail columns and measured numbers, then of smooth numbers that were measured too."""
    people: tuple[int, ...] = ()
    """How common each number of records per synthetic person is, where that was counted."""
    measurements: pa.Table | None = None
    """What the tables were made of, if it is kept (:mod:`understudy.synth.measurements`)."""

    def faults(self) -> list[str]:
        """Everything in which tables, codebook and way of drawing contradict each other."""
        faults = [fault for table in self.tables for fault in _table_faults(self.codebook, table)]
        faults += self._detail_faults()
        if any(not isinstance(n, int) or n < 0 for n in self.people) or counts_people(self.codebook) != any(
            self.people
        ):
            faults.append("its numbers of records per person are not those that the codebook asks for")
        return faults + self.way.faults(self.codebook, self.tables)

    def _detail_faults(self) -> list[str]:
        tables = self.details.tables()
        expected = detail_cliques(self.codebook)
        shapes = [table.columns for table in tables]
        smooth = [(number.fine.name,) for number in self.codebook.smooth]
        further = [clique for clique in smooth if clique in shapes]
        if shapes != [*expected, *further] or len(self.details.codes) != len(self.codebook.details):
            return ["the tables of its details are not those of the codebook"]
        return [fault for table in tables for fault in _table_faults(self.codebook, table)]

    def draw(
        self,
        rows: int,
        stream: Stream,
        report: Progress = None,
        *,
        where: Where | None = None,
        threads: int | None = None,
    ) -> Drawn:
        """``rows`` new records, of the sub-population ``where`` if one is named; post-processing, hence free."""
        wanted = Wanted(rows=rows, stream=stream, report=report, where=where or {}, threads=threads)
        return self.way.draw(self.codebook, self.tables, wanted)


def _table_faults(book: Codebook, table: CountTable) -> list[str]:
    codes, counts = table.occupied()
    if len(set(table.columns)) != len(table.columns) or not set(table.columns) <= {c.name for c in book.counted}:
        return [f"a table has the columns {', '.join(map(str, table.columns))}, which the codebook does not know"]
    if table.sizes != tuple(book.column(name).size for name in table.columns):
        return [f"the table of {', '.join(table.columns)} does not have the levels of the codebook"]
    if codes.shape != (len(counts), len(table.columns)) or ((codes < 0) | (codes >= np.array(table.sizes))).any():
        return [f"the table of {', '.join(table.columns)} has cells outside its levels"]
    if float(counts.sum(dtype=np.float64)) >= 2.0**62:  # a float sum cannot wrap
        return [f"the counts of {', '.join(table.columns)} are too large"]
    return []
