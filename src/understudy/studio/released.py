"""The releases of a data set, as their folders tell."""

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from understudy.errors import ParameterError
from understudy.files import refuse_special
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset

MANIFEST, FACE, SIGNATURE = "manifest.json", "index.html", "signature.json"


@dataclass(frozen=True, kw_only=True)
class Released:
    """One folder below ``releases``."""

    own: Dataset
    name: str

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self.own.path("releases", self.name)

    def file(self, name: str) -> Path:
        """One of its files; a link that leads out of the folder of the data set is refused."""
        return self.own.path("releases", self.name, name)

    @property
    def manifest(self) -> dict[str, Any]:
        """What it states; empty where that cannot be read."""
        place = self.file(MANIFEST)
        try:
            refuse_special(place, follow=True)  # a pipe would be waited for
            stated = json.loads(place.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return stated if isinstance(stated, dict) else {}

    @property
    def digest(self) -> str:
        """Of its manifest, which speaks for everything in it."""
        return "sha256:" + hashlib.sha256(self.file(MANIFEST).read_bytes()).hexdigest()

    @property
    def content(self) -> str:
        """A digest of every file that people look at: all but those that passport and signature add to them.

        A file is read again only where it has changed.
        """
        from understudy.facade.passports import written_beside

        added = written_beside(self.folder)
        names = sorted(str(place.relative_to(self.folder)) for place in self.folder.rglob("*") if place.is_file())
        digests = []
        for name in names:
            with suppress(FileNotFoundError):  # of a file that was being written and has its name now
                if name not in added:
                    digests.append((name, _digest_of(self.file(name))))
        return "sha256:" + hashlib.sha256(json.dumps(digests).encode()).hexdigest()

    @property
    def stamp(self) -> str:
        """Of its files as they are now, without reading them."""
        return stamp_of(self.folder)

    @property
    def report(self) -> Path:
        """The confidential page about it, made or not."""
        return self.own.path("reports", f"{self.name}.html")

    @property
    def is_signed(self) -> bool:
        """Whether a signature lies beside the manifest."""
        return (self.folder / SIGNATURE).is_file()

    @property
    def is_anonymised(self) -> bool:
        """Whether it holds records of real people, made coarser."""
        return "anonymity" in self.manifest and bool(self.manifest["anonymity"])


def _digest_of(place: Path) -> str:
    stat = place.stat()
    return _read_digest(place, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)


@lru_cache(maxsize=4096)
def _read_digest(place: Path, *_facts: int) -> str:
    with place.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stamp_of(folder: Path) -> str:
    """A digest of names, sizes and times of all files below a folder."""
    files = []
    for place in sorted(folder.rglob("*")):
        with suppress(FileNotFoundError):
            if place.is_file():
                files.append((place, place.stat()))
    facts = [
        (str(place.relative_to(folder)), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)
        for place, stat in files
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def all_releases(own: Dataset) -> list[Released]:
    """The newest first: numbers by size, then other names."""
    if not own.releases.is_dir():
        return []
    found = [
        Released(own=own, name=place.name)
        for place in own.releases.iterdir()
        if (place / MANIFEST).is_file() and not place.name.startswith(".") and not place.is_symlink()
    ]
    return sorted(found, key=lambda one: (_is_number(one.name), _number_of(one.name), one.name))[::-1]


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()


def _number_of(name: str) -> int:
    return int(name) if _is_number(name) else 0


def find_release(own: Dataset, name: str) -> Released:
    """The release of this name."""
    found = next((one for one in all_releases(own) if one.name == name), None)
    if found is None:
        raise ParameterError(texts("publish")["no_release"].format(name=name[:60]))
    return found


def next_name(own: Dataset) -> str:
    """The next number; folders of jobs that never finished are passed over too."""
    used = [_number_of(place.name) for place in own.releases.iterdir()] if own.releases.is_dir() else []
    return str(max(used, default=0) + 1)
