"""Integer noise for counts: the discrete Laplace mechanism and the scale it needs.

P(X = k) = (1 - q) / (1 + q) q^|k| with q = e^(-1 / scale). A table whose counts change by ``sensitivity`` in
all between neighbours and gets this noise on every cell is (sensitivity / scale)-DP: see
``proofs/geometric_histogram.md``.

Scales are multiples of 2^-20 up to 2^24: such a number is a 64-bit float without rounding, so OpenDP draws
from the very scale that is priced, and our own kernel fits in 64-bit integers.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.errors import DataError, ParameterError
from understudy.mechanisms.exact_laplace import COUNT_LIMIT, LIMIT, MAX_SCALE, SCALE_BITS, exact_noise
from understudy.mechanisms.stream import Stream
from understudy.privacy.events import Orders, Renyi
from understudy.privacy.guarantees import Neighbours

OPENDP_LIMIT = 64
"""Up to this many cells a secure stream leaves the noise to OpenDP; beyond, our kernel is a hundred times faster."""

_GRID = 1 << SCALE_BITS
_UP = 1.0 + 1e-12  # far above the rounding of the dozen float operations in laplace_renyi


def check_epsilon(epsilon: float) -> None:
    """Refuse an ``epsilon`` that promises nothing or cannot be honoured."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float):
        raise ParameterError(f"`epsilon` is {epsilon!r}; it must be a number above 0. Try 1.0.")
    if not 0 < epsilon < math.inf:
        raise ParameterError(f"`epsilon` is {epsilon}; it must be finite and above 0. Try 1.0.")


def check_delta(delta: float) -> None:
    """Refuse a ``delta`` that is not a probability strictly between 0 and 1."""
    if isinstance(delta, bool) or not isinstance(delta, int | float):
        raise ParameterError(f"`delta` is {delta!r}; it must be a number between 0 and 1. Try 1e-6.")
    if not 0 < delta < 1:
        raise ParameterError(f"`delta` is {delta}; it must lie strictly between 0 and 1. Try 1e-6.")


def check_neighbours(neighbours: Neighbours) -> None:
    """Refuse a relation that is not one of ours; a bare string would be compared by identity and miss."""
    if not isinstance(neighbours, Neighbours):
        raise ParameterError(
            f"`neighbours` is {neighbours!r}; it must be a Neighbours relation. Try Neighbours.ADD_REMOVE."
        )
    if neighbours.unit == "person":
        raise ParameterError(
            f"`neighbours` is {neighbours.value!r}; a mechanism is priced for one record, and the codebook's [unit] "
            "(an id column and a cap) raises that to a person. Use add-remove or replace-one."
        )


def check_scale(scale: Fraction) -> None:
    """Refuse a scale off the grid."""
    if not isinstance(scale, Fraction):
        raise ParameterError(
            f"`scale` is {scale!r}; it must be an exact Fraction. Use scale_for(epsilon, sensitivity)."
        )
    if not 0 < scale <= MAX_SCALE or (scale * _GRID).denominator != 1:
        raise ParameterError(
            f"`scale` is {scale}; it must be a multiple of 1/{_GRID} above 0 and at most {MAX_SCALE}, so "
            "that no rounding separates the noise from its price. Use scale_for(epsilon, sensitivity)."
        )


def count_sensitivity(neighbours: Neighbours) -> int:
    """Most that the counts of one table change in all: one record comes, goes or moves between two cells."""
    check_neighbours(neighbours)
    return {Neighbours.ADD_REMOVE: 1, Neighbours.REPLACE: 2, Neighbours.ORIGIN: 2}[neighbours]


def scale_for(epsilon: float, sensitivity: int) -> Fraction:
    """The smallest scale on the grid whose price, sensitivity / scale, does not exceed ``epsilon``.

    >>> scale_for(1.0, 2), scale_for(0.1, 1)
    (Fraction(2, 1), Fraction(10, 1))
    """
    check_epsilon(epsilon)
    if isinstance(sensitivity, bool) or not isinstance(sensitivity, int) or sensitivity < 1:
        raise ParameterError(f"`sensitivity` is {sensitivity!r}; it must be a whole number of 1 or more. Try 1.")
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


def discrete_laplace(counts: npt.NDArray[np.int64], *, scale: Fraction, stream: Stream) -> npt.NDArray[np.int64]:
    """``counts`` plus independent exact noise, P(X = k) proportional to e^(-|k| / scale), clamped to +-2^41.

    A secure stream and at most ``OPENDP_LIMIT`` counts: OpenDP, with its own randomness from the system.
    Otherwise our kernel, which draws from the same law out of ``stream``.
    """
    check_scale(scale)
    if not isinstance(counts, np.ndarray) or counts.dtype != np.int64:
        raise DataError(f"`counts` is of type {getattr(counts, 'dtype', type(counts).__name__)}; it must be int64.")
    if counts.size and (int(counts.min()) < -COUNT_LIMIT or int(counts.max()) > COUNT_LIMIT):
        raise DataError(f"some count is beyond {COUNT_LIMIT:,}; noise is exact only up to there. Split the data.")
    if stream.is_secure and counts.size <= OPENDP_LIMIT:
        noisy = _by_opendp(counts.ravel(), scale)
    else:
        noisy = exact_noise(counts.size, scale=scale, stream=stream)
        noisy += counts.ravel()
    np.clip(noisy, -LIMIT, LIMIT, out=noisy)
    return noisy.reshape(counts.shape)


def _by_opendp(counts: npt.NDArray[np.int64], scale: Fraction) -> npt.NDArray[np.int64]:
    # not opendp.prelude, which imports scikit-learn: a second for nothing
    from opendp import domains, measurements, metrics, mod

    mod.enable_features("contrib")
    handed = float(scale)
    assert Fraction(handed) == scale  # check_scale has seen to it: at most 44 significant bits
    space = domains.vector_domain(domains.atom_domain(T="i64")), metrics.l1_distance(T="i64")
    return np.array(measurements.make_laplace(*space, scale=handed)(counts.tolist()), dtype=np.int64)


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


def noise_fields(values: dict[str, Any]) -> dict[str, Any]:
    """Fields of a noise event from plain data: "n/d" becomes a Fraction, a word becomes a relation."""
    try:
        read = {**values, "scale": Fraction(values["scale"]), "neighbours": Neighbours(values["neighbours"])}
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise ParameterError(
            f"the noise event {values!r} cannot be read ({error}); it needs a `scale` like '2/1' and a "
            "`neighbours` like 'add-remove'. Take the manifest from its original."
        ) from error
    return read
