"""Tables that lie in a database, whichever engine it is."""

from typing import Any

from understudy.sources.engines import engines
from understudy.sources.engines.kind import Address
from understudy.sources.engines.spark import is_spark, open_spark_object, spark_session
from understudy.sources.faults import engine_errors

__all__ = ["is_spark", "open_database", "open_spark_object", "spark_session"]


def open_database(where: Address) -> tuple[Any, Any, str]:
    """(connection, table, label) of an address; reads no row."""
    with engine_errors(where.label):
        return engines()[where.kind].open(where)
