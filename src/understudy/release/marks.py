"""What a table says of itself, and what its input said, against the manifest: a manifest alone is easily edited."""

import json
from typing import TYPE_CHECKING

from understudy.errors import UnderstudyError
from understudy.privacy.provenance import MARK, InputRole, Provenance
from understudy.release.release import INPUT_MANIFEST
from understudy.sources.inputs import provenance_of_manifest

if TYPE_CHECKING:
    from understudy.release.verify import Looked


def check_marks(looked: "Looked") -> None:
    """Compare the mark in every table, and the manifest of the input if one is there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        kept = [(pq.read_schema(path).metadata or {}).get(MARK) for path in looked.tables if path.is_file()]
        marks = [Provenance.from_dict(json.loads(text)) for text in set(kept) if text is not None]
        told = provenance_of_manifest(looked.manifest, "")
    except (UnderstudyError, OSError, ValueError, KeyError, TypeError, pa.ArrowException) as reason:
        looked.problems.append(f"what the table says of itself cannot be read: {reason}")
        return
    if looked.manifest["format"] == 1:
        if marks:
            looked.problems.append("the manifest is of format 1, and the table was written in a later one")
        return
    if len(kept) > len([text for text in kept if text is not None]):
        looked.problems.append("the table, or a part of it, does not say of itself what it is")
    for found in marks:
        names = ("made", "record_wise", "seeded", "real_records", "ledger", "delta")
        if odd := [name for name in names if getattr(found, name) != getattr(told, name)]:
            looked.problems.append(f"the table says of itself another {' and '.join(odd)} than its manifest")
        else:
            looked.passed.append("the table says of itself what its manifest says")
    _check_input(looked)


def _check_input(looked: "Looked") -> None:
    path = looked.place / INPUT_MANIFEST
    if not path.is_file():
        return
    text = path.read_text(encoding="utf-8")
    said = provenance_of_manifest(json.loads(text), text).to_dict()
    if looked.manifest["inputs"].get(InputRole.DATA.name.lower()) != said:
        looked.problems.append(f"what the manifest says of the table that went in is not what {INPUT_MANIFEST} says")
    else:
        looked.passed.append(f"the table that went in is what {INPUT_MANIFEST} says")
