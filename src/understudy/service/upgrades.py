"""Databases of earlier versions, brought up to date where they lie: columns that were added since, empty."""

from sqlalchemy import Connection, inspect, text, update

from understudy.service.tables import cap_changes, meta, schema

SCHEMA_VERSION = "2"
"""1 knew neither projects nor caps of data sets: such a program would answer beside them, and must refuse."""
_EARLIER = ("1",)
_ADDED = ((cap_changes, "dataset"), (cap_changes, "delta"))
"""Columns that the first databases lack; each may be empty."""


def bring_up(connection: Connection) -> None:
    """Make the tables that are missing, and add the columns that they lack; no line is changed."""
    schema.create_all(connection)
    for table, name in _ADDED:
        if name not in {column["name"] for column in inspect(connection).get_columns(table.name)}:
            kind = table.c[name].type.compile(connection.dialect)
            connection.execute(text(f'ALTER TABLE {table.name} ADD COLUMN "{name}" {kind}'))


def raise_number(connection: Connection) -> None:
    """Give a database that was brought up the number of this version; one of a later version keeps its own."""
    is_earlier = (meta.c.name == "schema") & meta.c.text.in_(_EARLIER)
    connection.execute(update(meta).where(is_earlier).values(text=SCHEMA_VERSION))
