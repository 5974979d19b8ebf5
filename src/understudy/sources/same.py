"""Whether a table that is called public is the confidential one itself."""

import hashlib
from pathlib import Path
from typing import Any

from understudy.errors import ParameterError

__all__ = ["refuse_same"]


def refuse_same(confidential: Any, public: Any, used_as: str) -> None:
    """Refuse a public table that is the confidential file, by another name or as a copy; in part it may still be."""
    if confidential is not None and _is_same(confidential, public):
        raise ParameterError(
            f"{str(public)!r} is used as {used_as}, which must be public, and it holds the confidential table itself. "
            "Give a table that everybody may see, or leave it out."
        )


def _is_same(one: Any, other: Any) -> bool:
    if not isinstance(one, str | Path) or not isinstance(other, str | Path):
        return one is other
    try:
        first, second = Path(one), Path(other)
        if not first.is_file() or not second.is_file():
            return str(one) == str(other)
        if first.samefile(second):
            return True
        return first.stat().st_size == second.stat().st_size and _digest(first) == _digest(second)
    except (OSError, ValueError):
        return False


def _digest(path: Path) -> bytes:
    with path.open("rb") as data:
        return hashlib.file_digest(data, "sha256").digest()
