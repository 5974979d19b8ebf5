"""Detailed codes: a column with many codes, each of which belongs to one level of a coarse column of the model."""

from dataclasses import dataclass
from typing import ClassVar

from understudy.codebook.columns import Column, Levelled, Role


@dataclass(frozen=True, kw_only=True)
class Detail(Levelled):
    """A diagnosis given its chapter, a block given its tract.

    It is not modelled itself: once a row is drawn, its detail is drawn given the coarse level, from a table of its own,
    and codes too rare to be shown become ``other``.
    """

    kind: ClassVar[str] = "detail"
    detail_of: str
    """The coarse column."""
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    """Each coarse level with the codes that belong to it."""
    levels: tuple[str, ...] = ()
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
        found = Column.faults(self)
        if self.role is Role.IDENTIFIER:
            return found
        where = f"column {self.name!r}"
        if self.other is None:
            found.append(
                f'{where} has no other; name the code that rare details fall back to, such as other = "other".'
            )
        if self.parents is not None or self.hierarchy:
            found.append(
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
            found.append(f"{where} gives the detail code {code!r} {parents}; each code belongs to one. Keep one.")
        if len(twice) > 5:
            found.append(f"{where} has {len(twice) - 5:,} more codes with two parents.")
        if not seen:
            found.append(f"{where} has no codes; list those of each level of {self.detail_of!r} in groups.")
        if self.other in seen:
            found.append(f"{where} has its other, {self.other!r}, in a group; it belongs to every level. Take it out.")
        if self.missing is not None and (self.missing in seen or self.missing == self.other):
            found.append(f"{where} has the missing token {self.missing!r} among its codes; remove it from them.")
        if "" in seen:
            found.append(f"{where} has an empty code, which a CSV file cannot tell from a missing value; name it.")
        return found


def detail_faults(detail: Detail, columns: dict[str, Column]) -> list[str]:
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
        f"{', '.join(map(repr, coarse.labels[:4]))}{', ...' if coarse.size > 4 else ''}."
        for group in strange[:3]
    ]
