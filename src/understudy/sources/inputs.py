"""Find the provenance of a table: in its file's metadata, in the manifest beside it, or in a frame in memory.

Reads no row, but checks the digest of a file against its manifest. Every input of every command is checked here: the
confidential table by :func:`find_provenance`, whatever is called public by :func:`public_provenance`.
"""

import json
from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from understudy.codebook import Codebook
from understudy.errors import DataError, ParameterError, UnderstudyError
from understudy.loading import loader
from understudy.privacy.ledger import Ledger
from understudy.privacy.provenance import DECLARED, MARK, InputRole, Made, Provenance, of_several
from understudy.sources import kinds
from understudy.sources.archives import members_of, open_member, place_of, unpacked
from understudy.sources.databases import is_spark, spark_files
from understudy.sources.kinds import file_kind
from understudy.sources.marks import mark_in_statistical, mark_in_workbook
from understudy.sources.same import digest_of_content, files_and_member, files_at, refuse_same

_MARK_1 = b"understudy.anonymized"
"""What tables of understudy 0.1 carry."""
_KIND = b"understudy.kind"
_MANIFEST, _RECONSTRUCTION = "manifest.json", "reconstruction.json"
_MOST_TEXT = 1 << 28
"""A manifest in an archive may say that it unpacks to anything."""
_Place = TypeVar("_Place", Path, PurePosixPath)
_PLACES = "places.parquet"
"""A public table that goes with a commuting release; what it is stands in itself."""
RECONSTRUCTED = Provenance(
    made=Made.RECONSTRUCTED, release="of `understudy reconstruct`", record_wise=False, real_records=True
)
"""Records of real people with values that were rebuilt from averages."""


@loader("the table", remedy="copy it again from its source.", error=DataError, quotes=False)
def find_provenance(what: Any, *, member: str = "", table: str | None = None) -> Provenance:
    """What a file, a glob of files, an Arrow table or a pandas frame is; several files are joined.

    ``member`` is the file inside an archive, where the codebook names one and the address does not; ``table`` what is
    read in a Spark session, which may be a path. Spark is asked for the files behind a table or a data frame.
    """
    if isinstance(what, str | Path):
        files, named = files_and_member(what)
        return of_several(_of_file(path, named or member) for path in files)
    if is_spark(what):
        return of_several(_of_file(path) for name in spark_files(what, table) for path in files_at(name))
    import pyarrow as pa

    if isinstance(what, pa.Table | pa.RecordBatch):
        return _of_metadata(what.schema.metadata)
    attributes = getattr(what, "attrs", None)
    if not isinstance(attributes, dict):
        return DECLARED
    return _of_metadata(
        {key: str(attributes[key.decode()]).encode() for key in (MARK, _MARK_1) if key.decode() in attributes}
    )


def provenance_behind(what: Any, book: Codebook, table: str | None = None) -> Provenance:
    """What a table is that is read by a codebook, which may name the file inside an archive."""
    return find_provenance(what, member=book.file.member if book.file else "", table=table)


def public_provenance(what: Any, role: InputRole, *, confidential: Any = None) -> Provenance:
    """What a table is that is called public; the confidential one, and releases that are not public, are refused."""
    refuse_same(confidential, what, role.value)
    provenance = find_provenance(what)
    provenance.as_public(role)
    return provenance


def refuse_as_rule(path: str | Path, used_as: str, *, confidential: Any = None) -> None:
    """Refuse a file of public rules that is the confidential table, or a release of ours: both were made from data."""
    refuse_same(confidential, path, used_as)
    if (provenance := find_provenance(path)).is_release:
        raise ParameterError(
            f"the {used_as} is {provenance.called}: a rule that was made from data is not public. Give a file that "
            "everybody may see."
        )


@loader("the table", remedy="copy it again from its source.", error=DataError, quotes=False)
def _of_file(path: Path, member: str = "") -> Provenance:
    if not _is_archive(path):
        return _of_content(path, *_beside(path, _text_of))
    # where no member is named, any of them may be read
    members = [_of_member(path, info.filename) for info in members_of(path, member)]
    return reduce(or_, [each for each in members if each.is_release] or [DECLARED])


def _is_archive(path: Path) -> bool:
    try:
        return file_kind(path) == kinds.ZIP and bool(members_of(path))
    except DataError:
        return False  # whoever reads the rows will say what is wrong with the file


def _of_member(path: Path, name: str) -> Provenance:
    """By the manifest that is packed with it, or else by the one beside the archive."""
    try:
        inside, folder = unpacked(path, name)
    except DataError:
        return DECLARED  # whoever reads the rows will say what is wrong with the file
    with folder:
        if _is_archive(inside):
            return DECLARED  # is not read
        found = _beside(place_of(name), lambda place: _text_in(path, place))
        return _of_content(inside, *(found if found[0] else _beside(path, _text_of)))


def _text_of(place: Path) -> bytes:
    return place.read_bytes() if place.is_file() else b""


def _text_in(path: Path, place: PurePosixPath) -> bytes:
    there = [info for info in members_of(path) if place_of(info.filename) == place]
    if not there:
        return b""
    if len(there) > 1 or there[0].file_size > _MOST_TEXT:
        raise DataError("it is packed twice" if len(there) > 1 else "it unpacks to more than any manifest")
    with open_member(path, there[0].filename) as data:
        return data.read()


def _beside(path: _Place, read: Callable[[_Place], bytes]) -> tuple[str, str, str]:
    """What says what a file is: the kind of the manifest, its text, and how it would call the file."""
    above = path.parent
    for place, name in (
        (above / _MANIFEST, path.name),
        (above / _RECONSTRUCTION, path.name),
        (above.parent / _MANIFEST, f"{above.name}/{path.name}"),  # a part of a large release
    ):
        try:
            content = read(place)
        except (OSError, DataError) as reason:  # a manifest that nobody can read is no absent one
            raise DataError(
                f"{place.name!r} beside {path.name!r} cannot be read ({getattr(reason, 'strerror', None) or reason}), "
                "and it may say what the table promises. Make it readable, or take it away if it is not of understudy."
            ) from None
        if content:  # an editor may have saved it in another encoding
            return place.name, content.decode(json.detect_encoding(content), errors="replace"), name
    return "", "", path.name


@loader("the table", remedy="copy it again from its source.", error=DataError, quotes=False)
def is_listed_beside(path: Path) -> bool:
    """Whether the manifest of a release that lies in the same folder lists this file; a damaged one is refused."""
    if not (path.parent / _MANIFEST).is_file():
        return False
    kind, text, name = _beside(path, _text_of)
    _, listed = _listed(path, kind, text)
    return listed is not None and name in listed


def _listed(path: Path, kind: str, text: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The manifest beside a file, and the files that it lists where it is one of ours."""
    try:
        manifest = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        if '"release"' in text and '"statement"' in text:  # a damaged manifest of ours is no absent one
            raise DataError(
                f"the manifest beside {path.name!r} is cut short or damaged, so that nobody knows what the table "
                "promises. Take the release as it was published."
            ) from None
        manifest = {}
    if not isinstance(manifest, dict):
        return {}, None
    ours = {"release", "ledger"} <= set(manifest)
    listed = manifest.get("files") if ours or kind == _RECONSTRUCTION else None
    if ours and not isinstance(listed, dict):
        raise DataError(
            f"the manifest beside {path.name!r} does not list its files, so that nobody knows whether it speaks of "
            "this table. Take the release as it was published."
        )
    return manifest, listed if isinstance(listed, dict) else None


def _of_content(path: Path, kind: str, text: str, name: str) -> Provenance:
    manifest, listed = _listed(path, kind, text)
    if listed is not None:
        digest = "sha256:" + digest_of_content(path)
        if name in listed and digest != listed[name]:
            raise DataError(
                f"{path.name!r} was changed after its release: its digest is not the one in its manifest, so that "
                "nobody knows what it promises. Take the file as it was released."
            )
        if digest in [stated for other, stated in listed.items() if other != _PLACES]:  # under whatever name
            if kind == _RECONSTRUCTION:
                return RECONSTRUCTED
            return _as_marked(path, provenance_of_manifest(manifest, text), _metadata(path))
    return _of_metadata(_metadata(path))


def _metadata(path: Path) -> Mapping[bytes, bytes]:
    """The marks in a file."""
    try:
        kind = file_kind(path)
    except DataError:
        return {}  # whoever reads the rows will say what is wrong with the file
    if kind in (kinds.WORKBOOK, kinds.STATISTICAL):
        mark = mark_in_workbook(path) if kind == kinds.WORKBOOK else mark_in_statistical(path)
        return {MARK: mark} if mark else {}
    if kind != kinds.PARQUET:
        return {}
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_schema(path).metadata or {}
    except (pa.ArrowException, OSError):
        return {}  # whoever reads the rows will say what is wrong with the file


def _as_marked(path: Path, stated: Provenance, metadata: Mapping[bytes, bytes]) -> Provenance:
    """A manifest is easily edited; the mark in the table, whose digest it states, is not."""
    if MARK in metadata and other_than_marked(stated, _of_metadata(metadata)):
        raise DataError(
            f"{path.name!r} says of itself something else than the manifest beside it: one of them was changed after "
            "the release, so that nobody knows what it promises. Take the release as it was published."
        )
    return stated


def other_than_marked(stated: Provenance, mark: Provenance) -> list[str]:
    """In what a manifest and the mark in its table differ; what has a seed is marked without a name."""
    names = ("made", "record_wise", "seeded", "real_records", "ledger", "delta", *(() if mark.seeded else ("release",)))
    return [name for name in names if getattr(mark, name) != getattr(stated, name)]


def provenance_of_manifest(manifest: Mapping[str, Any], text: str) -> Provenance:
    """What the table beside a manifest is; a manifest that cannot be read promises nothing."""
    try:
        return _stated(manifest, text)
    except (UnderstudyError, LookupError, TypeError, ValueError, AttributeError):
        return Provenance(
            made=Made.COMPLETED, release=str(manifest.get("release")), record_wise=False, real_records=True
        )


def _stated(manifest: Mapping[str, Any], text: str) -> Provenance:
    anonymity = manifest.get("anonymity")
    measured = anonymity.get("measured", {}) if isinstance(anonymity, dict) else {}
    seeded = not str(manifest["randomness"]).startswith("secure")
    if manifest["format"] == 1:
        holds = "completed" if manifest.get("confidential") else manifest.get("holds", "synthetic")
        record_wise = isinstance(anonymity, dict) and not seeded and _was_record_wise(manifest, anonymity)
        real = holds in ("completed", "anonymized")
    else:
        holds, record_wise, real = manifest["holds"], manifest["record_wise"] is True, bool(manifest["real_records"])
    made = Made(holds)
    return Provenance(
        made=made,
        release=str(manifest.get("charged_as") or manifest["release"]),
        record_wise=record_wise,
        seeded=seeded,
        real_records=real,
        ledger=Ledger.from_list(manifest["ledger"]),
        delta=manifest["delta_for_total"],
        text="" if made is Made.COMPLETED else text,  # its manifest states the number of records, so it stays at home
        k=measured.get("k"),
    )


def _was_record_wise(manifest: Mapping[str, Any], anonymity: Mapping[str, Any]) -> bool:
    """The first format believed steps that delete rows, and bins that were read from the data."""
    deletes = any(step["do"] == "suppress-rows" for step in manifest["parameters"]["steps"])
    return anonymity.get("record_wise") is True and not deletes and not manifest["codebook"]["drafted_from_data"]


def _of_metadata(metadata: Mapping[bytes, bytes] | None) -> Provenance:
    if not metadata:
        return DECLARED
    try:
        metadata = {**_kept_by_pandas(metadata), **metadata}
        if MARK in metadata:
            return Provenance.from_dict(json.loads(metadata[MARK]))
        if metadata.get(_KIND) == Made.RECONSTRUCTED.value.encode():
            return RECONSTRUCTED
        if _MARK_1 in metadata:
            mark = json.loads(metadata[_MARK_1])
            made = Made(mark.get("made", Made.ANONYMIZED))
            # the first mark says nothing about seeds, nor what was promised
            return Provenance(
                made=made, release=str(mark["release"]), record_wise=False, seeded=True, real_records=True
            )
    except (UnderstudyError, ValueError, KeyError, TypeError, AttributeError):
        return Provenance(made=Made.COMPLETED, release="unknown", record_wise=False, real_records=True)
    return DECLARED


def _kept_by_pandas(metadata: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """The ``attrs`` of a frame that pandas wrote to a file or turned into an Arrow table."""
    attributes: dict[str, Any] = {}
    for key, inner in ((b"PANDAS_ATTRS", None), (b"pandas", "attributes")):
        try:
            kept = json.loads(metadata.get(key, b"{}"))
            attributes |= dict(kept if inner is None else kept.get(inner) or {})
        except (ValueError, TypeError, AttributeError):
            continue  # not as pandas writes it, and so no mark of ours
    return {key: str(attributes[key.decode()]).encode() for key in (MARK, _MARK_1) if key.decode() in attributes}
