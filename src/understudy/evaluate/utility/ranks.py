"""Whether the levels keep their order of frequency: Kendall's tau-b and Spearman's rho, by SciPy.

The paper prints both formulas with a slip (pegs.txt section 4.3): Kendall's denominator must be C(C-1)/2, not C(1-C)/2,
which would turn every sign; Spearman's ranks 1..C must be centred at (C+1)/2, not C/2. Ties, which tables of counts are
full of, are what SciPy's variants correct for.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.opened import Counts
from understudy.evaluate.utility.measure import measures
from understudy.evaluate.utility.tables import given_grids, grids, tables_of_width
from understudy.extras import need
from understudy.sources.base import Source

Agreement = Callable[[Counts, Counts], float]
MOST_GIVEN = 512
"""Columns with more levels hold few rows in each; their levels are not given in turn unasked."""

(KENDALL_MARGINAL, KENDALL_CONDITIONAL), (SPEARMAN_MARGINAL, SPEARMAN_CONDITIONAL) = (
    (
        Metric(
            name=f"{name}_marginal",
            title=f"Order of levels ({called})",
            goal="maximize",
            lowest=-1.0,
            says=f"Whether the levels of a column keep their order of frequency ({called}, averaged over columns).",
        ),
        Metric(
            name=f"{name}_conditional",
            title=f"Order of levels given another column ({called})",
            goal="maximize",
            lowest=-1.0,
            says=f"Whether levels keep their order of frequency given a level of another column ({called}).",
        ),
    )
    for name, called in (("kendall", "Kendall's tau"), ("spearman", "Spearman's rho"))
)


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


@measures(KENDALL_MARGINAL, place=10)
def kendall_marginal(real: Source, synthetic: Source) -> Score:
    """Averaged over columns (pegs.txt figure 8); the breakdown has one value per column."""
    return _marginal(KENDALL_MARGINAL, kendall, real, synthetic)


@measures(SPEARMAN_MARGINAL, place=11)
def spearman_marginal(real: Source, synthetic: Source) -> Score:
    """Averaged over columns (pegs.txt figure 8); the breakdown has one value per column."""
    return _marginal(SPEARMAN_MARGINAL, spearman, real, synthetic)


@measures(KENDALL_CONDITIONAL, "conditional_on", place=12)
def kendall_conditional(real: Source, synthetic: Source, *, conditional_on: str | None = None) -> Score:
    """Given one column, or every other of at most 512 levels (pegs.txt figure 9); "other | given" in the breakdown."""
    return _conditional(KENDALL_CONDITIONAL, kendall, real, synthetic, conditional_on)


@measures(SPEARMAN_CONDITIONAL, "conditional_on", place=13)
def spearman_conditional(real: Source, synthetic: Source, *, conditional_on: str | None = None) -> Score:
    """Given one column, or every other of at most 512 levels (pegs.txt figure 9); "other | given" in the breakdown."""
    return _conditional(SPEARMAN_CONDITIONAL, spearman, real, synthetic, conditional_on)


def _marginal(metric: Metric, agreement: Agreement, real: Source, synthetic: Source) -> Score:
    tables = grids(real, synthetic, tables_of_width(real.codebook, 1))
    return _mean_of_defined(metric, {name: agreement(a, b) for (name,), a, b in tables})


def _conditional(
    metric: Metric, agreement: Agreement, real: Source, synthetic: Source, conditional_on: str | None
) -> Score:
    parts = {}
    for (given, other), a, b in given_grids(real, synthetic, conditional_on):
        if conditional_on is None and len(a) > MOST_GIVEN:
            continue
        values = np.array([agreement(a[level], b[level]) for level in range(len(a))])
        defined = values[~np.isnan(values)]
        parts[f"{other} | {given}"] = float(defined.mean()) if len(defined) else float("nan")
    return _mean_of_defined(metric, parts)


def _mean_of_defined(metric: Metric, parts: Mapping[str, float]) -> Score:
    """The mean of those that are defined; the note says how many are not."""
    if not parts:
        return metric.undefined("no column has another to be given.")
    defined = {name: value for name, value in parts.items() if not math.isnan(value)}
    missing = len(parts) - len(defined)
    note = f"{missing} of {len(parts)} have no order in one of the tables and are left out." if missing else ""
    return metric.mean(defined, note=note, empty=note)
