"""Counts of a table of codes that exists already, such as a join of linked tables."""

import weakref
from typing import Any

from understudy.codebook import Codebook
from understudy.errors import RefusalError
from understudy.privacy.account import Account
from understudy.privacy.provenance import Provenance
from understudy.sources.base import Source
from understudy.sources.benches import bench_for
from understudy.sources.engine import EngineSource, forget


class CodesSource(EngineSource):
    """An Ibis expression of codes, c0, c1, ..., for the columns that a codebook counts; kept and counted in place.

    Small tables of DuckDB are counted in memory. Nothing is encoded here, so nothing can be unknown.
    """

    rests_on: Any = None
    """Whose tables the expression reads; they are forgotten with their source."""

    def __init__(
        self,
        *,
        codebook: Codebook,
        connection: Any,
        expression: Any,
        account: Account | None,
        provenance: Provenance,
        local_bytes: int,
    ) -> None:
        Source.__init__(self, codebook=codebook, account=account, provenance=provenance)
        columns = [codebook.counted, codebook.without_smooth_pieces]
        given = sum(name.startswith("c") and name[1:].isdecimal() for name in expression.columns)
        self._columns = next(each for each in columns if len(each) == given)
        self._opened_table, self._has_ids, self._is_capped = expression, False, True
        self.bench = bench_for(connection, expression)
        self._local_bytes = 0 if self.bench.stays_in_engine else local_bytes
        self._likely_rows, self._verify, self._parquet = None, lambda: None, ()
        self._read_anew, self._states = (), None
        self._checked, self._local, self._streamed, self._before = True, None, None, None
        weakref.finalize(self, forget, self.bench).atexit = False

    def _encoding(self, read: Any = ()) -> Any:
        return self._opened_table

    def _pieces_of(self, batch: Any, columns: Any) -> list[Any]:
        return []

    def _with_pieces(self) -> None:
        if not self._counts_pieces:
            raise RefusalError("pieces of smooth numbers were left out of this table; open it with pieces=True.")
