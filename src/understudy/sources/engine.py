"""Counts taken by an SQL engine through Ibis; only counts come back."""

import math
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from understudy.codebook import Codebook
from understudy.errors import DataError, RefusalError
from understudy.privacy.account import Account
from understudy.privacy.secret import Secret
from understudy.sources.base import Clique, Keep, Report, Source
from understudy.sources.encoded import EncodedSource
from understudy.sources.expressions import PERSON, encoded_table, unknown_code
from understudy.sources.faults import engine_errors
from understudy.sources.tables import DENSE_LIMIT, CountTable, code_type

__all__ = ["EngineSource"]


class EngineSource(Source):
    """An Ibis table, encoded once into a temporary table of small integers and counted there."""

    def __init__(
        self,
        *,
        codebook: Codebook,
        connection: Any,
        table: Any,
        unknown: str,
        account: Account | None = None,
        local_bytes: int = 0,
        verify: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(codebook=codebook, account=account)
        self._connection = connection
        self._expression = encoded_table(table, codebook, unknown)
        self._has_ids = PERSON in self._expression.columns
        self._local_bytes = local_bytes
        """Codes up to this many bytes are counted in our own memory; 0 leaves every row in the engine."""
        self._name = f"understudy_codes_{uuid.uuid4().hex}"
        self._verify = verify
        """Called before the first row is read; raises when the file behind the table is not whole."""
        self._codes: Any = None
        self._local: EncodedSource | None = None

    def materialize(self, report: Report | None = None) -> Any:
        """The temporary table of codes; made on first use, because opening a file must not read it."""
        if self._codes is None:
            if self._verify is not None:
                self._verify()
            with _watched(self._connection, report):
                codes = self._connection.create_table(self._name, self._expression, temp=True)
            self._refuse_unknown(codes)
            self._codes = codes
        return self._codes

    def _refuse_unknown(self, codes: Any) -> None:
        """Values outside the codebook are never dropped in silence."""
        columns = self.codebook.counted
        tests = {
            f"u{position}": (codes[f"c{position}"] == unknown_code(column)).sum()
            for position, column in enumerate(columns)
        }
        found = codes.aggregate(**tests).to_pyarrow().to_pylist()[0]
        bad = {column.name: found[f"u{i}"] for i, column in enumerate(columns) if found[f"u{i}"]}
        if bad:
            named = ", ".join(f"{name!r} ({count:,} rows)" for name, count in bad.items())
            raise DataError(
                f"the data hold values that the codebook does not know in {named}. List them with "
                "`understudy codebook check`, mend the codebook or the data, or choose where they go: unknown = "
                "'missing' (the column's missing level) or 'other' (its declared other level)."
            )

    def _to_local(self, report: Report | None) -> EncodedSource | None:
        """The in-memory fast path, when the codes are few enough."""
        if self._local is None and self._local_bytes:
            codes = self.materialize(report)
            width = sum(code_type(column.size + 1)(0).nbytes for column in self.codebook.counted)
            if int(codes.count().to_pyarrow().as_py()) * width <= self._local_bytes:
                batch = codes.to_pyarrow()
                places = range(len(self.codebook.counted))
                columns = [np.ascontiguousarray(batch.column(i).to_numpy()) for i in places]
                people = _people(batch.column(PERSON), self.codebook) if self._has_ids else None
                self._local = EncodedSource(
                    codebook=self.codebook, columns=columns, people=people, account=self.account
                )
                self._connection.drop_table(self._name, force=True)
        return self._local

    def capped(self, keep: Keep) -> Source:
        """The chosen records, in memory: a table too large for that is refused."""
        if self.is_capped:
            return self
        with engine_errors("the data"):
            local = self._to_local(None)
        if local is None:
            raise RefusalError(
                "the table is too large to cap the records of one person in memory; raise `local_bytes`, or cap it "
                "beforehand and give every record an id of its own with cap = 1."
            )
        return local.capped(keep)

    def count(self, cliques: Sequence[Clique], report: Report | None = None) -> list[Secret[CountTable]]:
        """One GROUP BY per clique over the encoded table, or one pass in memory when it is small."""
        with engine_errors("the data"):
            local = self._to_local(report)
            if local is not None:
                return local.count(cliques, report)
            return self._count_in_engine(cliques, report)

    def _count_in_engine(self, cliques: Sequence[Clique], report: Report | None) -> list[Secret[CountTable]]:
        codes = self.materialize(report)
        tables = []
        for done, clique in enumerate(cliques, start=1):
            tables.append(Secret(self._count_one(codes, clique)))
            if report:
                report("counting", done, len(cliques))
        return tables

    def _count_one(self, codes: Any, clique: Clique) -> CountTable:
        keys = [f"c{self.codebook.count_position(name)}" for name in clique]
        result = codes.group_by(keys).aggregate(n=codes.count()).to_pyarrow()
        sizes = self.sizes(clique)
        occupied = [result.column(key).to_numpy() for key in keys]
        counts = result.column("n").to_numpy().astype(np.int64)
        if math.prod(sizes) <= DENSE_LIMIT:
            grid = np.zeros(sizes, dtype=np.int64)
            grid[tuple(occupied)] = counts
            return CountTable.dense(clique, grid)
        kind = code_type(max(sizes))
        stacked = np.stack([column.astype(kind) for column in occupied], axis=1)
        return CountTable.sparse(clique, sizes, stacked, counts)


def _people(ids: Any, book: Codebook) -> Any:
    """A number for each person; a missing id could be anybody's, so it is refused."""
    assert book.unit is not None
    if ids.null_count:
        raise DataError(
            f"the id column {book.unit.id!r} is missing in {ids.null_count:,} rows; each row needs the id of its "
            "person, or the cap on records per person protects nobody there. Fill the gaps or drop those rows."
        )
    coded = ids.combine_chunks().dictionary_encode()
    return coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


@contextmanager
def _watched(connection: Any, report: Report | None) -> Iterator[None]:
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
