"""What lies below the root: one folder per data set, with plain files that the command line understands too.

``ROOT/NAME/dataset.toml`` makes a folder a data set and says where its rows are. Everything else has a fixed place in
the folder, see :class:`Dataset`. No path may leave the root, by ``..``, by being absolute, or through a link.
"""

import glob
import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from understudy.errors import ParameterError, UnderstudyError
from understudy.facade.peeks import strange_sign
from understudy.files import Access, make_folders, refuse_special, write_file
from understudy.studio.forms import FieldError
from understudy.studio.texts import texts

DECLARED = "dataset.toml"
FORMAT = 1
"""Of ``dataset.toml`` and of approvals; the first ones did not say it."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ROW_FILES = (".csv", ".tsv", ".txt", ".parquet", ".xlsx", ".sav", ".zsav", ".dta", ".sas7bdat", ".xpt", ".gz", ".zip",
              ".duckdb", ".ddb", ".db", ".db3", ".sqlite", ".sqlite3")  # fmt: skip
_DATABASES = ("postgresql://", "postgres://", "mariadb://", "mysql://", "spark://")
DATABASE_FILES = ("duckdb", "sqlite", "sqlite3")
"""Schemes of databases that are one file, which must lie below the root like any other."""
_MOST_LISTED = 500
MOST_CODEBOOK = 20_000_000


class OutsideRootError(UnderstudyError):
    """A path that leads out of the root folder."""


class NoSuchDatasetError(UnderstudyError):
    """There is no data set of this name below the root."""


@dataclass(frozen=True)
class Root:
    """The folder that the studio works in."""

    folder: Path

    @classmethod
    def at(cls, folder: str | Path) -> "Root":
        """The folder, which is made where it is missing."""
        place = Path(folder)
        try:
            private_folder(place)
            return cls(place.resolve(strict=True))
        except OSError as reason:
            raise ParameterError(
                texts("workspace")["bad_root"].format(folder=str(folder), why=reason.strerror)
            ) from None

    def path(self, *parts: str | Path) -> Path:
        """A place below the root; links are followed first, and none may lead out."""
        words = [str(part) for part in parts]
        if any("\0" in word for word in words):
            raise OutsideRootError(texts("workspace")["null_byte"])
        place = self.folder.joinpath(*words)
        resolved = Path(os.path.realpath(place))
        if not resolved.is_relative_to(self.folder):
            raise OutsideRootError(texts("workspace")["outside"].format(path="/".join(words)[:200]))
        return resolved

    def relative(self, place: Path) -> str:
        """A place as it is shown: from the root on."""
        return str(place.relative_to(self.folder))

    def spelled(self, address: str) -> str:
        """An address as commands spell it: from the root on where it is a file, and without a password."""
        return without_password(address.replace(f"{self.folder}/", ""))

    def datasets(self) -> "list[Dataset]":
        """Every data set, by name."""
        names = [entry.name for entry in self.folder.iterdir() if _NAME.fullmatch(entry.name)]
        return [self.dataset(name) for name in sorted(names) if self._is_dataset(name)]

    def _is_dataset(self, name: str) -> bool:
        try:
            return self.path(name, DECLARED).is_file()
        except OutsideRootError:  # a link to elsewhere is none of ours
            return False

    def dataset(self, name: str) -> "Dataset":
        """One data set."""
        if not _NAME.fullmatch(name) or not self._is_dataset(name):
            raise NoSuchDatasetError(texts("workspace")["no_dataset"].format(name=name[:80]))
        return Dataset(root=self, name=name)

    def row_files(self) -> list[Path]:
        """Files that may hold rows, not deeper than two folders; releases and data sets are left out."""
        return [self.path(place) for place in self._walk()][:_MOST_LISTED]

    def _walk(self) -> Iterator[Path]:
        for folder, below, files in os.walk(self.folder):
            place = Path(folder)
            depth = len(place.relative_to(self.folder).parts)
            is_taken = "manifest.json" in files or (depth > 0 and DECLARED in files)
            kept = [] if is_taken or depth >= 2 else sorted(below)
            below[:] = [name for name in kept if not name.startswith(".") and name not in OWN_FOLDERS]
            for name in [] if is_taken else sorted(files):
                path = place / name
                if path.suffix.lower() in _ROW_FILES and not name.startswith(".") and self._is_inside(path):
                    yield path

    def _is_inside(self, path: Path) -> bool:
        return Path(os.path.realpath(path)).is_relative_to(self.folder)

    def address(self, words: str, folder: Path | None = None) -> str:
        """The address of data: a database elsewhere, or files that must lie below the root.

        Relative paths count from ``folder`` (the data set's) or the root. A file may carry reading options, as
        everywhere: ``study.xlsx?sheet=2019``.
        """
        words = words.strip()
        if not words:
            raise ParameterError(texts("workspace")["no_data"])
        if words.startswith(_DATABASES):
            return words
        scheme, found, rest = words.partition("://")
        if found and scheme not in DATABASE_FILES:
            raise ParameterError(texts("workspace")["scheme"].format(address=words[:80], scheme=scheme[:20]))
        path, question, options = (rest.removeprefix("/") if found else words).partition("?")
        if found and strange_sign(path) is not None:
            raise OutsideRootError(texts("workspace")["outside"].format(path=path[:80]))
        base = self.folder if folder is None else folder
        place = self.path(base, path)
        for below in (*map(Path, _files_of(place)), *_layouts(base, options)):
            self.path(below)
        return f"{f'{scheme}:///' if found else ''}{place}{question}{options}"

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What ``ROOT/studio.toml`` says: ``people`` (names, one address each) and ``approvals`` (1 or 2)."""
        place = self.path("studio.toml")
        if not place.is_file():
            return {"people": [], "approvals": 1}
        data = read_toml(place)
        people, approvals = data.get("people", []), data.get("approvals", 1)
        is_list = isinstance(people, list) and all(isinstance(name, str) and name.strip() for name in people)
        if not is_list or approvals not in (1, 2) or (approvals == 2 and len({name.strip() for name in people}) < 2):
            raise ParameterError(texts("workspace")["settings"].format(file=str(place)))
        return {"people": [name.strip() for name in people], "approvals": approvals}


def _files_of(place: Path) -> list[str]:
    """The files of a folder or a pattern: each could be a link that leads out."""
    if place.is_dir():  # parts of a table may lie in a folder of its own
        inside = [below for below in place.iterdir() if below.is_dir() and not below.is_symlink()]
        return [str(below) for folder in (place, *inside) for below in folder.iterdir()]
    return [] if place.exists() else glob.glob(str(place), recursive=True)  # noqa: PTH207 - as the sources match it


def _layouts(base: Path, options: str) -> list[Path]:
    """Files that reading options name: the layout of lines whose columns have fixed places."""
    return [base / value for name, value in parse_qsl(options) if name == "layout"]


OWN_FOLDERS = ("releases", "reports", "jobs")
"""Folders of a data set whose files are not sources of others."""


@dataclass(frozen=True)
class Dataset:
    """One folder below the root. Files have the names that follow; only ``dataset.toml`` must be there."""

    root: Root
    name: str

    @property
    def folder(self) -> Path:
        """Its folder."""
        return self.root.path(self.name)

    def path(self, *parts: str) -> Path:
        """A place in its folder."""
        place = self.root.path(self.folder, *parts)
        if not place.is_relative_to(self.folder):
            raise OutsideRootError(
                texts("workspace")["outside_folder"].format(path="/".join(parts)[:200], name=self.name)
            )
        return place

    @cached_property
    def declared(self) -> dict[str, Any]:
        """``dataset.toml``: ``title``, ``data`` (path in this folder or address), ``table``, ``holdout``."""
        declared = read_toml(self.path(DECLARED))
        if (written := declared.get("format", FORMAT)) != FORMAT:
            words = texts("workspace")["other_format"]
            raise ParameterError(words.format(file=DECLARED, name=self.name, written=repr(written), known=FORMAT))
        return declared

    def declare(self, **changes: str) -> "Dataset":
        """Write some of ``dataset.toml`` anew; empty texts are taken out."""
        wanted = {**self.declared, **changes}
        write_private(self.path(DECLARED), toml_text({key: value for key, value in wanted.items() if value}))
        return Dataset(root=self.root, name=self.name)

    @property
    def title(self) -> str:
        """What people call it; screens that tell what is wrong with its file need a title too."""
        with suppress(ParameterError):
            return str(self.declared.get("title") or self.name)
        return self.name

    @property
    def data(self) -> str:
        """The address of its rows, to hand to the facade."""
        return self.root.address(str(self.declared.get("data", "")), self.folder)

    @property
    def is_on_server(self) -> bool:
        """Whether its rows lie in a database server, out of which only counts go: nothing is drafted or reviewed."""
        return self.data.startswith(_DATABASES)

    @property
    def table(self) -> str | None:
        """The table in a database."""
        return str(self.declared.get("table") or "") or None

    @property
    def holdout(self) -> str | None:
        """Records that were kept back, for reports; None where there are none."""
        kept = self.declared.get("holdout")
        return self.root.address(str(kept), self.folder) if kept else None

    @property
    def codebook(self) -> Path:
        """The codebook; one that names files outside the root is refused before anything reads it."""
        place = self.path("codebook.toml")
        if place.is_file():
            stat = place.stat()
            _check_files_named(self, place, str(self.declared.get("data", "")), stat.st_mtime_ns, stat.st_size)
        return place

    @property
    def draft(self) -> Path:
        """The codebook as it was first drafted, to compare with."""
        return self.path("draft.toml")

    @property
    def account(self) -> Path:
        """Its privacy account."""
        return self.path(f"{self.name}.account")

    @property
    def releases(self) -> Path:
        """The folder of its releases."""
        return self.path("releases")

    @property
    def reports(self) -> Path:
        """Confidential pages about its releases."""
        return self.path("reports")

    @property
    def looks(self) -> Path:
        """What was seen in the rows, kept so that a screen need not read them again. Confidential."""
        return self.path(".looks")

    @property
    def undo(self) -> Path:
        """Earlier texts of the codebook."""
        return self.path(".undo")

    def shown(self, place: Path) -> str:
        """A place as commands on the screens spell it: from the root on."""
        return self.root.relative(place)


@lru_cache(maxsize=64)
def _check_files_named(own: Dataset, place: Path, data_words: str, _changed: int, size: int) -> None:
    """Packs and tables of a codebook may lie in files: below the root, like everything.

    Files of packs are named from the codebook on, those of linked tables from the folder of the data on.
    """
    if size > MOST_CODEBOOK:
        raise ParameterError(
            texts("workspace")["large_codebook"].format(name=own.name, size=f"{size:,}", most=f"{MOST_CODEBOOK:,}")
        )
    try:
        data = tomllib.loads(place.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError):
        return  # whoever reads it tells what is wrong with it
    packs, tables = data.get("packs"), data.get("tables")
    named = [entry.get("file") for entry in packs if isinstance(entry, dict)] if isinstance(packs, list) else []
    named += (
        [table.get("data") for table in tables.values() if isinstance(table, dict)] if isinstance(tables, dict) else []
    )
    bases = {own.folder, Path(os.path.normpath(own.folder / data_words.partition("?")[0]))}
    for name in named:
        if isinstance(name, str):
            for base in bases:
                own.root.path(base, name)


def new_dataset(root: Root, name: str, **declared: str) -> Dataset:
    """Make the folder of a data set."""
    if not _NAME.fullmatch(name):
        raise FieldError("name", texts("workspace")["bad_name"].format(name=name[:80]))
    folder = root.path(name)
    if (folder / DECLARED).exists():
        raise FieldError("name", texts("workspace")["taken"].format(name=name))
    try:
        private_folder(folder)
        write_private(
            folder / DECLARED, toml_text({"format": FORMAT} | {key: value for key, value in declared.items() if value})
        )
    except OSError as reason:
        raise ParameterError(texts("workspace")["unwritable"].format(name=name, why=reason.strerror)) from None
    return root.dataset(name)


def without_password(address: str) -> str:
    """An address as it may be shown.

    >>> without_password("postgresql://anna:secret@db.example/stays")
    'postgresql://anna:***@db.example/stays'
    """
    return re.sub(r"(://[^:/@]+):[^@/]*@", r"\1:***@", address)


def read_toml(place: Path) -> dict[str, Any]:
    """A small file of ours; whoever broke it is told where."""
    try:
        refuse_special(place, follow=True)  # a pipe would be waited for
        return tomllib.loads(place.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as reason:
        raise ParameterError(texts("workspace")["unreadable"].format(file=str(place), why=reason)) from None


def toml_text(values: dict[str, Any]) -> str:
    """A small table as TOML."""
    import tomlkit

    return tomlkit.dumps(values)


def private_folder(place: Path) -> Path:
    """A folder that only its owner may enter."""
    return make_folders(place)


def write_private(place: Path, content: str | bytes) -> None:
    """The whole file or what was there before; only its owner may read it."""
    write_file(place, content, Access.OWNER)


def file_of(address: str) -> str:
    """The path in the address of a file or of a database that is one; an address of a server as it is.

    >>> file_of("/a/b.csv?sheet=2"), file_of("sqlite:////a/b.db?table=t"), file_of("spark://host:7077?table=t")
    ('/a/b.csv', '//a/b.db', 'spark://host:7077')
    """
    bare = address.partition("?")[0]
    scheme, found, rest = bare.partition("://")
    return rest if found and scheme in DATABASE_FILES else bare
