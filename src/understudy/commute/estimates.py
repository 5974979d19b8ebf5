"""The best unbiased estimates from noisy counts on the steps of a tree, their variances, and intervals.

Every step of a tree is measured with independent noise of a public variance. Upwards, the estimate of a node joins its
own measurement with the sum of its children; downwards, what the parent knows better is shared out among siblings.
That is least squares, and the variances follow from the shape of the tree alone. Estimates of two nodes of one step
are never positively correlated, so the variance of a sum is at most the sum of the variances.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

COVERED = 0.95
"""What an interval covers."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimates:
    """Unbiased estimates of the nodes of one step, and their variances."""

    values: Floats
    variances: Floats

    def added_up(self, groups: Integers, number: int) -> "Estimates":
        """Sums over groups of nodes; their variances are upper bounds."""
        return Estimates(values=sums_of(self.values, groups, number), variances=sums_of(self.variances, groups, number))


def sums_of(values: Floats, groups: Integers, number: int) -> Floats:
    """The sum of the values of every group."""
    return np.bincount(groups, weights=values, minlength=number).astype(np.float64)


def tree_estimates(
    noisy: Sequence[Floats], variances: Sequence[float], parents: Sequence[Integers], totals: Floats | None = None
) -> list[Estimates]:
    """Least squares over a tree: ``parents`` of each step point into the step before.

    The nodes of the first step point at roots; ``totals`` are the known totals of those, if they are known.
    """
    joined, spread = [noisy[-1]], [np.full(len(noisy[-1]), float(variances[-1]))]
    for step in range(len(noisy) - 2, -1, -1):
        number, own = len(noisy[step]), float(variances[step])
        below = sums_of(spread[0], parents[step + 1], number)
        sums = sums_of(joined[0], parents[step + 1], number)
        both = 1 / (1 / own + 1 / below)
        joined.insert(0, both * (noisy[step] / own + sums / below))
        spread.insert(0, both)
    above = None if totals is None else Estimates(values=totals, variances=np.zeros(len(totals)))
    estimates: list[Estimates] = []
    for parent, values, own_spread in zip(parents, joined, spread, strict=True):
        if above is None:  # nothing is known beyond the first step itself
            above = Estimates(values=values, variances=own_spread)
        else:
            number = len(above.values)
            below = sums_of(own_spread, parent, number)
            gain = own_spread / below[parent]
            missing = (above.values - sums_of(values, parent, number))[parent]
            known = (above.variances - below)[parent]
            above = Estimates(values=values + gain * missing, variances=own_spread + gain**2 * known)
        estimates.append(above)
    return estimates


@cache
def _limits() -> tuple[Floats, Floats, Floats]:
    """For true values from 0 on, in deviations: the ends of the measurements that are likeliest beside the best guess.

    A measurement x is ordered by its density at the true value over its density at max(x, 0), the best value that is
    possible; the likeliest 95 % of them make the region whose inversion is the interval [Feldman, Cousins 1998].
    """
    normal = NormalDist()
    truths = np.concatenate([np.linspace(0, 4, 401), np.linspace(4.05, 12, 160)])
    lows, highs = np.empty(len(truths)), np.empty(len(truths))
    for at, truth in enumerate(truths):
        # the region is [low, high] with equal ratios at its ends; high is found by bisection
        inner, outer = 1e-9, 10.0
        for _ in range(80):
            half = (inner + outer) / 2
            low = truth - half if half <= truth else (truth**2 - half**2) / (2 * truth) if truth else -40.0
            inner, outer = (half, outer) if normal.cdf(half) - normal.cdf(low - truth) < COVERED else (inner, half)
        highs[at], lows[at] = truth + outer, low
    return truths, lows, highs


def intervals(estimates: Floats, deviations: Floats) -> tuple[Floats, Floats]:
    """Bounds of 95 % for counts that cannot be negative, from estimates with Gaussian noise of known deviations.

    They cover every possible count, 0 too, in 95 % of all cases.

    >>> low, high = intervals(np.array([-1.0, 0.0, 5.0]), np.array([1.0, 1.0, 1.0]))
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([0.0, 0.0, 3.04], [1.1, 1.96, 6.96])
    """
    truths, lows, highs = _limits()
    safe = np.maximum(deviations, 1e-300)
    scaled = np.maximum(estimates / safe, lows[1])
    far = scaled > truths[-1] - 3
    centre = NormalDist().inv_cdf((1 + COVERED) / 2)
    high = np.where(far, scaled + centre, np.interp(scaled, lows[1:], truths[1:]))
    low = np.where(far, scaled - centre, np.interp(scaled, highs, truths))
    exact = deviations <= 0
    return np.where(exact, estimates, low * safe), np.where(exact, estimates, high * safe)
