"""Which tables are compared, and the counts of both sides in one place."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from understudy.codebook import Codebook
from understudy.evaluate.checks import check_column, check_comparable
from understudy.evaluate.opened import Counts
from understudy.sources.base import Clique, Source
from understudy.sources.tables import CountTable

JOIN = " x "
"""Between the columns of a table in a breakdown."""
CELLS = 1 << 20
"""Tables of several columns with more combinations than this hold mostly empty cells and are not chosen unasked."""


def counted(
    real: Source, synthetic: Source, cliques: Sequence[Clique]
) -> list[tuple[tuple[str, ...], CountTable, CountTable]]:
    """Each clique with its counts in both tables, after the tables were found comparable."""
    check_comparable(real, synthetic)
    for clique in cliques:
        for name in clique:
            check_column(real, name, called="tables")
    truth, copy = real.count(cliques), synthetic.count(cliques)
    return [(tuple(c), a.open(), b.open()) for c, a, b in zip(cliques, truth, copy, strict=True)]


def grids(real: Source, synthetic: Source, cliques: Sequence[Clique]) -> list[tuple[tuple[str, ...], Counts, Counts]]:
    """The same, one count per combination."""
    return [(clique, a.to_grid(), b.to_grid()) for clique, a, b in counted(real, synthetic, cliques)]


def tables_of_width(book: Codebook, width: int) -> list[tuple[str, ...]]:
    """All sets of that many columns; of several, those small enough."""
    return [
        clique
        for clique in itertools.combinations(book.names, width)
        if width == 1 or math.prod(book.column(name).size for name in clique) <= CELLS
    ]


def left_out(book: Codebook, width: int) -> str:
    """A sentence on the sets of columns that are too large to be chosen unasked, if there are any."""
    number = math.comb(len(book.names), width) - len(tables_of_width(book, width))
    what = "table" if number == 1 else "tables"
    return f" {number} {what} of {width} columns with more than {CELLS:,} combinations left out." if number else ""


def triples(book: Codebook, *, most: int = 64) -> list[tuple[str, ...]]:
    """Up to ``most`` sets of three columns, evenly spaced among all that are small enough; no data and no luck."""
    small = tables_of_width(book, 3)
    if not small:
        return []
    picked = np.unique(np.linspace(0, len(small) - 1, min(most, len(small))).round().astype(np.int64))
    return [small[index] for index in picked]


def given_grids(
    real: Source, synthetic: Source, conditional_on: str | None
) -> list[tuple[tuple[str, str], Counts, Counts]]:
    """(given, other) with counts, the given column first: for one given column, or for every ordered pair."""
    if conditional_on is not None:
        check_column(real, conditional_on, called="conditional_on")
    pairs = [pair for pair in tables_of_width(real.codebook, 2) if conditional_on is None or conditional_on in pair]
    tables = []
    for (first, second), a, b in grids(real, synthetic, pairs):
        if conditional_on in (None, first):
            tables.append(((first, second), a, b))
        if conditional_on in (None, second):
            tables.append(((second, first), a.T, b.T))
    return tables
