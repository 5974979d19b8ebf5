"""How a model turns codes into a probability: four classes with one interface.

- :class:`VoteForest`: every feature's trees add their votes; all numbers are public (released once, with noise).
- :class:`LeafForest`: trees whose leaf counts were released once, with noise; also public.
- :class:`CallForest`: trees whose leaf counts stay secret; every answer draws fresh noise and costs.
- :class:`LocalNoiseForest`: the chapter's own output layer, for study.

Bands are 90 % bands of the privacy noise alone: they say how far the released number may lie from what the same fit,
shrunk as much, would have given without noise. They leave out what shrinking takes off, and how sure a prediction is.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from understudy.codec import from_plain, to_fraction, to_plain
from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.discrete_laplace import half_width
from understudy.mechanisms.leaf_answers import (
    ClassCounts,
    call_ledger,
    locally_noisy_mean,
    noisy_leaves,
    sealed_counts,
    unsealed_counts,
)
from understudy.mechanisms.stream import Stream
from understudy.privacy.ledger import Ledger
from understudy.privacy.secret import Secret
from understudy.trees.features import CodeMatrix
from understudy.trees.tree import Tree

BAND = 0.90
"""Level of every noise band."""

Values = npt.NDArray[np.float64]
SealedPart = Secret[dict[str, Any]] | None
"""What a model file kept encrypted."""
Scored = tuple[Values, Values, Values]
"""Probability, low and high end of its noise band; one each for every row."""


class Scorer(ABC):
    """What a model's body can do."""

    body: ClassVar[str]
    per_call: ClassVar[bool]
    """Whether every answer costs."""

    @abstractmethod
    def score(self, codes: CodeMatrix) -> Scored:
        """Probabilities of many rows; free."""

    @abstractmethod
    def noisy_score(self, codes: CodeMatrix, stream: Stream) -> tuple[float, float, float]:
        """Probability of one row with fresh noise; paid for by the caller."""

    @abstractmethod
    def public_part(self) -> dict[str, Any]:
        """What may be read by anybody who holds the model file."""

    @abstractmethod
    def secret_part(self) -> SealedPart:
        """What must be encrypted, or None when there is nothing."""

    @classmethod
    @abstractmethod
    def from_parts(cls, public: dict[str, Any], secret: SealedPart) -> Self:
        """Read back from the two parts of a model file."""


class _OneShot(Scorer):
    """Released once: answers are post-processing."""

    per_call: ClassVar[bool] = False

    def noisy_score(self, codes: CodeMatrix, stream: Stream) -> tuple[float, float, float]:
        """Not for this body."""
        raise RefusalError("a one-shot forest was paid for when it was released; call `score`, which costs nothing.")


@dataclass(frozen=True, kw_only=True)
class _PerCall(Scorer):
    """Trees whose leaf counts stay secret."""

    per_call: ClassVar[bool] = True
    trees: tuple[Tree, ...]
    counts: Secret[Sequence[ClassCounts]]

    def __post_init__(self) -> None:
        if not self.trees:
            raise ValueError("a forest needs at least one tree")

    def score(self, codes: CodeMatrix) -> Scored:
        """Not for this body."""
        raise RefusalError("every answer of a per-call model costs; charge its price, then call `noisy_score`.")

    def _leaves(self, codes: CodeMatrix) -> list[int]:
        """The leaf of each tree that the one question reaches."""
        if codes.shape[0] != 1:
            raise ParameterError(f"`codes` has {codes.shape[0]} rows; a per-call model answers one question at a time.")
        return [int(tree.leaf_of(codes)[0]) for tree in self.trees]


def _quantiles(replicates: Values) -> tuple[Values, Values]:
    """Ends of the band for each row: what ``np.quantile`` by Weibull gives, in a tenth of its time for one row.

    The k-th of n replicates has a share of k / (n + 1) of all further ones below it.
    """
    ordered = np.sort(replicates, axis=1)
    last = ordered.shape[1] - 1
    ends = []
    for share in ((1 - BAND) / 2, (1 + BAND) / 2):
        place, part = divmod(min(max(share * (last + 2) - 1, 0.0), last), 1.0)
        at = int(place)
        following = ordered[:, min(at + 1, last)]
        ends.append(ordered[:, at] + part * (following - ordered[:, at]))
    return ends[0], ends[1]


def sigmoid(value: Values) -> Values:
    """The chance behind log-odds."""
    return 0.5 * (1.0 + np.tanh(0.5 * value))


@dataclass(frozen=True, kw_only=True)
class VoteForest(_OneShot):
    """Log-odds are the intercept plus every feature's vote; ``replicates`` are the same under fresh noise."""

    body: ClassVar[str] = "votes"
    intercept: float
    votes: tuple[tuple[float, ...], ...]
    """For each feature, the vote of each code."""
    replicate_intercepts: tuple[float, ...]
    replicate_votes: tuple[tuple[tuple[float, ...], ...], ...]
    """For each replicate, the votes laid out as above."""
    trees: tuple[dict[str, Any], ...] = ()
    """The small trees behind the votes, for printing."""

    def __post_init__(self) -> None:
        if len(self.replicate_votes) != len(self.replicate_intercepts):
            raise ValueError("the replicates of a forest differ in number")
        shape = [len(vote) for vote in self.votes]
        if any([len(vote) for vote in votes] != shape for votes in self.replicate_votes):
            raise ValueError("the replicates of a forest differ in shape")
        if not np.isfinite(self._table).all():
            raise ValueError("a vote is not a finite number")

    def __repr__(self) -> str:
        return f"<VoteForest of {len(self.votes)} features>"

    @cached_property
    def _starts(self) -> npt.NDArray[np.intp]:
        return np.concatenate([[0], np.cumsum([len(vote) for vote in self.votes])])[:-1].astype(np.intp)

    @cached_property
    def _table(self) -> Values:
        """Rows: all codes of all features, then the intercept. Columns: the forest, then its replicates."""
        flat = [[*(v for vote in self.votes for v in vote), self.intercept]]
        for intercept, votes in zip(self.replicate_intercepts, self.replicate_votes, strict=True):
            flat.append([*(v for vote in votes for v in vote), intercept])
        return np.array(flat, dtype=np.float64).T.copy()

    def score(self, codes: CodeMatrix) -> Scored:
        """Free: post-processing of released numbers."""
        places = codes.astype(np.intp) + self._starts
        summed = self._table[places].sum(axis=1) + self._table[-1]
        chances = sigmoid(summed)
        middle = chances[:, 0]
        if chances.shape[1] == 1:
            return middle, middle.copy(), middle.copy()
        low, high = _quantiles(chances[:, 1:])
        return middle, np.minimum(low, middle), np.maximum(high, middle)

    def shapes(self) -> list[Scored]:
        """For each feature the vote of every code about their mean, and the ends of its noise band."""
        found = []
        for start, vote in zip(self._starts, self.votes, strict=True):
            votes = self._table[start : start + len(vote)]
            votes = votes - votes.mean(axis=0)
            middle = votes[:, 0]
            low, high = _quantiles(votes[:, 1:]) if votes.shape[1] > 1 else (middle, middle)
            found.append((middle, np.minimum(low, middle), np.maximum(high, middle)))
        return found

    def replicate_scores(self, codes: CodeMatrix) -> Values:
        """Probabilities under fresh noise, one column for each replicate."""
        places = codes.astype(np.intp) + self._starts
        return sigmoid(self._table[:, 1:][places].sum(axis=1) + self._table[-1, 1:])

    def public_part(self) -> dict[str, Any]:
        """All of it."""
        plain: dict[str, Any] = to_plain(self)
        return plain

    def secret_part(self) -> None:
        """Nothing."""

    @classmethod
    def from_parts(cls, public: dict[str, Any], secret: SealedPart) -> Self:
        """Read back."""
        return from_plain(cls, public)


def count_probability(counts: npt.NDArray[Any], scale: float) -> Values:
    """Chance of the positive class from noisy (negative, positive) counts: clipped at 0, drawn towards 1/2.

    It rises with the positive and falls with the negative count, and stays inside (0, 1), whatever the noise did. The
    pseudo-count is the noise scale (at least 1): counts that noise alone could have made say nothing.
    """
    kept = np.maximum(np.asarray(counts, dtype=np.float64), 0.0)
    pseudo = max(float(scale), 1.0)
    share: Values = (kept[..., 1] + pseudo / 2) / (kept[..., 0] + kept[..., 1] + pseudo)
    return share


def _band(counts: npt.NDArray[Any], scale: float, numbers: int) -> tuple[Values, Values]:
    # how far noise stays from 0 on so many counts at once
    reach = half_width(scale, miss=(1 - BAND) / numbers) if scale else 0
    against = np.array([reach, -reach])
    return count_probability(counts + against, scale), count_probability(counts - against, scale)


@dataclass(frozen=True, kw_only=True)
class LeafForest(_OneShot):
    """The mean of trees whose noisy leaf counts were released once."""

    body: ClassVar[str] = "leaves"
    trees: tuple[Tree, ...]
    counts: tuple[tuple[tuple[int, int], ...], ...]
    """For each tree and leaf the released (negative, positive) counts."""
    scale: float
    """Of the noise on each count; 0 where there is none."""
    confidential: bool
    """True where the counts are the raw ones: such a file is encrypted."""

    def __post_init__(self) -> None:
        if not self.trees or [len(c) for c in self.counts] != [tree.leaves for tree in self.trees]:
            raise ValueError("the trees of a forest and their leaf counts do not fit")
        if any(abs(count) > 1 << 42 for leaves in self.counts for pair in leaves for count in pair):
            raise ValueError("a leaf count is beyond all records")
        if not 0 <= self.scale < math.inf:
            raise ValueError("a noise scale is no number")

    def __repr__(self) -> str:
        return f"<LeafForest of {len(self.trees)} trees>"  # raw counts do not show themselves

    @cached_property
    def _values(self) -> list[Values]:
        values = []
        for counts in self.counts:
            table = np.array(counts, dtype=np.int64)
            low, high = _band(table, self.scale, 2 * len(self.trees))
            values.append(np.stack([count_probability(table, self.scale), low, high], axis=1))
        return values

    def score(self, codes: CodeMatrix) -> Scored:
        """Free: post-processing of released numbers."""
        total = np.zeros((len(codes), 3))
        for tree, values in zip(self.trees, self._values, strict=True):
            total += values[tree.leaf_of(codes)]
        total /= len(self.trees)
        return total[:, 0], total[:, 1], total[:, 2]

    def public_part(self) -> dict[str, Any]:
        """All of it, unless the counts are raw."""
        public = {"scale": self.scale, "confidential": self.confidential}
        return public if self.confidential else public | self._hidden()

    def _hidden(self) -> dict[str, Any]:
        return {"trees": to_plain(self.trees), "counts": to_plain(self.counts)}

    def secret_part(self) -> Secret[dict[str, Any]] | None:
        """Structure and raw counts, where nobody paid for them."""
        return Secret(self._hidden()) if self.confidential else None

    @classmethod
    def from_parts(cls, public: dict[str, Any], secret: SealedPart) -> Self:
        """Read back."""
        # A plain tree promises nothing (its total is NoFormal); its numbers are shown to whoever holds the key.
        return from_plain(cls, public if secret is None else {**public, **secret.open()})


@dataclass(frozen=True, kw_only=True)
class CallForest(_PerCall):
    """Trees whose leaf counts stay secret; every answer has fresh exact noise and costs :meth:`call_ledger`."""

    body: ClassVar[str] = "calls"
    scale: Fraction

    def call_ledger(self) -> Ledger:
        """What one answer pays."""
        return call_ledger(self.scale, len(self.trees))

    def noisy_score(self, codes: CodeMatrix, stream: Stream) -> tuple[float, float, float]:
        """One answer; the caller has charged its price already."""
        noisy = noisy_leaves(self.counts, self._leaves(codes), scale=self.scale, stream=stream)
        scale = float(self.scale)
        low, high = _band(noisy, scale, noisy.size)
        return float(count_probability(noisy, scale).mean()), float(low.mean()), float(high.mean())

    def public_part(self) -> dict[str, Any]:
        """The shape, which was released and paid for when the model was trained, and the noise scale."""
        return {"trees": to_plain(self.trees), "scale": to_plain(self.scale)}

    def secret_part(self) -> Secret[dict[str, Any]]:
        """The raw leaf counts."""
        return sealed_counts(self.counts)

    @classmethod
    def from_parts(cls, public: dict[str, Any], secret: SealedPart) -> Self:
        """Read back."""
        trees = from_plain(tuple[Tree, ...], public["trees"])
        counts = unsealed_counts(secret, [tree.leaves for tree in trees])
        return cls(trees=trees, counts=counts, scale=to_fraction(public["scale"]))


@dataclass(frozen=True, kw_only=True)
class LocalNoiseForest(_PerCall):
    """DPaT and EDPaT as written: the trees' mean share plus Laplace noise scaled to this table. Promises nothing."""

    body: ClassVar[str] = "local-noise"
    epsilon: float

    def noisy_score(self, codes: CodeMatrix, stream: Stream) -> tuple[float, float, float]:
        """One answer, cut to [0, 1]; the band is that of the Laplace noise."""
        mean, scale = locally_noisy_mean(self.counts, self._leaves(codes), epsilon=self.epsilon, stream=stream)
        reach = -scale * math.log(1 - BAND)
        low, middle, high = (min(max(value, 0.0), 1.0) for value in (mean - reach, mean, mean + reach))
        return middle, low, high

    def public_part(self) -> dict[str, Any]:
        """The nominal epsilon only: nobody paid for the shape."""
        return {"epsilon": self.epsilon, "leaves": [tree.leaves for tree in self.trees]}

    def secret_part(self) -> Secret[dict[str, Any]]:
        """Shape and raw counts."""
        return sealed_counts(self.counts, trees=to_plain(self.trees))

    @classmethod
    def from_parts(cls, public: dict[str, Any], secret: SealedPart) -> Self:
        """Read back."""
        counts = unsealed_counts(secret, public["leaves"])
        assert secret is not None  # unsealed_counts has seen to it
        trees = from_plain(tuple[Tree, ...], secret.open()["trees"])
        if [tree.leaves for tree in trees] != list(public["leaves"]):
            raise ValueError("the trees of a forest and their leaf counts do not fit")
        return cls(trees=trees, counts=counts, epsilon=float(public["epsilon"]))


BODIES: dict[str, type[Scorer]] = {cls.body: cls for cls in (VoteForest, LeafForest, CallForest, LocalNoiseForest)}


def scorer_from_parts(body: str, public: dict[str, Any], secret: SealedPart) -> Scorer:
    """Read back any body."""
    if body not in BODIES:
        raise ValueError(f"the body {body!r} is unknown")
    return BODIES[body].from_parts(public, secret)
