"""Every pair of columns, counted in both tables: how far apart they lie, how strongly they hang together, mosaics.

Works on counts only, a batch of pairs at a time, so that a million rows cost what their tables cost.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.codebook import Column
from understudy.evaluate.opened import Counts, open_grids
from understudy.evaluate.utility.distances import total_variation
from understudy.evaluate.utility.tables import tables_of_width
from understudy.sources.base import Report, Source

_BATCH = 48
_MOST_LEVELS = 8
_MOST_USES = 2
"""How many mosaics may show the same column."""


@dataclass(frozen=True, kw_only=True)
class PairFacts:
    """What two columns say together, in the confidential and in the synthetic table."""

    columns: tuple[str, str]
    real: float
    synthetic: float
    """Cramer's V in each table; NaN where a column is constant."""
    distance: float
    """Total variation distance of the two-way tables."""
    levels: tuple[str, str] = ("", "")
    """The combination whose share is off most, and its shares in the confidential and in the synthetic table."""
    shares: tuple[float, float] = (0.0, 0.0)


def pair_facts(
    real: Source,
    synthetic: Source,
    *,
    pairs: Sequence[tuple[str, ...]] | None = None,
    report: Report | None = None,
) -> list[PairFacts]:
    """All pairs small enough to be laid out, in the order of the codebook; or these."""
    pairs = tables_of_width(real.codebook, 2) if pairs is None else pairs
    facts: list[PairFacts] = []
    for start in range(0, len(pairs), _BATCH):
        batch = pairs[start : start + _BATCH]
        for pair, a, b in zip(batch, open_grids(real, batch), open_grids(synthetic, batch), strict=True):
            strength = {"real": association(a), "synthetic": association(b)}
            widest = _widest(a, b)
            labels = tuple(real.codebook.column(name).labels[code] for name, code in zip(pair, widest, strict=True))
            facts.append(
                PairFacts(
                    columns=(pair[0], pair[1]),
                    **strength,
                    distance=total_variation(a, b),
                    levels=(labels[0], labels[1]),
                    shares=(float(a[widest] / a.sum()), float(b[widest] / b.sum())),
                )
            )
        if report:
            report("comparing pairs of columns", len(facts), len(pairs))
    return facts


def _widest(a: Counts, b: Counts) -> tuple[int, int]:
    """Where the shares of two tables differ most."""
    place = int(np.abs(a / a.sum() - b / b.sum()).argmax())
    return place // a.shape[1], place % a.shape[1]


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


@dataclass(frozen=True, kw_only=True)
class Mosaic:
    """Counts of one pair of columns in both tables, after grouping."""

    columns: tuple[str, str]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    real: Counts
    synthetic: Counts


def mosaics(real: Source, synthetic: Source, pairs: Sequence[PairFacts], *, most: int) -> list[Mosaic]:
    """The ``most`` strongest pairs of the confidential table, no column more than twice."""
    chosen: list[tuple[str, str]] = []
    uses: dict[str, int] = {}
    for pair in sorted((p for p in pairs if not math.isnan(p.real)), key=lambda p: -p.real):
        if len(chosen) < most and all(uses.get(name, 0) < _MOST_USES for name in pair.columns):
            chosen.append(pair.columns)
            uses |= {name: uses.get(name, 0) + 1 for name in pair.columns}
    book = real.codebook
    return [
        _grouped((book.column(x), book.column(y)), a, b)
        for (x, y), a, b in zip(chosen, open_grids(real, chosen), open_grids(synthetic, chosen), strict=True)
    ]


def _grouped(columns: tuple[Column, Column], real: Counts, synthetic: Counts) -> Mosaic:
    labels = []
    for axis, column in enumerate(columns):
        totals = real.sum(axis=1 - axis)
        kept = sorted(np.argsort(-totals, kind="stable")[: _MOST_LEVELS - 1].tolist())
        rest = [level for level in range(len(totals)) if level not in kept]
        if len(rest) <= 1:  # one more level is not worth a group
            kept, rest = sorted(kept + rest), []
        labels.append(tuple([column.labels[level] for level in kept] + (["other levels"] if rest else [])))
        real, synthetic = (_merged(grid, axis, kept, rest) for grid in (real, synthetic))
    return Mosaic(
        columns=(columns[0].name, columns[1].name), labels=(labels[0], labels[1]), real=real, synthetic=synthetic
    )


def _merged(grid: Counts, axis: int, kept: Sequence[int], rest: Sequence[int]) -> Counts:
    parts = [grid.take(kept, axis=axis)]
    if rest:
        parts.append(grid.take(rest, axis=axis).sum(axis=axis, keepdims=True))
    return np.concatenate(parts, axis=axis)
