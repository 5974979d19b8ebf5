"""MinHash of a record without one column, for all columns at once.

A record is the set of its (column, value) pairs. For each of ``hashes`` public hash functions the smallest hash of the
set is kept; two sets agree in one of them with probability equal to their Jaccard similarity (Broder 1997). Records
that differ in d of m columns have similarity (m - d) / (m + d), so MinHash is also sensitive to Hamming distance.

Leaving out one column costs nothing extra: the smallest hash of the others is the smaller of a prefix and a suffix
minimum, so the keys of all columns of a record take one pass.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.compiled import high_low_product, kernel
from understudy.parameters import Whole

MOST_KEYS = 1 << 22
GOLDEN = 0x9E3779B97F4A7C15
"""The odd constant of SplitMix64."""
NO_HASH = np.iinfo(np.uint64).max
"""Smallest hash of an empty set."""


@dataclass(frozen=True, kw_only=True)
class RecordMinHash:
    """Keys in [0, key_space) of x_-i, from ``hashes`` hash functions; public and fixed before any data is seen."""

    sizes: tuple[int, ...]
    hashes: int
    key_space: int
    seed: int = 1

    def __post_init__(self) -> None:
        Whole(most=64, tried=4).check("hashes", self.hashes)
        Whole(most=MOST_KEYS, tried=65536).check("key_space", self.key_space)

    @cached_property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where the tokens of each column begin."""
        return np.cumsum([0, *self.sizes[:-1]], dtype=np.int64)

    @cached_property
    def tokens(self) -> npt.NDArray[np.uint64]:
        """Hash of every (column, value) pair under every hash function; small enough to look up."""
        made: npt.NDArray[np.uint64] = _tokens(self.hashes, sum(self.sizes), np.uint64(self.seed))
        return made

    def leave_one_out(self, codes: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.int32]:
        """One key per column and record; ``codes`` has a row per record."""
        keys = np.empty((codes.shape[1], len(codes)), dtype=np.int32)
        _leave_one_out(codes, self.tokens, self.offsets, self.key_space, keys)
        return keys

    def minima(self, codes: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.uint64]:
        """The smallest hashes of whole records, one row per record."""
        picked = self.tokens[:, codes.astype(np.int64) + self.offsets[None, :]]
        smallest: npt.NDArray[np.uint64] = picked.min(axis=2).T
        return smallest


@kernel
def mixed(word: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64: a fixed bijection that scatters neighbouring inputs."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@kernel
def _tokens(hashes: int, pairs: int, seed: np.uint64) -> Any:
    out = np.empty((hashes, pairs), dtype=np.uint64)
    for number in range(hashes):
        base = mixed(mixed(seed * np.uint64(GOLDEN)) + np.uint64(number))
        for pair in range(pairs):
            out[number, pair] = mixed(base + np.uint64(pair + 1) * np.uint64(GOLDEN))
    return out


@kernel
def key_from(total: np.uint64, key_space: int) -> Any:
    """The minima mixed together, reduced to a key."""
    high, _ = high_low_product(mixed(total), np.uint64(key_space))
    return np.int64(high)


@kernel
def _leave_one_out(codes: Any, tokens: Any, offsets: Any, key_space: int, keys: Any) -> None:
    columns = codes.shape[1]
    hashes = tokens.shape[0]
    suffix = np.empty((columns + 1, hashes), dtype=np.uint64)
    prefix = np.empty(hashes, dtype=np.uint64)
    for row in range(codes.shape[0]):
        for number in range(hashes):
            suffix[columns, number] = NO_HASH
            prefix[number] = NO_HASH
        for column in range(columns - 1, -1, -1):
            pair = offsets[column] + codes[row, column]
            for number in range(hashes):
                suffix[column, number] = min(suffix[column + 1, number], tokens[number, pair])
        for column in range(columns):
            total = np.uint64(0)
            for number in range(hashes):
                total = mixed(total * np.uint64(GOLDEN) + min(prefix[number], suffix[column + 1, number]))
            keys[column, row] = key_from(total, key_space)
            pair = offsets[column] + codes[row, column]
            for number in range(hashes):
                prefix[number] = min(prefix[number], tokens[number, pair])
