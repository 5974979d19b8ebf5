"""The smallest mixing weight that makes a block entropy l-diverse, for millions of blocks, as exact integer weights.

Q_w = (1 - w) P + w U. Entropy is concave, so on the segment from P to the uniform U it rises: there is one root of
H(Q_w) = log l, found here from both sides at once. The tangent of a concave function lies above it and its chord below,
so Newton's step from the left never passes the root and the chord's step from the right never falls short of it.

Blocks are sparse: only occupied levels are stored, and the empty ones enter in closed form.
"""

import math
from typing import Any

from understudy.compiled import kernel

UNIFORM = 255
"""Shift of a block that is drawn uniformly, whatever its counts."""

_STOP = 2.0**-42
_NEARLY_UNIFORM = 2.0**-30
_ROOM = 55  # bits of a block's total weight, so that Lemire's rejection stays rare
_UP = 1 + 2.0**-40  # covers the rounding of alpha


@kernel
def margin(occupied: int, levels: int) -> float:
    """More than floats can lose in an entropy of so many terms; the root is looked for that far above log l."""
    return (occupied + 16) * 2.0**-52 * (1.0 + math.log(levels))


@kernel
def entropy(counts: Any, start: int, end: int, records: float, levels: int, weight: float) -> float:
    """H(Q_w) in nats of the block whose occupied levels have ``counts[start:end]``."""
    share = weight / levels
    scale = (1.0 - weight) / records
    total = 0.0
    for place in range(start, end):
        q = scale * counts[place] + share
        total -= q * math.log(q)
    empty = levels - (end - start)
    if empty > 0 and share > 0:
        total -= empty * share * math.log(share)
    return total


@kernel
def _slope(counts: Any, start: int, end: int, records: float, levels: int, weight: float) -> float:
    """dH/dw = -sum (1/C - p_j) log q_j; only called where w > 0."""
    share = weight / levels
    scale = (1.0 - weight) / records
    even = 1.0 / levels
    total = 0.0
    for place in range(start, end):
        total -= (even - counts[place] / records) * math.log(scale * counts[place] + share)
    return total - (levels - (end - start)) * even * math.log(share)


@kernel
def _enough_as_counted(counts: Any, start: int, end: int, records: float, levels: int, wanted: float) -> bool:
    """Whether P itself is l-diverse; decided exactly where all occupied levels have one count."""
    first = counts[start]
    even = True
    for place in range(start + 1, end):
        if counts[place] != first:
            even = False
            break
    if even:
        return end - start >= wanted
    return entropy(counts, start, end, records, levels, 0.0) >= math.log(wanted) + margin(end - start, levels)


@kernel
def _smallest_weight(counts: Any, start: int, end: int, records: float, levels: int, wanted: float) -> float:
    """The root of H(Q_w) = log l, from above, within 2^-42; 0 if P is diverse enough, 1 if only U is."""
    if start == end:
        return 1.0
    if wanted <= 1.0 or _enough_as_counted(counts, start, end, records, levels, wanted):
        return 0.0
    target = math.log(wanted) + margin(end - start, levels)
    low, high = 0.0, 1.0
    below = entropy(counts, start, end, records, levels, low) - target
    above = math.log(levels) - target
    if above <= 0 or wanted >= levels:
        return 1.0
    while high - low > _STOP:
        width = high - low
        for kind in range(3):  # tangent from the left, chord from the right, and halving where they were slow
            if kind == 2:
                step = 0.5 * (low + high) if high - low > 0.5 * width else low
            elif low == 0.0:
                step = low  # the slope at 0 may be infinite
            elif kind == 0:
                step = low - below / _slope(counts, start, end, records, levels, low)
            else:  # a little past the root's own rounding, so that the right end keeps moving
                step = low - below * (high - low) / (above - below) + 0.25 * _STOP
            if low < step < high:
                value = entropy(counts, start, end, records, levels, step) - target
                if value >= 0:
                    high, above = step, value
                else:
                    low, below = step, value
    return high


@kernel
def _integers(weight: float, records: float, levels: int) -> tuple[int, int]:
    """PeGS's Dirichlet form on a grid: u virtual records per level and 2^shift for every real one.

    alpha = w N / (C (1 - w)) is rounded up to u / 2^shift; more weight never means less entropy.
    """
    if 1.0 - weight <= _NEARLY_UNIFORM or records <= 0:
        return 1, UNIFORM
    alpha = weight * records / (levels * (1.0 - weight)) * _UP
    if alpha == 0.0:
        return 0, 0
    shift = math.floor(_ROOM - math.log2(levels * alpha + records))
    if shift < 0:
        return 1, UNIFORM
    return math.ceil(alpha * 2.0**shift), shift


@kernel
def block_weights(
    counts: Any,
    starts: Any,
    levels: int,
    wanted: float,
    floor: float,
    virtual: Any,
    shifts: Any,
    weights: Any,
) -> None:
    """For each block ``counts[starts[b]:starts[b + 1]]`` the integer weights, and the mixing weight they amount to."""
    for block in range(len(starts) - 1):
        start, end = starts[block], starts[block + 1]
        records = 0.0
        for place in range(start, end):
            records += counts[place]
        weight = max(floor, _smallest_weight(counts, start, end, records, levels, wanted))
        u, shift = _integers(weight, records, levels)
        virtual[block] = u
        shifts[block] = shift
        weights[block] = 1.0 if shift == UNIFORM else levels * u / (levels * u + records * 2.0**shift)
