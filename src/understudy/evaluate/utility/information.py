"""Information between each column and the rest, before and after (lugs.txt eq. 2): I(X; rest) = H(X) - H(X | rest).

Read literally, the equation says little about a wide table: nearly every record is alone with its rest, H(X | rest) is
nearly 0 in any table of that size, and I is nearly H(X). Unless told otherwise, the rest of a column is therefore the
columns that say most about it in the real table, as many as leave at least five records per combination on average;
the same ones are used for the synthetic table.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from understudy.errors import ParameterError
from understudy.evaluate.checks import check_column
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.tables import counted, grids, tables_of_width
from understudy.mechanisms.selection_scores import mutual_information
from understudy.sources.base import Source
from understudy.sources.tables import CountTable

METRIC = Metric(
    name="information",
    goal="minimize",
    lowest=0.0,
    highest=math.inf,
    room="utility",
    says="How much the information between a column and the rest changed, in nats, averaged over columns.",
)
_LISTED = 6
"""So many columns are named with what they are compared to."""
_RECORDS_PER_CELL = 5


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
    tables = [table.open().to_grid() for table in real.count(pairs)]
    said = {frozenset(pair): mutual_information(table) for pair, table in zip(pairs, tables, strict=True)}
    rows = int(tables[0].sum()) if tables else 0
    chosen = {}
    for name in book.names:
        cells, keys = book.column(name).size, list[str]()
        others = [other for other in book.names if frozenset((name, other)) in said]
        for other in sorted(others, key=lambda other: (-said[frozenset((name, other))], other)):
            if not keys or cells * book.column(other).size * _RECORDS_PER_CELL <= rows:
                cells *= book.column(other).size
                keys.append(other)
        if keys:
            chosen[name] = tuple(keys)
    return chosen


def information(real: Source, synthetic: Source, *, rest: Mapping[str, Sequence[str]] | str | None = None) -> Score:
    """Mean |I before - I after|; the breakdown has both per column.

    ``rest`` gives the columns on the other side for some columns, or is ``"all"`` for the equation as printed.
    """
    names = real.codebook.names
    if len(names) < 2:
        return Score(metric=METRIC.name, value=math.nan, note="one column has no rest.")
    if isinstance(rest, str):
        if rest != "all":
            raise ParameterError(f'`rest` is {rest!r}; write "all", or name the columns for each column.')
        keys: Mapping[str, Sequence[str]] = {name: [other for other in names if other != name] for name in names}
    else:
        if rest is None:
            grids(real, synthetic, [])  # the tables must be comparable before one of them is searched
        keys = strongest(real) if rest is None else rest
        if not keys:
            return Score(metric=METRIC.name, value=math.nan, note="no two columns are small enough together.")
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
    return Score(
        metric=METRIC.name,
        value=float(np.mean(gaps)),
        breakdown=parts,
        note="In nats; small tables overstate it." + against,
    )
