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

    size: int

    @property
    @abstractmethod
    def values(self) -> Floats:
        """Its eigenvalues, those that are zero up to rounding set to zero."""

    @abstractmethod
    def turn(self, block: Floats) -> Floats:
        """Into the basis of eigenvectors."""

    @abstractmethod
    def back(self, block: Floats) -> Floats:
        """From the basis of eigenvectors."""

    @abstractmethod
    def part(self, kept: npt.NDArray[np.bool_]) -> "GroupGram":
        """The matrix of some groups only."""

    @abstractmethod
    def plus(self, noise: Floats) -> "GroupGram":
        """With something added to the diagonal."""

    @property
    @abstractmethod
    def diagonal(self) -> Floats:
        """Its diagonal."""

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

    def sylvester(self, other: Floats, right: Floats) -> Floats:
        """M with K M + M S = R for a symmetric S > 0: both are taken apart, and then it is a division.

        This is the whole of the Sylvester equation of LUDIA (its U is X B + A'M, see
        :mod:`understudy.reconstruct.ludia`).
        """
        lam, q = np.linalg.eigh(other)
        lam = np.maximum(lam, np.finfo(float).tiny)
        turned = self.turn(right) @ q
        solved: Floats = self.back(turned / (self.values[:, None] + lam[None, :])) @ q.T
        return solved

    def relax(self, other: Floats, right: Floats) -> Floats:
        """P with K+ P T + P = R for a symmetric T >= 0: the update of Pi."""
        tau, q = np.linalg.eigh(other)
        turned = self.turn(right) @ q
        solved: Floats = self.back(turned / (1.0 + self.inverses[:, None] * np.maximum(tau, 0.0)[None, :])) @ q.T
        return solved


def _rows(values: Floats, block: Floats) -> Floats:
    return values[:, None] * block if block.ndim == 2 else values * block


class DiagonalGram(GroupGram):
    """One partition: K = diag(1 / n_g)."""

    def __init__(self, diagonal: Floats) -> None:
        self._diagonal = np.asarray(diagonal, dtype=np.float64)
        self.size = len(self._diagonal)

    @property
    def values(self) -> Floats:
        """The diagonal itself."""
        return self._diagonal

    @property
    def diagonal(self) -> Floats:
        """Its diagonal."""
        return self._diagonal

    def turn(self, block: Floats) -> Floats:
        """Already there."""
        return block

    def back(self, block: Floats) -> Floats:
        """Already there."""
        return block

    def part(self, kept: npt.NDArray[np.bool_]) -> "DiagonalGram":
        """Some groups only."""
        return DiagonalGram(self._diagonal[kept])

    def plus(self, noise: Floats) -> "DiagonalGram":
        """With noise on top."""
        return DiagonalGram(self._diagonal + noise)


class DenseGram(GroupGram):
    """Groups that share people: stacked levels, nested or overlapping."""

    def __init__(self, matrix: Floats) -> None:
        self.size = len(matrix)
        if self.size > MOST_STACKED:
            raise RefusalError(
                f"the stacked levels have {self.size:,} groups together; beyond {MOST_STACKED:,} their common "
                "matrix is "
                "too large to take apart. Leave out the finest level, or reconstruct from one level alone."
            )
        self.matrix = matrix

    @cached_property
    def _taken_apart(self) -> tuple[Floats, Floats]:
        values, vectors = np.linalg.eigh((self.matrix + self.matrix.T) / 2)
        values[values < _RANK * max(float(values.max(initial=0.0)), np.finfo(float).tiny)] = 0.0
        return values, vectors

    @property
    def values(self) -> Floats:
        """Its eigenvalues."""
        return self._taken_apart[0]

    @property
    def diagonal(self) -> Floats:
        """Its diagonal."""
        return np.diagonal(self.matrix).copy()

    def turn(self, block: Floats) -> Floats:
        """Q' B."""
        turned: Floats = self._taken_apart[1].T @ block
        return turned

    def back(self, block: Floats) -> Floats:
        """Q B."""
        turned: Floats = self._taken_apart[1] @ block
        return turned

    def part(self, kept: npt.NDArray[np.bool_]) -> "DenseGram":
        """Some groups only."""
        return DenseGram(self.matrix[np.ix_(kept, kept)])

    def plus(self, noise: Floats) -> "DenseGram":
        """With noise on the diagonal."""
        return DenseGram(self.matrix + np.diag(noise))
