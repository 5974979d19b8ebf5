"""A bench keeps the codes of a table and counts tables from them; every engine has one.

On the engines here, encoding once into small integers and counting those is faster than one GROUPING SETS query
(measured in docs/guide/scale.md).
"""

import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import ibis
import pyarrow as pa

from understudy.errors import DataError

CHANGED = "the table changed while it was counted, so that its counts would be of two different tables; run again."


class Bench(ABC):
    """Codes inside an engine. Only counts and sums are ever fetched from it."""

    stays_in_engine = True
    """Whether rows must not be brought into our own memory, not even as codes."""

    def __init__(self, connection: Any, expression: Any) -> None:
        self.connection = connection
        self.expression = expression
        self.name = f"understudy_codes_{uuid.uuid4().hex}"
        self.codes: Any = None

    def encode(self, report: Any = None) -> Any:
        """The table of codes; made once."""
        if self.codes is None:
            self.codes = self._make(report)
        return self.codes

    @abstractmethod
    def _make(self, report: Any) -> Any:
        """Encode inside the engine."""

    @staticmethod
    def fetched(connection: Any, expression: Any) -> pa.Table:
        """The answer to a question of any types."""
        return expression.to_pyarrow()

    def fetch(self, expression: Any) -> pa.Table:
        """The answer to one question about counts."""
        return self.fetched(self.connection, expression)

    def count(self, sets: Sequence[Sequence[str]]) -> Iterator[pa.Table]:
        """For each set of code columns its occupied cells, with their counts as ``n``."""
        codes = self.encode()
        for keys in sets:
            yield self.fetch(codes.group_by(list(keys)).aggregate(n=codes.count()))

    @contextmanager
    def held(self, key: str) -> Iterator[Any]:
        """A secret text as a scalar of the engine, for one statement; in our own process it may stand in the query."""
        yield ibis.literal(key)

    def free(self) -> None:
        """Forget the codes."""
        if self.codes is not None:
            self.connection.drop_table(self.name, force=True)
            self.codes = None

    @classmethod
    @contextmanager
    def one_state(cls, connection: Any, made: "list[Bench]") -> Iterator[None]:
        """Whatever is encoded inside, and put on the list ``made``, comes from one state of the database, or it is
        said that it does not.
        """
        yield
        if cls.stays_in_engine and len(made) > 1:
            for bench in made:
                bench.refuse_change()

    def refuse_change(self) -> None:
        """Raise unless the table still holds what was encoded; the engine compares, and says how many rows differ."""
        if self.codes is None or self.codes is self.expression:
            return
        names = list(self.codes.columns)
        kept, now = (each.group_by(names).aggregate(n=each.count()) for each in (self.codes, self.expression))
        for first, second in ((kept, now), (now, kept)):
            differ = first.difference(second)
            if self.fetch(differ.aggregate(n=differ.count()))["n"][0].as_py():
                raise DataError(CHANGED)


@contextmanager
def watched(connection: Any, report: Callable[[str, int, int], None] | None) -> Iterator[None]:
    """Report the engine's own progress while it reads, twice a second."""
    if report is None or not hasattr(connection.con, "query_progress"):
        yield
        return
    finished = threading.Event()

    def watch() -> None:
        while not finished.wait(0.5):
            done = connection.con.query_progress()
            if done >= 0:
                report("reading", int(done), 100)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
        report("reading", 100, 100)
    finally:
        finished.set()
        watcher.join()
