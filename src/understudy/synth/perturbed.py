"""Base of PeGS, PeGS.rs and the marginal bootstrap: smoothed conditional tables, drawn from at a price."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from understudy.blocks.choosing import DeclaredParents, ParentChoice, PrivateParents, parent_choice
from understudy.blocks.conditional import Blocks, Smoothing, build_blocks, key_functions
from understudy.blocks.keys import KeyFunction
from understudy.blocks.parents import declared_parents
from understudy.blocks.priors import PriorShape, PublicShape, Shape, virtual_records
from understudy.codebook import Codebook
from understudy.mechanisms.dirichlet import DirichletDraws, DirichletResetBlocks, Prior
from understudy.mechanisms.l_diversity import diversified
from understudy.mechanisms.laplace_tables import share_of
from understudy.mechanisms.smoothing import Weights, open_for_draws, smoothed
from understudy.mechanisms.stream import Stream
from understudy.parameters import EPSILON, Panel, option
from understudy.privacy.events import Event
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.provenance import InputRole, Provenance
from understudy.samplers.gibbs import ConditionalSampler
from understudy.sources.base import Report, Source
from understudy.synth.diversity import Diversity
from understudy.synth.drawers import PerturbedDrawer, RangeDrawer
from understudy.synth.drawn import DrawnRecipe
from understudy.synth.options import (
    PriorRule,
    key_option,
    key_space_option,
    parent_count_option,
    parents_option,
    public_rows_option,
)
from understudy.synth.recipe import Fitted
from understudy.synth.seeds import seeds_assumption, seeds_entry

Codes = npt.NDArray[np.unsignedinteger]


class Drawing(Protocol):
    """What a recipe needs while it draws; a fit and a range of rows on a worker both provide it."""

    @property
    def stream(self) -> Stream:
        """The stream that the rows come from."""

    @property
    def threads(self) -> int | None:
        """Threads to use; None for one per core."""

    def seed_rows(self, count: int) -> list[Codes]:
        """Starting rows."""

    def report_rows(self, done: int, total: int) -> None:
        """Progress of the draw."""


@dataclass(frozen=True, kw_only=True)
class PerturbedRecipe(DrawnRecipe):
    """Smoothed conditional tables that stay secret; every draw from them costs."""

    ranged: ClassVar[bool] = True

    prior: Shape = option(PriorShape.UNIFORM, rule=PriorRule(), help="uniform, ordinal, or the path of a public table.")
    parents: Mapping[str, tuple[str, ...]] | str | ParentChoice | None = parents_option()
    parent_count: int = parent_count_option()
    selection_epsilon: float | None = option(
        None, rule=EPSILON, panel=Panel.PRIVACY, help="Price of choosing parents privately."
    )
    public_rows: int | None = public_rows_option()
    key: str = key_option()
    key_space: int | None = key_space_option()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.choice(1)  # refuse an unknown word at once

    @property
    def public_tables(self) -> Mapping[InputRole, str]:
        """A public table may shape the prior too."""
        shaped = {InputRole.PRIOR: self.prior.source} if isinstance(self.prior, PublicShape) else {}
        return {**super().public_tables, **shaped}

    def public_inputs(self, confidential: Any = None) -> dict[InputRole, Provenance]:
        """The table behind the prior was read when the recipe was made, and asked then what it is."""
        inputs = super().public_inputs(confidential)
        if isinstance(self.prior, PublicShape):
            inputs[InputRole.PRIOR] |= self.prior.provenance
        return inputs

    @abstractmethod
    def event(self, priors: tuple[Prior, ...], rows: int) -> DirichletDraws | DirichletResetBlocks:
        """What ``rows`` rows drawn with these priors cost."""

    @abstractmethod
    def paper_epsilon(self, priors: tuple[Prior, ...]) -> float:
        """The paper's per-record figure at these priors."""

    @abstractmethod
    def draw(self, sampler: ConditionalSampler, fitted: Drawing, rows: int) -> Sequence[Codes]:
        """Rows from the opened tables."""

    def event_at_one(self, book: Codebook, rows: int) -> DirichletDraws | DirichletResetBlocks:
        """With one virtual record for the level that has the fewest."""
        ones = virtual_records(book, smallest=Fraction(1), shape=self.prior)
        return self.event(tuple(item.prior for item in ones), rows)

    def other_events(self, book: Codebook) -> tuple[Event, ...]:
        """A private choice of parents is paid from the same target."""
        return tuple(entry.event for entry in self.choice(len(book.names)).entries(book) if entry.event.proof)

    def choice(self, columns: int) -> ParentChoice:
        """How the parents are chosen."""
        picks = max(1, self.parent_count * columns)
        return parent_choice(
            self.parents,
            count=self.parent_count,
            neighbours=self.neighbours,
            pick_epsilon=None if self.selection_epsilon is None else share_of(self.selection_epsilon, picks),
            public_rows=self.public_rows,
        )

    @property
    def chooses_privately(self) -> bool:
        """Whether the data choose the parents, at a price."""
        return self.parents == "private" or isinstance(self.parents, PrivateParents)

    def priors(self, book: Codebook) -> tuple[Prior, ...]:
        """The public priors, as the event wants them."""
        records = virtual_records(book, smallest=self.alpha_used(book), shape=self.prior)
        return tuple(item.prior for item in records)

    @property
    def diversity(self) -> Diversity | None:
        """What the tables must have instead of a price; only PeGS offers that."""
        return None

    def draws_event(self, book: Codebook, rows: int) -> Event:
        """What ``rows`` rows cost, or what is promised of them instead."""
        return self.diversity.event(book) if self.diversity else self.event(self.priors(book), rows)

    def price(self, book: Codebook, rows: int) -> list[Entry]:
        """The choice of parents and of seeds first, then the draws."""
        self._check_parents(book)
        reads = f"conditional tables of {len(book.names)} columns, by drawing {rows:,} rows"
        unpaid = seeds_entry(self.seeds)
        seeds = [] if unpaid is None else [unpaid]
        if self.diversity:  # parents only shape the tables, and every table is l-diverse (proofs/l_diversity.md)
            return [*seeds, *self.diversity.entries(book, reads)]
        draws = Entry(
            stage="rows",
            reads=reads,
            event=self.draws_event(book, rows),
            assumptions=(*book.assumptions, *self._assumptions()),
        )
        return [*self.choice(len(book.names)).entries(book), *seeds, draws]

    def _check_parents(self, book: Codebook) -> None:
        """Refuse impossible keys before any data is read."""
        choice = self.choice(len(book.names))
        choice.check(book)
        if isinstance(choice, DeclaredParents):
            key_functions(book, declared_parents(book, choice.overrides), self.key, self.key_space)

    def _assumptions(self) -> tuple[str, ...]:
        chosen = "" if self.chooses_privately else "the parents of every column, "
        keys = f"{chosen}the prior and the number of rows were fixed without looking at the data"
        shape: tuple[str, ...] = ()
        if isinstance(self.prior, PublicShape):
            shape = (f"the prior's shape comes from {self.prior.source}, a public table",)
        return (keys, *shape, *seeds_assumption(self.seeds))

    def paper_figure(self, book: Codebook) -> dict[str, Any]:
        """Epsilon per record, as the paper prints it; l instead where that is asked for."""
        if self.diversity:
            return self.diversity.paper_figure(book)
        alpha = self.alpha_used(book)
        epsilon = self.paper_epsilon(self.priors(book))
        return {
            "epsilon_per_record": epsilon,
            "alpha": float(alpha),
            "statement": f"The paper's figure is epsilon = {epsilon:.4g} per synthetic record, for its codes.",
        }

    def _smoothing(self, book: Codebook) -> list[Smoothing]:
        """What is done to the counts of each column: one alpha for all keys, or for every key as much as l needs."""
        if self.diversity:
            return [partial(diversified, l=l, floor=self.diversity.floor) for l in self.diversity.ls(book)]  # noqa: E741
        records = virtual_records(book, smallest=self.alpha_used(book), shape=self.prior)
        return [partial(smoothed, virtual=item) for item in records]

    def sampler(self, book: Codebook, keys: Sequence[KeyFunction], weights: Sequence[Weights]) -> ConditionalSampler:
        """Draws from opened tables. Virtual records that rules displace stay in a priced draw (dirichlet_draw.md)."""
        return ConditionalSampler(book, keys, weights, virtual=self.diversity is None)

    def fit_records(self, source: Source, stream: Stream, report: Report | None) -> "FittedPerturbed":
        """Count, smooth, keep secret."""
        book = source.codebook
        parents = self.choice(len(book.names)).choose(source, stream, report)
        keys = key_functions(book, parents, self.key, self.key_space)
        blocks = build_blocks(source, keys=keys, smoothing=self._smoothing(book), report=report)
        fitted = FittedPerturbed(recipe=self, source=source, blocks=blocks, stream=stream, report=report)
        fitted._chosen = {name: tuple(chosen) for name, chosen in parents.items()}
        return fitted


class FittedPerturbed(Fitted):
    """Smoothed tables, still secret."""

    threads: int | None = None
    _chosen: dict[str, tuple[str, ...]]

    def __init__(
        self,
        *,
        recipe: PerturbedRecipe,
        source: Source,
        blocks: Blocks,
        stream: Stream,
        report: Report | None,
    ) -> None:
        super().__init__(recipe=recipe, source=source, stream=stream, report=report)
        self._source = source
        self.blocks = blocks

    @property
    def parents(self) -> dict[str, tuple[str, ...]]:
        """What every column is drawn given, as declared or chosen; what the data chose is shown once it is paid for."""
        assert isinstance(self.recipe, PerturbedRecipe)
        if self.recipe.choice(len(self.codebook.names)).entries(self.codebook):
            self._require_paid("the parents")
        return self._chosen

    def _draw(self, rows: int, ledger: Ledger) -> Sequence[Codes]:
        assert isinstance(self.recipe, PerturbedRecipe)
        event = self.recipe.draws_event(self.codebook, rows)
        weights = open_for_draws(self.blocks.tables, event=event, ledger=ledger)
        sampler = self.recipe.sampler(self.codebook, self.blocks.keys, weights)
        return self.recipe.draw(sampler, self, rows)

    def drawer(self, rows: int, ledger: Ledger) -> RangeDrawer:
        """For ``rows`` rows in all, drawn in ranges, once they are paid for."""
        assert isinstance(self.recipe, PerturbedRecipe)
        self._require_paid("the smoothed tables")
        event = self.recipe.draws_event(self.codebook, rows)
        weights = open_for_draws(self.blocks.tables, event=event, ledger=ledger)
        cells = self.recipe.seeds.cells(self._source)
        return PerturbedDrawer(
            recipe=self.recipe, book=self.codebook, keys=self.blocks.keys, weights=weights, cells=cells
        )

    def seed_rows(self, count: int) -> list[Codes]:
        """Starting rows from the declared pool."""
        assert isinstance(self.recipe, PerturbedRecipe)
        return self.recipe.seeds.draw(self._source, count, self._stream)

    @property
    def stream(self) -> Stream:
        """The stream that the rows come from."""
        return self._stream

    def report_rows(self, done: int, total: int) -> None:
        """Progress of the draw."""
        self._tell("drawing rows", done, total)
