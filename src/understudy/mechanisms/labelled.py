"""Secret records with a yes-or-no label, and what may be measured of them: leaf counts and sums."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from understudy.errors import DataError, RefusalError
from understudy.mechanisms.discrete_laplace import discrete_laplace, float_above, scale_for
from understudy.mechanisms.histogram import GeometricHistogram
from understudy.mechanisms.max_norm import MaxNormSums, max_norm_event, max_norm_noise
from understudy.mechanisms.stream import Stream
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable

AR = Neighbours.ADD_REMOVE
UNIT = 1 << 12
"""What stands for 1 in sums of whole numbers."""

Codes = npt.NDArray[np.uint8]
LeafOf = Callable[[Codes], npt.NDArray[np.intp]]
"""A public function from codes to leaf numbers: it may depend on earlier releases, never on the records."""
ChanceOf = Callable[[Codes], npt.NDArray[np.float64]]
"""A public function from codes to chances of the positive class."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """Occupied combinations of feature codes, each with its (negative, positive) counts. Always inside a secret."""

    codes: Codes
    counts: npt.NDArray[np.int64]


def labelled_cells(table: Secret[CountTable], *, target: str, positive: int) -> Secret[Cells]:
    """Counts of all columns as features and label; every level of the target but ``positive`` is negative."""
    opened = table.open()
    place = opened.columns.index(target)
    codes, counts = opened.occupied()
    if max(size for at, size in enumerate(opened.sizes) if at != place) > 256:
        raise RefusalError("some feature has more than 256 levels; a tree takes at most 256. Declare wider bins.")
    split = np.zeros((len(codes), 2), dtype=np.int64)
    split[np.arange(len(codes)), (codes[:, place] == positive).astype(np.intp)] = counts
    return Secret(pooled(np.delete(codes, place, axis=1).astype(np.uint8), split))


def pooled(codes: Codes, counts: npt.NDArray[np.int64]) -> Cells:
    """Rows of equal codes put together."""
    if codes.ndim != 2 or counts.shape != (len(codes), 2):
        raise DataError("records and labels do not fit together; give one label for each record.")
    if len(codes) == 0:
        return Cells(codes=codes, counts=counts)
    order = np.lexsort(codes.T[::-1]) if codes.shape[1] else np.arange(len(codes))
    codes, counts = codes[order], counts[order]
    first = np.concatenate([[True], (codes[1:] != codes[:-1]).any(axis=1)])
    return Cells(codes=codes[first], counts=np.add.reduceat(counts, np.flatnonzero(first), axis=0))


def split_apart(cells: Secret[Cells], parts: int, stream: Stream) -> list[Secret[Cells]]:
    """Each record goes to one part, all equally likely, whatever the other records are: parts compose in parallel."""
    held = cells.open()
    codes = np.repeat(np.repeat(held.codes, 2, axis=0), held.counts.ravel(), axis=0)
    labels = np.repeat(np.tile(np.array([0, 1]), len(held.codes)), held.counts.ravel())
    lot = stream.below_each(np.full(len(codes), parts, dtype=np.uint64)).astype(np.intp)
    split = []
    for part in range(parts):
        inside = lot == part
        counts = np.zeros((int(inside.sum()), 2), dtype=np.int64)
        counts[np.arange(len(counts)), labels[inside]] = 1
        split.append(Secret(pooled(codes[inside], counts)))
    return split


def set_aside(cells: Secret[Cells], *, one_in: int, stream: Stream) -> tuple[Secret[Cells], Secret[Cells]]:
    """Most records for training and one in so many, at random, for measuring quality; a record is in one of the two."""
    parts = [part.open() for part in split_apart(cells, one_in, stream)]
    codes = np.concatenate([part.codes for part in parts[1:]])
    return Secret(pooled(codes, np.concatenate([part.counts for part in parts[1:]]))), Secret(parts[0])


def leaf_counts_entry(scale: Fraction, *, reads: str, assumptions: tuple[str, ...] = ()) -> Entry:
    """The line that :func:`noisy_leaf_counts` writes; needs no data."""
    event = GeometricHistogram(scale=scale, neighbours=AR)
    return Entry(stage="leaves", reads=reads, event=event, assumptions=assumptions)


def noisy_leaf_counts(
    cells: Secret[Cells], leaf_of: LeafOf, leaves: int, *, epsilon: float, stream: Stream, reads: str
) -> tuple[npt.NDArray[np.int64], Entry]:
    """(negative, positive) counts of every leaf with exact noise: one histogram, since a record is in one leaf."""
    entry = leaf_counts_entry(scale_for(epsilon, 1), reads=reads)
    assert isinstance(entry.event, GeometricHistogram)
    return discrete_laplace(leaf_counts(cells.open(), leaf_of, leaves), scale=entry.event.scale, stream=stream), entry


@dataclass(frozen=True, kw_only=True)
class Grove:
    """Small trees that ask about one feature and vote together: each code has a lean from -UNIT to UNIT; public."""

    feature: int
    lean: tuple[int, ...]
    """For each code of the feature, missing included."""

    def __post_init__(self) -> None:
        if not all(isinstance(v, int) and abs(v) <= UNIT for v in self.lean):
            raise ValueError("a grove leans by whole numbers from -UNIT to UNIT")


def grove_entry(groves: int, *, epsilon: float, limit: int, reads: str) -> Entry:
    """The line that :func:`grove_sums` writes; needs no data."""
    event = max_norm_event(epsilon=epsilon, sensitivity=limit, dimensions=groves, neighbours=AR)
    return Entry(stage="votes", reads=reads, event=event)


def grove_sums(
    cells: Secret[Cells],
    groves: Sequence[Grove],
    chance_of: ChanceOf,
    *,
    limit: int,
    epsilon: float,
    stream: Stream,
    reads: str,
) -> tuple[npt.NDArray[np.float64], float, Entry]:
    """For every grove the sum over records of lean x (label - chance), noisy, in records; and the noise scale.

    A record's residual is rounded to whole UNITs and clipped to +-``limit``; times a lean of at most 1 it stays there.
    """
    entry = grove_entry(len(groves), epsilon=epsilon, limit=limit, reads=reads)
    event = entry.event
    assert isinstance(event, MaxNormSums)
    held = cells.open()
    exact = [0] * len(groves)
    if len(held.codes):
        chance = np.clip(chance_of(held.codes), 0.0, 1.0)
        pull = np.rint(np.stack([-chance, 1.0 - chance], axis=1) * UNIT).astype(np.int64)
        np.clip(pull, -limit, limit, out=pull)
        exact = [int(contributions(grove, held.codes, pull, held.counts).sum()) for grove in groves]
    noise = max_norm_noise(len(groves), scale=event.scale, stream=stream)
    noisy = np.array([value + extra for value, extra in zip(exact, noise, strict=True)], dtype=np.float64) / UNIT
    return noisy, float_above(event.scale) / UNIT, entry


def contributions(
    grove: Grove, codes: Codes, pull: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """What each cell adds to a grove's sum: count x round(lean pull / UNIT), the rounding done for each record."""
    lean = np.array(grove.lean, dtype=np.int64)[codes[:, grove.feature]]
    each: npt.NDArray[np.int64] = (2 * lean[:, None] * pull + UNIT) // (2 * UNIT)  # to the nearest whole number
    return each * counts


def kept_leaf_counts(cells: Secret[Cells], leaf_of: LeafOf, leaves: int) -> Secret[Sequence[npt.NDArray[np.int64]]]:
    """Exact (negative, positive) counts of every leaf of one tree, still secret: for models with paid answers."""
    return Secret([leaf_counts(cells.open(), leaf_of, leaves)])


def leaf_counts(cells: Cells, leaf_of: LeafOf, leaves: int) -> npt.NDArray[np.int64]:
    """Exact (negative, positive) counts of every leaf, for mechanisms that add noise."""
    exact = np.zeros((leaves, 2), dtype=np.int64)
    if len(cells.codes):
        np.add.at(exact, leaf_of(cells.codes), cells.counts)
    return exact
