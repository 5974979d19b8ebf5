"""Integer noise for counts: the discrete Laplace mechanism and the scale it needs.

P(X = k) = (1 - q) / (1 + q) q^|k| with q = e^(-1 / scale). A table whose counts change by ``sensitivity`` in
all between neighbours and gets this noise on every cell is (sensitivity / scale)-DP: see
``proofs/geometric_histogram.md``.

Scales are multiples of 2^-20 up to 2^24, so that the kernel, which draws from the very scale that is priced, fits in
64-bit integers.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from understudy.errors import DataError, ParameterError
from understudy.mechanisms.exact_laplace import COUNT_LIMIT, LIMIT, MAX_SCALE, SCALE_BITS, Noise, exact_noise
from understudy.mechanisms.stream import Stream
from understudy.parameters import EPSILON, Text, Whole
from understudy.privacy.events import Orders, Renyi
from understudy.privacy.guarantees import Neighbours, PureDP

_GRID = 1 << SCALE_BITS
_UP = 1.0 + 1e-12  # far above the rounding of the dozen float operations in laplace_renyi

RELATION = Text(
    words="a Neighbours relation of one record, which the [unit] of the codebook (an id column and a cap) raises to a "
    "person",
    example="Neighbours.ADD_REMOVE",
    admitted=lambda value: isinstance(value, Neighbours) and value.unit != "person",
)
"""A bare word is refused: it would be compared by identity and miss."""
ADD_REMOVE = Text(
    words="Neighbours.ADD_REMOVE, the only relation that this is proved for",
    example="Neighbours.ADD_REMOVE",
    admitted=lambda value: value is Neighbours.ADD_REMOVE,
)
SCALE = Text(
    words=f"an exact Fraction, a multiple of 1/{_GRID:,} above 0 and at most {MAX_SCALE:,}, so that no rounding "
    "separates the noise from its price",
    example="scale_for(epsilon, sensitivity)",
    admitted=lambda value: isinstance(value, Fraction) and 0 < value <= MAX_SCALE and (value * _GRID).denominator == 1,
)


def count_sensitivity(neighbours: Neighbours) -> int:
    """Most that the counts of one table change in all: one record comes, goes or moves between two cells."""
    RELATION.check("neighbours", neighbours)
    return {Neighbours.ADD_REMOVE: 1, Neighbours.REPLACE: 2, Neighbours.ORIGIN: 2}[neighbours]


def scale_for(epsilon: float, sensitivity: int) -> Fraction:
    """The smallest scale on the grid whose price, sensitivity / scale, does not exceed ``epsilon``.

    >>> scale_for(1.0, 2), scale_for(0.1, 1)
    (Fraction(2, 1), Fraction(10, 1))
    """
    EPSILON.check("epsilon", epsilon)
    Whole().check("sensitivity", sensitivity)
    scale = Fraction(math.ceil(sensitivity / Fraction(epsilon) * _GRID), _GRID)
    if scale > MAX_SCALE:
        raise ParameterError(
            f"`epsilon` is {epsilon}; below {float_above(Fraction(sensitivity, MAX_SCALE))} the noise on one "
            f"count would exceed {MAX_SCALE:,} records. Use a larger epsilon, or fewer tables."
        )
    return scale


def float_above(value: Fraction) -> float:
    """The smallest float that is not below ``value``; a printed price is never under the true one."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def discrete_laplace(counts: Noise, *, scale: Fraction, stream: Stream) -> Noise:
    """``counts`` plus independent exact noise, P(X = k) proportional to e^(-|k| / scale), clamped to +-2^41."""
    SCALE.check("scale", scale)
    return clamped_sum(counts, lambda size: exact_noise(size, scale=scale, stream=stream))


def clamped_sum(counts: Noise, draw: Callable[[int], Noise]) -> Noise:
    """``counts`` plus as many draws, clamped to +-2^41; counts for which the kernels are not exact are refused."""
    if not isinstance(counts, np.ndarray) or counts.dtype != np.int64:
        raise DataError(f"`counts` is of type {getattr(counts, 'dtype', type(counts).__name__)}; it must be int64.")
    if counts.size and (int(counts.min()) < -COUNT_LIMIT or int(counts.max()) > COUNT_LIMIT):
        raise DataError(f"some count is beyond {COUNT_LIMIT:,}; noise is exact only up to there. Split the data.")
    noisy = draw(counts.size)
    noisy += counts.ravel()
    return np.clip(noisy, -LIMIT, LIMIT, out=noisy).reshape(counts.shape)


def pure_claim(moved: int, *, scale: Fraction, neighbours: Neighbours) -> PureDP:
    """What Laplace noise promises where one record moves the counts by ``moved`` in all: moved / scale, rounded up."""
    return PureDP(epsilon=float_above(moved / scale), neighbours=neighbours)


def pure_renyi(orders: Orders, epsilon: float) -> Renyi:
    """What every epsilon-DP release has: at most order epsilon^2 / 2 [BS16 Prop 3.3], rounded up, and epsilon."""
    return np.minimum(np.asarray(orders, dtype=np.float64) * (epsilon**2 / 2 * _UP), epsilon)


def laplace_renyi(orders: Orders, *, scale: Fraction, neighbours: Neighbours) -> Renyi:
    """Renyi divergence of the discrete Laplace histogram, exact for the worst neighbours.

    Shifting one count by 1 gives the log-ratio +1/scale with probability 1/(1+q) and -1/scale otherwise,
    whatever the count: randomised response at h = 1/scale. With a = order - 1 its divergence is
    ln((e^(a h) + e^(-(a+1) h)) / (1 + q)) / a, and a moved record shifts two independent cells. It is below
    both epsilon and order epsilon^2 / 2 [BS16 Prop 3.3]; these two only guard against rounding.
    """
    step = float_above(1 / scale)
    cells = count_sensitivity(neighbours)
    above = np.asarray(orders, dtype=np.float64) - 1.0
    q = math.exp(-step)
    small = np.minimum(above * step, 500.0)
    # (e^x + q e^-x) / (1 + q) - 1 = (e^x - 1)(1 - q e^-x) / (1 + q), without cancellation
    near = np.log1p(np.expm1(small) * -np.expm1(-small - step) / (1 + q))
    far = above * step + np.log1p(np.exp(-2 * np.minimum(above * step, 1e3) - step)) - math.log1p(q)
    exact = np.where(above * step < 500.0, near, far) / above * (cells * _UP)
    epsilon = float_above(cells / scale)
    return np.minimum(exact, np.minimum(epsilon, (above + 1.0) * epsilon**2 / 2))


def half_width(scale: Fraction | float, *, miss: float) -> int:
    """The smallest w with P(abs(noise) > w) at most ``miss``: 2 q^(w + 1) / (1 + q).

    >>> half_width(Fraction(10), miss=0.05)
    30
    """
    rate = float(1 / scale)
    wanted = math.log(miss / 2) + math.log1p(math.exp(-rate))
    return max(0, math.ceil(-wanted / rate - 1e-9) - 1)


def laplace_deviation(scale: Fraction) -> float:
    """Standard deviation of the noise: sqrt(2 q) / (1 - q)."""
    h = float(1 / scale)
    return math.sqrt(2 * math.exp(-h)) / -math.expm1(-h)
