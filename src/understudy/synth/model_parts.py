"""The parts of a model file, read only as far as its codebook allows: a small file must not fill the memory.

What a part says it unpacks to is held against the cells that the codebook gives its table before anything is unpacked.
"""

import io
import json
import math
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from understudy.codebook import Codebook
from understudy.release.measurements import MEASUREMENTS, bounded_table, most_measured

_MOST_DESCRIPTION, _MOST_TEXT = 1 << 24, 1 << 26
"""Bytes of a description and of a codebook. Of a few bytes of JSON Python makes an object of a hundred."""
_MOST_BYTES = 1 << 30
"""Bytes of all parts together, where the domain of a codebook is larger than any file."""
_NUMBER, _HEADER, _PARQUET = 8, 1 << 16, 32
"""Bytes of a number at most, of what stands before the numbers of an array, and of a number with all that Parquet keeps
of it."""


class ModelParts:
    """An open archive that counts what it unpacks."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._left = _MOST_BYTES

    def has(self, name: str) -> bool:
        """Whether there is such a part."""
        return name in self._archive.namelist()

    def described(self) -> dict[str, Any]:
        """The description of the model."""
        described = json.loads(self._bytes("model.json", _MOST_DESCRIPTION))
        if not isinstance(described, dict):
            raise ValueError("model.json is no table of facts")
        return described

    def codebook(self) -> str:
        """The text of its codebook."""
        return self._bytes("codebook.toml", _MOST_TEXT).decode("utf-8")

    def array(self, name: str, *, most: int, dimensions: int) -> Any:
        """An array of at most ``most`` whole numbers."""
        content = io.BytesIO(self._bytes(name, _NUMBER * most + _HEADER))
        values = np.load(content, allow_pickle=False)
        if values.ndim != dimensions or values.dtype.kind not in "iu" or values.size > most:
            raise ValueError(f"{name} does not hold the whole numbers of its codebook")
        return values

    def cells(self, number: int, sizes: Sequence[int]) -> tuple[Any, Any]:
        """Codes and noisy counts of the occupied cells of a table, whose columns have ``sizes`` levels."""
        most = math.prod(sizes)
        codes = self.array(f"table-{number}-codes.npy", most=most * len(sizes), dimensions=2)
        return codes, self.array(f"table-{number}-noisy-counts.npy", most=most, dimensions=1)

    def measurements(self, book: Codebook) -> pa.Table:
        """What was measured; a few bytes of Parquet may stand for any number, so the codebook is asked first."""
        numbers, lines = most_measured(book)
        longest = max(len(column.name.encode()) for column in book.counted)
        most = _PARQUET * numbers + 3 * lines * (longest + _NUMBER) + _HEADER
        return bounded_table(pa.BufferReader(self._bytes(MEASUREMENTS, most)), book)

    def _bytes(self, name: str, most: int) -> bytes:
        """One part; zipfile never unpacks more than the size that the archive states."""
        stated = self._archive.getinfo(name).file_size
        if stated > min(most, self._left):
            raise ValueError(f"{name} unpacks to {stated:,} bytes, more than its codebook allows")
        self._left -= stated
        return self._archive.read(name)
