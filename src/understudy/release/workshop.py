"""A release in many parts while it is being made: a folder beside the target that survives a crash.

``NAME.unfinished/`` holds ``plan.json`` (what is being made, and which charge pays for it), the parts with one receipt
each, and for route N the released model. A part counts only with its receipt, which is written after the part is safely
on disk; anything else is destroyed unseen when work goes on. The release takes its name in one step, after its charge.
"""

import fcntl
import json
import os
import re
import shutil
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from understudy.codebook import Codebook
from understudy.errors import ReleaseError
from understudy.release.release import CODEBOOK, MANIFEST, digest_of, refuse_existing, sync, uninterrupted

__all__ = ["PARTS", "PART_NAME", "Receipt", "Workshop", "part_name", "write_receipt"]

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
    scratch.write_text(json.dumps(asdict(receipt)), encoding="utf-8")
    sync(scratch)
    scratch.rename(folder / f"{receipt.name}.json")


class Workshop:
    """The unfinished folder of one release; open it with ``with``, which keeps other runs out."""

    def __init__(self, target: Path, terms: Mapping[str, Any]) -> None:
        self.target = target
        self.folder = target.with_name(target.name + ".unfinished")
        self._terms = json.loads(json.dumps(terms))
        self._lock: int | None = None
        self.plan: dict[str, Any] = {}

    @property
    def parts_folder(self) -> Path:
        """Where parts are written, on a file system that every worker sees."""
        return self.folder / "release" / PARTS

    @property
    def receipts_folder(self) -> Path:
        """Where the receipts lie."""
        return self.folder / "receipts"

    @property
    def model_path(self) -> Path:
        """The released model of route N: drawing twice from one model is free, perturbing twice is not."""
        return self.folder / "model.zip"

    @property
    def release_id(self) -> str:
        """The name under which the charge is held."""
        return str(self.plan["release"])

    def __enter__(self) -> Self:
        refuse_existing(self.target)
        try:
            for folder in (self.folder, self.folder / "release", self.parts_folder, self.receipts_folder):
                folder.mkdir(mode=0o700, exist_ok=True)
            self._lock = os.open(self.folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as reason:
            raise ReleaseError(
                f"nothing can be written beside {str(self.target)!r} ({reason.strerror}); choose a folder you may "
                "write to."
            ) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._unlock()
            raise ReleaseError(
                f"another run is at work in {str(self.folder)!r}; wait for it, or choose another folder."
            ) from None
        try:
            self._begin()
        except OSError as reason:
            self._unlock()
            raise ReleaseError(f"nothing can be written in {str(self.folder)!r} ({reason.strerror}).") from None
        except BaseException:
            self._unlock()
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

    @property
    def is_resumed(self) -> bool:
        """Whether an earlier run got as far as a charge or a part."""
        return "charge" in self.plan or self.model_path.exists() or bool(self.receipts())

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
        found: dict[int, Receipt] = {}
        for path in sorted(self.receipts_folder.glob("part-*.json")):
            try:
                facts = json.loads(path.read_text(encoding="utf-8"))
                receipt = Receipt(**{**facts, "warnings": tuple(facts["warnings"])})
            except (OSError, ValueError, TypeError, KeyError):
                continue
            if receipt.number not in found and (self.parts_folder / receipt.name).is_file():
                found[receipt.number] = receipt
        return found

    def destroy_strays(self, *, check: bool = False) -> dict[int, Receipt]:
        """Whole parts; every other file in the folder of parts is destroyed unseen.

        With ``check`` a part whose bytes are not those of its receipt any more is destroyed too.
        """
        kept = self.receipts()
        if check:
            kept = {n: one for n, one in kept.items() if digest_of(self.parts_folder / one.name) == one.digest}
        names = {receipt.name for receipt in kept.values()}
        for path in self.parts_folder.iterdir():
            if path.name not in names:
                path.unlink()
        for path in self.receipts_folder.iterdir():
            if path.name.removesuffix(".json") not in names:
                path.unlink()
        return kept

    def finish(
        self, book: Codebook, describe: Callable[[Mapping[str, str]], Mapping[str, Any]], before: Callable[[], None]
    ) -> Path:
        """Codebook, manifest, charge, name: in this order, so that no release appears unpaid or in part."""
        done = self.destroy_strays()
        inside = self.folder / "release"
        (inside / CODEBOOK).write_text(book.to_toml(), encoding="utf-8", newline="\n")
        files = {f"{PARTS}/{receipt.name}": receipt.digest for receipt in done.values()}
        files = {CODEBOOK: digest_of(inside / CODEBOOK), **dict(sorted(files.items()))}
        text = json.dumps(describe(files), indent=2, ensure_ascii=False)
        (inside / MANIFEST).write_text(text + "\n", encoding="utf-8", newline="\n")
        for path in (inside / CODEBOOK, inside / MANIFEST, self.parts_folder, inside):
            sync(path)
        self.parts_folder.chmod(0o755)
        inside.chmod(0o755)
        with uninterrupted():
            refuse_existing(self.target)
            before()
            inside.rename(self.target)
            sync(self.target.absolute().parent)
        self.abandon()
        return self.target

    def abandon(self) -> None:
        """Destroy everything unseen. What was charged stays charged."""
        shutil.rmtree(self.folder, ignore_errors=True)
