"""Whether a table that is called public is the confidential one itself, under whatever name."""

import hashlib
from pathlib import Path
from typing import Any

from understudy.errors import DataError, ParameterError
from understudy.sources.archives import open_member
from understudy.sources.csv_files import is_compressed, open_bytes
from understudy.sources.files import database_of, files_and_reading
from understudy.sources.kinds import ZIP, file_kind


def refuse_same(confidential: Any, public: Any, used_as: str) -> None:
    """Refuse a public table that is the confidential one, in whole or as one of its files; a part of a file may be."""
    if confidential is not None and _is_same(confidential, public):
        shown = repr(str(public)) if isinstance(public, str | Path) else "a table in memory"  # never its rows
        raise ParameterError(
            f"{shown} is used as {used_as}, which must be public, and it holds the confidential table itself. "
            "Give a table that everybody may see, or leave it out."
        )


def files_of(what: Any) -> list[Path]:
    """The files behind a path or a pattern, just as they are read, links followed; none for anything else."""
    if not isinstance(what, str | Path) or "://" in str(what):
        return []
    try:
        return [path.resolve() for path in files_and_reading(str(what))[0]]
    except (DataError, OSError, ValueError):
        return []


def _is_same(confidential: Any, public: Any) -> bool:
    if not isinstance(confidential, str | Path) or not isinstance(public, str | Path):
        return confidential is public
    if str(confidential) == str(public):
        return True
    first, second = database_of(str(confidential)), database_of(str(public))
    if first is not None and second is not None:  # a table that was named beside the address is not known here
        return first[0] == second[0] and (first[1] == second[1] or None in (first[1], second[1]))
    public_files = files_of(public)
    return any(_is_same_file(mine, path) for mine in files_of(confidential) for path in public_files)


def _is_same_file(first: Path, second: Path) -> bool:
    try:
        if first.samefile(second):
            return True
        is_packed = any(is_compressed(path) or file_kind(path) == ZIP for path in (first, second))
        may_agree = is_packed or first.stat().st_size == second.stat().st_size
        return may_agree and _digest(first) == _digest(second)
    except (OSError, EOFError, DataError):
        return False


def _digest(path: Path) -> bytes:
    """Of the content, however it is packed."""
    digest = hashlib.sha256()
    with open_member(path) if file_kind(path) == ZIP else open_bytes(path) as data:
        while piece := data.read(1 << 20):
            digest.update(piece)
    return digest.digest()
