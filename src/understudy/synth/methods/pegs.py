"""PeGS: one Gibbs sweep over perturbed conditional tables per synthetic record (pegs.txt, Algorithm of section 3)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from understudy.blocks.priors import PriorShape
from understudy.codebook import Codebook
from understudy.errors import ParameterError
from understudy.mechanisms.dirichlet import DirichletDraws, Prior, alpha_for, draw_epsilon
from understudy.samplers.gibbs import ConditionalSampler
from understudy.synth.diversity import Diversity, cap_option, floor_option, l_option
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
        guarantee="ε-DP or (ε, δ)-DP of the whole file; with `l` entropy l-diversity instead, which is not DP",
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
            "l_diversity",
        ),
        exact_tests=(
            "pegs_exact",
            "pegs_diverse",
            "dirichlet_vectors",
            "rules_exact",
            "exponential_exact",
        ),
        audits=("audit_command",),
    )
    summary = "perturbed Gibbs sampler: smoothed conditional tables, every drawn row costs"
    example = {"epsilon_per_record": 1.0, "delta": 1e-6}
    targets: ClassVar[Mapping[str, str]] = {
        **PerturbedRecipe.targets,
        "l": "l (l-diversity, which is not differential privacy)",
    }
    sweeps: int = sweeps_option(1, about="Gibbs sweeps per row; each is paid for.")
    l: float | Mapping[str, float] | None = l_option(None)  # noqa: E741 - the field's own name for it
    cap: bool = cap_option()
    floor: float = floor_option()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.diversity and (strange := [name for name in ("delta", "rows") if getattr(self, name) is not None]):
            raise ParameterError(
                f"`{strange[0]}` is {getattr(self, strange[0])} beside `l`: it belongs to differential privacy, which "
                "l-diversity is not. Leave it out, or give an epsilon instead of `l`."
            )
        if self.diversity and self.prior != PriorShape.UNIFORM:
            raise ParameterError(
                f"`prior` is {self.parameters()['prior']!r} beside `l`: entropy is proved to rise towards the uniform "
                "distribution alone. Leave the prior out."
            )

    @property
    def diversity(self) -> Diversity | None:
        """Section 3.3B: every table as diverse as l asks."""
        return None if self.l is None else Diversity(l=self.l, cap=self.cap, floor=self.floor)

    def warnings(self, book: Codebook) -> list[str]:
        """Also what l does not promise."""
        warnings = super().warnings(book)
        if self.diversity:
            warnings += self.diversity.warnings()
            if self.chooses_privately:
                warnings.append(
                    "the parents are chosen by the exponential mechanism, but rows drawn with `l` are not "
                    "differentially private, so neither is the file: the price of the choice protects nothing here."
                )
        return warnings

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
