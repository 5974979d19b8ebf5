"""Key functions h(x_-i): which cell of a conditional table a record belongs to.

All of these are fixed before any data is seen (their hash seeds are public constants), so they keep the guarantee.
Hashing is for size and speed; no protection is claimed for it.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.blocks.minhash import GOLDEN, NO_HASH, mixed
from understudy.compiled import kernel
from understudy.errors import RefusalError
from understudy.parameters import Whole

Codes = npt.NDArray[np.unsignedinteger]
Keys = npt.NDArray[np.int64]
_KEY_LIMIT = 1 << 62


@dataclass(frozen=True, kw_only=True)
class KeyFunction(ABC):
    """Maps the codes of ``reads`` to an integer in [0, space)."""

    reads: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    @abstractmethod
    def space(self) -> int:
        """Number of possible keys; public."""

    @abstractmethod
    def fill(self, columns: Sequence[Codes], keys: Keys) -> None:
        """Write one key per row."""

    def keys(self, columns: Sequence[Codes]) -> Keys:
        """One key per row, in a new array."""
        keys = np.zeros(len(columns[0]), dtype=np.int64)
        self.fill(columns, keys)
        return keys

    def describe(self) -> dict[str, Any]:
        """For a manifest: everything needed to rebuild it."""
        return {"kind": type(self).__name__, "reads": list(self.reads), "space": self.space}


@dataclass(frozen=True, kw_only=True)
class ColumnKey(KeyFunction):
    """The values of a few columns themselves (the paper's trivial hash)."""

    def __post_init__(self) -> None:
        if self.space > _KEY_LIMIT:
            raise RefusalError(
                f"the parents {', '.join(self.reads)} have {self.space:.3g} combinations; keys must stay below 2^62. "
                "Use fewer parents, or the key function 'feature-hash' or 'minhash'."
            )

    @property
    def space(self) -> int:
        """Product of the parents' level counts."""
        return math.prod(self.sizes)

    def fill(self, columns: Sequence[Codes], keys: Keys) -> None:
        """Mixed radix."""
        if not columns:
            keys[:] = 0
            return
        _start(keys, columns[0])
        for size, column in zip(self.sizes[1:], columns[1:], strict=True):
            _shift_in(keys, size, column)


@dataclass(frozen=True, kw_only=True)
class _HashedKey(KeyFunction):
    buckets: int
    seed: int = 1

    def __post_init__(self) -> None:
        Whole(most=_KEY_LIMIT, tried=4096).check("buckets", self.buckets)

    @property
    def space(self) -> int:
        """As declared."""
        return self.buckets

    def describe(self) -> dict[str, Any]:
        """With its public seed."""
        return {**KeyFunction.describe(self), "seed": self.seed}


@dataclass(frozen=True, kw_only=True)
class FeatureHashKey(_HashedKey):
    """Every (column, value) hashed to 64 bits, summed, and reduced to ``buckets`` keys."""

    def fill(self, columns: Sequence[Codes], keys: Keys) -> None:
        """Sum of hashes, mixed once more, modulo the buckets."""
        total = np.zeros(len(keys), dtype=np.uint64)
        for position, column in enumerate(columns):
            _add_hash(total, column, np.uint64(self.seed), np.uint64(position))
        _reduce(total, np.uint64(self.buckets), keys)


@dataclass(frozen=True, kw_only=True)
class MinHashKey(_HashedKey):
    """The smallest hash among the record's (column, value) pairs, for ``hashes`` hash functions, reduced to a key.

    Two records share one hash with probability equal to the Jaccard similarity of their pairs.
    """

    hashes: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        Whole(tried=2).check("hashes", self.hashes)

    def fill(self, columns: Sequence[Codes], keys: Keys) -> None:
        """Minimum per hash function, the minima mixed together, modulo the buckets."""
        total = np.zeros(len(keys), dtype=np.uint64)
        for number in range(self.hashes):
            smallest = np.full(len(keys), NO_HASH, dtype=np.uint64)
            for position, column in enumerate(columns):
                _min_hash(smallest, column, np.uint64(self.seed + number * 7919), np.uint64(position))
            _mix_in(total, smallest)
        _reduce(total, np.uint64(self.buckets), keys)

    def describe(self) -> dict[str, Any]:
        """With its public seed and the number of hash functions."""
        return {**super().describe(), "hashes": self.hashes}


@kernel
def _start(keys: Keys, column: Codes) -> None:
    for row in range(len(keys)):
        keys[row] = column[row]


@kernel
def _shift_in(keys: Keys, size: int, column: Codes) -> None:
    for row in range(len(keys)):
        keys[row] = keys[row] * size + column[row]


@kernel
def _token(code: np.uint64, seed: np.uint64, position: np.uint64) -> np.uint64:
    return mixed(mixed(seed * np.uint64(GOLDEN) + position) + (code + np.uint64(1)) * np.uint64(GOLDEN))


@kernel
def _add_hash(total: npt.NDArray[np.uint64], column: Codes, seed: np.uint64, position: np.uint64) -> None:
    for row in range(len(total)):
        total[row] += _token(np.uint64(column[row]), seed, position)


@kernel
def _min_hash(smallest: npt.NDArray[np.uint64], column: Codes, seed: np.uint64, position: np.uint64) -> None:
    for row in range(len(smallest)):
        smallest[row] = min(smallest[row], _token(np.uint64(column[row]), seed, position))


@kernel
def _mix_in(total: npt.NDArray[np.uint64], word: npt.NDArray[np.uint64]) -> None:
    for row in range(len(total)):
        total[row] = mixed(total[row] * np.uint64(GOLDEN) + word[row])


@kernel
def _reduce(total: npt.NDArray[np.uint64], buckets: np.uint64, keys: Keys) -> None:
    for row in range(len(keys)):
        keys[row] = np.int64(mixed(total[row]) % buckets)
