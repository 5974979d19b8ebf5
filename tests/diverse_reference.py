"""Slow but plain versions of what the l-diverse blocks do, for tests to compare with."""

import numpy as np

from understudy.blocks.nearest import nearest_block
from understudy.mechanisms.diverse_weights import UNIFORM, block_weights


def weight_used(counts, *, l, floor=0.0):  # noqa: E741 - the field's own name for it
    """Mixing weight, virtual records and shift of one block, given with its empty levels."""
    given = np.asarray(counts, dtype=np.int64)
    occupied = given[given > 0]
    virtual, shifts, weights = np.zeros(1, np.uint64), np.zeros(1, np.uint8), np.zeros(1)
    starts = np.array([0, len(occupied)], dtype=np.int64)
    block_weights(occupied, starts, len(given), float(l), float(floor), virtual, shifts, weights)
    return float(weights[0]), int(virtual[0]), int(shifts[0])


def law_of(tables, block, levels):
    """Integer weights of one block, level by level."""
    u, _, start, packed = (int(value) for value in tables.blocks[block])
    shift, cells = packed & 255, packed >> 8
    weights = np.full(levels, u, dtype=np.uint64)
    if shift != UNIFORM:
        counts = np.diff(tables.cumulative[start : start + cells], prepend=0).astype(np.uint64)
        weights[tables.levels[start : start + cells].astype(np.int64)] += counts << np.uint64(shift)
    return weights


def near_blocks(index, hashing, column, states):
    """What the index finds for each state (a column of ``states``): a block, or -1."""
    where = index.picked[column], hashing.tokens, hashing.offsets, index.starts[column], index.entries, index.copies
    return [int(nearest_block(states[:, row], column, *where)) for row in range(states.shape[1])]


def nearest_distances(tables, column, states):
    """How many other columns differ between each state and the block nearest to it, by comparing every block."""
    begin, end = tables.block_range(column)
    differs = tables.modes[begin:end, :, None] != states[None]
    return (differs.sum(axis=1) - differs[:, column]).min(axis=0)
