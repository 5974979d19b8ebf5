"""The last files of a release: its page, made from the folder as it lies there, and its manifest with all digests."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from understudy.files import write_file
from understudy.release.face import FACE, ShownTable, face_of
from understudy.release.folders import digest_of
from understudy.release.formats import GUARDED, GUARDED_WORDS
from understudy.release.manifest import Manifest


def close_folder(path: Path, manifest: Manifest, files: Mapping[str, str], tables: Sequence[ShownTable]) -> None:
    """Write the manifest to ``path`` and the page beside it; ``files`` are the digests of what lies there already."""
    page = path.with_name(FACE)
    facts: dict[str, Any] = json.loads(_text(manifest.to_dict(files)))  # as whoever reads the folder will have them
    if any(name.endswith(GUARDED) for name in files):
        facts["guarded"] = GUARDED_WORDS
    write_file(page, face_of(facts, tables))
    facts["files"][FACE] = digest_of(page)
    write_file(path, _text(facts))


def _text(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
