"""What a recipe's steps hand on to each other."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from understudy.anonymize.cells import Cells
from understudy.anonymize.criteria import Criterion
from understudy.anonymize.hierarchies import Rule
from understudy.anonymize.hierarchy import Hierarchy
from understudy.mechanisms.stream import Stream
from understudy.parameters import Declared
from understudy.sources.base import Report


@dataclass(frozen=True, kw_only=True, eq=False)
class State:
    """The table so far, and what a step may need besides."""

    cells: Cells
    quasi: tuple[str, ...]
    rules: Mapping[str, Rule]
    stream: Stream
    drawn: frozenset[str] = frozenset()
    """Columns that carry noise: their numbers are released as numbers."""
    k: int | None = None
    criteria: tuple[Criterion, ...] = ()
    """What steps so far were asked for: the released table must have it."""
    trees: Mapping[str, Hierarchy] = field(default_factory=dict)
    """Hierarchies behind hierarchical distances."""
    facts: tuple[Mapping[str, Any], ...] = ()
    """What each step did; confidential, for the report only."""
    report: Report | None = None

    def hierarchy(self, name: str) -> Hierarchy:
        """The hierarchy of a column as it stands now."""
        return self.rules.get(name, Rule()).build(self.cells.column(name))

    def after(self, cells: Cells, **facts: Any) -> "State":
        """The state with the table that a step made, and the facts about that step."""
        return replace(self, cells=cells, facts=(*self.facts, facts))


@dataclass(frozen=True, kw_only=True)
class Step(Declared, ABC):
    """One line of a recipe. Frozen, public, and applied in its place."""

    do: ClassVar[str]
    is_random: ClassVar[bool] = False

    @property
    @abstractmethod
    def is_record_wise(self) -> bool:
        """Whether each record is treated by itself, by a rule that does not depend on the others."""

    @abstractmethod
    def apply(self, state: State) -> State:
        """The table after this step."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for a manifest."""
        return {"do": self.do, **{key: value for key, value in self.parameters().items() if value is not None}}
