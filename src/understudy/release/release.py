"""A table with its manifest, written all at once or not at all."""

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from understudy.codebook import Codebook, Levelled
from understudy.extras import need
from understudy.privacy.provenance import InputRole, Made
from understudy.release.folders import Commit, digest_of, digest_of_bytes, new_folder
from understudy.release.manifest import Manifest

__all__ = [
    "ANONYMIZED",
    "CODEBOOK",
    "COMPLETED",
    "COUNTS",
    "COUNT_COLUMNS",
    "CSV",
    "INPUT_MANIFEST",
    "MANIFEST",
    "TABLE",
    "Release",
    "manifest_text",
    "save_many",
    "spelled_table",
    "table_names",
]

TABLE, CSV, MANIFEST, CODEBOOK = "synthetic.parquet", "synthetic.csv", "manifest.json", "codebook.toml"
COMPLETED, COMPLETED_CSV = "completed.parquet", "completed.csv"
"""Names of tables that hold real records: nobody should take them for synthetic ones."""
ANONYMIZED, ANONYMIZED_CSV = "anonymized.parquet", "anonymized.csv"
COUNTS, COUNTS_CSV = "counts.parquet", "counts.csv"
COUNT_COLUMNS = ("count", "low", "high")
"""What a table of counts says about each combination of levels."""
INPUT_MANIFEST = "input-manifest.json"
"""The manifest of the release that the rows were drawn from, word for word."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """What may leave the house."""

    table: pa.Table
    manifest: Manifest
    attachments: Mapping[str, pa.Table] = field(default_factory=dict, repr=False, compare=False)
    """Public tables that go with it, by file name (Parquet)."""

    def __post_init__(self) -> None:
        """The table says wherever it goes what it is: nobody should draw from it as if it were people."""
        kept = self.table.schema.metadata or {}
        marked = self.table.replace_schema_metadata({**kept, **self.manifest.provenance.mark()})
        object.__setattr__(self, "table", marked)

    @property
    def codebook(self) -> Codebook:
        """The public description of the columns."""
        return self.manifest.codebook

    @property
    def statement(self) -> str:
        """The promise in plain words."""
        return self.manifest.statement

    @property
    def digest(self) -> str:
        """What an account keeps of a release that was handed over in memory: the digest of its table."""
        hashed = _Hashed()
        with pa.ipc.new_stream(pa.PythonFile(hashed, mode="w"), self.table.schema) as stream:
            stream.write_table(self.table)
        return f"sha256:{hashed.sha256.hexdigest()}"

    def to_pandas(self) -> Any:
        """The table as a pandas frame (needs the extra ``formats``); many, not all, of its operations keep the mark."""
        need("pandas", extra="formats", what="a pandas frame")
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """The table as a Polars frame (needs the extra ``formats``), which keeps no mark: save it with its manifest."""
        need("polars", extra="formats", what="a Polars frame")
        import polars

        return polars.from_arrow(self.table)

    def __repr__(self) -> str:
        kind = self.manifest.total.kind
        return f"<Release of {self.manifest.rows:,} rows by {self.manifest.method}, {kind}>"

    def save(self, target: str | Path, *, csv: bool = False, commit: Commit | None = None) -> Path:
        """Write table, codebook and manifest to a new folder. A crash or a full disk leaves no folder behind."""
        place = Path(target)
        with new_folder(place, speaks=lambda scratch: digest_of(scratch / MANIFEST), commit=commit) as scratch:
            self.write_into(scratch, csv=csv)
        return place

    def write_into(self, folder: Path, *, csv: bool) -> None:
        """Every file of the release; the manifest last, with the digests of the others."""
        table, text_table = table_names(self.manifest.made)
        pyarrow.parquet.write_table(self.table, folder / table)
        written = [table, CODEBOOK]
        (folder / CODEBOOK).write_text(self.codebook.to_toml(), encoding="utf-8", newline="\n")
        if csv:
            pyarrow.csv.write_csv(spelled_table(self.table, self.codebook, self.manifest.made), folder / text_table)
            written.append(text_table)
        data = self.manifest.quote.inputs.get(InputRole.DATA)
        if data is not None and data.text:
            (folder / INPUT_MANIFEST).write_text(data.text, encoding="utf-8", newline="\n")
            written.append(INPUT_MANIFEST)
        for name, attached in self.attachments.items():
            pyarrow.parquet.write_table(attached, folder / name)
            written.append(name)
        files = {name: digest_of(folder / name) for name in sorted(written)}
        (folder / MANIFEST).write_text(manifest_text(self.manifest, files), encoding="utf-8", newline="\n")

    def formula_like(self) -> list[str]:
        """Columns with a level that a spreadsheet would run as a formula when it opens the CSV."""
        return [
            column.name
            for column in self.codebook.released
            if isinstance(column, Levelled) and any(level.startswith(("=", "+", "-", "@")) for level in column.levels)
        ]


class _Hashed(io.RawIOBase):
    """A file that keeps nothing but the digest of what was written to it."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self.sha256.update(content)
        return len(content)


def manifest_text(manifest: Manifest, files: Mapping[str, str]) -> str:
    """``manifest.json``."""
    return json.dumps(manifest.to_dict(files), indent=2, ensure_ascii=False) + "\n"


def spelled_table(table: pa.Table, book: Codebook, made: Made) -> pa.Table:
    """For CSV: missing values spelled as the codebook spells them."""
    if made is Made.COUNTS:  # labels, tokens among them, and numbers
        return table
    columns = []
    for name in table.column_names:
        values, token = table.column(name), book.column(name).missing
        columns.append(values if token is None else values.cast(pa.string()).fill_null(token))
    return pa.table(columns, names=table.column_names)


def table_names(made: Made) -> tuple[str, str]:
    """What the table of a release is called, as Parquet and as CSV."""
    return {
        Made.ANONYMIZED: (ANONYMIZED, ANONYMIZED_CSV),
        Made.COUNTS: (COUNTS, COUNTS_CSV),
        Made.COMPLETED: (COMPLETED, COMPLETED_CSV),
    }.get(made, (TABLE, CSV))


def save_many(
    releases: Sequence[Release], folder: str | Path, *, csv: bool = False, commit: Commit | None = None
) -> Path:
    """Write several releases to numbered folders of a new one: all of them, and all of them paid, or none."""
    target = Path(folder)
    numbers = [str(number) for number in range(1, len(releases) + 1)]

    def speaks(scratch: Path) -> str:
        return digest_of_bytes("\n".join(digest_of(scratch / name / MANIFEST) for name in numbers).encode())

    with new_folder(target, speaks=speaks, commit=commit) as scratch:
        for name, release in zip(numbers, releases, strict=True):
            release.save(scratch / name, csv=csv)
    return target
