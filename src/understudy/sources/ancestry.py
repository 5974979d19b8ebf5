"""Whether a table is itself a release, so that what is made from it never promises more than is true.

An anonymised, synthetic or completed table carries a mark in its Parquet schema (and in the ``attrs`` of a pandas frame
made from it) and lies beside its manifest. Whatever is drawn from it says in its ledger what that did to the promise:
one person can have changed many of its rows, so a price per row of it is no price per person.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from understudy.errors import DataError
from understudy.privacy.ledger import Entry

__all__ = ["MARK", "Ancestor", "Made", "find_ancestor", "mark", "marked", "refuse_anonymized"]

MARK = b"understudy.anonymized"
_KIND = b"understudy.kind"
_MANIFEST = "manifest.json"


class Made(StrEnum):
    """What the rows of a release are."""

    ANONYMIZED = "anonymized"
    SYNTHETIC = "synthetic"
    COMPLETED = "completed"
    RECONSTRUCTED = "reconstructed"


_WHY = {
    Made.ANONYMIZED: "the rows were drawn from a table that was anonymised by looking at the confidential records, "
    "where one person can change the rows of many: what the draw promises holds for the rows of that "
    "table and not for the people behind them, and its k-anonymity is not inherited",
    Made.SYNTHETIC: "the rows were drawn from a table that is synthetic already, where one person can change the rows "
    "of many: people are protected by what that release states, whatever is drawn from it, and not by this price",
    Made.COMPLETED: "the rows were drawn from a table whose missing values were filled in from all confidential "
    "records, where one person can change the rows of many: what the draw promises holds for the rows of that table "
    "and not for the people behind them",
    Made.RECONSTRUCTED: "the rows were drawn from a table whose values were rebuilt from group averages, where one "
    "person can change the rows of many: what the draw promises holds for the rows of that table and for no person",
}


@dataclass(frozen=True, kw_only=True)
class Ancestor:
    """A release that a table came from."""

    release: str
    made: Made = Made.ANONYMIZED
    record_wise: bool
    """Whether every step was a public rule applied to each record by itself."""
    text: str = ""
    """Its manifest, word for word; empty where only the mark in the table was found."""
    k: int | None = None

    @property
    def called(self) -> str:
        """What it is, for a sentence."""
        kind = "anonymised" if self.made is Made.ANONYMIZED else self.made.value
        return f"the {kind} release {self.release}"

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What the ledger must say: nothing if records were recoded one by one, else that the price falls short."""
        if self.record_wise:
            return ()
        return (
            Entry.unpriced(
                stage="input",
                reads=f"the table of {self.called}" + ("" if self.k is None else f" ({self.k}-anonymous)"),
                why=_WHY[self.made],
            ),
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know where the promise does carry over."""
        if not self.record_wise:
            return ()
        return (
            f"the input is the anonymised release {self.release}: every record was recoded by itself by public "
            "rules, so that what is promised here holds for the records behind it too; k-anonymity is not inherited.",
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for a manifest."""
        digest = "sha256:" + hashlib.sha256(self.text.encode()).hexdigest() if self.text else None
        said = {"release": self.release, "record_wise": self.record_wise, "k": self.k, "manifest_digest": digest}
        return said if self.made is Made.ANONYMIZED else {**said, "made": self.made.value}


def mark(*, release: str, record_wise: bool, made: Made = Made.ANONYMIZED) -> dict[bytes, bytes]:
    """Schema metadata that the table of a release carries wherever it is copied."""
    more = {} if made is Made.ANONYMIZED else {"made": made.value}
    return {MARK: json.dumps({"release": release, "record_wise": record_wise, **more}).encode()}


def marked(frame: Any, metadata: Mapping[bytes, bytes] | None) -> Any:
    """A pandas frame with the mark of the table it was made from; many, not all, of its operations keep it."""
    if metadata and MARK in metadata:
        frame.attrs[MARK.decode()] = metadata[MARK].decode()
    return frame


def find_ancestor(what: Any) -> Ancestor | None:
    """The release behind a file, an Arrow table or a pandas frame; reads no row, but checks the digest of a file."""
    if isinstance(what, str | Path):
        path = Path(what)
        try:
            is_file = path.is_file()
        except (OSError, ValueError):
            is_file = False
        if is_file:
            return _of_file(path)
        matched = sorted(glob(str(what))) if has_magic(str(what)) and "://" not in str(what) else []  # noqa: PTH207
        found = [_of_file(Path(name)) for name in matched if Path(name).is_file()]
        known = [ancestor for ancestor in found if ancestor is not None]
        return min(known, key=lambda ancestor: ancestor.record_wise, default=None)  # the one that promises least
    import pyarrow as pa

    if isinstance(what, pa.Table | pa.RecordBatch):
        return _of_metadata(what.schema.metadata)
    kept = getattr(what, "attrs", None)
    said = kept.get(MARK.decode()) if isinstance(kept, dict) else None
    return None if said is None else _of_metadata({MARK: str(said).encode()})


def refuse_anonymized(what: Any, doing: str) -> None:
    """Refuse a table made by looking at all records, where the promise of ``doing`` could not say so."""
    found = find_ancestor(what)
    if found is not None and not found.record_wise:
        raise DataError(
            f"the table is {found.called}, in which one person can change the rows of many, so "
            f"that {doing} could promise nothing to the people behind it. Use the confidential table itself."
        )


def _of_file(path: Path) -> Ancestor | None:
    beside = path.parent / _MANIFEST
    name = path.name
    if not beside.is_file() and path.parent.name == "synthetic":  # a part of a large release
        beside, name = path.parent.parent / _MANIFEST, f"{path.parent.name}/{path.name}"
    try:
        text = beside.read_text(encoding="utf-8") if beside.is_file() else ""
        manifest = json.loads(text) if text else {}
    except (OSError, ValueError):
        text, manifest = "", {}
    listed = manifest.get("files") if isinstance(manifest, dict) else None
    if isinstance(listed, dict) and name in listed:
        with path.open("rb") as data:
            digest = "sha256:" + hashlib.file_digest(data, "sha256").hexdigest()
        if digest != listed[name]:
            raise DataError(
                f"{str(path)!r} was changed after its release: its digest is not the one in its manifest, so that "
                "nobody knows what it promises. Take the file as it was released."
            )
        return _of_manifest(manifest, text)
    if path.suffix.lower() in (".parquet", ".pq"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return _of_metadata(pq.read_schema(path).metadata)
        except (pa.ArrowException, OSError):
            return None  # whoever reads the rows will say what is wrong with the file
    return None


def _of_manifest(manifest: Mapping[str, Any], text: str) -> Ancestor:
    anonymity = manifest.get("anonymity")
    if not isinstance(anonymity, dict):
        release = str(manifest.get("release"))
        if manifest.get("confidential"):  # its manifest states the number of records, so it stays at home
            return Ancestor(release=release, made=Made.COMPLETED, record_wise=False)
        return Ancestor(release=release, made=Made.SYNTHETIC, record_wise=False, text=text)
    measured = anonymity.get("measured", {})
    return Ancestor(
        release=str(manifest.get("release")),
        record_wise=anonymity.get("record_wise") is True,
        text=text,
        k=measured.get("k") if isinstance(measured, dict) else None,
    )


def _of_metadata(metadata: Mapping[bytes, bytes] | None) -> Ancestor | None:
    if metadata and metadata.get(_KIND) == Made.RECONSTRUCTED.value.encode():
        return Ancestor(release="of `understudy reconstruct`", made=Made.RECONSTRUCTED, record_wise=False)
    if not metadata or MARK not in metadata:
        return None
    try:
        said = json.loads(metadata[MARK])
        made = Made(said.get("made", Made.ANONYMIZED))
        return Ancestor(release=str(said["release"]), made=made, record_wise=said["record_wise"] is True)
    except (ValueError, KeyError, TypeError):
        return Ancestor(release="unknown", record_wise=False)
