"""A synthetic table with its manifest, written all at once or not at all."""

import hashlib
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from understudy.codebook import Codebook, Levelled
from understudy.errors import ReleaseError
from understudy.release.manifest import Manifest
from understudy.sources.ancestry import MARK, Made, mark, marked

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
    "digest_of",
    "refuse_existing",
    "save_many",
    "sync",
    "table_names",
    "uninterrupted",
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
    settle: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)
    """Called just before the release leaves the program: from then on its price cannot be given back."""
    attachments: Mapping[str, pa.Table] = field(default_factory=dict, repr=False, compare=False)
    """Public tables that go with it, by file name (Parquet)."""

    def __post_init__(self) -> None:
        """The table says wherever it goes that it is a release: nobody should draw from it as if it were people."""
        kept = self.table.schema.metadata or {}
        if MARK not in kept and self.manifest.holds == "synthetic":
            made = Made.COMPLETED if self.manifest.confidential else Made.SYNTHETIC
            # with a seed the same bytes come out again, so that no name made by chance is among them
            name = self.manifest.release_id if self.manifest.secure else "made with a seed"
            said = mark(release=name, record_wise=False, made=made)
            object.__setattr__(self, "table", self.table.replace_schema_metadata({**kept, **said}))

    @property
    def codebook(self) -> Codebook:
        """The public description of the columns."""
        return self.manifest.codebook

    @property
    def statement(self) -> str:
        """The promise in plain words."""
        return self.manifest.statement

    def to_pandas(self) -> Any:
        """The table as a pandas frame (needs the extra ``pandas``)."""
        return marked(self.table.to_pandas(), self.table.schema.metadata)

    def to_polars(self) -> Any:
        """The table as a Polars frame (needs the extra ``polars``)."""
        try:
            import polars
        except ImportError:
            raise ReleaseError(
                "Polars is not installed here; run `pip install 'understudy[polars]'`, or use `to_pandas`."
            ) from None
        return polars.from_arrow(self.table)

    def __repr__(self) -> str:
        kind = self.manifest.total.kind
        return f"<Release of {self.manifest.rows:,} rows by {self.manifest.method}, {kind}>"

    def save(self, folder: str | Path, *, csv: bool = False) -> Path:
        """Write table, codebook and manifest to a new folder. A crash or a full disk leaves no folder behind."""
        target = Path(folder)
        with new_folder(target, before=self.settle) as scratch:
            table, text_table = table_names(self.manifest.holds, confidential=self.manifest.confidential)
            pyarrow.parquet.write_table(self.table, scratch / table)
            written = [table, CODEBOOK]
            (scratch / CODEBOOK).write_text(self.codebook.to_toml(), encoding="utf-8", newline="\n")
            if csv:
                pyarrow.csv.write_csv(self._with_tokens(), scratch / text_table)
                written.append(text_table)
            if self.manifest.ancestor is not None and self.manifest.ancestor.text:
                (scratch / INPUT_MANIFEST).write_text(self.manifest.ancestor.text, encoding="utf-8", newline="\n")
                written.append(INPUT_MANIFEST)
            for name, attached in self.attachments.items():
                pyarrow.parquet.write_table(attached, scratch / name)
                written.append(name)
            files = {name: digest_of(scratch / name) for name in sorted(written)}
            text = json.dumps(self.manifest.to_dict(files), indent=2, ensure_ascii=False)
            (scratch / MANIFEST).write_text(text + "\n", encoding="utf-8", newline="\n")
        return target

    def _with_tokens(self) -> pa.Table:
        """For CSV: missing values spelled as the codebook spells them."""
        if self.manifest.holds == "counts":  # labels, tokens among them, and numbers
            return self.table
        columns = []
        for name in self.table.column_names:
            values, token = self.table.column(name), self.codebook.column(name).missing
            columns.append(values if token is None else values.cast(pa.string()).fill_null(token))
        return pa.table(columns, names=self.table.column_names)

    def formula_like(self) -> list[str]:
        """Columns with a level that a spreadsheet would run as a formula when it opens the CSV."""
        return [
            column.name
            for column in self.codebook.released
            if isinstance(column, Levelled) and any(level.startswith(("=", "+", "-", "@")) for level in column.levels)
        ]


def table_names(holds: str, *, confidential: bool) -> tuple[str, str]:
    """What the table of a release is called, as Parquet and as CSV."""
    if confidential:
        return COMPLETED, COMPLETED_CSV
    return {"anonymized": (ANONYMIZED, ANONYMIZED_CSV), "counts": (COUNTS, COUNTS_CSV)}.get(holds, (TABLE, CSV))


def save_many(releases: Sequence[Release], folder: str | Path, *, csv: bool = False) -> Path:
    """Write several releases to numbered folders of a new one: all of them, and all of them paid, or none."""
    target = Path(folder)

    def settle_all() -> None:
        for release in releases:
            release.settle()

    with new_folder(target, before=settle_all) as scratch:
        for number, release in enumerate(releases, start=1):
            replace(release, settle=lambda: None).save(scratch / str(number), csv=csv)
    return target


def digest_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as data:
        return "sha256:" + hashlib.file_digest(data, "sha256").hexdigest()


@contextmanager
def new_folder(target: Path, *, before: Callable[[], None]) -> Iterator[Path]:
    """A scratch folder beside ``target`` that takes its name only once everything in it is safely on disk.

    ``before`` runs at the last moment before the folder appears, with Ctrl-C held back: no release without its charge.
    """
    refuse_existing(target)
    try:
        scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}-unfinished-", dir=target.absolute().parent))
    except OSError as reason:
        raise ReleaseError(
            f"nothing can be written beside {str(target)!r} ({reason.strerror}); choose a folder you may write to."
        ) from None
    try:
        yield scratch
        for path in [*scratch.iterdir(), scratch]:
            sync(path)
        scratch.chmod(0o755)
        with uninterrupted():
            refuse_existing(target)
            before()
            scratch.rename(target)
            sync(target.absolute().parent)
    except (OSError, pa.ArrowException) as reason:
        raise ReleaseError(
            f"the release {str(target)!r} could not be written ({reason}); free space or choose another folder. "
            "Nothing was left behind."
        ) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def refuse_existing(target: Path) -> None:
    """A release never overwrites anything."""
    try:
        taken = target.exists() or target.is_symlink()
    except OSError as reason:
        raise ReleaseError(_odd_name(target, reason)) from None
    if taken:
        raise ReleaseError(
            f"{str(target)!r} exists already; a release never overwrites. Choose another folder or remove that one."
        )


def _odd_name(target: Path, reason: OSError) -> str:
    shown = str(target) if len(str(target)) <= 80 else f"{str(target)[:80]}…"
    why = (reason.strerror or "not a name").lower()
    return f"nothing can be called {shown!r} ({why}); choose a shorter or plainer name."


def sync(path: Path) -> None:
    """Make sure that a file or folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back for the two system calls between "nothing" and "everything"."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not the main thread: Python delivers no interrupt here
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
