"""`bayesian-bootstrap`: independent columns whose probabilities are drawn from Dirichlet(counts). No promise."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook
from understudy.errors import RefusalError
from understudy.mechanisms.smoothing import exposed
from understudy.mechanisms.stream import Stream
from understudy.privacy.ledger import Entry, Ledger
from understudy.sources.base import Report, Source
from understudy.sources.tables import code_type
from understudy.synth.method_facts import baseline_facts
from understudy.synth.recipe import Fitted, Recipe

_READS = "exact one-way counts"
_WHY = "columns are resampled from their exact counts, which nobody paid for"


@dataclass(frozen=True, kw_only=True)
class BayesianBootstrap(Recipe):
    """Each column from Dirichlet(counts) weights: the PeGS paper's baseline, without a promise."""

    facts = baseline_facts(
        "bayesian-bootstrap",
        truth="Columns are resampled from their exact counts; a level that nobody has never shows.",
        page="bootstraps",
    )
    summary = "independent columns by the Bayesian bootstrap: the paper's baseline"
    example = {}

    def price(self, book: Codebook, rows: int) -> list[Entry]:
        """Nothing is paid."""
        return [Entry.unpriced(stage="tables", reads=_READS, why=_WHY)]

    def fit_records(self, source: Source, stream: Stream, report: Report | None) -> "FittedBootstrap":
        """Exact one-way counts."""
        names = source.codebook.names
        tables, _ = exposed(source.count([[name] for name in names], report), stage="tables", reads=_READS, why=_WHY)
        return FittedBootstrap(
            recipe=self,
            source=source,
            counts=[table.to_grid() for table in tables],
            stream=stream,
            report=report,
        )


class FittedBootstrap(Fitted):
    """Exact marginals, for a baseline."""

    def __init__(
        self,
        *,
        recipe: Recipe,
        source: Source,
        counts: Sequence[npt.NDArray[np.int64]],
        stream: Stream,
        report: Report | None,
    ) -> None:
        super().__init__(recipe=recipe, source=source, stream=stream, report=report)
        self._counts = counts

    def _draw(self, rows: int, ledger: Ledger) -> Sequence[npt.NDArray[np.unsignedinteger]]:
        generator = self._stream.generator()
        kind = code_type(max(self.codebook.sizes))
        columns = [np.zeros(rows, dtype=kind) for _ in self._counts]
        steps = self.codebook.allowed.plan(range(len(columns)))
        for column, counts, step in zip(columns, self._counts, steps, strict=True):
            if counts.sum() == 0:
                raise RefusalError("the table has no rows, so there is nothing to resample; open one that has some.")
            shares = generator.standard_gamma(counts.astype(float))
            if step is None:
                column[:] = generator.choice(len(counts), size=rows, p=shares / shares.sum())
                continue
            held = shares * step.choices.levels
            held = np.where(held.sum(axis=1, keepdims=True) > 0, held, step.choices.levels)
            reach = np.cumsum(held, axis=1)
            sets = step.sets(columns)
            for number in np.unique(sets):
                here = np.flatnonzero(sets == number)
                picks = generator.random(len(here)) * (reach[number, -1] * (1 - 2.0**-40))  # never the very end
                column[here] = np.searchsorted(reach[number], picks, side="right")
        return columns
