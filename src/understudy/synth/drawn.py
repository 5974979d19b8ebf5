"""Base of all recipes of route S: alpha, given directly or by a target, and the price of draws made with it."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Protocol, cast

from understudy.codebook import Codebook
from understudy.errors import ParameterError
from understudy.mechanisms.dirichlet import rational_alpha, smallest_alpha
from understudy.mechanisms.group import GroupOf
from understudy.parameters import EPSILON, ROWS, Number, Panel, option
from understudy.privacy.events import Event
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.provenance import InputRole
from understudy.synth.options import delta_option, epsilon_option, neighbours_option, seeds_option
from understudy.synth.recipe import Recipe
from understudy.synth.seeds import PublicSeeds, SeedPool


class _Scalable(Protocol):
    def scaled(self, factor: Fraction) -> Event: ...


@dataclass(frozen=True, kw_only=True)
class DrawnRecipe(Recipe):
    """Route S: the draw is the mechanism. Give exactly one of ``alpha``, ``epsilon_per_record`` or ``epsilon``."""

    targets: ClassVar[Mapping[str, str]] = {
        "alpha": "alpha",
        "epsilon_per_record": "epsilon_per_record",
        "epsilon": "epsilon (a whole-file target)",
    }
    """Options of which exactly one is given, in words."""
    shared_targets: ClassVar[tuple[tuple[str, str | None], ...]] = (
        ("detail_epsilon", "detail_delta"),
        ("selection_epsilon", None),
    )
    """The whole-file target is met for the person by choosing alpha, so it is not divided."""
    alpha: float | None = option(
        None,
        rule=Number(above=0, most=1e9, tried=1.0),
        panel=Panel.PRIVACY,
        help="Virtual records per level (the smallest, when the prior is not uniform), instead of an epsilon.",
    )
    epsilon_per_record: float | None = option(
        None, rule=EPSILON, panel=Panel.PRIVACY, help="The papers' figure: cost of one synthetic row."
    )
    epsilon: float | None = epsilon_option(None)
    delta: float | None = delta_option(None)
    rows: int | None = option(
        None, rule=ROWS, panel=Panel.PRIVACY, help="Number of rows that a whole-file target is meant for."
    )
    neighbours: Neighbours = neighbours_option()
    seeds: SeedPool = seeds_option()

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [name for name in self.targets if getattr(self, name) is not None]
        if len(given) != 1:
            *others, last = self.targets.values()
            raise ParameterError(
                f"{self.name} got {', '.join(given) or 'no privacy parameter'}; give exactly one of "
                f"{', '.join(others)} or {last}. There is no default for privacy."
            )
        if self.epsilon is not None and self.rows is None:
            raise ParameterError("`epsilon` is a whole-file target, so it needs `rows`: how many will be drawn?")

    @property
    def public_tables(self) -> Mapping[InputRole, str]:
        """Rows of a public file may start the chains."""
        return {InputRole.SEEDS: self.seeds.path} if isinstance(self.seeds, PublicSeeds) else {}

    @abstractmethod
    def event_at_one(self, book: Codebook, rows: int) -> Event:
        """The draws' event at alpha = 1; it knows how to be ``scaled``."""

    @abstractmethod
    def paper_alpha(self, columns: int) -> Fraction:
        """The paper's equation for ``epsilon_per_record``."""

    def other_events(self, book: Codebook) -> tuple[Event, ...]:
        """What a whole-file target must pay for beside the draws."""
        return ()

    def alpha_used(self, book: Codebook) -> Fraction:
        """The virtual records really added: rational, rounded up, and what the price is computed at."""
        if self.alpha is not None:
            return rational_alpha(self.alpha)
        if self.epsilon_per_record is not None:
            return self.paper_alpha(len(book.names))
        assert self.epsilon is not None and self.rows is not None
        records = None if book.unit is None else book.unit.cap
        at_one, others = self.event_at_one(book, self.rows), self.other_events(book)
        return _calibrated(at_one, others, self.epsilon, self.delta, records)


@lru_cache(maxsize=256)
def _calibrated(
    at_one: Event, others: tuple[Event, ...], epsilon: float, delta: float | None, records: int | None
) -> Fraction:
    """Smallest alpha for a whole-file target; ``at_one`` is the event at alpha = 1, ``others`` are paid beside it.

    ``records`` is the cap on the records of one person, where the target is meant for a person.
    """
    draws = cast(_Scalable, at_one)

    def total(alpha: Fraction) -> float:
        events = (*others, draws.scaled(alpha))
        if records is not None:
            events = tuple(GroupOf(event=event, records=records) for event in events)
        ledger = Ledger.of(Entry(stage="rows", reads="", event=event) for event in events)
        return float(getattr(ledger.total(delta=delta), "epsilon", math.inf))

    return smallest_alpha(total, epsilon)
