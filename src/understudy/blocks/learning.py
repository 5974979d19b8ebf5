"""Models of one column given others, with one interface: fit to weighted records, then predict level probabilities.

A regression needs only counts of whole records, so no model reads rows. A fitted model is as secret as the counts.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from understudy.blocks.keys import Codes
from understudy.codebook import Codebook, Column
from understudy.sources.tables import CountTable

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Records:
    """Distinct records and how often each occurs."""

    columns: tuple[Codes, ...]
    counts: Floats

    @classmethod
    def of(cls, table: CountTable) -> "Records":
        """The occupied cells of a table of all columns."""
        codes, counts = table.occupied()
        columns = tuple(np.ascontiguousarray(codes[:, place]) for place in range(codes.shape[1]))
        return cls(columns=columns, counts=counts.astype(np.float64))

    def where(self, chosen: npt.NDArray[np.bool_]) -> "Records":
        """Some of them."""
        return Records(columns=tuple(column[chosen] for column in self.columns), counts=self.counts[chosen])

    def bootstrapped(self, generator: np.random.Generator) -> Floats:
        """The Bayesian bootstrap [Rubin81]: Dirichlet weights on the records, scaled to their number."""
        drawn = generator.standard_gamma(self.counts)
        return np.asarray(drawn * (self.counts.sum() / max(drawn.sum(), 1e-300)))

    def sampled(self, rows: int, generator: np.random.Generator) -> npt.NDArray[np.int64]:
        """Positions of at most ``rows`` rows, without replacement, in random order."""
        counts = self.counts.astype(np.int64)
        if counts.sum() > rows:
            counts = generator.multivariate_hypergeometric(counts, rows, method="marginals")
        return generator.permutation(np.repeat(np.arange(len(counts)), counts))


class Predictor(ABC):
    """Predicts one column from the codes of all columns, of which it reads some."""

    @abstractmethod
    def probabilities(self, columns: Sequence[Codes]) -> Floats:
        """One probability per level for every row."""


@dataclass(frozen=True, kw_only=True)
class UniformPredictor(Predictor):
    """Predicts every level with the same probability."""

    levels: int

    def probabilities(self, columns: Sequence[Codes]) -> Floats:
        """The same everywhere."""
        return np.full((len(columns[0]), self.levels), 1 / self.levels)


@dataclass(frozen=True, kw_only=True, eq=False)
class MarginalPredictor(Predictor):
    """The column's own frequencies."""

    shares: Floats

    def probabilities(self, columns: Sequence[Codes]) -> Floats:
        """The same for every row."""
        return np.broadcast_to(self.shares, (len(columns[0]), len(self.shares)))


class Learner(ABC):
    """Fits the model of one column; remembers what tuning found and where the last fit ended."""

    word: ClassVar[str]

    def __init__(self, book: Codebook, target: str, reads: Sequence[str]) -> None:
        self.column: Column = book.column(target)
        self.target = book.position(target)
        self.reads = tuple(book.position(name) for name in reads)
        self.read_columns = tuple(book.column(name) for name in reads)

    def tune(self, records: Records, generator: np.random.Generator, tell: Callable[[], None] = lambda: None) -> None:  # noqa: B027 - most engines leave nothing open
        """Choose what the engine leaves open."""

    @abstractmethod
    def fit(self, records: Records, weights: Floats, generator: np.random.Generator) -> Predictor:
        """The model for records of these weights, which add up to their number."""

    def marginal(self, records: Records, weights: Floats) -> MarginalPredictor:
        """For columns that nothing predicts."""
        tally = np.bincount(records.columns[self.target], weights, minlength=self.column.size)
        return MarginalPredictor(shares=tally / max(tally.sum(), 1e-300))
