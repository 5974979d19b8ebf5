"""Tables that lie in a database, whichever engine it is."""

from understudy.sources.engines import engines
from understudy.sources.engines.file_database import FileEngine
from understudy.sources.engines.kind import Address, Found
from understudy.sources.engines.spark import is_spark, open_spark_object, spark_files, spark_session
from understudy.sources.faults import engine_errors

__all__ = ["is_spark", "open_database", "open_spark_object", "spark_files", "spark_session", "tables_in"]


def tables_in(where: Address) -> list[str]:
    """The tables of a database that is a file."""
    engine = engines()[where.kind]
    assert isinstance(engine, FileEngine)
    return engine.tables(where)


def open_database(where: Address) -> Found:
    """The table of an address; reads no row."""
    with engine_errors(where.label):
        return engines()[where.kind].open(where)
