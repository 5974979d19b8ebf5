"""PeGS.rs: a block of B records per chain; a cell that was drawn from is reset (pegs.txt section 3.4)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from understudy.mechanisms.dirichlet import DirichletResetBlocks, Prior, alpha_for, draw_epsilon
from understudy.parameters import Whole, option
from understudy.samplers.gibbs import ConditionalSampler
from understudy.synth.method_facts import synthesis_facts
from understudy.synth.perturbed import Drawing, PerturbedRecipe


@dataclass(frozen=True, kw_only=True)
class PeGSReset(PerturbedRecipe):
    """Block sampler with reset: one block costs what one record of PeGS costs, under add-remove.

    >>> import understudy as us
    >>> book = us.datasets.discharges_codebook()
    >>> us.PeGSReset(alpha=12.5064, block_size=10).quote(book, rows=1000).pure.epsilon.__round__()
    100
    """

    facts = synthesis_facts(
        "pegs-rs",
        route="S",
        guarantee="ε-DP or (ε, δ)-DP of the whole file",
        public="levels, parents, prior, starts of chains, number of rows, block size",
        paper="PeGS.rs",
        paper_claim="A block of B samples costs what one sample costs (Eq 9).",
        sound="holds with conditions",
        truth="True under add-remove with a reset after every sweep. False under replace-one, where two cells per "
        "column differ (ratio 5.994 against 4): there the larger price is charged. J blocks cost J times as "
        "much.",
        page="pegs-rs",
        proofs=(
            "dirichlet_reset",
            "exponential_selection",
        ),
        exact_tests=(
            "pegs_rs_exact",
            "dirichlet_vectors",
            "exponential_exact",
        ),
        audits=("audit_command",),
    )
    summary = "PeGS in blocks: a cell is reset once drawn from, so a block of B rows costs one"
    example = {"epsilon_per_record": 1.0, "delta": 1e-6, "block_size": 10}
    block_size: int = option(
        rule=Whole(tried=10),
        help="B: rows per chain. Larger blocks cost less per row and drift towards the prior.",
    )

    def _blocks(self, rows: int) -> int:
        return -(-rows // self.block_size)

    def event(self, priors: tuple[Prior, ...], rows: int) -> DirichletResetBlocks:
        """One charge per block, however few of its rows are kept."""
        return DirichletResetBlocks(priors=priors, blocks=self._blocks(rows), neighbours=self.neighbours)

    def paper_alpha(self, columns: int) -> Fraction:
        """Equation 9: a block of B records may cost B times the figure per record."""
        assert self.epsilon_per_record is not None
        return alpha_for(epsilon_per_record=self.epsilon_per_record * self.block_size, columns=columns)

    def paper_epsilon(self, priors: tuple[Prior, ...]) -> float:
        """M ln(1 + 1/alpha) / B."""
        return math.fsum(draw_epsilon(prior) for prior in priors) / self.block_size

    def draw(
        self, sampler: ConditionalSampler, fitted: Drawing, rows: int
    ) -> Sequence[npt.NDArray[np.unsignedinteger]]:
        """All rows of all chains; the last chain may be cut short."""
        seeds = fitted.seed_rows(self._blocks(rows))
        drawn = sampler.sweep_with_reset(
            seeds,
            block_size=min(self.block_size, rows),
            stream=fitted.stream,
            report=fitted.report_rows,
            threads=fitted.threads,
        )
        return [column[:rows] for column in drawn]
