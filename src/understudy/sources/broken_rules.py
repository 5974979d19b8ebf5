"""Rows that break a rule of the codebook: how many, where, and with which values. For the holder of the data only.

Nothing is repaired: a rule that real rows break is wrong, or the rows are.
"""

from collections.abc import Sequence
from typing import Any

import ibis
import numpy as np

from understudy.codebook import Codebook, Column, Detail, Number
from understudy.codebook.clauses import Clause, clause_of
from understudy.codebook.constraints import Orders
from understudy.codebook.rules import Order
from understudy.sources.check_counts import count_combinations, count_wrong_orders
from understudy.sources.expressions import code_expression, present, read_number
from understudy.sources.files import Opened

_Rows = tuple[int, tuple[int, ...], tuple[str, ...]]
"""How many rows break a rule, the first of them, and their first values."""


def broken_rules(opened: Opened, book: Codebook, most: int) -> list[tuple[str, _Rows]]:
    """Every rule that some row breaks; rows with values outside the codebook are left to other faults."""
    named = {column.name: column for column in book.modelled}
    orders = Orders(book.modelled, book.constraints)
    clauses: list[tuple[str, Clause, int | None]] = [
        (rule.title, clause_of(rule, named), rule.gap if isinstance(rule, Order) else None) for rule in book.constraints
    ]
    for clause, origin in orders.implied(named):
        low, high = clause.columns
        title = "; ".join(book.constraints[number].title for number in sorted(origin))
        clauses.append((title, clause, orders.gaps[low, high]))
    broken = []
    for title, clause, gap in clauses:
        if all(named[name].reads in opened.header for name in clause.columns):
            columns = [named[name] for name in clause.columns]
            if gap is not None and isinstance(columns[0], Number):
                broken.append((title, _unordered(opened, columns[0], columns[1], gap, most)))
            else:
                broken.append((title, _forbidden(opened, clause, columns, most)))
    for detail in book.details:
        if detail.name in opened.header and book.column(detail.detail_of).reads == detail.detail_of in opened.header:
            broken.append((f"{detail.name} belongs to {detail.detail_of}", _misplaced(opened, book, detail, most)))
    return [(title, rows) for title, rows in broken if rows[0]]


def _misplaced(opened: Opened, book: Codebook, detail: Detail, most: int) -> _Rows:
    """Detail codes under a coarse level that they do not belong to; a missing coarse level says nothing."""
    coarse = book.column(detail.detail_of)
    level = code_expression(coarse, opened.value(coarse.name))
    number = code_expression(detail, opened.value(detail.name))
    groups = {detail.code_of[code]: coarse.labels.index(group) for group, codes in detail.groups for code in codes}
    bad = [
        cell
        for cell in _combinations(opened, most, c0=level, c1=number)
        if cell[0] != coarse.missing_code and groups.get(cell[1], cell[0]) != cell[0]
    ]
    shown = [f"{coarse.name} = {coarse.labels[c]}, {detail.name} = {detail.labels[code]}" for c, code, *_ in bad]
    return _gathered(bad, most, shown)


def _forbidden(opened: Opened, clause: Clause, columns: Sequence[Column], most: int) -> _Rows:
    """By combinations of codes, which the engine counts; those that the clause forbids are bad."""
    codes = {f"c{place}": code_expression(c, opened.value(c.reads)) for place, c in enumerate(columns)}
    cells = _combinations(opened, most, **codes)
    known = np.array([cell[: len(columns)] for cell in cells], dtype=np.int64).reshape(-1, len(columns))
    allowed = clause.allows(list(known.T))
    bad = [cell for cell, is_allowed in zip(cells, allowed, strict=True) if not is_allowed]
    values = [
        ", ".join(f"{column.name} = {column.labels[code]}" for column, code in zip(columns, cell, strict=False))
        for cell in bad
    ]
    return _gathered(bad, most, values)


def _combinations(opened: Opened, most: int, **looked_at: Any) -> list[tuple[Any, ...]]:
    """Every combination of known values with its count and its first rows, in order of appearance."""
    if opened.connection.name != "duckdb":
        return count_combinations(opened, looked_at)
    names = ", ".join(looked_at)
    known = " AND ".join(f"{name} IS NOT NULL" for name in looked_at)
    cells: list[tuple[Any, ...]] = opened.connection.raw_sql(
        f"SELECT {names}, count(*), min(row, {most}) FROM ({_scan(opened, **looked_at)}) AS scan "
        f"WHERE {known} GROUP BY {names} ORDER BY min(row)"
    ).fetchall()
    return cells


def _scan(opened: Opened, **looked_at: Any) -> str:
    """One scan of what is looked at, with row numbers from 1."""
    return str(opened.connection.compile(opened.table.select(row=ibis.row_number() + 1, **looked_at)))


def _gathered(bad: Sequence[tuple[Any, ...]], most: int, values: Sequence[str]) -> _Rows:
    rows = sorted(row for cell in bad for row in cell[-1])[:most]
    return sum(int(cell[-2]) for cell in bad), tuple(rows), tuple(values[:most])


def _unordered(opened: Opened, low: Number, high: Column, gap: int, most: int) -> _Rows:
    """Numbers are compared as they stand: two that share a bin can still be in the wrong order."""
    values = {"a": proper_number(opened, low), "b": proper_number(opened, high)}
    if opened.connection.name != "duckdb":
        least = None if gap == 1 else gap * float(low.step)
        bad, pairs = count_wrong_orders(opened, values["a"], values["b"], least, most)
        return bad, (), tuple(f"{low.name} = {a:g}, {high.name} = {b:g}" for a, b in pairs)
    wrong = "a >= b" if gap == 1 else f"a + {gap * float(low.step)!r} > b"
    scan = f"({_scan(opened, **values)}) AS scan WHERE a IS NOT NULL AND b IS NOT NULL AND {wrong}"
    count, rows = opened.connection.raw_sql(f"SELECT count(*), coalesce(min(row, {most}), []) FROM {scan}").fetchone()
    shown = opened.connection.raw_sql(
        f"SELECT a, b FROM {scan} GROUP BY a, b ORDER BY min(row) LIMIT {most}"
    ).fetchall()
    return int(count), tuple(rows), tuple(f"{low.name} = {a:g}, {high.name} = {b:g}" for a, b in shown)


def proper_number(opened: Opened, column: Column) -> Any:
    """The number itself; nothing where it is missing or outside the codebook."""
    value = present(opened.value(column.name))
    code = code_expression(column, value)
    proper = code.notnull() & (code < column.proper_levels)
    return proper.ifelse(read_number(column.reading, value), ibis.null("float64"))


def count_unordered(opened: Opened, pairs: Sequence[tuple[Column, Column]]) -> list[int]:
    """Rows in which the first number of each pair lies above the second; one scan for all pairs."""
    if not pairs:
        return []
    columns = {column.name: column for pair in pairs for column in pair}
    place = {name: f"v{number}" for number, name in enumerate(columns)}
    values = {place[name]: proper_number(opened, column) for name, column in columns.items()}
    counts = ", ".join(f"count(*) FILTER ({place[low.name]} > {place[high.name]})" for low, high in pairs)
    scan = opened.connection.compile(opened.table.select(**values))
    return [int(count) for count in opened.connection.raw_sql(f"SELECT {counts} FROM ({scan}) AS scan").fetchone()]
