"""`gibbs`: chains over one table per column, which reject states that no table knows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from understudy.blocks.released import released_key, released_weights
from understudy.codebook import Codebook
from understudy.errors import RefusalError
from understudy.samplers.rejecting import RejectingSampler
from understudy.sources.tables import CountTable
from understudy.synth.ways.cells import draw_records
from understudy.synth.ways.wanted import Drawn, Wanted
from understudy.synth.ways.way import Read, Way, each_column_faults


@dataclass(frozen=True, kw_only=True, eq=False)
class Chains(Way):
    """One table per column in codebook order, the column last; every row is the end of a chain of its own."""

    kind: ClassVar[str] = "gibbs"
    sweeps: int
    starts: CountTable | None = None
    """Where the chains of a baseline without promise begin, which is never written; a released model finds its own."""

    def faults(self, book: Codebook, tables: Sequence[CountTable]) -> list[str]:
        """Tables of other columns, or no sweep."""
        if column_faults := each_column_faults(book, tables):
            return column_faults
        if not isinstance(self.sweeps, int) or self.sweeps < 1:
            return [f"the number of sweeps is {self.sweeps!r}"]
        return []

    def draw(self, book: Codebook, tables: Sequence[CountTable], wanted: Wanted) -> Drawn:
        """One chain per row."""
        empty = [table.columns[-1] for table in tables if not table.occupied()[1].sum()]
        if empty:
            raise RefusalError(
                f"nothing survives in the tables of {', '.join(empty)}, so no row can be drawn. Use fewer parents, a "
                "larger epsilon or delta, or coarser levels. This attempt is paid for, and trying again costs again. "
                "(Confidential: this depends on the data.)"
            )
        keys = [released_key(book, table) for table in tables]
        weights = [released_weights(key, table) for key, table in zip(keys, tables, strict=True)]
        sampler = RejectingSampler(book, keys, weights, allowed=wanted.rules(book))
        if self.starts is None:
            starts = sampler.starts(wanted.rows, wanted.stream)
        else:
            starts = draw_records(book, self.starts, wanted)
        codes, mixing = sampler.run(
            starts, sweeps=self.sweeps, stream=wanted.stream, report=wanted.report, threads=wanted.threads
        )
        return Drawn(codes=codes, warnings=tuple(mixing.warnings(fixed=tuple(wanted.where))))

    def described(self) -> dict[str, Any]:
        """How long the chains are."""
        return {"sweeps": self.sweeps}

    @classmethod
    def rebuilt(cls, described: Mapping[str, Any], read: Read) -> "Chains":
        """As long as they were."""
        return cls(sweeps=described["sweeps"])
