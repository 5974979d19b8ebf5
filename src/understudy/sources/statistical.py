"""Files of SPSS (.sav, .zsav, .por), Stata (.dta) and SAS (.sas7bdat, .xpt), with labels and missing codes.

Codes that a file declares as missing are kept as they are written; the codebook says that they mean missing
(``reading.missing``). Stata's and SAS's own missing values are spelled ".a" to ".z".
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from understudy.codebook import FileReading
from understudy.codebook.encode import spelling
from understudy.codebook.labels import ColumnLabels, missing_codes
from understudy.errors import DataError
from understudy.extras import need
from understudy.sources.csv_files import unique_names
from understudy.sources.kinds import STATISTICAL_SUFFIXES, suffix_of
from understudy.sources.materialised import Materialised
from understudy.sources.workbooks import whole_numbers

_WHOLE_BYTES = 1 << 28
_CELLS = 20_000_000
"""Files beyond 256 MiB are parsed in pieces of so many cells, because the parser holds a Python object for each."""
_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
_BY_START = {b"$FL": ".sav", b"<st": ".dta", b"HEA": ".xpt", b"\x00\x00\x00": ".sas7bdat"}


def read_statistical(path: Path, reading: FileReading) -> Materialised:
    """The whole table."""
    options = _options(path, reading) | {"output_format": "dict"}
    pieces = []
    with _parser_errors(path):
        for columns, metadata in _pieces(path, options):
            labels = labels_of(metadata)
            pieces.append([_typed(columns[name], labels[name], metadata, name) for name in metadata.column_names])
    header = tuple(metadata.column_names)
    if not header:
        raise DataError(f"{str(path)!r} has no variables; there is nothing to read.")
    columns_of_all = [_joined(parts) for parts in zip(*pieces, strict=True)]
    table = pa.table(columns_of_all, names=unique_names(header))
    return Materialised(table=table, header=header, labels=labels, file=FileReading(encoding=reading.encoding))


def read_labels(path: Path, reading: FileReading) -> tuple[dict[str, ColumnLabels], Any]:
    """The dictionary of a file and its metadata; no row is read."""
    with _parser_errors(path):
        _, metadata = _parse(path, **_options(path, reading), metadataonly=True, output_format="dict")
    return labels_of(metadata), metadata


def _options(path: Path, reading: FileReading) -> dict[str, Any]:
    need("pyreadstat", extra="formats", what="reading a file of SPSS, Stata or SAS")
    kind = _kind(path)
    options: dict[str, Any] = {"user_missing": True} if kind in (".sav", ".zsav", ".dta", ".sas7bdat") else {}
    return options | ({"encoding": reading.encoding} if reading.encoding and kind != ".por" else {})


def _kind(path: Path) -> str:
    """Which of the formats, by the first bytes where they tell: a copy may have lost its ending."""
    with path.open("rb") as data:
        start = data.read(3)
    by_name = suffix_of(path) if suffix_of(path) in STATISTICAL_SUFFIXES else ""
    by_content = _BY_START.get(start, "")
    if by_content == ".sas7bdat" and by_name not in ("", ".sas7bdat"):
        return by_name
    return by_name if by_content == ".sav" and by_name == ".zsav" else by_content or by_name


def _parse(path: Path, **options: Any) -> Any:
    import pyreadstat

    return getattr(pyreadstat, _READERS[_kind(path)])(str(path), **options)


def _pieces(path: Path, options: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Any]]:
    if path.stat().st_size <= _WHOLE_BYTES:
        yield _parse(path, **options)
        return
    _, metadata = _parse(path, **options, metadataonly=True)
    rows, start = max(1000, _CELLS // max(1, len(metadata.column_names))), 0
    while True:
        columns, metadata = _parse(path, **options, row_limit=rows, row_offset=start)
        length = len(next(iter(columns.values()), ()))
        if length or not start:
            yield columns, metadata
        if length < rows:
            return
        start += rows


@contextmanager
def _parser_errors(path: Path) -> Iterator[None]:
    from pyreadstat import PyreadstatError, ReadstatError

    try:
        yield
    except DataError:
        raise
    except (PyreadstatError, ReadstatError, ValueError, OverflowError, OSError, UnicodeError) as reason:
        first = (str(reason).splitlines() or ["no reason given"])[0].rstrip(".")
        remedy = (
            f"name its encoding, such as '{path}?encoding=cp1252'"
            if "encoding" in first or "convert" in first or "utf-8" in first
            else "it is damaged, cut short or of another kind. Copy it again from its source"
        )
        raise DataError(f"{str(path)!r} cannot be read ({first}); {remedy}.") from None


def labels_of(metadata: Any) -> dict[str, ColumnLabels]:
    """What the dictionary says about each variable."""
    labels = {}
    for name in metadata.column_names:
        values = metadata.variable_value_labels.get(name, {})
        letters = [
            code for code in (*values, *metadata.missing_user_values.get(name, ())) if _is_letter(code, metadata)
        ]
        codes = missing_codes(metadata.missing_ranges.get(name, ()), values)
        labels[name] = ColumnLabels(
            label=(metadata.column_names_to_labels.get(name) or "").strip(),
            value_labels=tuple((_code(code, name, metadata), str(label)) for code, label in values.items()),
            missing=tuple(dict.fromkeys((*codes, *(f".{letter}" for letter in letters)))),
            measure=measure
            if (measure := metadata.variable_measure.get(name)) in ("nominal", "ordinal", "scale")
            else "",
        )
    return labels


def _is_letter(code: Any, metadata: Any) -> bool:
    return isinstance(code, str) and len(code) == 1 and metadata.file_format in ("dta", "sas7bdat", "xport")


def _code(code: Any, name: str, metadata: Any) -> str:
    is_text = metadata.readstat_variable_types[name].startswith("string")
    return f".{code}" if not is_text and _is_letter(code, metadata) else spelling(code)


def _typed(values: Any, labels: ColumnLabels, metadata: Any, name: str) -> pa.Array:
    """Numbers, days or texts; an empty text is missing, as in a CSV file."""
    if metadata.missing_user_values.get(name):
        return pa.array([_spelled(value) for value in values], pa.string())
    if metadata.readstat_variable_types[name].startswith("string"):
        texts = pa.array(values, pa.string())
        return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    array = pa.array(values, from_pandas=True)
    if pa.types.is_null(array.type):
        return array.cast(pa.float64())
    if pa.types.is_time(array.type):
        return pc.replace_substring_regex(pc.cast(array, pa.string()), r"[.]0+$", "")
    if not (pa.types.is_floating(array.type) or pa.types.is_integer(array.type)):
        return array
    return _without_unlisted(array, labels, metadata.missing_ranges.get(name, ()))


def _spelled(value: Any) -> str | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return f".{value}" if isinstance(value, str) else spelling(value)


def _without_unlisted(array: pa.Array, labels: ColumnLabels, ranges: Any) -> pa.Array:
    """A missing range may hold more codes than can be listed: those of them that are not are read as missing here."""
    for item in ranges:
        if not isinstance(item["lo"], str) and item["lo"] != item["hi"]:
            inside = pc.and_(pc.greater_equal(array, item["lo"]), pc.less_equal(array, item["hi"]))
            listed = pa.array([float(code) for code in labels.missing], pa.float64())
            strange = pc.and_(inside, pc.invert(pc.is_in(pc.cast(array, pa.float64()), listed)))
            array = pc.if_else(strange, pa.scalar(None, array.type), array)
    return array


def _joined(parts: Any) -> pa.ChunkedArray:
    """The pieces of one column; whole numbers where all of them are."""
    kinds = {part.type for part in parts}
    if kinds == {pa.float64()}:
        joined = pa.concat_arrays(parts) if len(parts) > 1 else parts[0]
        return pa.chunked_array([whole_numbers(joined)])
    if len(kinds) > 1:
        parts = [pc.cast(part, pa.string()) for part in parts]
    return pa.chunked_array(list(parts))
