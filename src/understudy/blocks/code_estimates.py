"""Codes from noisy counts over a whole public list: which ones to show, how often, and what falls back to a parent.

Post-processing of counts that were paid for. The counts of all codes are looked at together: how many codes have few
records and how many have many is itself estimated (the nonparametric maximum likelihood estimate of the distribution
that the counts come from [KW56], by EM on a grid [LMVL14]), and each code gets the mean of its posterior. Where several
columns share one list, the sum of the noisy counts in the other columns is a second measurement of the same code, and
the distribution is that of both numbers: how alike the columns are is estimated too, not assumed.

A code is shown where it is likely enough to occur at all. What is expected of the others is not lost: it goes to their
parent, and from a parent that is itself in doubt to the parent above.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
DOUBT = 0.01
"""Share of the records of a column that may be expected under codes which perhaps do not occur."""
_POINTS, _ROUNDS = 24, 150
"""Points of the grid of each of two numbers, and rounds of EM: more of either changes weights less than noise does."""
_FINEST, _SEEN = 8, 4
"""In parts of the noise's deviation: the smallest count on the grid that is not 0; and the count from which on a code
is taken to occur, since less cannot be told from nothing."""


@dataclass(frozen=True, kw_only=True)
class NoisyCounts:
    """Counts of all codes of one column, with noise of a known law."""

    values: Values
    variance: float
    is_laplace: bool = False
    """Of Laplace noise, with counts below 0 set to 0; otherwise normal."""

    @property
    def deviation(self) -> float:
        """Of the noise."""
        return math.sqrt(self.variance)

    def grid(self) -> Values:
        """Counts that are told apart: none, then ever larger steps."""
        least = self.deviation / _FINEST
        most = max(float(self.values.max(initial=0.0)), 4 * self.deviation)
        return np.concatenate([[0.0], np.geomspace(least, most, _POINTS - 1)])

    def likelihood(self, grid: Values) -> Values:
        """Of every code under the counts around every point of the grid, up to a factor of each code."""
        spread = self.variance + _widths(grid) ** 2
        away = self.values[:, np.newaxis] - grid
        log = -(away**2) / (2 * spread) - np.log(2 * math.pi * spread) / 2
        if self.is_laplace:
            scale = self.deviation / math.sqrt(2)
            narrow = _widths(grid) <= self.deviation / 2  # where the law of the noise still shows
            log[:, narrow] = (-np.abs(away) / scale - math.log(2 * scale))[:, narrow]
            log[self.values <= 0] = -grid / scale  # at most 0 was measured
        return np.asarray(np.exp(log - log.max(axis=1, keepdims=True)))

    def means(self, grid: Values) -> Values:
        """Of every code its mean, given that its count lies around a point of the grid."""
        held = _widths(grid) ** 2 / (_widths(grid) ** 2 + self.variance)
        return np.asarray(np.maximum(grid + held * (self.values[:, np.newaxis] - grid), 0))


def _widths(grid: Values) -> Values:
    """How far around a point counts count as its own: between steps that are wide beside noise, nothing is rounded."""
    widths = np.concatenate([[0.0], np.diff(grid)]) / 2
    widths[1] = 0.0
    return widths


@dataclass(frozen=True, kw_only=True)
class CodeEstimate:
    """What is known of every code of a column."""

    expected: Values
    """Records, as the mean of the posterior."""
    occurs: Values
    """Probability that the code occurs more than noise hides."""


def estimated(own: NoisyCounts, others: Sequence[NoisyCounts] = ()) -> CodeEstimate:
    """The codes of one column, with what other columns that share the list say about them."""
    grid = own.grid()
    likely = own.likelihood(grid)
    if others:
        # several Laplace noises add up to nearly normal noise; only its spread matters here
        values = np.sum([other.values for other in others], axis=0)
        beside = NoisyCounts(values=values, variance=math.fsum(other.variance for other in others))
        also = beside.likelihood(beside.grid())
    else:
        also = np.ones((len(own.values), 1))
    shares = np.full((len(grid), also.shape[1]), 1 / (len(grid) * also.shape[1]))
    for _ in range(_ROUNDS):
        total = np.sum((likely @ shares) * also, axis=1)
        shares *= likely.T @ (also / total[:, np.newaxis]) / len(total)
    posterior = likely * (also @ shares.T)
    posterior /= posterior.sum(axis=1, keepdims=True)
    return CodeEstimate(
        expected=(posterior * own.means(grid)).sum(axis=1),
        occurs=posterior[:, grid >= own.deviation / _SEEN].sum(axis=1),
    )


def with_fallback(
    estimate: CodeEstimate, chains: Sequence[Sequence[int]], *, size: int, doubt: float = DOUBT
) -> Values:
    """Weights of codes and of their parents: those of codes in doubt go to the nearest parent that is not.

    ``chains`` has for each code its own place and those of its parents, the nearest first; of ``size`` places in all.
    The coarsest parent takes whatever arrives there.
    """
    weights = np.zeros(size)
    left, occurs = estimate.expected.copy(), estimate.occurs.copy()
    allowed = doubt * float(left.sum())
    for step in range(max(map(len, chains), default=1)):
        is_last = np.array([step >= len(chain) - 1 for chain in chains])
        at = np.array([chain[min(step, len(chain) - 1)] for chain in chains], dtype=np.int64)
        places, which = np.unique(at, return_inverse=True)
        mass = np.bincount(which, left, len(places)).astype(np.float64)
        # a parent occurs where one of its codes does
        chance = 1 - np.exp(np.bincount(which, np.log1p(-np.minimum(occurs, 1 - 1e-12)), len(places)))
        shown = _within(mass, chance, allowed)
        kept = shown[which] | is_last
        np.add.at(weights, at[kept], left[kept])
        left[kept] = 0.0
        if kept.all():
            break
    return weights


def _within(mass: Values, chance: Values, allowed: float) -> Bools:
    """The surest, as many as are together expected to have no more than what is allowed in doubt."""
    order = np.argsort(-chance, kind="stable")
    shown = np.zeros(len(mass), dtype=bool)
    shown[order[np.cumsum((mass * (1 - chance))[order]) <= allowed]] = True
    return shown
