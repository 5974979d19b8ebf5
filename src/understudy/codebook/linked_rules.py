"""Rules across linked tables: those of one table with columns spelled ``table.column``, and two that need a history.

A rule speaks about one row of the deepest table that it names, together with the rows above it: all its tables lie on
one path. ``stays.previous.ward`` is the ward of the sibling before, in the order of its table; a first sibling has
none, and keeps every rule about it, as a row with a missing value does.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from understudy.codebook.columns import Dates, Groups
from understudy.codebook.numbers import Number
from understudy.codebook.rules import Columns, Determines, Implies, Impossible, Order, Rule, choice_faults, choice_words

PREVIOUS = "previous"


@dataclass(frozen=True, kw_only=True)
class NothingAfter(Rule):
    """No date or age of these lies after that one, where it is known: nothing happens after death."""

    kind: ClassVar[str] = "nothing-after"
    end: str
    """The column after which nothing comes, such as ``patients.died``."""
    dates: tuple[str, ...]
    """What must not come after it, such as ``stays.admitted`` and ``stays.discharged``."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The end first."""
        return (self.end, *self.dates)

    def words(self) -> str:
        """In words."""
        return f"nothing after {self.end} ({', '.join(self.dates)})"

    def orders(self) -> tuple[Order, ...]:
        """The same as orders, one for each date."""
        return tuple(
            Order(
                name=f"{self.title}: {date}", low=date, relation="<=", high=self.end, source=self.source,
                origin=self.origin, attestation=self.attestation,
            )
            for date in self.dates
        )  # fmt: skip

    def faults(self, columns: Columns) -> list[str]:
        """Each date must be comparable with the end."""
        if not self.dates:
            return [f"rule {self.title!r} names no dates; name what must not come after {self.end!r}."]
        if not isinstance(columns[self.end], Dates | Number):
            return [f"rule {self.title!r} has {self.end!r} as its end, which is no date or number column."]
        return [fault for order in self.orders() for fault in order.faults(columns)]


@dataclass(frozen=True, kw_only=True)
class Last(Rule):
    """A row with these values is the last of its siblings: nobody is admitted after a stay that ended in death."""

    kind: ClassVar[str] = "last"
    cells: Groups

    @property
    def columns(self) -> tuple[str, ...]:
        """All that are named."""
        return tuple(name for name, _ in self.cells)

    def words(self) -> str:
        """In words."""
        return f"nothing follows {choice_words(self.cells)}"

    def faults(self, columns: Columns) -> list[str]:
        """Values must be levels."""
        return choice_faults(self, self.cells, columns)


ACROSS = {kind.kind: kind for kind in (NothingAfter, Last)}
"""The kinds that only linked tables have."""


def table_of(column: str) -> str:
    """The table that a spelled column belongs to; names of tables hold no dots."""
    return column.partition(".")[0]


def is_previous(column: str) -> bool:
    """Whether a spelled column is that of the sibling before."""
    return column.partition(".")[2].startswith(f"{PREVIOUS}.")


def renamed(rule: Rule, name: Callable[[str], str]) -> Rule:
    """The same rule about columns that are called something else.

    >>> renamed(Order(low="admitted", relation="<=", high="discharged"), lambda own: f"stays.{own}").words()
    'stays.admitted <= stays.discharged'
    """
    if isinstance(rule, Impossible | Last):
        return replace(rule, cells=_renamed(rule.cells, name))
    if isinstance(rule, Implies):
        return replace(rule, when=_renamed(rule.when, name), then=_renamed(rule.then, name))
    if isinstance(rule, Order):
        return replace(rule, low=name(rule.low), high=name(rule.high))
    if isinstance(rule, NothingAfter):
        return replace(rule, end=name(rule.end), dates=tuple(map(name, rule.dates)))
    assert isinstance(rule, Determines)
    return replace(rule, column=name(rule.column), sets=name(rule.sets))


def _renamed(choice: Groups, name: Callable[[str], str]) -> Groups:
    return tuple((name(column), values) for column, values in choice)
