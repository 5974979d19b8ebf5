"""Counts of a source, opened: evaluation may look at them, and keeps what it sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from understudy.sources.base import Clique, Report, Source

Counts = npt.NDArray[np.int64]


def open_grids(source: Source, cliques: Sequence[Clique], report: Report | None = None) -> list[Counts]:
    """One table for each set of columns, with a count for every combination of their levels."""
    return [table.open().to_grid() for table in source.count(cliques, report)] if cliques else []
