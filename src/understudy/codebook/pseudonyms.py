"""Ids for synthetic people, made from randomness alone.

Rows are drawn one by one, so a synthetic person is a number of rows that are put together at random: how many records
people have can be like in the data, which records they have together cannot.
"""

import binascii
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

if TYPE_CHECKING:
    from understudy.codebook.decode import BelowEach

_HALF = 1 << 60
_DIGITS = 30


def pseudonyms(rows: int, below_each: "BelowEach", weights: Sequence[int] = ()) -> pa.Array:
    """One id for each row. ``weights``: how common it is that a person has one record, two, and so on.

    Ids have 120 random bits, so that no two files, parts or people ever share one: among a thousand million of them
    two agree with probability below 1e-18.
    """
    if rows == 0:
        return pa.array([], type=pa.string())
    if not len(weights):
        return _texts(rows, below_each)
    sizes = person_sizes(rows, below_each, weights)
    people = np.repeat(np.arange(len(sizes)), sizes)
    order = np.argsort(below_each(np.full(rows, _HALF, dtype=np.uint64)), kind="stable")
    return _texts(len(sizes), below_each).take(pa.array(people[order]))


def person_sizes(rows: int, below_each: "BelowEach", weights: Sequence[int]) -> npt.NDArray[np.int64]:
    """Records of one person after the other until all rows have one; the last gets what is left."""
    reach = np.cumsum(np.asarray(weights, dtype=np.uint64))
    people: list[npt.NDArray[np.int64]] = []
    left = rows
    while left > 0:
        picks = below_each(np.full(left, reach[-1], dtype=np.uint64))
        sizes = np.searchsorted(reach, picks, side="right").astype(np.int64) + 1
        after = np.cumsum(sizes)
        last = int(np.searchsorted(after, left))  # the first person with whom the rows are used up
        sizes = sizes[: last + 1]
        sizes[-1] -= max(0, int(after[min(last, len(after) - 1)]) - left)
        people.append(sizes)
        left -= int(sizes.sum())
    return np.concatenate(people)


def _texts(count: int, below_each: "BelowEach") -> pa.Array:
    """An s and thirty hexadecimal digits each."""
    halves = below_each(np.full(2 * count, _HALF, dtype=np.uint64)).astype(">u8").reshape(count, 2)
    digits = np.frombuffer(binascii.hexlify(halves.tobytes()), dtype=np.uint8).reshape(count, 32)
    text = np.empty((count, _DIGITS + 1), dtype=np.uint8)
    text[:, 0] = ord("s")
    text[:, 1:16], text[:, 16:] = digits[:, 1:16], digits[:, 17:]
    ends = np.arange(count + 1, dtype=np.int64) * (_DIGITS + 1)
    return pa.LargeStringArray.from_buffers(count, pa.py_buffer(ends), pa.py_buffer(text)).cast(pa.string())
