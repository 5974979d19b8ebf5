"""PeGS: one Gibbs sweep over perturbed conditional tables per synthetic record (pegs.txt, Algorithm of section 3)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from understudy.mechanisms.dirichlet import DirichletDraws, Prior, alpha_for, draw_epsilon
from understudy.samplers.gibbs import ConditionalSampler
from understudy.synth.method_facts import synthesis_facts
from understudy.synth.options import sweeps_option
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

    facts = synthesis_facts(
        "pegs",
        route="S",
        guarantee="ε-DP or (ε, δ)-DP of the whole file",
        public="levels, parents, prior, starts of chains, number of rows",
        paper="PeGS",
        paper_claim="One sample is ε-DP if α ≥ 1/(e^(ε/M) - 1) (Eq 8); the tables print that ε.",
        sound="holds with conditions",
        truth="True of one row of one sweep with public levels, parents, prior and starts; the paper's own bins, "
        "mutual-information keys and real seeds break it. A file of N rows costs N times as much: that total "
        "is stated.",
        page="pegs",
        proofs=(
            "dirichlet_draw",
            "exponential_selection",
        ),
        exact_tests=(
            "pegs_exact",
            "dirichlet_vectors",
            "rules_exact",
            "exponential_exact",
        ),
        audits=("audit_command",),
    )
    summary = "perturbed Gibbs sampler: smoothed conditional tables, every drawn row costs"
    example = {"epsilon_per_record": 1.0, "delta": 1e-6}
    sweeps: int = sweeps_option(1, about="Gibbs sweeps per row; each is paid for.")

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
