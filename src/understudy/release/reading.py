"""The folder of a release as it is found: its manifest as plain data, and where its tables lie."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from understudy.errors import ReleaseError
from understudy.privacy.provenance import Made
from understudy.release.manifest import FORMAT
from understudy.release.release import MANIFEST, TABLE_NAMES
from understudy.release.workshop import PART_NAME


def read_manifest_file(place: Path) -> dict[str, Any]:
    """The manifest in a folder, as plain data."""
    if not place.is_dir():
        raise ReleaseError(f"there is no release folder {str(place)!r}; give the folder that holds {MANIFEST}.")
    try:
        manifest = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ReleaseError(f"{str(place)!r} holds no {MANIFEST}; it is not a finished release.") from None
    except (OSError, ValueError, RecursionError) as reason:
        raise ReleaseError(
            f"the manifest in {str(place)!r} cannot be read as JSON ({str(reason)[:120]}); take the folder "
            "again from where it was published."
        ) from None
    if not isinstance(manifest, dict) or manifest.get("format") not in (1, FORMAT):
        raise ReleaseError(
            f"the manifest in {str(place)!r} is not of format 1 or {FORMAT}; use the version that wrote it."
        )
    return manifest


def made_of(manifest: Mapping[str, Any]) -> Made:
    """What the table is; the first format had no word for the commonest kind."""
    if manifest["format"] == 1 and manifest.get("confidential"):
        return Made.COMPLETED
    return Made(manifest.get("holds", Made.SYNTHETIC))


def tables_of(place: Path, manifest: Mapping[str, Any]) -> list[Path]:
    """Its one table, all its parts, or all linked tables."""
    if manifest.get("tables") is not None:
        return [place / f"{name}.parquet" for name in manifest["tables"]]
    parts = [place / name for name in manifest.get("files", {}) if PART_NAME.fullmatch(name)]
    return parts or [place / TABLE_NAMES[made_of(manifest)]]
