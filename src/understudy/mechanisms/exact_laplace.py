"""Compiled kernel for exact discrete Laplace and geometric draws [CKS20 Alg 1 and 2].

Only integers are drawn and compared: every probability is the real number e^(-|k| s/t), no float's accident.

Why 64 bits are enough, for t <= 2^44 and s = 2^shift with shift <= 20:

- uniform draws have bounds t, t K and K; t K is used only while K <= 2^19, so it stays below 2^64; after that
  Bernoulli(U / (t K)) is drawn as the conjunction of Bernoulli(U / t) and Bernoulli(1 / K);
- U + t V is formed only for V <= ceil(SATURATED s / t), so it is below 2 t + SATURATED s < 2^63.

A magnitude beyond SATURATED = LIMIT + COUNT_LIMIT is released as SATURATED. Counts lie within
+-COUNT_LIMIT and callers clamp count + noise to +-LIMIT, so such a draw ends at the clamp whatever its size.
What comes out is exactly clamp(count + exact noise), a post-processing of the mechanism that is proved.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from understudy.compiled import kernel
from understudy.mechanisms.stream import Stream, Words, below

SCALE_BITS = 20
"""Scales are multiples of 2^-SCALE_BITS."""
MAX_SCALE = 1 << 24
"""Largest scale that the kernel takes."""
COUNT_LIMIT = 1 << 40
"""Largest count that may be noised: a million million records."""
LIMIT = 1 << 41
"""Noisy counts are clamped to +-LIMIT."""

SATURATED = LIMIT + COUNT_LIMIT
_SATURATED_MAGNITUDE = np.int64(SATURATED)
_FACTOR_LIMIT = np.uint64(1 << 19)  # t K < 2^44 2^19 < 2^64
_WORDS_EACH = 10  # what one draw uses on average, about; more are fetched when they run out
Noise = npt.NDArray[np.int64]


def exact_noise(size: int, *, scale: Fraction, stream: Stream) -> Noise:
    """``size`` independent draws with P(X = k) proportional to e^(-|k| / scale)."""
    return _draw(size, scale, stream, two_sided=True)


def exact_geometric(size: int, *, scale: Fraction, stream: Stream) -> Noise:
    """``size`` independent draws with P(Y = k) = (1 - q) q^k on 0, 1, 2, ..., where q = e^(-1 / scale)."""
    return _draw(size, scale, stream, two_sided=False)


def kernel_scale(scale: Fraction) -> tuple[np.uint64, np.uint64, np.uint64]:
    """(turns, shift, most): the scale as turns / 2^shift, and how many turns are counted before a draw is saturated."""
    top, bottom = scale.numerator, scale.denominator
    # The proof of 64-bit safety above needs exactly this; callers have validated it with a sentence.
    assert 0 < scale <= MAX_SCALE and bottom & (bottom - 1) == 0 and bottom <= 1 << SCALE_BITS
    return np.uint64(top), np.uint64(bottom.bit_length() - 1), np.uint64(-(-SATURATED * bottom // top))


def _draw(size: int, scale: Fraction, stream: Stream, *, two_sided: bool) -> Noise:
    out = np.empty(size, dtype=np.int64)
    numbers = kernel_scale(scale)
    stream.run(
        lambda words, start: _fill(*numbers, two_sided, words, out, start),
        size,
        words_each=_WORDS_EACH,
    )
    return out


@kernel
def exp_minus(part: np.uint64, whole: np.uint64, words: Words, position: int) -> tuple[bool, int]:
    """Bernoulli(e^(-part/whole)), part <= whole: first k whose Bernoulli(part/whole/k) fails is odd."""
    run = np.uint64(1)
    while True:
        if run <= _FACTOR_LIMIT:
            value, position = below(whole * run, words, position)
            again = value < part
        else:
            value, position = below(whole, words, position)
            again = value < part
            if position >= 0:
                value, position = below(run, words, position)
                again = again and value == np.uint64(0)
        if position < 0:
            return False, -1
        if not again:
            return run & np.uint64(1) == np.uint64(1), position
        run += np.uint64(1)


@kernel
def exp_minus_one(words: Words, position: int) -> tuple[bool, int]:
    """Bernoulli(1/e): as above with part = whole, whose first trial always succeeds."""
    run = np.uint64(2)
    while True:
        value, position = below(run, words, position)
        if position < 0:
            return False, -1
        if value != np.uint64(0):
            return run & np.uint64(1) == np.uint64(1), position
        run += np.uint64(1)


@kernel
def proposal(turns: np.uint64, words: Words, position: int) -> tuple[np.uint64, np.uint64, int]:
    """U and V of one magnitude (U + turns V) >> shift [CKS20 Alg 2]; position -1 when the words run out."""
    part = np.uint64(0)
    kept = turns == np.uint64(1)
    while not kept:
        part, position = below(turns, words, position)
        if position < 0:
            return part, part, -1
        kept, position = exp_minus(part, turns, words, position)
        if position < 0:
            return part, part, -1
    rounds = np.uint64(0)
    more = True
    while more:
        more, position = exp_minus_one(words, position)
        if more:
            rounds += np.uint64(1)
    return part, rounds, position


@kernel
def magnitude_of(part: np.uint64, rounds: np.uint64, turns: np.uint64, shift: np.uint64, most: np.uint64) -> np.int64:
    """(U + turns V) >> shift, or SATURATED where that many turns end at the clamp anyway."""
    return np.int64((part + turns * rounds) >> shift) if rounds <= most else _SATURATED_MAGNITUDE


@kernel
def _fill(
    turns: np.uint64, shift: np.uint64, most: np.uint64, two_sided: bool, words: Words, out: Noise, start: int
) -> tuple[int, int]:
    """CKS20 Alg 2 with scale turns / 2^shift: a magnitude and a fair sign, minus zero redrawn."""
    position = 0
    for item in range(start, len(out)):
        first = position
        while True:
            part, rounds, position = proposal(turns, words, position)
            if position < 0:
                return item, first
            magnitude = magnitude_of(part, rounds, turns, shift, most)
            if not two_sided:
                out[item] = magnitude
                break
            if position == len(words):
                return item, first
            negative = words[position] >> np.uint64(63) == np.uint64(1)
            position += 1
            if negative and magnitude == 0:
                continue
            out[item] = -magnitude if negative else magnitude
            break
    return len(out), position
