"""Log-linear analysis: chi-square of mutual independence of any k columns (lugs.txt section 5.2, equation 3).

Only occupied cells are visited, since sum (O - E)^2 / E = sum over occupied of O^2 / E - n. Empty levels do not count
towards the degrees of freedom.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.errors import ParameterError
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.tables import JOIN, counted, tables_of_width
from understudy.extras import need
from understudy.sources.base import Clique, Source
from understudy.sources.tables import CountTable

METRIC = Metric(
    name="chi_square_difference",
    goal="minimize",
    lowest=0.0,
    highest=math.inf,
    room="utility",
    says="How much the association of columns changed: the difference of chi-square per row, averaged over tables.",
)


@dataclass(frozen=True, kw_only=True)
class ChiSquare:
    """One test of mutual independence."""

    pearson: float
    likelihood_ratio: float
    """G^2, which compares the log-likelihoods of the two models."""
    degrees: int
    rows: int

    @property
    def p_value(self) -> float:
        """Chance of a larger Pearson statistic if the columns were independent; NaN without degrees of freedom."""
        need("scipy", extra="report", what="the test of independence")
        from scipy.stats import chi2

        return float(chi2.sf(self.pearson, self.degrees)) if self.degrees else math.nan

    @property
    def per_row(self) -> float:
        """Pearson's phi squared, which does not grow with the table."""
        return self.pearson / self.rows


def chi_square(counts: npt.NDArray[np.int64]) -> ChiSquare:
    """Of a table of counts of any number of columns.

    >>> chi_square(np.array([[10, 0], [0, 10]])).pearson
    20.0
    """
    names = tuple(str(axis) for axis in range(counts.ndim))
    return chi_square_of(CountTable.dense(names, counts))


def chi_square_of(table: CountTable) -> ChiSquare:
    """The same of a count table, occupied cells only."""
    if len(table.columns) < 2:
        raise ParameterError(f"the table has {len(table.columns)} column; independence needs at least two. Add one.")
    codes, counts = table.occupied()
    n = float(counts.sum())
    if not n:
        raise ParameterError("the table is empty; independence cannot be tested. Give a table with rows.")
    expected = np.full(len(counts), n)
    parameters = cells = 1
    for axis in range(codes.shape[1]):
        margin = np.bincount(codes[:, axis], weights=counts)
        expected *= margin[codes[:, axis]] / n
        seen = int(np.count_nonzero(margin))
        cells *= seen
        parameters += seen - 1
    return ChiSquare(
        pearson=max(float((counts * (counts / expected)).sum() - n), 0.0),
        likelihood_ratio=max(float(2 * (counts * np.log(counts / expected)).sum()), 0.0),
        degrees=cells - parameters,
        rows=int(n),
    )


def chi_square_difference(real: Source, synthetic: Source, *, tables: Sequence[Clique] | None = None) -> Score:
    """|chi-square / n (synthetic) - chi-square / n (real)|, over the given tables or all pairs of columns.

    The breakdown holds both statistics, per row, of each table.
    """
    chosen = tables_of_width(real.codebook, 2) if tables is None else tables
    parts, gaps = {}, []
    for clique, a, b in counted(real, synthetic, chosen):
        truth, copy = chi_square_of(a), chi_square_of(b)
        name = JOIN.join(clique)
        parts[f"{name}: real"], parts[f"{name}: synthetic"] = truth.per_row, copy.per_row
        gaps.append(abs(truth.per_row - copy.per_row))
    return Score(
        metric=METRIC.name,
        value=float(np.mean(gaps)) if gaps else math.nan,
        breakdown=parts,
        note="Chi-square per row; independent columns give about (degrees of freedom) / rows, not 0."
        if gaps
        else "one column has no other to depend on.",
    )
