"""`imputation`: synthetic data by multiple imputation (sequential regressions). A baseline that promises nothing.

Parameters are drawn by the Bayesian bootstrap, one draw per file, so that the combining rules of ``us.combine`` hold:
``synthesis`` says which of the three notions of figure 1 of the PeGS paper a file is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from understudy.blocks.learning import Floats, Predictor, Records
from understudy.codebook import Codebook, Role
from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.smoothing import exposed
from understudy.mechanisms.stream import Stream
from understudy.parameters import Flag, Names, OneOf, Whole, option
from understudy.privacy.ledger import Entry, Ledger
from understudy.sources.base import Report, Source
from understudy.sources.tables import code_type
from understudy.synth.chained import Chain, Modelled, full_order
from understudy.synth.method_facts import baseline_facts
from understudy.synth.methods.pmi import Steps
from understudy.synth.options import sweeps_option
from understudy.synth.recipe import Fitted, Recipe

Codes = npt.NDArray[np.unsignedinteger]
SYNTHESES = ("complete", "full", "partial")
_READS = "every record, to fit one model per column"
_WHY = "models are fitted to the exact records, which nobody paid for"
_KEPT = {
    "full": "the columns that are not synthesized are drawn from real records as they are",
    "partial": "every real record is kept, with only the chosen values replaced",
}


@dataclass(frozen=True, kw_only=True)
class Imputation(Modelled, Recipe):
    """Multiple imputation: one regression per column, its parameters drawn again for every file.

    >>> import understudy as us
    >>> us.Imputation(engines={"charge": "cart", "patzip": "blocks"}).quote(us.datasets.discharges_codebook(), 10).total
    NoFormal(why='models are fitted to the exact records, which nobody paid for')
    """

    facts = baseline_facts(
        "imputation",
        truth="Models are fitted to the exact records. Combining rules cover sampling, not disclosure.",
        page="imputation",
        paper_claim="nothing formal; synthetic rows are said to protect",
    )
    summary = "multiple imputation by sequential regressions, trees or tables: a baseline"
    example = {}
    shows_records: ClassVar[bool] = True
    sweeps: int = sweeps_option(
        0, least=0, about="0: one pass, each column given those before it. Otherwise sweeps, each given all others."
    )
    synthesis: str = option(
        "complete",
        rule=OneOf.of(SYNTHESES),
        help="complete: every value is drawn. full: new rows, the given columns from real records and the others "
        "predicted. partial: the real records with some of their values replaced.",
    )
    columns: tuple[str, ...] | None = option(
        None, rule=Names(), help="Columns that a full or partial synthesis replaces; by default the sensitive ones."
    )
    at_risk: int | None = option(
        None,
        rule=Whole(least=2),
        help="Replace (partial) only in records whose quasi-identifiers are shared by fewer than so many.",
    )
    proper: bool = option(
        True,
        rule=Flag(),
        flag="--proper/--plug-in",
        help="Draw the parameters, by the Bayesian bootstrap, for every file, or plug the estimates in.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.synthesis == "complete" and self.columns is not None:
            raise ParameterError("a complete synthesis draws every column; leave `columns` out, or choose partial.")
        if self.at_risk is not None and self.synthesis != "partial":
            raise ParameterError("`at_risk` chooses among real records, so it needs synthesis = 'partial'.")

    def replaced(self, book: Codebook) -> tuple[str, ...]:
        """Columns that are drawn, in codebook order."""
        if self.synthesis == "complete":
            return book.names
        if self.columns is None:
            chosen = tuple(column.name for column in book.modelled if column.role is Role.SENSITIVE)
            if not chosen:
                raise ParameterError(
                    f"a {self.synthesis} synthesis replaces sensitive columns, and the codebook calls none so; give "
                    "`columns`, or set a role in the codebook."
                )
            return chosen
        for name in self.columns:
            if name not in book.names:
                raise ParameterError(f"`columns` names {name!r}; columns are {', '.join(book.names)}.")
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise ParameterError(f"`columns` is {', '.join(self.columns) or 'empty'}; name some, each once.")
        return tuple(name for name in book.names if name in self.columns)

    def keys_at_risk(self, book: Codebook) -> list[int]:
        """Positions of the quasi-identifiers."""
        quasi_identifiers = [
            place for place, column in enumerate(book.modelled) if column.role is Role.QUASI_IDENTIFIER
        ]
        if self.at_risk is not None and not quasi_identifiers:
            raise ParameterError("`at_risk` counts quasi-identifiers, and the codebook calls no column so; set a role.")
        return quasi_identifiers

    def chain(self, book: Codebook) -> Chain:
        """The replaced columns, in the declared order."""
        wanted = self.replaced(book)
        drawn = tuple(name for name in full_order(book, self.order) if name in wanted)
        return Chain(book=book, choice=self.choice, drawn=drawn, sweeps=self.sweeps)

    def price(self, book: Codebook, rows: int) -> list[Entry]:
        """Nothing is paid."""
        self.choice.check(book)
        self.chain(book)
        self.keys_at_risk(book)
        entries = [Entry.unpriced(stage="models", reads=_READS, why=_WHY)]
        if self.synthesis in _KEPT:
            entries.append(Entry.unpriced(stage="rows", reads="real records", why=_KEPT[self.synthesis]))
        return entries

    def fit_records(self, source: Source, stream: Stream, report: Report | None) -> "FittedImputation":
        """Tune every model; its parameters are drawn with each file."""
        tables, _ = exposed(source.count([source.codebook.names], report), stage="models", reads=_READS, why=_WHY)
        records = Records.of(tables[0])
        if not len(records.counts):
            raise RefusalError("the table has no rows, so there is nothing to learn from; open one that has some.")
        return FittedImputation(recipe=self, source=source, records=records, stream=stream, report=report)


class FittedImputation(Fitted):
    """Tuned models and the records they are fitted to, for a baseline."""

    def __init__(
        self, *, recipe: Imputation, source: Source, records: Records, stream: Stream, report: Report | None
    ) -> None:
        super().__init__(recipe=recipe, source=source, stream=stream, report=report)
        self._records = records
        self._chain = recipe.chain(self.codebook)
        self._learners = self._chain.learners()
        generator = stream.generator()
        steps = Steps(report, len(self._learners))
        self._estimated: dict[str, Predictor] = {}
        for name, learner in self._learners.items():
            learner.tune(records, generator, steps.fold)
            self._estimated[name] = learner.fit(records, records.counts, generator)
            steps.column()
        self._shuffled: npt.NDArray[np.int64] | None = None

    @property
    def rows_origin(self) -> str:
        """A partially synthetic file keeps every record."""
        partial = isinstance(self.recipe, Imputation) and self.recipe.synthesis == "partial"
        return "the number of confidential records, all of which are kept" if partial else super().rows_origin

    def _draw(self, rows: int, ledger: Ledger) -> Sequence[Codes]:
        assert isinstance(self.recipe, Imputation)
        generator = self._stream.generator()
        weights, models = self._parameters(generator)
        state = self._start(rows, weights, generator)
        chosen = self._chosen(state)
        self._refuse_violations(state, chosen)
        block = [column[chosen] for column in state]
        if chosen.any():
            self._scatter(block, weights, generator)
            block = self._chain.run(
                block,
                lambda name, batch: models[name].probabilities(batch),
                alpha=Fraction(0),
                stream=self._stream,
                report=lambda done, of: self._tell("drawing rows", done, of),
            )
        for column, drawn in zip(state, block, strict=True):
            column[chosen] = drawn
        return state

    def _parameters(self, generator: np.random.Generator) -> tuple[Floats, Mapping[str, Predictor]]:
        """One draw of the bootstrap weights for all columns together, and the models at those weights."""
        assert isinstance(self.recipe, Imputation)
        if not self.recipe.proper:
            return self._records.counts, self._estimated
        weights = self._records.bootstrapped(generator)
        models = {}
        for done, (name, learner) in enumerate(self._learners.items(), start=1):
            models[name] = learner.fit(self._records, weights, generator)
            self._tell("drawing parameters", done, len(self._learners))
        return weights, models

    def _start(self, rows: int, weights: Floats, generator: np.random.Generator) -> list[Codes]:
        """What the columns that are not drawn hold."""
        assert isinstance(self.recipe, Imputation)
        kind = code_type(max(self.codebook.sizes))
        if self.recipe.synthesis == "complete":
            return [np.zeros(rows, dtype=kind) for _ in self.codebook.names]
        if self.recipe.synthesis == "full":
            weights = weights * self._completable(self._records.columns)
            if not weights.sum() > 0:
                raise RefusalError(
                    "no record has values of the given columns that the rules of the codebook allow; list them with "
                    "`understudy codebook check`. (Confidential: this depends on the data.)"
                )
            picked = generator.choice(len(weights), size=rows, p=weights / weights.sum())
        else:
            picked = self._every_record(rows, generator)
        return [column[picked].astype(kind) for column in self._records.columns]

    def _completable(self, state: Sequence[Codes]) -> npt.NDArray[np.bool_]:
        """Whether what is given in a row can be completed within the rules."""
        return self.codebook.allowed.completable(state, self._chain.order, len(self._chain.given))

    def _refuse_violations(self, state: Sequence[Codes], chosen: npt.NDArray[np.bool_]) -> None:
        """Real values that break a rule are kept by a partial synthesis, so it cannot be honoured there."""
        good = np.where(chosen, self._completable(state), self.codebook.allowed.fits(state))
        if not good.all():
            raise RefusalError(
                f"{int((~good).sum()):,} records break a rule of the codebook in values that this synthesis keeps; "
                "list them with `understudy codebook check`, and mend them or the rule. (Confidential: this depends on "
                "the data.)"
            )

    def _every_record(self, rows: int, generator: np.random.Generator) -> npt.NDArray[np.int64]:
        """All records in one random order that all files share; their sorted order would show what was replaced."""
        counts = self._records.counts.astype(np.int64)
        if rows != counts.sum():
            raise ParameterError(
                f"`rows` is {rows:,}, and a partially synthetic file keeps each of the {counts.sum():,} records once; "
                "ask for as many. (Confidential: this depends on the data.)"
            )
        if self._shuffled is None:
            self._shuffled = generator.permutation(np.repeat(np.arange(len(counts)), counts))
        return self._shuffled

    def _chosen(self, state: Sequence[Codes]) -> npt.NDArray[np.bool_]:
        """Rows in which something is replaced."""
        assert isinstance(self.recipe, Imputation)
        if self.recipe.at_risk is None:
            return np.ones(len(state[0]), dtype=bool)
        keys = np.stack([state[place] for place in self.recipe.keys_at_risk(self.codebook)], axis=1)
        _, inverse, sizes = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
        return np.asarray(sizes[inverse.ravel()] < self.recipe.at_risk)

    def _scatter(self, block: Sequence[Codes], weights: Floats, generator: np.random.Generator) -> None:
        """Sweeps start from independent draws of every replaced column, never from the values to be replaced."""
        for name in self._chain.drawn:
            place = self.codebook.position(name)
            shares = np.bincount(self._records.columns[place], weights, minlength=self.codebook.sizes[place])
            block[place][:] = generator.choice(len(shares), size=len(block[place]), p=shares / shares.sum())
