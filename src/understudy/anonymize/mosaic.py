"""Mosaic plots of quasi-identifiers (dissertation figures 2.5 and 2.6): small boxes are people who can be found.

Columns stand for combinations of all but the last quasi-identifier shown, boxes for the last; areas are numbers of
rows.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_MOST_ACROSS, _MOST_UP = 9, 16
OTHERS = "other levels"
MISSING = "missing"


@dataclass(frozen=True, kw_only=True)
class Mosaic:
    """Rows per combination: ``counts[x][y]``."""

    across: tuple[str, ...]
    """The columns whose combinations are the columns of the plot: one, or two."""
    up: str
    x_labels: tuple[tuple[str, ...], ...]
    y_labels: tuple[str, ...]
    counts: npt.NDArray[np.int64]
    k: int

    @property
    def rare(self) -> int:
        """Boxes of 1 to k - 1 rows."""
        return int(((self.counts > 0) & (self.counts < self.k)).sum())

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "across": list(self.across),
            "up": self.up,
            "x": [" / ".join(label) for label in self.x_labels],
            "y": list(self.y_labels),
            "counts": self.counts.tolist(),
            "k": self.k,
        }


def mosaic_counts(table: pa.Table, *, across: Sequence[str], up: str, k: int) -> Mosaic:
    """Count a table of text for its mosaic; beyond a dozen or so, the rarest levels are drawn as one."""
    parts = [_levels(table, name, _MOST_ACROSS) for name in across]
    up_codes, up_labels = _levels(table, up, _MOST_UP)
    key = np.zeros(table.num_rows, dtype=np.int64)
    for codes, labels in parts:
        key = key * len(labels) + codes
    shape = [len(labels) for _, labels in parts]
    counts = np.zeros((int(np.prod(shape)), len(up_labels)), dtype=np.int64)
    np.add.at(counts, (key, up_codes), 1)
    names = tuple(itertools.product(*(labels for _, labels in parts)))
    return Mosaic(across=tuple(across), up=up, x_labels=names, y_labels=tuple(up_labels), counts=counts, k=k)


def _levels(table: pa.Table, name: str, most: int) -> tuple[npt.NDArray[np.int64], list[str]]:
    column = table.column(name).combine_chunks()
    column = column if pa.types.is_string(column.type) else column.cast(pa.string())
    encoded = column.fill_null(MISSING).dictionary_encode()
    values = [str(value) for value in encoded.dictionary.to_pylist()]
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    counts = np.bincount(codes, minlength=len(values))
    kept = sorted(range(len(values)), key=lambda code: -counts[code])[: most if len(values) <= most else most - 1]
    shown = sorted((values[code] for code in kept), key=_natural)
    place = {value: rank for rank, value in enumerate(shown)}
    others = len(shown)
    mapping = np.array([place.get(value, others) for value in values], dtype=np.int64)
    return mapping[codes], shown + ([OTHERS] if len(kept) < len(values) else [])


def _natural(label: str) -> tuple[bool, float, str]:
    """Stars last, numbers by size."""
    head = label.split("-", maxsplit=1)[0].strip("+[(")
    return label == "*", float(head) if head.replace(".", "", 1).isdigit() else float("inf"), label
