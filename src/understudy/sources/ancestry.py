"""Whether a table is itself an anonymised release, so that what is made from it never promises more than is true.

An anonymised table carries a mark in its Parquet schema and lies beside its manifest. Whatever is drawn from it keeps
that manifest, and an entry in its ledger says what the anonymisation did to the promise.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from understudy.errors import DataError
from understudy.privacy.ledger import Entry

__all__ = ["MARK", "Ancestor", "find_ancestor", "mark", "refuse_anonymized"]

MARK = b"understudy.anonymized"
_MANIFEST = "manifest.json"


@dataclass(frozen=True, kw_only=True)
class Ancestor:
    """An anonymised release that a table came from."""

    release: str
    record_wise: bool
    """Whether every step was a public rule applied to each record by itself."""
    text: str = ""
    """Its manifest, word for word; empty where only the mark in the table was found."""
    k: int | None = None

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What the ledger must say: nothing if records were recoded one by one, else that the price falls short."""
        if self.record_wise:
            return ()
        return (
            Entry.unpriced(
                stage="input",
                reads=f"the anonymised table of release {self.release}"
                + ("" if self.k is None else f" ({self.k}-anonymous)"),
                why="the rows were drawn from a table that was anonymised by looking at the confidential records, "
                "where one person can change the rows of many: what the draw promises holds for the rows of that "
                "table and not for the people behind them, and its k-anonymity is not inherited",
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
        return {"release": self.release, "record_wise": self.record_wise, "k": self.k, "manifest_digest": digest}


def mark(*, release: str, record_wise: bool) -> dict[bytes, bytes]:
    """Schema metadata that an anonymised table carries wherever it is copied."""
    return {MARK: json.dumps({"release": release, "record_wise": record_wise}).encode()}


def find_ancestor(what: Any) -> Ancestor | None:
    """The anonymised release behind a file or an Arrow table; reads no row, but checks the digest of a listed file."""
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

    return _of_metadata(what.schema.metadata) if isinstance(what, pa.Table | pa.RecordBatch) else None


def refuse_anonymized(what: Any, doing: str) -> None:
    """Refuse a table made by looking at all records, where the promise of ``doing`` could not say so."""
    found = find_ancestor(what)
    if found is not None and not found.record_wise:
        raise DataError(
            f"the table is the anonymised release {found.release}, in which one person can change the rows of many, so "
            f"that {doing} could promise nothing to the people behind it. Use the confidential table itself."
        )


def _of_file(path: Path) -> Ancestor | None:
    beside = path.parent / _MANIFEST
    try:
        text = beside.read_text(encoding="utf-8") if beside.is_file() else ""
        manifest = json.loads(text) if text else {}
    except (OSError, ValueError):
        text, manifest = "", {}
    listed = manifest.get("files") if isinstance(manifest, dict) else None
    if isinstance(listed, dict) and path.name in listed and isinstance(manifest.get("anonymity"), dict):
        with path.open("rb") as data:
            digest = "sha256:" + hashlib.file_digest(data, "sha256").hexdigest()
        if digest != listed[path.name]:
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
    anonymity = manifest["anonymity"]
    measured = anonymity.get("measured", {})
    return Ancestor(
        release=str(manifest.get("release")),
        record_wise=anonymity.get("record_wise") is True,
        text=text,
        k=measured.get("k") if isinstance(measured, dict) else None,
    )


def _of_metadata(metadata: Mapping[bytes, bytes] | None) -> Ancestor | None:
    if not metadata or MARK not in metadata:
        return None
    try:
        said = json.loads(metadata[MARK])
        return Ancestor(release=str(said["release"]), record_wise=said["record_wise"] is True)
    except (ValueError, KeyError, TypeError):
        return Ancestor(release="unknown", record_wise=False)
