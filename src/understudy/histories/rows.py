"""Rows of linked tables as codes: the parent of each, its place among its siblings, and what it sees of the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from understudy.codebook.linked import LinkedCodebook
from understudy.codebook.linked_rules import PREVIOUS, table_of
from understudy.codebook.views import View, rank_level

Codes = npt.NDArray[np.integer]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class TableRows:
    """One table. Siblings stand together, in their order."""

    codes: Mapping[str, Codes]
    """By column of the table's codebook."""
    parent: Places
    """The parent's row, never falling; persons are their own."""
    told: Mapping[str, Codes] = field(default_factory=dict)
    """Dates of many levels as views tell them, by spelled column."""

    def __len__(self) -> int:
        return len(self.parent)

    @cached_property
    def rank(self) -> Places:
        """How many siblings stand before each row."""
        first = np.ones(len(self), dtype=bool)
        first[1:] = self.parent[1:] != self.parent[:-1]
        starts = np.flatnonzero(first)
        return np.arange(len(self)) - np.repeat(starts, np.diff(np.append(starts, len(self))))

    def siblings(self, parents: int) -> Places:
        """How many rows each row of the parent has."""
        return np.bincount(self.parent, minlength=parents).astype(np.int64)

    def kept(self, rows: npt.NDArray[np.bool_], parents: Places) -> "TableRows":
        """Some of the rows; ``parents`` gives the new number of each old row of the parent."""
        return TableRows(
            codes={name: codes[rows] for name, codes in self.codes.items()},
            parent=parents[self.parent[rows]],
            told={name: codes[rows] for name, codes in self.told.items()},
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkedRows:
    """Rows of all tables, parents before children."""

    book: LinkedCodebook
    tables: Mapping[str, TableRows]

    @property
    def people(self) -> int:
        """How many there are."""
        return len(self.tables[self.book.person.name])

    def person_of(self, table: str) -> Places:
        """The person of every row."""
        rows = self.tables[table].parent
        for above in reversed(self.book.path(table)[1:-1]):
            rows = self.tables[above.name].parent[rows]
        return rows

    def ancestor(self, table: str, above: str, rows: Places) -> Places:
        """The rows of a table above that some rows lead to."""
        for step in reversed(self.book.path(table)):
            if step.name == above:
                return rows
            rows = self.tables[step.name].parent[rows]
        raise KeyError(above)

    def seen(self, table: str, name: str, rows: Places) -> tuple[Codes, npt.NDArray[np.bool_]]:
        """The codes of a spelled column, as rows of a table see it, and where there is such a row at all."""
        own = name.partition(".")[2]
        if own.startswith(f"{PREVIOUS}."):
            there = self.tables[table].rank[rows] > 0
            codes = self._codes(table, name.replace(f".{PREVIOUS}.", ".", 1), np.where(there, rows - 1, 0))
            return codes, there
        places = self.ancestor(table, table_of(name), rows)
        return self._codes(table_of(name), name, places), np.ones(len(rows), dtype=bool)

    def _codes(self, table: str, name: str, rows: Places) -> Codes:
        held = self.tables[table]
        if name in held.told:
            return held.told[name][rows]
        return held.codes[name.partition(".")[2]][rows]

    def exact(self, table: str, name: str, rows: Places) -> tuple[Codes, npt.NDArray[np.bool_]]:
        """The same with dates as they are."""
        bare = replace(self, tables={key: replace(value, told={}) for key, value in self.tables.items()})
        return bare.seen(table, name, rows)

    def in_view(self, view: View, rows: Places, columns: Sequence[str]) -> dict[str, Codes]:
        """Columns of a view for some rows of its table."""
        table = view.table.name
        held = self.tables[table]
        by_child = {name: child for child, name in view.counts.items()}
        found: dict[str, Codes] = {}
        for name in columns:
            if name in by_child:
                found[name] = self.tables[by_child[name]].siblings(len(held))[rows]
            elif name == view.siblings:
                parents = self.tables[view.table.parent or ""]
                found[name] = held.siblings(len(parents))[held.parent[rows]]
            elif name == view.rank:
                levels = np.array([rank_level(rank) for rank in range(view.table.cap or 1)])
                found[name] = levels[held.rank[rows]]
            elif name == view.last:
                parents = self.tables[view.table.parent or ""]
                found[name] = (held.rank[rows] + 1 == held.siblings(len(parents))[held.parent[rows]]).astype(np.int64)
            else:
                codes, there = self.seen(table, name, rows)
                found[name] = np.where(there, codes, view.book.column(name).size - 1)
        return found

    def only(self, people: npt.NDArray[np.bool_]) -> "LinkedRows":
        """Some of the people with everything that is theirs."""
        tables: dict[str, TableRows] = {}
        renumbered: dict[str, Places] = {}
        for step in self.book.tables:
            held = self.tables.get(step.name)
            if held is None:  # not drawn yet
                continue
            rows = people if step.parent is None else people[self.person_of(step.name)]
            renumbered[step.name] = np.cumsum(rows) - 1
            tables[step.name] = held.kept(rows, renumbered[step.parent or step.name])
        return LinkedRows(book=self.book, tables=tables)
