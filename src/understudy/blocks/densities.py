"""How numbers lie inside their bins: a smooth density from counts of the bins, and of their pieces where known.

After the penalised composite link model (Rizzi, Gampe and Eilers 2015). The logarithm of the density is piecewise
constant on the pieces of all bins (:attr:`Number.cuts`), in a coordinate that is even near 0 and logarithmic far from
it, on both sides. Its second differences have a Student prior: a straight line is a Pareto tail, and single jumps
(where values begin, or where a bin holds something else than its neighbours) are not smoothed away. How smooth it is
follows from the evidence. What comes in is public, paid for or drawn already, so this is post-processing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from understudy.codebook import Number
from understudy.mechanisms.gaussian_measurements import MOST_COPIES, Meter
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable

Values = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
_FREEDOM = 2.0
"""Degrees of freedom of the prior: few, so that a jump costs little more than a bend."""
_STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""Of smoothing, in units of the coordinate: the one with the most evidence is taken."""
_SHARE, _MOST = 0.03, 0.15
"""Of a budget: for the pieces of one number, and for those of all numbers together."""
_ROUNDS, _LONGEST_STEP, _ENOUGH = 60, 3.0, 1e-5
_PARTS = 1 << 30
"""The weights of the pieces of a bin add up to about so much."""


def inside_bins(column: Number, bins: Values) -> Whole:
    """Whole weights of the pieces of every bin, from counts of the bins alone."""
    grid = _Grid(column, measured=False)
    expected = _density(grid, bins)
    return grid.weights(expected, expected)


def _density(
    grid: "_Grid", bins: Values, noise: float = 0.0, pieces: Values | None = None, piece_noise: float = 0.0
) -> Values:
    """Expected counts of all pieces; ``noise`` and ``piece_noise`` are variances."""
    # beside its noise, a count differs from what a density expects by as much as a Poisson count does
    rows, counts, spread = grid.bins, np.maximum(bins, 0.0), np.maximum(bins, 0.0) + noise + 1
    if pieces is not None:
        rows, counts = np.vstack([rows, np.eye(len(pieces))]), np.append(bins, pieces)
        # the pieces say how far a bin is from the density: it need not differ from them
        spread = np.append(np.full(len(bins), noise + 1), np.maximum(pieces, 0.0) + piece_noise + 1)
    fits = [_fitted(grid, rows, counts, spread, strength) for strength in _STRENGTHS]
    return max(fits, key=lambda fit: fit[1])[0]


def _through_noise(expected: Values, noisy: Values, noise: float) -> Values:
    """Posterior means of Poisson counts that were seen through noise of this variance."""
    return np.maximum(expected + expected / (expected + noise) * (noisy - expected), 0.0)


@dataclass(frozen=True, kw_only=True)
class Inside:
    """Noisy counts of the pieces of a number, measured."""

    column: Number
    pieces: Values
    noise: float
    """Their variance."""

    @classmethod
    def measured(cls, column: Number, counts: Secret[CountTable], meter: Meter, *, copies: int) -> "Inside":
        """One table of all pieces: a record lies in one of them, so it costs what any table costs."""
        pieces = meter.table(counts, copies=copies)[: column.fine.proper_levels]
        return cls(column=column, pieces=pieces, noise=meter.variance(copies))

    def smoothed(self, noisy: Values, noise: float) -> tuple[Values, CountTable]:
        """Better counts of the column's levels, and the weights of its pieces as they are released.

        Given are noisy counts of the levels and the variance of their noise. Empty bins of a tail no longer hold noise;
        what is missing stays as it was.
        """
        grid = _Grid(self.column, measured=True)
        own = noisy[: self.column.proper_levels]
        expected = _density(grid, own, noise, self.pieces, self.noise)
        bins = np.append(_through_noise(grid.bins @ expected, own, noise), noisy[len(own) :])
        weights = np.zeros(self.column.fine.size, dtype=np.int64)
        weights[: len(expected)] = grid.weights(_through_noise(expected, self.pieces, self.noise), expected)
        return bins, CountTable.dense((self.column.fine.name,), weights)


def measure_inside(numbers: Sequence[Number], counts: Sequence[Secret[CountTable]], meter: Meter) -> list[Inside]:
    """The pieces of every number, with a small share of what the meter holds."""
    share = min(_SHARE, _MOST / max(len(numbers), 1))
    copies = min(max(1, int(share * meter.units / meter.table_price)), MOST_COPIES)
    return [Inside.measured(column, table, meter, copies=copies) for column, table in zip(numbers, counts, strict=True)]


@dataclass(frozen=True)
class _Grid:
    """The pieces of a column in the coordinate of its density."""

    column: Number
    measured: bool
    """Whether the pieces were counted: then a piece of a single value at 0 may hold any number of records."""

    @cached_property
    def bin_of(self) -> Whole:
        cuts = self.column.cuts
        return np.repeat(np.arange(len(cuts)), [len(pieces) for pieces in cuts])

    @cached_property
    def bins(self) -> Values:
        """Which pieces each bin has."""
        return np.asarray(self.bin_of[None, :] == np.arange(len(self.column.cuts))[:, None], dtype=np.float64)

    def weights(self, shown: Values, expected: Values) -> Whole:
        """Shares of the pieces of each bin in whole numbers; where nothing is shown of a bin, as expected."""
        shown = np.where((self.bins @ shown > 0)[self.bin_of], shown, expected)
        share = shown / (self.bins @ shown)[self.bin_of]
        return np.asarray(np.rint(share * _PARTS), dtype=np.int64)

    @cached_property
    def _ends(self) -> tuple[Values, Values]:
        pieces = np.array([piece for cuts in self.column.cuts for piece in cuts], dtype=np.float64)
        scale = float(self.column.scale)
        starts, ends = pieces[:, 0] - 0.5, pieces[:, 0] + pieces[:, 1] - 0.5
        return np.arcsinh(starts / scale), np.arcsinh(ends / scale)

    @cached_property
    def width(self) -> Values:
        starts, ends = self._ends
        return ends - starts

    @cached_property
    def bends(self) -> Values:
        """Second divided differences of a log density, scaled so that their squares add up to an integral.

        Values that have a bin of their own are left out, for they have nothing to do with those around them.
        """
        starts, ends = self._ends
        sizes = np.array([width for cuts in self.column.cuts for _, width in cuts])
        firsts = np.array([first for cuts in self.column.cuts for first, _ in cuts])
        lone = (sizes == 1) & (self.bins.sum(axis=1) == 1)[self.bin_of]
        if self.measured:
            lone |= (sizes == 1) & (firsts == 0)
        places = np.flatnonzero(~lone)
        middle = ((starts + ends) / 2)[places]
        slopes = np.zeros((max(len(places) - 1, 0), len(sizes)))
        gaps = np.diff(middle)
        slopes[np.arange(len(gaps)), places[1:]] = 1 / gaps
        slopes[np.arange(len(gaps)), places[:-1]] = -1 / gaps
        apart = (middle[2:] - middle[:-2]) / 2
        return np.asarray(np.diff(slopes, axis=0) / np.sqrt(apart)[:, None])


def _fitted(grid: _Grid, rows: Values, counts: Values, spread: Values, strength: float) -> tuple[Values, float]:
    """Expected counts of the pieces with the largest posterior, by damped Gauss-Newton steps, and their evidence."""
    bends, width = grid.bends, grid.width
    level = math.log(max(counts.sum() / rows.sum(axis=0).mean(), 1.0) / width.sum())
    log_density = np.full(len(width), level)
    tiny = 1e-8 * np.eye(len(width))

    def look(at: Values) -> tuple[float, Values, Values, Values]:
        expected = np.exp(np.minimum(at, 50.0)) * width
        left = counts - rows @ expected
        bent = bends @ at
        unlikely = (_FREEDOM + 1) * np.log1p(strength * bent**2 / _FREEDOM).sum() + (left**2 / spread).sum()
        lost = (unlikely + 1e-8 * ((at - level) ** 2).sum()) / 2
        return lost, expected, left, strength * (_FREEDOM + 1) / (_FREEDOM + strength * bent**2)

    lost, expected, left, weights = look(log_density)
    damping = 1.0
    for _ in range(_ROUNDS):
        moved = rows * expected
        curved = moved.T @ (moved / spread[:, None]) + (bends.T * weights) @ bends + tiny
        uphill = moved.T @ (left / spread) - bends.T @ (weights * (bends @ log_density)) - tiny @ (log_density - level)
        while damping < 1e8:
            step = np.linalg.solve(curved + damping * np.diag(np.diag(curved)), uphill)
            step = np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
            after = look(log_density + step)
            if after[0] <= lost:
                break
            damping *= 4
        else:
            break
        gained, log_density = lost - after[0], log_density + step
        lost, expected, left, weights = after
        damping = max(damping / 8, 1e-9)
        if gained < _ENOUGH * (1 + abs(lost)):
            break
    moved = rows * expected
    curved = moved.T @ (moved / spread[:, None]) + (bends.T * weights) @ bends + tiny
    # Laplace's approximation; constants that do not depend on the strength are left out
    evidence = -lost - np.linalg.slogdet(curved)[1] / 2 + len(bends) * math.log(strength) / 2
    return expected, float(evidence)
