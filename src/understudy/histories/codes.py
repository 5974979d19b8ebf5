"""Detailed codes of linked tables: every code of every list is counted with noise, beside the views and from the same
budget; codes are drawn given their coarse level, once the rows stand.

A code column is one more table of the view that its rows stand in: a person adds as many rows to it as to the view.
Columns that share a list help each other, in whichever tables they stand (:mod:`understudy.blocks.code_estimates`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.blocks.code_estimates import NoisyCounts, estimated, with_fallback
from understudy.codebook import Coded, LinkedCodebook
from understudy.codebook.code_cells import CodeCells
from understudy.codebook.views import View
from understudy.mechanisms.gaussian_measurements import MOST_COPIES, Meter
from understudy.sources.base import Source
from understudy.sources.tables import CountTable, code_type
from understudy.synth.detail_tables import PARTS, code_tables
from understudy.synth.details import DetailTable
from understudy.synth.one_epsilon import details_share


def codes_share(book: LinkedCodebook) -> float:
    """Of the budget: for all tables of codes, by the bits that they describe; nothing where there are none."""
    books = [table.book for table in book.tables]
    return details_share(books) if any(each.details for each in books) else 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredCodes:
    """The noisy counts of one code column."""

    cells: CodeCells
    counts: NoisyCounts


def measure_codes(view: View, source: Source, meter: Meter) -> list[MeasuredCodes]:
    """Every cell of every code column of a view, each column with an equal part of the meter's units."""
    if not view.codes:
        return []
    names = [view.spelled(one.detail.name) for one in view.codes]
    copies = min(meter.left // (len(names) * meter.table_price), MOST_COPIES)
    counts = source.count([(name,) for name in names])
    return [
        MeasuredCodes(
            cells=one, counts=NoisyCounts(values=meter.table(table, copies=copies), variance=meter.variance(copies))
        )
        for one, table in zip(view.codes, counts, strict=True)
    ]


def tables_of_codes(views: Sequence[Sequence[MeasuredCodes]]) -> list[tuple[DetailTable, ...]]:
    """What codes are drawn from, by view and column; post-processing."""
    packed = [one for of_view in views for one in of_view if isinstance(one.cells.detail, Coded)]
    columns = [(one.cells.book, one.cells.detail) for one in packed if isinstance(one.cells.detail, Coded)]
    made = dict(zip(map(id, packed), code_tables(columns, [one.counts for one in packed]), strict=True))
    return [tuple(made.get(id(one)) or _listed(one) for one in of_view) for of_view in views]


def _listed(one: MeasuredCodes) -> DetailTable:
    """Codes that the codebook lists itself: what is in doubt falls back to the ``other`` of its level."""
    cells, detail = one.cells, one.cells.detail
    level, code = cells.pairs
    places = np.arange(cells.size)
    others = cells.codes + level
    chains = [[int(place)] if place >= cells.codes else [int(place), int(others[place])] for place in places]
    weights = np.rint(with_fallback(estimated(one.counts), chains, size=cells.size) * PARTS).astype(np.int64)
    shown = np.flatnonzero(weights)
    coarse = cells.book.column(detail.detail_of)
    sizes = (coarse.size, detail.size)
    pairs = np.stack([level[shown], code[shown]], axis=1).astype(code_type(max(sizes)))
    totals = np.bincount(level[shown], weights[shown], coarse.size).astype(np.int64)
    return DetailTable(
        totals=CountTable.dense((coarse.name,), totals),
        pairs=CountTable.sparse((coarse.name, detail.name), sizes, pairs, weights[shown]),
    )
