"""`pmi`: perturbed multiple imputation (pegs.txt, section 3.5). Predictions of secret models, perturbed and drawn from.

The price holds for any two tables, so it bounds how much the file can depend on the data at all: a draw follows the
model with weight 1/(1 + C alpha) and is uniform otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.blocks.learning import Floats, Predictor, Records, UniformPredictor
from understudy.codebook import Codebook
from understudy.mechanisms.dirichlet import alpha_for
from understudy.mechanisms.prediction import PerturbedPrediction, fitted_in_secret, unit_bits
from understudy.mechanisms.smoothing import open_for_draws
from understudy.mechanisms.stream import Stream
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.secret import Secret
from understudy.sources.base import Report, Source
from understudy.sources.tables import CountTable
from understudy.synth.chained import Chain, Modelled, full_order
from understudy.synth.drawn import DrawnRecipe
from understudy.synth.method_facts import synthesis_facts
from understudy.synth.options import sweeps_option
from understudy.synth.recipe import Fitted
from understudy.synth.seeds import seeds_assumption, seeds_entry

Models = Mapping[str, Predictor]
_FAINT = 0.1


@dataclass(frozen=True, kw_only=True)
class PMI(Modelled, DrawnRecipe):
    """Perturbed multiple imputation: regressions whose predictions are perturbed before every draw.

    >>> import understudy as us
    >>> book = us.datasets.discharges_codebook()
    >>> quote = us.PMI(epsilon_per_record=1.0, delta=1e-6).quote(book, rows=1000)
    >>> round(quote.pure.epsilon), round(quote.total.epsilon, 1)
    (1000, 38.6)
    >>> round(quote.paper["weight_on_the_model"]["MDC"], 4)
    0.0032
    """

    facts = synthesis_facts(
        "pmi",
        route="S",
        guarantee="ε-DP or (ε, δ)-DP of the whole file",
        public="levels, α, order of the columns, number of rows",
        paper="PeGS (PMI)",
        paper_claim="Perturbed predictions are ε-DP per sample.",
        sound="holds with conditions",
        truth="True of probability vectors on a public domain, and for any two tables whatever: it is near "
        "independence from the data (weight 1/(1 + Cα) on the model), which the statement says. N rows cost N"
        " times as much.",
        page="imputation",
        proofs=("perturbed_prediction",),
        exact_tests=(
            "prediction_exact",
            "rules_exact",
        ),
    )
    summary = "perturbed multiple imputation: perturbed regressions, every drawn row costs"
    example = {"epsilon_per_record": 1.0, "delta": 1e-6}
    sweeps: int = sweeps_option(
        1,
        least=0,
        about="Gibbs sweeps per row, each paid for; 0 draws every column once, given those before it, without seeds.",
    )

    def chain(self, book: Codebook) -> Chain:
        """Every column, in the declared order."""
        return Chain(book=book, choice=self.choice, drawn=full_order(book, self.order), sweeps=self.sweeps)

    def event(self, book: Codebook, rows: int, alpha: Fraction) -> PerturbedPrediction:
        """Rows x sweeps draws from the model of every column."""
        draws = rows * max(self.sweeps, 1)
        return PerturbedPrediction(alpha=alpha, levels=book.sizes, draws=draws, neighbours=self.neighbours)

    def event_at_one(self, book: Codebook, rows: int) -> PerturbedPrediction:
        """With alpha = 1."""
        return self.event(book, rows, Fraction(1))

    def paper_alpha(self, columns: int) -> Fraction:
        """alpha = 1/(e^(epsilon/M) - 1), charged for every sweep."""
        assert self.epsilon_per_record is not None
        return alpha_for(epsilon_per_record=self.epsilon_per_record, columns=columns * max(self.sweeps, 1))

    def price(self, book: Codebook, rows: int) -> list[Entry]:
        """The seeds first, then the draws; choosing and fitting the models is free, whatever they read."""
        self.choice.check(book)
        for size in book.sizes:
            unit_bits(self.alpha_used(book), size)  # refuse what exact weights cannot hold before anything is paid
        unpaid = seeds_entry(self.seeds) if self.sweeps else None
        fixed = "alpha, the order of the columns and the number of rows were fixed without looking at the data"
        draws = Entry(
            stage="rows",
            reads=f"predictions of {len(book.names)} models, by drawing {rows:,} rows",
            event=self.event(book, rows, self.alpha_used(book)),
            assumptions=(*book.assumptions, fixed, *seeds_assumption(self.seeds)),
        )
        return [*([unpaid] if unpaid else []), draws]

    def model_weights(self, book: Codebook) -> dict[str, float]:
        """How much of a draw follows the model: 1/(1 + C alpha)."""
        alpha = self.alpha_used(book)
        return {column.name: float(1 / (1 + column.size * alpha)) for column in book.modelled}

    def paper_figure(self, book: Codebook) -> dict[str, Any]:
        """Epsilon per record, as the paper prints it, and the weight that the models have."""
        alpha, weights = self.alpha_used(book), self.model_weights(book)
        epsilon = self.event(book, 1, alpha).guarantee()
        per_record = float(getattr(epsilon, "epsilon", np.inf))
        low, high = min(weights.values()), max(weights.values())
        return {
            "epsilon_per_record": per_record,
            "alpha": float(alpha),
            "weight_on_the_model": weights,
            "statement": (
                f"A drawn value follows its model with weight 1/(1 + C alpha), here {low:.2g} to {high:.2g}, and is "
                "uniform over the C levels otherwise: the promise holds for any two tables whatever, because the file "
                f"depends on the data no more than that. The paper's figure is epsilon = {per_record:.4g} per "
                "synthetic record."
            ),
        }

    def warnings(self, book: Codebook) -> list[str]:
        """Say so when hardly anything of the data is left."""
        warnings = super().warnings(book)
        high = max(self.model_weights(book).values())
        if high < _FAINT:
            warnings.append(
                f"at most {high:.2g} of every drawn value comes from the models, the rest is uniform noise: the file "
                "is practically independent of the data. Use a method of route N, or a larger epsilon."
            )
        return warnings

    def fit_records(self, source: Source, stream: Stream, report: Report | None) -> "FittedPMI":
        """Fit every model to the counts of whole records, and keep it secret."""
        counts = source.count([source.codebook.names], report)[0]
        chain, generator = self.chain(source.codebook), stream.generator()
        models = fitted_in_secret(counts, lambda table: fit_models(chain, table, generator, report))
        return FittedPMI(recipe=self, source=source, models=models, stream=stream, report=report)


def fit_models(chain: Chain, table: CountTable, generator: np.random.Generator, report: Report | None) -> Models:
    """One model per column. A fit that fails becomes the uniform prediction: an error would tell about the data."""
    records = Records.of(table)
    steps = Steps(report, len(chain.drawn))
    models: dict[str, Predictor] = {}
    for name, learner in chain.learners().items():
        try:
            learner.tune(records, generator, steps.fold)
            models[name] = learner.fit(records, records.counts, generator)
        except Exception:  # whatever it is, it depends on the data
            models[name] = UniformPredictor(levels=chain.book.column(name).size)
        steps.column()
    return models


class Steps:
    """Progress by column, and within a column by fold."""

    PER_COLUMN = 4

    def __init__(self, report: Report | None, columns: int) -> None:
        self._report, self._columns = report, columns
        self._done, self._within = 0, 0

    def fold(self) -> None:
        """One more fold of the present column is under way."""
        self._within = min(self._within + 1, self.PER_COLUMN - 1)
        self._tell()

    def column(self) -> None:
        """The present column is done."""
        self._done, self._within = self._done + 1, 0
        self._tell()

    def _tell(self) -> None:
        if self._report:
            self._report("fitting models", self._done * self.PER_COLUMN + self._within, self._columns * self.PER_COLUMN)


class FittedPMI(Fitted):
    """Models, still secret."""

    def __init__(
        self, *, recipe: PMI, source: Source, models: Secret[Models], stream: Stream, report: Report | None
    ) -> None:
        super().__init__(recipe=recipe, source=source, stream=stream, report=report)
        self._source = source
        self.models = models

    def _draw(self, rows: int, ledger: Ledger) -> Sequence[npt.NDArray[np.unsignedinteger]]:
        assert isinstance(self.recipe, PMI)
        alpha = self.recipe.alpha_used(self.codebook)
        event = self.recipe.event(self.codebook, rows, alpha)
        [models] = open_for_draws([self.models], event=event, ledger=ledger)
        chain = self.recipe.chain(self.codebook)
        starts = [np.zeros(rows, dtype=np.uint8) for _ in self.codebook.names]
        if self.recipe.sweeps:
            starts = self.recipe.seeds.draw(self._source, rows, self._stream)

        def predict(name: str, batch: Sequence[npt.NDArray[np.unsignedinteger]]) -> Floats:
            try:
                return models[name].probabilities(batch)
            except Exception:  # as in the fit: an error would tell about the data
                return UniformPredictor(levels=self.codebook.column(name).size).probabilities(batch)

        return chain.run(
            starts,
            predict,
            alpha=alpha,
            stream=self._stream,
            report=lambda done, of: self._tell("drawing rows", done, of),
        )
