"""One part of a large release, drawn and written by one worker: a local thread or a task on Spark."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from understudy.codebook import Codebook
from understudy.files import scratch_beside, sync
from understudy.mechanisms.stream import Stream
from understudy.release.workshop import PARTS, PartFile, Receipt, part_name, write_receipt
from understudy.synth.details import decode_drawn
from understudy.synth.drawers import RangeDrawer

PART_ROWS = 1_000_000
"""Rows per part: some tens of megabytes of Parquet, a second or so of work."""


def part_sizes(rows: int, part_rows: int, step: int) -> list[int]:
    """Rows of every part; all but the last are a multiple of ``step``, so that no chain is cut.

    >>> part_sizes(25, 10, 4)
    [8, 8, 8, 1]
    """
    each = max(part_rows // step, 1) * step
    return [min(each, rows - start) for start in range(0, rows, each)]


Drawer = TypeVar("Drawer")
"""What draws the rows; it travels to the workers beside the job."""


@dataclass(frozen=True, kw_only=True)
class PartsJob(ABC, Generic[Drawer]):
    """Everything that is the same for all parts of one release, save the drawer itself."""

    parts_folder: Path
    receipts_folder: Path
    sizes: tuple[int, ...]
    seed: int | None
    mark: Mapping[bytes, bytes]
    """What every part says of itself, wherever it is copied."""

    @abstractmethod
    def run(self, number: int, drawer: Drawer, report_rows: Callable[[int], None] | None = None) -> Receipt:
        """Draw part ``number`` from its own stream, write it, and return the receipt.

        ``report_rows`` is called with the number of rows after each slice.
        """

    @abstractmethod
    def try_out(self, drawer: Drawer) -> None:
        """Draw a little, destroyed unseen: what must be refused is refused before workers are sent out."""

    def folder_of(self, table: str) -> Path:
        """Where the parts of a table are written."""
        return self.parts_folder

    def write(
        self, number: int, blocks: Iterable[Mapping[str, pa.Table]], warnings: Callable[[], tuple[str, ...]] = tuple
    ) -> Receipt:
        """Write blocks of tables as one part: first under hidden names, then each under its own, then the receipt."""
        name = part_name(number)
        rows: dict[str, int] = {}
        writers: dict[str, pq.ParquetWriter] = {}
        hidden: dict[str, Path] = {}
        try:
            for block in blocks:
                for table, drawn in block.items():
                    if table not in writers:
                        # levels are dictionaries here; without Arrow's own schema every reader sees plain text
                        hidden[table] = scratch_beside(self.folder_of(table) / name)
                        writers[table] = pq.ParquetWriter(hidden[table], drawn.schema, store_schema=False)
                    writers[table].write_table(drawn)
                    rows[table] = rows.get(table, 0) + drawn.num_rows
            assert writers  # a part has at least one row
            files = [self._closed(table, writer, hidden[table], rows[table], name) for table, writer in writers.items()]
        except BaseException:
            for table, writer in writers.items():
                if writer.is_open:
                    _close_quietly(writer)
                hidden[table].unlink(missing_ok=True)
            raise
        first, *others = files
        receipt = Receipt(
            number=number,
            name=name,
            rows=first.rows,
            digest=first.digest,
            warnings=warnings(),
            others=tuple(others),
        )
        write_receipt(self.receipts_folder, receipt)
        return receipt

    def _closed(self, table: str, writer: pq.ParquetWriter, scratch: Path, rows: int, name: str) -> PartFile:
        writer.add_key_value_metadata(dict(self.mark))
        writer.close()
        sync(scratch)
        with scratch.open("rb") as written:
            digest = "sha256:" + hashlib.file_digest(written, "sha256").hexdigest()
        scratch.rename(self.folder_of(table) / name)
        return PartFile(table=table, rows=rows, digest=digest)


@dataclass(frozen=True, kw_only=True)
class PartJob(PartsJob[RangeDrawer]):
    """The parts of one table."""

    book: Codebook
    people: tuple[int, ...] = ()
    """How common each number of records per synthetic person is, where ids are made; nobody is in two slices."""

    def run(self, number: int, drawer: RangeDrawer, report_rows: Callable[[int], None] | None = None) -> Receipt:
        """Slice after slice."""
        stream = Stream.for_part(number, self.seed)
        left, warnings = self.sizes[number], dict[str, None]()

        def slices() -> Iterator[pa.Table]:
            nonlocal left
            while left:
                slice_rows = min(left, drawer.slice_rows)
                drawn = drawer.draw(slice_rows, stream)
                warnings.update(dict.fromkeys(drawn.warnings))
                yield decode_drawn(self.book, drawer.details, drawn.codes, stream, packed=True, people=self.people)
                left -= slice_rows
                if report_rows:
                    report_rows(slice_rows)

        return self.write(number, ({PARTS: table} for table in slices()), lambda: tuple(warnings))

    def try_out(self, drawer: RangeDrawer) -> None:
        """One range in this process."""
        drawer.draw(min(drawer.step, self.sizes[0]), Stream.from_system())


def _close_quietly(writer: Any) -> None:
    """A writer whose disk is full cannot write its footer either; the file is thrown away."""
    with suppress(Exception):
        writer.close()
