"""What a file is: by its first bytes, and by its name only where those do not tell.

A workbook that somebody called ``.csv``, or a text that a system exported as ``.xls``, is read as what it is.
"""

import zipfile
from pathlib import Path

from understudy.errors import DataError
from understudy.sources.csv_files import is_compressed, open_bytes

CSV, PARQUET, WORKBOOK, STATISTICAL, JSON, FIXED, ZIP = (
    "csv", "parquet", "workbook", "statistical file", "JSON", "fixed-width text", "zip",
)  # fmt: skip

STATISTICAL_SUFFIXES = (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt")
_BY_NAME = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".tab"), CSV),
    **dict.fromkeys((".dat", ".asc", ".prn", ".fwf"), FIXED),
    **dict.fromkeys((".parquet", ".pq"), PARQUET),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), JSON),
    **dict.fromkeys((".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"), WORKBOOK),
    **dict.fromkeys(STATISTICAL_SUFFIXES, STATISTICAL),
    ".zip": ZIP,
}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The container of old workbooks, and of new ones behind a password."""
_SAS = b"\x00" * 12 + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")
_STARTS = {
    b"PAR1": PARQUET,
    b"$FL2": STATISTICAL,
    b"$FL3": STATISTICAL,
    b"<stata_dta>": STATISTICAL,
    b"HEADER RECORD*******LI": STATISTICAL,
    _SAS: STATISTICAL,
}
_READ = (
    "CSV (.csv, .tsv, .txt, also .gz), .parquet, .xlsx, .xls, .xlsb, .ods, .sav, .zsav, .por, .dta, .sas7bdat, .xpt, "
    ".jsonl, .ndjson, fixed-width text with a layout, or a .zip of one of them"
)


_HEAD = 4096
"""Bytes that tell what a file is; the rest may unpack to any size."""


def file_kind(path: Path) -> str:
    """One of the kinds above; what is none of them is refused."""
    named = _BY_NAME.get(suffix_of(path))
    try:
        found = _by_content(path)
    except OSError as reason:  # a damaged .gz, or a folder; whoever reads it says more
        if named is None:
            raise DataError(f"{str(path)!r} cannot be read ({reason}); copy it again from its source.") from None
        return named
    if found is not None:
        return found
    if named in (WORKBOOK, STATISTICAL) and _is_text(path):
        return _text_called(path)
    if named is None:
        raise DataError(f"{str(path)!r} is of a kind that is not read. Save it as {_READ}.")
    return named


def suffix_of(path: Path) -> str:
    """The ending of a name in small letters, without that of a compressed file."""
    return (path.with_suffix("").suffix if is_compressed(path) else path.suffix).lower()


def _head(path: Path, size: int = _HEAD) -> bytes:
    try:
        with open_bytes(path) as data:
            return data.read(size)
    except EOFError:  # a compressed file that was cut short
        return b""


def _by_content(path: Path) -> str | None:
    head = _head(path)
    if head.startswith(b"PK\x03\x04") and not is_compressed(path):
        return _in_zip(path)
    if head.startswith(_OLE):
        return WORKBOOK
    return next((kind for start, kind in _STARTS.items() if head.startswith(start)), None)


def _in_zip(path: Path) -> str:
    """Modern workbooks are zip archives with known parts; every other archive holds files."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            if any(name.startswith("xl/") for name in names):
                return WORKBOOK
            if "mimetype" not in names:
                return ZIP
            with archive.open("mimetype") as said:
                return WORKBOOK if b"spreadsheet" in said.read(_HEAD) else ZIP
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError):
        return WORKBOOK if _BY_NAME.get(path.suffix.lower()) == WORKBOOK else ZIP


def _is_text(path: Path) -> bool:
    head = _head(path)
    has_mark = head.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"))
    if _BY_NAME.get(suffix_of(path)) == STATISTICAL and not has_mark:
        return b"," in head.partition(b"\n")[0] and b"\x00" not in head and suffix_of(path) != ".por"
    return bool(head) and (has_mark or b"\x00" not in head)


def _text_called(path: Path) -> str:
    """A text under the name of something else; a page of a web server is no table."""
    head = _head(path).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if head.startswith(b"<"):
        raise DataError(
            f"{str(path)!r} is an HTML or XML text, not what its name says; many systems export such files as .xls. "
            "Open it in a spreadsheet, and save it as .xlsx or .csv."
        )
    return CSV
