"""Keys of linked tables, and the order of siblings: the same on every engine."""

from typing import Any

import ibis

from understudy.codebook import Dates, LinkedTable, Number
from understudy.sources import dialects
from understudy.sources.expressions import as_number, as_text, code_expression, person_of, read_day, read_number
from understudy.sources.files import Opened

KEY, PARENT, RANK = "key", "parent", "rank"
ROW = "row"
"""The number of a row in its file, where a check asks for it."""
NUMBER, TEXT = "o0", "o1"
"""What siblings are ordered by: a number where there is one, then the text."""


def text_of(opened: Opened, name: str | None) -> Any:
    """A key as text; null where the table has none."""
    return ibis.null("string") if name is None else person_of(opened.value(name))


def order_of(opened: Opened, table: LinkedTable) -> dict[str, Any]:
    """A number and a text by which siblings are sorted; dates count as yyyymmdd."""
    if table.order is None:
        return {}
    value = opened.value(table.order)
    column = next((each for each in table.book.columns if each.name == table.order), None)
    if isinstance(column, Number):
        number = read_number(column.reading, value)
    elif isinstance(column, Dates):
        number = _day_number(read_day(column.reading, value))
    elif column is not None and column.kind == "ordinal":
        number = code_expression(column, value).cast("float64")
    elif value.type().is_date() or value.type().is_timestamp():
        number = _day_number(dialects.dialect_of(value).is_day(value))
    else:
        number = as_number(value)
    return {NUMBER: number, TEXT: as_text(value).fill_null("")}


def _day_number(day: Any) -> Any:
    return (day.year() * 10_000 + day.month() * 100 + day.day()).cast("float64")


def ordered_by(rows: Any, table: LinkedTable, *, last_first: bool = False) -> list[Any]:
    """What to sort siblings by: the order of the table, then the key; the same on every engine."""
    keys = [] if table.order is None else [rows[NUMBER].isnull().ifelse(1, 0), rows[NUMBER], _bytewise(rows[TEXT])]
    keys += [] if table.key is None else [_bytewise(rows[KEY])]
    return [key.desc() for key in keys] if last_first else keys


def _bytewise(text: Any) -> Any:
    """Text sorted by its bytes, whatever language a server sorts by."""
    return dialects.dialect_of(text).bytewise(text)


def ranked(rows: Any, table: LinkedTable) -> Any:
    """The rows with their places among siblings; rows that nothing tells apart may stand in any order."""
    if table.parent is None:
        return rows.mutate(**{RANK: ibis.literal(0, "int64")})
    codes = [rows[name] for name in rows.columns if name[0] == "c" and name[1:].isdecimal()]
    order = [*ordered_by(rows, table), *codes]
    return rows.mutate(**{RANK: ibis.row_number().over(group_by=PARENT, order_by=order).cast("int64")})
