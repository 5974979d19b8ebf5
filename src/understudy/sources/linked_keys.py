"""Keys and parents of tables that nobody described yet, found by exact counts. For the holder of the data only.

A key is a column without gaps whose values are all different. A table belongs to another one where a column of it has
the name of the other's key, has no gaps, and (nearly) all of its values occur there.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.errors import DataError
from understudy.sources.engines.duckdb import connect
from understudy.sources.expressions import person_of
from understudy.sources.faults import engine_errors
from understudy.sources.files import Opened

_MOSTLY = 0.8
"""Share of the values that must occur in the parent; the others are orphans."""
_ROW_NUMBERS = {"id", "row", "rowid", "row_id", "index", "nr", "no", "number", "rownum", "row_number"}
"""Names of columns that number the rows of any table, and so tell nothing about which tables belong together."""
_ID_NAME = re.compile(r"(^|_)(id|ids|nr|no|key|uid|uuid|pseudonym)$|(?<=[a-z])(Id|ID)$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Link:
    """A table that belongs to another, with what the data say about it."""

    child: str
    column: str
    parent: str
    key: str
    values: int
    """Different values of the column."""
    orphans: int
    """Rows whose value does not occur in the parent."""
    is_unique: bool
    """Whether no two rows of the child share a value."""


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Exact counts of one table."""

    rows: int
    values: Mapping[str, int]
    """Different values of each column that might be a key or name a parent."""
    gaps: Mapping[str, int]

    def is_unique(self, column: str) -> bool:
        """Whether it could be the key."""
        return self.rows > 0 and not self.gaps.get(column, 1) and self.values[column] == self.rows


def count_values(opened: Opened, names: Sequence[str]) -> Counted:
    """Rows, different values and gaps, in one scan of the named columns."""
    columns = {f"v{place}": person_of(opened.value(name)) for place, name in enumerate(names)}
    texts = opened.table.select(**columns) if columns else opened.table
    asked = {"rows": texts.count()}
    asked |= {f"d{place}": texts[f"v{place}"].nunique() for place in range(len(names))}
    asked |= {f"g{place}": texts[f"v{place}"].isnull().sum() for place in range(len(names))}
    with engine_errors(repr(opened.label)):
        found = texts.aggregate(**asked).to_pyarrow().to_pylist()[0]
    return Counted(
        rows=int(found["rows"]),
        values={name: int(found[f"d{place}"]) for place, name in enumerate(names)},
        gaps={name: int(found[f"g{place}"] or 0) for place, name in enumerate(names)},
    )


def find_links(tables: Mapping[str, Opened]) -> tuple[dict[str, Link], dict[str, Counted]]:
    """For each table the one that it belongs to, where there is one; and the counts, by table."""
    names = {name: _candidates(name, tables) for name in tables}
    counted = {name: count_values(opened, names[name]) for name, opened in tables.items()}
    connection = connect()
    stored: dict[tuple[str, str], Any] = {}

    def values(table: str, column: str) -> Any:
        if (table, column) not in stored:
            stored[table, column] = _brought(connection, tables[table], column, len(stored))
        return stored[table, column]

    links: list[Link] = []
    for child in tables:
        for parent in tables:
            for column, key in _matches(child, parent, names):
                if not counted[parent].is_unique(key) or counted[child].gaps[column]:
                    continue
                below, above = values(child, column), values(parent, key)
                lost = below.anti_join(above, below.v == above.v)
                orphans = int(lost.n.sum().to_pyarrow().as_py() or 0)
                different = counted[child].values[column]
                if different and int(lost.count().to_pyarrow().as_py()) <= (1 - _MOSTLY) * different:
                    is_unique = counted[child].is_unique(column)
                    links.append(
                        Link(
                            child=child, column=column, parent=parent, key=key, values=different, orphans=orphans,
                            is_unique=is_unique,
                        )
                    )  # fmt: skip
    return _tree(links, list(tables)), counted


def _candidates(name: str, tables: Mapping[str, Opened]) -> list[str]:
    """Columns that might be keys or name parents: called like ids, or like a column of another table."""
    others = {column.lower() for other, opened in tables.items() if other != name for column in opened.header}
    header = tables[name].header
    return [column for column in header if is_id_name(column) or column.lower() in others]


def is_id_name(column: str) -> bool:
    """Whether a column is called as ids are."""
    return bool(_ID_NAME.search(column))


def _matches(child: str, parent: str, names: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Columns of the child that may hold a key of the parent, by name."""
    if child == parent:
        return []
    pairs = []
    stem = parent.lower().removesuffix("s")
    for key in names[parent]:
        spelled = {f"{parent.lower()}_{key.lower()}", f"{stem}_{key.lower()}", f"{stem}{key.lower()}"}
        if key.lower() not in _ROW_NUMBERS:
            spelled.add(key.lower())
        pairs += [(column, key) for column in names[child] if column.lower() in spelled]
    return pairs


def _brought(connection: Any, opened: Opened, column: str, number: int) -> Any:
    """Different values of a column with their numbers of rows, in the engine that all tables share."""
    rows = opened.table.select(v=person_of(opened.value(column))).filter(lambda row: row.v.notnull())
    each = rows.group_by("v").aggregate(n=rows.count())
    with engine_errors(repr(opened.label)):
        return connection.create_table(f"values{number}", each.to_pyarrow(), temp=True)


def _tree(links: Sequence[Link], tables: Sequence[str]) -> dict[str, Link]:
    """One parent for each table: the nearest one, that is the key with the most values; no circles.

    Where two tables hold the same keys, the one that more tables belong to is the parent.
    """
    followers = {name: len({link.child for link in links if link.parent == name}) for name in tables}

    def nearness(link: Link) -> tuple[Any, ...]:
        return link.is_unique, -link.values, link.orphans, -followers[link.parent], tables.index(link.parent)

    chosen: dict[str, Link] = {}
    for link in sorted(links, key=nearness):
        if link.child in chosen or _leads_to(link.parent, link.child, chosen):
            continue
        mutual = any(other.child == link.parent and other.parent == link.child for other in links)
        if mutual and link.is_unique and followers[link.child] > followers[link.parent]:
            continue
        chosen[link.child] = link
    return chosen


def _leads_to(start: str, goal: str, chosen: Mapping[str, Link]) -> bool:
    while start in chosen:
        start = chosen[start].parent
        if start == goal:
            return True
    return start == goal


def below(top: str, links: Mapping[str, Link]) -> list[str]:
    """The tables that belong to one, through any number of others."""
    return [name for name in links if _leads_to(name, top, links) and name != top]


def find_top(tables: Sequence[str], links: Mapping[str, Link]) -> str:
    """The table of the persons: the one without a parent that most others belong to."""
    tops = [name for name in tables if name not in links and below(name, links)]
    if not tops:
        raise DataError(
            f"no table of {', '.join(tables)} names the rows of another one, so that nothing says which rows belong "
            "together; write the codebook by hand (`understudy codebook template encounters` is an example), or split "
            "one table that repeats persons (`understudy codebook split`)."
        )
    return max(tops, key=lambda name: (len(below(name, links)), -list(tables).index(name)))
