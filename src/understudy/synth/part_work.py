"""One part of a large release, drawn and written by one worker: a local thread or a task on Spark."""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from understudy.codebook import Codebook
from understudy.mechanisms.stream import Stream
from understudy.release.folders import sync
from understudy.release.workshop import Receipt, part_name, write_receipt
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


@dataclass(frozen=True, kw_only=True)
class PartJob:
    """Everything that is the same for all parts of one release, save the drawer itself."""

    book: Codebook
    parts_folder: Path
    receipts_folder: Path
    sizes: tuple[int, ...]
    seed: int | None
    mark: Mapping[bytes, bytes]
    """What every part says of itself, wherever it is copied."""
    people: tuple[int, ...] = ()
    """How common each number of records per synthetic person is, where ids are made; nobody is in two slices."""

    def run(self, number: int, drawer: RangeDrawer, report_rows: Callable[[int], None] | None = None) -> Receipt:
        """Draw part ``number`` from its own stream, write it, and return the receipt.

        ``report_rows`` is called with the number of rows after each slice.
        """
        stream = Stream.for_part(number, self.seed)
        left, warnings = self.sizes[number], dict[str, None]()

        def batches() -> Any:
            nonlocal left
            while left:
                slice_rows = min(left, drawer.slice_rows)
                drawn = drawer.draw(slice_rows, stream)
                warnings.update(dict.fromkeys(drawn.warnings))
                yield decode_drawn(self.book, drawer.details, drawn.codes, stream, packed=True, people=self.people)
                left -= slice_rows
                if report_rows:
                    report_rows(slice_rows)

        return self.write(number, batches(), lambda: tuple(warnings))

    def write(self, number: int, tables: Any, warnings: Callable[[], tuple[str, ...]] = tuple) -> Receipt:
        """Write tables as one part: first under a hidden name, then in one step under its own, then its receipt."""
        name = part_name(number)
        scratch = self.parts_folder / f".{name}"
        rows = 0
        writer = None
        try:
            for table in tables:
                # levels are dictionaries here; without Arrow's own schema every reader sees plain text
                writer = writer or pq.ParquetWriter(scratch, table.schema, store_schema=False)
                writer.write_table(table)
                rows += table.num_rows
            assert writer is not None  # a part has at least one row
            writer.add_key_value_metadata(dict(self.mark))
            writer.close()
            sync(scratch)
            with scratch.open("rb") as written:
                digest = "sha256:" + hashlib.file_digest(written, "sha256").hexdigest()
            scratch.rename(self.parts_folder / name)
        except BaseException:
            if writer is not None and writer.is_open:
                _close_quietly(writer)
            scratch.unlink(missing_ok=True)
            raise
        receipt = Receipt(number=number, name=name, rows=rows, digest=digest, warnings=warnings())
        write_receipt(self.receipts_folder, receipt)
        return receipt


def _close_quietly(writer: Any) -> None:
    """A writer whose disk is full cannot write its footer either; the file is thrown away."""
    with suppress(Exception):
        writer.close()
