"""The rows themselves, as a secret, for tasks that need more than counts: filling missing values, attacking a table."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.codebook import Codebook, Column, Dates, Integer, Levelled
from understudy.codebook.encode import clamped, day_of, encode_value, number_of
from understudy.errors import DataError, RefusalError
from understudy.parameters import OneOf
from understudy.privacy.secret import Secret
from understudy.sources import open_source
from understudy.sources.base import Source, no_ids
from understudy.sources.capping import person_numbers
from understudy.sources.expressions import PERSON, person_of
from understudy.sources.faults import engine_errors
from understudy.sources.tables import code_type


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """Every row in the order of its file: its codes, and its values (missing ones and special codes are null)."""

    codes: tuple[npt.NDArray[np.unsignedinteger], ...]
    """Of the columns of the model."""
    values: tuple[pa.Array, ...]
    detail_codes: tuple[npt.NDArray[np.unsignedinteger], ...] = ()
    """Of the detail columns."""
    detail_values: tuple[pa.Array, ...] = ()
    people: npt.NDArray[np.int64] | None = None
    """A number for the person of each row, where that was asked for."""


def read_rows(
    what: Any,
    codebook: Codebook | str | Path,
    *,
    unknown: str = "error",
    table: str | None = None,
    people: bool = False,
) -> Secret[Rows]:
    """The rows of a table that fits into memory (:func:`rows_of`)."""
    return rows_of(open_source(what, codebook, unknown=unknown, table=table), people=people)


def rows_of(source: Source, *, people: bool = False) -> Secret[Rows]:
    """All modelled and detail columns of a source; values outside its codebook are an error, missing or clamped.

    ``people`` asks for the person of each row, where the codebook has an id column.
    """
    book, opened, unknown = source.rules, source.opened, source.unknown
    OneOf(("error", "missing", "clamp")).check("unknown", unknown)
    if opened is None or (book.unit is not None and source.is_capped):  # all rows are more than those that take part
        raise RefusalError(f"this {type(source).__name__} gives no rows; open the table itself.")
    if opened.connection.name != "duckdb":
        raise DataError(
            f"{opened.label}: this job gives whole records back, and no record leaves a database through Understudy. "
            "Export the table to a file in a safe place first."
        )
    opened.verify()
    with engine_errors(repr(opened.label)):
        selected = {f"c{place}": opened.value(name) for place, name in enumerate(c.reads for c in book.described)}
        if people and book.unit is not None:
            if book.unit.id not in opened.header:
                raise no_ids(book.unit)
            selected[PERSON] = person_of(opened.value(book.unit.id))
        table = opened.table.select(**selected).to_pyarrow()
    persons = person_numbers(table.column(PERSON), book.unit) if PERSON in selected else None
    codes, values, bad = [], [], []
    for column, values_as_written in zip(book.described, table.columns[: len(book.described)], strict=True):
        with engine_errors(f"column {column.name!r} of {opened.label}"):
            code, value, strange = _read_column(column, values_as_written, unknown)
        codes.append(code)
        values.append(value)
        bad += [column.name] if strange else []
    if bad:
        raise DataError(
            f"the data hold values that the codebook does not know in {', '.join(map(repr, bad))}. List them with "
            "`understudy codebook check`, mend the codebook or the data, treat them as missing (unknown = 'missing'), "
            "or numbers and dates beyond their bounds as the bound (unknown = 'clamp')."
        )
    own = len(book.modelled)
    return Secret(
        Rows(
            codes=tuple(codes[:own]),
            values=tuple(values[:own]),
            detail_codes=tuple(codes[own:]),
            detail_values=tuple(values[own:]),
            people=persons,
        )
    )


def people_of(source: Source) -> Secret[pa.Array] | None:
    """Every id of a person once; None where no column has them, or another engine, which keeps them."""
    unit, opened = source.rules.unit, source.opened
    if unit is None or opened is None or unit.id not in opened.header or opened.connection.name != "duckdb":
        return None
    opened.verify()
    with engine_errors(repr(opened.label)):
        ids = opened.table.select(**{PERSON: person_of(opened.value(unit.id))}).distinct().to_pyarrow()
    return Secret(ids.column(PERSON).combine_chunks().drop_null())


def _read_column(column: Column, written: Any, unknown: str) -> tuple[npt.NDArray[np.unsignedinteger], pa.Array, bool]:
    """Codes and values by distinct value, so that the slow reference encoding is asked once for each."""
    array = written.combine_chunks() if isinstance(written, pa.ChunkedArray) else written
    coded = array if isinstance(array.type, pa.DictionaryType) else array.dictionary_encode()
    distinct = coded.dictionary.to_pylist()
    if unknown == "clamp":
        distinct = [clamped(column, value) for value in distinct]
    index = coded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)
    meant = [encode_value(column, value) for value in (*distinct, None)]
    used = np.zeros(len(meant), dtype=bool)
    used[index] = True
    strange = False
    for place, code in enumerate(meant):
        if code is None:
            can_miss = column.missing_code is not None and (unknown == "missing" or place == len(distinct))
            strange |= bool(used[place]) and not can_miss
            meant[place] = column.missing_code if can_miss else 0
    codes = np.array(meant, dtype=code_type(column.size))[index]
    kept = [
        None if code is None or code >= column.proper_levels else _as_stands(column, value, int(code or 0))
        for value, code in zip((*distinct, None), meant, strict=True)
    ]
    if strange:
        return codes, pa.nulls(len(codes)), True
    values = pa.array(kept, type=_type_of(column)).take(pa.array(index))
    return codes, values, False


def _as_stands(column: Column, value: Any, code: int) -> Any:
    if isinstance(column, Levelled):
        return column.levels[code]
    if isinstance(column, Dates):
        return day_of(value, column.reading)
    number = number_of(value, column.reading)
    return int(number) if isinstance(column, Integer) and number is not None else number


def _type_of(column: Column) -> pa.DataType:
    """As decoding writes it."""
    if isinstance(column, Levelled):
        return pa.string()
    if isinstance(column, Dates):
        return pa.date32()
    return pa.int64() if isinstance(column, Integer) else pa.float64()
