"""How far the shares of two columns are off in a release: the utility of the plane."""

from collections.abc import Sequence

import numpy as np

from understudy.evaluate.risk.cells import open_cells
from understudy.evaluate.risk.membership import source_of
from understudy.evaluate.utility.tables import grids, tables_of_width
from understudy.mechanisms.stream import Stream
from understudy.sources.base import Source

_DIGITS = 5


def pair_errors(real: Source, synthetic: Source) -> list[float]:
    """For every pair of columns the largest error of a share of two levels; of single columns where there is one."""
    tables = tables_of_width(real.codebook, 2) or tables_of_width(real.codebook, 1)
    return [
        round(float(np.abs(a / a.sum() - b / b.sum()).max()), _DIGITS) for _, a, b in grids(real, synthetic, tables)
    ]


def best_errors(real: Source, rows: int) -> list[float]:
    """The same of so many rows drawn from the table itself: chance alone, and no privacy."""
    cells = open_cells(real, real.codebook.names)
    drawn = cells.resample(rows, Stream.seeded(0).generator())
    return pair_errors(real, source_of(real.codebook, drawn.records()))


def kept(errors: Sequence[float], limit: float) -> float:
    """The share of pairs whose shares are all within a limit.

    >>> kept([0.01, 0.05], 0.03)
    0.5
    """
    return sum(error <= limit for error in errors) / len(errors)
