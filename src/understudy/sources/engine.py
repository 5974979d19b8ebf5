"""Counts taken by an SQL engine through Ibis; only counts come back."""

import copy
import math
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from understudy.codebook import Codebook
from understudy.errors import DataError
from understudy.interrupts import interrupts_put_off
from understudy.privacy.account import Account
from understudy.privacy.provenance import Provenance
from understudy.privacy.secret import Secret
from understudy.sources.base import Choice, Clique, Report, Source, no_ids, slice_weights
from understudy.sources.benches import Bench, DuckBench, bench_for
from understudy.sources.capping import kept_by_key, person_numbers, refuse_missing_ids
from understudy.sources.covering import covers
from understudy.sources.dictionaries import Codes, codes_of_text, rows_of_text, unknown_rows
from understudy.sources.encoded import EncodedSource
from understudy.sources.expressions import PERSON, encoded_table, unknown_code
from understudy.sources.faults import engine_errors
from understudy.sources.files import Opened
from understudy.sources.states import FileStates
from understudy.sources.streamed import StreamedTables
from understudy.sources.tables import DENSE_LIMIT, CountTable, code_type, counts_people, people_table

_ID_BYTES = 32
"""What the id of a record is taken to need in memory while records are chosen there."""


class EngineSource(Source):
    """An Ibis table, encoded once into a temporary table of small integers and counted there."""

    def __init__(
        self,
        *,
        codebook: Codebook,
        opened: Opened,
        unknown: str,
        account: Account | None,
        provenance: Provenance,
        local_bytes: int,
    ) -> None:
        super().__init__(codebook=codebook, account=account, provenance=provenance, opened=opened, unknown=unknown)
        self._columns = self.rules.without_smooth_pieces
        """What the engine encodes. Pieces take a long query, so they wait until somebody counts them there."""
        self._opened_table = opened.table
        is_local = local_bytes > 0 and opened.connection.name == "duckdb"
        expression = self._encoding([number.name for number in codebook.smooth] if is_local else ())
        self._has_ids = PERSON in expression.columns
        self.bench: Bench = bench_for(opened.connection, expression)
        self._local_bytes = 0 if self.bench.stays_in_engine else local_bytes
        """Codes up to this many bytes are counted in our own memory; 0 leaves every row in the engine."""
        self._likely_rows, self._verify, self._parquet = opened.likely_rows, opened.verify, opened.parquet
        self._read_anew = opened.read_anew
        self._states: FileStates | None = None
        """The files when they were first read."""
        self._checked = False
        self._before: Bench | None = None
        self._local: EncodedSource | None = None
        self._streamed: StreamedTables | None = None
        weakref.finalize(self, forget, self.bench).atexit = False

    def materialize(self, report: Report | None = None) -> Any:
        """The table of codes; made on first use, because opening a file must not read it."""
        if not self._checked:
            self._verify()  # the file behind the table is whole
        if isinstance(self.bench, DuckBench) and self.bench.codes is None:
            self.bench.on_disk = self._is_large()
            if self.bench.on_disk and not self._counts_pieces:
                self.bench.expression = self._encoding()  # without numbers, which only our own memory has a use for
        if self.bench.codes is None:
            with self._one_state():
                self.bench.encode(report)
        codes = self.bench.codes
        if self._before is not None:  # encoded earlier, without pieces
            if self.bench.stays_in_engine:
                self._before.refuse_change()
            forget(self._before)
            self._before = None
        if not self._checked:
            self._refuse_unknown(codes)
            self._checked = True
        return codes

    @contextmanager
    def _one_state(self) -> Iterator[None]:
        """Files are read inside, and are as they were when they were read first."""
        if self._states is None:
            self._states = FileStates(self._read_anew)
        yield
        try:
            self._states.refuse_changes()
        except DataError:
            self.bench.free()  # or the next question would be answered from it
            raise

    def _row_bytes(self) -> int:
        width = sum(code_type(column.size + 1)(0).nbytes for column in self._columns)
        return width + (_ID_BYTES if self._has_ids else 0)

    def _is_large(self) -> bool:
        """Whether the codes may be more than our own memory is meant to hold."""
        rows = self._likely_rows
        if rows is None:
            rows = int(self.bench.expression.count().to_pyarrow().as_py())
        return rows * self._row_bytes() > self._local_bytes

    def _refuse_unknown(self, codes: Any) -> None:
        """Values outside the codebook are never dropped in silence."""
        columns = self.codebook.described  # pieces of a number are unknown where the number is
        tests = {
            f"u{position}": (codes[f"c{position}"] == unknown_code(column)).sum()
            for position, column in enumerate(columns)
        }
        counts = self.bench.fetch(codes.aggregate(**tests)).to_pylist()[0]
        _refuse({column.name: counts[f"u{i}"] for i, column in enumerate(columns) if counts[f"u{i}"]})

    def _to_local(self, report: Report | None) -> EncodedSource | None:
        """The in-memory fast path, when the codes are few enough."""
        if self._local is None and self._local_bytes:
            self._local = self._from_text()
        if self._local is None and self._local_bytes:
            codes = self.materialize(report)
            if int(codes.count().to_pyarrow().as_py()) * self._row_bytes() <= self._local_bytes:
                batch = self._narrow(codes).to_pyarrow()
                columns = [np.ascontiguousarray(batch[f"c{i}"].to_numpy()) for i in range(len(self._columns))]
                if not self._counts_pieces:
                    columns += self._pieces_of(batch, columns)
                self._local = EncodedSource(
                    codebook=self.codebook,
                    columns=columns,
                    people=person_numbers(batch.column(PERSON), self.codebook.unit) if self._has_ids else None,
                    account=self.account,
                    provenance=self.provenance,
                    unknown=self.unknown,
                )
                self.bench.free()
        return self._local

    def _narrow(self, codes: Any) -> Any:
        """Codes in the types that :meth:`_row_bytes` counts with, whatever the engine worked them out in."""
        kinds = {f"c{place}": code_type(column.size + 1).__name__ for place, column in enumerate(self._columns)}
        return codes.mutate(**{name: codes[name].cast(kind) for name, kind in kinds.items()})

    @property
    def _counts_pieces(self) -> bool:
        """Whether the engine encodes the pieces of smooth numbers too."""
        return len(self._columns) == len(self.codebook.counted)

    def _encoding(self, read: Sequence[str] = ()) -> Any:
        return encoded_table(self._opened_table, self.codebook, self.unknown, self._columns, read)

    def _pieces_of(self, batch: Any, columns: Sequence[Codes]) -> list[Codes]:
        """Codes of the pieces of smooth numbers, from the numbers that came along."""
        found = []
        for place, number in enumerate(self.codebook.smooth):
            bins = columns[self.codebook.count_position(number.name)]
            pieces = number.fine.bins_of(batch[f"r{place}"].to_numpy()).astype(code_type(number.fine.size + 1))
            outside = bins >= number.proper_levels  # missing, and unknown after it, are the last codes of both
            pieces[outside] = bins[outside] - number.proper_levels + number.fine.proper_levels
            found.append(pieces)
        return found

    def _with_pieces(self) -> None:
        """Let the engine encode again, with the pieces of smooth numbers, unless that was done."""
        if self._counts_pieces:
            return
        self._columns = self.rules.counted
        self._before, self._checked = self.bench, False
        self.bench = bench_for(self.bench.connection, self._encoding())
        weakref.finalize(self, forget, self.bench).atexit = False

    def _from_text(self) -> EncodedSource | None:
        """Codes of text in Parquet files, without the engine's help."""
        book = self.rules
        rows = None if self._has_ids or self._checked else rows_of_text(self._parquet, book)
        if not rows or rows * self._row_bytes() > self._local_bytes:
            return None
        with self._one_state():
            columns = codes_of_text(self._parquet, book, self.unknown, rows)
        if columns is None:
            return None
        _refuse(unknown_rows(columns, book))
        return EncodedSource(
            codebook=self.codebook,
            columns=columns,
            account=self.account,
            provenance=self.provenance,
            unknown=self.unknown,
        )

    def capped(self, choice: Choice) -> Source:
        """The chosen records: in memory where the table is small, else chosen by the engine and left there."""
        if self.is_capped:
            return self
        if not self._has_ids:
            raise no_ids(self.codebook.unit)
        with engine_errors("the data"):
            local = self._to_local(None)
            if local is not None:
                return local.capped(choice)
            self._with_pieces()
            return self._capped_in_engine(choice)

    def _capped_in_engine(self, choice: Choice) -> "EngineSource":
        """Codes of the chosen records in a table of their own, without ids."""
        codes = self.materialize()
        counted = self.bench.fetch(codes.aggregate(absent=codes[PERSON].isnull().sum()))
        refuse_missing_ids(int(counted["absent"][0].as_py() or 0), self.codebook.unit)
        names = [name for name in codes.columns if name != PERSON]
        chosen = copy.copy(self)
        with self.bench.held(choice.key()) as key:
            kept = kept_by_key(codes, person=PERSON, content=names, cap=choice.cap, key=key)
            chosen.bench = bench_for(self.bench.connection, kept)
            if isinstance(chosen.bench, DuckBench) and isinstance(self.bench, DuckBench):
                chosen.bench.on_disk = self.bench.on_disk
            chosen.bench.encode()
        chosen._has_ids, chosen._is_capped = False, True
        chosen._parquet = ()  # they hold the records that were not chosen too
        if counts_people(self.codebook):
            chosen.people = self._people_counted(codes, choice.cap)
        weakref.finalize(chosen, forget, chosen.bench).atexit = False
        return chosen

    def _people_counted(self, codes: Any, cap: int) -> Secret[CountTable]:
        """How many people have one record, two, ..., and ``cap`` or more; counted by the engine."""
        each = codes.group_by(PERSON).aggregate(n=codes.count())
        each = each.select(n=(each.n > cap).ifelse(cap, each.n).cast("int64"))
        counted = self.bench.fetch(each.group_by("n").aggregate(people=each.count()))
        grid = np.zeros(cap, dtype=np.int64)
        grid[counted.column("n").to_numpy() - 1] = counted.column("people").to_numpy()
        return Secret(people_table(grid))

    def count(self, cliques: Sequence[Clique], report: Report | None = None) -> list[Secret[CountTable]]:
        """One GROUP BY per clique over the encoded table, or one pass in memory when it is small."""
        pieces = {number.fine.name for number in self.codebook.smooth}
        with engine_errors("the data"):
            streamed = self._count_streamed(cliques, report)
            if streamed is not None:
                return streamed
            local = self._to_local(report)
            if local is not None:
                return local.count(cliques, report)
            if any(pieces.intersection(clique) for clique in cliques):
                self._with_pieces()
            tables = self._count_in_engine(cliques, report)
            if self._streamed is not None and self._states is not None:  # other tables were counted from the files
                self._states.refuse_changes()
            return tables

    def _count_streamed(self, cliques: Sequence[Clique], report: Report | None) -> list[Secret[CountTable]] | None:
        """Tables of a large Parquet file of text, without codes on a disk; None where this is another table."""
        if self.bench.stays_in_engine or self._local is not None or self.bench.codes is not None or self._has_ids:
            return None
        for clique in cliques:
            self.sizes(clique)  # refuses a column that the codebook does not know
        if self._streamed is None:
            rows = rows_of_text(self._parquet, self.rules)
            if not rows or rows * self._row_bytes() <= self._local_bytes:
                return None
            self._states = self._states or FileStates(self._read_anew)
            self._streamed = StreamedTables(self._parquet, self._states, self.rules, self.unknown)
        counted = self._streamed.count(cliques, check=not self._checked, keep=self.keep, report=report)
        if counted is None:
            return None
        tables, unknown_values = counted
        _refuse(unknown_values)
        self._checked = True
        return [Secret(table) for table in tables]

    def _count_in_engine(self, cliques: Sequence[Clique], report: Report | None) -> list[Secret[CountTable]]:
        """Tables that share columns are counted together and added up here: fewer scans, the same counts."""
        for clique in cliques:
            self.sizes(clique)  # refuses a column that the codebook does not know
        self.materialize(report)
        sizes = {column.name: column.size for column in self._columns}
        joint = covers(cliques, sizes)
        code_columns = [[f"c{self.codebook.count_position(name)}" for name in columns] for columns in joint]
        tables: dict[int, CountTable] = {}
        for (columns, places), cells in zip(joint.items(), self.bench.count(code_columns), strict=True):
            table = self._table(columns, cells)
            for place in places:
                clique_columns = tuple(cliques[place])
                tables[place] = table if clique_columns == columns else table.project(clique_columns)
            if report:
                report("counting", len(tables), len(cliques))
        return [Secret(tables[place]) for place in range(len(cliques))]

    def _table(self, columns: Sequence[str], cells: Any) -> CountTable:
        sizes = self.sizes(columns)
        occupied = [cells.column(f"c{self.codebook.count_position(name)}").to_numpy() for name in columns]
        counts = cells.column("n").to_numpy().astype(np.int64)
        if any((codes >= size).any() for codes, size in zip(occupied, sizes, strict=True)):
            raise DataError("the table changed while it was counted and holds unknown values now; run again.")
        if math.prod(sizes) <= DENSE_LIMIT:
            grid = np.zeros(sizes, dtype=np.int64)
            grid[tuple(occupied)] = counts
            return CountTable.dense(columns, grid)
        kind = code_type(max(sizes))
        stacked = np.stack([column.astype(kind) for column in occupied], axis=1)
        return CountTable.sparse(columns, sizes, stacked, counts)

    def frequencies(self, clique: Clique) -> Secret[dict[int, int]]:
        """Counts of counts, counted by the engine: a few numbers come back, however many combinations there are."""
        with engine_errors("the data"):
            local = self._to_local(None)
            if local is not None:
                return local.frequencies(clique)
            cells = self._grouped(clique, self.materialize())
            counted = self.bench.fetch(cells.group_by("n").aggregate(cells=cells.count()))
            return Secret({int(row["n"]): int(row["cells"]) for row in counted.to_pylist()})

    def lone(self, clique: Clique, part: int, parts: int) -> Secret[CountTable]:
        """Cells of one record, of one slice; the others never leave the engine."""
        with engine_errors("the data"):
            local = self._to_local(None)
            if local is not None:
                return local.lone(clique, part, parts)
            codes = self.materialize()
            keys = [f"c{self.codebook.position(name)}" for name in clique]
            weighted = [codes[key].cast("int64") * w for key, w in zip(keys, slice_weights(len(keys)), strict=True)]
            cells = self._grouped(clique, codes.filter(sum(weighted[1:], weighted[0]) % parts == part))
            return Secret(self._table(clique, self.bench.fetch(cells.filter(cells.n == 1))))

    def _grouped(self, clique: Clique, codes: Any) -> Any:
        keys = [f"c{self.codebook.position(name)}" for name in clique]
        return codes.group_by(keys).aggregate(n=codes.count())

    def free(self) -> None:
        """Let the engine forget the codes; the next count encodes again."""
        with engine_errors("the data"):
            self.bench.free()


def _refuse(bad: Mapping[str, int]) -> None:
    """Tell of columns, and of how many of their rows hold values that the codebook does not know."""
    if bad:
        named = ", ".join(f"{name!r} ({count:,} rows)" for name, count in bad.items())
        raise DataError(
            f"the data hold values that the codebook does not know in {named}. List them with "
            "`understudy codebook check`, mend the codebook or the data, or choose where they go: "
            "unknown = 'missing' (the column's missing level), 'other' (its declared other level) or 'clamp' "
            "(numbers and dates beyond their bounds become the bound)."
        )


def forget(bench: Bench) -> None:
    """Free a bench that nobody uses any more."""
    with interrupts_put_off(), suppress(Exception):  # nobody is left to be told
        bench.free()
