"""Which combinations of values cannot occur: rules that a person declares, public like the levels themselves.

A rule speaks about known values. A row in which a column of the rule is missing satisfies it, unless the rule itself
names the missing token of that column, which then counts like any other level.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from understudy.codebook.attestation import Attestable, Attestation
from understudy.codebook.columns import Column, Dates, Groups, Ordinal, Origin, repeated_in
from understudy.codebook.encode import encode_value
from understudy.codebook.numbers import Number

Columns = Mapping[str, Column]
_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Rule(Attestable, ABC):
    """What all kinds share."""

    kind: ClassVar[str]
    name: str = ""
    """For messages and manifests; the rule in words where it is empty."""
    source: str = ""
    """Where the rule is publicly known from."""
    origin: Origin = Origin.DECLARED
    """Drafted where it was noticed in the data: no promise rests on it until a person attests a public source."""
    attestation: Attestation | None = None

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns it speaks about, each once."""

    @abstractmethod
    def words(self) -> str:
        """The rule as a sentence without its full stop."""

    @property
    def title(self) -> str:
        """Its name, or what it says."""
        return self.name or self.words()

    @abstractmethod
    def faults(self, columns: Columns) -> list[str]:
        """Everything in which it does not fit these columns; all of them are known to exist."""

    @cached_property
    def content(self) -> str:
        """Digest of what the rule says; its name and where it is known from do not count."""
        from understudy.codebook.toml import rule_content

        return rule_content(self)


def code_of_value(column: Column, text: str) -> int | None:
    """Code that a rule means by ``text``: a label, or a number that has a bin to itself.

    >>> from fractions import Fraction
    >>> from understudy.codebook import Integer
    >>> age = Integer(name="age", edges=(Fraction(0), Fraction(1), Fraction(9)))
    >>> [code_of_value(age, text) for text in ("0", "[1, 9]", "1", "old")]
    [0, 1, None, None]
    """
    if text in column.code_of_label:
        return column.code_of_label[text]
    if not isinstance(column, Number):
        return None
    code = encode_value(column, text)
    return code if code is not None and code < column.proper_levels and column.grids[code][1] == 1 else None


def codes_of(column: Column, values: Sequence[str]) -> list[int]:
    """The codes that a rule means by several texts; what is no level is left out."""
    codes = [code_of_value(column, value) for value in values]
    return [code for code in codes if code is not None]


def _value_faults(rule: Rule, column: Column, values: Sequence[str]) -> list[str]:
    where = f"rule {rule.title!r}"
    if not values:
        return [f"{where} gives no value for {column.name!r}; name at least one."]
    strange = [text for text in values if code_of_value(column, text) is None]
    if not strange:
        return []
    shown = column.shown_labels(_SHOWN)
    shared = [text for text in strange if isinstance(column, Number) and encode_value(column, text) is not None]
    if shared:
        return [
            f"{where} names {shared[0]} of {column.name!r}, which shares its bin with other numbers; name the whole "
            f"bin ({shown}), or give {shared[0]} a bin of its own."
        ]
    return [f"{where} names {strange[0]!r}, which is no level of {column.name!r}; it has {shown}."]


def choice_words(choice: Groups) -> str:
    """Columns with the values that a rule names, for a sentence."""
    return " and ".join(
        f"{name} = {values[0]}" if len(values) == 1 else f"{name} in ({', '.join(values)})" for name, values in choice
    )


def choice_faults(rule: Rule, choice: Groups, columns: Columns) -> list[str]:
    """Values that are no levels of their columns."""
    return [fault for name, values in choice for fault in _value_faults(rule, columns[name], values)]


@dataclass(frozen=True, kw_only=True)
class Impossible(Rule):
    """These values never come together: a structural zero."""

    kind: ClassVar[str] = "impossible"
    cells: Groups

    @property
    def columns(self) -> tuple[str, ...]:
        """All that are named."""
        return tuple(name for name, _ in self.cells)

    def words(self) -> str:
        """In words."""
        return f"never {choice_words(self.cells)}"

    def faults(self, columns: Columns) -> list[str]:
        """Values must be levels."""
        return choice_faults(self, self.cells, columns)


@dataclass(frozen=True, kw_only=True)
class Implies(Rule):
    """Where all of ``when`` holds, all of ``then`` holds: a newborn has age 0."""

    kind: ClassVar[str] = "implies"
    when: Groups
    then: Groups

    @property
    def columns(self) -> tuple[str, ...]:
        """Of both sides."""
        return tuple(name for name, _ in (*self.when, *self.then))

    def words(self) -> str:
        """In words."""
        return f"{choice_words(self.when)} means {choice_words(self.then)}"

    def faults(self, columns: Columns) -> list[str]:
        """Values must be levels."""
        return choice_faults(self, (*self.when, *self.then), columns)


@dataclass(frozen=True, kw_only=True)
class Order(Rule):
    """One ordered column never exceeds another: admission is not after discharge.

    Orders are transitive: ``a <= b`` and ``b <= c`` also keep ``a <= c``, in rows where ``b`` is missing too.
    """

    kind: ClassVar[str] = "order"
    low: str
    relation: Literal["<", "<="]
    high: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The two."""
        return (self.low, self.high)

    @property
    def gap(self) -> int:
        """Steps by which the second must exceed the first, at least."""
        return int(self.relation == "<")

    def words(self) -> str:
        """In words."""
        return f"{self.low} {self.relation} {self.high}"

    def faults(self, columns: Columns) -> list[str]:
        """Both must be ordered, in one and the same unit."""
        low, high = columns[self.low], columns[self.high]
        if self.low == self.high:
            return [f"rule {self.title!r} compares {self.low!r} with itself; name two columns."]
        if isinstance(low, Ordinal) and isinstance(high, Ordinal):
            alike = low.levels == high.levels
        elif isinstance(low, Dates) and isinstance(high, Dates):
            alike = low.grain is high.grain
        elif isinstance(low, Number) and isinstance(high, Number):
            alike = low.step == high.step
        else:
            return [
                f"rule {self.title!r} compares a {low.kind} with a {high.kind} column; an order needs two ordinal, two "
                "date or two number columns."
            ]
        if alike:
            return []
        return [
            f"rule {self.title!r} compares columns of different units; give both the same levels (ordinal), grain "
            "(date) or precision (numbers)."
        ]


@dataclass(frozen=True, kw_only=True)
class Determines(Rule):
    """A value of one column fixes that of another: a ZIP code lies in one county."""

    kind: ClassVar[str] = "determines"
    column: str
    sets: str
    groups: Groups
    """Each value of ``sets`` with the values of ``column`` that mean it."""
    free: tuple[str, ...] = ()
    """Values of ``column`` that fix nothing, such as those that a public table leaves out."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The two."""
        return (self.column, self.sets)

    def words(self) -> str:
        """In words."""
        return f"{self.column} determines {self.sets}"

    def faults(self, columns: Columns) -> list[str]:
        """Every value of the one column must mean exactly one of the other."""
        where, first, second = f"rule {self.title!r}", columns[self.column], columns[self.sets]
        faults = [fault for _, values in self.groups for fault in _value_faults(self, first, values)]
        faults += _value_faults(self, second, [group for group, _ in self.groups])
        faults += _value_faults(self, first, self.free) if self.free else []
        if faults:
            return faults
        named = [code for _, values in (*self.groups, ("", self.free)) for code in codes_of(first, values)]
        if twice := repeated_in([first.labels[code] for code in named]):
            return [
                f"{where} gives {twice[0]!r} two values of {self.sets!r}; each determines one. Remove it "
                "from all groups but one."
            ]
        grouped = set(named)
        lost = [first.labels[code] for code in range(first.proper_levels) if code not in grouped]
        if lost:
            shown = ", ".join(map(repr, lost[:_SHOWN])) + (f" and {len(lost) - _SHOWN} more" if lost[_SHOWN:] else "")
            return [f"{where} leaves out {shown}; put every level of {self.column!r} in one group."]
        return []
