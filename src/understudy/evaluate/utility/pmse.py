"""Propensity score: can a logistic regression on main effects tell synthetic rows from real ones?

pMSE is the mean of (p - c)^2 over both tables together, where p is the fitted chance that a row is synthetic and c the
share of synthetic rows. If the rows came from the right model fitted to the real table, its expectation is
(k - 1)(1 - c)^2 c / N with k coefficients and N rows (Snoke, Raab, Nowok, Dibben and Slavkovic 2018, as in synthpop); a
bootstrap scores a ratio of 1 on average, and new rows of the same population 1 / (1 - c).
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.evaluate.checks import check_comparable
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.dummies import Design, affordable, logistic_newton, normal_matrix
from understudy.evaluate.utility.measure import measures
from understudy.evaluate.values import Records, records
from understudy.sources.base import Source

PMSE = Metric(
    name="pmse_ratio",
    title="Propensity score (pMSE ratio)",
    highest=math.inf,
    says="How well a logistic regression tells synthetic rows from real ones, over what a correct synthesis would "
    "give; about 1 is as good as a bootstrap.",
)


@dataclass(frozen=True, kw_only=True)
class Propensity:
    """The propensity score of two tables."""

    pmse: float
    null: float
    """Its expectation for a correct synthesis."""
    null_deviation: float
    coefficients: int

    @property
    def ratio(self) -> float:
        """pMSE over its expectation; 0 when there is nothing to tell apart."""
        return self.pmse / self.null if self.null else 0.0

    @property
    def standardized(self) -> float:
        """S_pMSE: distance from the expectation in its standard deviations."""
        return (self.pmse - self.null) / self.null_deviation if self.null_deviation else 0.0


def propensity(real: Records, synthetic: Records, sizes: tuple[int, ...]) -> Propensity:
    """From distinct records of both tables."""
    codes = np.concatenate([real.codes, synthetic.codes])
    weights = np.concatenate([real.weights, synthetic.weights])
    yes = np.concatenate([np.zeros(len(real.weights)), synthetic.weights])
    total, c = weights.sum(), synthetic.rows / weights.sum()
    design = Design.of([np.bincount(codes[:, j], weights, minlength=size) for j, size in enumerate(sizes)])
    beta = logistic_newton(design, codes, weights, yes)
    p = 1 / (1 + np.exp(-np.clip(design.scores(codes, beta), -500, 500)))
    k = _rank(normal_matrix(design, codes, weights))
    scale = (1 - c) ** 2 * c / total
    return Propensity(
        pmse=float((weights * (p - c) ** 2).sum() / total),
        null=(k - 1) * scale,
        null_deviation=math.sqrt(2 * (k - 1)) * scale,
        coefficients=k,
    )


@measures(PMSE, place=14)
def pmse(real: Source, synthetic: Source) -> Score:
    """The ratio to the null; the breakdown has pMSE itself, the null and the standardized score."""
    check_comparable(real, synthetic)
    book = real.codebook
    names = affordable(book, book.names)
    if not names:
        return PMSE.undefined("every column has more levels than a model can take.")
    fitted = propensity(records(real, names), records(synthetic, names), tuple(book.column(n).size for n in names))
    left_out = [name for name in book.names if name not in names]
    return PMSE.score(
        fitted.ratio,
        {
            "pmse": fitted.pmse,
            "null": fitted.null,
            "standardized": fitted.standardized,
            "coefficients": float(fitted.coefficients),
        },
        note="Every column as levels, main effects only."
        + (f" Left out for their many levels: {', '.join(left_out)}." if left_out else ""),
    )


def _rank(gram: npt.NDArray[np.float64]) -> int:
    """Number of coefficients that the data can tell apart."""
    scale = 1 / np.sqrt(np.diag(gram))
    return int(np.linalg.matrix_rank(gram * np.outer(scale, scale), hermitian=True, tol=1e-9))
