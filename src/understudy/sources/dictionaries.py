"""Codes of Parquet files whose columns are text: the files say which values there are, and each is encoded once.

The meaning is that of :func:`understudy.codebook.encode.encode_value`, as it is in every engine. Whatever is not plain
text with few distinct values is left to the engine.
"""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from understudy.codebook import Codebook, Column
from understudy.codebook.encode import clamped, encode_value
from understudy.sources.expressions import stand_in
from understudy.sources.kinds import PARQUET, file_kind
from understudy.sources.tables import code_type

Codes = npt.NDArray[np.unsignedinteger]
_BATCH = 1 << 18
"""Rows decoded at a time."""
_MOST_VALUES = 4096
"""Distinct values of a piece of a file; where there are more, looking at each takes longer than an engine does."""


def rows_of_text(paths: Sequence[Path], book: Codebook) -> int | None:
    """How many rows these files hold, if all columns of the codebook are text in all of them."""
    if not paths:
        return None
    rows = 0
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                schema, rows = file.schema_arrow, rows + file.metadata.num_rows
        except (OSError, pa.ArrowException):
            return None  # the engine says what is wrong with it
        kinds = [schema.field(name).type for name in _names(book) if schema.names.count(name) == 1]
        if len(kinds) < len(_names(book)) or not all(map(_is_text, kinds)):
            return None
    return rows


def codes_of_text(paths: Sequence[Path], book: Codebook, unknown: str, rows: int) -> list[Codes] | None:
    """The codes of all columns that a source encodes, in the order of the rows; None where an engine does better."""
    names = _names(book)
    columns = [np.empty(rows, dtype=code_type(column.size + 1)) for column in book.counted]
    known: list[dict[Any, int]] = [{} for _ in columns]
    start = 0
    try:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for path in paths:
                with pq.ParquetFile(path, read_dictionary=names) as file:
                    for number in range(file.num_row_groups):
                        piece = file.read_row_group(number, columns=names)

                        def fill(place: int, piece: pa.Table = piece, start: int = start) -> bool:
                            column = book.counted[place]
                            out = columns[place][start : start + len(piece)]
                            return _fill(out, piece.column(column.reads), column, unknown, known[place])

                        if not all(pool.map(fill, range(len(columns)))):
                            return None
                        start += len(piece)
    except (OSError, ValueError, pa.ArrowException):  # ValueError: text that is no UTF-8
        return None
    return columns if start == rows else None


def _fill(out: Codes, values: Any, column: Column, unknown: str, known: dict[Any, int]) -> bool:
    """Write the codes of one column of one piece; False where it has too many values."""
    start = 0
    for chunk in values.chunks:
        if not fill_codes(out[start : start + len(chunk)], chunk, column, unknown, known):
            return False
        start += len(chunk)
    return True


def fill_codes(out: Codes, values: Any, column: Column, unknown: str, known: dict[Any, int]) -> bool:
    """Write the codes of an array of Arrow's dictionaries; False where it has too many values."""
    if len(values.dictionary) > _MOST_VALUES:
        return False
    distinct = [*values.dictionary.to_pylist(), None]
    codes = np.array([_code(column, value, unknown, known) for value in distinct], dtype=out.dtype)
    places = pc.fill_null(values.indices, len(distinct) - 1).to_numpy()
    np.take(codes, places, out=out, mode="clip")
    return True


def have_one_schema(paths: Sequence[Path]) -> bool:
    """Whether these are Parquet files with the same columns in the same order and of the same types."""
    if not all(file_kind(path) == PARQUET for path in paths):
        return False
    try:
        return len({pq.read_schema(path).remove_metadata().to_string() for path in paths}) == 1
    except (OSError, pa.ArrowException):
        return False


def known_throughout(paths: Sequence[Path], columns: Sequence[Column]) -> set[str]:
    """Names of those columns of text of which the files hold no value that the codebook does not know.

    A file names the values of a piece before its rows, so that each is looked at once. A column that is not named here
    may still be sound: its files list a value that no row has, or are not of text.
    """
    sound = {column.name: column for column in columns} if paths else {}
    known: dict[str, dict[Any, int]] = {name: {} for name in sound}
    try:
        for path in paths:
            with pq.ParquetFile(path, read_dictionary=list(sound)) as file:
                schema = file.schema_arrow
                for name in list(sound):
                    if schema.names.count(name) != 1 or not _is_text(schema.field(name).type):
                        del sound[name]
                for batch in file.iter_batches(_BATCH, columns=list(sound)) if sound else ():
                    for name, column in list(sound.items()):
                        if not _is_known(batch.column(name), column, known[name]):
                            del sound[name]
    except (OSError, ValueError, pa.ArrowException):  # the engine says what is wrong
        return set()
    return set(sound)


def _is_known(values: Any, column: Column, known: dict[Any, int]) -> bool:
    if len(values.dictionary) > _MOST_VALUES:
        return False
    held = [*values.dictionary.to_pylist(), *([None] if values.null_count else [])]
    return all(_code(column, value, "error", known) != column.size for value in held)


def _code(column: Column, value: Any, unknown: str, known: dict[Any, int]) -> int:
    if value not in known:
        code = encode_value(column, clamped(column, value) if unknown == "clamp" else value)
        known[value] = stand_in(column, unknown) if code is None else code
    return known[value]


def unknown_rows(columns: Sequence[Codes], book: Codebook) -> Mapping[str, int]:
    """How many rows of each column hold a value that the codebook does not know."""
    return {
        column.name: int((codes == column.size).sum())
        for column, codes in zip(book.described, columns, strict=False)
        if codes.max(initial=0) == column.size
    }


def _names(book: Codebook) -> list[str]:
    return list(dict.fromkeys(column.reads for column in book.counted))


def _is_text(kind: Any) -> bool:
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(value) or pa.types.is_large_string(value))
