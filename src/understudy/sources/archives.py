"""A zip archive of one file: the file inside is unpacked into a private folder and read like any other."""

import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import IO

from understudy.errors import DataError, listed

_BESIDE = ("__MACOSX/", "Thumbs.db", "desktop.ini")
"""What systems put beside the files of an archive."""
_MOST_BYTES = 1 << 40
"""An archive may say that it unpacks to anything; nobody has a table of a terabyte in a zip file."""


def members_of(path: Path, wanted: str = "") -> list[zipfile.ZipInfo]:
    """The files of an archive, or those that are called so: by the whole name, or else by its last part."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if not info.is_dir() and not _is_beside(info.filename)]
    except (zipfile.BadZipFile, OSError, NotImplementedError) as reason:
        raise DataError(f"{str(path)!r} is cut short or damaged ({reason}); copy it again from its source.") from None
    if not wanted:
        return members
    exactly = [info for info in members if info.filename == wanted]
    return exactly or [info for info in members if PurePosixPath(info.filename).name == wanted]


def member_of(path: Path, wanted: str = "") -> zipfile.ZipInfo:
    """The one file of an archive, or the one that was asked for."""
    chosen = members_of(path, wanted)
    if len(chosen) != 1:
        names = listed([repr(info.filename) for info in members_of(path)]) or "no file"
        ask = f"there is no {wanted!r}" if wanted else "one is needed"
        raise DataError(
            f"the archive {str(path)!r} has {names}, and {ask}; name one as '{path}?member=NAME', or unpack it first."
        )
    if chosen[0].flag_bits & 1:
        raise DataError(f"the archive {str(path)!r} is protected by a password; unpack it in a safe place first.")
    if chosen[0].file_size > _MOST_BYTES:
        raise DataError(f"the archive {str(path)!r} says that it unpacks to more than a terabyte; it is not a table.")
    return chosen[0]


def place_of(name: str) -> PurePosixPath:
    """Where a file of an archive lies, however the program that packed it spells that.

    >>> [str(place_of(name)) for name in ("./release/a.csv", "release//a.csv", r"release\\a.csv")]
    ['release/a.csv', 'release/a.csv', 'release/a.csv']
    """
    return PurePosixPath(normpath(name.replace("\\", "/")))


def _is_beside(name: str) -> bool:
    plain = PurePosixPath(name).name
    return name.startswith(_BESIDE) or plain in _BESIDE or plain.startswith(".")


@contextmanager
def open_member(path: Path, wanted: str = "") -> Iterator[IO[bytes]]:
    """The content of the one file of an archive."""
    info = member_of(path, wanted)
    try:
        with zipfile.ZipFile(path) as archive, archive.open(info) as data:
            yield data
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as reason:
        raise DataError(f"{str(path)!r} is cut short or damaged ({reason}); copy it again from its source.") from None


def unpacked(path: Path, wanted: str = "") -> tuple[Path, tempfile.TemporaryDirectory[str]]:
    """The file inside, in a private folder that lives as long as whoever holds it."""
    info = member_of(path, wanted)
    folder = tempfile.TemporaryDirectory(prefix="understudy-")  # created 0700
    if info.file_size > shutil.disk_usage(folder.name).free:
        folder.cleanup()
        raise DataError(
            f"the archive {str(path)!r} unpacks to {info.file_size:,} bytes, for which the disk of temporary files has "
            "no room; free disk space, or set TMPDIR to a larger private disk."
        )
    inside = Path(folder.name) / PurePosixPath(info.filename).name  # never a path out of the folder
    try:
        with open_member(path, wanted) as data, inside.open("wb") as target:
            shutil.copyfileobj(data, target, 1 << 20)
    except OSError as reason:
        folder.cleanup()
        raise DataError(
            f"{str(path)!r} cannot be unpacked ({reason.strerror}); free disk space, or set TMPDIR to a larger "
            "private disk."
        ) from None
    except BaseException:
        folder.cleanup()
        raise
    return inside, folder
