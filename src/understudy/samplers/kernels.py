"""The compiled inner loops: exact categorical draws from integer weights.

A draw multiplies one secure 64-bit word by the cell's total weight and keeps the high half (Lemire), redrawing in the
biased sliver, so every category has exactly its rational probability: no rounding, no zero.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.compiled import kernel
from understudy.mechanisms.stream import Words, below, first_above

Keys = npt.NDArray[np.int64]
SCAN_LEVELS = 64
"""Up to so many levels a scan without branches is faster than a binary search."""

_EMPTY = -1


@kernel
def level_by_scan(cumulative: Any, slot: int, pick: Any) -> int:
    """The level of the pick-th unit of weight in a row of few levels: how many cumulative weights are at most pick."""
    level = 0
    for place in range(cumulative.shape[1] - 1):
        level += cumulative[slot, place] <= pick
    return level


@kernel
def draw_by_scan(slots: Keys, cumulative: Any, words: Words, position: int, out: Any, start: int) -> tuple[int, int]:
    """Draw one level per row from tables of few levels.

    Returns (rows finished, words used so far); rows are unfinished only when the words ran out.
    """
    for row in range(start, len(slots)):
        pick, position = below(cumulative[slots[row], -1], words, position)
        if position < 0:
            return row, len(words)
        out[row] = level_by_scan(cumulative, slots[row], pick)
    return len(slots), position


@kernel
def draw_by_halving(slots: Keys, cumulative: Any, words: Words, position: int, out: Any, start: int) -> tuple[int, int]:
    """The same for columns of many levels, by binary search."""
    last = cumulative.shape[1] - 1
    for row in range(start, len(slots)):
        pick, position = below(cumulative[slots[row], last], words, position)
        if position < 0:
            return row, len(words)
        out[row] = first_above(cumulative[slots[row]], 0, last, pick)
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
