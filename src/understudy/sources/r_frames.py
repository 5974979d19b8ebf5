"""Data frames of R, there and back.

reticulate converts a data frame through NumPy. On that way a missing integer becomes -2147483648 and a missing logical
becomes TRUE, a missing day ends the conversion, and labels of haven are lost or refused. So ``understudy.R`` hands over
each column as a plain vector with the places of what is missing, and takes tables back in the same form.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from understudy.codebook import Codebook, Column, Levelled, Ordinal
from understudy.codebook.encode import spelling
from understudy.codebook.labels import ColumnLabels, has_number_levels, missing_codes
from understudy.errors import DataError
from understudy.privacy.provenance import MARK
from understudy.sources.csv_files import repeated_names
from understudy.sources.frames import LABELS, packed
from understudy.sources.inputs import find_provenance
from understudy.sources.workbooks import whole_numbers

_TYPES = {
    "text": pa.string(),
    "number": pa.float64(),
    "whole": pa.int32(),
    "flag": pa.bool_(),
    "day": pa.int32(),
    "moment": pa.int64(),
}


def table_of(columns: Sequence[Mapping[str, Any]], mark: str = "") -> pa.Table:
    """An Arrow table of the columns that ``as_understudy`` describes: ``name``, ``kind``, ``values``, where they are
    ``missing``, and perhaps ``levels``, ``ordered``, ``label``, ``codes`` with their ``meanings``, and missing codes.

    >>> table = table_of([{"name": "age", "kind": "whole", "values": [41, 0], "missing": 1}])
    >>> table.to_pydict()
    {'age': [41, None]}
    """
    names = [str(column["name"]) for column in columns]
    if repeated := repeated_names(tuple(names)):
        raise DataError(f"the data frame has two columns called {repeated[0]!r} (case does not count); rename one.")
    arrays = [_array(column) for column in columns]
    if len({len(array) for array in arrays}) > 1:
        raise DataError("the columns of the data frame have different lengths; give one vector for each column.")
    fields = [
        pa.field(name, array.type, metadata={LABELS: packed(labels)} if labels != ColumnLabels() else None)
        for name, array, labels in zip(names, arrays, map(_labels, columns), strict=True)
    ]
    return pa.table(arrays, schema=pa.schema(fields, metadata={MARK: mark.encode()} if mark else None))


def columns_of(table: pa.Table, book: Codebook | None = None) -> list[dict[str, Any]]:
    """A table as ``as_r`` takes it: plain lists with a stand-in where a value is missing, and what the codebook says.

    >>> columns_of(pa.table({"age": [41, None]}))
    [{'name': 'age', 'kind': 'whole', 'values': [41, 0], 'missing': [1]}]
    """
    described = {} if book is None else {column.name: column for column in book.columns}
    return [_handed(name, table.column(name), described.get(name)) for name in table.column_names]


def mark_of(table: pa.Table) -> str:
    """What says that a table is a release, in whatever way it says so; it travels with the data frame."""
    return find_provenance(table).mark().get(MARK, b"").decode()


def _list(value: Any) -> list[Any]:
    """A vector of one value arrives as that value, and NULL as None."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _array(column: Mapping[str, Any]) -> pa.Array:
    kind, values = column["kind"], _list(column["values"])
    missing = {int(place) for place in _list(column.get("missing"))}
    tags = dict(zip(map(int, _list(column.get("tagged"))), _list(column.get("tags")), strict=True))
    held = [None if place in missing else value for place, value in enumerate(values)]
    if tags:  # as a Stata file is read: its missing values are texts, and so are the numbers beside them
        return pa.array([f".{tags[n]}" if n in tags else _spelled(value) for n, value in enumerate(held)], pa.string())
    if kind == "moment":  # milliseconds, which R has as floating numbers
        held = [None if value is None else int(value) for value in held]
    array = pa.array(held, _TYPES[kind])
    if kind == "number":
        return whole_numbers(array)
    if kind == "day":
        return array.cast(pa.date32())
    return array.cast(pa.timestamp("ms")) if kind == "moment" else array


def _spelled(value: Any) -> str | None:
    return None if value is None else spelling(value)


def _labels(column: Mapping[str, Any]) -> ColumnLabels:
    codes = [code if isinstance(code, str) else spelling(code) for code in _list(column.get("codes"))]
    meanings = tuple(zip(codes, map(str, _list(column.get("meanings"))), strict=True))
    bounds = _list(column.get("missing_range"))
    ranges = [*_list(column.get("missing_codes")), *([{"lo": bounds[0], "hi": bounds[1]}] if bounds else [])]
    letters = [code for code in codes if _is_letter(code)] + [f".{tag}" for tag in _list(column.get("tags"))]
    return ColumnLabels(
        label=str(column.get("label") or ""),
        value_labels=meanings,
        missing=tuple(dict.fromkeys((*missing_codes(ranges, dict(_numbered(column, codes))), *sorted(letters)))),
        measure="ordinal" if column.get("ordered") else "",
        levels=tuple(map(str, _list(column.get("levels")))),
    )


def _numbered(column: Mapping[str, Any], codes: Sequence[str]) -> list[tuple[Any, str]]:
    """Labelled codes as the numbers that a range of missing codes is compared with."""
    return [(code, text) for code, text in zip(_list(column.get("codes")), codes, strict=True) if not _is_letter(code)]


def _is_letter(code: Any) -> bool:
    return isinstance(code, str) and len(code) == 2 and code.startswith(".")


def _handed(name: str, values: pa.ChunkedArray, column: Column | None) -> dict[str, Any]:
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if isinstance(column, Levelled) and column.value_labels and has_number_levels(column):
        values = pc.cast(values.cast(pa.string()), pa.float64())  # the codes, as haven keeps them
    kind, plain, stand_in = _plain(values)
    missing = [place for place, gone in enumerate(values.is_null().to_pylist()) if gone]
    handed: dict[str, Any] = {
        "name": name,
        "kind": kind,
        "values": pc.fill_null(plain, stand_in).to_pylist(),
        "missing": missing,
    }
    if column is not None and column.description:
        handed["label"] = column.description
    if isinstance(column, Levelled):
        known = [(code, meaning) for code, meaning in column.value_labels if code in column.levels]
        if known:
            handed["codes"] = [float(code) if kind == "number" else code for code, _ in known]
            handed["meanings"] = [meaning for _, meaning in known]
        if kind == "text":
            handed["levels"] = list(column.levels)
            handed["ordered"] = isinstance(column, Ordinal)
    return handed


def _plain(values: pa.ChunkedArray) -> tuple[str, pa.ChunkedArray, Any]:
    """The kind for R, the values as that kind takes them, and what stands in for a missing one."""
    kind = values.type
    if pa.types.is_boolean(kind):
        return "flag", values, False
    if pa.types.is_integer(kind):
        fits = pc.min_max(values).as_py()
        small = fits["min"] is None or (fits["min"] > -(2**31) and fits["max"] < 2**31)
        return ("whole", values, 0) if small else ("number", values.cast(pa.float64()), 0.0)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number", values.cast(pa.float64()), 0.0
    if pa.types.is_date(kind):
        return "day", values.cast(pa.date32()).cast(pa.int32()), 0
    if pa.types.is_timestamp(kind):
        # not as whole numbers, which reticulate cuts off at 32 bits
        return "moment", values.cast(pa.timestamp("ms"), safe=False).cast(pa.int64()).cast(pa.float64()), 0.0
    return "text", values.cast(pa.string()), ""
