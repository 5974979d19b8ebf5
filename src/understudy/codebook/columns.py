"""Columns of a codebook: the values that each may hold. Public knowledge only; no data is read here.

Codes of a column are 0 .. levels - 1 in declared order; special codes among numbers come after them, and where missing
values are declared, their level comes last.
"""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import ClassVar

from understudy.codebook.attestation import Attestable, Attestation, as_attested
from understudy.codebook.readings import PLAIN, Reading

Groups = tuple[tuple[str, tuple[str, ...]], ...]
"""Names, each with its members, in declared order."""
ValueLabels = tuple[tuple[str, str], ...]
"""Codes, each with the words that a statistical package shows for it, in the order of the file."""


class Role(StrEnum):
    """What the column is to an intruder."""

    IDENTIFIER = "identifier"
    QUASI_IDENTIFIER = "quasi-identifier"
    SENSITIVE = "sensitive"
    OTHER = "other"


class Origin(StrEnum):
    """Where the levels or edges came from."""

    DECLARED = "declared"
    DRAFTED = "drafted"
    PAID = "paid"
    """Found in the data by a priced draft, whose ledger the codebook carries."""


class Grain(StrEnum):
    """The finest step of a date that is kept."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"

    def number(self, day: dt.date) -> int:
        """How many grains lie before the one that holds ``day``; weeks start on Monday, as day 1 of year 1 was one."""
        if self is Grain.YEAR:
            return day.year
        if self is Grain.MONTH:
            return day.year * 12 + day.month - 1
        return (day.toordinal() - 1) // (7 if self is Grain.WEEK else 1)

    def first(self, number: int) -> dt.date:
        """The first day of a grain, given its number."""
        if self is Grain.YEAR:
            return dt.date(number, 1, 1)
        if self is Grain.MONTH:
            return dt.date(number // 12, number % 12 + 1, 1)
        return dt.date.fromordinal(number * (7 if self is Grain.WEEK else 1) + 1)


FINE_DATE = 64
"""Dates of more levels than this are placed by gaps in linked tables, and rules do not try them out one by one."""


def repeated_in(names: Sequence[str]) -> list[str]:
    """What is listed more than once."""
    return sorted(name for name, count in Counter(names).items() if count > 1)


@dataclass(frozen=True, kw_only=True)
class Review:
    """A person looked at this column beside the data (`understudy codebook review`). What they saw is kept nowhere."""

    by: str
    on: dt.date
    of: str
    """Digest of the column as it was reviewed (:attr:`Column.content`)."""


@dataclass(frozen=True, kw_only=True)
class Generalisation:
    """One step of a hierarchy: every level sent to a coarser group, for example a ZIP code to its county."""

    name: str
    groups: Groups
    """Each group with the levels it takes in."""

    def group_of(self, level: str) -> str:
        """The group that ``level`` belongs to."""
        return next(group for group, levels in self.groups if level in levels)

    def faults(self, column: str, levels: Sequence[str]) -> list[str]:
        """Every level must lie in exactly one group, and no group may name a stranger."""
        where = f"step {self.name!r} of column {column!r}"
        named = [level for _, members in self.groups for level in members]
        known, grouped = set(levels), set(named)
        faults = []
        if lost := [level for level in levels if level not in grouped]:
            faults.append(f"{where} leaves out {', '.join(map(repr, lost))}; put every level in one group.")
        if strange := [level for level in named if level not in known]:
            faults.append(f"{where} names {', '.join(map(repr, strange))}, which are not levels; remove them.")
        if len({group for group, _ in self.groups}) != len(self.groups):
            faults.append(f"{where} has two groups of one name; join them.")
        if len(grouped) != len(named):
            faults.append(f"{where} puts a level in two groups; put each in one.")
        return faults


@dataclass(frozen=True, kw_only=True, repr=False)
class Column(Attestable):
    """What all kinds share."""

    kind: ClassVar[str]
    name: str
    role: Role = Role.OTHER
    description: str = ""
    missing: str | None = None
    """Token of the missing level, or None when a missing value is a fault."""
    parents: tuple[str, ...] | None = None
    """Declared keys of this column's conditional table; None leaves the choice to the recipe."""
    hierarchy: tuple[Generalisation, ...] = ()
    reading: Reading = PLAIN
    """How its values are written in the data, where that is not the plain convention."""
    value_labels: ValueLabels = ()
    """What codes stand for, as in files of SPSS, Stata and SAS: missing codes may have labels too."""
    origin: Origin = Origin.DECLARED
    attestation: Attestation | None = None
    review: Review | None = None

    @property
    def is_modelled(self) -> bool:
        """Identifiers are dropped before anything else happens."""
        return self.role is not Role.IDENTIFIER

    @property
    def reads(self) -> str:
        """The column of the data that holds its values."""
        return self.name

    @property
    def proper_levels(self) -> int:
        """Number of listed levels, bins or dates: without special codes and the missing level, which follow them."""
        raise AttributeError(self.kind)

    @property
    def special(self) -> tuple[str, ...]:
        """Texts among numbers that are values of their own; other kinds have none."""
        return ()

    @property
    def size(self) -> int:
        """Number of codes, special ones and the missing level included."""
        return self.proper_levels + len(self.special) + (self.missing is not None)

    @property
    def missing_code(self) -> int | None:
        """Code of the missing level, always the last one."""
        return None if self.missing is None else self.size - 1

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """One printable label per code."""
        return (*self._proper_labels(), *self.special, *(() if self.missing is None else (self.missing,)))

    def _proper_labels(self) -> tuple[str, ...]:
        raise AttributeError(self.kind)

    @cached_property
    def content(self) -> str:
        """Digest of what the column may hold; names, roles, parents and descriptions do not count."""
        from understudy.codebook.toml import column_content

        return column_content(self)

    @property
    def as_published(self) -> "Column":
        """The column of a table that we write ourselves: by the plain convention, and as attested as it is now.

        Missing codes stay where no value can be taken for one, so that programs that have such codes are told.
        """
        from understudy.codebook.encode import encode_value

        bare = replace(self, reading=PLAIN, missing=None)
        codes = tuple(code for code in self.reading.missing if encode_value(bare, code) is None)
        plain = replace(self, reading=Reading(missing=codes))
        if plain.reading == self.reading:
            return self
        return as_attested(plain, self)

    @property
    def is_reviewed(self) -> bool:
        """Whether a person reviewed the column as it stands now."""
        return self.review is not None and self.review.of == self.content

    @property
    def is_public(self) -> bool:
        """Whether a promise may rest on the levels: declared, paid for, or attested by a person."""
        return self.origin is not Origin.DRAFTED or self.is_attested

    @cached_property
    def code_of_label(self) -> dict[str, int]:
        """Code of each label; the first one where two agree."""
        return {label: code for code, label in reversed([*enumerate(self.labels)])}

    def shown_labels(self, most: int) -> str:
        """The first few labels, for a message."""
        return ", ".join(map(repr, self.labels[:most])) + (", ..." if self.size > most else "")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} column {self.name!r}>"

    def _texts(self) -> tuple[str, ...]:
        """Every text of it that an engine will see."""
        return (*self.reading.missing, *(() if self.missing is None else (self.missing,)))

    def faults(self) -> list[str]:
        """Everything wrong with this column on its own."""
        faults = []
        if not self.name:
            faults.append("a column has an empty name; every column needs one.")
        if any("\x00" in text for text in (self.name, *self._texts(), *dict(self.value_labels))):
            faults.append(f"column {self.name!r} has a NUL character in a name or level; no engine takes it.")
        if self.role is Role.IDENTIFIER and not isinstance(self, Text):
            faults.append(
                f"column {self.name!r} is an identifier of kind {self.kind!r}; identifiers are dropped, so they "
                'carry no levels. Write kind = "text".'
            )
        faults += self.reading.faults(f"the reading of column {self.name!r}", may_miss=self.missing is not None)
        if self.parents is not None:
            if self.name in self.parents:
                faults.append(f"column {self.name!r} is its own parent; remove it from its parents.")
            if len(set(self.parents)) != len(self.parents):
                faults.append(f"column {self.name!r} names a parent twice; name each once.")
        if repeated := repeated_in([code for code, _ in self.value_labels]):
            faults.append(f"column {self.name!r} labels {', '.join(map(repr, repeated))} twice; label each code once.")
        faults += attestation_faults(f"column {self.name!r}", self.attestation)
        return faults


def attestation_faults(where: str, attestation: Attestation | None) -> list[str]:
    """Whether it names a person and a source."""
    if attestation is None or (attestation.by.strip() and attestation.source.strip()):
        return []
    return [
        f"{where} has an attestation whose by and source must not be empty; name the person and the published source."
    ]


@dataclass(frozen=True, kw_only=True, repr=False)
class Text(Column):
    """Free text without levels: only for identifiers, which are dropped."""

    kind: ClassVar[str] = "text"

    def faults(self) -> list[str]:
        """Text is never modelled."""
        faults = super().faults()
        if self.role is not Role.IDENTIFIER:
            faults.append(
                f"column {self.name!r} is text but not an identifier; free text cannot be synthesized. Declare its "
                'levels (kind = "categorical") or set role = "identifier" to drop it.'
            )
        return faults


@dataclass(frozen=True, kw_only=True, repr=False)
class Levelled(Column):
    """A column whose levels are listed."""

    levels: tuple[str, ...]
    other: str | None = None
    """The level that takes values outside the codebook when the caller asks for it."""

    @property
    def proper_levels(self) -> int:
        """As many as listed."""
        return len(self.levels)

    def _proper_labels(self) -> tuple[str, ...]:
        return self.levels

    def _texts(self) -> tuple[str, ...]:
        return (*self.levels, *super()._texts())

    @cached_property
    def code_of(self) -> dict[str, int]:
        """Code of each level."""
        return {level: code for code, level in enumerate(self.levels)}

    @cached_property
    def code_of_tidied(self) -> dict[str, int]:
        """Code of each level as its reading compares it."""
        return {self.reading.tidied(level): code for code, level in enumerate(self.levels)}

    def faults(self) -> list[str]:
        """Levels must be distinct, at least one, and not the missing token."""
        faults = super().faults()
        if repeated := repeated_in(self.levels):
            faults.append(f"column {self.name!r} lists {', '.join(map(repr, repeated))} twice; list each level once.")
        elif repeated := repeated_in([self.reading.tidied(level) for level in self.levels]):
            faults.append(
                f"column {self.name!r} has levels that its reading takes for one ({', '.join(map(repr, repeated))}); "
                "keep one of each, or drop strip or fold."
            )
        if not self.levels:
            faults.append(f"column {self.name!r} has no level; list at least one.")
        if "" in self.levels:
            faults.append(
                f"column {self.name!r} has an empty level, which a CSV file cannot tell from a missing value; "
                'name it, or write missing = "" instead.'
            )
        if both := [code for code in self.reading.missing if self.reading.tidied(code) in self.code_of_tidied]:
            faults.append(f"column {self.name!r} has {both[0]!r} both among its levels and as missing; keep one.")
        if self.missing is not None and self.missing in self.levels:
            faults.append(
                f"column {self.name!r} has the missing token {self.missing!r} among its levels; "
                "remove it from the levels, it has a level of its own."
            )
        if self.other is not None and self.other not in self.levels:
            faults.append(
                f"column {self.name!r} sends other values to {self.other!r}, which is not one of its levels; add it."
            )
        for step in self.hierarchy:
            faults.extend(step.faults(self.name, self.levels))
        return faults


@dataclass(frozen=True, kw_only=True, repr=False)
class Categorical(Levelled):
    """Levels without an order."""

    kind: ClassVar[str] = "categorical"


@dataclass(frozen=True, kw_only=True, repr=False)
class Ordinal(Levelled):
    """Levels in their order."""

    kind: ClassVar[str] = "ordinal"


@dataclass(frozen=True, kw_only=True, repr=False)
class Dates(Column):
    """Calendar dates between two declared days, at a declared grain."""

    kind: ClassVar[str] = "date"
    grain: Grain
    start: dt.date
    end: dt.date

    def index(self, day: dt.date) -> int:
        """Number of grains from the start to ``day``; negative before it."""
        return self.grain.number(day) - self.grain.number(self.start)

    @property
    def proper_levels(self) -> int:
        """One per grain from start to end."""
        return self.index(self.end) + 1

    @cached_property
    def firsts(self) -> tuple[dt.date, ...]:
        """First day of every grain."""
        start = self.grain.number(self.start)
        return tuple(self.grain.first(start + k) for k in range(self.proper_levels))

    def bin_of(self, day: dt.date) -> int | None:
        """Code of a day, or None outside the declared range."""
        index = self.index(day)
        return index if 0 <= index < self.proper_levels else None

    def _proper_labels(self) -> tuple[str, ...]:
        return tuple(first.isoformat() for first in self.firsts)

    def faults(self) -> list[str]:
        """The range must not be empty, nor hold the missing token."""
        faults = super().faults()
        if self.end < self.start:
            faults.append(f"column {self.name!r} ends on {self.end} before it starts on {self.start}; swap them.")
        elif self.missing in self._proper_labels():
            faults.append(
                f"column {self.name!r} has the missing token {self.missing!r}, which is also one of its dates; "
                "start or end the range elsewhere, or choose a token that is no date."
            )
        return faults
