"""`laplace`: discrete Laplace noise on every cell of the full table, pure epsilon-DP."""

from dataclasses import dataclass

from understudy.codebook import Codebook
from understudy.mechanisms.histogram import noisy_histogram, noisy_histogram_entry
from understudy.mechanisms.stream import Stream
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable
from understudy.synth.histograms import TableRecipe
from understudy.synth.method_facts import synthesis_facts
from understudy.synth.options import epsilon_option, neighbours_option


@dataclass(frozen=True, kw_only=True)
class LaplaceHistogram(TableRecipe):
    """Noisy histogram of full records; on huge domains a sparse one that never touches empty cells."""

    facts = synthesis_facts(
        "laplace",
        route="N",
        guarantee="ε-DP, table released once",
        public="levels and edges",
        paper="SBHG, as a yardstick",
        paper_claim="Laplace noise of scale 2/ε on every cell is ε-DP (replace-one).",
        sound="holds with conditions",
        truth="True of real numbers; floating-point Laplace noise leaks. Here exact discrete noise, on every cell "
        "of the public domain, visited or not; scale 1/ε under add-remove.",
        page="histograms",
        proofs=(
            "geometric_histogram",
            "sparse_histogram",
        ),
        exact_tests=("noise_exact",),
        audits=(
            "noise_audit",
            "audit_command",
        ),
    )
    summary = "noisy histogram of full records; sparse on huge domains"
    example = {"epsilon": 1.0}
    epsilon: float = epsilon_option()
    neighbours: Neighbours = neighbours_option()

    def table_entry(self, book: Codebook) -> Entry:
        """Sensitivity over scale."""
        return noisy_histogram_entry(book.names, book.sizes, epsilon=self.epsilon, neighbours=self.neighbours)

    def perturb_table(self, counts: Secret[CountTable], stream: Stream) -> tuple[CountTable, Entry]:
        """Noise every cell."""
        return noisy_histogram(counts, epsilon=self.epsilon, neighbours=self.neighbours, stream=stream)
