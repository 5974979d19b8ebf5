"""Base of SBHG and its variant: parents, one released table per column, rejecting Gibbs chains (sbhg.txt Alg. 2)."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.blocks.choosing import DeclaredParents, ParentChoice, PrivateParents, parent_choice
from understudy.codebook import Codebook
from understudy.errors import ParameterError
from understudy.mechanisms.stream import Stream
from understudy.parameters import SHARE, Panel, option
from understudy.privacy.events import Event
from understudy.privacy.facts import MethodFacts
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import Secret
from understudy.sources.base import Report, Source
from understudy.sources.tables import CountTable
from understudy.synth.assumed import public_size
from understudy.synth.method_facts import synthesis_facts
from understudy.synth.options import (
    delta_option,
    epsilon_option,
    neighbours_option,
    parent_count_option,
    parents_option,
    public_rows_option,
    sweeps_option,
)
from understudy.synth.released import Perturbed, ReleasedRecipe


def hashed_facts(
    name: str,
    *,
    paper: str,
    paper_claim: str,
    sound: str,
    truth: str,
    proof: str,
    exact_tests: tuple[str, ...],
) -> MethodFacts:
    """The facts of one variant."""
    return synthesis_facts(
        name,
        route="N",
        guarantee="(ε, δ)-DP, tables released once",
        public="levels, a bound on the number of records (private parents)",
        paper=paper,
        paper_claim=paper_claim,
        sound=sound,
        truth=truth,
        page="sbhg",
        proofs=(proof, "exponential_selection"),
        exact_tests=exact_tests,
        audits=("sbhg_audit", "audit_command"),
    )


@dataclass(frozen=True, kw_only=True)
class HashedGibbs(ReleasedRecipe):
    """Route N: stability-thresholded tables of every column with its parents, released once."""

    example = {"epsilon": 2.0, "delta": 1e-6, "public_rows": 5000, "parent_count": 1}

    epsilon: float = epsilon_option()
    delta: float = delta_option()
    neighbours: Neighbours = neighbours_option()
    parents: Mapping[str, tuple[str, ...]] | str | ParentChoice | None = parents_option("private")
    parent_count: int = parent_count_option()
    selection_share: float = option(
        0.2, rule=SHARE, panel=Panel.PRIVACY, help="Share of the budget that a private choice of parents takes."
    )
    public_rows: int | None = public_rows_option()
    sweeps: int = sweeps_option(20, about="S: sweeps of each chain; free, the tables are paid for.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.parents == "private" and self.public_rows is None:
            raise ParameterError(
                f"{self.name} chooses parents privately, which needs `public_rows`, the known size of the table "
                "(an upper bound is enough under add-remove). Or name the parents: parents = 'declared'."
            )
        self.choice(1.0)

    def choice(self, pick_epsilon: float) -> ParentChoice:
        """How the parents are chosen, each pick at ``pick_epsilon``."""
        return parent_choice(
            self.parents,
            count=self.parent_count,
            neighbours=self.neighbours,
            pick_epsilon=pick_epsilon,
            public_rows=self.public_rows,
        )

    def picks(self, book: Codebook) -> int:
        """How many private selections are paid for."""
        return self.parent_count * len(book.names) if isinstance(self.choice(1.0), PrivateParents) else 0

    def target(self, book: Codebook) -> dict[str, Any]:
        """What picks and tables together must meet, and how many there are."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "tables": len(book.names),
            "picks": self.picks(book),
            "share": self.selection_share,
            "neighbours": self.neighbours,
        }

    @abstractmethod
    def pick_epsilon(self, book: Codebook) -> float:
        """Price of one pick."""

    @abstractmethod
    def table_events(self, book: Codebook) -> Sequence[Event]:
        """What the tables cost together, at the calibrated noise."""

    @abstractmethod
    def release(self, counts: Sequence[Secret[CountTable]], book: Codebook, stream: Stream) -> Perturbed:
        """Perturbed tables and the entries of their mechanisms."""

    def price(self, book: Codebook, rows: int) -> list[Entry]:
        """The choice of parents, then the tables; rows are free."""
        self.choice(1.0).check(book)  # before its price, which needs a count that makes sense
        choice = self.choice(self.pick_epsilon(book) if self.picks(book) else 1.0)
        return [*choice.entries(book), *self._table_entries(book)]

    def warnings(self, book: Codebook) -> list[str]:
        """Also: whether any cell could be expected to reach the threshold, from public sizes only."""
        warnings = super().warnings(book)
        if self.public_rows is not None:
            smallest = sorted(book.sizes)[: self.parent_count + 1]
            average = self.public_rows / math.prod(smallest)
            threshold = self.threshold(book)
            if threshold > average:
                warnings.append(
                    f"cells are shown from a count of {threshold:,} on, and even the coarsest {len(smallest)} columns "
                    f"leave {average:,.3g} of {self.public_rows:,} records per cell on average: expect most to be "
                    f"withheld. Try an epsilon some {threshold / average:.2g} times as large, fewer parents or "
                    "coarser levels."
                )
        return warnings

    @abstractmethod
    def threshold(self, book: Codebook) -> int:
        """From which noisy count on a cell is shown; public."""

    def _table_entries(self, book: Codebook) -> list[Entry]:
        events = list(self.table_events(book))
        together = len(events) == 1
        by_hand = isinstance(self.choice(1.0), DeclaredParents)
        declared = ("the parents of every column were fixed without looking at the data",) if by_hand else ()
        names = [", ".join(book.names)] if together else list(book.names)
        return [
            Entry(
                stage="tables",
                reads=f"counts of {name} with {'their' if together else 'its'} parents, small ones withheld",
                event=event,
                assumptions=(*public_size(book, self.neighbours), *declared),
            )
            for name, event in zip(names, events, strict=True)
        ]

    def perturb(self, source: Source, stream: Stream, report: Report | None) -> Perturbed:
        """Choose, count, perturb."""
        book = source.codebook
        choice = self.choice(self.pick_epsilon(book) if self.picks(book) else 1.0)
        parents = choice.choose(source, stream, report)
        counts = source.count([(*parents[name], name) for name in book.names], report)
        return self.release(counts, book, stream)
