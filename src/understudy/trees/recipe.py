"""The recipe of a risk score: a price before the data, a fit, and a model that is handed over or written.

>>> from understudy.trees.examples import diabetes_example
>>> from understudy.trees.train import Forest
>>> recipe = RiskScore(training=Forest(epsilon=1.0), target="diabetes")
>>> recipe.quote(diabetes_example().codebook).total.epsilon <= 1.0
True
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook
from understudy.codec import to_plain
from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.group import share_of_group
from understudy.mechanisms.labelled import Cells, labelled_cells, set_aside
from understudy.mechanisms.stream import Stream
from understudy.parameters import (
    EPSILON,
    Declared,
    EachName,
    Option,
    Panel,
    Text,
    from_words,
    option,
    options_of,
    options_together,
)
from understudy.privacy.account import Account
from understudy.privacy.ledger import Entry, Ledger, stream_entries
from understudy.privacy.provenance import InputRole, Provenance
from understudy.privacy.quote import Quote
from understudy.privacy.secret import Secret
from understudy.privacy.transaction import Payment
from understudy.release.making import Fitted, choices_of
from understudy.release.manifest import describe
from understudy.sources import open_source
from understudy.sources.base import Report, Source
from understudy.sources.expressions import UNKNOWN
from understudy.sources.inputs import public_provenance
from understudy.synth.paid_books import bought_codebook, drafted_entries
from understudy.synth.people import capped_source, person_entries
from understudy.trees.features import Feature, features_of
from understudy.trees.model import NAME, NO_ROWS, VERSION, Quality, ScoreFacts, ScoreModel, score_quote
from understudy.trees.model_file import model_key
from understudy.trees.quality import measure_private, public_cells, public_quality, quality_price, subgroup_places
from understudy.trees.scorers import Scorer
from understudy.trees.train import METHODS, ScoreMethod, find_training, training_from

SET_ASIDE = 4
"""One record in so many, at random, is kept from training where quality is paid for."""
_QUALITY = ("quality_epsilon", "subgroups")


@dataclass(frozen=True, kw_only=True)
class RiskScore(Declared):
    """What to train, what it scores, and how its quality is found out; nothing of it may depend on the data."""

    training: ScoreMethod
    """How trees grow, with options of its own (:mod:`understudy.trees.train`)."""
    target: str = option(rule=Text(words="the name of a column", example="diabetes"), help="Column to score.")
    positive: str | None = option(
        None,
        rule=Text(words="a level of the target", example="yes"),
        help="Level whose chance is the score; by default the last of two.",
    )
    name: str | None = option(None, rule=NAME, help="Name of the model in web addresses; by default the target.")
    version: int = option(1, rule=VERSION, help="Version of the model.", flag="--model-version")
    quality_epsilon: float | None = option(
        None,
        rule=EPSILON,
        help="Pay so much for a quality report on a quarter of the records, set aside at random.",
        panel=Panel.PRIVACY,
    )
    quality_data: Any = option(
        None,
        rule=Text(words="a table", example="public.csv", admitted=lambda table: table is not None),
        help="Public table to measure quality on.",
        panel=Panel.INPUT,
    )
    subgroups: tuple[str, ...] = option(
        (), rule=EachName(), help="Report quality by this column too; may be repeated.", flag="--subgroup"
    )
    unknown: str = option(
        "error",
        rule=UNKNOWN,
        help="Values outside the codebook: error, missing, other, other-or-missing, or clamp (numbers and dates beyond "
        "their bounds become the bound).",
        panel=Panel.INPUT,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "subgroups", tuple(self.subgroups))
        if type(self.training) not in METHODS.values():  # it would be priced and believed as if it were ours
            raise ParameterError(
                f"`training` is of the type {type(self.training).__name__}; it must be one of "
                f"{', '.join(cls.__name__ for cls in METHODS.values())}."
            )
        NAME.check("name", self.called)
        method, call = self.training.method, self.training.call
        if self.quality_epsilon is not None and self.quality_data is not None:
            raise ParameterError(
                "quality is measured once: give an epsilon to pay for it, or public records, not both."
            )
        if self.quality_epsilon is not None and call is not None:
            raise ParameterError(
                f"the quality of {method!r} would cost a call for each record; leave the quality epsilon out."
            )
        if self.quality_data is not None and call is not None and call.is_formal:
            raise ParameterError(
                "every answer of a per-call model costs, test records included; its quality cannot be measured for "
                "free. Use a one-shot model, or state no quality."
            )
        if self.subgroups and self.quality_epsilon is None and self.quality_data is None:
            raise ParameterError(
                "subgroups are named and no quality is measured; give an epsilon for it, or public records."
            )

    @property
    def called(self) -> str:
        """Name of the model."""
        if self.name is not None:
            return self.name
        letters = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in self.target.lower())
        return letters.strip("-")[:64] or "score"

    def parameters(self) -> dict[str, Any]:
        """Every choice as plain data, for the manifest."""
        return {
            **self.training.parameters(),
            "quality_epsilon": self.quality_epsilon,
            "subgroups": list(self.subgroups),
        }

    @classmethod
    def from_parameters(cls, method: str, parameters: dict[str, Any], *, target: str, positive: str) -> "RiskScore":
        """What :meth:`parameters` wrote, as far as it has a price: public records are left out."""
        training = {name: value for name, value in parameters.items() if name not in _QUALITY}
        paid, subgroups = (parameters[name] for name in _QUALITY)
        return cls(
            training=training_from(method, training),
            target=target,
            positive=positive,
            name="score",
            quality_epsilon=paid,
            subgroups=() if paid is None else tuple(subgroups),
        )

    def public_inputs(self, confidential: Any = None) -> dict[InputRole, Provenance]:
        """What the table for quality is; what is not public is refused."""
        if self.quality_data is None:
            return {}
        role = InputRole.QUALITY
        return {role: public_provenance(self.quality_data, role, confidential=confidential)}

    def quote(self, book: Codebook, *, secure: bool = True, unpriced: Sequence[Entry] = ()) -> Quote:
        """What it costs; reads nothing but the codebook. ``unpriced`` is what was read beside the records."""
        positive_level(book, self.target, self.positive)
        features = features_of(book, self.target)
        subgroup_places(features, self.subgroups)
        for_record = self.of_record(book)
        entries = [*unpriced, *for_record.training.price(features)]
        if for_record.quality_epsilon is not None:
            entries += quality_price(features, self.subgroups, for_record.quality_epsilon)
        quote = score_quote(
            self.training.method,
            own_ledger(book, entries, secure=secure),
            delta=self.training.slack,
            bought=bought_codebook(book),
            call=self.training.call,
        )
        return quote.with_public(self.public_inputs())

    def of_record(self, book: Codebook) -> "RiskScore":
        """The same with the shares of one record, where the codebook caps the records of a person."""
        if book.unit is None:
            return self
        if self.training.call is not None:
            raise ParameterError(
                f"every answer of {self.training.method!r} is priced for one record, and the codebook's [unit] caps "
                "those of a person; use a method whose answers are free (additive), or leave [unit] out."
            )
        training: dict[str, Any] = {}
        asked = getattr(self.training, "epsilon", None)
        if asked is not None:
            slack = self.training.slack
            epsilon, delta = share_of_group(epsilon=asked, delta=slack, records=book.unit.cap)
            training = {"epsilon": epsilon} | ({} if delta is None else {"delta": delta})
        paid = self.quality_epsilon
        if paid is not None:
            paid, _ = share_of_group(epsilon=paid, delta=None, records=book.unit.cap)
        return replace(self, training=replace(self.training, **training), quality_epsilon=paid)

    def fit(self, source: Source, *, stream: Stream | None = None, report: Report | None = None) -> "FittedScore":
        """Read the records; they stay secret until they are paid for and trees grow from them."""
        source.provenance.refuse_as_data("a risk score")
        stream, book = Stream.checked(stream), source.codebook
        self.public_inputs(source.address)
        quote = self.quote(book, secure=stream.is_secure).with_data(source.provenance)
        _, code = positive_level(book, self.target, self.positive)
        (table,) = capped_source(source, stream).count([book.names], report)
        return FittedScore(
            recipe=self,
            codebook=book,
            # a fault of the data ends here, before anything is reserved
            cells=labelled_cells(table, target=self.target, positive=code),
            quote=quote,
            account=source.account,
            provenance=source.provenance,
            stream=stream,
            report=report,
        )


def score_options(method: str | None = None) -> dict[str, Option]:
    """The options of a score by this method, or of scores by any method."""
    own = options_together(METHODS) if method is None else options_of(find_training(method))
    return {**options_of(RiskScore), **own}


def make_score(method: str | ScoreMethod, **words: Any) -> RiskScore:
    """A risk score from loose options, as the command line or a recipe file writes them."""
    own = {name: value for name, value in words.items() if name in options_of(RiskScore)}
    chosen = {name: value for name, value in words.items() if name not in own}
    if isinstance(method, str):
        method = from_words(find_training(method), method, chosen)
    elif chosen:
        raise ParameterError(
            f"{', '.join(sorted(chosen))} stand beside a method, which holds its own options; write "
            f"{type(method).__name__}(...) with them, or give the method by name."
        )
    return from_words(RiskScore, "a risk score", own, training=method)


def positive_level(book: Codebook, target: str, positive: str | None) -> tuple[str, int]:
    """The level whose probability is the score: given, or the last of two."""
    column = book.column(target)
    labels = column.labels
    if positive is None:
        if column.proper_levels != 2:
            raise ParameterError(
                f"the target {target!r} has {column.proper_levels} levels; name the one to score with `positive`, "
                f"one of {column.shown_labels(20)}."
            )
        return labels[1], 1
    if positive not in labels:
        raise ParameterError(f"`positive` is {positive!r}; {target!r} has the levels {column.shown_labels(20)}.")
    return positive, labels.index(positive)


def own_ledger(book: Codebook, entries: Sequence[Entry], *, secure: bool) -> Ledger:
    """What training pays, given that the codebook is public, and what makes its price worth nothing."""
    known = [replace(entry, assumptions=(*entry.assumptions, *book.assumptions)) for entry in entries]
    priced = person_entries(known, book)
    return Ledger.of([*drafted_entries(book), *priced, *stream_entries(secure)])


class FittedScore(Fitted[ScoreModel]):
    """Records from which a score is about to be trained. Training again pays again."""

    def __init__(
        self,
        *,
        recipe: RiskScore,
        codebook: Codebook,
        cells: Secret[Cells],
        quote: Quote,
        account: Account | None,
        provenance: Provenance,
        stream: Stream,
        report: Report | None = None,
        unpriced: Sequence[Entry] = (),
    ) -> None:
        super().__init__(account=account, provenance=provenance, stream=stream, report=report)
        self.recipe, self.codebook = recipe, codebook
        self._cells, self._quoted, self._unpriced = cells, quote, unpriced
        self._features: tuple[Feature, ...] = features_of(codebook, recipe.target)
        self._positive, code = positive_level(codebook, recipe.target, recipe.positive)
        self._test: Cells | None = None
        if recipe.quality_data is not None:
            public = open_source(recipe.quality_data, codebook, unknown=recipe.unknown)
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
        training = recipe.of_record(book).training
        cells, held_out = self._cells, None
        if recipe.quality_epsilon is not None:
            cells, held_out = set_aside(cells, one_in=SET_ASIDE, stream=stream)
        self._tell("growing", 0, 1)
        grown = training.grow(cells, self._features, stream)
        quality, paid = self._measured(grown.scorer, held_out)
        self._tell("growing", 1, 1)
        entries = [*self._unpriced, *grown.entries, *paid]
        own = Ledger.of(self._provenance.as_data) + own_ledger(book, entries, secure=stream.is_secure)
        done = replace(quote, own=own)
        _refuse_dearer(quote, done)
        manifest = describe(
            done,
            payment,
            parameters=recipe.parameters(),
            rows_origin=NO_ROWS,
            codebook=book,
            secure=stream.is_secure,
            score=to_plain(
                ScoreFacts(
                    name=recipe.called,
                    version=recipe.version,
                    target=recipe.target,
                    positive=self._positive,
                    price_per_call=recipe.training.price_per_call,
                    quality=quality,
                )
            ),
        )
        return ScoreModel(scorer=grown.scorer, manifest=manifest)

    def _measured(self, scorer: Scorer, held_out: Secret[Cells] | None) -> tuple[Quality | None, tuple[Entry, ...]]:
        recipe, features, subgroups = self.recipe, self._features, self.recipe.subgroups
        if held_out is not None:
            paid = recipe.of_record(self.codebook).quality_epsilon
            assert paid is not None
            return measure_private(scorer, features, held_out, epsilon=paid, subgroups=subgroups, stream=self._stream)
        if self._test is None:
            return None, ()
        quality_data = recipe.quality_data
        label = Path(quality_data).name if isinstance(quality_data, str | Path) else "a table in memory"
        return public_quality(scorer, features, self._test, subgroups=subgroups, label=label), ()


def _refuse_dearer(quoted: Quote, done: Quote) -> None:
    """Refuse to show a model that cost more than was charged; that is a bug of ours."""
    before, after = quoted.pure, done.pure
    if not before.is_formal:
        return
    if any(getattr(after, name, 1e308) > getattr(before, name) for name in ("epsilon", "delta")):
        raise RefusalError(f"training cost {after}, more than the {before} that were quoted; this is a bug.")
