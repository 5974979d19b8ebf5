"""A trained risk score as one value: features, answers, promise and price.

One-shot models hold released numbers only: ``score`` is post-processing, vectorised and free. Per-call models keep
their counts secret: ``noisy_score`` answers one question, and whoever calls it has charged ``price_per_call`` before.

>>> from understudy.trees.examples import diabetes_example
>>> model = diabetes_example()
>>> codes = model.encode({"glucoseLevel": "130", "bodyMassIndex": "25", "age": 41})
>>> probability, low, high = model.score(codes)
>>> bool(0 < low[0] <= probability[0] <= high[0] < 1)
True
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from understudy.codebook import Codebook
from understudy.codec import from_plain, to_plain
from understudy.errors import ParameterError
from understudy.mechanisms.stream import Stream
from understudy.parameters import Text, Whole
from understudy.privacy.guarantees import Guarantee
from understudy.privacy.ledger import Ledger
from understudy.privacy.provenance import Bought
from understudy.privacy.quote import Quote
from understudy.privacy.statement import Subject
from understudy.release.folders import Commit
from understudy.release.manifest import Manifest
from understudy.trees.features import CodeMatrix, Feature, encode_rows, features_of
from understudy.trees.scorers import BAND, Scored, Scorer, VoteForest

NO_ROWS = "a risk score has no rows"
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
NAME = Text(
    words="1 to 64 lower-case letters, digits and hyphens, because it is part of a web address",
    example="diabetes",
    admitted=lambda name: isinstance(name, str) and 1 <= len(name) <= 64 and _LETTERS.issuperset(name),
)
"""What a model may be called."""
VERSION = Whole()

Kind = Literal["one-shot", "per-call"]


def score_quote(
    method: str,
    own: Ledger,
    *,
    delta: float | None = None,
    answers: int = 0,
    bought: tuple[Bought, ...] = (),
    call: Guarantee | None = None,
) -> Quote:
    """The price of a training, or of so many answers."""
    return Quote(
        method=method,
        route="score",
        own=own,
        own_delta=delta,
        rows=answers,
        subject=Subject.SCORE,
        bought=bought,
        call=call,
    )


@dataclass(frozen=True, kw_only=True)
class Quality:
    """Measured quality, and who paid for it."""

    measures: Mapping[str, Any]
    """``{"auroc": {"value": ..., "low": ..., "high": ...}, "brier": ..., ...}``; plain data."""
    paid: str
    """How the figures were paid for, or that they were measured on public data; a sentence."""


@dataclass(frozen=True, kw_only=True)
class ScoreFacts:
    """What a manifest says of a risk score beyond what it says of every release."""

    name: str
    """Lower-case letters, digits and hyphens: it is part of a web address."""
    version: int
    """Which training of that name."""
    target: str
    """The column that is scored."""
    positive: str
    """The level of the target whose probability is the score."""
    price_per_call: float | None = None
    """Epsilon that each answer costs, or None when answers are free."""
    quality: Quality | None = None
    """How good it is, where that was measured."""
    notes: tuple[str, ...] = ()
    """What else a client should know."""


@dataclass(frozen=True, kw_only=True)
class ScoreModel:
    """A risk score that can be asked, saved, served and explained."""

    scorer: Scorer
    manifest: Manifest
    """What was trained, how, and at what price; ``manifest.score`` holds the :class:`ScoreFacts`."""
    words: str | None = None
    """The statement of a file of the first format, as it was written; others have that of the manifest."""

    def __post_init__(self) -> None:
        if self.positive not in self.codebook.column(self.target).labels:
            raise ParameterError(
                f"`positive` is {self.positive!r}; it must be a level of {self.target!r}: "
                f"{', '.join(self.codebook.column(self.target).labels)}."
            )
        if (self.price_per_call is None) != (not self.scorer.per_call):
            raise ParameterError(
                f"`price_per_call` is {self.price_per_call}; a per-call model has one and a one-shot model none."
            )

    @cached_property
    def facts(self) -> ScoreFacts:
        """What is asked and answered."""
        score = self.manifest.score or {}
        NAME.check("name", score.get("name"))
        VERSION.check("version", score.get("version"))
        return from_plain(ScoreFacts, score)

    @property
    def name(self) -> str:
        """As part of a web address."""
        return self.facts.name

    @property
    def version(self) -> int:
        """Which training of that name."""
        return self.facts.version

    @property
    def method(self) -> str:
        """``additive``, ``forest``, ``tree``, ``bag``, ``per-call-tree``, ``dpat``, ``edpat``, ``alpha-tree``."""
        return self.manifest.method

    @property
    def codebook(self) -> Codebook:
        """Features and target; public."""
        assert isinstance(self.manifest.codebook, Codebook)
        return self.manifest.codebook

    @property
    def target(self) -> str:
        """The column that is scored."""
        return self.facts.target

    @property
    def positive(self) -> str:
        """The level of the target whose probability is the score."""
        return self.facts.positive

    @property
    def price_per_call(self) -> float | None:
        """Epsilon that each answer costs, or None when answers are free."""
        return self.facts.price_per_call

    @property
    def call_guarantee(self) -> Guarantee | None:
        """What each answer adds, for per-call models."""
        return self.manifest.quote.call

    @property
    def quality(self) -> Quality | None:
        """How good it is, where that was measured."""
        return self.facts.quality

    @property
    def ledger(self) -> Ledger:
        """What training paid, add-remove, one record."""
        return self.manifest.ledger

    @property
    def statement(self) -> str:
        """The promise in plain words."""
        return self.manifest.statement if self.words is None else self.words

    @cached_property
    def guarantee(self) -> Guarantee:
        """What training cost in all: the ledger's total, or why there is none."""
        return self.manifest.total

    @property
    def kind(self) -> Kind:
        """Whether answers are free or each costs."""
        return "per-call" if self.scorer.per_call else "one-shot"

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """What a question holds, in the order of the code matrix."""
        return features_of(self.codebook, self.target)

    @property
    def digest(self) -> str:
        """What an account keeps of a model that was handed over in memory.

        The secret counts are not in it: a hash of few small numbers would give them away.
        """
        from understudy.trees.model_file import public_digest

        return public_digest(self)

    def save(self, target: str | Path, *, key: bytes | str | Path | None = None, commit: Commit | None = None) -> Path:
        """Write ``model.us`` and its page; see :func:`save_model`. ``commit`` hears its digest before it appears."""
        from understudy.release.folders import check_file
        from understudy.trees.model_file import write_model
        from understudy.trees.page import score_page_path, write_score_page

        for path, what in ((Path(target), "a model"), (score_page_path(Path(target)), "the page of a score")):
            check_file(path, what=what)
        path = write_model(self, Path(target), key, commit=commit)
        write_score_page(path)
        return path

    def encode(self, rows: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> CodeMatrix:
        """Codes of one question or of many; :class:`FeatureError` names feature, value, rule and remedy."""
        return encode_rows(self.features, rows)

    def score(self, codes: CodeMatrix) -> Scored:
        """Probability, low and high end of the noise band for every row; one-shot models only; free."""
        return self.scorer.score(codes)

    def noisy_score(self, codes: CodeMatrix, stream: Stream) -> tuple[float, float, float]:
        """The same for one row of a per-call model, with fresh noise; charge ``price_per_call`` first."""
        return self.scorer.noisy_score(codes, stream)

    def card(self) -> dict[str, Any]:
        """Everything that a client may know: features with their allowed values, promise, price, quality."""
        free = self.price_per_call is None
        return {
            "name": self.name,
            "version": self.version,
            "method": self.method,
            "kind": self.kind,
            "target": self.target,
            "positive": self.positive,
            "features": [feature.to_dict() for feature in self.features],
            "privacy": {
                "statement": self.statement,
                "guarantee": self.guarantee.to_dict(),
                "is_formal": self.guarantee.is_formal,
                "assumptions": list(self.ledger.assumptions),
                "ledger": self.ledger.to_list(),
            },
            "calls": {
                "price_epsilon": self.price_per_call,
                "guarantee": None if self.call_guarantee is None else self.call_guarantee.to_dict(),
                "words": "answers are post-processing and free"
                if free
                else f"every new question costs epsilon {self.price_per_call:g} of training-data privacy",
            },
            "band": f"low and high are a {BAND:.0%} band of the privacy noise alone: neither what shrinking "
            "takes off nor how sure the prediction is",
            "quality": {"measures": {}, "paid": "no quality was measured, so none is stated"}
            if self.quality is None
            else to_plain(self.quality),
            "notes": list(self.facts.notes),
            "shapes": self.shapes(),
        }

    def shapes(self) -> list[dict[str, Any]]:
        """What every value of every feature adds to the log-odds, with its noise band; nothing where trees decide."""
        if not isinstance(self.scorer, VoteForest):
            return []
        return [
            {
                "feature": feature.name,
                "values": list(feature.column.labels),
                **{
                    name: [float(f"{v:.4g}") for v in end]
                    for name, end in zip(("adds", "low", "high"), ends, strict=True)
                },
            }
            for feature, ends in zip(self.features, self.scorer.shapes(), strict=True)
        ]

    def __repr__(self) -> str:
        return f"<ScoreModel {self.name!r} version {self.version}, {self.method}, {self.kind}>"

    def __reduce__(self) -> str:
        raise TypeError("a score model is not pickled; write it with `save_model`.")


def save_model(model: ScoreModel, path: str | Path, key: bytes | str | Path | None = None) -> Path:
    """Write ``model.us``: versioned, checked JSON; and ``model.us.html``, its page. What is confidential is encrypted.

    ``key`` is 32 bytes, or the path of a key file; by default the environment variable ``UNDERSTUDY_MODEL_KEY``.
    """
    return model.save(path, key=key)


def load_model(path: str | Path, key: bytes | str | Path | None = None) -> ScoreModel:
    """Read ``model.us`` back; never unpickles. The key is looked for only if the file has a confidential part."""
    from understudy.trees.model_file import read_model

    return read_model(Path(path), key)
