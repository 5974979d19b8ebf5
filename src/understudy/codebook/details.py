"""Detailed codes: a column with many codes, each of which belongs to one level of a coarse column of the model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from understudy.codebook.columns import Column, Groups, Levelled, Role


@dataclass(frozen=True, kw_only=True, repr=False)
class Detail(Levelled):
    """A diagnosis given its chapter, a block given its tract.

    It is not modelled itself: once a row is drawn, its detail is drawn given the coarse level, from a table of its own,
    and codes too rare to be shown become ``other``.
    """

    kind: ClassVar[str] = "detail"
    detail_of: str
    """The coarse column."""
    groups: Groups
    """Each coarse level with the codes that belong to it."""
    levels: tuple[str, ...] = field(init=False, default=())
    """All codes in the order of their groups, then ``other``; made from the groups."""

    def __post_init__(self) -> None:
        codes = [code for _, members in self.groups for code in members]
        object.__setattr__(self, "levels", (*codes, *([] if self.other is None else [self.other])))

    @property
    def is_modelled(self) -> bool:
        """The model knows only the coarse column."""
        return False

    def faults(self) -> list[str]:
        """Every code has one parent, and there is an ``other`` for those that cannot be shown."""
        faults = Column.faults(self)
        if self.role is Role.IDENTIFIER:
            return faults
        where = f"column {self.name!r}"
        if self.other is None:
            faults.append(
                f'{where} has no other; name the code that rare details fall back to, such as other = "other".'
            )
        if self.parents is not None or self.hierarchy:
            faults.append(
                f"{where} is a detail of {self.detail_of!r}, which is its only parent; drop parents and hierarchy."
            )
        seen: dict[str, str] = {}
        twice: dict[str, tuple[str, str]] = {}
        for group, members in self.groups:
            for code in members:
                if code in seen:
                    twice.setdefault(code, (seen[code], group))
                seen[code] = group
        for code, (first, second) in list(twice.items())[:5]:
            parents = f"two parents, {first!r} and {second!r}" if first != second else f"the parent {first!r} twice"
            faults.append(f"{where} gives the detail code {code!r} {parents}; each code belongs to one. Keep one.")
        if len(twice) > 5:
            faults.append(f"{where} has {len(twice) - 5:,} more codes with two parents.")
        if not seen:
            faults.append(f"{where} has no codes; list those of each level of {self.detail_of!r} in groups.")
        if self.other in seen:
            faults.append(f"{where} has its other, {self.other!r}, in a group; it belongs to every level. Take it out.")
        if self.missing is not None and (self.missing in seen or self.missing == self.other):
            faults.append(f"{where} has the missing token {self.missing!r} among its codes; remove it from them.")
        if "" in seen:
            faults.append(f"{where} has an empty code, which a CSV file cannot tell from a missing value; name it.")
        return faults


def detail_faults(detail: Detail, columns: Mapping[str, Column]) -> list[str]:
    """Whether the coarse column exists, is modelled and has the levels that the groups name."""
    coarse = columns.get(detail.detail_of)
    if coarse is None or not coarse.is_modelled:
        which = ", ".join(name for name, column in columns.items() if column.is_modelled)
        return [
            f"column {detail.name!r} is a detail of {detail.detail_of!r}, which is not a column of the model; choose "
            f"among {which}."
        ]
    labels = set(coarse.labels)
    strange = [group for group, _ in detail.groups if group not in labels or group == coarse.missing]
    return [
        f"column {detail.name!r} groups codes under {group!r}, which is no level of {coarse.name!r}; it has "
        f"{coarse.shown_labels(4)}."
        for group in strange[:3]
    ]
