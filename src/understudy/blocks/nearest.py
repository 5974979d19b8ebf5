"""The nearest known block of an unseen state, by locality-sensitive hashing under Hamming distance.

Each block is known by its commonest record. A band is a public random subset of the other columns; blocks that agree
with the state on a whole band are its candidates (bit sampling of Indyk and Motwani, on columns instead of bits), and
the candidate with the fewest differing columns wins. Data-dependent, hence never used under a DP label.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.blocks.minhash import RecordMinHash, mixed
from understudy.compiled import kernel
from understudy.mechanisms.l_diversity import DiverseTables
from understudy.mechanisms.stream import Stream
from understudy.parameters import Whole

_CANDIDATES = 32
"""Most blocks of one band that are compared with a state."""
_PER_BUCKET = 64
"""A band takes columns until their combinations are this many times fewer than the keys."""


def check_bands(bands: int) -> None:
    """A small whole number."""
    Whole(most=64, tried=8).check("bands", bands)


@dataclass(frozen=True, kw_only=True, eq=False)
class BlockIndex:
    """Hash tables of the blocks of all columns, one per column and band."""

    picked: npt.NDArray[np.int64]
    """Columns of (column, band), padded with -1."""
    starts: npt.NDArray[np.int32]
    """Of (column, band, bucket): its first entry."""
    entries: npt.NDArray[np.int32]
    """Of (band, entry): the block; those of one bucket lie together."""
    copies: npt.NDArray[np.unsignedinteger]
    """Of (band, entry): the block's commonest record, so that a bucket is compared without jumping about."""

    @classmethod
    def build(cls, tables: DiverseTables, hashing: RecordMinHash, bands: int) -> "BlockIndex":
        """Every block enters every band of its column."""
        columns = len(tables.sizes)
        picked = _bands(tables.sizes, bands, hashing.key_space)
        most = max(tables.block_range(c)[1] - tables.block_range(c)[0] for c in range(columns))
        starts = np.zeros((columns, bands, (1 << max(4, most.bit_length())) + 1), dtype=np.int32)
        entries = np.zeros((bands, int(tables.first[-1])), dtype=np.int32)
        for column in range(columns):
            begin, end = tables.block_range(column)
            _enter(tables.modes, begin, end, picked[column], hashing.tokens, hashing.offsets, starts[column], entries)
        return cls(picked=picked, starts=starts, entries=entries, copies=tables.modes[entries])


def _bands(sizes: tuple[int, ...], bands: int, key_space: int) -> npt.NDArray[np.int64]:
    """Public: a fixed shuffle of the other columns for each band, cut where it tells the keys apart well enough."""
    public = Stream.seeded(1)
    columns = len(sizes)
    picked = np.full((columns, bands, max(1, columns - 1)), -1, dtype=np.int64)
    for column in range(columns):
        for band in range(bands):
            others = [other for other in range(columns) if other != column]
            chosen: list[int] = []
            while others and len(chosen) < max(1, columns - 2):
                if math.prod(sizes[c] for c in chosen) * _PER_BUCKET >= key_space:
                    break
                chosen.append(others.pop(public.below(len(others))))
            picked[column, band, : len(chosen)] = chosen
    return picked


@kernel
def _bucket(pairs: Any, band: Any, tokens: Any, offsets: Any, mask: int) -> Any:
    total = np.uint64(0)
    for place in range(len(band)):
        other = band[place]
        if other < 0:
            break
        total += tokens[0, offsets[other] + pairs[other]]
    return np.int64(mixed(total) >> np.uint64(1)) & mask


@kernel
def _enter(modes: Any, begin: int, end: int, bands: Any, tokens: Any, offsets: Any, starts: Any, entries: Any) -> None:
    """Counting sort of the blocks by bucket, band by band."""
    size = starts.shape[1] - 1
    buckets = np.empty(max(end - begin, 1), dtype=np.int64)
    for band in range(bands.shape[0]):
        for block in range(begin, end):
            bucket = _bucket(modes[block], bands[band], tokens, offsets, size - 1)
            buckets[block - begin] = bucket
            starts[band, bucket + 1] += 1
        starts[band, 0] = begin
        for bucket in range(size):
            starts[band, bucket + 1] += starts[band, bucket]
        for block in range(end - 1, begin - 1, -1):  # from the back, each bucket filled from its end
            bucket = buckets[block - begin]
            starts[band, bucket + 1] -= 1
            entries[band, starts[band, bucket + 1]] = block
        for bucket in range(size):  # every start has moved to the one before it
            starts[band, bucket] = starts[band, bucket + 1]
        starts[band, size] = end


@kernel
def distance_between(pairs: Any, mode: Any, column: int) -> Any:
    """Columns other than ``column`` in which the two differ."""
    differing = 0
    for other in range(len(mode)):
        differing += pairs[other] != mode[other]
    return differing - (pairs[column] != mode[column])


@kernel
def nearest_block(
    pairs: Any, column: int, bands: Any, tokens: Any, offsets: Any, starts: Any, entries: Any, copies: Any
) -> Any:
    """Nearest candidate of one state; an unseen state differs from every block, so one column is as near as can be."""
    mask = starts.shape[1] - 2
    best, nearest = -1, len(pairs) + 1
    for band in range(bands.shape[0]):
        bucket = _bucket(pairs, bands[band], tokens, offsets, mask)
        first = starts[band, bucket]
        last = min(starts[band, bucket + 1], first + _CANDIDATES)
        for entry in range(first, last):
            distance = distance_between(pairs, copies[band, entry], column)
            if distance < nearest:
                best, nearest = entries[band, entry], distance
                if distance <= 1:
                    return best
    return best
