"""Re-identification risk as a disclosure board asks for it, from the sizes of classes alone.

*Prosecutor*: the intruder knows that a person is in the table. *Journalist*: knows only that the person is in the
population that the table was drawn from. *Marketer*: wants to link as many as possible, no matter whom [ElEmam08].
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.confidential import Confidential
from understudy.parameters import Declared, Number, Panel, Text, option

Sizes = npt.NDArray[np.int64]

THRESHOLD = Number(above=0, below=1, tried=0.2)
BANDS = ((1, 1), (2, 2), (3, 3), (4, 4), (5, 9), (10, 19), (20, 49), (50, 99), (100, None))
"""Class sizes that are put together in a histogram; the last has no upper end."""


@dataclass(frozen=True, kw_only=True)
class RiskLook(Declared):
    """How a table is looked at."""

    population: Any = option(
        None,
        rule=Text(words="a table", example="everybody.csv", admitted=lambda table: table is not None),
        help="Table of everybody the data were drawn from, with the same columns.",
        panel=Panel.INPUT,
    )
    threshold: float = option(0.2, rule=THRESHOLD, help="Rows above this risk are counted.")


@dataclass(frozen=True, kw_only=True, repr=False)
class RiskFigures(Confidential):
    """Chances that an intruder who links by the quasi-identifiers finds the right row."""

    rows: int
    classes: int
    smallest: int
    uniques: int
    """Rows that are alone in their class."""
    prosecutor_highest: float
    prosecutor_mean: float
    at_risk: float
    """Share of rows whose risk is above ``threshold``."""
    threshold: float
    journalist_highest: float
    marketer: float
    """Expected share of rows that are linked to the right person: the mean of the journalist's risk, too."""
    population: bool
    """Whether journalist and marketer were computed with a population; without one they are the prosecutor's."""
    histogram: dict[str, int]
    """Rows by the size of their class."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def risk_figures(sizes: Sizes, *, population: Sizes | None = None, threshold: float = 0.2) -> RiskFigures:
    """``sizes`` are rows per class in the table, ``population`` people per class where that is known.

    >>> figures = risk_figures(np.array([1, 3, 4]))
    >>> figures.uniques, figures.prosecutor_highest, figures.prosecutor_mean, figures.at_risk
    (1, 1.0, 0.375, 1.0)
    >>> figures = risk_figures(np.array([1, 3]), population=np.array([10, 6]))
    >>> figures.journalist_highest, figures.marketer
    (0.16666666666666666, 0.15)
    """
    THRESHOLD.check("threshold", threshold)
    sizes = np.asarray(sizes, dtype=np.int64)
    n = int(sizes.sum())
    own = 1.0 / sizes
    wide = own if population is None else 1.0 / np.asarray(population, dtype=np.int64)
    return RiskFigures(
        rows=n,
        classes=len(sizes),
        smallest=int(sizes.min()),
        uniques=int((sizes == 1).sum()),
        prosecutor_highest=float(own.max()),
        prosecutor_mean=len(sizes) / n,
        at_risk=float(sizes[own > threshold].sum() / n),
        threshold=threshold,
        journalist_highest=float(wide.max()),
        marketer=float((sizes * wide).sum() / n),
        population=population is not None,
        histogram=band_counts(sizes),
    )


def band_counts(sizes: Sizes) -> dict[str, int]:
    """Rows by the size of their class.

    >>> band_counts(np.array([1, 1, 3, 120]))["1"], band_counts(np.array([1, 1, 3, 120]))["100+"]
    (2, 120)
    """
    counts = {}
    for low, high in BANDS:
        label = f"{low}+" if high is None else str(low) if low == high else f"{low}-{high}"
        inside = sizes >= low if high is None else (sizes >= low) & (sizes <= high)
        counts[label] = int(sizes[inside].sum())
    return counts
