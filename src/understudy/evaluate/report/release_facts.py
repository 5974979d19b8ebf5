"""What a release says about itself, checked before a report repeats it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any

from understudy.errors import ReleaseError
from understudy.histories.recheck import is_linked, verify_histories
from understudy.loading import loader
from understudy.release.reading import made_of, read_manifest_file
from understudy.release.release import ANONYMIZED, MANIFEST, TABLE_NAMES
from understudy.release.verify import verify_release
from understudy.release.workshop import PARTS
from understudy.sources.inputs import is_listed_beside


@dataclass(frozen=True, kw_only=True)
class ReleaseFacts:
    """The parts of a manifest that a board reads."""

    statement: str
    method: str
    guarantee: dict[str, Any]
    created: str
    randomness: str
    account: str
    parameters: dict[str, Any]
    codebook: str
    """Digest of the codebook that the release was made with."""
    warnings: tuple[str, ...]
    problems: tuple[str, ...]
    """What did not verify; empty when everything did."""
    table: str
    """Where the released rows lie."""

    @property
    def block_size(self) -> int | None:
        """Rows per chain, where consecutive rows are a chain."""
        in_parts = self.table.endswith("part-*.parquet")
        return self.parameters.get("block_size") if self.method == "pegs-rs" and not in_parts else None


def find_release(address: str) -> tuple[str, ReleaseFacts | None]:
    """The synthetic table behind ``address``, and what its manifest says: in a release folder, or beside the file."""
    place = Path(address)
    if place.is_dir() and (place / ANONYMIZED).is_file():
        raise ReleaseError(
            f"{address!r} is an anonymised release, whose columns have other levels than the confidential table; "
            "compare them with `understudy anonymize report`."
        )
    if place.is_dir() and is_linked(place):
        raise ReleaseError(f"{address!r} holds linked tables; name the file of one of them, or their own codebook.")
    if place.is_dir():
        facts = _facts(place)
        return facts.table, facts
    return address, _facts(place.parent) if place.is_file() and is_listed_beside(place) else None


def table_of(folder: Path, manifest: dict[str, Any]) -> str:
    """The rows of a release: one file, or a pattern for all its parts."""
    if "parts" in manifest:
        return str(Path(escape(str(folder / PARTS))) / "part-*.parquet")
    return str(folder / TABLE_NAMES[made_of(manifest)])


@loader("the release", remedy="take the folder again from where it was published.", error=ReleaseError)
def _facts(folder: Path) -> ReleaseFacts:
    verdict = verify_histories(folder) if is_linked(folder) else verify_release(folder)
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return stated(manifest, verdict.problems, table=table_of(folder, manifest))


@loader("the release", remedy="take the folder again from where it was published.", error=ReleaseError)
def linked_facts(folder: Path, problems: Sequence[str]) -> ReleaseFacts:
    """What a release of linked tables says, with what of it did not verify; its tables have files of their own."""
    return stated(read_manifest_file(folder), problems, table=str(folder))


def stated(manifest: Mapping[str, Any], problems: Sequence[str], *, table: str) -> ReleaseFacts:
    """What a manifest says."""
    repeated = ("statement", "method", "guarantee", "created", "randomness", "account", "parameters")
    return ReleaseFacts(
        **{name: manifest[name] for name in repeated},
        codebook=manifest["codebook"]["digest"],
        warnings=tuple(manifest.get("warnings", ())),
        problems=tuple(problems),
        table=table,
    )
