"""The in-memory fast path: one array of small integer codes per column, counted by a compiled loop."""

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook, Number
from understudy.compiled import kernel
from understudy.privacy.account import Account
from understudy.privacy.provenance import DECLARED, Provenance
from understudy.privacy.secret import Secret
from understudy.sources.base import Choice, Clique, Report, Source, no_ids, slice_weights
from understudy.sources.tables import DENSE_LIMIT, CountTable, code_type, counts_people, people_table

Codes = npt.NDArray[np.unsignedinteger]
_BLOCK = 1 << 14
_KEY_LIMIT = 1 << 62
_TOGETHER = 16
"""Cliques that one thread counts at a time."""
_SMALL = 1 << 20
"""Tables of so few combinations are laid out in full, however few the records."""


class EncodedSource(Source):
    """Codes held in memory."""

    def __init__(
        self,
        *,
        codebook: Codebook,
        columns: Sequence[Codes],
        account: Account | None = None,
        people: npt.NDArray[np.int64] | None = None,
        provenance: Provenance = DECLARED,
        unknown: str = "error",
    ) -> None:
        super().__init__(codebook=codebook, account=account, provenance=provenance, unknown=unknown)
        self._columns = tuple(columns)
        self._people = people
        """A number for the person of each record, where the codebook has an id column."""

    def capped(self, choice: Choice) -> "EncodedSource":
        """A source of the chosen records; without ids from here on."""
        if self.is_capped:
            return self
        if self._people is None:
            raise no_ids(self.codebook.unit)
        kept = choice.keep(self._people)
        columns = [column[kept] for column in self._columns]
        chosen = EncodedSource(
            codebook=self.codebook,
            columns=columns,
            account=self.account,
            provenance=self.provenance,
            unknown=self.unknown,
        )
        chosen._is_capped = True
        if counts_people(self.codebook):
            each = np.minimum(np.unique(self._people, return_counts=True)[1], choice.cap)
            chosen.people = Secret(people_table(np.bincount(each, minlength=choice.cap + 1)[1:].astype(np.int64)))
        return chosen

    @property
    def smooth(self) -> tuple[Number, ...]:
        """None where only bins were handed over."""
        return self.codebook.smooth if len(self._columns) == len(self.codebook.counted) else ()

    def count(self, cliques: Sequence[Clique], report: Report | None = None) -> list[Secret[CountTable]]:
        """Counts by one pass per clique, on all cores."""
        tables: list[Secret[CountTable]] = []
        parts = [cliques[start : start + _TOGETHER] for start in range(0, len(cliques), _TOGETHER)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for counted in pool.map(lambda part: [Secret(self._counted(clique)) for clique in part], parts):
                tables += counted
                if report:
                    report("counting", len(tables), len(cliques))
        return tables

    def _counted(self, clique: Clique) -> CountTable:
        columns = [self._columns[self.codebook.count_position(name)] for name in clique]
        return count_codes(clique, self.sizes(clique), columns)

    def frequencies(self, clique: Clique) -> Secret[dict[int, int]]:
        """Counts of counts."""
        _, counts = self._counted(clique).occupied()
        sizes, cells = np.unique(counts, return_counts=True)
        return Secret(dict(zip(sizes.tolist(), cells.tolist(), strict=True)))

    def lone(self, clique: Clique, part: int, parts: int) -> Secret[CountTable]:
        """Cells of one record."""
        codes, counts = self._counted(clique).occupied()
        spread = codes.astype(np.int64) @ np.array(slice_weights(codes.shape[1]), dtype=np.int64)
        kept = (counts == 1) & (spread % parts == part)
        return Secret(CountTable.sparse(clique, self.sizes(clique), codes[kept], counts[kept]))


def count_codes(names: Sequence[str], sizes: Sequence[int], columns: Sequence[Codes]) -> CountTable:
    """Count combinations of codes: laid out in full where that is smaller than a list of the occupied cells."""
    if math.prod(sizes) <= min(DENSE_LIMIT, max(_SMALL, len(columns[0]))):
        counts = np.zeros(math.prod(sizes), dtype=np.int64)
        if len(sizes) == 2:
            _tally_pairs(counts, columns[0], columns[1], sizes[1])
            return CountTable.dense(names, counts.reshape(tuple(sizes)))
        keys = np.empty(_BLOCK, dtype=np.int64)
        for start in range(0, len(columns[0]), _BLOCK):
            block = keys[: len(columns[0][start : start + _BLOCK])]
            block[:] = 0
            for size, column in zip(sizes, columns, strict=True):
                _shift_in(block, size, column[start : start + _BLOCK])
            _tally(counts, block)
        return CountTable.dense(names, counts.reshape(tuple(sizes)))
    return _count_sparse(names, sizes, columns)


def _count_sparse(names: Sequence[str], sizes: Sequence[int], columns: Sequence[Codes]) -> CountTable:
    """Occupied cells only. Keys are mixed radix, so that their order is that of the cells; they are sorted bare and
    taken apart again, or, where their range would leave 64 bits, renumbered on the way and looked up.
    """
    keys = np.zeros(len(columns[0]), dtype=np.int64)
    reach = 1
    for size, column in zip(sizes, columns, strict=True):
        if reach * size > _KEY_LIMIT:
            distinct, inverse = np.unique(keys, return_inverse=True)
            keys, reach = inverse.astype(np.int64), len(distinct)
        _shift_in(keys, size, column)
        reach *= size
    kind = code_type(max(sizes))
    if math.prod(sizes) <= _KEY_LIMIT:
        keys.sort()
        starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else np.empty(0, np.int64)
        codes = np.empty((len(starts), len(sizes)), dtype=kind)
        _take_apart(keys[starts], np.array(sizes, dtype=np.int64), codes)
        counts = np.diff(starts, append=len(keys))
    else:
        _, first, counts = np.unique(keys, return_index=True, return_counts=True)
        codes = np.stack([column[first].astype(kind) for column in columns], axis=1)
    return CountTable(columns=tuple(names), sizes=tuple(sizes), codes=codes, counts=counts.astype(np.int64))


@kernel
def _take_apart(keys: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], codes: Codes) -> None:
    for cell in range(len(keys)):
        key = keys[cell]
        for column in range(len(sizes) - 1, -1, -1):
            codes[cell, column] = key % sizes[column]
            key //= sizes[column]


@kernel
def _shift_in(keys: npt.NDArray[np.int64], size: int, column: Codes) -> None:
    for row in range(len(keys)):
        keys[row] = keys[row] * size + column[row]


@kernel
def _tally_pairs(counts: npt.NDArray[np.int64], first: Codes, second: Codes, size: int) -> None:
    """By turns into two tables: an addition to the cell that the row before added to would have to wait for it."""
    odd = np.zeros_like(counts)
    for row in range(0, len(first) - 1, 2):
        counts[first[row] * size + second[row]] += 1
        odd[first[row + 1] * size + second[row + 1]] += 1
    if len(first) % 2:
        odd[first[-1] * size + second[-1]] += 1
    counts += odd


@kernel
def _tally(counts: npt.NDArray[np.int64], keys: npt.NDArray[np.int64]) -> None:
    for row in range(len(keys)):
        counts[keys[row]] += 1
