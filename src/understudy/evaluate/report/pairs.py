"""Every pair of columns, counted in both tables: how far apart they lie and how strongly they hang together.

Works on counts only, a batch of pairs at a time, so that a million rows cost what their tables cost.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.evaluate.utility.distances import total_variation
from understudy.sources.base import Report, Source

Counts = npt.NDArray[np.int64]

PAIR_CELLS = 1 << 20
"""Pairs of columns with more combinations than this are left out, and the report says which."""
_BATCH = 48


@dataclass(frozen=True, kw_only=True)
class PairFacts:
    """What two columns say together, in the confidential and in the synthetic table."""

    columns: tuple[str, str]
    real: float
    synthetic: float
    """Cramer's V in each table; NaN where a column is constant."""
    distance: float
    """Total variation distance of the two-way tables."""


def pair_facts(real: Source, synthetic: Source, *, report: Report | None = None) -> list[PairFacts]:
    """All pairs small enough to be laid out, in the order of the codebook."""
    book = real.codebook
    pairs = [
        pair
        for pair in itertools.combinations(book.names, 2)
        if book.column(pair[0]).size * book.column(pair[1]).size <= PAIR_CELLS
    ]
    facts: list[PairFacts] = []
    for batch in _batches(pairs):
        truth = real.count(batch)
        copy = synthetic.count(batch)
        for pair, a, b in zip(batch, truth, copy, strict=True):
            facts.append(_facts(pair, a.open().to_grid(), b.open().to_grid()))
        if report:
            report("comparing pairs of columns", len(facts), len(pairs))
    return facts


def _batches(pairs: Sequence[tuple[str, str]]) -> Iterator[Sequence[tuple[str, str]]]:
    for start in range(0, len(pairs), _BATCH):
        yield pairs[start : start + _BATCH]


def _facts(pair: tuple[str, str], real: Counts, synthetic: Counts) -> PairFacts:
    return PairFacts(
        columns=pair,
        real=association(real),
        synthetic=association(synthetic),
        distance=total_variation(real, synthetic),
    )


def association(counts: Counts) -> float:
    """Cramer's V of a two-way table, corrected for its bias in small tables (Bergsma 2013): 0 none, 1 complete.

    >>> round(association(np.array([[500, 0], [0, 500]])), 3)
    1.0
    >>> association(np.array([[250, 250], [250, 250]]))
    0.0
    """
    table = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0].astype(np.float64)
    n = table.sum()
    r, k = table.shape
    if min(r, k) < 2 or n < 2:
        return math.nan
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    square = float(((table - expected) ** 2 / expected).sum() / n)
    square = max(0.0, square - (r - 1) * (k - 1) / (n - 1))
    room = min(r - (r - 1) ** 2 / (n - 1), k - (k - 1) ** 2 / (n - 1)) - 1
    return min(1.0, math.sqrt(square / room)) if room > 0 else math.nan
