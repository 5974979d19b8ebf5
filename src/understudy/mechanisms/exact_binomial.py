"""Exact draws from Binomial(trials, p) for a real number p, however many trials.

A uniform real number U in [0, 1) is revealed bit by bit and compared with integer bounds of the distribution
function; while the comparison is open, more bits are drawn and the bounds are tightened. Nothing is ever
rounded to a nearest number: the draw has the exact law (inverse transform) and ends with probability one.
"""

import itertools
from collections.abc import Callable
from fractions import Fraction

from understudy.mechanisms.stream import Stream

Bounds = Callable[[int], tuple[int, int]]
"""``bounds(bits)`` are integers (low, high) with low <= 2^bits x <= high, ever closer as ``bits`` grows."""

_FIRST_BITS = 128
_MEAN_EACH = 128  # a larger mean is split, so that P(0) = e^-mean is never below 2^-200 or so
_GUARD_BITS = 512  # room for P(0) and for the rounding of a few thousand steps


def _ceil_div(top: int, bottom: int) -> int:
    return -(-top // bottom)


def exp_minus(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers (low, high) with low <= 2^bits e^-x <= high, for x >= 0.

    >>> low, high = exp_minus(Fraction(1), 64)
    >>> high - low <= 2, round(low / 2**64, 12)
    (True, 0.367879441171)
    """
    halvings = max(0, x.numerator.bit_length() - x.denominator.bit_length() + 2)  # x / 2^halvings <= 1/2
    work = bits + 2 * halvings + 32
    unit = 1 << work
    y_low = (x.numerator << work) // (x.denominator << halvings)
    y_high = y_low + 1
    sum_low = sum_high = term_low = term_high = unit
    for index in itertools.count(1):  # the series of e^y: positive terms, each at most half the one before
        term_low = (term_low * y_low >> work) // index
        term_high = _ceil_div(_ceil_div(term_high * y_high, unit), index)
        sum_low += term_low
        sum_high += term_high
        if term_high <= 2:
            break
    sum_high += 4  # all later terms together are below the last one
    low, high = unit * unit // sum_high, min(unit, _ceil_div(unit * unit, sum_low))
    for _ in range(halvings):
        low, high = low * low >> work, _ceil_div(high * high, unit)
    return low >> (work - bits), _ceil_div(high, 1 << (work - bits))


def tail_chance(scale: Fraction, threshold: int) -> Bounds:
    """Bounds of P(X >= threshold) = q^threshold / (1 + q) for discrete Laplace X and threshold >= 0."""

    def bounds(bits: int) -> tuple[int, int]:
        q_low, q_high = exp_minus(1 / scale, bits)
        top_low, top_high = exp_minus(threshold / scale, bits)
        unit = 1 << bits
        return (top_low << bits) // (unit + q_high), _ceil_div(top_high << bits, unit + q_low)

    return bounds


def exact_binomial(trials: int, *, chance: Bounds, stream: Stream) -> int:
    """How many of ``trials`` independent events of probability ``chance`` happen.

    Exact for any chance, quick for one up to about 1/2 (beyond, count the failures).
    """
    if trials <= 0:
        return 0
    low, _ = chance(trials.bit_length() + 8)
    parts = min(trials, 1 + (trials * low >> (trials.bit_length() + 8)) // _MEAN_EACH)
    size, larger = divmod(trials, parts)  # a sum of independent binomials of one chance is binomial
    tables: dict[tuple[int, int], _Distribution] = {}
    total = 0
    for part in range(parts):
        share = size + (part < larger)
        bits = _FIRST_BITS
        uniform = stream.below(1 << bits)
        while True:
            table = tables.get((share, bits)) or tables.setdefault((share, bits), _Distribution(share, chance, bits))
            value = table.locate(uniform)
            if value is not None:
                break
            uniform = uniform << _FIRST_BITS | stream.below(1 << _FIRST_BITS)
            bits += _FIRST_BITS
        total += value
    return total


class _Distribution:
    """Bounds of the distribution function of Binomial(trials, p), extended as far as anybody asked."""

    def __init__(self, trials: int, chance: Bounds, uniform_bits: int) -> None:
        self._trials = trials
        self._uniform_bits = uniform_bits
        self._bits = bits = uniform_bits + trials.bit_length() + _GUARD_BITS
        unit = 1 << bits
        low, high = chance(bits)
        self._yes = max(low, 0), min(high, unit)
        self._no = unit - self._yes[1], unit - self._yes[0]
        self._mass = self._power(trials)
        self._cumulative = [self._mass]

    def _power(self, exponent: int) -> tuple[int, int]:
        """(1 - p)^exponent by repeated squaring, rounded outwards."""
        bits, unit = self._bits, 1 << self._bits
        low = high = unit
        for digit in bin(exponent)[2:]:
            low, high = low * low >> bits, _ceil_div(high * high, unit)
            if digit == "1":
                low, high = low * self._no[0] >> bits, _ceil_div(high * self._no[1], unit)
        return low, high

    def locate(self, uniform: int) -> int | None:
        """k with F(k-1) <= U < F(k) for all U in [uniform, uniform + 1) / 2^uniform_bits; None if open."""
        slack = self._bits - self._uniform_bits
        first, last = uniform << slack, (uniform + 1) << slack
        before = 0  # upper bound of F(k - 1)
        for k in itertools.count():
            if k == self._trials:  # F(trials) = 1: no bound needed
                return k if first >= before else None
            if k == len(self._cumulative) and not self._extend():
                return None
            low, high = self._cumulative[k]
            if last <= low:
                return k if first >= before else None
            before = high
        raise AssertionError("unreachable")  # pragma: no cover

    def _extend(self) -> bool:
        """P(k+1) = P(k) (trials - k) p / ((k + 1)(1 - p)), rounded outwards; False where precision ends."""
        k = len(self._cumulative) - 1
        falling = (self._trials - k) * self._yes[1] < (k + 1) * self._no[0]
        if self._no[0] <= 0 or (falling and self._mass[1] <= 1):
            return False
        low = self._mass[0] * (self._trials - k) * self._yes[0] // ((k + 1) * self._no[1])
        high = _ceil_div(self._mass[1] * (self._trials - k) * self._yes[1], (k + 1) * self._no[0])
        self._mass = low, high
        sums = self._cumulative[-1]
        self._cumulative.append((sums[0] + low, sums[1] + high))
        return True
