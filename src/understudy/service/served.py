"""A model as the service sees it: its name in addresses, its identity in the ledger, its price."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from understudy.errors import ParameterError, RefusalError
from understudy.privacy.guarantees import PureDP
from understudy.service.amounts import epsilon_of, price_of
from understudy.trees.features import CodeMatrix, Feature, FeatureError
from understudy.trees.model import ScoreModel


@dataclass(frozen=True, kw_only=True)
class Served:
    """One model behind the desk."""

    model: ScoreModel

    def __post_init__(self) -> None:
        call = self.model.call_guarantee
        if call is None:
            return
        if call.is_formal and not isinstance(call, PureDP):
            raise RefusalError(
                f"the model {self.name!r} promises {call.kind} for each answer; the service adds up pure epsilons "
                "only. Train a per-call model with pure differential privacy."
            )
        if isinstance(call, PureDP) and Fraction(call.epsilon) > Fraction(self.price or 0, 10**9) * (
            1 + Fraction(1, 10**9)
        ):
            raise RefusalError(
                f"the model {self.name!r} says that an answer costs epsilon {self.price_epsilon:g}, and its own "
                f"ledger says {call.epsilon:g}; it was altered. Train it again."
            )

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def promises(self) -> bool:
        """Whether training, and every answer, is covered by a proof."""
        call = self.model.call_guarantee
        return self.model.guarantee.is_formal and (call is None or call.is_formal)

    @property
    def costs(self) -> bool:
        """Whether every new question is charged."""
        return self.model.kind == "per-call"

    @cached_property
    def price(self) -> int | None:
        """Price of an answer in billionths of epsilon; None when answers are free."""
        return None if self.model.price_per_call is None else price_of(self.model.price_per_call)

    @property
    def price_epsilon(self) -> float:
        """The same in epsilon, 0 when free."""
        return 0.0 if self.price is None else epsilon_of(self.price)

    @cached_property
    def model_id(self) -> str:
        """Identity in the ledger: a hash of what is public about the model.

        Neither the file's place nor its encryption is in it, so that a copied or re-encrypted file goes on with the
        same budget; nor are the secret counts, which a hash of few small numbers would give away.
        """
        model = self.model
        public = {
            "name": model.name,
            "version": model.version,
            "method": model.method,
            "codebook": model.codebook.to_toml(),
            "target": model.target,
            "positive": model.positive,
            "body": model.scorer.body,
            "scorer": model.scorer.public_part(),
            "price": self.price,
        }
        text = json.dumps(public, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def card(self) -> dict[str, Any]:
        """The model's card."""
        return self.model.card()

    @cached_property
    def example(self) -> dict[str, Any]:
        """A question that the model answers, made from its codebook alone."""
        return {feature.name: _example_of(feature) for feature in self.model.features}

    def encode(self, row: Mapping[str, Any]) -> CodeMatrix:
        """Codes of one question."""
        return self.model.encode(row)


def _example_of(feature: Feature) -> Any:
    """A value from the middle of what is allowed, made from the codebook alone."""
    for value in _candidates(feature):
        try:
            feature.code(value)
        except FeatureError:
            continue
        return value
    return None


def _candidates(feature: Feature) -> Iterator[Any]:
    if feature.levels is not None:
        yield feature.levels[0]
    elif isinstance(feature.low, str):
        yield feature.low
    else:
        cuts = feature.thresholds
        ends = [end for end in (feature.low, feature.high) if isinstance(end, float)]
        middle = [cuts[len(cuts) // 2]] if cuts else []
        for number in (*middle, *([sum(ends) / 2] if ends else [0.0]), *ends, *cuts):
            whole = feature.column.kind == "integer" or number == int(number)
            yield int(number) if whole else round(number, int(getattr(feature.column, "precision", 6) or 0))
            yield number
    yield feature.column.missing


def by_name(models: Iterable[ScoreModel], *, without_promise: bool = False) -> dict[str, Served]:
    """Models for the desk; two of one name are refused, and one that promises nothing unless that is wanted."""
    desk: dict[str, Served] = {}
    for model in models:
        if model.name in desk:
            raise ParameterError(
                f"two models are called {model.name!r}; a name is an address, so each must have its own. "
                "Train one of them under another name."
            )
        served = Served(model=model)
        if not served.promises and not without_promise:
            raise RefusalError(
                f"the model {model.name!r} promises nothing, so every answer would give away what nobody counts. Train "
                "a model with a proof (`--method additive`), or serve it to people who may see the data, with "
                "--without-promise."
            )
        desk[model.name] = served
    return desk
