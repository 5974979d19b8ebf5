"""PeGS: one Gibbs sweep over perturbed conditional tables per synthetic record (pegs.txt, Algorithm of section 3)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from understudy.errors import ParameterError
from understudy.mechanisms.dirichlet import DirichletDraws, Prior, alpha_for, draw_epsilon
from understudy.samplers.gibbs import ConditionalSampler
from understudy.synth.perturbed import Drawing, PerturbedRecipe


@dataclass(frozen=True, kw_only=True)
class PeGS(PerturbedRecipe):
    """Perturbed Gibbs sampler.

    >>> import understudy as us
    >>> book = us.datasets.discharges_codebook()
    >>> quote = us.PeGS(epsilon_per_record=1.0, delta=1e-6).quote(book, rows=1000)
    >>> round(quote.pure.epsilon), round(quote.total.epsilon, 1)
    (1000, 20.1)
    """

    name: ClassVar[str] = "pegs"
    summary: ClassVar[str] = "perturbed Gibbs sampler: smoothed conditional tables, every drawn row costs"
    promise: ClassVar[str] = "epsilon-DP, or (epsilon, delta)-DP for the whole file"
    sweeps: int = 1
    """Gibbs sweeps per row; each is paid for."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.sweeps, bool) or not isinstance(self.sweeps, int) or self.sweeps < 1:
            raise ParameterError(f"`sweeps` is {self.sweeps!r}; it must be a whole number of 1 or more. Try 1.")

    def event(self, priors: tuple[Prior, ...], rows: int) -> DirichletDraws:
        """Rows x sweeps draws from every table."""
        return DirichletDraws(priors=priors, draws=rows * self.sweeps, neighbours=self.neighbours)

    def paper_alpha(self, columns: int) -> Fraction:
        """Equation 8, charged for every sweep."""
        assert self.epsilon_per_record is not None
        return alpha_for(epsilon_per_record=self.epsilon_per_record, columns=columns * self.sweeps)

    def paper_epsilon(self, priors: tuple[Prior, ...]) -> float:
        """M ln(1 + 1/alpha) per sweep."""
        return self.sweeps * math.fsum(draw_epsilon(prior) for prior in priors)

    def draw(
        self, sampler: ConditionalSampler, fitted: Drawing, rows: int
    ) -> Sequence[npt.NDArray[np.unsignedinteger]]:
        """From each seed row, ``sweeps`` sweeps."""
        return sampler.sweep(
            fitted.seed_rows(rows),
            sweeps=self.sweeps,
            stream=fitted.stream,
            report=fitted.report_rows,
            threads=fitted.threads,
        )
