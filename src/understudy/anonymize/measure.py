"""What a released table really has: k, l and t, counted again from the values as they are written.

Nothing here is shared with the search that made the table: plain NumPy on the table's own text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.anonymize.criteria import Criterion, uses_distance
from understudy.errors import DataError

Tree = Mapping[str, Sequence[str]]
"""For each value of a column the names of its groups, finest first."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What was counted."""

    rows: int
    classes: int
    k: int
    achieved: tuple[tuple[Criterion, float], ...]
    """Each criterion with the number of its worst class."""

    @property
    def broken(self) -> tuple[tuple[Criterion, float], ...]:
        """Criteria that the worst class does not pass."""
        return tuple((criterion, value) for criterion, value in self.achieved if not criterion.passes(value))

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for a manifest."""
        return {
            "k": self.k,
            "classes": self.classes,
            "criteria": [
                {**criterion.to_dict(), "achieved": value if np.isfinite(value) else None}
                for criterion, value in self.achieved
            ],
        }


def measure(
    table: pa.Table,
    *,
    quasi: Sequence[str],
    criteria: Sequence[Criterion] = (),
    orders: Mapping[str, Sequence[str]] | None = None,
    trees: Mapping[str, Tree] | None = None,
) -> Measured:
    """Count the classes of a table and measure every criterion in its worst class.

    ``orders`` lists the values of a column from low to high, for ordered distances; a value that is not listed, missing
    ones too, comes last. ``trees`` gives the groups of every value, for hierarchical distances.
    """
    if table.num_rows == 0:
        raise DataError("the table has no rows; there is nothing to measure.")
    classes = row_classes(table, quasi)
    sizes = np.bincount(classes)
    order = np.argsort(classes, kind="stable")
    achieved = []
    for criterion in criteria:
        codes, values = _coded(table, criterion.column, (orders or {}).get(criterion.column))
        tree = None
        if uses_distance(criterion, "hierarchical"):
            tree = _tree(values, (trees or {}).get(criterion.column))
        whole = np.bincount(codes, minlength=len(values))
        inside = np.split(codes[order], np.cumsum(sizes)[:-1])
        numbers = [criterion.measure(np.bincount(part, minlength=len(values)), whole, tree) for part in inside]
        achieved.append((criterion, criterion.worst(numbers)))
    return Measured(rows=table.num_rows, classes=len(sizes), k=int(sizes.min()), achieved=tuple(achieved))


def row_classes(table: pa.Table, quasi: Sequence[str]) -> npt.NDArray[np.int64]:
    """The class of every row: rows that agree in all quasi-identifiers, missing values being alike."""
    if missing := [name for name in quasi if name not in table.column_names]:
        raise DataError(
            f"the table has no column {', '.join(map(repr, missing))}; it has {', '.join(table.column_names)}."
        )
    classes = np.zeros(table.num_rows, dtype=np.int64)
    for name in quasi:
        codes, values = _coded(table, name, None)
        classes = np.unique(classes * len(values) + codes, return_inverse=True)[1].ravel()
    return classes


def class_sizes(table: pa.Table, quasi: Sequence[str]) -> npt.NDArray[np.int64]:
    """Rows of each class."""
    return np.bincount(row_classes(table, quasi)).astype(np.int64)


def _coded(table: pa.Table, name: str, order: Sequence[str] | None) -> tuple[npt.NDArray[np.int64], list[str | None]]:
    """Codes of a column over the values that occur in it, in the given order."""
    column = table.column(name)
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not pa.types.is_string(column.type):
        column = column.cast(pa.string())
    encoded = column.dictionary_encode(null_encoding="encode")
    values = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    if order is None:
        return codes, values
    place = {value: rank for rank, value in enumerate(order)}
    ranks = sorted(range(len(values)), key=lambda code: (place.get(values[code], len(place)), str(values[code])))
    moved = np.empty(len(values), dtype=np.int64)
    moved[ranks] = np.arange(len(values))
    return moved[codes], [values[code] for code in ranks]


def _tree(values: Sequence[str | None], tree: Tree | None) -> npt.NDArray[np.int64]:
    """Nodes of the values by height; without a tree all hang at one root, and so does what the tree does not know."""
    height = max((len(groups) for groups in (tree or {}).values()), default=0)
    lines: list[npt.NDArray[np.int64]] = [np.arange(len(values), dtype=np.int64)]
    for step in range(height):
        names = [
            (tree or {}).get(str(value), [])[step] if value is not None and str(value) in (tree or {}) else f"\0{value}"
            for value in values
        ]
        lines.append(np.unique(names, return_inverse=True)[1].astype(np.int64))
    if lines[-1].max() > 0 or height == 0:
        lines.append(np.zeros(len(values), dtype=np.int64))
    return np.stack(lines)
