"""Where files of other programs keep the mark that says what a table is: Parquet has metadata, CSV has no place.

A .sav file has it in its notes, a workbook in the comments of its properties, in lines that begin with a sign of ours.
A .dta file has no room for it.
"""

import base64
import binascii
import re
import zipfile
from pathlib import Path

from understudy.errors import DataError

MARK_LINE = "understudy:"
DATA_SHEET, LABEL_SHEET = "data", "labels"
"""The sheets of a workbook that a release wrote."""
_PROPERTIES, _MOST_BYTES = "docProps/core.xml", 1 << 22
_COMMENT = re.compile(rb"<dc:description>" + MARK_LINE.encode() + rb"([A-Za-z0-9+/=\s]*)</dc:description>")


def mark_in_workbook(path: Path) -> bytes:
    """The mark of a workbook; empty where it has none."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(_PROPERTIES).file_size > _MOST_BYTES:  # it could hide a mark, or fill the memory
                raise DataError(
                    f"the properties of the workbook {str(path)!r} unpack to more than {_MOST_BYTES >> 20} MiB, as no "
                    "program writes them; save the table as .csv or .parquet."
                )
            found = _COMMENT.search(archive.read(_PROPERTIES))
    except (zipfile.BadZipFile, KeyError, OSError, RuntimeError, NotImplementedError):
        return b""
    return b"" if found is None else _decoded(found[1])


def mark_in_statistical(path: Path) -> bytes:
    """The mark of a .sav file; empty where it has none, and where nobody can read it."""
    from understudy.codebook import FileReading
    from understudy.extras import have
    from understudy.sources.statistical import read_labels

    if not have("pyreadstat"):
        return b""
    try:
        notes = read_labels(path, FileReading())[1].notes or []
    except DataError:  # whoever reads the rows will say what is wrong with the file
        return b""
    lines = [note.strip().removeprefix(MARK_LINE) for note in notes if note.strip().startswith(MARK_LINE)]
    return _decoded("".join(lines).encode())


def _decoded(text: bytes) -> bytes:
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        return b"damaged"  # something of ours was here: not to be taken for a plain table
