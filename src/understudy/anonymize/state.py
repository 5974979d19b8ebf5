"""What a recipe's steps hand on to each other."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from understudy.anonymize.cells import Cells
from understudy.anonymize.criteria import Criterion
from understudy.anonymize.hierarchy import Hierarchy
from understudy.anonymize.rules import Rule
from understudy.errors import ParameterError
from understudy.mechanisms.stream import Stream
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

    def told(self, **facts: Any) -> "State":
        """With the facts of the step that was just done."""
        return replace(self, facts=(*self.facts, facts))


@dataclass(frozen=True, kw_only=True)
class Step(ABC):
    """One line of a recipe. Frozen, public, and applied in its place."""

    do: ClassVar[str]
    says: ClassVar[str]
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
        return {"do": self.do, **{name: _plain(value) for name, value in vars(self).items() if value is not None}}


def _plain(value: Any) -> Any:
    if isinstance(value, Criterion):
        return value.to_dict()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return value if isinstance(value, str | int | float | bool | type(None)) else str(value)


def whole(name: str, value: Any, least: int) -> int:
    """A whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ParameterError(f"`{name}` is {value!r}; it must be a whole number of {least} or more.")
    return value


def texts(name: str, value: Any) -> tuple[str, ...]:
    """A list of texts."""
    if isinstance(value, str) or not all(isinstance(item, str) for item in value) or not value:
        raise ParameterError(f'`{name}` is {value!r}; it must be a list of texts, such as ["a", "b"].')
    return tuple(value)
