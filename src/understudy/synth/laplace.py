"""`laplace`: discrete Laplace noise on every cell of the full table, pure epsilon-DP."""

from dataclasses import dataclass
from typing import ClassVar

from understudy.codebook import Codebook
from understudy.mechanisms.histogram import noisy_histogram, noisy_histogram_entry
from understudy.mechanisms.stream import Stream
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable
from understudy.synth.histograms import TableRecipe
from understudy.synth.recipe import positive


@dataclass(frozen=True, kw_only=True)
class LaplaceHistogram(TableRecipe):
    """Noisy histogram of full records; on huge domains a sparse one that never touches empty cells."""

    name: ClassVar[str] = "laplace"
    route: ClassVar[str] = "N"
    summary: ClassVar[str] = "noisy histogram of full records; sparse on huge domains"
    promise: ClassVar[str] = "epsilon-DP; rows are free"
    epsilon: float
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)

    def table_entry(self, book: Codebook) -> Entry:
        """Sensitivity over scale."""
        return noisy_histogram_entry(book.names, book.sizes, epsilon=self.epsilon, neighbours=self.neighbours)

    def perturb_table(self, counts: Secret[CountTable], stream: Stream) -> tuple[CountTable, Entry]:
        """Noise every cell."""
        return noisy_histogram(counts, epsilon=self.epsilon, neighbours=self.neighbours, stream=stream)
