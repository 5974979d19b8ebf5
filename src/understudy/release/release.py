"""A table with its manifest, written all at once or not at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from understudy.codebook import Codebook
from understudy.extras import need
from understudy.files import Access, write_file
from understudy.privacy.card import card
from understudy.privacy.provenance import InputRole, Made
from understudy.privacy.spelling import short_promise
from understudy.release.closing import close_folder
from understudy.release.face import ShownTable
from understudy.release.folders import Commit, digest_of, digest_of_bytes, digest_of_tables, new_folder
from understudy.release.formats import formula_like, write_table
from understudy.release.manifest import Manifest

MANIFEST, CODEBOOK = "manifest.json", "codebook.toml"
TABLE, ANONYMIZED = "synthetic.parquet", "anonymized.parquet"
TABLE_NAMES = {
    **dict.fromkeys(Made, TABLE),
    Made.ANONYMIZED: ANONYMIZED,
    Made.COUNTS: "counts.parquet",
    Made.ANSWER: "answer.parquet",
    Made.COMPLETED: "completed.parquet",
}
"""What the table of a release is called; nobody should take real records for synthetic ones."""
_SHOWN_ROWS, _SHOWN_COLUMNS = 5, 8
COUNT_COLUMNS = ("count", "low", "high")
"""What a table of counts says about each combination of levels."""
INPUT_MANIFEST = "input-manifest.json"
"""The manifest of the release that the rows were drawn from, word for word."""


def marked(table: pa.Table, manifest: Manifest) -> pa.Table:
    """The table with the provenance of this release in its metadata."""
    return table.replace_schema_metadata({**(table.schema.metadata or {}), **manifest.provenance.mark()})


def access_of(manifest: Manifest) -> Access:
    """Who may read the folder: completed tables hold the records of real people."""
    return Access.OWNER if manifest.confidential else Access.EVERYBODY


@dataclass(frozen=True, kw_only=True)
class Release:
    """A table that may be published, with its manifest."""

    table: pa.Table
    manifest: Manifest
    attachments: Mapping[str, pa.Table] = field(default_factory=dict, repr=False, compare=False)
    """Public tables that go with it, by file name (Parquet), each marked as what it is."""

    def __post_init__(self) -> None:
        """Mark the tables with their provenance, so that they are not taken for tables of people."""
        object.__setattr__(self, "table", marked(self.table, self.manifest))

    @property
    def codebook(self) -> Codebook:
        """The public description of the columns."""
        assert isinstance(self.manifest.codebook, Codebook)
        return self.manifest.codebook

    @property
    def statement(self) -> str:
        """The promise in plain words."""
        return self.manifest.statement

    @property
    def digest(self) -> str:
        """What an account keeps of a release that was handed over in memory: the digest of its table."""
        return digest_of_tables([(b"", self.table)])

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
        number = "" if self.manifest.confidential else f" of {self.manifest.rows:,} rows"
        words = ", confidential: rows withheld" if self.manifest.confidential else ""
        return f"<Release{number} by {self.manifest.method}, {self.manifest.total.kind}{words}>"

    def _repr_html_(self) -> str:
        """A card; rows of real people, or that nobody promised anything about, are shown only when asked for."""
        manifest, total = self.manifest, self.manifest.total
        facts = [("Promise", short_promise(total)), ("Account", manifest.account)]
        if not manifest.confidential:
            facts.append(("Rows", f"{manifest.rows:,}"))
        rows: list[list[str]] = []
        note = "It has no formal privacy guarantee."
        if total.is_formal:
            note = "It is confidential." if manifest.confidential else manifest.statement
        if total.is_formal and not manifest.real_records:
            names = self.table.column_names[:_SHOWN_COLUMNS]
            first = self.table.select(names).slice(0, _SHOWN_ROWS).to_pylist()
            rows = [names, *(["" if value is None else str(value) for value in row.values()] for row in first)]
        else:
            note += " Its rows are withheld here; `table` has them."
        return card(f"Release by {manifest.method}", facts, rows=rows, note=note)

    def save(self, target: str | Path, *, formats: Sequence[str] = (), commit: Commit | None = None) -> Path:
        """Write table, codebook and manifest to a new folder. A crash or a full disk leaves no folder behind.

        ``formats`` are those beside Parquet: csv, xlsx, sav, dta (:mod:`understudy.release.formats`).
        """
        place = Path(target)
        table = TABLE_NAMES[self.manifest.made]
        book, data = self.codebook, self.manifest.quote.inputs.get(InputRole.DATA)
        access = access_of(self.manifest)
        with new_folder(place, speaks=lambda f: digest_of(f / MANIFEST), commit=commit, access=access) as folder:
            pyarrow.parquet.write_table(self.table, folder / table)
            write_file(folder / CODEBOOK, book.to_toml())
            for form in formats:
                write_table(self.table, book, self.manifest.made, folder / table_as(table, form), form)
            if data is not None and data.text:
                write_file(folder / INPUT_MANIFEST, data.text)
            for name, attached in self.attachments.items():
                pyarrow.parquet.write_table(attached, folder / name)
            files = {name: digest_of(folder / name) for name in sorted(path.name for path in folder.iterdir())}
            shown = ShownTable(title=table, files=(folder / table,), book=book)
            close_folder(folder / MANIFEST, self.manifest, files, [shown])
        return place

    def formula_like(self) -> list[str]:
        """Columns with a level that a spreadsheet would run as a formula when it opens the CSV."""
        return formula_like(self.codebook)


def table_as(table: str, form: str) -> str:
    """The name of a table in another format."""
    return f"{table.removesuffix('.parquet')}.{form}"


def save_many(
    releases: Sequence[Release], folder: str | Path, *, formats: Sequence[str] = (), commit: Commit | None = None
) -> Path:
    """Write several releases to numbered folders of a new one: all of them, and all of them paid, or none."""
    target = Path(folder)
    numbers = [str(number) for number in range(1, len(releases) + 1)]

    def speaks(scratch: Path) -> str:
        return digest_of_bytes("\n".join(digest_of(scratch / name / MANIFEST) for name in numbers).encode())

    access = max(map(access_of, (one.manifest for one in releases)), key=[Access.EVERYBODY, Access.OWNER].index)
    with new_folder(target, speaks=speaks, commit=commit, access=access) as scratch:
        for name, release in zip(numbers, releases, strict=True):
            release.save(scratch / name, formats=formats)
    return target
