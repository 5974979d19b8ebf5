"""`marginal-bootstrap`: independent columns by the Dirichlet draw (McClure and Reiter): each costs ln(1 + 1/alpha)."""

from dataclasses import dataclass

from understudy.blocks.choosing import NoParents, ParentChoice
from understudy.errors import ParameterError
from understudy.synth.method_facts import synthesis_facts
from understudy.synth.methods.pegs import PeGS


@dataclass(frozen=True, kw_only=True)
class MarginalBootstrap(PeGS):
    """Each column on its own, smoothed and drawn from at a price: PeGS without parents."""

    facts = synthesis_facts(
        "marginal-bootstrap",
        route="S",
        guarantee="ε-DP or (ε, δ)-DP of the whole file; with `l` entropy l-diversity instead, which is not DP",
        public="levels, prior, number of rows",
        paper="PeGS, as a yardstick",
        paper_claim="nothing of its own",
        sound="no claim",
        truth="PeGS without parents: the same price per draw.",
        page="bootstraps",
        proofs=("dirichlet_draw", "l_diversity"),
        exact_tests=(
            "pegs_exact",
            "pegs_diverse",
            "dirichlet_vectors",
        ),
        audits=("audit_command",),
    )
    summary = "independent columns from smoothed one-way counts, every drawn row costs"
    example = {"alpha": 5.0}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.parents or self.sweeps != 1 or self.key != "columns":
            raise ParameterError(
                f"{self.name} treats columns as independent, so parents, key and more than one sweep have no meaning; "
                "leave them out, or use pegs."
            )

    def choice(self, columns: int) -> ParentChoice:
        """None at all."""
        return NoParents()
