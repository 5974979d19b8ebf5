"""How the association of columns changed: chi-square of independence, and information between a column and the rest."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.errors import ParameterError
from understudy.evaluate.checks import check_column, check_comparable
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.opened import open_grids
from understudy.evaluate.utility.measure import measures
from understudy.evaluate.utility.tables import JOIN, counted, tables_of_width
from understudy.mechanisms.selection_scores import mutual_information
from understudy.sources.base import Clique, Source
from understudy.sources.tables import CountTable

CHI_SQUARE = Metric(
    name="chi_square_difference",
    title="Independence of pairs (chi-square)",
    highest=math.inf,
    says="How much the association of columns changed: the difference of chi-square per row, averaged over tables.",
)
INFORMATION = Metric(
    name="information",
    title="Information between columns",
    highest=math.inf,
    says="How much the information between a column and the rest changed, in nats, averaged over columns.",
)
_LISTED = 6
"""So many columns are named with what they are compared to."""
_RECORDS_PER_CELL = 5


@dataclass(frozen=True, kw_only=True)
class ChiSquare:
    """Pearson's statistic of mutual independence."""

    pearson: float
    rows: int

    @property
    def per_row(self) -> float:
        """Pearson's phi squared, which does not grow with the table."""
        return self.pearson / self.rows


def chi_square_of(table: CountTable) -> ChiSquare:
    """Of a table of any number of columns (lugs.txt section 5.2, equation 3).

    Only occupied cells are visited, since sum (O - E)^2 / E = sum over occupied of O^2 / E - n.
    """
    if len(table.columns) < 2:
        raise ParameterError(f"the table has {len(table.columns)} column; independence needs at least two. Add one.")
    codes, counts = table.occupied()
    n = float(counts.sum())
    if not n:
        raise ParameterError("the table is empty; independence cannot be tested. Give a table with rows.")
    expected = np.full(len(counts), n)
    for axis in range(codes.shape[1]):
        margin = np.bincount(codes[:, axis], weights=counts)
        expected *= margin[codes[:, axis]] / n
    return ChiSquare(pearson=max(float((counts * (counts / expected)).sum() - n), 0.0), rows=int(n))


@measures(CHI_SQUARE, place=16)
def chi_square_difference(real: Source, synthetic: Source, *, tables: Sequence[Clique] | None = None) -> Score:
    """|chi-square / n (synthetic) - chi-square / n (real)|, over the given tables or all pairs of columns.

    The breakdown holds both statistics, per row, of each table.
    """
    chosen = tables_of_width(real.codebook, 2) if tables is None else tables
    parts, gaps = {}, []
    for clique, a, b in counted(real, synthetic, chosen):
        truth, copy = chi_square_of(a), chi_square_of(b)
        name = JOIN.join(clique)
        parts[f"{name}: real"], parts[f"{name}: synthetic"] = truth.per_row, copy.per_row
        gaps.append(abs(truth.per_row - copy.per_row))
    if not gaps:
        return CHI_SQUARE.undefined("one column has no other to depend on.")
    note = "Chi-square per row; independent columns give about (degrees of freedom) / rows, not 0."
    return CHI_SQUARE.score(float(np.mean(gaps)), parts, note=note)


def information_in(table: CountTable) -> float:
    """I(first column; the others) of the empirical distribution, in nats, from occupied cells only.

    >>> round(information_in(CountTable.dense(("a", "b"), np.array([[5, 0], [0, 5]]))), 6)  # ln 2
    0.693147
    """
    codes, counts = table.occupied()
    p = counts / counts.sum()
    child = np.bincount(codes[:, 0], p)[codes[:, 0]]
    _, rest = np.unique(codes[:, 1:], axis=0, return_inverse=True)
    rest = rest.reshape(-1)
    given = np.bincount(rest, p)[rest]
    return max(float((p * np.log(p / (child * given))).sum()), 0.0)


def strongest(real: Source) -> dict[str, tuple[str, ...]]:
    """For each column the columns that say most about it, while five records per combination remain on average."""
    book = real.codebook
    pairs = tables_of_width(book, 2)
    tables = open_grids(real, pairs)
    shared = {frozenset(pair): mutual_information(table) for pair, table in zip(pairs, tables, strict=True)}
    rows = int(tables[0].sum()) if tables else 0
    chosen = {}
    for name in book.names:
        cells, keys = book.column(name).size, list[str]()
        others = [other for other in book.names if frozenset((name, other)) in shared]
        for other in sorted(others, key=lambda other: (-shared[frozenset((name, other))], other)):
            if not keys or cells * book.column(other).size * _RECORDS_PER_CELL <= rows:
                cells *= book.column(other).size
                keys.append(other)
        if keys:
            chosen[name] = tuple(keys)
    return chosen


@measures(INFORMATION, place=17)
def information(real: Source, synthetic: Source, *, rest: Mapping[str, Sequence[str]] | str | None = None) -> Score:
    """Mean change of I(X; rest) = H(X) - H(X | rest) (lugs.txt eq. 2); the breakdown has both tables per column.

    Read literally, the equation says little about a wide table: nearly every record is alone with its rest, H(X | rest)
    is nearly 0 in any table of that size, and I is nearly H(X). Unless told otherwise, the rest of a column is
    therefore the columns that say most about it in the real table, as many as leave at least five records per
    combination on average; the same ones are used for the synthetic table. ``rest`` gives the columns on the other side
    for some columns, or is ``"all"`` for the equation as printed.
    """
    names = real.codebook.names
    if len(names) < 2:
        return INFORMATION.undefined("one column has no rest.")
    if isinstance(rest, str):
        if rest != "all":
            raise ParameterError(f'`rest` is {rest!r}; write "all", or name the columns for each column.')
        keys: Mapping[str, Sequence[str]] = {name: [other for other in names if other != name] for name in names}
    else:
        if rest is None:
            check_comparable(real, synthetic)  # before one of them is searched
        keys = strongest(real) if rest is None else rest
        if not keys:
            return INFORMATION.undefined("no two columns are small enough together.")
    for name in keys:
        check_column(real, name, called="rest")
        if name in keys[name] or not keys[name]:
            raise ParameterError(f"`rest` gives {name!r} itself, or nothing, as its rest; name other columns.")
    parts, gaps = {}, []
    for clique, a, b in counted(real, synthetic, [(name, *others) for name, others in keys.items()]):
        before, after = information_in(a), information_in(b)
        parts[f"{clique[0]}: real"], parts[f"{clique[0]}: synthetic"] = before, after
        gaps.append(abs(before - after))
    if rest == "all":
        against = ""
    elif len(keys) <= _LISTED:
        against = " Against: " + "; ".join(f"{name}: {', '.join(others)}" for name, others in keys.items()) + "."
    else:  # a wall of names says less than how they were chosen
        against = " Each column against those that say most about it, as many as the records can fill."
    return INFORMATION.score(float(np.mean(gaps)), parts, note="In nats; small tables overstate it." + against)
