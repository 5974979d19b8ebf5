"""Rows that break a rule across linked tables: how many, where, with which values. For the holder of the data only."""

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

import ibis
import numpy as np
import numpy.typing as npt

from understudy.codebook import Column, LinkedCodebook, LinkedTable
from understudy.codebook.clauses import clause_of, value_range
from understudy.codebook.linked_rules import Last, NothingAfter, renamed, table_of
from understudy.codebook.rules import Order, Rule, codes_of
from understudy.sources.benches import fetched
from understudy.sources.check import Fault, places
from understudy.sources.linked import LinkedSource
from understudy.sources.linked_joins import joined_codes
from understudy.sources.linked_order import KEY, PARENT, RANK, ROW

Cell = tuple[tuple[int, ...], int, list[int]]
"""Codes, in how many rows they come together, and the numbers of the first of these."""
_SHOWN_CELLS = 20
"""Broken combinations whose rows are named by key, on a server."""


def broken_across(source: LinkedSource, most: int) -> list[Fault]:
    """Every rule that some row breaks, together with the rows above and before it."""
    return [fault for rule in _rules(source.codebook) for fault in _broken(source, rule, most)]


def _rules(book: LinkedCodebook) -> Iterator[Rule]:
    """Rules that one file alone cannot be held against: also those of one table about constants that lie in another."""
    for rule in book.rules:
        yield from rule.orders() if isinstance(rule, NothingAfter) else [rule]
    for table in book.tables:
        read = {constant.column for constant in table.read_constants}
        yield from (renamed(rule, table.spelled) for rule in table.book.constraints if read & set(rule.columns))


def _broken(source: LinkedSource, rule: Rule, most: int) -> list[Fault]:
    name = source.codebook.deepest(map(table_of, rule.columns)).name
    if isinstance(rule, Last):
        return _followed(source, rule, name, most)
    columns = {column: source.codebook.column(column) for column in rule.columns}
    view = joined_codes(source, name, list(columns))
    if isinstance(rule, Order) and {"w0", "w1"} <= set(view.columns):
        return _unordered(source, rule, name, view, most)
    cells = _cells(source, view, len(columns), most)
    cells = [
        cell for cell in cells if all(c < column.size for c, column in zip(cell[0], columns.values(), strict=True))
    ]
    if not cells:
        return []
    codes = {
        column: np.array([cell[0][place] for cell in cells], dtype=np.int64) for place, column in enumerate(columns)
    }
    bad = [cell for cell, fits in zip(cells, _kept(rule, columns, codes), strict=True) if not fits]
    shown = [
        ", ".join(
            f"{column} = {one.labels[code]}" for (column, one), code in zip(columns.items(), cell[0], strict=True)
        )
        for cell in bad
    ]
    rows = [row for cell in bad for row in cell[2]]
    if not bad:
        return []
    told = "" if rows else row_keys(source, _with_codes(view, [cell[0] for cell in bad]), source.codebook.table(name))
    return [_fault(rule, name, sum(cell[1] for cell in bad), rows, shown, most, told)]


def _with_codes(view: Any, cells: Sequence[tuple[int, ...]]) -> Any:
    """The rows with one of these combinations of codes."""
    fits = [
        reduce(and_, (view[f"v{place}"] == code for place, code in enumerate(cell))) for cell in cells[:_SHOWN_CELLS]
    ]
    return view.filter(reduce(or_, fits))


def _unordered(source: LinkedSource, rule: Order, name: str, view: Any, most: int) -> list[Fault]:
    """Numbers that are in the wrong order themselves, whether or not they share a bin."""
    low, high = view["w0"], view["w1"]
    bad = view.filter(low > high if rule.relation == "<=" else low >= high)
    count, numbers, _ = counted_rows(source, bad, most)
    told = row_keys(source, bad, source.codebook.table(name)) if count else ""
    return [_fault(rule, name, count, numbers, [], most, told)] if count else []


def row_keys(source: LinkedSource, rows: Any, table: LinkedTable, most: int = 5) -> str:
    """The keys of some rows in words, for a server's tables: their rows have no numbers."""
    if ROW in rows.columns or KEY not in rows.columns or table.key is None:
        return ""
    known = rows.filter(rows[KEY].notnull()).select(KEY).distinct().order_by(KEY).limit(most)
    keys = fetched(source.connection, known)[KEY].to_pylist()
    return f" ({table.key} {', '.join(map(repr, keys))})" if keys else ""


def _kept(
    rule: Rule, columns: dict[str, Column], codes: dict[str, npt.NDArray[np.int64]]
) -> npt.NDArray[np.bool_]:  # fmt: skip
    """Which combinations keep the rule. Orders are compared as they are: dates of many days have too many pairs."""
    if not isinstance(rule, Order):
        clause = clause_of(rule, columns)
        return clause.allows([codes[name] for name in clause.columns])
    low, high = columns[rule.low], columns[rule.high]
    known = (codes[rule.low] < low.proper_levels) & (codes[rule.high] < high.proper_levels)
    fits = np.ones(len(known), dtype=bool)
    smallest, largest = value_range(low)[0], value_range(high)[1]
    fits[known] = smallest[codes[rule.low][known]] + rule.gap <= largest[codes[rule.high][known]]
    return fits


def _followed(source: LinkedSource, rule: Last, name: str, most: int) -> list[Fault]:
    """Rows after one that should have been the last."""
    table, ended = source.codebook.table(name), source.rows(name)
    rows = ended
    position = {column.name: place for place, column in enumerate(source.columns(name))}
    for column, values in rule.cells:
        own = column.partition(".")[2]
        ended = ended.filter(ended[f"c{position[own]}"].isin(codes_of(table.book.column(own), values)))
    first = ended.group_by(PARENT).aggregate(ended=ended[RANK].min()).rename({"of": PARENT})
    after = rows.inner_join(first, [rows[PARENT] == first["of"], rows[RANK] > first["ended"]])
    count, numbers, _ = counted_rows(source, after, most)
    return [_fault(rule, name, count, numbers, [], most, row_keys(source, after, table))] if count else []


def _fault(
    rule: Rule, name: str, count: int, rows: Sequence[int], shown: Sequence[str], most: int, keys: str = ""
) -> Fault:
    numbers = tuple(sorted(rows)[:most])
    told = f" ({'; '.join(shown[:3])}{'; ...' if len(shown) > 3 else ''})" if shown else ""
    sentence = (
        f"table {name!r}: rule {rule.title!r} is broken in {places('row', numbers, count)}{keys}{told}; mend "
        "the data or "
    )
    return Fault(
        kind="broken rule",
        table=name,
        rows=numbers,
        count=count,
        values=tuple(shown[:most]),
        sentence=sentence + "the rule. No synthetic row will break it.",
    )


def counted_rows(
    source: LinkedSource, rows: Any, most: int, shown: str | None = None
) -> tuple[int, tuple[int, ...], list[Any]]:
    """How many rows there are, the numbers of the first, and some of their values."""
    connection = source.connection
    is_numbered = ROW in rows.columns
    rows = rows.select([name for name in rows.columns if name in (ROW, shown)] or [rows.columns[0]])
    number = rows[ROW].nunique() if is_numbered else rows.count()
    count = int(fetched(connection, rows.aggregate(n=number))["n"][0].as_py())
    if not count:
        return 0, (), []
    numbers: tuple[int, ...] = ()
    if is_numbered:
        first = rows.select(ROW).distinct().order_by(ROW).limit(most)
        numbers = tuple(fetched(connection, first)[ROW].to_pylist())
    values: list[Any] = []
    if shown is not None:
        each = rows.group_by(shown).aggregate(n=rows[ROW].min() if is_numbered else rows.count())
        ordered = each.order_by(["n", shown]).limit(most)
        values = fetched(connection, ordered)[shown].to_pylist()
    return count, numbers, values


def _cells(source: LinkedSource, view: Any, width: int, most: int) -> list[Cell]:
    """Combinations of codes; a row without a previous one keeps every rule about it and is left out."""
    codes = [f"v{place}" for place in range(width)]
    for code in codes:
        view = view.filter(view[code].notnull())
    is_numbered = ROW in view.columns
    cells = view.group_by(codes).aggregate(n=view[ROW].nunique() if is_numbered else view.count())
    counts = {tuple(cell[code] for code in codes): int(cell["n"]) for cell in _list(source, cells)}
    numbers: dict[tuple[int, ...], list[int]] = {}
    if is_numbered and counts:
        first = view.select(*codes, ROW).distinct()
        first = first.mutate(turn=ibis.row_number().over(group_by=codes, order_by=ROW))
        for cell in _list(source, first.filter(first["turn"] < most)):
            numbers.setdefault(tuple(cell[code] for code in codes), []).append(cell[ROW])
    return [(key, count, numbers.get(key, [])) for key, count in counts.items()]


def _list(source: LinkedSource, expression: Any) -> list[dict[str, Any]]:
    return list(fetched(source.connection, expression).to_pylist())
