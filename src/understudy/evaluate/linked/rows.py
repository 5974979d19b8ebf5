"""Linked tables as evaluation sees them: codes, which row belongs to which, and who comes after whom.

Faults do not stop the reading, because counting them is what it is for: a row whose parent is not there is kept as an
orphan, and a person with two sexes is read by the rule of the codebook.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from understudy.codebook import Column, Dates
from understudy.codebook.encode import day_of, number_of
from understudy.codebook.linked import LinkedCodebook, LinkedTable
from understudy.codebook.linked_rules import PREVIOUS
from understudy.codebook.numbers import Number
from understudy.confidential import Confidential
from understudy.errors import DataError, ParameterError
from understudy.evaluate.values import codes_of

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
NONE = -1
"""In place of a row number: there is no such row."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TableRows(Confidential):
    """The rows of one table."""

    table: LinkedTable
    written: pa.Table
    """The columns as they are written."""
    above: Ints
    """Row number of the parent; NONE for an orphan, and in the top table."""
    place: Ints
    """How many siblings come before."""
    before: Ints
    """Row number of the sibling just before; NONE for a first one."""
    repeated_keys: int = 0
    """Rows whose key another row has already."""
    left_out: pa.Array | None = None
    """Keys of the rows beyond the cap; what belongs to them is left out as well."""
    _codes: dict[str, Ints] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.above)

    def codes(self, column: str) -> Ints:
        """Codes of one of its columns; -1 for values that the codebook does not know."""
        if column not in self._codes:
            described = self.table.book.column(column)
            self._codes[column] = codes_of(self.written[described.reads], described)
        return self._codes[column]

    def steps(self, column: str) -> Floats:
        """A date as a number of days, a number as it is; NaN where it is missing."""
        described = next((one for one in self.table.book.columns if one.name == column), None)
        return in_steps(self.written[column], described)

    @cached_property
    def moments(self) -> Floats | None:
        """When each row is, where the order is a date or a number of the codebook that both tables have."""
        order = self.table.order
        if order not in self.table.book.names or order not in self.written.column_names:
            return None
        column = self.table.book.column(order)
        return self.steps(order) if isinstance(column, Dates | Number) else None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LinkedRows(Confidential):
    """All tables."""

    book: LinkedCodebook
    tables: Mapping[str, TableRows]
    differing: Mapping[str, tuple[int, int]]
    """For each constant, spelled ``table.column``: persons (or other parents) with one value, and all of them."""

    def codes(self, spelled: str, at: str) -> Ints:
        """Codes of a column of this table, or one above it, for each row of the table ``at``.

        ``-1`` where the value is unknown, where the row is an orphan, or where there is no previous sibling.
        """
        owner, own, which = self.rows_of(spelled, at)
        return follow(self.tables[owner].codes(own), which)

    def steps(self, spelled: str, at: str) -> Floats:
        """The same with values instead of codes: two numbers of one bin can be in the wrong order."""
        owner, own, which = self.rows_of(spelled, at)
        return np.where(which == NONE, np.nan, self.tables[owner].steps(own)[which])

    def rows_of(self, spelled: str, at: str) -> tuple[str, str, Ints]:
        """Table and column that are meant by a spelling, and for each row of ``at`` the row there that holds it."""
        owner, _, own = spelled.partition(".")
        which = np.arange(self.tables[at].rows)
        path = [table.name for table in self.book.path(at)]
        for name in reversed(path[path.index(owner) + 1 :]):
            which = follow(self.tables[name].above, which)
        if own.startswith(f"{PREVIOUS}."):
            own = own.removeprefix(f"{PREVIOUS}.")
            which = follow(self.tables[owner].before, which)
        return owner, own, which

    @property
    def people(self) -> pa.Array:
        """The ids of the people, each of them once."""
        person = self.tables[self.book.person.name]
        if person.table.key is None:  # nothing belongs to these people
            return pa.array([], pa.string())
        return _keys(person.written, person.table.key).combine_chunks().unique().drop_null()

    def children(self, name: str) -> Ints:
        """How many rows of this table each row of its parent has."""
        table = self.tables[name]
        parent = self.tables[str(table.table.parent)]
        return np.bincount(table.above[table.above != NONE], minlength=parent.rows)


def read_rows(tables: Mapping[str, Any], book: LinkedCodebook, *, capped: bool = True) -> LinkedRows:
    """Read tables in memory (Arrow, pandas or Polars) by the names that the codebook gives them.

    ``capped`` leaves out siblings beyond the caps, by chance as a release does, and in every run the same. A table that
    is made of a child, or that is not given but whose columns the child has, is made of the child.
    """
    given = {name: _as_arrow(name, table) for name, table in tables.items()}
    if strange := sorted(set(given) - {table.name for table in book.tables}):
        known = ", ".join(table.name for table in book.tables)
        raise ParameterError(f"the tables hold {', '.join(strange)}, which the codebook does not know; it has {known}.")
    for table in reversed(book.tables):  # children first: a parent may be made of one
        if table.name not in given:
            given[table.name] = _made_of_child(table, book, given)
        given[table.name] = _with_constants(table, book, given)
    faults = [
        f"table {table.name!r} has no column {name!r}."
        for table in book.tables
        for name in (*_read_names(table), table.parent_key, table.key if book.children(table.name) else None)
        if name is not None and name not in given[table.name].column_names
    ]
    if faults:
        raise DataError(f"the tables lack columns that the codebook describes: {' '.join(faults)}")
    read: dict[str, TableRows] = {}
    for table in book.tables:
        read[table.name] = _linked(table, given[table.name], read.get(str(table.parent)), capped=capped)
    differing = {
        table.spelled(name): _constancy(table, name, book, given)
        for table in book.tables
        for name in (table.book.names if table.parent is None else [one.column for one in table.constants])
    }
    return LinkedRows(book=book, tables=read, differing=differing)


def in_steps(written: Any, column: Column | None) -> Floats:
    """Values that can be subtracted: dates in days, numbers; texts by their rank, where nothing is declared."""
    array = written.combine_chunks() if isinstance(written, pa.ChunkedArray) else written
    coded = array if isinstance(array.type, pa.DictionaryType) else array.dictionary_encode()
    distinct = coded.dictionary.to_pylist()
    if isinstance(column, Dates):
        days = [day_of(value, column.reading) for value in distinct]
        known = [np.nan if day is None else float(day.toordinal()) for day in days]
    elif isinstance(column, Number):
        numbers = [number_of(value, column.reading) for value in distinct]
        known = [np.nan if number is None else float(number) for number in numbers]
    else:
        known = _ranks(distinct)
    table = np.array([*known, np.nan])
    return np.asarray(table[coded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)])


def _ranks(values: list[Any]) -> list[float]:
    """Numbers in their order, and also texts that are numbers; otherwise the order of the alphabet."""
    numbers = [number_of(str(value)) for value in values]
    if all(number is not None for number in numbers):
        return [float(number) for number in numbers if number is not None]
    place = {text: float(rank) for rank, text in enumerate(sorted({str(value) for value in values}))}
    return [place[str(value)] for value in values]


def _as_arrow(name: str, table: Any) -> pa.Table:
    if isinstance(table, pa.Table):
        return table
    if hasattr(table, "to_arrow"):
        return table.to_arrow()
    if hasattr(table, "columns") and hasattr(table, "index"):
        return pa.Table.from_pandas(table, preserve_index=False)
    raise ParameterError(f"table {name!r} is of type {type(table).__name__}; give an Arrow, pandas or Polars table.")


def _keys(table: pa.Table, name: str) -> pa.ChunkedArray:
    """As texts: one file may write a key as a number and another as text."""
    return pc.cast(table[name], pa.string())


def follow(rows: Ints, which: Ints) -> Ints:
    """``rows[which]``, where ``which`` may be NONE."""
    return np.where(which == NONE, NONE, rows[which]) if len(rows) else np.full(len(which), NONE)


def _linked(table: LinkedTable, written: pa.Table, parent: TableRows | None, *, capped: bool) -> TableRows:
    if parent is None:
        above = np.full(written.num_rows, NONE)
        return TableRows(
            table=table, written=written, above=above, place=np.zeros_like(above), before=above.copy(),
            repeated_keys=_repeated(table, written),
        )  # fmt: skip
    if parent.left_out is not None:
        written = written.filter(pc.invert(pc.is_in(_keys(written, str(table.parent_key)), parent.left_out)))
    found = pc.index_in(_keys(written, str(table.parent_key)), _keys(parent.written, str(parent.table.key)))
    above = found.fill_null(NONE).to_numpy().astype(np.int64)
    left_out = None
    if capped and table.cap is not None:
        kept = _chosen(above, table.cap)
        if table.key in written.column_names:
            left_out = _keys(written.filter(pa.array(~kept)), str(table.key)).combine_chunks()
        written, above = written.filter(pa.array(kept)), above[kept]
    place, before = _siblings(table, written, above)
    return TableRows(
        table=table, written=written, above=above, place=place, before=before, left_out=left_out,
        repeated_keys=_repeated(table, written),
    )  # fmt: skip


def _chosen(above: Ints, cap: int) -> npt.NDArray[np.bool_]:
    """Which rows stay: of each parent a random choice of so many. Orphans stay."""
    rows = len(above)
    arranged = np.lexsort((np.random.default_rng(0).random(rows), above))
    parents = above[arranged]
    starts = np.r_[True, parents[1:] != parents[:-1]][:rows]
    first = np.maximum.accumulate(np.where(starts, np.arange(rows), 0))
    kept = np.empty(rows, dtype=bool)
    kept[arranged] = np.arange(rows) - first < cap
    return np.asarray(kept | (above == NONE))


def _repeated(table: LinkedTable, written: pa.Table) -> int:
    if table.key is None or table.key not in written.column_names:
        return 0
    return int(written.num_rows - pc.count_distinct(written[table.key], mode="all").as_py())


def _siblings(table: LinkedTable, written: pa.Table, above: Ints) -> tuple[Ints, Ints]:
    """Place among the siblings and the row just before, by the order of the table, then by that of the file."""
    rows = np.arange(len(above))
    order = rows.astype(np.float64)
    if table.order in written.column_names:
        described = next((column for column in table.book.columns if column.name == table.order), None)
        order = in_steps(written[table.order], described)
    arranged = np.lexsort((rows, order, above))
    parents = above[arranged]
    starts = np.r_[True, parents[1:] != parents[:-1]] if len(parents) else np.zeros(0, dtype=bool)
    first = np.maximum.accumulate(np.where(starts, rows, 0)) if len(parents) else rows
    place, before = np.empty_like(rows), np.full(len(rows), NONE)
    place[arranged] = rows - first
    before[arranged[1:]] = np.where(starts[1:], NONE, arranged[:-1])
    orphan = above == NONE
    place[orphan], before[orphan] = 0, NONE
    return place, before


def _made_of_child(table: LinkedTable, book: LinkedCodebook, given: Mapping[str, pa.Table]) -> pa.Table:
    """One row for each key in the child, with each column as the codebook reads it where rows differ."""
    for child in book.children(table.name):
        written = given.get(child.name)
        if written is not None and {*_read_names(table), child.parent_key} <= set(written.column_names):
            return _read_from(table, child, written, _read_names(table))
    raise ParameterError(
        f"table {table.name!r} is not given, and no table below it has its columns; give it, or one that repeats them."
    )


def _read_from(table: LinkedTable, child: LinkedTable, written: pa.Table, columns: Sequence[str]) -> pa.Table:
    """The key of every parent that the rows of a child name, with some columns by their reading rule."""
    rules = {one.column: one.rule or "first" for one in table.constants}
    written = written.filter(pc.is_valid(written[str(child.parent_key)]))
    keys = _keys(written, str(child.parent_key)).combine_chunks().dictionary_encode()
    above = keys.indices.to_numpy().astype(np.int64)
    place, _ = _siblings(child, written, above)
    arranged = np.lexsort((place, above))
    ends = (
        np.r_[np.flatnonzero(np.diff(above[arranged])), len(above) - 1] if len(above) else np.zeros(0, dtype=np.int64)
    )
    starts = np.r_[0, ends[:-1] + 1] if len(above) else ends
    read: dict[str, Any] = {str(table.key): keys.dictionary}
    for column in columns:
        rule = rules.get(column, "first")
        rows = arranged[ends if rule == "latest" else starts]
        if rule == "most frequent":
            rows = _most_frequent(codes_of(written[column], table.book.column(column)), above)
        read[column] = written[column].take(pa.array(rows))
    return pa.table(read)


def _with_constants(table: LinkedTable, book: LinkedCodebook, given: Mapping[str, pa.Table]) -> pa.Table:
    """A table that is there, with the constants that only its children have."""
    written = given[table.name]
    for child in book.children(table.name):
        lacking = [
            one.column
            for one in table.read_constants
            if one.child == child.name
            and one.column not in written.column_names
            and one.column in given[child.name].column_names
        ]
        if lacking and table.key in written.column_names:
            read = _read_from(table, child, given[child.name], lacking)
            place = pc.index_in(_keys(written, str(table.key)), read[str(table.key)])
            for column in lacking:
                written = written.append_column(column, read[column].take(place))
    return written


def _read_names(table: LinkedTable) -> tuple[str, ...]:
    """The columns that a file of a table has; parents of codes are read off the codes."""
    return tuple(dict.fromkeys(column.reads for column in table.book.described))


def _most_frequent(codes: Ints, above: Ints) -> Ints:
    """For each parent a row with its most frequent code; of equally frequent ones that which is listed first."""
    pairs, first, counts = np.unique(np.stack([above, codes]), axis=1, return_index=True, return_counts=True)
    best = np.lexsort((pairs[1], -counts, pairs[0]))
    parents = pairs[0][best]
    return np.asarray(first[best][np.r_[True, parents[1:] != parents[:-1]]])


def _constancy(table: LinkedTable, column: str, book: LinkedCodebook, given: Mapping[str, pa.Table]) -> tuple[int, int]:
    """How many keys have one value of a column, in the table itself and in a child that repeats it; and all keys.

    A missing value contradicts nothing, as where constants are read (``sources/linked_constants.py``).
    """
    described = table.book.column(column)
    reads = described.reads
    places = [(given[table.name], table.key)] if table.key in given[table.name].column_names else []
    places += [
        (given[child.name], child.parent_key)
        for child in book.children(table.name)
        if reads in given[child.name].column_names and column not in child.book.names
    ]
    pairs = []
    for written, key in places:
        codes = codes_of(written[reads], described)
        missing = None if described.missing_code is None else codes == described.missing_code
        pairs.append(pa.table({"key": _keys(written, str(key)), "value": pa.array(codes, mask=missing)}))
    if not pairs:
        return 0, 0
    known_ones = ("value", "count_distinct", pc.CountOptions(mode="only_valid"))
    values = pa.concat_tables(pairs).group_by("key").aggregate([known_ones])["value_count_distinct"]
    return pc.sum(pc.less_equal(values, 1)).as_py() or 0, len(values)
