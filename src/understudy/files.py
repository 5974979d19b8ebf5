"""How files are written, by everybody: whole or not at all, for the readers they are meant for, over nothing special.

A file is written beside its target under a name that nobody can guess, brought onto the disk, and renamed. Who may read
it is said by the caller and never left to the umask. A symbolic link, a pipe or a device in the place of a file is
refused: what is behind it is not what was named. Whoever calls turns an ``OSError`` into a sentence of its own; the
``strerror`` of those raised here are words for it.
"""

import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable
from enum import Enum
from pathlib import Path

from understudy.interrupts import interrupts_held

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a symbolic link",
}


class Access(Enum):
    """Who may read what is written: the modes of its files and of its folders."""

    OWNER = (0o600, 0o700)
    """Confidential, or not yet anything else."""
    EVERYBODY = (0o644, 0o755)
    """Public: a release, a public key, a simulated example."""

    @property
    def file(self) -> int:
        """Mode of a file."""
        return self.value[0]

    @property
    def folder(self) -> int:
        """Mode of a folder."""
        return self.value[1]


def write_file(
    path: Path,
    content: bytes | str,
    access: Access | None = None,
    *,
    new: bool = False,
    commit: Callable[[], None] | None = None,
) -> Path:
    """Write a file whole or not at all; texts as UTF-8 with the newlines they have.

    Without ``access`` a file that is replaced keeps its readers, and a new one is its owner's. With ``new`` nothing is
    replaced. ``commit`` is called at the last moment before the file appears.
    """
    refuse_special(path)
    mode = stat.S_IMODE(path.stat().st_mode) if access is None and path.exists() else (access or Access.OWNER).file
    scratch: str | None = None
    with interrupts_held():  # nothing of it is left, or it is there
        try:
            prefix = f".{path.name[:80]}-unfinished-"
            handle, scratch = tempfile.mkstemp(prefix=prefix, dir=path.absolute().parent)
            with os.fdopen(handle, "wb") as target:
                target.write(content.encode() if isinstance(content, str) else content)
                target.flush()
                os.fchmod(target.fileno(), mode)  # for everybody only when it is whole
                os.fsync(target.fileno())
            if commit is not None:
                commit()
            (_claim if new else os.replace)(scratch, path)
            sync(path.absolute().parent)
        finally:
            if scratch is not None:
                Path(scratch).unlink(missing_ok=True)
    return path


def _claim(scratch: str, path: Path) -> None:
    """Give the name to a finished file, unless somebody has taken it meanwhile."""
    try:
        os.link(scratch, path)
    except FileExistsError:
        raise
    except OSError as reason:  # a file system without hard links
        if path.exists() or path.is_symlink():
            raise FileExistsError(errno.EEXIST, "File exists", str(path)) from reason
        Path(scratch).replace(path)


def append_to(path: Path, content: bytes) -> None:
    """Add to the end of its owner's file, onto the disk."""
    refuse_special(path)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600), "ab") as target:
        target.write(content)
        target.flush()
        os.fchmod(target.fileno(), Access.OWNER.file)
        os.fsync(target.fileno())


def open_to_append(path: Path) -> int:
    """A handle that adds to the end of its owner's file, for a stream of messages that nobody else may read."""
    refuse_special(path)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    os.fchmod(handle, Access.OWNER.file)
    return handle


def make_empty(path: Path) -> None:
    """A new, empty file of its owner, for a database to fill; an existing one is never touched."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        os.fchmod(handle, Access.OWNER.file)  # a strict umask may have taken bits that the owner needs
    finally:
        os.close(handle)


def open_lock(path: Path) -> int:
    """A handle of its owner's file that processes lock; it is made if it is not there."""
    refuse_special(path)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def make_folders(path: Path) -> Path:
    """A folder of its owner with all that is missing above it; those that are there keep their readers."""
    for folder in (*reversed(path.absolute().parents), path):
        if not folder.is_dir():
            make_folder(folder, exist_ok=True)
    return path


def make_folder(path: Path, access: Access = Access.OWNER, *, exist_ok: bool = False) -> Path:
    """One folder; an existing one must be a folder and not a link to one."""
    try:
        path.mkdir(mode=access.folder)
    except FileExistsError:
        if not exist_ok or path.is_symlink() or not path.is_dir():
            raise
    path.chmod(access.folder)
    return path


def make_scratch(target: Path) -> Path:
    """A folder of its owner beside ``target``, under a name that nobody can guess; :func:`settle` it, then rename."""
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name[:80]}-unfinished-", dir=target.absolute().parent))
    scratch.chmod(Access.OWNER.folder)
    return scratch


def settle(folder: Path, access: Access) -> None:
    """Give everything in a finished folder, and the folder, to its readers, and bring it onto the disk."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            settle(path, access)
            continue
        refuse_special(path)
        path.chmod(access.file)
        sync(path)
    sync(folder)
    folder.chmod(access.folder)  # last: nobody looks in before


def sync(path: Path) -> None:
    """Make sure that a file or folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def scratch_beside(path: Path) -> Path:
    """A name beside ``path`` that nobody can guess, for what other libraries write themselves."""
    return path.with_name(f".{path.name[:80]}-{secrets.token_hex(8)}")


def remove_folder(folder: Path) -> None:
    """With everything in it, as far as it can be removed."""
    with interrupts_held():
        shutil.rmtree(folder, ignore_errors=True)


def refuse_special_in(folder: Path) -> None:
    """The same for everything in a folder that others may have filled."""
    for path in folder.rglob("*"):
        try:
            refuse_special(path)
        except OSError as reason:
            raise OSError(reason.errno, f"{path.relative_to(folder)}: {reason.strerror}") from None


def refuse_special(path: Path, *, follow: bool = False) -> None:
    """Refuse whatever is in the place of a file without being one; with ``follow`` a link may lead to one."""
    try:
        mode = (path.stat() if follow else path.lstat()).st_mode
    except FileNotFoundError:
        return
    if kind := _KINDS.get(stat.S_IFMT(mode)):
        raise OSError(errno.EINVAL, f"it is {kind}, and only plain files are read and written; name the file itself")
