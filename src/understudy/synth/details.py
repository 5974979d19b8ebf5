"""Columns that are drawn after the model: detailed codes given their coarse level, and numbers inside their bins.

Two released tables per detail column say how many records each coarse level has, and how many each shown pair of coarse
level and code; codes that are not shown go to the declared ``other``. Of a measured number one table says how often
each piece of its bins occurs. What the tables cost, and how they are counted, is in
:mod:`understudy.synth.detail_tables`; rows drawn from them are post-processing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.blocks.densities import inside_bins
from understudy.codebook import Codebook, Detail
from understudy.codebook.decode import Shapes, decode_table
from understudy.mechanisms.stream import Stream
from understudy.sources.tables import CountTable, code_type

Codes = npt.NDArray[np.unsignedinteger]


@dataclass(frozen=True, kw_only=True, eq=False)
class DetailTable:
    """The released counts of one detail column."""

    totals: CountTable
    """Records of each coarse level."""
    pairs: CountTable
    """Records of each coarse level and code, as far as they are shown."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Details:
    """Released tables of all that is drawn after the model."""

    codes: tuple[DetailTable, ...] = ()
    """One of each detail column, in codebook order."""
    pieces: tuple[CountTable, ...] = ()
    """One of each measured number, and of smooth ones that the method measured: records of each piece of its bins."""

    def __bool__(self) -> bool:
        return bool(self.codes or self.pieces)

    def tables(self) -> list[CountTable]:
        """All of them: two for each detail column, then one for each measured number."""
        return [*(table for pair in self.codes for table in (pair.totals, pair.pairs)), *self.pieces]

    @classmethod
    def of(cls, tables: Sequence[CountTable], *, codes: int) -> "Details":
        """From such a list."""
        pairs = zip(tables[: 2 * codes : 2], tables[1 : 2 * codes : 2], strict=True)
        return cls(codes=tuple(DetailTable(totals=a, pairs=b) for a, b in pairs), pieces=tuple(tables[2 * codes :]))

    def shapes(self, book: Codebook) -> Shapes:
        """Weights of the pieces of the numbers that were measured."""
        tables = {table.columns: table.to_grid() for table in self.pieces}
        return {
            number.name: np.maximum(tables[number.fine.name,][: number.fine.proper_levels], 0)
            for number in (*book.measured, *book.smooth)
            if (number.fine.name,) in tables
        }


def detail_cliques(book: Codebook) -> list[tuple[str, ...]]:
    """The columns of each table: two tables for each detail column, then one for each measured number."""
    codes = [clique for d in book.details for clique in ((d.detail_of,), (d.detail_of, d.name))]
    return [*codes, *((number.fine.name,) for number in book.measured)]


def decode_drawn(
    book: Codebook,
    details: Details,
    codes: Sequence[Codes],
    stream: Stream,
    *,
    packed: bool = False,
    people: Sequence[int] = (),
    only: Mapping[str, Sequence[int]] | None = None,
) -> pa.Table:
    """Rows as they are released: details drawn (of some ``only`` these codes), numbers inside their bins, ids by
    the weights of ``people``.
    """
    drawn = draw_details(book, details.codes, codes, stream, only)
    shapes = smooth_shapes(book, codes, known=details.shapes(book))
    return decode_table(book, codes, stream.below_each, drawn, shapes=shapes, packed=packed, people=people)


def smooth_shapes(book: Codebook, codes: Sequence[Codes], *, known: Shapes) -> Shapes:
    """What is known, and for every other smooth number what the bins of the rows say: they are shown anyway."""
    shapes = dict(known)
    for number in book.smooth:
        if number.name not in shapes:
            rows = np.bincount(codes[book.position(number.name)], minlength=number.size)
            shapes[number.name] = inside_bins(number, rows[: number.proper_levels].astype(np.float64))
    return shapes


def draw_details(
    book: Codebook,
    tables: Sequence[DetailTable],
    codes: Sequence[Codes],
    stream: Stream,
    only: Mapping[str, Sequence[int]] | None = None,
) -> dict[str, Codes]:
    """Codes of every detail column for rows whose modelled columns hold ``codes``; of some columns ``only`` these."""
    return {
        detail.name: _draw(
            detail_weights(book, detail, table, None if only is None else only.get(detail.name)),
            codes[book.position(detail.detail_of)],
            book.column(detail.detail_of).size,
            code_type(detail.size),
            stream,
        )
        for detail, table in zip(book.details, tables, strict=True)
    }


Weights = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Coarse level, code, and weight of every pair that may be drawn, in the order of the levels."""


def detail_weights(book: Codebook, detail: Detail, table: DetailTable, only: Sequence[int] | None = None) -> Weights:
    """Shown counts, what is left of a level's own count going to ``other``; of the pairs of other codes none."""
    levels = book.column(detail.detail_of).size
    level, code, count = _shown(book, detail, table.pairs)
    left = np.maximum(table.totals.to_grid() - np.bincount(level, count, levels).astype(np.int64), 0)
    shown = np.bincount(level, minlength=levels) > 0
    left[~shown & (left == 0)] = 1  # nothing is known about the level: it is all other
    level = np.concatenate([level, np.arange(levels)])
    code = np.concatenate([code, np.full(levels, detail.code_of[str(detail.other)])])
    count = np.concatenate([count, left])
    if only is not None:
        kept = np.isin(code, list(only))
        level, code, count = level[kept], code[kept], count[kept]
    order = np.argsort(level, kind="stable")
    return level[order], code[order], count[order]


def _draw(weights: Weights, coarse: Codes, levels: int, kind: type, stream: Stream) -> Codes:
    """Exact draws in proportion to the weights of each row's level."""
    level, code, count = weights
    reach = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(count, dtype=np.uint64)])
    starts = reach[np.searchsorted(level, np.arange(levels), side="left")]
    ends = reach[np.searchsorted(level, np.arange(levels), side="right")]
    picks = starts[coarse] + stream.below_each((ends - starts)[coarse])
    return code[np.searchsorted(reach[1:], picks, side="right")].astype(kind)


def _shown(
    book: Codebook, detail: Detail, pairs: CountTable
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The shown pairs whose code belongs to their level; a missing detail belongs to every level."""
    codes, counts = pairs.occupied()
    level, code = codes[:, 0].astype(np.int64), codes[:, 1].astype(np.int64)
    place = {label: number for number, label in enumerate(book.column(detail.detail_of).labels)}
    parent = np.array([place[group] for group, members in detail.groups for _ in members], dtype=np.int64)
    inside = np.zeros(len(code), dtype=bool)
    proper = code < len(parent)
    inside[proper] = parent[code[proper]] == level[proper]
    if detail.missing_code is not None:
        inside |= code == detail.missing_code
    kept = inside & (counts > 0)
    return level[kept], code[kept], counts[kept].astype(np.int64)
