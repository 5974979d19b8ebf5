"""A release in many parts while it is being made: a folder beside the target that survives a crash.

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
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet

from understudy.codebook import Codebook
from understudy.codec import from_plain, to_plain
from understudy.errors import ReleaseError
from understudy.privacy.transaction import Claim
from understudy.release.closing import close_folder
from understudy.release.face import FACE, ShownTable
from understudy.release.folders import Commit, appear, digest_of, refuse_existing, sync
from understudy.release.manifest import Manifest
from understudy.release.release import CODEBOOK, MANIFEST, marked

PARTS = "synthetic"
"""Folder of the parts inside a release."""
PART_NAME = re.compile(PARTS + r"/part-[0-9]{5,}-[0-9a-f]{32}\.parquet")
FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """A part that is whole: written, synchronised, and from here on unchanged."""

    number: int
    name: str
    rows: int
    digest: str
    warnings: tuple[str, ...] = ()


def part_name(number: int) -> str:
    """A name that no other attempt at the same part has: a worker that was given up may still be writing."""
    return f"part-{number:05d}-{uuid.uuid4().hex}.parquet"


def write_receipt(folder: Path, receipt: Receipt) -> None:
    """All or nothing."""
    scratch = folder / f".{receipt.name}.json"
    scratch.write_text(json.dumps(to_plain(receipt)), encoding="utf-8")
    sync(scratch)
    scratch.rename(folder / f"{receipt.name}.json")


class Workshop:
    """The unfinished folder of one release; open it with ``with``, which keeps other runs out."""

    def __init__(self, target: Path, terms: Mapping[str, Any]) -> None:
        self.target = target
        self.folder = target.with_name(target.name + ".unfinished")
        self._content = self.folder / "release"
        """What will be the release."""
        self.parts_folder = self._content / PARTS
        """Where parts are written, on a file system that every worker sees."""
        self.receipts_folder = self.folder / "receipts"
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
            for folder in (self.folder, self._content, self.parts_folder, self.receipts_folder):
                folder.mkdir(mode=0o700, exist_ok=True)
            self._lock = os.open(self.folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)
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
            self.plan = {"format": FORMAT, "release": str(uuid.uuid4()), "terms": self._terms}
            self.remember()
            return
        try:
            self.plan = json.loads(path.read_text(encoding="utf-8"))
            theirs = dict(self.plan["terms"])
        except (OSError, ValueError, KeyError, TypeError) as reason:
            raise ReleaseError(
                f"the plan in {str(self.folder)!r} cannot be read ({reason}); remove the folder."
            ) from None
        differs = sorted(name for name in {*theirs, *self._terms} if theirs.get(name) != self._terms.get(name))
        if differs or self.plan.get("format") != FORMAT:
            raise ReleaseError(
                f"{str(self.folder)!r} holds an unfinished release with another {', '.join(differs) or 'format'}. Give "
                "the same options to go on with it, or remove the folder to give it up: what it was charged stays "
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

    def remember(self, **facts: Any) -> None:
        """Write more facts into the plan, safely."""
        self.plan.update(facts)
        scratch = self.folder / ".plan.json"
        scratch.write_text(json.dumps(self.plan, indent=2), encoding="utf-8")
        sync(scratch)
        scratch.rename(self.folder / "plan.json")
        sync(self.folder)

    def receipts(self) -> dict[int, Receipt]:
        """One whole part per number; where two attempts finished, the first by name."""
        receipts: dict[int, Receipt] = {}
        for path in sorted(self.receipts_folder.glob("part-*.json")):
            try:
                receipt = from_plain(Receipt, json.loads(path.read_text(encoding="utf-8")))
            except (OSError, ValueError, TypeError, KeyError):
                continue
            if receipt.number not in receipts and (self.parts_folder / receipt.name).is_file():
                receipts[receipt.number] = receipt
        return receipts

    def destroy_strays(self, *, check: bool = False) -> dict[int, Receipt]:
        """Whole parts; every other file in the folder of parts is destroyed unseen.

        With ``check`` a part whose bytes are not those of its receipt any more is destroyed too.
        """
        kept = self.receipts()
        if check:
            kept = {
                number: receipt
                for number, receipt in kept.items()
                if digest_of(self.parts_folder / receipt.name) == receipt.digest
            }
        names = {receipt.name for receipt in kept.values()}
        for path in self.parts_folder.iterdir():
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
        (self._content / CODEBOOK).write_text(manifest.codebook.to_toml(), encoding="utf-8", newline="\n")
        files = {f"{PARTS}/{receipt.name}": receipt.digest for receipt in done.values()}
        files = {name: digest_of(path) for name, path in also.items()} | files
        files = {CODEBOOK: digest_of(self._content / CODEBOOK), **dict(sorted(files.items()))}
        parts = tuple(self.parts_folder / receipt.name for _, receipt in sorted(done.items()))
        assert isinstance(manifest.codebook, Codebook)  # linked tables are not written in parts
        shown = ShownTable(title=PARTS, files=parts, book=manifest.codebook)
        close_folder(self._content / MANIFEST, manifest, files, [shown])
        for path in (
            *also.values(),
            self._content / CODEBOOK,
            self._content / FACE,
            self._content / MANIFEST,
            self.parts_folder,
            self._content,
        ):
            sync(path)
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
        self.parts_folder.chmod(0o755)
        self._content.chmod(0o755)
        appear(self._content, self.target, digest=digest_of(self._content / MANIFEST), commit=commit)
        self.abandon()
        return self.target

    def abandon(self) -> None:
        """Destroy everything unseen. What was charged stays charged."""
        shutil.rmtree(self.folder, ignore_errors=True)
