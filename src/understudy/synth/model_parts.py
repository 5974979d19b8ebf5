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
import pyarrow.parquet

_MOST_TEXT = 1 << 26
"""Bytes of a description or a codebook."""
_MOST_BYTES = 1 << 30
"""Bytes of all parts together, where the domain of a codebook is larger than any file."""
_MOST_ROWS = 1 << 24
"""Measured cells."""
_NUMBER, _HEADER = 8, 1 << 16
"""Bytes of a number at most, and of what stands before the numbers of an array."""


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
        described = json.loads(self._bytes("model.json", _MOST_TEXT))
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

    def table(self, name: str) -> pa.Table:
        """A Parquet table; a few bytes of it may stand for any number of rows, so these are asked first."""
        content = io.BytesIO(self._bytes(name, _MOST_BYTES))
        rows = pyarrow.parquet.read_metadata(content).num_rows
        if rows > _MOST_ROWS:
            raise ValueError(f"{name} has {rows:,} rows, more than anybody measures")
        return pyarrow.parquet.read_table(content)

    def _bytes(self, name: str, most: int) -> bytes:
        """One part; zipfile never unpacks more than the size that the archive states."""
        stated = self._archive.getinfo(name).file_size
        if stated > min(most, self._left):
            raise ValueError(f"{name} unpacks to {stated:,} bytes, more than its codebook allows")
        self._left -= stated
        return self._archive.read(name)
