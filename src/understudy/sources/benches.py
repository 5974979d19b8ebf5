"""The bench of whatever engine a table lies in: see :mod:`understudy.sources.engines.bench`."""

from contextlib import AbstractContextManager
from typing import Any

import pyarrow as pa

from understudy.sources.engines import engine_behind
from understudy.sources.engines.bench import Bench
from understudy.sources.engines.duckdb import DuckBench, private_folder, write_codes
from understudy.sources.engines.spark import SparkBench

__all__ = ["Bench", "DuckBench", "SparkBench", "bench_for", "fetched", "one_state", "private_folder", "write_codes"]


def bench_for(connection: Any, expression: Any) -> Bench:
    """The bench of an engine."""
    return engine_behind(connection).bench(connection, expression)


def one_state(connection: Any, made: list[Bench]) -> AbstractContextManager[None]:
    """Whatever is encoded inside, and put on the list, is of one state of the database, or it is said."""
    return engine_behind(connection).bench.one_state(connection, made)


def fetched(connection: Any, expression: Any) -> pa.Table:
    """The answer to a question of any types."""
    return engine_behind(connection).bench.fetched(connection, expression)
