"""People set aside by lot before anything is released, so that attacks can be tried on people outside the data.

Each person goes or stays by a coin of their own, with all their records; without a person column each row does. So one
person more in the whole table is one person more among those who stay, or nobody, and what a release of them promises
holds for everybody in the whole table. With a fixed number of people set aside one person more could move others. That
a lot is drawn again where nobody or everybody stayed is no matter from some fifty people on. Both files carry a mark,
so that neither of them, nor the whole, passes as public beside one of them.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from understudy.codebook import Codebook
from understudy.errors import DataError, RefusalError
from understudy.files import make_empty, scratch_beside
from understudy.interrupts import interrupts_held
from understudy.mechanisms.stream import Stream
from understudy.parameters import Number
from understudy.sources import open_source
from understudy.sources.base import Source, no_ids
from understudy.sources.capping import refuse_missing_ids
from understudy.sources.expressions import person_of
from understudy.sources.faults import engine_errors
from understudy.sources.rows import people_of
from understudy.sources.same import LOT, lot_mark

SHARE = Number(above=0, below=1, tried=0.2)
_BATCH = 1 << 17
_OWNER = "understudy: whose row"
"""A column beside those of the table while it is read; the colon keeps it apart from names that people give."""


def set_aside(
    what: Any, book: Codebook, *, rest: Path, held: Path, share: float, stream: Stream, table: str | None = None
) -> None:
    """Write two Parquet files for their owner alone: ``rest`` to synthesize from, and ``held`` for reports.

    Every column is kept as it is read, also those that the codebook leaves out. Both files appear, or none.
    """
    SHARE.check("share", share)
    source = open_source(what, book, table=table)
    _refuse_others(source)
    with _two_files(rest, held) as halves:
        mark = lot_mark(what, uuid.uuid4().hex, table)
        kept = _write(source, halves, share, stream, mark)
        if 0 in kept:
            raise DataError(
                f"by lot {'nobody' if kept[1] == 0 else 'everybody'} was set aside: the table has too few people for a "
                f"share of {share:g}. Draw again, or name a table of other people."
            )


def _refuse_others(source: Source) -> None:
    """A copy of a release would no longer be known as one, and no record leaves a database through us."""
    if source.provenance.is_release:
        raise DataError(
            f"the table is {source.provenance.called}; people are set aside before a release is made, from the "
            "confidential table."
        )
    opened, unit = source.opened, source.rules.unit
    if opened is None:
        raise RefusalError(f"this {type(source).__name__} gives no rows; name the table itself.")
    if opened.connection.name != "duckdb":
        raise DataError(
            f"{opened.label}: setting people aside writes whole records, and no record leaves a database through "
            "Understudy. Set them aside in the database, and name both tables."
        )
    if unit is not None and unit.id not in opened.header:
        raise no_ids(unit)
    opened.verify()


def _write(source: Source, halves: tuple[Path, Path], share: float, stream: Stream, mark: bytes) -> tuple[int, int]:
    """How many rows went into each file."""
    opened, unit = source.opened, source.rules.unit
    assert opened is not None
    people = people_of(source)
    drawn = None if people is None else _drawn(people.open(), share, stream)
    rows, names = opened.table, list(opened.table.columns)
    if unit is not None:
        owner = person_of(opened.value(unit.id))
        with engine_errors(repr(opened.label)):
            refuse_missing_ids(int(owner.isnull().sum().to_pyarrow().as_py()), unit)
        rows = rows.mutate(**{_OWNER: owner})
    with engine_errors(repr(opened.label)):
        batches = _batches(opened.connection, rows)
        schema = pa.schema([batches.schema.field(name) for name in names], metadata={LOT: mark})
        written = [0, 0]
        with pq.ParquetWriter(halves[0], schema) as stay, pq.ParquetWriter(halves[1], schema) as go:
            for batch in batches:
                whole = pa.Table.from_batches([batch])
                is_out = (
                    pa.array(_coins(len(whole), share, stream))
                    if drawn is None
                    else pc.is_in(whole.column(_OWNER).combine_chunks(), value_set=drawn)
                )
                for place, (file, chosen) in enumerate(((stay, pc.invert(is_out)), (go, is_out))):
                    part = whole.select(names).filter(chosen)
                    file.write_table(part)
                    written[place] += len(part)
    return written[0], written[1]


def _batches(connection: Any, rows: Any) -> pa.RecordBatchReader:
    """The rows piece by piece, as the engine reads them; Ibis asks it by a name that newer ones call deprecated."""
    cursor = connection.raw_sql(connection.compile(rows))
    asked = getattr(cursor, "to_arrow_reader", None) or cursor.fetch_record_batch
    return asked(_BATCH)


def _drawn(people: pa.Array, share: float, stream: Stream) -> pa.Array:
    """Those of the people whose coin says so."""
    return people.filter(pa.array(_coins(len(people), share, stream)))


def _coins(count: int, share: float, stream: Stream) -> npt.NDArray[np.bool_]:
    """One for each, alike and independent: a word below the share of all words."""
    return np.asarray(stream.words(count) < np.uint64(int(share * 2.0**64)))


@contextmanager
def _two_files(rest: Path, held: Path) -> Iterator[tuple[Path, Path]]:
    """Under names that nobody can guess until both are whole."""
    if rest.resolve() == held.resolve():
        raise DataError(f"both files are called {str(rest)!r}; one would replace the other. Name two files.")
    if taken := [place for place in (rest, held) if place.exists()]:
        raise DataError(f"there is a file {str(taken[0])!r} already; name a new one.")
    halves = (scratch_beside(rest), scratch_beside(held))
    try:
        for half in halves:
            make_empty(half)
        yield halves
        with interrupts_held():
            halves[1].replace(held)
            try:
                halves[0].replace(rest)
            except OSError:
                held.unlink(missing_ok=True)
                raise
    except OSError as reason:
        raise DataError(f"the two files beside {str(rest)!r} cannot be written ({reason.strerror}).") from None
    finally:
        for half in halves:
            half.unlink(missing_ok=True)
