"""How one's own table could be grouped before publication: as asked, and coarser."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook, Levelled, Ordinal
from understudy.codebook.numbers import Number
from understudy.errors import DataError, ParameterError
from understudy.extras import need
from understudy.reconstruct.design import Design
from understudy.sources.rows import Rows

Codes = npt.NDArray[np.int64]
MERGE_BELOW = 10
"""Groups of fewer people are merged in one of the coarser groupings that are tried."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Grouping:
    """A group for every record, by number, and the public names of all groups, empty ones too."""

    name: str
    columns: tuple[str, ...]
    codes: Codes
    labels: tuple[str, ...]
    public: bool
    """Whether the list of groups follows from the codebook alone, so that it may carry noise with a price."""
    asked: bool

    @property
    def counts(self) -> Codes:
        """People in each group."""
        return np.bincount(self.codes, minlength=len(self.labels))


@dataclass(frozen=True, kw_only=True, eq=False)
class OwnTable:
    """The publisher's records: what an intruder knows, and what they want to know."""

    frame: Any
    """The known columns, as numbers and indicators."""
    values: npt.NDArray[np.float64]
    codes: dict[str, Codes]
    book: Codebook
    left_out: int
    """Records without a value."""
    people: Codes | None = None
    """The person of each record, where the codebook makes the person the unit."""

    @classmethod
    def of(
        cls, rows: Rows, book: Codebook, *, value: str, known: Sequence[str], group_columns: Sequence[str]
    ) -> "OwnTable":
        """Pick the columns; records without a value are left out."""
        need("pandas", extra="models", what="reconstruction")
        import pandas as pd

        numbers = _numbers(rows, book, value)
        there = ~np.isnan(numbers)
        if not there.any():
            raise DataError(f"the column {value!r} is missing in every row; there is nothing to guess.")
        picked = {}
        for name in known:
            if isinstance(book.column(name), Levelled) and not isinstance(book.column(name), Ordinal):
                column = rows.values[book.position(name)].to_pandas()
            else:
                column = pd.Series(_numbers(rows, book, name))
            picked[name] = column[there].reset_index(drop=True)
        codes = {name: rows.codes[book.position(name)][there].astype(np.int64) for name in group_columns}
        words = pd.DataFrame(picked, index=range(int(there.sum())))
        design, matrix = Design.learn(words, list(words.columns), standardise=False, intercept=False)
        return cls(
            frame=pd.DataFrame(matrix, columns=list(design.names)),
            values=numbers[there],
            codes=codes,
            book=book,
            left_out=int((~there).sum()),
            people=None if rows.people is None else rows.people[there],
        )


def _numbers(rows: Rows, book: Codebook, name: str) -> npt.NDArray[np.float64]:
    """Numbers as they stand; an ordinal level counts as its rank and a date as its place in time. Missing: NaN."""
    at, column = book.position(name), book.column(name)
    if isinstance(column, Number):
        return np.array(rows.values[at].to_numpy(zero_copy_only=False), dtype=np.float64)
    codes = rows.codes[at].astype(np.float64)
    return np.where(rows.codes[at] == column.missing_code, np.nan, codes) if column.missing is not None else codes


def groupings_of(own: OwnTable, asked: Sequence[str]) -> list[Grouping]:
    """Those asked for, then coarser ones: parts of crossings, steps of hierarchies, small groups merged."""
    groupings: list[Grouping] = []
    for text in asked:
        parts = text.split("+")
        whole = _crossed(own, [(name, None) for name in parts], asked=True)
        groupings.append(whole)
        if len(parts) > 1:
            groupings += [_crossed(own, [(name, None)], asked=False) for name in parts]
        for name in parts:
            column = own.book.column(name)
            for step in range(len(column.hierarchy)) if isinstance(column, Levelled) else ():
                groupings.append(_crossed(own, [(part, step if part == name else None) for part in parts], asked=False))
        if (merged := _merged(whole)) is not None:
            groupings.append(merged)
    kept: dict[str, Grouping] = {}
    for grouping in groupings:
        kept.setdefault(grouping.name, grouping)
    return list(kept.values())


def _crossed(own: OwnTable, parts: Sequence[tuple[str, int | None]], *, asked: bool) -> Grouping:
    codes = np.zeros(len(own.values), dtype=np.int64)
    labels = [""]
    names = []
    for name, step in parts:
        column = own.book.column(name)
        own_labels, own_codes, shown = list(column.labels), own.codes[name], name
        if step is not None:
            generalisation = column.hierarchy[step]
            coarse = [*(group for group, _ in generalisation.groups), *([column.missing] if column.missing else [])]
            place = {group: k for k, group in enumerate(coarse)}
            to = [place[generalisation.group_of(level) if level != column.missing else level] for level in own_labels]
            own_codes, own_labels = np.array(to, dtype=np.int64)[own_codes], [str(group) for group in coarse]
            shown = f"{name} by {generalisation.name}"
        if len(labels) * len(own_labels) > 10_000_000:
            raise ParameterError(
                f"the grouping by {name!r} has more than ten million combinations; cross fewer columns."
            )
        codes = codes * len(own_labels) + own_codes
        labels = [f"{a}+{b}" if a else b for a in labels for b in own_labels]
        names.append(shown)
    columns = tuple(name for name, _ in parts)
    return Grouping(name="+".join(names), columns=columns, codes=codes, labels=tuple(labels), public=True, asked=asked)


def _merged(grouping: Grouping) -> Grouping | None:
    """Small groups in one; None where there are none, or nothing else would be left."""
    counts = grouping.counts
    small = (counts > 0) & (counts < MERGE_BELOW)
    if not small.any() or not (counts >= MERGE_BELOW).any():
        return None
    kept = np.flatnonzero(counts >= MERGE_BELOW)
    place = np.full(len(counts), len(kept), dtype=np.int64)
    place[kept] = np.arange(len(kept))
    labels = (*(grouping.labels[k] for k in kept), f"all groups below {MERGE_BELOW} people")
    return Grouping(
        name=f"{grouping.name}, groups below {MERGE_BELOW} merged",
        columns=grouping.columns,
        codes=place[grouping.codes],
        labels=labels,
        public=False,
        asked=False,
    )
