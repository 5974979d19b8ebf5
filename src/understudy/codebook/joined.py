"""The codebook of linked tables joined along one path, with the person as its unit."""

from collections.abc import Sequence
from dataclasses import replace

from understudy.codebook.book import FILE, Codebook
from understudy.codebook.coded import CodeLevel
from understudy.codebook.columns import Categorical, Column, Origin, Role, Text
from understudy.codebook.details import Detail
from understudy.codebook.linked import LinkedCodebook, LinkedTable, constant_title
from understudy.codebook.linked_rules import is_previous, table_of
from understudy.codebook.unit import PersonUnit
from understudy.errors import ParameterError


def joined_book(book: LinkedCodebook, by: Sequence[str]) -> Codebook:
    """The columns ``by``, spelled ``table.column``, of the rows of the lowest table that they name.

    A person has at most as many of these rows as the caps on the path allow, multiplied.
    """
    for name in by:
        known = [f"{table.name}.{column.name}" for table in book.tables for column in table.book.described]
        if name not in known or is_previous(name):
            raise ParameterError(f"column {name!r} cannot be counted by; choose among {', '.join(known)}.")
    lowest = book.deepest(map(table_of, by))
    ids = f"{book.person.name}.{book.person.key}"
    columns: list[Column] = [plain_levels(book.column(name), book) for name in by]
    return Codebook(
        columns=(*columns, Text(name=ids, role=Role.IDENTIFIER)),
        title=book.title,
        publication=book.publication,
        unit=PersonUnit(id=ids, cap=book.most_rows(lowest.name)),
    )


def plain_levels(column: Column, book: LinkedCodebook) -> Column:
    """Codes of a pack as levels: the pack, and what a code is a detail of, may lie outside the join."""
    if not isinstance(column, Detail | CodeLevel):
        return column
    table, _, own = column.name.partition(".")
    is_public = table_own_is_public(book.table(table), own)
    return Categorical(
        name=column.name,
        role=column.role,
        levels=column.labels[: column.proper_levels],
        missing=column.missing,
        origin=Origin.DECLARED if is_public else Origin.DRAFTED,
    )


def table_own_is_public(table: LinkedTable, column: str) -> bool:
    """Whether the levels of a column of a table are public."""
    return column not in table.book.unattested


def not_public_on(book: LinkedCodebook, by: Sequence[str]) -> tuple[str, ...]:
    """What a join rests on besides its columns and nobody attested: places of tables, and constants."""
    names: list[str] = []
    for table in narrowed(book, by).tables:
        names += [] if table.is_public else [f"[{table.name}]"]
        names += [f"[{table.name}.file]"] if FILE in table.book.unattested else []
        names += [
            constant_title(table, one)
            for one in table.constants
            if not one.is_public and (table.spelled(one.column) in by or table.made_of is not None)
        ]
    return tuple(names)


def narrowed(book: LinkedCodebook, by: Sequence[str]) -> LinkedCodebook:
    """The tables on the path of these columns and those that constants are read from, with what they need."""
    tables = [_narrowed(table, by) for table in book.path(book.deepest(map(table_of, by)).name)]
    for table in tables:  # which grows: constants of the path may be read from tables beside it
        read = dict.fromkeys(one.child for one in table.read_constants)
        tables += [_narrowed(book.table(name), by) for name in read if name not in {each.name for each in tables}]
    return replace(book, rules=(), tables=tuple(tables))


def _narrowed(table: LinkedTable, by: Sequence[str]) -> LinkedTable:
    wanted = {table.book.column(own).reads for own in (c.name for c in table.book.columns) if table.spelled(own) in by}
    wanted |= {column.detail_of for column in table.book.details if column.reads in wanted}
    wanted |= {table.order} if table.order is not None else set()
    if not any(column.reads in wanted for column in table.book.modelled):
        wanted.add(min(table.book.modelled, key=lambda column: column.size).reads)
        wanted |= {column.reads for column in table.book.details if column.reads in wanted}
    kept = tuple(replace(column, parents=None) for column in table.book.written if column.reads in wanted)
    return replace(
        table,
        book=replace(table.book, columns=kept, constraints=()),
        constants=tuple(one for one in table.constants if one.column in wanted),
    )
