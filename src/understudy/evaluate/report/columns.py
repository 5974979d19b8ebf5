"""One column in both tables."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook
from understudy.evaluate.opened import Counts
from understudy.evaluate.utility.distances import total_variation
from understudy.evaluate.utility.references import expected_gap


@dataclass(frozen=True, kw_only=True)
class ColumnFacts:
    """One column in both tables."""

    name: str
    description: str
    labels: tuple[str, ...]
    real: npt.NDArray[np.int64]
    synthetic: npt.NDArray[np.int64]
    distance: float
    bootstrap: float


def column_facts(book: Codebook, name: str, real: Counts, synthetic: Counts) -> ColumnFacts:
    """From the counts of its levels."""
    column = book.column(name)
    shares = real / real.sum()
    return ColumnFacts(
        name=name,
        description=column.description,
        labels=column.labels,
        real=real,
        synthetic=synthetic,
        distance=total_variation(real, synthetic),
        bootstrap=float(expected_gap(shares, shares, int(synthetic.sum())).sum() / 2),
    )
