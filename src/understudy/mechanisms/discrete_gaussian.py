"""Integer noise for many tables at once: the discrete Gaussian, its tail, and what one record does under it.

P(X = k) is proportional to e^(-k^2 / (2 variance)) [CKS20]. The variance is the square of a multiple of 2^-20, so
that the kernel, which draws from the very deviation that is priced, fits in 64-bit integers.

The two bounds here are sums of positive floats with relative errors of some 1e-12 (arguments of exp below 800, each
product and exp within a few units of 2^-53), raised by a relative 1e-10. See ``proofs/gaussian_stability.md``.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from understudy.mechanisms.discrete_laplace import clamped_sum
from understudy.mechanisms.exact_gaussian import exact_gaussian
from understudy.mechanisms.exact_laplace import SCALE_BITS, Noise
from understudy.mechanisms.stream import Stream
from understudy.parameters import Number, Text

MIN_DEVIATION = Fraction(1, 2)
"""Less noise than this hides no record, and the bounds below would be loose."""
MAX_DEVIATION = 1 << 14
"""More noise than this on one count leaves nothing useful."""

_GRID = 1 << SCALE_BITS
_UP = 1.0 + 1e-10
_SMALL = 60.0  # e^-60: where a sum is cut off; what is left out is added as a bound
_UNDERFLOW = 745.0  # e^-745 is the smallest float
_ERFC_ENDS = 26.0  # erfc(26) is about 1e-296; beyond, floats lose their last digits
_LONG = 1 << 26
"""Variance of a sum of noises from which its law is bounded by a Gaussian one instead of being added up."""
_AT_ONCE = 1 << 24
"""Noises whose factors are laid out one by one."""
LEAST_DELTA = 1e-40
"""From here on what the rounding of noise tells is far below: smaller deltas are not proved by a smooth law."""
LEAST_VARIANCE, SPREAD = 1024, 8
"""From this variance on, noise of variance v is Gaussian noise of variance v - 8 rounded at random, within 1e-67."""


def _root(variance: Fraction) -> Fraction:
    return Fraction(math.isqrt(variance.numerator), math.isqrt(variance.denominator))


def _is_on_grid(variance: Any) -> bool:
    if not isinstance(variance, Fraction) or variance <= 0:
        return False
    deviation = _root(variance)
    is_multiple = deviation**2 == variance and (deviation * _GRID).denominator == 1
    return is_multiple and MIN_DEVIATION <= deviation <= MAX_DEVIATION


DEVIATION = Number(least=float(MIN_DEVIATION), most=MAX_DEVIATION, tried=10.0)
VARIANCE = Text(
    words=f"an exact Fraction, the square of a multiple of 1/{_GRID:,} from {MIN_DEVIATION} to {MAX_DEVIATION:,}, so "
    "that no rounding separates the noise from its price",
    example="variance_for(deviation)",
    admitted=_is_on_grid,
)


def deviation_of(variance: Fraction) -> Fraction:
    """The square root of a variance on the grid; any other is refused."""
    return _root(VARIANCE.check("variance", variance))


def variance_for(deviation: float) -> Fraction:
    """The square of the smallest deviation on the grid that is not below ``deviation``.

    >>> variance_for(13.5)
    Fraction(729, 4)
    """
    DEVIATION.check("deviation", deviation)
    return Fraction(math.ceil(Fraction(deviation) * _GRID), _GRID) ** 2


def discrete_gaussian(counts: Noise, *, variance: Fraction, stream: Stream) -> Noise:
    """``counts`` plus independent exact noise, P(X = k) proportional to e^(-k^2 / (2 variance)), clamped to +-2^41."""
    deviation = deviation_of(variance)
    return clamped_sum(counts, lambda size: exact_gaussian(size, deviation=deviation, stream=stream))


def first_fit(fits: Callable[[int], bool], low: int, high: int) -> int:
    """Bisection: ``fits`` fails at ``low`` and holds at ``high``; where it begins to hold."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def gaussian_tail(variance: Fraction, t: int) -> float:
    """P(X >= t), rounded up.

    >>> round(gaussian_tail(Fraction(1), 0), 9)  # half of 1 + P(X = 0)
    0.699471139
    """
    deviation_of(variance)
    if t <= 0:  # P(X >= t) = 1 - P(X >= 1 - t), by symmetry
        return min(1.0, (1.0 - gaussian_tail(variance, 1 - t) / _UP**2) * _UP)
    return min(1.0, _upper_sum(variance, t, None, 1.0))


def gaussian_delta(variance: Fraction, cells: int, epsilon: Fraction) -> float:
    """The delta at ``epsilon`` of noise on ``cells`` counts, each of which changes by 1; rounded up.

    The privacy loss is (cells + 2 Z) / (2 variance), Z the sum of ``cells`` independent noises, so that
    delta = E[(1 - e^(-(Z - a) / variance))^+] with a = epsilon variance - cells / 2 [CKS20 Thm 7]. The law of Z is that
    of one discrete Gaussian of variance ``cells variance`` up to the factor of :func:`_excess`, within about 1e-8 of 1
    from variance 2 on.
    """
    deviation_of(variance)
    if cells == 0:
        return 0.0
    if variance >= LEAST_VARIANCE and cells * variance > _LONG:
        near = smooth_delta(cells / (variance - SPREAD), epsilon)
        return near if near >= LEAST_DELTA else min(LEAST_DELTA, _concentrated_delta(cells / (2 * variance), epsilon))
    start = epsilon * variance - Fraction(cells, 2)
    first = math.floor(start) + 1
    ramp = float(first - start), float(variance)
    excess = _excess(float(variance), cells)
    if math.isinf(excess):  # too many counts under too little noise for this bound; 1 is always true
        return 1.0
    return min(1.0, _upper_sum(cells * variance, first, ramp, excess))


def smooth_delta(squared: Fraction, epsilon: Fraction) -> float:
    """The delta at ``epsilon`` of Gaussian noise where a record moves the mean by this squared length; rounded up.

    Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) [BW18 Thm 8], mu^2 the squared length in variances.
    """
    mu, bound = math.sqrt(squared), float(epsilon)
    near, far = (bound / mu - mu / 2) / math.sqrt(2), (bound / mu + mu / 2) / math.sqrt(2)
    first = math.erfc(min(near, _ERFC_ENDS))
    second = math.exp(bound + math.log(math.erfc(far))) if far < _ERFC_ENDS else 0.0
    # exponents below 800 in floats: each term is within a relative 1e-12
    return min(1.0, 0.5 * (max(first - second, 0.0) + 4e-12 * first) * _UP)


def _concentrated_delta(rho: Fraction, epsilon: Fraction) -> float:
    """The delta at ``epsilon`` that rho-zCDP proves, e^(-(epsilon - rho)^2 / (4 rho)) [BS16 Prop 1.3]; rounded up."""
    if epsilon <= rho:
        return 1.0
    exponent = float((epsilon - rho) ** 2 / (4 * rho))
    return math.exp(-exponent * (1 - 1e-12)) * _UP + math.ulp(0.0)


def _excess(variance: float, cells: int) -> float:
    """How much likelier a value of the sum of ``cells`` noises is than under one of their joint variance, at most.

    Adding a noise to the sum of j others multiplies the density by a theta function of variance v = variance j / (j+1),
    within 1 +- 2 (x + x^4 + x^9 + ...) of its mean, x = e^(-2 pi^2 v); numerator and normaliser each contribute once.
    """
    others = np.arange(1.0, min(cells, _AT_ONCE))
    x = np.exp(-2 * math.pi**2 * variance * others / (others + 1))
    wave = 2 * x / (1 - x**3)  # x + x^4 + x^9 + ... <= x + x^4 + x^7 + ...
    each = np.log1p(wave) - np.log1p(-wave)
    exponent = float(each.sum())
    if cells > _AT_ONCE:  # they fall, so that the last bounds those that are not laid out
        exponent += (cells - _AT_ONCE) * float(each[-1])
    return math.exp(exponent) if exponent < _UNDERFLOW / 2 else math.inf


def _upper_sum(variance: Fraction, first: int, ramp: tuple[float, float] | None, factor: float) -> float:
    """``factor`` times the sum over z >= first of P(X = z) g(z), from above, X of any variance of 1/4 or more.

    g = 1 without a ramp, and 1 - e^(-(z - first + offset) / slope) for the ramp (offset, slope).
    """
    spread = 2 * float(variance)
    peak = max(first, 0)
    base = float(peak**2 / (2 * variance))
    if base > _UNDERFLOW:  # P(X >= t) <= e^(-t^2 / (2 variance)): (t + j)^2 >= t^2 + j^2
        return math.ulp(0.0) * math.ceil(factor)
    end = math.isqrt(peak**2 + math.ceil(_SMALL * spread)) + 1
    start = max(first, -end)
    values = np.arange(start, end, dtype=np.int64)
    weights = np.exp((peak**2 - values**2) / spread)
    if ramp is not None:
        offset, slope = ramp
        weights *= -np.expm1(-((values - first) + offset) / slope)
    # From `end` on, and below -end if first is: ratios of neighbours fall, so a geometric series bounds the rest.
    rest = math.exp((peak**2 - end**2) / spread) / -math.expm1(-(2 * end + 1) / spread)
    total = float(weights.sum()) + 2 * rest
    return math.exp(math.log(total * factor * _UP / _normaliser(variance)) - base) + math.ulp(0.0)


def _normaliser(variance: Fraction) -> float:
    """The sum of e^(-z^2 / (2 variance)) over all z, by Poisson summation; what is left out is below 1e-33."""
    v = float(variance)
    waves = sum(math.exp(-2 * math.pi**2 * v * n * n) for n in (1, 2, 3))
    return math.sqrt(2 * math.pi * v) * (1 + 2 * waves)
