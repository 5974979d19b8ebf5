"""The table on its way to release: distinct records in codes, with how often each occurs.

Everything in this room works on these counts, so that it runs on any source. What can be released of a value is what
its codebook can say: a number is known to its bin, a date to its grain.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from understudy.codebook import Categorical, Column, Continuous, Integer, Number, Ordinal, Role
from understudy.errors import ParameterError
from understudy.evaluate.values import is_ordered
from understudy.sources.base import Report, Source
from understudy.sources.tables import CountTable

STAR = "*"
"""What a suppressed value reads."""

Codes = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """Distinct records: one row of codes each, and how many people share it."""

    columns: tuple[Column, ...]
    codes: Codes
    counts: Counts

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def rows(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    def place(self, name: str) -> int:
        """Where a column stands, or a sentence that lists the columns there are."""
        if name not in self.names:
            raise ParameterError(
                f"there is no column {name!r} at this point of the recipe; there are {', '.join(self.names)}."
            )
        return self.names.index(name)

    def column(self, name: str) -> Column:
        """The column called ``name``."""
        return self.columns[self.place(name)]

    def of(self, name: str) -> Codes:
        """Codes of one column."""
        return self.codes[:, self.place(name)]

    def marginal(self, name: str) -> Counts:
        """Records per level of one column."""
        tally = np.zeros(self.column(name).size, dtype=np.int64)
        np.add.at(tally, self.of(name), self.counts)
        return tally

    def with_roles(self, role: Role) -> tuple[str, ...]:
        """Names of the columns of one role."""
        return tuple(column.name for column in self.columns if column.role is role)

    def select(self, names: Sequence[str]) -> "Cells":
        """Some of the columns, equal records put together."""
        places = [self.place(name) for name in names]
        return Cells(
            columns=tuple(self.columns[place] for place in places), codes=self.codes[:, places], counts=self.counts
        ).merged()

    def recoded(self, name: str, column: Column, mapping: npt.ArrayLike) -> "Cells":
        """One column sent to other codes by a table; equal records put together."""
        return self.replaced(name, column, np.asarray(mapping, dtype=np.int32)[self.of(name)])

    def replaced(self, name: str, column: Column, codes: Codes) -> "Cells":
        """One column with new codes, record by record."""
        place = self.place(name)
        changed = self.codes.copy()
        changed[:, place] = codes
        columns = (*self.columns[:place], column, *self.columns[place + 1 :])
        return Cells(columns=columns, codes=changed, counts=self.counts).merged()

    def filtered(self, kept: npt.NDArray[np.bool_]) -> "Cells":
        """Only some of the records."""
        return replace(self, codes=self.codes[kept], counts=self.counts[kept])

    def starred(self, suppressed: Mapping[str, npt.NDArray[np.bool_]]) -> "Cells":
        """Columns whose values read ``*`` in some of the records."""
        columns, codes = list(self.columns), self.codes.copy()
        for name, records in suppressed.items():
            place = self.place(name)
            column, star, mapping = _with_star(columns[place])
            codes[:, place] = np.where(records, star, mapping[codes[:, place]])
            columns[place] = column
        return Cells(columns=tuple(columns), codes=codes, counts=self.counts).merged()

    def merged(self) -> "Cells":
        """Equal records put together, in lexicographic order: the order of the source is not kept."""
        sizes = [column.size for column in self.columns]
        codes, counts = CountTable.sparse(self.names, sizes, self.codes, self.counts).occupied()  # type: ignore[arg-type]
        return replace(self, codes=codes.astype(np.int32), counts=counts)

    def expanded(self) -> Codes:
        """One row per record."""
        return np.repeat(self.codes, self.counts, axis=0)


def cells_of(source: Source, *, report: Report | None = None) -> Cells:
    """Every distinct record of a source: one count query over all columns."""
    book = source.codebook
    table = source.count([book.names], report)[0].open()
    codes, counts = table.occupied()
    return Cells(columns=book.modelled, codes=codes.astype(np.int32), counts=counts.astype(np.int64))


def base_texts(column: Column) -> tuple[str, ...]:
    """How each value without the missing one is written: a bin of one whole number as that number.

    >>> from fractions import Fraction
    >>> base_texts(Integer(name="age", edges=(Fraction(17), Fraction(18), Fraction(19)), closed="right"))
    ('[17, 18]', '19')
    """
    labels = column.labels[: column.proper_levels]
    if isinstance(column, Integer):
        labels = tuple(
            str(first) if width == 1 else label for label, (first, width) in zip(labels, column.grids, strict=True)
        )
    if isinstance(column, Continuous):
        labels = tuple(
            f"{first / 10**column.precision:.{column.precision}f}" if width == 1 else label
            for label, (first, width) in zip(labels, column.grids, strict=True)
        )
    return (*labels, *column.special)


def join_labels(column: Number, low: int, high: int) -> str:
    """What the values from one bin of a number to another are called together."""
    if isinstance(column, Integer):
        first, last = column.grids[low][0], sum(column.grids[high]) - 1
        return str(first) if first == last else f"{first}-{last}"
    if low == high:
        return column.labels[low]
    return column.labels[low].partition(",")[0] + "," + column.labels[high].partition(",")[2]


def levelled(column: Column, levels: Sequence[str], *, missing: bool, ordered: bool | None = None) -> Column:
    """The same column with other levels, listed by name; ``missing`` says whether its missing level stays."""
    kind = Ordinal if (is_ordered(column) if ordered is None else ordered) else Categorical
    return kind(
        name=column.name,
        role=column.role,
        description=column.description,
        levels=tuple(levels),
        missing=column.missing if missing else None,
        origin=column.origin,
        # what was attested are the finer levels, and these follow from them
        attestation=replace(column.attestation, of=None) if column.is_attested and column.attestation else None,
    )


def as_levels(column: Column) -> Column:
    """A column whose values are named one by one, as it is released once some of its values are not."""
    if isinstance(column, Categorical | Ordinal):
        return replace(column, parents=None, hierarchy=())
    return levelled(column, base_texts(column), missing=column.missing is not None)


def _with_star(column: Column) -> tuple[Column, int, Codes]:
    """The column with a level for suppressed values, that level's code, and the new code of every old one.

    The missing level, if any, is always the last, so that a star in front of it moves its code.
    """
    plain = as_levels(column)
    assert isinstance(plain, Categorical | Ordinal)
    levels = plain.levels if STAR in plain.levels else (*plain.levels, STAR)
    starred = replace(plain, levels=levels)
    mapping = np.arange(column.size, dtype=np.int32)
    if column.missing_code is not None:
        assert starred.missing_code is not None
        mapping[column.missing_code] = starred.missing_code
    return starred, levels.index(STAR), mapping
