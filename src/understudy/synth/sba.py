"""`sba`: the stability-based histogram (sbhg.txt Algorithm 1, with the threshold that PRIVACY section 6 proves)."""

from dataclasses import dataclass
from typing import ClassVar

from understudy.codebook import Codebook
from understudy.errors import ParameterError
from understudy.mechanisms.stability import stable_histogram, stable_histogram_entry
from understudy.mechanisms.stream import Stream
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable
from understudy.synth.histograms import TableRecipe
from understudy.synth.recipe import positive


@dataclass(frozen=True, kw_only=True)
class StabilityBasedHistogram(TableRecipe):
    """Noise on occupied cells only; a cell is shown when its noisy count reaches a threshold."""

    name: ClassVar[str] = "sba"
    route: ClassVar[str] = "N"
    summary: ClassVar[str] = "stability-based histogram: noise on occupied cells, small counts withheld"
    promise: ClassVar[str] = "(epsilon, delta)-DP; rows are free"
    epsilon: float
    delta: float
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        if not isinstance(self.delta, float) or not 0 < self.delta < 1:
            raise ParameterError(f"`delta` is {self.delta!r}; it must lie strictly between 0 and 1. Try 1e-6.")

    def table_entry(self, book: Codebook) -> Entry:
        """Threshold from epsilon and delta."""
        return stable_histogram_entry(book.names, epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours)

    def perturb_table(self, counts: Secret[CountTable], stream: Stream) -> tuple[CountTable, Entry]:
        """Noise, then threshold."""
        return stable_histogram(
            counts, epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours, stream=stream
        )
