"""Fixed-width text: the layout says which characters of a line belong to which column.

A layout is a CSV file with the columns ``name`` and ``start`` and ``end`` (or ``width``), characters counted from 1; a
codebook keeps it in ``[file.layout]``.
"""

import csv
import io
from collections.abc import Sequence
from glob import escape
from pathlib import Path
from typing import Any

from understudy.codebook import FileReading
from understudy.codebook.file_reading import Layout
from understudy.errors import DataError
from understudy.loading import loader
from understudy.sources.csv_files import open_bytes, unique_names

_NAMES = {"name": ("name", "column", "variable", "field"), "start": ("start", "begin", "from", "first", "position")}
_NAMES |= {"end": ("end", "stop", "to", "last"), "width": ("width", "length", "size")}


@loader("the layout", remedy="give a CSV file in UTF-8 with name, start and end.", error=DataError)
def read_layout(path: str | Path) -> Layout:
    """A layout from its file: CSV, or DDI-Codebook with the places of its variables."""
    if Path(path).suffix.lower() == ".xml" and Path(path).is_file():
        from understudy.sources.documents.ddi import layout_of, read_xml

        if places := layout_of(read_xml(Path(path), Path(path).read_bytes())):
            return places
        raise DataError(f"the layout {str(path)!r} does not say where its variables stand (location, StartPos).")
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as reason:
        raise DataError(f"the layout {str(path)!r} cannot be read ({reason}); give a CSV file in UTF-8.") from None
    rows = csv.DictReader(io.StringIO(text), delimiter=";" if ";" in text.partition("\n")[0] else ",")
    known = {word: key for key, words in _NAMES.items() for word in words}
    keys = {given: known.get((given or "").strip().lower()) for given in rows.fieldnames or ()}
    if not {"name"} <= set(keys.values()) or not {"end", "width"} & set(keys.values()):
        raise DataError(
            f"the layout {str(path)!r} has the columns {', '.join(map(str, keys)) or 'none'}; it needs name, start and "
            "end (or width), with characters counted from 1."
        )
    layout: list[tuple[str, tuple[int, int]]] = []
    for number, row in enumerate(rows, start=2):
        cells = {key: (row.get(given) or "").strip() for given, key in keys.items() if key}
        try:
            first = int(cells["start"]) if cells.get("start") else (layout[-1][1][1] + 1 if layout else 1)
            last = int(cells["end"]) if cells.get("end") else first + int(cells["width"]) - 1
        except (KeyError, ValueError):
            raise DataError(
                f"line {number} of the layout {str(path)!r} has no whole numbers for its characters; write where the "
                "column starts and ends, or how wide it is."
            ) from None
        layout.append((cells["name"], (first, last)))
    if faults := FileReading(layout=tuple(layout)).faults() or ([] if layout else ["it lists no column."]):
        raise DataError(f"the layout {str(path)!r}: {faults[0]}")
    return tuple(layout)


def read_fixed_width(connection: Any, address: str, paths: Sequence[Path], reading: FileReading) -> tuple[Any, Any]:
    """The table of texts, blanks around them taken off and blank ones missing, and its names."""
    names = tuple(name for name, _ in reading.layout)
    _refuse_other_layout(paths[0], reading)
    lines = connection.read_csv(
        [escape(str(path)) for path in paths],
        auto_detect=False,
        header=False,
        delim="\x1e",  # no text has it, so that a line is one field
        quote="",
        escape="",
        nullstr="",
        comment="",
        columns={"line": "VARCHAR"},
        skip=reading.skip + (reading.header_row or 0),
        **({"encoding": reading.encoding} if reading.encoding else {}),
    )
    lines = lines.filter(lines.line.notnull() & (lines.line.strip() != ""))
    columns = {}
    for name, (_, (first, last)) in zip(unique_names(names), reading.layout, strict=True):
        columns[name] = lines.line.substr(first - 1, last - first + 1).strip().nullif("")
    return lines.select(**columns), names


def _refuse_other_layout(path: Path, reading: FileReading) -> None:
    """A layout whose columns begin beyond the lines is that of another file."""
    with open_bytes(path) as data:
        heads = [data.readline(1 << 16) for _ in range(reading.skip + (reading.header_row or 0) + 1)]
    line = heads[-1].rstrip(b"\r\n")
    begins = max(reading.layout, key=lambda item: item[1][0])
    if len(line) < begins[1][0]:
        raise DataError(
            f"a line of {str(path)!r} has {len(line)} characters, and the layout lets {begins[0]!r} begin at "
            f"{begins[1][0]}; is this the layout of another file?"
        )
