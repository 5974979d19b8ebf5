"""A data set at a glance: its releases as their manifests tell them, and who attested what. Nothing is recomputed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy.codebook import Codebook, LinkedCodebook


@dataclass(frozen=True, kw_only=True)
class ReleaseGlance:
    """What the manifest of a release says; only ``us.verify`` says whether it is true."""

    folder: Path
    created: str
    method: str
    guarantee: Mapping[str, Any]
    statement: str
    status: str
    """``out``, ``superseded`` or ``withdrawn``; ``unreadable`` where the manifest cannot be read."""


def glance_at_release(folder: str | Path) -> ReleaseGlance:
    """One release, by its manifest and its notices."""
    from understudy.errors import UnderstudyError
    from understudy.release.notices import read_notices
    from understudy.release.reading import read_manifest_file

    place = Path(folder)
    try:
        facts = read_manifest_file(place)
        kinds = {notice.kind for notice in read_notices(place)}
    except (UnderstudyError, OSError, ValueError):
        facts, kinds = {}, {"unreadable"}
    status = next((kind for kind in ("unreadable", "withdrawn", "superseded") if kind in kinds), "out")
    return ReleaseGlance(
        folder=place,
        created=str(facts.get("created", "")),
        method=str(facts.get("method", "")),
        guarantee=facts.get("guarantee") or {},
        statement=str(facts.get("statement", "")),
        status=status,
    )


@dataclass(frozen=True, kw_only=True)
class Attested:
    """What one person said from one source."""

    by: str
    source: str
    on: str
    columns: tuple[str, ...]


def attestations(book: Codebook | LinkedCodebook) -> Sequence[Attested]:
    """Who attested which columns, as they stand now."""
    from understudy.codebook import LinkedCodebook

    tables = {"": book} if not isinstance(book, LinkedCodebook) else {f"{t.name}.": t.book for t in book.tables}
    groups: dict[tuple[str, str, str], list[str]] = {}
    for prefix, own in tables.items():
        for column in own.written:
            if column.is_attested and column.attestation is not None:
                word = column.attestation
                groups.setdefault((word.by, word.source, word.on.isoformat()), []).append(prefix + column.name)
    return [Attested(by=by, source=source, on=on, columns=tuple(names)) for (by, source, on), names in groups.items()]
