"""Records as weighted cells: what every attack by counting works on.

A table comes as its occupied combinations and how many records share each, so a million records cost what their
distinct combinations cost, and neither the order of rows nor their names can matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.evaluate.checks import check_column, check_same_columns
from understudy.sources.base import Source

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_KEY_LIMIT = 1 << 62


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """Occupied combinations of ``columns``: one row of codes each, and its number of records."""

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    codes: Ints
    counts: Ints

    @property
    def rows(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    def pick(self, columns: Sequence[str]) -> Ints:
        """Codes of some of the columns."""
        return self.codes[:, [self.columns.index(name) for name in columns]]

    def sizes_of(self, columns: Sequence[str]) -> tuple[int, ...]:
        """Number of levels of some of the columns."""
        return tuple(self.sizes[self.columns.index(name)] for name in columns)

    def records(self) -> Ints:
        """One row of codes per record."""
        return np.repeat(self.codes, self.counts, axis=0)

    def resample(self, rows: int, rng: np.random.Generator) -> "Cells":
        """``rows`` records drawn with replacement: a bootstrap of that size."""
        drawn = rng.multinomial(rows, self.counts / self.counts.sum())
        return self._with(drawn)

    def where(self, kept: npt.NDArray[np.bool_]) -> "Cells":
        """Some of the combinations."""
        return Cells(columns=self.columns, sizes=self.sizes, codes=self.codes[kept], counts=self.counts[kept])

    def subsample(self, rows: int, rng: np.random.Generator) -> "Cells":
        """``rows`` of the records, drawn without replacement."""
        if rows >= self.rows:
            return self
        return self._with(rng.multivariate_hypergeometric(self.counts, rows, method="marginals"))

    def _with(self, counts: Ints) -> "Cells":
        kept = counts > 0
        return Cells(columns=self.columns, sizes=self.sizes, codes=self.codes[kept], counts=counts[kept])


def open_cells(source: Source, columns: Sequence[str]) -> Cells:
    """Count ``columns`` and open the counts: evaluation only."""
    codes, counts = source.count([tuple(columns)])[0].open().occupied()
    return Cells(
        columns=tuple(columns),
        sizes=source.sizes(columns),
        codes=codes.astype(np.int64),
        counts=counts.astype(np.int64),
    )


def joint_keys(sizes: Sequence[int], *tables: npt.NDArray[np.integer]) -> list[Ints]:
    """One number per row, equal exactly where the rows of codes are, in all tables alike.

    >>> [keys.tolist() for keys in joint_keys((2, 3), np.array([[0, 1], [1, 2]]), np.array([[1, 2]]))]
    [[1, 5], [5]]
    """
    whole = np.concatenate(tables) if tables else np.empty((0, len(sizes)), dtype=np.int64)
    keys = np.zeros(len(whole), dtype=np.int64)
    reach = 1
    for position, size in enumerate(sizes):
        if reach * size > _KEY_LIMIT:
            distinct, keys = np.unique(keys, return_inverse=True)
            reach = len(distinct)
        keys = keys * size + whole[:, position]
        reach *= size
    ends = np.cumsum([len(table) for table in tables])[:-1]
    return np.split(keys, ends)


def group_sums(keys: Ints, weights: npt.NDArray[np.integer] | Floats) -> tuple[Ints, Floats]:
    """Distinct keys in order, and the sum of the weights of each."""
    distinct, inverse = np.unique(keys, return_inverse=True)
    sums = np.bincount(inverse, weights=weights, minlength=len(distinct))
    return distinct, sums.astype(np.float64)


def lookup(keys: Ints, distinct: Ints, values: Floats, *, default: float) -> Floats:
    """The value of each key, ``default`` for keys that ``distinct`` (sorted) lacks."""
    if not len(distinct):
        return np.full(len(keys), default)
    place = np.minimum(np.searchsorted(distinct, keys), len(distinct) - 1)
    return np.where(distinct[place] == keys, values[place], default)


def check_tables(real: Source, *others: Source | None, columns: Sequence[str] = ()) -> None:
    """Refuse tables of other columns or levels, and columns that the tables lack."""
    for other in others:
        if other is not None:
            check_same_columns(real, other, called=("real", "other"))
    for name in columns:
        check_column(real, name, called="column")
