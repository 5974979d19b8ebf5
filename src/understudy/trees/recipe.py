"""A risk score as every other release: a price before the data, a fit, and then a model to hand over or to write.

>>> from understudy.trees.examples import diabetes_example
>>> from understudy.trees.train import Training
>>> recipe = RiskScore(training=Training(method="forest", epsilon=1.0), target="diabetes")
>>> recipe.quote(diabetes_example().codebook).total.epsilon <= 1.0
True
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook
from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.labelled import Cells, set_aside
from understudy.mechanisms.stream import Stream
from understudy.privacy.ledger import Entry, Ledger, stream_entries
from understudy.privacy.provenance import InputRole, Provenance
from understudy.privacy.quote import Quote
from understudy.privacy.secret import Secret
from understudy.privacy.statement import Subject
from understudy.privacy.transaction import Payment
from understudy.release.making import Fitted, choices_of
from understudy.release.manifest import describe
from understudy.sources import open_source
from understudy.sources.base import Report, Source
from understudy.sources.inputs import public_provenance
from understudy.synth.paid_books import bought_codebook, drafted_entries
from understudy.trees.features import Feature, features_of
from understudy.trees.model import NO_ROWS, Quality, ScoreModel, check_name, facts
from understudy.trees.model_file import model_key
from understudy.trees.quality import measure_private, public_cells, public_quality, quality_price, subgroup_places
from understudy.trees.scorers import Scorer
from understudy.trees.train import Training, cells_of, check_price, grow, positive_level, price, refuse_people

SET_ASIDE = 4
"""One record in so many, at random, is kept from training where quality is paid for."""


@dataclass(frozen=True, kw_only=True)
class RiskScore:
    """What to train, what it scores, and how its quality is found out; nothing of it may depend on the data."""

    training: Training
    target: str
    positive: str | None = None
    """The level whose chance is the score; by default the last of two."""
    name: str | None = None
    """In web addresses; by default the target."""
    version: int = 1
    quality_epsilon: float | None = None
    """Pay so much for a quality report on records set aside."""
    quality_data: Any = None
    """Or measure it on a table that is used as public knowledge."""
    subgroups: tuple[str, ...] = ()
    """Report quality by these columns too."""
    unknown: str = "error"
    """Where values of ``quality_data`` go that the codebook does not list."""

    def __post_init__(self) -> None:
        check_name(self.called, self.version)
        method, paid, public = self.training.method, self.quality_epsilon, self.quality_data
        if paid is not None and public is not None:
            raise ParameterError(
                "quality is measured once: give an epsilon to pay for it, or public records, not both."
            )
        if paid is not None:
            check_price("quality_epsilon", paid)
            if method in ("per-call-tree", "dpat", "edpat"):
                raise ParameterError(
                    f"the quality of {method!r} would cost a call for each record; leave the quality epsilon out."
                )
        if public is not None and method == "per-call-tree":
            raise ParameterError(
                "every answer of a per-call model costs, test records included; its quality cannot be measured for "
                "free. Use a one-shot model, or state no quality."
            )
        if self.subgroups and paid is None and public is None:
            raise ParameterError(
                "subgroups are named and no quality is measured; give an epsilon for it, or public records."
            )

    @property
    def called(self) -> str:
        """Name of the model."""
        if self.name is not None:
            return self.name
        kept = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in self.target.lower())
        return kept.strip("-")[:64] or "score"

    def parameters(self) -> dict[str, Any]:
        """Every choice as plain data, for the manifest."""
        chosen = {"quality_epsilon": self.quality_epsilon, "subgroups": list(self.subgroups)}
        return {**self.training.parameters(), **chosen}

    @classmethod
    def from_parameters(cls, method: str, told: dict[str, Any], *, target: str, positive: str) -> "RiskScore":
        """What :meth:`parameters` wrote, as far as it has a price: public records are left out."""
        own = {name: value for name, value in told.items() if name not in ("quality_epsilon", "subgroups")}
        paid = told["quality_epsilon"]
        return cls(
            training=Training.from_parameters(method, own),
            target=target,
            positive=positive,
            name="score",
            quality_epsilon=paid,
            subgroups=() if paid is None else tuple(told["subgroups"]),
        )

    def public_inputs(self, confidential: Any = None) -> dict[InputRole, Provenance]:
        """What the table for quality is; what is not public is refused."""
        if self.quality_data is None:
            return {}
        role = InputRole.QUALITY
        return {role: public_provenance(self.quality_data, role, confidential=confidential)}

    def quote(self, book: Codebook, *, secure: bool = True) -> Quote:
        """What it costs; reads nothing but the codebook."""
        refuse_people(book)
        positive_level(book, self.target, self.positive)
        features = features_of(book, self.target)
        subgroup_places(features, self.subgroups)
        entries = list(price(self.training, features))
        if self.quality_epsilon is not None:
            entries += quality_price(features, self.subgroups, self.quality_epsilon)
        quote = Quote(
            method=self.training.method,
            route="score",
            own=own_ledger(book, entries, secure=secure),
            own_delta=self.training.delta,
            rows=0,
            subject=Subject.SCORE,
            bought=bought_codebook(book),
            call=self.training.call,
        )
        return quote.with_public(self.public_inputs())

    def fit(self, source: Source, *, stream: Stream | None = None, report: Report | None = None) -> "FittedScore":
        """Read the records; they stay in their box until they are paid for and trees grow from them."""
        return FittedScore(recipe=self, source=source, stream=Stream.checked(stream), report=report)


def own_ledger(book: Codebook, entries: Sequence[Entry], *, secure: bool) -> Ledger:
    """What training pays, given that the codebook is public, and what makes its price worth nothing."""
    priced = [replace(entry, assumptions=(*entry.assumptions, *book.assumptions)) for entry in entries]
    return Ledger.of([*drafted_entries(book), *priced, *stream_entries(secure)])


class FittedScore(Fitted[ScoreModel]):
    """Records from which a score is about to be trained. To train again is to pay again."""

    def __init__(self, *, recipe: RiskScore, source: Source, stream: Stream, report: Report | None) -> None:
        source.provenance.refuse_as_data("a risk score")
        super().__init__(account=source.account, provenance=source.provenance, stream=stream, report=report)
        self.recipe = recipe
        self.codebook = book = source.codebook
        recipe.public_inputs(source.address)
        self._quoted = recipe.quote(book, secure=stream.is_secure).with_data(source.provenance)
        self._features: tuple[Feature, ...] = features_of(book, recipe.target)
        self._positive, code = positive_level(book, recipe.target, recipe.positive)
        # a fault of the data ends here, before anything is reserved
        self._cells: Secret[Cells] = cells_of(source, recipe.target, code, report)
        self._test: Cells | None = None
        if recipe.quality_data is not None:
            public = open_source(recipe.quality_data, book, unknown=recipe.unknown)
            self._test = public_cells(public, target=recipe.target, positive=code)

    def quote(self, rows: int = 0) -> Quote:
        """The price of training."""
        return self._quoted

    def sample(self) -> ScoreModel:  # type: ignore[override]
        """Pay, train, and hand over."""
        return super().sample(0)

    def write(self, out: str | Path, *, key: bytes | str | Path | None = None) -> ScoreModel:  # type: ignore[override]
        """Pay, train and write; ``key`` seals what stays confidential (:func:`~understudy.trees.save_model`)."""
        if self.recipe.training.is_sealed:
            model_key(key)  # before anything is reserved
        return self._write(out, 0, {"key": key})

    def _choices(self, quote: Quote) -> str:
        recipe = self.recipe
        chosen = {**recipe.parameters(), "target": recipe.target, "positive": self._positive}
        return choices_of(quote, chosen, self.codebook.digest, public=[recipe.quality_data])

    def _label(self, quote: Quote) -> str:
        return f"risk score {self.recipe.called!r}, version {self.recipe.version}, by {quote.method}"

    def _make(self, quote: Quote, payment: Payment, **how: Any) -> ScoreModel:
        recipe, stream, book = self.recipe, self._stream, self.codebook
        cells, kept = self._cells, None
        if recipe.quality_epsilon is not None:
            cells, kept = set_aside(cells, one_in=SET_ASIDE, stream=stream)
        self._tell("growing", 0, 1)
        grown = grow(cells, self._features, recipe.training, stream)
        quality, paid = self._measured(grown.scorer, kept)
        self._tell("growing", 1, 1)
        done = replace(quote, own=own_ledger(book, [*grown.entries, *paid], secure=stream.is_secure))
        _refuse_dearer(quote, done)
        manifest = describe(
            done,
            payment,
            parameters=recipe.parameters(),
            rows_origin=NO_ROWS,
            codebook=book,
            secure=stream.is_secure,
            score=facts(
                name=recipe.called,
                version=recipe.version,
                target=recipe.target,
                positive=self._positive,
                price_per_call=recipe.training.price_per_call,
                quality=quality,
            ),
        )
        return ScoreModel(scorer=grown.scorer, manifest=manifest)

    def _measured(self, scorer: Scorer, kept: Secret[Cells] | None) -> tuple[Quality | None, tuple[Entry, ...]]:
        recipe, features, subgroups = self.recipe, self._features, self.recipe.subgroups
        if kept is not None:
            assert recipe.quality_epsilon is not None
            return measure_private(
                scorer, features, kept, epsilon=recipe.quality_epsilon, subgroups=subgroups, stream=self._stream
            )
        if self._test is None:
            return None, ()
        given = recipe.quality_data
        label = Path(given).name if isinstance(given, str | Path) else "a table in memory"
        return public_quality(scorer, features, self._test, subgroups=subgroups, label=label), ()


def _refuse_dearer(quoted: Quote, done: Quote) -> None:
    """What was charged must cover what was done; anything else is a fault of ours, and nobody sees the model."""
    before, after = quoted.pure, done.pure
    if not before.is_formal:
        return
    if any(getattr(after, name, 1e308) > getattr(before, name) for name in ("epsilon", "delta")):
        raise RefusalError(f"training cost {after}, more than the {before} that were quoted; this is a bug.")
