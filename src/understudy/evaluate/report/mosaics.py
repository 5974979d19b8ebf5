"""Two-way tables for mosaic plots: the strongest pairs, with rare levels put together."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook import Column
from understudy.evaluate.report.pairs import PairFacts
from understudy.sources.base import Source

_MOST_LEVELS = 8
_MOST_USES = 2
"""How many mosaics may show the same column."""


@dataclass(frozen=True, kw_only=True)
class Mosaic:
    """Counts of one pair of columns in both tables, after grouping."""

    columns: tuple[str, str]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    real: npt.NDArray[np.int64]
    synthetic: npt.NDArray[np.int64]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "columns": list(self.columns),
            "labels": [list(labels) for labels in self.labels],
            "real": self.real.tolist(),
            "synthetic": self.synthetic.tolist(),
        }


def mosaics(real: Source, synthetic: Source, pairs: Sequence[PairFacts], *, most: int) -> list[Mosaic]:
    """The ``most`` strongest pairs of the confidential table, no column more than twice."""
    chosen: list[tuple[str, str]] = []
    uses: dict[str, int] = {}
    for pair in sorted((p for p in pairs if not math.isnan(p.real)), key=lambda p: -p.real):
        if len(chosen) < most and all(uses.get(name, 0) < _MOST_USES for name in pair.columns):
            chosen.append(pair.columns)
            uses |= {name: uses.get(name, 0) + 1 for name in pair.columns}
    if not chosen:
        return []
    truth, copy = real.count(chosen), synthetic.count(chosen)
    book = real.codebook
    return [
        _grouped((book.column(x), book.column(y)), a.open().to_grid(), b.open().to_grid())
        for (x, y), a, b in zip(chosen, truth, copy, strict=True)
    ]


def _grouped(columns: tuple[Column, Column], real: npt.NDArray[np.int64], synthetic: npt.NDArray[np.int64]) -> Mosaic:
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


def _merged(grid: npt.NDArray[np.int64], axis: int, kept: Sequence[int], rest: Sequence[int]) -> npt.NDArray[np.int64]:
    parts = [grid.take(kept, axis=axis)]
    if rest:
        parts.append(grid.take(rest, axis=axis).sum(axis=axis, keepdims=True))
    return np.concatenate(parts, axis=axis)
