"""Whether the levels keep their order of frequency: Kendall's tau-b and Spearman's rho, by SciPy.

The paper prints both formulas with a slip (pegs.txt section 4.3): Kendall's denominator must be C(C-1)/2, not C(1-C)/2,
which would turn every sign; Spearman's ranks 1..C must be centred at (C+1)/2, not C/2. Ties, which tables of counts are
full of, are what SciPy's variants correct for.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from understudy.evaluate.metric import Score
from understudy.evaluate.utility.tables import given_grids, grids, tables_of_width
from understudy.extras import need
from understudy.sources.base import Source

Counts = npt.NDArray[np.int64]
Agreement = Callable[[Counts, Counts], float]
MOST_GIVEN = 512
"""Columns with more levels hold few rows in each; their levels are not given in turn unasked."""


def kendall(real: Counts, synthetic: Counts) -> float:
    """Kendall's tau-b of two rows of counts; NaN when either is constant.

    >>> round(kendall(np.array([1, 2, 3]), np.array([1, 3, 2])), 12)  # 2 pairs agree, 1 does not
    0.333333333333
    """
    need("scipy", extra="report", what="a rank correlation")
    from scipy.stats import kendalltau

    return _defined(real, synthetic, lambda a, b: kendalltau(a, b).statistic)


def spearman(real: Counts, synthetic: Counts) -> float:
    """Spearman's rho of two rows of counts; NaN when either is constant.

    >>> round(spearman(np.array([1, 2, 3]), np.array([1, 3, 2])), 12)  # 1 - 6 * 2 / (3 * 8)
    0.5
    """
    need("scipy", extra="report", what="a rank correlation")
    from scipy.stats import spearmanr

    return _defined(real, synthetic, lambda a, b: spearmanr(a, b).statistic)


def _defined(real: Counts, synthetic: Counts, statistic: Callable[[Counts, Counts], float]) -> float:
    if np.ptp(real) == 0 or np.ptp(synthetic) == 0:
        return math.nan  # all levels tie: there is no order to keep
    return float(statistic(real, synthetic))


def _mean_rank_score(metric: str, parts: Mapping[str, float]) -> Score:
    """The mean of those that are defined; the note says how many are not."""
    defined = {name: value for name, value in parts.items() if not math.isnan(value)}
    left_out = len(parts) - len(defined)
    note = f"{left_out} of {len(parts)} have no order in one of the tables and are left out." if left_out else ""
    if not parts:
        note = "no column has another to be given."
    value = float(np.mean(list(defined.values()))) if defined else math.nan
    return Score(metric=metric, value=value, breakdown=defined, note=note)


def marginal_ranks(metric: str, agreement: Agreement, real: Source, synthetic: Source) -> Score:
    """Averaged over columns; the breakdown has one value per column."""
    tables = grids(real, synthetic, tables_of_width(real.codebook, 1))
    return _mean_rank_score(metric, {name: agreement(a, b) for (name,), a, b in tables})


def conditional_ranks(
    metric: str, agreement: Agreement, real: Source, synthetic: Source, conditional_on: str | None
) -> Score:
    """Given one column, or every other; the breakdown says "other | given", averaged over the given levels."""
    parts = {}
    for (given, other), a, b in given_grids(real, synthetic, conditional_on):
        if conditional_on is None and len(a) > MOST_GIVEN:
            continue
        values = np.array([agreement(a[level], b[level]) for level in range(len(a))])
        defined = values[~np.isnan(values)]
        parts[f"{other} | {given}"] = float(defined.mean()) if len(defined) else float("nan")
    return _mean_rank_score(metric, parts)
