"""The simulated tables of sbhg.txt appendix D, and what no private method can do on them.

Rows are equicorrelated normal (0.3), each column cut into ten levels. The appendix does not say where the cuts are;
appendix A says that every level combination of the dense table occurs, to which deciles come closest (about 910 of
1,000 do: with 3 records per cell on average some cells must be empty). Deciles of the normal law need no data.
"""

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from understudy.codebook import Categorical, Codebook
from understudy.sources.encoded import EncodedSource, count_codes
from understudy.sources.tables import CountTable

ROWS, LEVELS, CORRELATION = 3_000, 10, 0.3
DENSE, SPARSE = 3, 10
"""Columns of the two tables."""

_CUTS = ndtri(np.arange(1, LEVELS) / LEVELS)


@dataclass(frozen=True, kw_only=True)
class Table:
    """Our own rows, hence not secret: the source that recipes see, and its exact counts."""

    source: EncodedSource
    counts: CountTable

    @property
    def rows(self) -> int:
        """How many records."""
        return int(self.counts.occupied()[1].sum())

    @classmethod
    def of(cls, book: Codebook, columns: list[npt.NDArray[np.unsignedinteger]]) -> "Table":
        """From codes."""
        return cls(
            source=EncodedSource(codebook=book, columns=columns), counts=count_codes(book.names, book.sizes, columns)
        )


def simulated(columns: int, seed: int, rows: int = ROWS) -> Table:
    """One table."""
    rng = np.random.default_rng([seed, columns])
    common = rng.standard_normal((rows, 1)) * math.sqrt(CORRELATION)
    normal = common + rng.standard_normal((rows, columns)) * math.sqrt(1 - CORRELATION)
    codes = np.digitize(normal, _CUTS).astype(np.uint8)
    return Table.of(_book(columns), [np.ascontiguousarray(column) for column in codes.T])


def _book(columns: int) -> Codebook:
    levels = tuple(map(str, range(LEVELS)))
    return Codebook(columns=tuple(Categorical(name=f"x{number}", levels=levels) for number in range(1, columns + 1)))


@lru_cache
def best_mass(columns: int, cells: int) -> float:
    """Probability of the ``cells`` most probable records: what the best guess of that many records can cover.

    Given the common factor u the columns are independent, so a cell's probability depends only on how often each level
    occurs in it; the integral over u is by Gauss-Hermite quadrature.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(81)
    shifted = (np.concatenate([[-np.inf], _CUTS, [np.inf]])[:, None] - math.sqrt(CORRELATION) * nodes) / math.sqrt(
        1 - CORRELATION
    )
    logs = np.log(np.maximum(np.diff(ndtr(shifted), axis=0), 1e-300))
    picks = np.array(list(itertools.combinations_with_replacement(range(LEVELS), columns)))
    often = np.stack([(picks == level).sum(axis=1) for level in range(LEVELS)], axis=1)
    mass = np.exp(often @ logs) @ (weights / weights.sum())
    factorials = np.array([math.factorial(k) for k in range(columns + 1)], dtype=float)
    copies = math.factorial(columns) / factorials[often].prod(axis=1)
    order = np.argsort(-mass)
    before = np.concatenate([[0.0], np.cumsum(copies[order])[:-1]])
    taken = np.clip(cells - before, 0, copies[order])
    return float((taken * mass[order]).sum())


def private_floor(columns: int, *, epsilon: float, delta: float, rows: int = ROWS) -> float:
    """Expected L1 that every (epsilon, delta)-DP method releasing ``rows`` rows of ``columns`` columns must exceed.

    L1 = 2n - 2 sum min(c, c'), and that sum is at most the number of real records whose cell is in the release. For one
    of them, replace it by a fresh one: the released cells then do not depend on it and hold it with probability at most
    ``best_mass``; privacy allows e^epsilon times that, plus delta.
    """
    seen = min(1.0, math.exp(min(epsilon, 700.0)) * best_mass(columns, rows) + delta)
    return 2 * rows * (1 - seen)
