"""K = A A', what groups share with each other: diagonal for one partition, small and dense for stacked ones.

Everything that is done with the aggregation matrix A (p groups, n individuals, averages in its rows) needs only K,
which is p x p. Stacked partitions make it singular (the whole is the sum of either parts), so inverses are
pseudo-inverses.
"""

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
import numpy.typing as npt

from understudy.errors import RefusalError

Floats = npt.NDArray[np.float64]

MOST_STACKED = 6000
"""Groups of stacked levels together: their K is taken apart in p^3 steps, about a minute at this size."""
_RANK = 1e-10
"""Eigenvalues below this share of the largest count as zero."""


class GroupGram(ABC):
    """A symmetric non-negative p x p matrix, through its eigenvalues."""

    diagonal: Floats

    @property
    @abstractmethod
    def values(self) -> Floats:
        """Its eigenvalues, those that are zero up to rounding set to zero."""

    @abstractmethod
    def part(self, kept: npt.NDArray[np.bool_]) -> "GroupGram":
        """The matrix of the kept groups only."""

    @abstractmethod
    def plus(self, noise: Floats) -> "GroupGram":
        """With something added to the diagonal."""

    def turn(self, block: Floats) -> Floats:
        """Into the basis of eigenvectors, where a diagonal matrix is already."""
        return block

    def back(self, block: Floats) -> Floats:
        """From the basis of eigenvectors."""
        return block

    @property
    def size(self) -> int:
        """p."""
        return len(self.diagonal)

    @property
    def rank(self) -> int:
        """How many of its aggregates say something new."""
        return int(np.count_nonzero(self.values))

    @cached_property
    def inverses(self) -> Floats:
        """Eigenvalues of the pseudo-inverse W = K+."""
        values = self.values
        return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)

    def times(self, block: Floats) -> Floats:
        """K B."""
        return self.back(_rows(self.values, self.turn(block)))

    def pinv(self, block: Floats) -> Floats:
        """K+ B."""
        return self.back(_rows(self.inverses, self.turn(block)))

    def consistent(self, block: Floats) -> Floats:
        """K K+ B: the nearest aggregates that any individuals could have."""
        return self.back(_rows((self.values > 0).astype(float), self.turn(block)))

    def sylvester(self, weights: Floats, right: Floats) -> Floats:
        """M with K M + M S = R for symmetric weights S > 0: both are taken apart, and then it is a division.

        This is the whole of the Sylvester equation of LUDIA (its U is X B + A'M, see
        :mod:`understudy.reconstruct.ludia`).
        """
        lam, q = np.linalg.eigh(weights)
        lam = np.maximum(lam, np.finfo(float).tiny)
        turned = self.turn(right) @ q
        solved: Floats = self.back(turned / (self.values[:, None] + lam[None, :])) @ q.T
        return solved

    def relax(self, weights: Floats, right: Floats) -> Floats:
        """P with K+ P T + P = R for symmetric weights T >= 0: the update of Pi."""
        tau, q = np.linalg.eigh(weights)
        turned = self.turn(right) @ q
        solved: Floats = self.back(turned / (1.0 + self.inverses[:, None] * np.maximum(tau, 0.0)[None, :])) @ q.T
        return solved


def _rows(values: Floats, block: Floats) -> Floats:
    return values[:, None] * block if block.ndim == 2 else values * block


class DiagonalGram(GroupGram):
    """One partition: K = diag(1 / n_g)."""

    def __init__(self, diagonal: Floats) -> None:
        self.diagonal = np.asarray(diagonal, dtype=np.float64)

    @property
    def values(self) -> Floats:
        """The diagonal itself."""
        return self.diagonal

    def part(self, kept: npt.NDArray[np.bool_]) -> "DiagonalGram":
        """The kept groups only."""
        return DiagonalGram(self.diagonal[kept])

    def plus(self, noise: Floats) -> "DiagonalGram":
        """With noise on top."""
        return DiagonalGram(self.diagonal + noise)


class DenseGram(GroupGram):
    """Groups that share people: stacked levels, nested or overlapping."""

    def __init__(self, matrix: Floats) -> None:
        if len(matrix) > MOST_STACKED:
            raise RefusalError(
                f"the stacked levels have {len(matrix):,} groups together; beyond {MOST_STACKED:,} their common matrix "
                "is too large to take apart. Leave out the finest level, or reconstruct from one level alone."
            )
        self.matrix = matrix
        self.diagonal = np.diagonal(matrix).copy()

    @cached_property
    def _taken_apart(self) -> tuple[Floats, Floats]:
        values, vectors = np.linalg.eigh((self.matrix + self.matrix.T) / 2)
        values[values < _RANK * max(float(values.max(initial=0.0)), np.finfo(float).tiny)] = 0.0
        return values, vectors

    @property
    def values(self) -> Floats:
        """Its eigenvalues."""
        return self._taken_apart[0]

    def turn(self, block: Floats) -> Floats:
        """Q' B."""
        return np.asarray(self._taken_apart[1].T @ block)

    def back(self, block: Floats) -> Floats:
        """Q B."""
        return np.asarray(self._taken_apart[1] @ block)

    def part(self, kept: npt.NDArray[np.bool_]) -> "DenseGram":
        """The kept groups only."""
        return DenseGram(self.matrix[np.ix_(kept, kept)])

    def plus(self, noise: Floats) -> "DenseGram":
        """With noise on the diagonal."""
        return DenseGram(self.matrix + np.diag(noise))
