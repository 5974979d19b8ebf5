"""Databases of earlier versions, brought up to date where they lie: columns that were added since, empty."""

from sqlalchemy import Connection, inspect, text

from understudy.service.tables import cap_changes, schema

_ADDED = ((cap_changes, "dataset"), (cap_changes, "delta"))
"""Columns that the first databases lack; each may be empty."""


def bring_up(connection: Connection) -> None:
    """Make the tables that are missing, and add the columns that they lack; no line is changed."""
    schema.create_all(connection)
    for table, name in _ADDED:
        if name not in {column["name"] for column in inspect(connection).get_columns(table.name)}:
            kind = table.c[name].type.compile(connection.dialect)
            connection.execute(text(f'ALTER TABLE {table.name} ADD COLUMN "{name}" {kind}'))
