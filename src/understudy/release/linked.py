"""Linked tables with one manifest, drawn block by block and written all at once or not at all."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from understudy.codebook import LinkedCodebook
from understudy.files import write_file
from understudy.privacy.provenance import Made
from understudy.privacy.spelling import short_promise
from understudy.release.closing import close_folder
from understudy.release.face import ShownTable
from understudy.release.folders import Commit, digest_of, digest_of_tables, new_folder
from understudy.release.formats import formula_like, write_table
from understudy.release.manifest import Manifest
from understudy.release.release import CODEBOOK, MANIFEST, marked

Block = Mapping[str, pa.Table]


def table_file(name: str, form: str = "parquet") -> str:
    """The file of a table in a release of several."""
    return f"{name}.{form}"


def table_files(name: str, files: Iterable[str]) -> list[str]:
    """Of the files of a release, that of a table, or its parts.

    >>> table_files("stays", ["stays.parquet", "other.parquet"]), table_files("stays", ["stays/part-0.parquet"])
    (['stays.parquet'], ['stays/part-0.parquet'])
    """
    return sorted(file for file in files if file.startswith(f"{name}/")) or [table_file(name)]


def shown_linked(place: Path, book: LinkedCodebook, files: Iterable[str]) -> list[ShownTable]:
    """The tables as the page of their release shows them; ``files`` are those of the release."""
    shown = []
    for table in book.tables:
        own = table_files(table.name, files)
        shown.append(
            ShownTable(
                title=own[0] if own == [table_file(table.name)] else table.name,
                files=tuple(place / file for file in own),
                book=replace(table.as_file, title=book.title, description=book.description),
            )
        )
    return shown


class LinkedRelease:
    """Tables that may be published, with their manifest. What is written is drawn while it is written."""

    def __init__(self, *, manifest: Manifest, blocks: Iterator[Block]) -> None:
        self._manifest = manifest
        self._blocks = blocks
        self._place: Path | None = None
        """Where the tables were written as they were drawn; they are read back from there."""

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """All tables by name, in memory."""
        if self._place is not None:
            names = [table.name for table in self.codebook.tables]
            return {name: pyarrow.parquet.read_table(self._place / table_file(name)) for name in names}
        parts: dict[str, list[pa.Table]] = {}
        for block in self._blocks:
            for name, table in block.items():
                parts.setdefault(name, []).append(table)
        tables = {name: marked(pa.concat_tables(each), self._manifest) for name, each in parts.items()}
        self._count({name: table.num_rows for name, table in tables.items()})
        return tables

    @property
    def manifest(self) -> Manifest:
        """What was made, how, and at what price; with the rows of each table, once they are drawn."""
        return self._manifest

    @property
    def codebook(self) -> LinkedCodebook:
        """The public description of the tables."""
        assert isinstance(self._manifest.codebook, LinkedCodebook)
        return self._manifest.codebook

    @property
    def statement(self) -> str:
        """The promise in plain words."""
        return self._manifest.statement

    @property
    def digest(self) -> str:
        """What an account keeps of a release that was handed over in memory: the digest of its tables."""
        return digest_of_tables((name.encode() + b"\x00", table) for name, table in self.tables.items())

    def formula_like(self) -> list[str]:
        """Columns with a level that a spreadsheet would run as a formula when it opens a CSV."""
        return formula_like(self.codebook)

    def __repr__(self) -> str:
        names = ", ".join(table.name for table in self.codebook.tables)
        return f"<LinkedRelease of {names} by {self._manifest.method}, {short_promise(self._manifest.total)}>"

    def save(self, target: str | Path, *, formats: Sequence[str] = (), commit: Commit | None = None) -> Path:
        """Write every table, the codebook and the manifest to a new folder; a crash leaves no folder behind.

        ``formats`` are those beside Parquet (:mod:`understudy.release.formats`).
        """
        place = Path(target)
        with new_folder(place, speaks=lambda folder: digest_of(folder / MANIFEST), commit=commit) as folder:
            self._write(folder)
            for table in self.codebook.tables:
                for form in formats:
                    whole = pyarrow.parquet.read_table(folder / table_file(table.name))
                    path = folder / table_file(table.name, form)
                    write_table(whole, table.as_file, Made.SYNTHETIC, path, form)
            write_file(folder / CODEBOOK, self.codebook.to_toml())
            files = {name: digest_of(folder / name) for name in sorted(path.name for path in folder.iterdir())}
            close_folder(folder / MANIFEST, self._manifest, files, shown_linked(folder, self.codebook, files))
        self._place = place
        return place

    def _write(self, folder: Path) -> None:
        """The tables, block by block where they are not in memory yet."""
        blocks = [self.tables] if "tables" in self.__dict__ or self._place is not None else self._blocks
        rows: dict[str, int] = {}
        with ExitStack() as stack:
            writers: dict[str, pyarrow.parquet.ParquetWriter] = {}
            for block in blocks:
                for name, drawn in block.items():
                    table = marked(drawn, self._manifest)
                    if name not in writers:
                        path = folder / table_file(name)
                        writers[name] = stack.enter_context(pyarrow.parquet.ParquetWriter(path, table.schema))
                    writers[name].write_table(table)
                    rows[name] = rows.get(name, 0) + table.num_rows
        self._count(rows)

    def _count(self, rows: dict[str, int]) -> None:
        self._manifest = replace(self._manifest, tables=rows)
