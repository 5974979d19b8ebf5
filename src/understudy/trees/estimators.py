"""The trees as scikit-learn classifiers: ``fit``, ``predict_proba``, ``predict``, ``get_params``, pipelines, searches.

Thresholds never come from the data. They come from a ``codebook`` (with the ``target`` named), or from ``bounds`` that
are declared for every feature and cut into equal ``bins``. Class labels come from the codebook or from ``classes``;
where neither is given they are read from ``y``, and the ledger says that nobody paid for it. A search over parameters
fits many times, and every fit on the same data pays again: the estimators do not know of each other. A frame that is
itself a release of ours carries a mark; where its rows are no people, the ledger says that nothing is promised.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from understudy.codebook import Codebook
from understudy.privacy.account import Account
from understudy.trees.estimator_base import TreeScores
from understudy.trees.train import ALPHAS, Training


class AlphaTree(TreeScores):
    """A plain tree that splits by alpha-gain (algorithm 4). Promises nothing."""

    method: ClassVar[str] = "alpha-tree"

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        max_depth: int | None = None,
        min_records: int = 2,
        codebook: Codebook | None = None,
        target: str | None = None,
        bounds: Any = None,
        bins: int = 8,
        classes: Any = None,
        seed: int | None = None,
    ) -> None:
        self.alpha, self.max_depth, self.min_records = alpha, max_depth, min_records
        self.codebook, self.target, self.bounds, self.bins = codebook, target, bounds, bins
        self.classes, self.seed = classes, seed

    def _training(self) -> Training:
        return Training(method="alpha-tree", alpha=self.alpha, depth=self.max_depth, min_records=self.min_records)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = False
        return tags


class PrivateAlphaForest(TreeScores):
    """The provable forest: stumps at all public thresholds, votes measured once. Any number of scores is free."""

    method: ClassVar[str] = "forest"

    def __init__(
        self,
        *,
        epsilon: float,
        codebook: Codebook | None = None,
        target: str | None = None,
        bounds: Any = None,
        bins: int = 8,
        classes: Any = None,
        seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.codebook, self.target, self.bounds, self.bins = codebook, target, bounds, bins
        self.classes, self.seed = classes, seed

    def _training(self) -> Training:
        return Training(method="forest", epsilon=self.epsilon)


class PrivateAlphaTree(TreeScores):
    """One tree with privately chosen (or random) questions and noisy leaf counts, released once."""

    method: ClassVar[str] = "tree"

    def __init__(
        self,
        *,
        epsilon: float,
        alpha: float = 2.0,
        depth: int = 3,
        structure: str = "exponential",
        delta: float | None = None,
        public_rows: int | None = None,
        codebook: Codebook | None = None,
        target: str | None = None,
        bounds: Any = None,
        bins: int = 8,
        classes: Any = None,
        seed: int | None = None,
    ) -> None:
        self.epsilon, self.alpha, self.depth, self.structure = epsilon, alpha, depth, structure
        self.delta, self.public_rows = delta, public_rows
        self.codebook, self.target, self.bounds, self.bins = codebook, target, bounds, bins
        self.classes, self.seed = classes, seed

    def _training(self) -> Training:
        return Training(
            method="tree",
            epsilon=self.epsilon,
            alpha=self.alpha,
            depth=self.depth,
            structure=self.structure,
            delta=self.delta,
            public_rows=self.public_rows,
        )


class PrivateAlphaBag(TreeScores):
    """Several private trees, on shared records (prices add up) or on disjoint ones (one price)."""

    method: ClassVar[str] = "bag"

    def __init__(
        self,
        *,
        epsilon: float,
        trees: int = 5,
        sharing: str = "shared",
        alpha: float = 2.0,
        depth: int = 3,
        structure: str = "random",
        delta: float | None = None,
        public_rows: int | None = None,
        codebook: Codebook | None = None,
        target: str | None = None,
        bounds: Any = None,
        bins: int = 8,
        classes: Any = None,
        seed: int | None = None,
    ) -> None:
        self.epsilon, self.trees, self.sharing = epsilon, trees, sharing
        self.alpha, self.depth, self.structure = alpha, depth, structure
        self.delta, self.public_rows = delta, public_rows
        self.codebook, self.target, self.bounds, self.bins = codebook, target, bounds, bins
        self.classes, self.seed = classes, seed

    def _training(self) -> Training:
        return Training(
            method="bag",
            epsilon=self.epsilon,
            trees=self.trees,
            sharing=self.sharing,
            alpha=self.alpha,
            depth=self.depth,
            structure=self.structure,
            delta=self.delta,
            public_rows=self.public_rows,
        )


class PerCallAlphaTree(TreeScores):
    """A tree whose leaf counts stay secret: each predicted record costs ``call_epsilon``. ``account`` pays for both."""

    method: ClassVar[str] = "per-call-tree"

    def __init__(
        self,
        *,
        epsilon: float,
        call_epsilon: float,
        account: Account | None = None,
        alpha: float = 2.0,
        depth: int = 3,
        structure: str = "exponential",
        codebook: Codebook | None = None,
        target: str | None = None,
        bounds: Any = None,
        bins: int = 8,
        classes: Any = None,
        seed: int | None = None,
    ) -> None:
        self.epsilon, self.call_epsilon, self.account = epsilon, call_epsilon, account
        self.alpha, self.depth, self.structure = alpha, depth, structure
        self.codebook, self.target, self.bounds, self.bins = codebook, target, bounds, bins
        self.classes, self.seed = classes, seed

    def _training(self) -> Training:
        return Training(
            method="per-call-tree",
            epsilon=self.epsilon,
            call_epsilon=self.call_epsilon,
            alpha=self.alpha,
            depth=self.depth,
            structure=self.structure,
        )


class DPaT(TreeScores):
    """Differentially Private alpha-Tree as the dissertation writes it. Not differentially private: for study."""

    method: ClassVar[str] = "dpat"

    def __init__(
        self,
        *,
        call_epsilon: float,
        alpha: float = 1.0,
        max_depth: int | None = None,
        min_records: int = 2,
        codebook: Codebook | None = None,
        target: str | None = None,
        bounds: Any = None,
        bins: int = 2,
        classes: Any = None,
        seed: int | None = None,
    ) -> None:
        self.call_epsilon, self.alpha = call_epsilon, alpha
        self.max_depth, self.min_records = max_depth, min_records
        self.codebook, self.target, self.bounds, self.bins = codebook, target, bounds, bins
        self.classes, self.seed = classes, seed

    def _training(self) -> Training:
        return Training(
            method="dpat",
            call_epsilon=self.call_epsilon,
            alpha=self.alpha,
            depth=self.max_depth,
            min_records=self.min_records,
        )


class EDPaT(TreeScores):
    """The ensemble of DPaTs over several alphas, as written. Not differentially private: for study."""

    method: ClassVar[str] = "edpat"

    def __init__(
        self,
        *,
        call_epsilon: float,
        alphas: Sequence[float] = ALPHAS,
        max_depth: int | None = None,
        min_records: int = 2,
        codebook: Codebook | None = None,
        target: str | None = None,
        bounds: Any = None,
        bins: int = 2,
        classes: Any = None,
        seed: int | None = None,
    ) -> None:
        self.call_epsilon, self.alphas = call_epsilon, alphas
        self.max_depth, self.min_records = max_depth, min_records
        self.codebook, self.target, self.bounds, self.bins = codebook, target, bounds, bins
        self.classes, self.seed = classes, seed

    def _training(self) -> Training:
        return Training(
            method="edpat",
            call_epsilon=self.call_epsilon,
            alphas=tuple(self.alphas),
            depth=self.max_depth,
            min_records=self.min_records,
        )
