"""Released models: perturbed tables that are paid for, from which rows may be drawn without end.

A model holds nothing but public knowledge and perturbed counts; unlike a fit on route S, it may be written to a
file and handed on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.blocks.released import released_key, released_weights
from understudy.codebook import Codebook
from understudy.codebook.constraints import Allowed
from understudy.errors import RefusalError
from understudy.mechanisms.stream import Stream
from understudy.privacy.ledger import Ledger
from understudy.samplers.agreeing import draw_agreeing
from understudy.samplers.ancestral import draw_ancestral
from understudy.samplers.cells import draw_cells
from understudy.samplers.gibbs import ConditionalSampler
from understudy.samplers.rejecting import RejectingSampler
from understudy.sources.tables import CountTable, code_type, counts_people
from understudy.synth.details import Details, detail_cliques

__all__ = ["NOT_CHARGED", "Drawn", "ReleasedModel"]

Codes = npt.NDArray[np.unsignedinteger]
Progress = Callable[[int, int], None] | None
Where = Mapping[str, Sequence[int]]
"""Some columns, each with the codes that it may hold."""
NOT_CHARGED = "charged to no account, so that nobody keeps track of what else the data paid for"
_MOST_DRAWN = 2_000_000
"""Rows that are looked through for those of a sub-population."""


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Rows of codes, and what a user should know about how they were drawn."""

    codes: Sequence[Codes]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedModel:
    """Perturbed tables, how rows are drawn from them, and the ledger that paid for them.

    ``kind``: ``cells`` draws whole records from one table; ``gibbs`` runs ``sweeps`` sweeps over one table per column
    with rejection of states that no table knows; ``network`` draws every column after its parents, in ``order``;
    ``marginals`` draws from latent ``classes`` and mends the rows until they agree with two-way tables.
    """

    kind: str
    codebook: Codebook
    tables: tuple[CountTable, ...]
    """``cells``: one; else one per column in codebook order, the column last."""
    ledger: Ledger
    delta: float | None
    method: str
    parameters: Mapping[str, Any]
    secure: bool
    sweeps: int = 0
    order: tuple[int, ...] = ()
    classes: tuple[npt.NDArray[np.int64], ...] = ()
    """``marginals``: the weights of latent classes, then for every column the weights of its levels in each class."""
    starts: CountTable | None = None
    """Where the chains of a baseline without promise begin; a released model finds its own starts."""
    warnings: tuple[str, ...] = ()
    """What a user should know about the promise, for every release drawn from it."""
    charged: str = NOT_CHARGED
    """Which account paid for the tables, as part of a sentence."""
    details: Details = field(default_factory=Details)
    """Tables of the detail columns and measured numbers, in codebook order."""
    people: tuple[int, ...] = ()
    """How common each number of records per synthetic person is, where that was counted."""

    def faults(self) -> list[str]:
        """Everything in which tables, codebook and way of drawing contradict each other."""
        names = self.codebook.names
        found = [fault for table in self.tables for fault in _table_faults(self.codebook, table)]
        found += self._detail_faults()
        if any(not isinstance(n, int) or n < 0 for n in self.people) or counts_people(self.codebook) != any(
            self.people
        ):
            found.append("its numbers of records per person are not those that the codebook asks for")
        children = [table.columns[-1] for table in self.tables]
        if self.kind == "marginals":
            found += self._marginal_faults()
        elif self.kind not in ("cells", "gibbs", "network"):
            found.append(f"the kind {self.kind!r} is unknown")
        elif self.kind == "cells" and [table.columns for table in self.tables] != [names]:
            found.append("it needs one table of all columns")
        elif self.kind != "cells" and children != list(names):
            found.append("it needs one table per column, in the order of the codebook")
        elif self.kind == "gibbs" and (not isinstance(self.sweeps, int) or self.sweeps < 1):
            found.append(f"the number of sweeps is {self.sweeps!r}")
        elif self.kind == "network" and not self._parents_first():
            found.append("the order of its columns does not put parents first")
        return found

    def _detail_faults(self) -> list[str]:
        found = self.details.tables()
        if [table.columns for table in found] != detail_cliques(self.codebook) or len(self.details.codes) != len(
            self.codebook.details
        ):
            return ["the tables of its details are not those of the codebook"]
        return [fault for table in found for fault in _table_faults(self.codebook, table)]

    def _marginal_faults(self) -> list[str]:
        names = self.codebook.names
        shapes = [table.columns for table in self.tables]
        if shapes[: len(names)] != [(name,) for name in names]:
            return ["it needs one table of every column first"]
        pairs = shapes[len(names) :]
        ordered = all(len(pair) == 2 and names.index(pair[0]) < names.index(pair[1]) for pair in pairs)
        if not ordered or len(set(pairs)) < len(pairs):
            return ["after the columns it holds pairs of columns, each once and in the order of the codebook"]
        if any(not table.occupied()[1].sum() for table in self.tables):
            return ["one of its tables is empty"]
        number = len(self.classes[0]) if self.classes else 0
        shapes_of_classes = [(number,), *((number, size) for size in self.codebook.sizes)]
        if number < 1 or [weights.shape for weights in self.classes] != shapes_of_classes:
            return ["its latent classes do not have the levels of the codebook"]
        if any((weights < 0).any() or (weights.sum(axis=-1) <= 0).any() for weights in self.classes):
            return ["one of its latent classes is empty"]
        return []

    def _parents_first(self) -> bool:
        names = self.codebook.names
        if sorted(self.order) != list(range(len(names))):
            return False
        place = {names[column]: when for when, column in enumerate(self.order)}
        return all(place[parent] < place[t.columns[-1]] for t in self.tables for parent in t.columns[:-1])

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
        ways = {
            "cells": self._cells,
            "gibbs": self._gibbs,
            "network": self._network,
            "marginals": self._marginals,
        }
        return ways[self.kind](rows, stream, report, where or {}, threads)

    def _cells(self, rows: int, stream: Stream, report: Progress, where: Where, threads: int | None) -> Drawn:
        return Drawn(codes=draw_cells(*self._allowed_cells(self.tables[0], where), rows=rows, stream=stream))

    def _allowed_cells(self, table: CountTable, where: Where) -> tuple[Codes, npt.NDArray[np.int64]]:
        """The cells of whole records that break no rule and belong to the sub-population."""
        codes, counts = table.occupied()
        kept = self._rules(where).fits([codes[:, place] for place in range(codes.shape[1])])
        if len(kept) and not kept.any():
            raise RefusalError(
                f"no cell of the released table {_of(where)}satisfies the rules of the codebook, so there is nothing "
                "to draw from. Use a larger epsilon, or fewer and coarser columns. This attempt is paid for."
            )
        return codes[kept], counts[kept]

    def _rules(self, where: Where) -> Allowed:
        return self.codebook.allowed.within(where) if where else self.codebook.allowed

    def _gibbs(self, rows: int, stream: Stream, report: Progress, where: Where, threads: int | None) -> Drawn:
        empty = [table.columns[-1] for table in self.tables if not table.occupied()[1].sum()]
        if empty:
            raise RefusalError(
                f"nothing survives in the tables of {', '.join(empty)}, so no row can be drawn. Use fewer parents, a "
                "larger epsilon or delta, or coarser levels. This attempt is paid for, and trying again costs again. "
                "(Confidential: this depends on the data.)"
            )
        keys = [released_key(self.codebook, table) for table in self.tables]
        weights = [released_weights(key, table) for key, table in zip(keys, self.tables, strict=True)]
        sampler = RejectingSampler(self.codebook, keys, weights, allowed=self._rules(where))
        if self.starts is None:
            starts = sampler.starts(rows, stream)
        else:
            starts = draw_cells(*self._allowed_cells(self.starts, where), rows=rows, stream=stream)
        codes, mixing = sampler.run(starts, sweeps=self.sweeps, stream=stream, report=report, threads=threads)
        return Drawn(codes=codes, warnings=tuple(mixing.warnings(fixed=tuple(where))))

    def _marginals(self, rows: int, stream: Stream, report: Progress, where: Where, threads: int | None) -> Drawn:
        book = self.codebook
        weights, *levels = [part.astype(np.float64) for part in self.classes]
        pairs = {
            (book.position(table.columns[0]), book.position(table.columns[1])): table.to_grid().astype(np.float64)
            for table in self.tables
            if len(table.columns) == 2
        }
        kind = code_type(max(book.sizes))

        def some(number: int) -> list[Codes]:
            codes = draw_agreeing(
                weights, levels, pairs, allowed=book.allowed, rows=number, stream=stream, report=report
            )
            return [column.astype(kind) for column in codes]

        return self._filtered(some, rows, where)

    def _network(self, rows: int, stream: Stream, report: Progress, where: Where, threads: int | None) -> Drawn:
        keys = [released_key(self.codebook, table) for table in self.tables]
        weights = []
        for key, table in zip(keys, self.tables, strict=True):
            uniform = [1] * table.sizes[-1]
            found = released_weights(key, table, last_row=uniform)
            bare = found.cumulative[:, -1] == 0  # a parent combination that the noise left without any child
            found.cumulative[bare] = np.cumsum(np.array(uniform, dtype=np.uint64))
            weights.append(found)
        sampler = ConditionalSampler(self.codebook, keys, weights, order=self.order)

        def some(number: int) -> list[Codes]:
            return draw_ancestral(sampler, self.order, rows=number, stream=stream, report=report, threads=threads)

        return self._filtered(some, rows, where)

    def _filtered(self, some: Callable[[int], list[Codes]], rows: int, where: Where) -> Drawn:
        """Rows of the whole population until enough of them belong to the sub-population: its exact law."""
        if not where:
            return Drawn(codes=some(rows))
        rules = self._rules(where)
        found: list[list[Codes]] = []
        kept, drawn, batch = 0, 0, max(1000, 2 * rows)
        while kept < rows:
            if drawn >= _MOST_DRAWN:
                raise RefusalError(
                    f"only {kept:,} of {drawn:,} rows drawn {_of(where)}were found, and {rows:,} were asked for; the "
                    "sub-population is too rare in this model. Ask for fewer rows, or for a larger sub-population."
                )
            codes = some(batch)
            mine = rules.fits(codes)
            found.append([column[mine] for column in codes])
            kept, drawn = kept + int(mine.sum()), drawn + batch
            share = max(kept, 1) / drawn
            batch = int(min(max(1000, 1.2 * (rows - kept) / share), _MOST_DRAWN))
        return Drawn(codes=[np.concatenate(parts)[:rows] for parts in zip(*found, strict=True)])


def _of(where: Where) -> str:
    return f"with the values asked for in {' and '.join(where)} " if where else ""


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
