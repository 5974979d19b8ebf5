"""A release in many parts while it is being made: a folder beside the target that survives a crash.

A part of one table is a file in ``synthetic/``. A part of linked tables is a file of the same name in the folder of
each of them, with people who are in no other part.

``NAME.unfinished/`` holds ``plan.json`` (what is being made, and which charge pays for it), the parts with one receipt
each, and for route N the released model. A part counts only with its receipt, which is written after the part is safely
on disk; anything else is deleted unseen when work continues. The release takes its name in one step, after its charge.

The charge belongs to this folder alone: its claim is made from a random token and from the place of the folder on its
disk, so that a copy of it cannot draw other rows for the same price.
"""

import fcntl
import hashlib
import json
import os
import re
import secrets
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet

from understudy.codebook import Codebook
from understudy.codec import from_plain, to_plain
from understudy.errors import ReleaseError
from understudy.files import Access, make_folder, open_lock, refuse_special_in, remove_folder, settle, write_file
from understudy.loading import loading
from understudy.privacy.transaction import Claim
from understudy.release.closing import close_folder
from understudy.release.face import ShownTable
from understudy.release.folders import Commit, appear, digest_of, refuse_existing
from understudy.release.linked import shown_linked
from understudy.release.manifest import Manifest
from understudy.release.release import CODEBOOK, MANIFEST, marked

PARTS = "synthetic"
"""Folder of the parts of one table inside a release."""
_PART = re.compile(r"part-[0-9]{5,}-[0-9a-f]{32}\.parquet")
FORMAT = 1
_REMEMBERED: Mapping[str, Any] = {
    "files": str,
    "parents": Mapping[str, Sequence[str]],
    "people": Sequence[int],
    "shares": Sequence[Sequence[int]],
}
"""What recipes write into a plan and read back, each in its shape: :meth:`Workshop.remember`."""


def part_names(files: Iterable[str], folders: Sequence[str] = (PARTS,)) -> list[str]:
    """Those of the files of a release that are parts, in folders of these names.

    >>> name = f"synthetic/part-00000-{'0' * 32}.parquet"
    >>> part_names([name, "codebook.toml"]) == [name], part_names([name], ["stays"])
    (True, [])
    """
    return [
        name
        for name in files
        if name.count("/") == 1 and name.partition("/")[0] in folders and _PART.fullmatch(name.partition("/")[2])
    ]


@dataclass(frozen=True, kw_only=True)
class PartFile:
    """The file of another table that belongs to a part."""

    table: str
    rows: int
    digest: str


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """A part that is whole: written, synchronised, and from here on unchanged."""

    number: int
    name: str
    rows: int
    digest: str
    warnings: tuple[str, ...] = ()
    others: tuple[PartFile, ...] = ()
    """Linked tables below the persons, each with a file of the same name in its own folder."""


def part_name(number: int) -> str:
    """A name that no other attempt at the same part has: a worker that was given up may still be writing."""
    return f"part-{number:05d}-{uuid.uuid4().hex}.parquet"


def write_receipt(folder: Path, receipt: Receipt) -> None:
    """All or nothing."""
    write_file(folder / f"{receipt.name}.json", json.dumps(to_plain(receipt)), Access.OWNER)


class Workshop:
    """The unfinished folder of one release; open it with ``with``, which keeps other runs out."""

    def __init__(self, target: Path, terms: Mapping[str, Any], *, tables: Sequence[str] = (PARTS,)) -> None:
        self.target = target
        self.folder = target.with_name(target.name + ".unfinished")
        self._content = self.folder / "release"
        """What will be the release."""
        self._folders = [self._content / name for name in tables]
        self.parts_folder = self._folders[0]
        """Where parts are written, on a file system that every worker sees; those of other tables beside it."""
        self.receipts_folder = self.folder / "receipts"
        self.counts_folder = self.folder / "counts"
        """How far a long count is. Confidential; it goes when a released model is there, or with the folder."""
        self.model_path = self.folder / "model.zip"
        """The released model of route N: drawing twice from one model is free, perturbing twice is not."""
        self._terms = json.loads(json.dumps(terms))
        self._lock: int | None = None
        self.plan: dict[str, Any] = {}

    @property
    def release_id(self) -> str:
        """The name under which the charge is held."""
        return str(self.plan["release"])

    def __enter__(self) -> Self:
        refuse_existing(self.target)
        try:
            for folder in (self.folder, self._content, *self._folders, self.receipts_folder):
                make_folder(folder, exist_ok=True)
            self._lock = open_lock(self.folder / "lock")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._begin()
        except BaseException as reason:
            self._unlock()
            if isinstance(reason, BlockingIOError):
                raise ReleaseError(
                    f"another run is at work in {str(self.folder)!r}; wait for it, or choose another folder."
                ) from None
            if isinstance(reason, OSError):
                raise ReleaseError(
                    f"nothing can be written beside {str(self.target)!r} ({reason.strerror}); choose a folder you may "
                    "write to."
                ) from None
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _begin(self) -> None:
        path = self.folder / "plan.json"
        if not path.exists():
            self._refuse_leftovers()
            self.plan = {"format": FORMAT, "release": str(uuid.uuid4()), "terms": self._terms}
            self.remember()
            return
        with loading(
            path, "the plan", remedy="remove the folder: what it was charged stays charged.", error=ReleaseError
        ):
            refuse_special_in(self.folder)
            self.plan = json.loads(path.read_text(encoding="utf-8"))
            theirs = dict(self.plan["terms"])
            if not all(isinstance(name, str) for name in (*theirs, self.plan["release"])):
                raise ValueError("it names no release")
            for name, shape in _REMEMBERED.items():
                if self.plan.get(name) is not None:
                    from_plain(shape, self.plan[name])
        differs = sorted(name for name in {*theirs, *self._terms} if theirs.get(name) != self._terms.get(name))
        if differs or self.plan.get("format") != FORMAT:
            raise ReleaseError(
                f"{str(self.folder)!r} holds an unfinished release with another {', '.join(differs) or 'format'}. Give "
                "the same options to go on with it, or remove the folder to give it up: what it was charged stays "
                "charged."
            )

    def _refuse_leftovers(self) -> None:
        """Rows and tables without a plan may be worth another price, of other data, than what is asked for now."""
        made = (path for path in self.folder.rglob("*") if path.is_file() and path.name[0] != ".")
        if any(path.name != "lock" for path in made):
            raise ReleaseError(
                f"{str(self.folder)!r} holds parts of a release whose plan.json is gone, so that nobody knows what "
                "they cost. Put the file back, or remove the folder to give the release up: what it was charged stays "
                "charged."
            )

    def claim(self) -> Claim:
        """Who may go on with the charge of this folder; a fresh token is written down before it is used."""
        assert self._lock is not None
        place = os.fstat(self._lock)  # a copied folder has another lock file

        def made(token: str) -> str:
            return hashlib.sha256(f"{token} {place.st_dev} {place.st_ino}".encode()).hexdigest()

        # the account may know the newest token or, if a run died just before telling it, the one before
        held = tuple(str(self.plan[name]) for name in ("token", "token_before") if self.plan.get(name))
        fresh = secrets.token_hex(16)
        self.remember(token=fresh, token_before=self.plan.get("token"))
        return Claim(held=tuple(map(made, held)), fresh=made(fresh))

    @property
    def is_resumed(self) -> bool:
        """Whether an earlier run got as far as a charge or a part."""
        return self.plan.get("charge") is not None or self.model_path.exists() or bool(self.receipts())

    @property
    def has_counts(self) -> bool:
        """Whether a count that was stopped can go on."""
        return self.counts_folder.is_dir() and any(self.counts_folder.iterdir())

    def forget_counts(self) -> None:
        """Exact counts are kept no longer than they are needed."""
        if self.counts_folder.is_dir():
            remove_folder(self.counts_folder)

    def remember(self, **facts: Any) -> None:
        """Write more facts into the plan, safely."""
        self.plan.update(facts)
        write_file(self.folder / "plan.json", json.dumps(self.plan, indent=2), Access.OWNER)

    def receipts(self) -> dict[int, Receipt]:
        """One whole part per number; where two attempts finished, the first by name."""
        receipts: dict[int, Receipt] = {}
        for path in sorted(self.receipts_folder.glob("part-*.json")):
            try:
                receipt = from_plain(Receipt, json.loads(path.read_text(encoding="utf-8")))
            except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
                continue
            if receipt.number not in receipts and all(path.is_file() for path in self._digests(receipt)):
                receipts[receipt.number] = receipt
        return receipts

    def _digests(self, receipt: Receipt) -> dict[Path, str]:
        """Every file of a part with the digest that it had when it was whole."""
        others = {self._content / one.table / receipt.name: one.digest for one in receipt.others}
        return {self.parts_folder / receipt.name: receipt.digest, **others}

    def rows_by_table(self) -> dict[str, int]:
        """How many rows all whole parts have together."""
        rows = dict.fromkeys((folder.name for folder in self._folders), 0)
        for receipt in self.receipts().values():
            rows[self.parts_folder.name] += receipt.rows
            for one in receipt.others:
                rows[one.table] += one.rows
        return rows

    def destroy_strays(self, *, check: bool = False) -> dict[int, Receipt]:
        """Whole parts; every other file in the folder of parts is destroyed unseen.

        With ``check`` a part whose bytes are not those of its receipt any more is destroyed too.
        """
        kept = self.receipts()
        if check:
            kept = {
                number: receipt
                for number, receipt in kept.items()
                if all(digest_of(path) == digest for path, digest in self._digests(receipt).items())
            }
        names = {receipt.name for receipt in kept.values()}
        for path in (path for folder in self._folders for path in folder.iterdir()):
            if path.name not in names:
                path.unlink()
        for path in self.receipts_folder.iterdir():
            if path.name.removesuffix(".json") not in names:
                path.unlink()
        return kept

    def warnings(self) -> tuple[str, ...]:
        """What was said of the parts, each sentence once."""
        warnings = (text for _, receipt in sorted(self.receipts().items()) for text in receipt.warnings)
        return tuple(dict.fromkeys(warnings))

    def finish(
        self, manifest: Manifest, commit: Commit | None, attachments: Mapping[str, pa.Table] | None = None
    ) -> Path:
        """Codebook, manifest, charge, name: in this order, so that no release appears unpaid or in part."""
        done = self.destroy_strays()
        also = {name: self._content / name for name in attachments or {}}
        for name, table in (attachments or {}).items():
            pyarrow.parquet.write_table(marked(table, manifest), also[name])
        write_file(self._content / CODEBOOK, manifest.codebook.to_toml())
        parts = {path: digest for _, receipt in sorted(done.items()) for path, digest in self._digests(receipt).items()}
        files = {path.relative_to(self._content).as_posix(): digest for path, digest in parts.items()}
        files = {name: digest_of(path) for name, path in also.items()} | files
        files = {CODEBOOK: digest_of(self._content / CODEBOOK), **dict(sorted(files.items()))}
        book = manifest.codebook
        if isinstance(book, Codebook):
            shown = [ShownTable(title=PARTS, files=tuple(parts), book=book)]
        else:
            shown = shown_linked(self._content, book, files)
        close_folder(self._content / MANIFEST, manifest, files, shown)
        return self._publish(commit)

    def finished(self, bought: str | None) -> Path:
        """Give its name to what was committed just before the last run died: exactly those bytes, or nothing."""
        if bought is None or not (self._content / MANIFEST).is_file() or digest_of(self._content / MANIFEST) != bought:
            raise ReleaseError(
                f"the charge of {str(self.folder)!r} has bought a release already, and these are other files; one "
                "charge buys one set of bytes. Take the release where it was written, or remove this folder and begin "
                "anew, which is charged."
            )
        files = json.loads((self._content / MANIFEST).read_text(encoding="utf-8"))["files"]
        if changed := [name for name in files if digest_of(self._content / name) != files[name]]:
            raise ReleaseError(
                f"{changed[0]} in {str(self._content)!r} is not the file that was paid for; its bytes were changed. "
                "Remove the folder and begin anew, which is charged."
            )
        return self._publish(None)

    def _publish(self, commit: Commit | None) -> Path:
        settle(self._content, Access.EVERYBODY)
        appear(self._content, self.target, digest=digest_of(self._content / MANIFEST), commit=commit)
        self.abandon()
        return self.target

    def abandon(self) -> None:
        """Destroy everything unseen. What was charged stays charged."""
        remove_folder(self.folder)
