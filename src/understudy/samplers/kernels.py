"""The compiled inner loops: exact categorical draws from integer weights.

A draw multiplies one secure 64-bit word by the cell's total weight and keeps the high half (Lemire), redrawing in the
biased sliver, so every category has exactly its rational probability: no rounding, no zero.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.compiled import high_low_product, kernel

Keys = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

_EMPTY = -1


@kernel
def draw_by_scan(slots: Keys, cumulative: Any, words: Words, position: int, out: Any, start: int) -> tuple[int, int]:
    """Draw one category per row; few levels, so count how many cumulative weights lie at or below the pick.

    Returns (rows finished, words used so far); rows are unfinished only when the words ran out.
    """
    levels = cumulative.shape[1]
    for row in range(start, len(slots)):
        slot = slots[row]
        total = cumulative[slot, levels - 1]
        while True:
            if position == len(words):
                return row, position
            pick, low = high_low_product(words[position], total)
            position += 1
            if low >= total or low >= (np.uint64(0) - total) % total:
                break
        category = 0
        for level in range(levels - 1):
            category += cumulative[slot, level] <= pick
        out[row] = category
    return len(slots), position


@kernel
def draw_by_halving(slots: Keys, cumulative: Any, words: Words, position: int, out: Any, start: int) -> tuple[int, int]:
    """The same for columns of many levels, by binary search."""
    levels = cumulative.shape[1]
    for row in range(start, len(slots)):
        slot = slots[row]
        total = cumulative[slot, levels - 1]
        while True:
            if position == len(words):
                return row, position
            pick, low = high_low_product(words[position], total)
            position += 1
            if low >= total or low >= (np.uint64(0) - total) % total:
                break
        first, last = 0, levels - 1
        while first < last:
            middle = (first + last) >> 1
            if cumulative[slot, middle] <= pick:
                first = middle + 1
            else:
                last = middle
        out[row] = first
    return len(slots), position


@kernel
def _home(key: int, mask: int) -> Any:
    word = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(word >> np.uint64(20)) & mask


@kernel
def _insert_all(keys: Keys, table: Keys, rows: Keys) -> None:
    mask = len(table) - 1
    for slot in range(len(keys)):
        place = _home(keys[slot], mask)
        while table[place] != _EMPTY:
            place = (place + 1) & mask
        table[place] = keys[slot]
        rows[place] = slot


@kernel
def _find_all(keys: Keys, table: Keys, rows: Keys, unseen: int) -> None:
    mask = len(table) - 1
    for row in range(len(keys)):
        place = _home(keys[row], mask)
        while table[place] != _EMPTY and table[place] != keys[row]:
            place = (place + 1) & mask
        keys[row] = rows[place] if table[place] != _EMPTY else unseen


class LookUp:
    """Key to row of a sparse table, by open addressing; unseen keys get the prior's row."""

    def __init__(self, keys: Keys, unseen: int) -> None:
        size = 1 << max(4, (2 * len(keys)).bit_length())
        self._table = np.full(size, _EMPTY, dtype=np.int64)
        self._rows = np.zeros(size, dtype=np.int64)
        self._unseen = unseen
        _insert_all(keys, self._table, self._rows)

    def replace(self, keys: Keys) -> None:
        """Overwrite every key with its row."""
        _find_all(keys, self._table, self._rows, self._unseen)


@kernel
def mark_visits(slots: Keys, chains: Keys, table: Keys, owners: Keys, unseen: int) -> None:
    """Reset rule of PeGS.rs: a chain that returns to a row it has drawn from is sent to the prior's row.

    ``table`` and ``owners`` form an open-addressing set of (row, chain) pairs; ``chains[r]`` is the chain of row r.
    """
    mask = len(table) - 1
    for row in range(len(slots)):
        slot = slots[row]
        if slot == unseen:
            continue
        place = (_home(slot, mask) + _home(chains[row] + 1, mask)) & mask
        while table[place] != _EMPTY and not (table[place] == slot and owners[place] == chains[row]):
            place = (place + 1) & mask
        if table[place] == _EMPTY:
            table[place] = slot
            owners[place] = chains[row]
        else:
            slots[row] = unseen
