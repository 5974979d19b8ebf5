"""Workbooks (.xlsx, .xls, .xlsb, .ods): one sheet as a table whose columns have the types of their cells.

A number is read as the number that the cell holds, whatever it is shown as (12 %, $ 1,200.00), a formula as the value
that was computed last. Where the cells of a column are of several kinds, the column is text, each cell spelled as a
level would be.
"""

import datetime as dt
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from understudy.codebook import FileReading, Origin
from understudy.codebook.encode import spelling
from understudy.errors import DataError, quoted
from understudy.extras import need
from understudy.sources.csv_files import unique_names
from understudy.sources.materialised import Materialised

_MOST_BYTES = 1 << 32
"""A workbook that unpacks to more than 4 GiB is refused: all of it would be held in memory."""
_MOST_RATIO, _SMALL = 300, 1 << 26
"""No sheet of cells is packed better than so; a part of up to 64 MiB may be."""
_MOST_CELLS = 1 << 26
"""Between the first and the last cell of a sheet, empty ones too: the parser makes room for all of them."""
_TRY = """
import resource, sys
from python_calamine import CalamineWorkbook
path, most_bytes, most_cells = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_AS, (most_bytes, resource.getrlimit(resource.RLIMIT_AS)[1]))
try:
    with CalamineWorkbook.from_path(path) as workbook:
        for name in workbook.sheet_names:
            sheet = workbook.get_sheet_by_name(name)
            if sheet.height * sheet.width > most_cells:
                sys.exit(3)
except MemoryError:
    sys.exit(3)
except Exception:
    pass
"""
"""Opens every sheet where it can do no harm: the parser ends its whole process when it gets no memory."""
_LOOKED_THROUGH = 50
"""Rows among which the names of the columns are looked for."""
_UNCOMPUTED = re.compile(rb"<c (?![^>]*t=\"str\")[^>]*>\s*<f[^>]*(?:/>|>[^<]*</f>)\s*(?:<v\s*/>|<v></v>)?\s*</c>")
"""A formula whose value nobody computed, as programs write it that cannot compute."""
_EXACT = 2.0**53

Cells = Sequence[Any]


def read_workbook(path: Path, reading: FileReading) -> Materialised:
    """One sheet; which one must be said where several have data."""
    need("python_calamine", extra="formats", what="reading a workbook")
    _refuse_bombs(path)
    _refuse_wide_nothing(path)
    with _calamine_errors(path):
        from python_calamine import CalamineWorkbook

        with CalamineWorkbook.from_path(str(path)) as workbook:
            sheet, several = _chosen_sheet(path, workbook, reading.sheet)
            rows, merged, first_row = sheet.to_python(), sheet.merged_cell_ranges or [], (sheet.start or (0, 0))[0]
            first_column = (sheet.start or (0, 0))[1]
    place = f"sheet {sheet.name!r} of {str(path)!r}"
    if not rows:
        raise DataError(f"{place} is empty; a table needs a header and rows.")
    header_at, kept = _header_row(rows, reading, first_row, place)
    _fill_merged(rows, merged, (first_row, first_column), header_at, place)
    body = [row for row in rows[header_at + 1 :] if any(cell != "" for cell in row)]
    columns = list(zip(*body, strict=True)) if body else [()] * len(rows[0])
    header = [spelling(cell).strip() for cell in rows[header_at]] if header_at >= 0 else [""] * len(columns)
    used = [
        at for at, (name, cells) in enumerate(zip(header, columns, strict=True)) if name or any(c != "" for c in cells)
    ]
    header, columns = [header[at] for at in used], [columns[at] for at in used]
    if reading.names:
        header = _renamed(header, reading.names, place)
    typed = [_typed(cells) for cells in columns]
    if body and any(array.null_count == len(array) for array in typed):
        _refuse_uncomputed(path, place)
    table = pa.table(typed, names=unique_names(tuple(header)))
    found = FileReading(sheet=sheet.name if several or reading.sheet else "", **kept, names=reading.names)
    return Materialised(table=table, header=tuple(header), file=found)


@contextmanager
def _calamine_errors(path: Path) -> Iterator[None]:
    """What the parser raises, as one sentence."""
    from python_calamine import CalamineError, PasswordError

    try:
        yield
    except DataError:
        raise
    except PasswordError:
        raise _locked(path) from None
    except (CalamineError, OSError, ValueError) as reason:
        if "EncryptedPackage".encode("utf-16-le") in path.read_bytes() or "password" in str(reason).lower():
            raise _locked(path) from None
        first = str(reason).splitlines()[0] if str(reason) else "no reason given"
        raise DataError(
            f"the workbook {str(path)!r} cannot be read ({first.rstrip('.')}); it is damaged or of another kind. Open "
            "it in a spreadsheet and save it anew as .xlsx or .csv."
        ) from None


def _locked(path: Path) -> DataError:
    return DataError(
        f"the workbook {str(path)!r} is protected by a password; give a copy without one, in a safe place."
    )


def _refuse_bombs(path: Path) -> None:
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
    if any(part.file_size > max(_SMALL, _MOST_RATIO * part.compress_size) for part in parts):
        raise DataError(
            f"the workbook {str(path)!r} unpacks to more than {_MOST_RATIO} times its size, as no table does; save the "
            "table as .csv or .parquet."
        )
    size = sum(part.file_size for part in parts)
    if size > _MOST_BYTES:
        raise DataError(
            f"the workbook {str(path)!r} unpacks to {size >> 30:,} GiB, and at most {_MOST_BYTES >> 30} are read; save "
            "the table as .csv or .parquet."
        )


def _refuse_wide_nothing(path: Path) -> None:
    """A cell in the last corner of an empty sheet asks for half a terabyte; a process apart finds that out."""
    words = [sys.executable, "-I", "-c", _TRY, str(path), str(2 * _MOST_BYTES), str(_MOST_CELLS)]
    tried = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if tried.returncode != 0:
        raise DataError(
            f"the workbook {str(path)!r} has a sheet of more than {_MOST_CELLS:,} cells between its first and its last "
            "one, or asks for more memory than a table needs; delete what stands far outside the table, or save the "
            "table as .csv or .parquet."
        )


def _chosen_sheet(path: Path, workbook: Any, wanted: str) -> tuple[Any, bool]:
    """The sheet that was named, or the only one that holds anything; and whether there are others."""
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    tables = [item for item in workbook.sheets_metadata if item.typ == SheetTypeEnum.WorkSheet]
    names = [item.name for item in tables]
    if wanted:
        if wanted not in names:
            raise DataError(f"the workbook {str(path)!r} has no sheet {wanted!r}; it has {quoted(names)}.")
        return workbook.get_sheet_by_name(wanted), len(names) > 1
    seen = [item.name for item in tables if item.visible == SheetVisibleEnum.Visible]
    with_data: list[Any] = []
    for name in seen or names:
        sheet = workbook.get_sheet_by_name(name)
        if sheet.height:
            with_data.append(sheet)
        if len(with_data) > 1:
            raise DataError(
                f"the workbook {str(path)!r} has {len(seen or names)} sheets, {quoted(seen or names)}, and several "
                f"hold data; name one as '{path}?sheet={with_data[0].name}', or with --table."
            )
    if not with_data:
        raise DataError(f"no sheet of the workbook {str(path)!r} holds anything; a table needs a header and rows.")
    return with_data[0], False


def _header_row(rows: Sequence[Cells], reading: FileReading, first_row: int, place: str) -> tuple[int, dict[str, Any]]:
    """Where the names stand among the rows that were read, and what a codebook keeps of that.

    Titles and notes above a table fill few cells: the names are the first row that fills more than half of the columns.
    """
    if reading.skip or reading.header_row is not None:
        at = reading.skip + (1 if reading.header_row is None else reading.header_row) - 1 - first_row
        if at >= len(rows):
            raise DataError(
                f"{place} has {len(rows) + first_row:,} rows, and its [file] looks for names below; mend it."
            )
        kept = {"skip": reading.skip, "header_row": reading.header_row}
        return max(at, -1), kept | {"origin": reading.origin, "attestation": reading.attestation}
    filled = [sum(cell != "" for cell in row) for row in rows[:_LOOKED_THROUGH]]
    at = next(at for at, count in enumerate(filled) if 2 * count > max(filled))
    return at, ({"skip": at + first_row, "origin": Origin.DRAFTED} if at else {})


def _fill_merged(rows: list[Any], merged: Sequence[Any], first: tuple[int, int], header_at: int, place: str) -> None:
    """A cell that was merged downwards holds for all its rows; one merged sideways belongs to no one column."""
    for (top, left), (bottom, right) in merged:
        top_at, bottom_at = top - first[0], min(bottom - first[0], len(rows) - 1)
        left_at, right_at = left - first[1], right - first[1]
        if bottom_at < max(header_at, 0):
            continue  # a title above the table
        shown = f"{_cell_name(top, left)}:{_cell_name(bottom, right)}"
        if left != right and any(rows[top_at][at] != "" for at in range(left_at, min(right_at + 1, len(rows[0])))):
            what = "names of its columns" if top_at <= header_at else "rows"
            raise DataError(
                f"{place} has cells merged across columns ({shown}) among the {what}; give every column a name and a "
                "value of its own: unmerge the cells, take out headings between rows, or say which row holds the names "
                "([file] header_row in the codebook)."
            )
        if left != right:
            continue
        for at in range(max(top_at, header_at) + 1, bottom_at + 1):
            rows[at][left_at] = rows[top_at][left_at]
        if top_at < header_at <= bottom_at:
            rows[header_at][left_at] = rows[top_at][left_at]


def _cell_name(row: int, column: int) -> str:
    letters = ""
    while column >= 0:
        letters = chr(ord("A") + column % 26) + letters
        column = column // 26 - 1
    return f"{letters}{row + 1}"


def _renamed(header: Sequence[str], names: Sequence[str], place: str) -> list[str]:
    if len(names) != len(header):
        raise DataError(f"{place} has {len(header)} columns, and [file] names {len(names)}; name each of them.")
    return list(names)


_NUMBERS, _DAYS = {float, int}, {dt.date, dt.datetime}


def _typed(cells: Cells) -> pa.Array:
    """A column of numbers, days, truths or texts; blank cells are missing."""
    kinds = set(map(type, cells))
    if "" in cells:
        cells = [None if cell == "" else cell for cell in cells]
        kinds = set(map(type, cells)) - {type(None)}
    if not kinds:
        return pa.nulls(len(cells), pa.string())
    if kinds <= _NUMBERS:
        return whole_numbers(pa.array(cells, pa.float64()))
    if kinds <= _DAYS:
        is_timed = any(type(cell) is dt.datetime and cell.time() != dt.time() for cell in cells)
        return pa.array(cells, pa.timestamp("us") if is_timed else pa.date32())
    if kinds == {bool}:
        return pa.array(cells, pa.bool_())
    if kinds == {str}:
        return pa.array(cells, pa.string())
    return pa.array([None if cell is None else _spelled(cell) for cell in cells], pa.string())


def whole_numbers(numbers: pa.Array) -> pa.Array:
    """Floats as whole numbers where all of them are: a file of floats says 1.0 where it means the code 1."""
    values = numbers.drop_null().to_numpy(zero_copy_only=False)
    if values.size and bool(np.all((values == np.floor(values)) & (np.abs(values) < _EXACT))):
        return numbers.cast(pa.int64())
    return numbers


def _spelled(cell: Any) -> str:
    if isinstance(cell, dt.timedelta):
        minutes, seconds = divmod(int(cell.total_seconds()), 60)
        return f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}"
    return cell.isoformat() if isinstance(cell, dt.date | dt.time) else spelling(cell)


def _refuse_uncomputed(path: Path, place: str) -> None:
    """A column without any value may be one of formulas that were never computed."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        parts = [name for name in archive.namelist() if name.startswith("xl/worksheets/") and name.endswith(".xml")]
        if any(_UNCOMPUTED.search(archive.read(name)) for name in parts):
            raise DataError(
                f"{place} has formulas whose values were never computed; open the workbook in a spreadsheet, save it, "
                "and give that."
            )
