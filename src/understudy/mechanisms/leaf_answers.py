"""One answer of a per-call model: exact noise on the class counts of the leaves that a question reaches.

Each tree's (leaf, class) counts are one table over public cells. A call looks at one leaf of each tree, so it shows a
part of one noisy histogram per tree and costs their epsilons together, and calls add up.
See ``proofs/geometric_histogram.md``.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.mechanisms.discrete_laplace import discrete_laplace, scale_for
from understudy.mechanisms.histogram import GeometricHistogram
from understudy.mechanisms.stream import Stream
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.secret import Secret

ClassCounts = npt.NDArray[np.int64]
"""Leaves by two classes, negative first."""


def call_scale(epsilon: float, trees: int) -> Fraction:
    """Noise scale at which one call over so many trees costs at most ``epsilon``, add-remove."""
    return scale_for(epsilon, trees)


def call_ledger(scale: Fraction, trees: int) -> Ledger:
    """What one call pays."""
    entry = Entry(
        stage="call",
        reads="class counts of the leaf that the question reaches",
        event=GeometricHistogram(scale=scale, neighbours=Neighbours.ADD_REMOVE),
        assumptions=("the shape of the tree was released before, and paid for in its own entry",),
    )
    return Ledger.of([entry] * trees)


def noisy_leaves(
    counts: Secret[Sequence[ClassCounts]], leaves: Sequence[int], *, scale: Fraction, stream: Stream
) -> ClassCounts:
    """Noisy (negative, positive) counts of one leaf in each tree; the caller has paid :func:`call_ledger`."""
    exact = np.stack([table[leaf] for table, leaf in zip(counts.open(), leaves, strict=True)])
    return discrete_laplace(exact.astype(np.int64), scale=scale, stream=stream)


def sealed_counts(counts: Secret[Sequence[ClassCounts]], **others: Any) -> Secret[dict[str, Any]]:
    """Raw leaf counts as plain data, still secret together with ``others``; the model file encrypts them."""
    return Secret({"counts": [[[int(v) for v in pair] for pair in table] for table in counts.open()], **others})


def unsealed_counts(part: Secret[dict[str, Any]] | None, leaves: Sequence[int]) -> Secret[Sequence[ClassCounts]]:
    """Raw leaf counts of a decrypted part, checked against the number of leaves of each tree."""
    if part is None:
        raise ValueError("the confidential part is missing")
    tables = [np.array(table) for table in part.open()["counts"]]
    if [table.shape for table in tables] != [(each, 2) for each in leaves]:
        raise ValueError("the trees of a forest and their leaf counts do not fit")
    if any(table.dtype.kind != "i" or table.min() < 0 for table in tables):
        raise ValueError("a leaf count is no whole number of records")
    return Secret([table.astype(np.int64) for table in tables])


def neighbouring_means(negative: int, positive: int) -> tuple[float, float]:
    """Largest and smallest share of positives with one record more or less in a leaf: phi and chi, corrected.

    The chapter's own formulas divide by zero at one record, leave the interval [0, 1], and miss two of the four cases.
    """
    total = negative + positive
    shares = [(positive + 1) / (total + 1), positive / (total + 1)]
    if total > 1:
        if positive >= 1:
            shares.append((positive - 1) / (total - 1))
        if negative >= 1:
            shares.append(positive / (total - 1))
    return max(shares), min(shares)


def locally_noisy_mean(
    counts: Secret[Sequence[ClassCounts]], leaves: Sequence[int], *, epsilon: float, stream: Stream
) -> tuple[float, float]:
    """The chapter's output layer: the mean share of the leaves plus Laplace noise scaled to this very table.

    Not private: the scale is itself a function of the data, so that the tails of neighbours diverge, and floating-point
    noise leaks as well. Whoever uses it records no price but an unpriced read. Returns the answer and the noise scale.
    """
    shares, spans = [], []
    for table, leaf in zip(counts.open(), leaves, strict=True):
        negative, positive = map(int, table[leaf])
        shares.append(positive / (negative + positive) if negative + positive else 0.5)
        high, low = neighbouring_means(negative, positive)
        spans.append(high - low)
    scale = sum(spans) / len(spans) / epsilon
    return sum(shares) / len(shares) + float(stream.generator().laplace(0.0, scale)), scale
