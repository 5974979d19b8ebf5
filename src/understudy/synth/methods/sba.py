"""`sba`: the stability-based histogram (sbhg.txt Algorithm 1, with the threshold of ``stability_histogram.md``)."""

from dataclasses import dataclass

from understudy.codebook import Codebook
from understudy.mechanisms.stability import stable_histogram, stable_histogram_entry
from understudy.mechanisms.stream import Stream
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable
from understudy.synth.histograms import TableRecipe
from understudy.synth.method_facts import synthesis_facts
from understudy.synth.options import delta_option, epsilon_option, neighbours_option


@dataclass(frozen=True, kw_only=True)
class StabilityBasedHistogram(TableRecipe):
    """Noise on occupied cells only; a cell is shown when its noisy count reaches a threshold."""

    facts = synthesis_facts(
        "sba",
        route="N",
        guarantee="(ε, δ)-DP, table released once",
        public="levels and edges",
        paper="SBHG",
        paper_claim="Scale 2/ε and threshold 1 + (2/ε) ln(2/δ) give (ε, δ)-DP; Prop 2.1 gives the error.",
        sound="holds with conditions",
        truth="The threshold is valid and larger than needed; with discrete noise δ = q^(T-1)/(1+q) exactly. Prop "
        "2.1 has the wrong probability and the wrong mean.",
        page="histograms",
        proofs=("stability_histogram",),
        exact_tests=("stability",),
        audits=(
            "noise_audit",
            "audit_command",
        ),
    )
    summary = "stability-based histogram: noise on occupied cells, small counts withheld"
    example = {"epsilon": 1.0, "delta": 1e-6}
    epsilon: float = epsilon_option()
    delta: float = delta_option()
    neighbours: Neighbours = neighbours_option()

    def table_entry(self, book: Codebook) -> Entry:
        """Threshold from epsilon and delta."""
        return stable_histogram_entry(book.names, epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours)

    def perturb_table(self, counts: Secret[CountTable], stream: Stream) -> tuple[CountTable, Entry]:
        """Noise, then threshold."""
        return stable_histogram(
            counts, epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours, stream=stream
        )
