"""Whether a table that is called public is the confidential one itself, under whatever name."""

import gzip
import hashlib
from pathlib import Path
from typing import Any

from understudy.errors import DataError, ParameterError
from understudy.sources.files import database_of, find_files


def refuse_same(confidential: Any, public: Any, used_as: str) -> None:
    """Refuse a public table that is the confidential one, in whole or as one of its files; a part of a file may be."""
    if confidential is not None and _is_same(confidential, public):
        raise ParameterError(
            f"{str(public)!r} is used as {used_as}, which must be public, and it holds the confidential table itself. "
            "Give a table that everybody may see, or leave it out."
        )


def files_of(what: Any) -> list[Path]:
    """The files behind a path or a pattern, just as they are read, links followed; none for anything else."""
    if not isinstance(what, str | Path) or "://" in str(what):
        return []
    try:
        return [path.resolve() for path in find_files(str(what))]
    except (DataError, OSError, ValueError):
        return []


def _is_same(one: Any, other: Any) -> bool:
    if not isinstance(one, str | Path) or not isinstance(other, str | Path):
        return one is other
    if str(one) == str(other):
        return True
    first, second = database_of(str(one)), database_of(str(other))
    if first is not None and second is not None:  # a table that was named beside the address is not known here
        return first[0] == second[0] and (first[1] == second[1] or None in (first[1], second[1]))
    theirs = files_of(other)
    return any(_is_same_file(mine, path) for mine in files_of(one) for path in theirs)


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        if one.samefile(other):
            return True
        packed = ".gz" in (one.suffix, other.suffix)
        return (packed or one.stat().st_size == other.stat().st_size) and _digest(one) == _digest(other)
    except (OSError, EOFError):
        return False


def _digest(path: Path) -> bytes:
    """Of the content, however it is packed."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as data:
        return hashlib.file_digest(data, "sha256").digest()
