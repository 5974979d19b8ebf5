"""`gibbs`: the plain Gibbs sampler on exact conditional tables. A baseline that promises nothing."""

from collections.abc import Mapping
from dataclasses import dataclass

from understudy.blocks.choosing import ParentChoice, PrivateParents, parent_choice
from understudy.codebook import Codebook
from understudy.errors import ParameterError
from understudy.mechanisms.smoothing import exposed
from understudy.mechanisms.stream import Stream
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry
from understudy.sources.base import Report, Source
from understudy.synth.method_facts import baseline_facts
from understudy.synth.options import parent_count_option, parents_option, sweeps_option
from understudy.synth.released import Perturbed, ReleasedRecipe
from understudy.synth.ways import Chains

_READS = "exact conditional tables"
_WHY = "rows are drawn from exact conditional counts, which nobody paid for"


@dataclass(frozen=True, kw_only=True)
class GibbsSampler(ReleasedRecipe):
    """Full conditionals by default, or those given a few parents; chains start where all of them are known."""

    facts = baseline_facts(
        "gibbs",
        truth="Rows are drawn from exact conditional counts; a lone record shows.",
        page="bootstraps",
    )
    summary = "plain Gibbs sampler on exact conditional tables: a baseline"
    example = {}
    parents: Mapping[str, tuple[str, ...]] | str | ParentChoice | None = parents_option("full")
    parent_count: int = parent_count_option()
    sweeps: int = sweeps_option(20, about="Sweeps of each chain.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.parents == "private" or isinstance(self.parents, PrivateParents):
            raise ParameterError(
                f"{self.name} promises nothing, so a private choice of parents makes no sense; use mutual-information."
            )
        self.choice()

    def choice(self) -> ParentChoice:
        """How the parents are chosen."""
        return parent_choice(
            self.parents,
            count=self.parent_count,
            neighbours=Neighbours.ADD_REMOVE,
            pick_epsilon=None,
            public_rows=None,
        )

    def price(self, book: Codebook, rows: int) -> list[Entry]:
        """Nothing is paid."""
        self.choice().check(book)
        return [*self.choice().entries(book), Entry.unpriced(stage="tables", reads=_READS, why=_WHY)]

    def perturb(self, source: Source, stream: Stream, report: Report | None) -> Perturbed:
        """The exact tables, and whole records to start from."""
        book = source.codebook
        parents = self.choice().choose(source, stream, report)
        cliques = [(*parents[name], name) for name in book.names]
        tables, entry = exposed(source.count([*cliques, book.names], report), stage="tables", reads=_READS, why=_WHY)
        return Perturbed(way=Chains(sweeps=self.sweeps, starts=tables[-1]), tables=tables[:-1], entries=[entry])
