"""JSON lines: one object a line, every value read as the text that it is spelled with, as in a CSV file."""

from collections.abc import Sequence
from glob import escape
from pathlib import Path
from typing import Any

from understudy.errors import DataError, quoted


def read_json(connection: Any, address: str, paths: Sequence[Path]) -> tuple[Any, tuple[str, ...]]:
    """The table, and the keys of all its objects in the order of their first appearance."""
    names = [escape(str(path)) for path in paths]
    listed = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
    # all lines are looked at: a key may come late; one level deep, so that what lies deeper shows as JSON
    scan = f"read_json([{listed}], format='auto', sample_size=-1, maximum_depth=1, union_by_name=true, records='true')"
    found = connection.raw_sql(f"DESCRIBE SELECT * FROM {scan}").fetchall()
    keys = [str(row[0]) for row in found]
    if not keys:
        raise DataError(
            f'{address!r} does not hold one JSON object a line; write each row as {{"column": value, ...}}.'
        )
    columns = ", ".join(f"'{key.replace(chr(39), chr(39) * 2)}': 'VARCHAR'" for key in keys)
    rows = f"SELECT * FROM read_json([{listed}], format='auto', columns={{{columns}}}, records='true')"
    connection.raw_sql(f"CREATE TEMP VIEW understudy_json AS {rows}")
    table = connection.table("understudy_json")
    doubtful = [str(row[0]) for row in found if str(row[1]) == "JSON"]
    if doubtful:
        nested = {
            f"c{at}": (table[name].strip().startswith("{") | table[name].strip().startswith("[")).any()
            for at, name in enumerate(doubtful)
        }
        deep = table.aggregate(**nested).to_pyarrow().to_pylist()[0]
        inside = [name for at, name in enumerate(doubtful) if deep[f"c{at}"]]
        if inside:
            raise DataError(
                f"{address!r} holds objects or lists inside {quoted(inside)}; a table has one value a cell. Flatten "
                "them into columns of their own, or leave them out."
            )
    return table, tuple(keys)
