"""Columns that child rows repeat, read into their parent by the declared rule.

Values are compared as the codebook tells them apart. A missing value contradicts nothing: where any sibling has a
known value, one of the known values is taken.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import ibis

from understudy.codebook import Column, Constant, LinkedCodebook, LinkedTable
from understudy.sources.benches import fetched
from understudy.sources.linked_order import KEY, NUMBER, PARENT, ROW, TEXT, ordered_by


def contradictions(
    connection: Any, table: LinkedTable, staged: Mapping[str, Any], columns: Sequence[Column]
) -> list[str]:
    """Constants without a rule that the data contradict, each with the number of parents."""
    faults = []
    for constant in table.read_constants:
        if constant.rule is not None:
            continue
        people = contradicted(table, constant, staged[constant.child], columns)
        count = int(fetched(connection, people.aggregate(n=people.count()))["n"][0].as_py())
        if count:
            faults.append(
                f"{constant.column!r} is declared constant within {table.name!r}, and {count:,} of them have several "
                f'values in {constant.child!r} (write rule = "first", "latest" or "most frequent", or mend the data)'
            )
    return faults


def contradicted(table: LinkedTable, constant: Constant, child: Any, columns: Sequence[Column]) -> Any:
    """The parents whose rows differ in a constant, one row each with their key as ``parent``."""
    place, column = _main(constant, columns)
    known = child if column.missing_code is None else child.filter(child[place] != column.missing_code)
    values = known.group_by(PARENT).aggregate(values=known[place].nunique())
    return values.filter(values["values"] > 1)


def with_constants(
    book: LinkedCodebook, table: LinkedTable, staged: Mapping[str, Any], columns: Sequence[Column]
) -> Any:
    """The codes of a table with its constants among them, in the order of its columns."""
    rows = staged.get(table.name)
    if rows is not None:  # without the constants of its own parent
        rows = rows.select([name for name in rows.columns if not (name[0] == "k" and name[1:].isdecimal())])
    for child in dict.fromkeys(constant.child for constant in table.read_constants):
        read = _read(
            book.table(child), [one for one in table.read_constants if one.child == child], staged[child], columns
        )
        if rows is None:  # made of this child
            rows = read.rename({KEY: PARENT}).mutate(**{PARENT: ibis.null("string")})
        else:
            read = read.rename({"above": PARENT})
            rows = rows.left_join(read, rows[KEY] == read["above"]).drop("above")
    assert rows is not None
    codes = {
        f"c{place}": rows[f"k{place}"] if f"k{place}" in rows.columns else rows[f"c{place}"]
        for place in range(len(columns))
    }
    for place, column in enumerate(columns):
        if table.made_of is None and column.missing_code is not None and f"k{place}" in rows.columns:
            codes[f"c{place}"] = codes[f"c{place}"].fill_null(column.missing_code)
    beside = [name for name in (KEY, PARENT, NUMBER, TEXT, ROW) if name in rows.columns]
    beside += [name for name in rows.columns if name[0] == "w" and name[1:].isdecimal()]
    return rows.select(*beside, **codes)


def _main(constant: Constant, columns: Sequence[Column]) -> tuple[str, Column]:
    """The code of a constant itself, beside those of its pieces."""
    return next((f"k{place}", column) for place, column in enumerate(columns) if column.name == constant.column)


def _read(child: LinkedTable, constants: Sequence[Constant], rows: Any, columns: Sequence[Column]) -> Any:
    """One row for each parent with the codes of its constants, k0, k1, ...: one scan for all of them."""
    rows = rows.filter(rows[PARENT].notnull())
    places = {
        constant.column: [f"k{place}" for place, column in enumerate(columns) if column.reads == constant.column]
        for constant in constants
    }
    rows = rows.mutate(
        **{
            f"n{number}": rows.count().over(group_by=[PARENT, *places[constant.column]])
            for number, constant in enumerate(constants)
            if constant.rule == "most frequent"
        }
    )
    turns = {}
    for number, constant in enumerate(constants):
        main, column = _main(constant, columns)
        codes = [rows[place] for place in places[constant.column]]
        absent = column.size + 1 if column.missing_code is None else column.missing_code
        is_missing = (rows[main] == absent).ifelse(1, 0)
        by_rule = [rows[f"n{number}"].desc()] if constant.rule == "most frequent" else []
        if constant.rule in ("first", "latest"):
            by_rule = ordered_by(rows, child, last_first=constant.rule == "latest")
        order = [is_missing, *by_rule, *codes]
        turns[f"t{number}"] = ibis.row_number().over(group_by=PARENT, order_by=order)
    turned = rows.mutate(**turns)
    values = {
        place: turned[place].max(where=turned[f"t{number}"] == 0)
        for number, constant in enumerate(constants)
        for place in places[constant.column]
    }
    return turned.group_by(PARENT).aggregate(**values)
