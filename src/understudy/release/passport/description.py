"""One neutral description of a release, which every format of the passport reads.

It is made from the manifest, the codebook and the names and types of the released columns. No row is read, and nothing
that :mod:`understudy.evaluate` found.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from understudy.codebook import Codebook, Column, Dates, Levelled, LinkedCodebook, Number, Publication
from understudy.codebook.encode import spelling
from understudy.errors import ReleaseError
from understudy.privacy.guarantees import Guarantee, Neighbours, guarantee_from_dict
from understudy.privacy.provenance import Made
from understudy.privacy.statement import Subject
from understudy.release.face import FACE
from understudy.release.folders import digest_of
from understudy.release.formats import FORMATS, GUARDED
from understudy.release.linked import table_file
from understudy.release.reading import made_of
from understudy.release.release import MANIFEST, TABLE_NAMES, table_as
from understudy.release.workshop import PARTS, part_names

MOST_LEVELS = 1000
"""A longer list of levels stays in the codebook alone."""
_MEDIA = {
    "parquet": "application/vnd.apache.parquet",
    "csv": "text/csv",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "sav": "application/x-spss-sav",
    "dta": "application/x-stata-dta",
    "toml": "application/toml",
    "json": "application/json",
    "html": "text/html",
}
_KINDS = {
    Made.SYNTHETIC: "synthetic records",
    Made.ANSWER: "figures that were computed on the confidential table with noise, with intervals",
    Made.COUNTS: "noisy counts of every combination of levels, with intervals",
    Made.ANONYMIZED: "real records, generalised and suppressed until they satisfy the criteria of the manifest",
    Made.COMPLETED: "real records with missing values filled in; confidential",
}
CONFIDENTIAL = "It is confidential: it has no formal privacy guarantee and must not be published."
"""Instead of a statement with the number of real records."""
_COUNT_WORDS = {
    "count": "noisy count; it may be negative",
    "low": "lower end of the interval that the noise alone gives",
    "high": "upper end of the interval that the noise alone gives",
}


class Kind(StrEnum):
    """What the values of a column are."""

    TEXT = "text"
    WHOLE = "whole number"
    NUMBER = "number"
    DATE = "date"


@dataclass(frozen=True, kw_only=True)
class Field:
    """One column of a released table."""

    name: str
    kind: Kind
    description: str = ""
    levels: tuple[tuple[str, str], ...] = ()
    """Values with their labels; empty where they are not listed."""
    low: str = ""
    high: str = ""
    """The bounds that the codebook declares."""
    units: str = ""
    missing: str | None = None
    """The token of a missing value; None where none is missing."""
    role: str = "other"


@dataclass(frozen=True, kw_only=True)
class File:
    """One file of the release."""

    path: str
    digest: str
    size: int

    @property
    def form(self) -> str:
        """Its ending."""
        return self.path.rpartition(".")[2]

    @property
    def media(self) -> str:
        """Its media type."""
        return _MEDIA.get(self.form, "application/octet-stream")

    @property
    def sha256(self) -> str:
        """The hexadecimal digits of its digest."""
        return self.digest.removeprefix("sha256:")


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table: its columns, its keys, and the files that hold it."""

    name: str
    fields: tuple[Field, ...]
    files: tuple[File, ...]
    """Parquet (perhaps in parts), then the same rows in other formats."""
    rows: int | None = None
    key: tuple[str, ...] = ()
    parent: str = ""
    """The table above; empty where there is none."""
    parent_key: tuple[str, ...] = ()
    """The columns that hold the key of a row of the parent."""

    @property
    def parts(self) -> tuple[File, ...]:
        """The Parquet files that hold it together."""
        return tuple(file for file in self.files if file.form == "parquet")

    def in_form(self, form: str) -> File | None:
        """The file of one format, where it is one file."""
        files = [file for file in self.files if file.form == form]
        return files[0] if len(files) == 1 else None


@dataclass(frozen=True, kw_only=True)
class TableBook:
    """What a codebook says of one table: what :func:`describe_release` needs to know beside the manifest."""

    name: str
    stem: str
    """The file name without its ending."""
    columns: Mapping[str, Column]
    rows: int | None = None
    key: tuple[str, ...] = ()
    parent: str = ""
    parent_key: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Description:
    """A release, as its formats see it."""

    release: str
    created: str
    title: str
    description: str
    publication: Publication
    made: Made
    is_score: bool
    kind: str
    """What the rows are, in words."""
    statement: str
    promise: Guarantee
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    method: str
    mechanisms: tuple[str, ...]
    """Stages of the ledger with their events."""
    randomness: str
    """Where it came from, as the manifest words it."""
    is_confidential: bool
    has_real_records: bool
    version: str
    """Of the software that made it."""
    tables: tuple[Table, ...]
    files: tuple[File, ...]
    """Files that are no tables: codebook, manifest, attachments."""

    @property
    def day(self) -> str:
        """The day it was made."""
        return self.created[:10]

    @property
    def is_seeded(self) -> bool:
        """Whether whoever knows the seed can make it again."""
        return self.randomness.startswith("seeded")

    @property
    def neighbours(self) -> Neighbours | None:
        """Whom the promise protects; None where there is no differential privacy."""
        relation = getattr(self.promise, "neighbours", None)
        return relation if isinstance(relation, Neighbours) else None

    @property
    def access(self) -> str:
        """Who may have it; a confidential table never becomes public by a declaration."""
        return "non-public" if self.is_confidential else self.publication.access

    @property
    def citation(self) -> str:
        """As declared, or made of publisher, year, title and release."""
        if self.publication.citation:
            return self.publication.citation
        who = f"{self.publication.publisher} " if self.publication.publisher else ""
        where = f" {self.publication.url}" if self.publication.url else ""
        return f"{who}({self.created[:4]}): {self.title}. Release {self.release}.{where}"

    @property
    def text(self) -> str:
        """The description with the kind of rows and the promise: nobody should read one without the other."""
        own = f"{self.description.rstrip()}\n\n" if self.description else ""
        return f"{own}This release holds {self.kind}. {self.statement}"


def slug(text: str) -> str:
    """Lower-case letters, digits, hyphens.

    >>> slug("Stays, 2010 (synthetic)")
    'stays-2010-synthetic'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "release"


def in_quotes(text: str) -> str:
    """A text in double quotes for YAML: as JSON spells it, but for characters of which JSON makes two.

    >>> print(in_quotes("a: b"), in_quotes(chr(0x1F600)))
    "a: b" "\\U0001f600"
    """
    pairs = re.compile(r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})")
    return pairs.sub(lambda pair: f"\\U{_joined(pair[1], pair[2]):08x}", json.dumps(text))


def _joined(high: str, low: str) -> int:
    """The character of which UTF-16 makes these two."""
    return 0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00


def one_table(book: Codebook, manifest: Mapping[str, Any]) -> TableBook:
    """Of a release of one table."""
    made = made_of(manifest)
    stem = TABLE_NAMES[made].removesuffix(".parquet")
    rows = None if made is Made.COMPLETED else manifest["rows"]["number"]
    return TableBook(name=stem, stem=stem, columns={column.name: column for column in book.columns}, rows=rows)


def linked_tables(book: LinkedCodebook, manifest: Mapping[str, Any]) -> list[TableBook]:
    """Of a release of linked tables, with their keys."""
    return [
        TableBook(
            name=table.name,
            stem=table_file(table.name).removesuffix(".parquet"),
            columns={column.name: column for column in table.as_file.columns},
            rows=manifest["tables"][table.name],
            key=() if table.key is None else (table.key,),
            parent=table.parent or "",
            parent_key=() if table.parent_key is None else (table.parent_key,),
        )
        for table in book.tables
    ]


def describe_release(
    place: Path,
    manifest: Mapping[str, Any],
    book: Any,
    tables: Sequence[TableBook],
    *,
    publication: Publication | None = None,
) -> Description:
    """The description of a folder; ``book`` gives title, description and publication."""
    listed = {name: digest for name, digest in manifest["files"].items() if name != FACE}  # a notice changes its size
    files = {name: _file(place, name, digest) for name, digest in listed.items()}
    files[MANIFEST] = _file(place, MANIFEST, digest_of(place / MANIFEST))
    described = [_table(place, table, files, made_of(manifest)) for table in tables]
    taken = {file.path for table in described for file in table.files}
    return describe_facts(
        manifest,
        book,
        publication=publication,
        tables=tuple(described),
        files=tuple(file for file in files.values() if file.path not in taken),
    )


def describe_facts(
    manifest: Mapping[str, Any],
    book: Any,
    *,
    publication: Publication | None = None,
    tables: tuple[Table, ...] = (),
    files: tuple[File, ...] = (),
) -> Description:
    """The description of what has a manifest and a codebook, whatever its files."""
    declared = publication or getattr(book, "publication", None) or Publication()
    made, is_score = made_of(manifest), manifest.get("subject") == Subject.SCORE
    kind = "a risk score, a model and no table" if is_score else _KINDS.get(made, "rows")
    if made is Made.SYNTHETIC and manifest["real_records"]:
        kind += " in which real records, or parts of them, may stand"
    return Description(
        release=manifest["release"],
        created=manifest["created"],
        title=declared.title or book.title or f"Release {manifest['release']} by {manifest['method']}",
        description=declared.description or book.description,
        publication=declared,
        made=made,
        is_score=is_score,
        kind=kind,
        statement=CONFIDENTIAL if made is Made.COMPLETED else manifest["statement"],
        promise=guarantee_from_dict(dict(manifest["guarantee"])),
        assumptions=tuple(manifest["assumptions"]),
        warnings=tuple(manifest["warnings"]),
        method=manifest["method"],
        mechanisms=tuple(f"{entry['stage']}: {entry['event']['kind']}" for entry in manifest["ledger"]),
        randomness=manifest["randomness"],
        is_confidential=made is Made.COMPLETED,
        has_real_records=made in (Made.ANONYMIZED, Made.COMPLETED) or bool(manifest.get("real_records")),
        version=str(manifest["versions"]["understudy"]),
        tables=tables,
        files=files,
    )


def _file(place: Path, name: str, digest: str) -> File:
    try:
        return File(path=name, digest=digest, size=(place / name).stat().st_size)
    except OSError:
        raise ReleaseError(
            f"{name} is listed in the manifest of {str(place)!r} but is not in the folder; check the folder with "
            "`understudy verify`."
        ) from None


def _table(place: Path, known: TableBook, files: Mapping[str, File], made: Made) -> Table:
    own = [files[name] for name in part_names(sorted(files), (PARTS, known.stem))]
    main = f"{known.stem}.parquet"
    own = own if own and main not in files else [files[main]] if main in files else []
    if not own:
        raise ReleaseError(f"the manifest of {str(place)!r} lists no {main}; check it with `understudy verify`.")
    others = [
        files[name] for form in FORMATS if form not in ("parquet", GUARDED) and (name := table_as(main, form)) in files
    ]
    try:
        schema = pyarrow.parquet.read_schema(place / own[0].path)
    except (OSError, pa.ArrowException) as reason:
        raise ReleaseError(
            f"{own[0].path} in {str(place)!r} cannot be read ({reason}); check it with `understudy verify`."
        ) from None
    return Table(
        name=known.name,
        fields=tuple(_field(part, known.columns.get(part.name), made) for part in schema),
        files=(*own, *others),
        rows=known.rows,
        key=known.key,
        parent=known.parent,
        parent_key=known.parent_key,
    )


def _field(part: pa.Field, column: Column | None, made: Made) -> Field:
    kind = _kind(part.type)
    if column is None:
        words = _COUNT_WORDS.get(part.name, "") if made is Made.COUNTS else ""
        return Field(name=part.name, kind=kind, description=words)
    labels = dict(column.value_labels)
    listed: Sequence[str] = ()
    if made is Made.COUNTS:
        listed = column.labels
    elif isinstance(column, Levelled) and kind is Kind.TEXT:
        listed = column.levels
    low, high = _bounds(column) if kind is not Kind.TEXT else ("", "")
    return Field(
        name=part.name,
        kind=kind,
        description=column.description,
        levels=tuple((level, labels.get(level, "")) for level in listed) if len(listed) <= MOST_LEVELS else (),
        low=low,
        high=high,
        units=column.units if isinstance(column, Number) else "",
        missing=None if made.is_statistics else column.missing,
        role=column.role.value,
    )


def _kind(type_: pa.DataType) -> Kind:
    if pa.types.is_integer(type_):
        return Kind.WHOLE
    if pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return Kind.NUMBER
    return Kind.DATE if pa.types.is_date(type_) else Kind.TEXT


def _bounds(column: Column) -> tuple[str, str]:
    if isinstance(column, Number):
        low, high = column.bounds
        return spelling(low), spelling(high)
    if isinstance(column, Dates):
        return str(column.firsts[0]), str(column.firsts[-1])
    return "", ""
