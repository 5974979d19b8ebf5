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


def together(first: Estimates, second: Estimates) -> Estimates:
    """The best of two independent unbiased estimates of the same numbers."""
    both = first.variances + second.variances
    gain = np.divide(first.variances, both, out=np.zeros(len(both)), where=both > 0)
    return Estimates(values=first.values + gain * (second.values - first.values), variances=gain * second.variances)


def sums_of(values: Floats, groups: Integers, number: int) -> Floats:
    """The sum of the values of every group."""
    return np.bincount(groups, weights=values, minlength=number).astype(np.float64)


def tree_estimates(
    noisy: Sequence[Floats], variances: Sequence[float], parents: Sequence[Integers], totals: Floats | None = None
) -> list[Estimates]:
    """Least squares over a tree: ``parents`` of each step point into the step before.

    The nodes of the first step point at roots; ``totals`` are the known totals of those, if they are known.
    """
    joined = upwards(noisy, variances, parents)
    if totals is not None:
        return downwards(joined, parents, Estimates(values=totals, variances=np.zeros(len(totals))))
    # nothing is known beyond the first step itself
    return [joined[0], *downwards(joined[1:], parents[1:], joined[0])]


def upwards(noisy: Sequence[Floats], variances: Sequence[float], parents: Sequence[Integers]) -> list[Estimates]:
    """What every node and the nodes below it know of it."""
    joined = [Estimates(values=noisy[-1], variances=np.full(len(noisy[-1]), float(variances[-1])))]
    for step in range(len(noisy) - 2, -1, -1):
        number = len(noisy[step])
        own = Estimates(values=noisy[step], variances=np.full(number, float(variances[step])))
        joined.insert(0, together(own, joined[0].added_up(parents[step + 1], number)))
    return joined


def downwards(joined: Sequence[Estimates], parents: Sequence[Integers], above: Estimates) -> list[Estimates]:
    """What every node knows once all that is known ``above`` is shared out among siblings."""
    estimates = []
    for parent, own in zip(parents, joined, strict=True):
        below = own.added_up(parent, len(above.values))
        gain = own.variances / below.variances[parent]
        missing, known = above.values - below.values, above.variances - below.variances
        variances = np.maximum(own.variances + gain**2 * known[parent], 0.0)  # floats may fall below
        above = Estimates(values=own.values + gain * missing[parent], variances=variances)
        estimates.append(above)
    return estimates


def row_variances(variances: Sequence[float], homes: Sequence[Integers], work: Sequence[Integers]) -> list[Floats]:
    """Of the sums over all columns of :func:`tree_estimates` of pairs, row by row, for every step.

    ``homes`` and ``work`` are the parents of rows and of columns; the totals of the first columns are known. Inside a
    pair of coarser units, what a row has beyond its share of the pair is independent of what is known of the pair. So
    the variance of a weighted sum of a row is that of the parts beyond their shares, and that of a weighted sum of the
    coarser row.
    """
    spread = _own_spread(variances, homes, work)
    found = []
    for finest in range(len(variances)):
        rows, weights = np.arange(len(homes[finest])), np.ones((len(homes[finest]), len(work[finest])))
        variance = np.zeros(len(rows))
        for step in range(finest, -1, -1):
            own = spread[step]
            parent = homes[step] if step else np.zeros(len(homes[0]), dtype=np.int64)
            across = work[step] if step else np.arange(len(work[0]))
            number = int(across.max()) + 1
            # all that a pair of coarser units knows by itself, and the part of it in every row
            inside = np.zeros((int(parent.max()) + 1, number))
            np.add.at(inside, parent, _by_column(own, across, number))
            weighted = weights * own[rows]
            moved = _by_column(weighted, across, number)
            below = inside[parent[rows]]
            variance += (weights * weighted).sum(axis=1) - (moved**2 / below).sum(axis=1)
            rows, weights = parent[rows], moved / below
        found.append(np.maximum(variance, 0.0))  # floats may fall below
    return found


def _own_spread(variances: Sequence[float], homes: Sequence[Integers], work: Sequence[Integers]) -> list[Floats]:
    """Variances of what every pair and its parts know of it, step by step."""
    spread = [np.full((len(homes[-1]), len(work[-1])), float(variances[-1]))]
    for step in range(len(variances) - 2, -1, -1):
        below = np.zeros((len(homes[step]), len(work[step])))
        np.add.at(below, homes[step + 1], _by_column(spread[0], work[step + 1], len(work[step])))
        spread.insert(0, 1 / (1 / float(variances[step]) + 1 / below))
    return spread


def _by_column(table: Floats, groups: Integers, number: int) -> Floats:
    """Sums over groups of columns."""
    added = np.zeros((number, len(table)))
    np.add.at(added, groups, table.T)
    return added.T


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
