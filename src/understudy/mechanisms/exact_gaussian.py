"""Compiled kernel for exact discrete Gaussian draws: rejection from the discrete Laplace law [CKS20 Alg 3].

CKS20 propose from a Laplace law of whole scale; here its scale is the deviation s = turns / 2^shift itself, which our
Laplace kernel draws as well. A proposal y is then kept with probability e^(-(|y| / s - 1)^2 / 2), because
y^2 / 2s^2 = |y| / s + (|y| / s - 1)^2 / 2 - 1/2. About 3 of 4 proposals are kept, whatever the deviation.

Why 64 bits are enough, for turns <= 2^44 and shift <= 20. The proposal is |y| = (U + turns V) >> shift with U < turns,
so ||y| / s - 1| = whole + rest / turns for integers that :func:`_distance` finds without forming turns V, whatever V,
and

    e^(-(whole + rest/turns)^2 / 2) = (e^(-whole/2) e^(-rest/turns))^whole e^(-(rest/turns)^2 / 2),

each factor of which is a coin whose draws have bounds of at most turns 2^19. The released magnitude stops counting at
LIMIT + COUNT_LIMIT, as in :mod:`understudy.mechanisms.exact_laplace` and for the same reason; the coin does not stop.
"""

from fractions import Fraction

import numpy as np

from understudy.compiled import kernel
from understudy.mechanisms.exact_laplace import (
    Noise,
    exp_minus,
    exp_minus_one,
    kernel_scale,
    magnitude_of,
    proposal,
)
from understudy.mechanisms.stream import Stream, Words, below

_WORDS_EACH = 20  # what one draw uses on average, about


def exact_gaussian(size: int, *, deviation: Fraction, stream: Stream) -> Noise:
    """``size`` independent draws with P(X = k) proportional to e^(-k^2 / (2 deviation^2))."""
    out = np.empty(size, dtype=np.int64)
    numbers = kernel_scale(deviation)
    stream.run(lambda words, start: _fill(*numbers, words, out, start), size, words_each=_WORDS_EACH)
    return out


@kernel
def _distance(part: np.uint64, rounds: np.uint64, turns: np.uint64, shift: np.uint64) -> tuple[np.uint64, np.uint64]:
    """(whole, rest) with whole turns + rest = |turns - (N - N mod 2^shift)|, N = part + turns rounds, rest < turns."""
    # 2^shift divides 2^64: wrapping is harmless
    low = (part + turns * rounds) & ((np.uint64(1) << shift) - np.uint64(1))
    if rounds == np.uint64(0):  # N = part >= low
        apart = turns - (part - low)
        return apart // turns, apart % turns
    before = rounds - np.uint64(1)
    if part >= low:
        return before, part - low
    short = low - part  # below 2^shift
    borrow = (short + turns - np.uint64(1)) // turns
    if before >= borrow:
        return before - borrow, borrow * turns - short
    apart = short - before * turns
    return apart // turns, apart % turns


@kernel
def _half_square(part: np.uint64, whole: np.uint64, words: Words, position: int) -> tuple[bool, int]:
    """Bernoulli(e^(-(part/whole)^2 / 2)), part < whole: first k whose Bernoulli((part/whole)^2 / 2k) fails is odd."""
    run = np.uint64(1)
    while True:
        value, position = below(np.uint64(2) * run, words, position)
        if position < 0:
            return False, -1
        again = value == np.uint64(0)
        for _ in range(2):
            if again:
                value, position = below(whole, words, position)
                if position < 0:
                    return False, -1
                again = value < part
        if not again:
            return run & np.uint64(1) == np.uint64(1), position
        run += np.uint64(1)


@kernel
def _keeps(whole: np.uint64, rest: np.uint64, turns: np.uint64, words: Words, position: int) -> tuple[bool, int]:
    """Bernoulli(e^(-(whole + rest/turns)^2 / 2)) as a conjunction of coins, ended by the first that fails."""
    kept = True
    turn = np.uint64(0)
    while turn < whole:
        half = np.uint64(0)
        while half < whole >> np.uint64(1):
            kept, position = exp_minus_one(words, position)
            if position < 0 or not kept:
                return False, position
            half += np.uint64(1)
        if whole & np.uint64(1) == np.uint64(1):
            kept, position = exp_minus(np.uint64(1), np.uint64(2), words, position)
            if position < 0 or not kept:
                return False, position
        if rest > np.uint64(0):
            kept, position = exp_minus(rest, turns, words, position)
            if position < 0 or not kept:
                return False, position
        turn += np.uint64(1)
    if rest > np.uint64(0):
        kept, position = _half_square(rest, turns, words, position)
    return kept, position


@kernel
def _fill(turns: np.uint64, shift: np.uint64, most: np.uint64, words: Words, out: Noise, start: int) -> tuple[int, int]:
    """Proposals with a fair sign, minus zero redrawn, kept or redrawn [CKS20 Alg 3]."""
    position = 0
    for item in range(start, len(out)):
        first = position
        while True:
            part, rounds, position = proposal(turns, words, position)
            if position < 0 or position == len(words):
                return item, first
            negative = words[position] >> np.uint64(63) == np.uint64(1)
            position += 1
            magnitude = magnitude_of(part, rounds, turns, shift, most)
            if negative and magnitude == 0:
                continue
            whole, rest = _distance(part, rounds, turns, shift)
            kept, position = _keeps(whole, rest, turns, words, position)
            if position < 0:
                return item, first
            if kept:
                out[item] = -magnitude if negative else magnitude
                break
    return len(out), position
