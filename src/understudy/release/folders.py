"""Files and folders that appear all at once, after their charge, or not at all."""

import errno
import hashlib
import io
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from understudy.errors import ReleaseError
from understudy.files import Access, make_scratch, refuse_special, remove_folder, settle, sync, write_file
from understudy.interrupts import interrupts_held

Commit = Callable[[str], None]
"""Told the digest of what is about to appear, at the last moment: from then on it is paid for."""


def digest_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as data:
        return "sha256:" + hashlib.file_digest(data, "sha256").hexdigest()


def digest_of_tables(tables: Iterable[tuple[bytes, pa.Table]]) -> str:
    """SHA-256 of tables in memory, each behind the bytes that tell it apart."""
    hashed = _Hashed()
    for before, table in tables:
        hashed.write(before)
        with pa.ipc.new_stream(pa.PythonFile(hashed, mode="w"), table.schema) as stream:
            stream.write_table(table)
    return f"sha256:{hashed.sha256.hexdigest()}"


class _Hashed(io.RawIOBase):
    """A file that keeps nothing but the digest of what was written to it."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self.sha256.update(content)
        return len(content)


def digest_of_bytes(content: bytes) -> str:
    """SHA-256 of what will be a file."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


@contextmanager
def new_folder(
    target: Path, *, speaks: Callable[[Path], str], commit: Commit | None, access: Access = Access.EVERYBODY
) -> Iterator[Path]:
    """A scratch folder beside ``target`` that takes its name only once everything in it is safely on disk.

    ``speaks`` is the digest that speaks for the whole folder. ``commit`` hears it at the last moment before the folder
    appears, with interrupts held back: no release without its charge. Confidential ones are for their owner only.
    """
    refuse_existing(target)
    scratch: Path | None = None
    try:
        try:
            with interrupts_held():  # or nobody would know of the folder that must be destroyed
                scratch = make_scratch(target)
        except OSError as reason:
            raise ReleaseError(
                f"nothing can be written beside {str(target)!r} ({reason.strerror}); choose a folder you may write to."
            ) from None
        yield scratch
        settle(scratch, access)
        appear(scratch, target, digest=speaks(scratch), commit=commit)
    except (OSError, pa.ArrowException) as reason:
        raise ReleaseError(
            f"the release {str(target)!r} could not be written ({reason}); free space or choose another folder. "
            "Nothing was left behind."
        ) from None
    finally:
        if scratch is not None:
            remove_folder(scratch)


def appear(scratch: Path, target: Path, *, digest: str, commit: Commit | None) -> None:
    """Give a finished folder its name when it is paid for, with interrupts held back in between."""
    with interrupts_held():
        refuse_existing(target)
        if commit is not None:
            commit(digest)
        scratch.rename(target)
        sync(target.absolute().parent)


def new_file(
    path: Path, content: bytes, *, what: str, commit: Commit | None = None, access: Access = Access.OWNER
) -> Path:
    """Write a new file, all or nothing; ``what`` names it in sentences ("the model")."""
    check_file(path, what=what)
    paid = None if commit is None else lambda: commit(digest_of_bytes(content))
    try:
        return write_file(path, content, access, new=True, commit=paid)
    except OSError as reason:
        raise ReleaseError(f"{what} {str(path)!r} could not be written ({reason}); nothing was left behind.") from None


def replace_file(path: Path, content: bytes | str, *, what: str, access: Access = Access.OWNER) -> Path:
    """Write a file over an earlier one, all or nothing."""
    check_replaced(path, what=what)
    try:
        return write_file(path, content, access)
    except OSError as reason:
        raise _unwritten(path, what, reason) from None


def check_replaced(path: Path, *, what: str) -> None:
    """Find out before anything is computed whether a file can be written, over an earlier one too."""
    try:
        refuse_special(path)
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        tempfile.TemporaryFile(dir=path.absolute().parent).close()
    except OSError as reason:
        raise _unwritten(path, what, reason) from None


def _unwritten(path: Path, what: str, reason: OSError) -> ReleaseError:
    return ReleaseError(f"{what} {str(path)!r} cannot be written ({reason.strerror}); name another file.")


def check_file(path: Path, *, what: str) -> None:
    """Find out before anything is spent whether a new file can be written."""
    if path.exists() or path.is_symlink():
        raise ReleaseError(f"{str(path)!r} exists already; {what} never overwrites. Choose another name.")
    try:
        tempfile.TemporaryFile(dir=path.absolute().parent).close()
    except OSError as reason:
        raise ReleaseError(
            f"nothing can be written beside {str(path)!r} ({reason.strerror}); choose another."
        ) from None


def check_target(out: Path) -> None:
    """Find out before anything is spent whether ``out`` can be written."""
    refuse_existing(out)
    parent = out.absolute().parent
    if not parent.is_dir():
        raise ReleaseError(f"the folder {str(parent)!r} does not exist; make it first, then run again.")
    try:
        tempfile.TemporaryFile(dir=parent).close()
    except OSError as reason:
        raise ReleaseError(
            f"nothing can be written in {str(parent)!r} ({reason.strerror}); choose a folder you may write to."
        ) from None


def refuse_existing(target: Path) -> None:
    """A release never overwrites anything."""
    try:
        taken = target.exists() or target.is_symlink()
    except OSError as reason:
        shown = str(target) if len(str(target)) <= 80 else f"{str(target)[:80]}…"
        why = (reason.strerror or "not a name").lower()
        raise ReleaseError(f"nothing can be called {shown!r} ({why}); choose a shorter or plainer name.") from None
    if taken:
        raise ReleaseError(
            f"{str(target)!r} exists already; a release never overwrites. Choose another folder or remove that one."
        )
