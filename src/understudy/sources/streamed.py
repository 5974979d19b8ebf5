"""Counts of large Parquet files of text, piece by piece: decoded, counted and forgotten.

Memory does not grow with the rows and nothing is put on disk, except, where a folder is given, the sums of the pieces
that are done: a long count that is stopped goes on from there. Tables that share columns are counted together
(``covering.py``) in blocks that stay in the processor's cache.
"""

import hashlib
import json
import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from understudy.codebook import Codebook, Column
from understudy.compiled import kernel
from understudy.files import Access, make_folder, write_file
from understudy.sources.base import Report
from understudy.sources.covering import covers
from understudy.sources.dictionaries import fill_codes
from understudy.sources.states import FileStates
from understudy.sources.tables import CountTable, code_type

Counts = npt.NDArray[np.int64]
PIECE_ROWS = 1 << 21
"""Rows after which sums are kept; a piece is at least one row group."""
_BATCH, _BLOCK = 1 << 18, 1 << 13
"""Rows decoded at a time, and rows whose keys stay in the first cache while they are counted."""
_JOINT_CELLS = 1 << 12
"""Small enough for the first cache too: larger joint tables save passes and lose them to waiting (measured)."""
_MOST_CELLS = 1 << 22
"""Of all tables together; each thread holds them twice."""


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Some row groups of one file."""

    path: Path
    groups: tuple[int, ...]
    rows: int


def pieces_of(paths: Sequence[Path], most_rows: int = PIECE_ROWS) -> list[Piece]:
    """All row groups of all files in order, joined while they are few rows."""
    pieces: list[Piece] = []
    for path in paths:
        with pq.ParquetFile(path) as file:
            sizes = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
        groups: list[int] = []
        for number, size in enumerate(sizes):
            if groups and sum(sizes[each] for each in groups) + size > most_rows:
                pieces.append(Piece(path=path, groups=tuple(groups), rows=sum(sizes[each] for each in groups)))
                groups = []
            groups.append(number)
        if groups:
            pieces.append(Piece(path=path, groups=tuple(groups), rows=sum(sizes[each] for each in groups)))
    return pieces


class StreamedTables:
    """The files of one table, in the state in which they were first seen."""

    def __init__(self, paths: Sequence[Path], states: FileStates, book: Codebook, unknown: str) -> None:
        self._book, self._unknown, self._states = book, unknown, states
        self._pieces = pieces_of(paths)
        self._known: list[dict[Any, int]] = [{} for _ in book.counted]

    def count(
        self, cliques: Sequence[Sequence[str]], *, check: bool, keep: Path | None, report: Report | None
    ) -> tuple[list[CountTable], Mapping[str, int]] | None:
        """The tables, and the rows with values that the codebook does not know; None where an engine does better.

        With ``check`` every column is read, else those of the cliques.
        """
        columns = {column.name: column for column in self._book.counted}
        sizes = {name: column.size for name, column in columns.items()}
        if sum(math.prod(sizes[name] for name in clique) for clique in cliques) > _MOST_CELLS:
            return None
        joint = covers(cliques, sizes, most_cells=_JOINT_CELLS)
        wanted = {name for clique in cliques for name in clique}
        read = [column for name, column in columns.items() if check or name in wanted]
        plan = _Plan.of(list(joint), [column.name for column in read], sizes)
        sums = _Sums(pieces=len(self._pieces), columns=len(read), cells=plan.cells)
        place = None if keep is None else keep / f"{self._key(plan, read)}.counts"
        if place is not None:
            sums.take_up(place)
        if not self._add_all(sums, plan, read, place, report):
            return None
        self._states.refuse_changes()
        unknown_rows = {column.name: int(rows) for column, rows in zip(read, sums.unknown, strict=True) if rows}
        tables: dict[int, CountTable] = {}
        for (names, places), begin in zip(joint.items(), plan.begins, strict=True):
            shape = tuple(sizes[name] for name in names)
            grid = sums.counts[begin : begin + math.prod(shape)].reshape(shape)
            whole = CountTable.dense(names, grid)
            for number in places:
                tables[number] = whole if tuple(cliques[number]) == names else whole.project(tuple(cliques[number]))
        return [tables[number] for number in range(len(cliques))], unknown_rows

    def _key(self, plan: "_Plan", read: Sequence[Column]) -> str:
        """What sums are of: they are taken up for exactly the same question on exactly the same files."""
        files = [[str(path.absolute()), state] for path, state in self._states.of.items()]
        asked = [plan.names, [column.name for column in read], [list(piece.groups) for piece in self._pieces]]
        told = json.dumps([1, self._book.digest, self._unknown, asked, files])
        return hashlib.sha256(told.encode()).hexdigest()[:32]

    def _add_all(
        self, sums: "_Sums", plan: "_Plan", read: Sequence[Column], place: Path | None, report: Report | None
    ) -> bool:
        """Count all pieces that are not in the sums yet; False where an engine does better."""
        lock, stopped = threading.Lock(), threading.Event()
        rows = sum(piece.rows for piece in self._pieces)
        done = sum(piece.rows for piece, is_done in zip(self._pieces, sums.done, strict=True) if is_done)

        def tell(more: int) -> None:
            nonlocal done
            with lock:
                done += more
                if report:
                    report("counting", done, rows)

        def add(number: int) -> bool:
            if stopped.is_set():
                return False
            piece = _Sums(pieces=0, columns=len(read), cells=plan.cells)
            try:
                if not self._add(self._pieces[number], piece, plan, read, tell, stopped):
                    stopped.set()
                    return False
                with lock:
                    sums.add(number, piece)
                    if place is not None:
                        sums.keep(place)
            except BaseException:
                stopped.set()
                raise
            return True

        left = [number for number in range(len(self._pieces)) if not sums.done[number]]
        tell(0)
        try:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                try:
                    return all(list(pool.map(add, left)))  # all of them: a later one may hold the reason
                except BaseException:
                    stopped.set()  # Ctrl-C: pieces under way end at their next batch
                    raise
        except (ValueError, pa.ArrowException):  # text that is no UTF-8, or a damaged file: the engine says which
            self._states.refuse_changes()
            return False

    def _add(
        self,
        piece: Piece,
        sums: "_Sums",
        plan: "_Plan",
        read: Sequence[Column],
        tell: Callable[[int], None],
        stopped: threading.Event,
    ) -> bool:
        """Count one piece."""
        self._states.refuse_change_of(piece.path)
        places = [self._book.counted.index(column) for column in read]
        names = list(dict.fromkeys(column.reads for column in read))
        codes = np.empty((len(read), _BATCH), dtype=code_type(max(column.size for column in read) + 1))
        even, odd = np.zeros(plan.cells, dtype=np.int32), np.zeros(plan.cells, dtype=np.int32)
        with pq.ParquetFile(piece.path, read_dictionary=names) as file:
            batches = file.iter_batches(_BATCH, row_groups=list(piece.groups), columns=names, use_threads=False)
            for batch in batches:
                if stopped.is_set():
                    return False
                rows = len(batch)
                for number, column in enumerate(read):
                    out = codes[number, :rows]
                    values = batch.column(column.reads)
                    if not fill_codes(out, values, column, self._unknown, self._known[places[number]]):
                        return False
                    if out.max(initial=0) >= column.size:
                        strange = out >= column.size
                        sums.unknown[number] += np.count_nonzero(strange)
                        out[strange] = 0  # the count ends in a refusal; it goes on to say of how many rows
                _tally(codes[:, :rows], *plan.arrays, even, odd)
                tell(rows)
        sums.counts += even
        sums.counts += odd
        return True


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """Joint tables, one behind the other, and how their cells are found from the codes of the columns read."""

    names: tuple[tuple[str, ...], ...]
    begins: tuple[int, ...]
    cells: int
    arrays: tuple[Any, Any, Any, Any]

    @classmethod
    def of(cls, joint: Sequence[tuple[str, ...]], read: Sequence[str], sizes: Mapping[str, int]) -> "_Plan":
        place = {name: number for number, name in enumerate(read)}
        begins, member_at, members, strides, cells = [], [0], list[int](), list[int](), 0
        for names in joint:
            begins.append(cells)
            cells += math.prod(sizes[name] for name in names)
            members += [place[name] for name in names]
            strides += [math.prod(sizes[name] for name in names[number + 1 :]) for number in range(len(names))]
            member_at.append(len(members))
        arrays = (
            np.array(member_at, dtype=np.int64),
            np.array(members, dtype=np.int64),
            np.array(strides, dtype=np.uint32),
            np.array(begins, dtype=np.int64),
        )
        return cls(names=tuple(joint), begins=tuple(begins), cells=cells, arrays=arrays)


class _Sums:
    """What the pieces that are done add up to."""

    def __init__(self, *, pieces: int, columns: int, cells: int) -> None:
        self._all = np.zeros(pieces + columns + cells, dtype=np.int64)
        self.done, self.unknown, self.counts = np.split(self._all, [pieces, pieces + columns])

    def add(self, number: int, piece: "_Sums") -> None:
        """One piece more."""
        self.counts += piece.counts
        self.unknown += piece.unknown
        self.done[number] = 1

    def keep(self, place: Path) -> None:
        """Write everything down. It is confidential, as the table is."""
        make_folder(place.parent, exist_ok=True)
        write_file(place, self._all.astype("<i8").tobytes(), Access.OWNER)

    def take_up(self, place: Path) -> None:
        """Go on from what was kept, if it is there and whole."""
        if place.is_file() and not place.is_symlink() and place.stat().st_size == self._all.nbytes:
            self._all[:] = np.fromfile(place, dtype="<i8")


@kernel
def _tally(
    codes: Any, member_at: Any, members: Any, strides: Any, begins: Any, even: Any, odd: Any
) -> None:  # pragma: no cover - compiled
    """Add rows to all joint tables, by turns into two copies: the next addition need not wait for the last one."""
    rows = codes.shape[1]
    keys = np.empty(_BLOCK, dtype=np.uint32)
    for start in range(0, rows, _BLOCK):
        stop = min(start + _BLOCK, rows)
        for joint in range(len(begins)):
            keys[:] = 0
            for number in range(member_at[joint], member_at[joint + 1]):
                column, stride = codes[members[number], start:stop], strides[number]
                for row in range(stop - start):
                    keys[row] += np.uint32(column[row]) * stride
            begin = begins[joint]
            for row in range(0, stop - start - 1, 2):
                even[begin + keys[row]] += np.int32(1)
                odd[begin + keys[row + 1]] += np.int32(1)
            if (stop - start) % 2:
                even[begin + keys[stop - start - 1]] += np.int32(1)
