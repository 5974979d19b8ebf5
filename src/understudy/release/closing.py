"""The last files of a release: its page, made from the folder as it lies there, and its manifest with all digests."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from understudy.release.face import FACE, ShownTable, face_of
from understudy.release.folders import digest_of
from understudy.release.manifest import Manifest


def close_folder(path: Path, manifest: Manifest, files: Mapping[str, str], tables: Sequence[ShownTable]) -> None:
    """Write the manifest to ``path`` and the page beside it; ``files`` are the digests of what lies there already."""
    page = path.with_name(FACE)
    facts: dict[str, Any] = json.loads(_text(manifest.to_dict(files)))  # as whoever reads the folder will have them
    page.write_text(face_of(facts, tables), encoding="utf-8", newline="\n")
    facts["files"][FACE] = digest_of(page)
    path.write_text(_text(facts), encoding="utf-8", newline="\n")


def _text(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
