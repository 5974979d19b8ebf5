"""Generalisation steps: every level of a column sent to a coarser group."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Generalisation:
    """One step of a hierarchy, for example ZIP code to county."""

    name: str
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    """Each group with the levels it takes in, in declared order."""

    def group_of(self, level: str) -> str:
        """The group that ``level`` belongs to."""
        return next(group for group, levels in self.groups if level in levels)

    def faults(self, column: str, levels: Sequence[str]) -> list[str]:
        """Every level must lie in exactly one group, and no group may name a stranger."""
        where = f"step {self.name!r} of column {column!r}"
        named = [level for _, members in self.groups for level in members]
        found = []
        if lost := [level for level in levels if level not in set(named)]:
            found.append(f"{where} leaves out {', '.join(map(repr, lost))}; put every level in one group.")
        if strange := [level for level in named if level not in set(levels)]:
            found.append(f"{where} names {', '.join(map(repr, strange))}, which are not levels; remove them.")
        if len({group for group, _ in self.groups}) != len(self.groups):
            found.append(f"{where} has two groups of one name; join them.")
        if len(set(named)) != len(named):
            found.append(f"{where} puts a level in two groups; put each in one.")
        return found
