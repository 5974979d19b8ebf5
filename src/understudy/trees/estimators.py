"""The trees as scikit-learn classifiers: ``fit``, ``predict_proba``, ``predict``, ``get_params``, pipelines, searches.

Thresholds never come from the data. They come from a ``codebook`` (with the ``target`` named), or from ``bounds`` that
are declared for every feature and cut into equal ``bins``. Class labels come from the codebook or from ``classes``;
where neither is given they are read from ``y``, and the ledger says that nobody paid for it. A search over parameters
fits many times, and every fit on the same data pays again: the estimators do not know of each other. A frame that is
itself a release of ours carries a mark; where its rows are no people, the ledger says that nothing is promised.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from understudy.extras import need

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets, type_of_target
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
except ImportError:
    need("sklearn", extra="models", what="an estimator with the interface of scikit-learn")
    raise

from understudy.codebook import Categorical, Codebook, Continuous
from understudy.errors import ParameterError
from understudy.mechanisms.labelled import pooled
from understudy.mechanisms.stream import Stream
from understudy.parameters import Whole, options_of
from understudy.privacy.account import Account
from understudy.privacy.guarantees import Guarantee
from understudy.privacy.ledger import Entry, Ledger, stream_entries
from understudy.privacy.quote import Quote
from understudy.privacy.secret import Secret
from understudy.privacy.transaction import paying
from understudy.release.folders import digest_of_bytes
from understudy.sources.inputs import find_provenance
from understudy.trees.features import CodeMatrix, Feature, features_of
from understudy.trees.model import score_quote
from understudy.trees.recipe import FittedScore, RiskScore, positive_level
from understudy.trees.scorers import CallForest, VoteForest
from understudy.trees.show import tree_text, votes_text
from understudy.trees.train import (
    ALPHAS,
    Additive,
    Bag,
    FaithfulDPaT,
    FaithfulEDPaT,
    Forest,
    OneTree,
    PerCallTree,
    PlainTree,
    ScoreMethod,
)
from understudy.trees.tree import Tree

_BINS = Whole(least=2, most=128, tried=8)
_TARGET = "y"
_UNPRICED_CLASSES = Entry.unpriced(stage="classes", reads="the labels that occur", why="classes were read from y")


@dataclass(kw_only=True, eq=False, repr=False)
class TreeScores(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What all share; parameters are documented in the module."""

    method: ClassVar[type[ScoreMethod]]
    codebook: Codebook | None = None
    target: str | None = None
    bounds: Any = None
    bins: int = 8
    classes: Any = None
    seed: int | None = None

    @property
    def _training(self) -> ScoreMethod:
        names = [name for name in options_of(self.method) if hasattr(self, name)]
        return self.method(**{name: getattr(self, name) for name in names})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # noise first: a fit of twenty rows at epsilon 1 knows next to nothing
        tags.non_deterministic = True  # fresh noise in every fit
        return tags

    def fit(self, X: Any, y: Any) -> Any:  # noqa: N803 - scikit-learn's name
        """Train on records ``X`` and labels ``y``; ``ledger_`` says what that cost."""
        training = self._training  # refuse bad numbers before the data are touched
        if self.codebook is not None and self.codebook.unit is not None:
            raise ParameterError(
                "an estimator gets features without the ids of people, and the codebook's [unit] caps the records of a "
                "person; use `us.train`, which reads them, or leave [unit] out."
            )
        codes, features = self._encoded(X, fitting=True)
        labels, unpriced = self._labels(y)
        if len(labels) != len(codes):
            raise ValueError(f"X has {len(codes)} records and y has {len(labels)} labels; give one label each.")
        book, target = self.codebook, self.target
        if book is None or target is None:
            answer = Categorical(name=_TARGET, levels=("0", "1"))
            book, target = Codebook(columns=(*(feature.column for feature in features), answer)), _TARGET
        recipe, stream = RiskScore(training=training, target=target), self._stream()
        provenance = find_provenance(X) | find_provenance(y)
        quote = recipe.quote(book, secure=stream.is_secure, unpriced=unpriced)
        model = FittedScore(
            recipe=recipe,
            codebook=book,
            cells=Secret(pooled(codes, np.eye(2, dtype=np.int64)[labels])),
            quote=quote.with_data(provenance),
            account=self._account,
            provenance=provenance,
            stream=stream,
            unpriced=unpriced,
        ).sample()
        self.scorer_ = model.scorer
        self.features_ = features
        self.provenance_ = provenance
        self.ledger_ = model.ledger
        self.delta_ = model.manifest.quote.delta
        self.call_guarantee_ = training.call
        return self

    @property
    def _account(self) -> Account | None:
        """Who pays; only per-call trees have one."""
        account: Account | None = getattr(self, "account", None)
        return account

    def _stream(self) -> Stream:
        return Stream.of_seed(self.seed)

    @property
    def guarantee_(self) -> Guarantee:
        """What training promised, or why nothing."""
        check_is_fitted(self, "ledger_")
        return self.ledger_.total(delta=self.delta_)

    def _encoded(self, X: Any, *, fitting: bool) -> tuple[CodeMatrix, tuple[Feature, ...]]:  # noqa: N803
        if self.codebook is not None:
            return self._by_codebook(X)
        values = validate_data(self, X, reset=fitting, dtype=np.float64)
        features = self._declared(values.shape[1]) if fitting else self.features_
        codes = np.empty(values.shape, dtype=np.uint8)
        for place, feature in enumerate(features):
            edges = np.array(feature.thresholds)
            codes[:, place] = np.searchsorted(edges, values[:, place], side="right")
        return codes, features

    def _by_codebook(self, X: Any) -> tuple[CodeMatrix, tuple[Feature, ...]]:  # noqa: N803
        assert self.codebook is not None
        if self.target is None:
            raise ParameterError("`target` is missing; name the column of the codebook that is to be scored.")
        features = features_of(self.codebook, self.target)
        if hasattr(X, "columns"):
            absent = [feature.name for feature in features if feature.name not in X.columns]
            if absent:
                raise ParameterError(f"X lacks the columns {', '.join(absent)} that the codebook describes. Add them.")
            columns = [X[feature.name].tolist() for feature in features]
        else:
            values = np.asarray(X, dtype=object)
            if values.ndim != 2 or values.shape[1] != len(features):
                raise ParameterError(
                    f"X has shape {values.shape}; the codebook describes {len(features)} features: "
                    f"{', '.join(feature.name for feature in features)}. Give them in that order."
                )
            columns = [values[:, place].tolist() for place in range(len(features))]
        self.n_features_in_ = len(features)
        codes = np.empty((len(columns[0]), len(features)), dtype=np.uint8)
        for place, (feature, column) in enumerate(zip(features, columns, strict=True)):
            known: dict[Any, int] = {}
            codes[:, place] = [known[v] if v in known else known.setdefault(v, feature.code(v)) for v in column]
        return codes, features

    def _declared(self, count: int) -> tuple[Feature, ...]:
        """Features x0, x1, ... of equal bins between declared bounds."""
        if self.bounds is None:
            raise ParameterError(
                "neither `codebook` nor `bounds` is given; thresholds are public knowledge and are never read from the "
                "data. Try bounds=(0.0, 1.0)."
            )
        pairs = np.asarray(self.bounds, dtype=np.float64)
        pairs = np.broadcast_to(pairs, (count, 2)) if pairs.shape == (2,) else pairs
        if pairs.shape != (count, 2) or not np.isfinite(pairs).all() or (pairs[:, 0] >= pairs[:, 1]).any():
            raise ParameterError(
                f"`bounds` is {self.bounds!r}; it must be one (low, high) pair, or one for each of {count} features, "
                "with low below high. Try (0.0, 1.0)."
            )
        _BINS.check("bins", self.bins)
        return tuple(
            Feature(column=Continuous(name=f"x{place}", edges=_cuts(low, high, self.bins), precision=6, clip=True))
            for place, (low, high) in enumerate(pairs)
        )

    def _labels(self, y: Any) -> tuple[npt.NDArray[np.intp], list[Entry]]:
        """0 or 1 for every record, and what was read of ``y`` that nobody paid for."""
        check_classification_targets(y)
        labels = column_or_1d(y, warn=True)
        if self.codebook is not None and self.target is not None:
            column = self.codebook.column(self.target)
            _, positive = positive_level(self.codebook, self.target, None)
            self.classes_ = np.array(column.labels)
            codes = np.array([Feature(column=column).code(value) for value in labels.tolist()])
            return (codes == positive).astype(np.intp), []
        unpriced = [] if self.classes is not None else [_UNPRICED_CLASSES]
        if self.classes is not None:
            self.classes_ = np.unique(np.asarray(self.classes))
            if not np.isin(labels, self.classes_).all():
                raise ValueError(f"y holds labels outside `classes` = {self.classes!r}; name both classes.")
        else:
            kind = type_of_target(labels, input_name="y", raise_unknown=True)
            self.classes_ = np.unique(labels)
            if kind != "binary" or len(self.classes_) > 2:
                raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        if len(self.classes_) != 2:
            raise ValueError(f"there is {len(self.classes_)} class; a risk score needs 2 classes.")
        return np.searchsorted(self.classes_, labels).astype(np.intp), unpriced

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:  # noqa: N803
        """Chance of each class."""
        positive = self.predict_band(X)[:, 0]
        return np.stack([1.0 - positive, positive], axis=1)

    def predict_band(self, X: Any) -> npt.NDArray[np.float64]:  # noqa: N803
        """Chance of the second class, and the ends of its noise band."""
        check_is_fitted(self, "scorer_")
        codes, _ = self._encoded(X, fitting=False)
        if not self.scorer_.per_call:
            return np.stack(self.scorer_.score(codes), axis=1)
        account = self._account if len(codes) else None
        with paying(account, self._calls(len(codes)), label=f"{len(codes)} answers of a per-call tree") as payment:
            payment.drawing()
            stream = self._stream()
            rows = [self.scorer_.noisy_score(codes[place : place + 1], stream) for place in range(len(codes))]
            bands = np.array(rows, dtype=np.float64).reshape(len(codes), 3)
            payment.commit(digest_of_bytes(bands.tobytes()))
        return bands

    def _calls(self, answers: int) -> Quote:
        """The price of so many answers together."""
        ledger = self.scorer_.call_ledger() if isinstance(self.scorer_, CallForest) else Ledger()
        # a seed that is set after the fit makes the noise of the answers known
        own = Ledger((*ledger.entries * answers, *stream_entries(self.seed is None)))
        return score_quote(self.method.method, own, answers=answers).with_data(self.provenance_)

    def predict(self, X: Any) -> npt.NDArray[Any]:  # noqa: N803
        """The likelier class."""
        likely = self.predict_proba(X)[:, 1] >= 0.5
        return np.asarray(self.classes_[likely.astype(np.intp)])

    def text(self) -> str:
        """The trees in words, where they may be shown."""
        check_is_fitted(self, "scorer_")
        if isinstance(self.scorer_, VoteForest):
            return votes_text(self.scorer_, self.features_)
        trees: tuple[Tree, ...] = getattr(self.scorer_, "trees", ())
        counts = getattr(self.scorer_, "counts", None)
        shown = counts if isinstance(counts, tuple) else (None,) * len(trees)  # secret counts are not shown
        pairs = zip(trees, shown, strict=True)
        return "\n".join(tree_text(tree, self.features_, counts=leaves) for tree, leaves in pairs)


def _cuts(low: float, high: float, bins: int) -> tuple[Fraction, ...]:
    """Equal bins; edges of nine digits, which the codebook compares exactly."""
    cuts = [Fraction(f"{value:.9g}") for value in np.linspace(low, high, bins + 1)]
    return tuple(dict.fromkeys(cuts))


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateAdditiveScore(TreeScores):
    """Additive shapes fitted to noisy moments; made for features of which only bounds are known. Scores are free.

    ``bins`` is fine by default: shapes are smooth, and more bins do not mean more noise.
    """

    method: ClassVar[type[ScoreMethod]] = Additive
    epsilon: float
    delta: float
    bins: int = 64


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateAlphaForest(TreeScores):
    """The provable forest: stumps at all public thresholds, votes measured once. Any number of scores is free."""

    method: ClassVar[type[ScoreMethod]] = Forest
    epsilon: float


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateAlphaTree(TreeScores):
    """One tree with privately chosen (or random) questions and noisy leaf counts, released once."""

    method: ClassVar[type[ScoreMethod]] = OneTree
    epsilon: float
    alpha: float = 2.0
    depth: int = 3
    structure: str = "exponential"
    delta: float | None = None
    public_rows: int | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateAlphaBag(PrivateAlphaTree):
    """Several private trees, on shared records (prices add up) or on disjoint ones (one price)."""

    method: ClassVar[type[ScoreMethod]] = Bag
    trees: int = 5
    sharing: str = "shared"
    structure: str = "random"


@dataclass(kw_only=True, eq=False, repr=False)
class PerCallAlphaTree(TreeScores):
    """A tree whose leaf counts stay secret: each predicted record costs ``call_epsilon``. ``account`` pays for both."""

    method: ClassVar[type[ScoreMethod]] = PerCallTree
    epsilon: float
    call_epsilon: float
    account: Account | None = None
    alpha: float = 2.0
    depth: int = 3
    structure: str = "exponential"


@dataclass(kw_only=True, eq=False, repr=False)
class _Unprotected(TreeScores):
    """What the trees for study share."""

    max_depth: int | None = None
    min_records: int = 2

    @property
    def depth(self) -> int | None:
        """As the method calls it."""
        return self.max_depth


@dataclass(kw_only=True, eq=False, repr=False)
class AlphaTree(_Unprotected):
    """A plain tree that splits by alpha-gain (algorithm 4). Promises nothing."""

    method: ClassVar[type[ScoreMethod]] = PlainTree
    alpha: float = 1.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = False
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class DPaT(_Unprotected):
    """Differentially Private alpha-Tree as the dissertation writes it. Not differentially private: for study."""

    method: ClassVar[type[ScoreMethod]] = FaithfulDPaT
    call_epsilon: float
    alpha: float = 1.0
    bins: int = 2


@dataclass(kw_only=True, eq=False, repr=False)
class EDPaT(_Unprotected):
    """The ensemble of DPaTs over several alphas, as written. Not differentially private: for study."""

    method: ClassVar[type[ScoreMethod]] = FaithfulEDPaT
    call_epsilon: float
    alphas: Sequence[float] = ALPHAS
    bins: int = 2
