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
from understudy.sources.expressions import as_number, as_text, code_expression, present
from understudy.sources.files import Opened

Broken = tuple[str, int, tuple[int, ...], tuple[str, ...]]
"""A rule, how many rows break it, the first of them, and some of their values."""


def broken_rules(opened: Opened, book: Codebook, most: int) -> list[Broken]:
    """Every rule that some row breaks; rows with values outside the codebook are left to other faults."""
    named = {column.name: column for column in book.modelled}
    found = []
    for rule in book.constraints:
        if not all(name in opened.header for name in rule.columns):
            continue
        if isinstance(rule, Order) and isinstance(named[rule.low], Number):
            found.append((rule.title, *_unordered(opened, named[rule.low], named[rule.high], rule.gap, most)))
        else:
            found.append((rule.title, *_forbidden(opened, clause_of(rule, named), named, most)))
    orders = Orders(book.modelled, book.constraints)
    for clause, origin in orders.implied(named):
        low, high = (named[name] for name in clause.columns)
        if low.name not in opened.header or high.name not in opened.header:
            continue
        title = "; ".join(book.constraints[number].title for number in sorted(origin))
        if isinstance(low, Number):
            found.append((title, *_unordered(opened, low, high, orders.gaps[low.name, high.name], most)))
        else:
            found.append((title, *_forbidden(opened, clause, named, most)))
    for detail in book.details:
        if detail.name in opened.header and detail.detail_of in opened.header:
            found.append((f"{detail.name} belongs to {detail.detail_of}", *_misplaced(opened, book, detail, most)))
    return [broken for broken in found if broken[1]]


def _misplaced(
    opened: Opened, book: Codebook, detail: Detail, most: int
) -> tuple[int, tuple[int, ...], tuple[str, ...]]:
    """Detail codes under a coarse level that they do not belong to; a missing coarse level says nothing."""
    coarse = book.column(detail.detail_of)
    looked_at = {
        "level": code_expression(coarse, opened.value(coarse.name)),
        "code": as_text(present(opened.value(detail.name))),
    }
    pairs = opened.connection.raw_sql(
        f"SELECT level, code, count(*), min(row, {most}) FROM ({_rows(opened, **looked_at)}) AS scan "
        "WHERE level IS NOT NULL AND code IS NOT NULL GROUP BY level, code ORDER BY min(row)"
    ).fetchall()
    parent = {code: coarse.labels.index(group) for group, codes in detail.groups for code in codes}
    bad = [pair for pair in pairs if pair[0] != coarse.missing_code and parent.get(pair[1], pair[0]) != pair[0]]
    rows = sorted(row for pair in bad for row in pair[3])[:most]
    values = [f"{coarse.name} = {coarse.labels[level]}, {detail.name} = {code}" for level, code, *_ in bad[:most]]
    return sum(int(pair[2]) for pair in bad), tuple(rows), tuple(values)


def _rows(opened: Opened, **looked_at: Any) -> str:
    """One scan of what is looked at, with row numbers from 1."""
    return str(opened.connection.compile(opened.table.select(row=ibis.row_number() + 1, **looked_at)))


def _forbidden(
    opened: Opened, clause: Clause, named: dict[str, Column], most: int
) -> tuple[int, tuple[int, ...], tuple[str, ...]]:
    """By combinations of codes, which the engine counts; those that the clause forbids are bad."""
    columns = [named[name] for name in clause.columns]
    codes = {f"c{place}": code_expression(c, opened.value(c.name)) for place, c in enumerate(columns)}
    names = ", ".join(codes)
    known = " AND ".join(f"{name} IS NOT NULL" for name in codes)
    combinations = opened.connection.raw_sql(
        f"SELECT {names}, count(*), min(row, {most}), min(row) FROM ({_rows(opened, **codes)}) AS scan "
        f"WHERE {known} GROUP BY {names} ORDER BY min(row)"
    ).fetchall()
    bad = [cell for cell in combinations if not _is_allowed(clause, cell[: len(columns)])]
    rows = sorted(row for cell in bad for row in cell[len(columns) + 1])[:most]
    values = [
        ", ".join(f"{column.name} = {column.labels[code]}" for column, code in zip(columns, cell, strict=False))
        for cell in bad[:most]
    ]
    return sum(int(cell[len(columns)]) for cell in bad), tuple(rows), tuple(values)


def _is_allowed(clause: Clause, codes: Sequence[int]) -> bool:
    classes = tuple(own[code] for own, code in zip(clause.classes, codes, strict=True))
    return bool(np.asarray(clause.allowed[classes]))


def _unordered(
    opened: Opened, low: Column, high: Column, gap: int, most: int
) -> tuple[int, tuple[int, ...], tuple[str, ...]]:
    """Numbers are compared as they stand: two that share a bin can still be in the wrong order."""
    values = {}
    for key, column in (("a", low), ("b", high)):
        value = present(opened.value(column.name))
        code = code_expression(column, value)
        proper = code.notnull() & (code < column.proper_levels)
        values[key] = proper.ifelse(as_number(value), ibis.null("float64"))
    assert isinstance(low, Number)
    wrong = "a >= b" if gap == 1 else f"a + {gap * float(low.step)!r} > b"
    scan = f"({_rows(opened, **values)}) AS scan WHERE a IS NOT NULL AND b IS NOT NULL AND {wrong}"
    count, rows = opened.connection.raw_sql(f"SELECT count(*), coalesce(min(row, {most}), []) FROM {scan}").fetchone()
    shown = opened.connection.raw_sql(
        f"SELECT a, b FROM {scan} GROUP BY a, b ORDER BY min(row) LIMIT {most}"
    ).fetchall()
    return int(count), tuple(rows), tuple(f"{low.name} = {a:g}, {high.name} = {b:g}" for a, b in shown)
