"""Expected L1 error of the stability-based histogram (sbhg.txt Proposition 2.1, corrected: PRIVACY section 6)."""

import math

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]


def paper_threshold(epsilon: float, delta: float) -> float:
    """Algorithm 1, line 3: 1 + (2/epsilon) ln(2/delta). Valid, and higher than it need be."""
    return 1 + 2 / epsilon * math.log(2 / delta)


def expected_l1(counts: Counts, *, epsilon: float, threshold: float) -> float:
    """Proposition 2.1 as it should read: b = 2/epsilon, and the noise of a cell that survives is not typical noise.

    A cell c below the threshold (a = t - c >= 0) survives with p = exp(-a/b)/2 and then errs by a + b on average.

    >>> round(expected_l1(np.array([30]), epsilon=0.5, threshold=paper_threshold(0.5, 1e-4)), 4)
    29.4584
    """
    b = 2 / epsilon
    gap = threshold - counts
    tail = np.exp(-np.abs(gap) / b) / 2
    below = counts * (1 - tail) + tail * (gap + b)
    above = counts * tail + b - tail * (np.abs(gap) + b)
    return float(np.where(gap >= 0, below, above).sum())


def expected_l1_with_typical_noise(counts: Counts, *, epsilon: float, threshold: float) -> float:
    """The paper's formula with only its p put right; it still charges a survivor with 2/epsilon.

    >>> round(expected_l1_with_typical_noise(np.array([30]), epsilon=0.5, threshold=paper_threshold(0.5, 1e-4)), 3)
    29.085
    """
    b = 2 / epsilon
    gap = threshold - counts
    tail = np.exp(-np.abs(gap) / b) / 2
    survives = np.where(gap >= 0, tail, 1 - tail)
    return float((counts * (1 - survives) + b * survives).sum())


def expected_l1_discrete(counts: Counts, *, scale: float, threshold: int) -> float:
    """The same for what the software releases: discrete Laplace noise, shown iff the noisy count is >= T.

    P(X >= a) = q^a / (1 + q) and E[X; X >= a] = q^a (a + q/(1 - q)) / (1 + q) for a >= 1, with q = e^(-1/scale).
    """
    q = math.exp(-1 / scale)
    gap = threshold - counts
    first = np.where(gap >= 1, gap, 1 - gap).astype(float)  # the tail, on the side where it starts at 1 or later
    tail = q**first / (1 + q)
    moment = tail * (first + q / (1 - q))
    below = counts * (1 - tail) + moment
    above = counts * tail + 2 * q / (1 - q * q) - moment
    return float(np.where(gap >= 1, below, above).sum())
