"""Models that look donors up: classification trees by leaf, conditional tables by key."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.blocks.conditional import key_functions
from understudy.blocks.elastic import has_score
from understudy.blocks.keys import Codes, KeyFunction
from understudy.blocks.learning import Floats, Learner, Predictor, Records
from understudy.blocks.parents import declared_parents
from understudy.codebook import Codebook
from understudy.extras import need

_LEAF_RECORDS = 5


@dataclass(frozen=True, kw_only=True, eq=False)
class TreePredictor(Predictor):
    """Shares of the donors in the leaf that a row falls into."""

    tree: Any
    features: Callable[[Sequence[Codes]], npt.NDArray[np.float32]]
    levels: int

    def probabilities(self, columns: Sequence[Codes]) -> Floats:
        """Drop every row down the tree."""
        shares = np.zeros((len(columns[0]), self.levels))
        shares[:, self.tree.classes_.astype(np.int64)] = self.tree.predict_proba(self.features(columns))
        return shares


class TreeLearner(Learner):
    """A classification tree whose leaves hold at least five records."""

    word = "cart"

    def features(self, columns: Sequence[Codes]) -> npt.NDArray[np.float32]:
        """Ordered and two-level columns as they are, others by one indicator per level."""
        parts: list[npt.NDArray[np.float32]] = []
        for position, column in zip(self.reads, self.read_columns, strict=True):
            codes = columns[position]
            if has_score(column) or column.size == 2:
                parts.append(codes[:, None].astype(np.float32))
            else:
                parts.append((codes[:, None] == np.arange(column.size)).astype(np.float32))
        return np.concatenate(parts, axis=1)

    def fit(self, records: Records, weights: Floats, generator: np.random.Generator) -> Predictor:
        """Ties between splits are broken by the generator."""
        need("sklearn", extra="models", what="imputation by trees")
        from sklearn.tree import DecisionTreeClassifier

        kept = weights > 0
        if not self.reads or not kept.any():
            return self.marginal(records, weights)
        tree = DecisionTreeClassifier(
            min_weight_fraction_leaf=min(0.5, _LEAF_RECORDS / max(weights.sum(), 1.0)),
            random_state=int(generator.integers(1 << 31)),
        )
        inputs = self.features([column[kept] for column in records.columns])
        tree.fit(inputs, records.columns[self.target][kept].astype(np.int64), sample_weight=weights[kept])
        return TreePredictor(tree=tree, features=self.features, levels=self.column.size)


@dataclass(frozen=True, kw_only=True, eq=False)
class BlockPredictor(Predictor):
    """One row of shares per key; keys that no record has are served by the marginal."""

    key: KeyFunction
    reads: tuple[int, ...]
    keys: npt.NDArray[np.int64]
    shares: Floats

    def probabilities(self, columns: Sequence[Codes]) -> Floats:
        """Look the key up."""
        wanted = self.key.keys([columns[position] for position in self.reads])
        slots = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.asarray(self.shares[np.where(self.keys[slots] == wanted, slots, len(self.keys))])


class BlockLearner(Learner):
    """A conditional table, keyed by the declared parents among the predictors or by a hash of all of them."""

    word = "blocks"

    def __init__(
        self,
        book: Codebook,
        target: str,
        reads: Sequence[str],
        *,
        key: str,
        key_space: int | None,
        parents: Mapping[str, tuple[str, ...]] | None,
    ) -> None:
        wanted = declared_parents(book, parents)[target] if key == "columns" else reads
        super().__init__(book, target, tuple(name for name in wanted if name in reads))
        names = tuple(column.name for column in self.read_columns)
        key_of_all = key_functions(book, dict.fromkeys(book.names, names), key, key_space)[self.target]
        # a hash of columns that are not drawn yet would not be a model of this one
        sizes = tuple(column.size for column in self.read_columns)
        self.key: KeyFunction = replace(key_of_all, reads=names, sizes=sizes)

    def fit(self, records: Records, weights: Floats, generator: np.random.Generator) -> Predictor:
        """Weighted counts by key."""
        marginal = self.marginal(records, weights)
        if not self.reads or not len(weights):
            return marginal
        keys, slots = np.unique(self.key.keys([records.columns[p] for p in self.reads]), return_inverse=True)
        grid = np.zeros((len(keys) + 1, self.column.size))
        np.add.at(grid, (slots, records.columns[self.target]), weights)
        grid[-1] = marginal.shares
        totals = grid.sum(axis=1, keepdims=True)
        shares = np.where(totals > 0, grid / np.maximum(totals, 1e-300), marginal.shares)
        return BlockPredictor(key=self.key, reads=self.reads, keys=keys, shares=shares)
