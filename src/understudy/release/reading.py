"""The folder of a release as it is found: its manifest as plain data, and where its tables lie."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook, LinkedCodebook
from understudy.errors import ReleaseError
from understudy.files import refuse_special_in
from understudy.loading import loader
from understudy.privacy.provenance import Made
from understudy.release.face import ShownTable
from understudy.release.linked import shown_linked, table_files
from understudy.release.manifest import FORMAT
from understudy.release.release import MANIFEST, TABLE_NAMES
from understudy.release.workshop import PARTS, part_names


@loader("the manifest in", remedy="take the folder again from where it was published.", error=ReleaseError)
def read_manifest_file(place: Path) -> dict[str, Any]:
    """The manifest in a folder, as plain data."""
    if not place.is_dir():
        raise ReleaseError(f"there is no release folder {str(place)!r}; give the folder that holds {MANIFEST}.")
    refuse_special_in(place)
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
        files = part_names(manifest.get("files", {}), list(manifest["tables"]))
        return [place / file for name in manifest["tables"] for file in table_files(name, files)]
    parts = [place / name for name in part_names(manifest.get("files", {}))]
    return parts or [place / TABLE_NAMES[made_of(manifest)]]


@loader("the release", remedy="take the folder again from where it was published.", error=ReleaseError)
def first_table(place: Path) -> Path:
    """The table in a folder or its first part: each says of itself what it is."""
    return tables_of(place, read_manifest_file(place))[0]


def shown_tables(place: Path, manifest: Mapping[str, Any], book: Codebook | LinkedCodebook) -> list[ShownTable]:
    """The tables as the page of the release shows them; a codebook of linked tables has one for each of them."""
    if isinstance(book, LinkedCodebook):
        return shown_linked(place, book, part_names(manifest.get("files", {}), [table.name for table in book.tables]))
    files = tables_of(place, manifest)
    title = PARTS if files[0].parent != place else files[0].name
    return [ShownTable(title=title, files=tuple(files), book=book)]
