"""What the holder offers, by name: checked when the server starts, and sealed.

An agent knows names and never paths. Names are the holder's own words on the command line, or the agent's own for what
it drafted. Codebooks are read once and kept. A release or the data may only be used while the files are those that were
checked: inode, size and time of change are compared before and after each use, so that no error about a file that was
exchanged meanwhile is ever quoted.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from understudy.agents.arguments import NAME, NAME_WORDS
from understudy.agents.phases import Told
from understudy.errors import ParameterError

if TYPE_CHECKING:
    from understudy.codebook import Codebook

Thing = TypeVar("Thing")
CODEBOOKS, ANSWERS, HOLDER = "codebooks", "answers", "holder"
"""Folders below the agents' folder: what they drafted, what they bought, and what only the holder reads."""
FOLDER = "agents"


@dataclass(frozen=True, kw_only=True)
class Seal:
    """Files as they were when they were checked; a table in a database has no seal, and is always as it is."""

    path: Path | None
    state: tuple[tuple[str, int, int, int], ...]

    @classmethod
    def of(cls, path: Path) -> "Seal":
        """A file, or everything in a folder."""
        return cls(path=path, state=_state(path))

    @property
    def holds(self) -> bool:
        """Whether nothing was changed, added or taken away."""
        try:
            return self.path is None or _state(self.path) == self.state
        except OSError:
            return False

    @contextmanager
    def kept(self, what: str) -> Iterator[None]:
        """Use what is sealed; an outcome is only told if the seal held before and after."""
        broken = f"{what} was changed after it was checked, so it is not used any more; the holder must start the "
        broken += "server again, which checks it anew."
        if not self.holds:
            raise Told(broken)
        try:
            yield
        finally:
            if not self.holds:
                raise Told(broken)


def _state(path: Path) -> tuple[tuple[str, int, int, int], ...]:
    files = [path, *sorted(path.rglob("*"))] if path.is_dir() else [path]
    return tuple((str(file), *_stamp(file)) for file in files)


def _stamp(path: Path) -> tuple[int, int, int]:
    status = os.lstat(path)
    size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
    return status.st_ino, size, status.st_mtime_ns


@dataclass(frozen=True, kw_only=True)
class Offered:
    """One file or folder, or the address of a table, under a name."""

    name: str
    path: Path | str
    seal: Seal

    @classmethod
    def sealed(cls, name: str, path: Path | str) -> "Offered":
        """As it is now."""
        seal = Seal(path=None, state=()) if isinstance(path, str) else Seal.of(path)
        return cls(name=name, path=path, seal=seal)


@dataclass(frozen=True, kw_only=True, eq=False)
class Book:
    """A public codebook that an agent may use."""

    name: str
    codebook: "Codebook"
    origin: str
    """``holder``, ``document`` or ``paid``."""
    unknown: str | None
    """How rows are read behind it; None where it cannot be used to answer, because nobody held it against the rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Offers:
    """Everything that can be named."""

    data: Offered | None
    table: str | None = None
    header: tuple[str, ...] | None = None
    """Names of the columns, where the holder says that they are public."""
    provenance: Any = None
    books: dict[str, Book] = field(default_factory=dict)
    releases: Mapping[str, Offered] = field(default_factory=dict)
    promises: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What each release is and promises, as it was read when it was checked."""
    documents: Mapping[str, Offered] = field(default_factory=dict)

    def book(self, name: str | None) -> Book:
        """A codebook; the only one where none is named."""
        if name is None and len(self.books) == 1:
            return next(iter(self.books.values()))
        if name is None:
            raise Told(f"`codebook` is missing; {_choose('codebook', self.books)}")
        return _picked("codebook", self.books, name)

    def release(self, name: str) -> Offered:
        """A release that was verified at the start."""
        return _picked("release", self.releases, name)

    def document(self, name: str) -> Offered:
        """A document that describes the data."""
        return _picked("document", self.documents, name)


def _picked(what: str, offered: Mapping[str, Thing], name: str) -> Thing:
    if name not in offered:
        raise Told(f"there is no {what} {name!r}; {_choose(what, offered)}")
    return offered[name]


def _choose(what: str, offered: Mapping[str, Any]) -> str:
    return f"choose among {', '.join(sorted(offered))}." if offered else f"the holder offers no {what}."


def named(words: Sequence[str], option: str, root: Path) -> dict[str, Path]:
    """Paths inside the root by name, from words like NAME=PATH or PATH; sentences are for the holder."""
    offered: dict[str, Path] = {}
    for word in words:
        name, equals, path = word.partition("=")
        if not equals:
            name, path = Path(word).stem.lower(), word
        if NAME.fullmatch(name) is None:
            raise ParameterError(
                f"`{option}` is {word[:120]!r}; agents would call it {name[:80]!r}, and a name is {NAME_WORDS}. Write "
                "NAME=PATH."
            )
        if name in offered:
            raise ParameterError(f"`{option}` names {name!r} twice; write NAME=PATH with another name.")
        offered[name] = inside(root, path, option)
    return offered


def named_data(word: str, root: Path) -> tuple[str, Path | str]:
    """The same for the data, which may be the address of a table in a database."""
    name, equals, address = word.partition("=")
    if equals and NAME.fullmatch(name) is not None and "://" in address:
        return name, address
    if "://" in word:
        return "data", word
    ((name, path),) = named([word], "data", root).items()
    return name, path


def inside(root: Path, path: str | Path, option: str) -> Path:
    """A path below the root, wherever links lead; others are refused."""
    place = (root / path).resolve()
    if not place.is_relative_to(root) or place == root:
        raise ParameterError(
            f"`{option}` is {str(path)[:120]!r}, which is not inside the root {str(root)!r}; only what lies there is "
            "offered. Move it there, or choose another root."
        )
    if place.is_relative_to(root / FOLDER):
        raise ParameterError(f"`{option}` is {str(path)[:120]!r}; {FOLDER!r} is the folder that the server writes to.")
    return place
