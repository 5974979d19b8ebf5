"""Pairs of columns across tables: what a stay has to do with its patient, and a diagnosis with its stay."""

from collections.abc import Iterable, Iterator

from understudy.codebook.linked import LinkedCodebook
from understudy.evaluate.linked.rows import LinkedRows
from understudy.evaluate.linked.shares import Floats, coarse, distance, independent, shares
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.measure import measures

CROSS_PAIRS = Metric(
    name="cross_table_pairs",
    title="Pairs of columns across tables",
    says="Mean total variation distance of the two-way tables of a column and a column of a table above it.",
)


@measures(CROSS_PAIRS, place=20)
def cross_table_pairs(real: LinkedRows, synthetic: LinkedRows) -> Score:
    """Every pair; the note says what independent columns would score."""
    parts: dict[str, float] = {}
    alone: list[float] = []
    for above, below in pairs_across(real.book):
        (truth, sizes), (copy, _) = (pair_shares(side, above, below) for side in (real, synthetic))
        parts[f"{above} x {below}"] = distance(truth, copy)
        alone.append(distance(truth, independent(truth, sizes)))
    score = CROSS_PAIRS.mean(parts, empty="There is one table only.")
    if not parts:
        return score
    worst = max(parts, key=lambda pair: parts[pair])
    note = (
        f"Worst pair: {worst} ({parts[worst]:.4f}). Tables with the right columns and no link between them would score "
        f"{sum(alone) / len(alone):.4f}."
    )
    return CROSS_PAIRS.score(score.value, parts, note=note)


def alone_by_pair(real: LinkedRows, pairs: Iterable[tuple[str, str]]) -> dict[str, float]:
    """What tables with the right columns and no link between them would score, for some pairs."""
    tables = ((f"{above} x {below}", pair_shares(real, above, below)) for above, below in pairs)
    return {name: distance(truth, independent(truth, sizes)) for name, (truth, sizes) in tables}


def pairs_across(book: LinkedCodebook) -> Iterator[tuple[str, str]]:
    """Each column of a table with each column of every table above it."""
    for table in book.tables:
        for upper in book.path(table.name)[:-1]:
            for above in upper.book.names:
                for below in table.book.names:
                    yield upper.spelled(above), table.spelled(below)


def pair_shares(rows: LinkedRows, above: str, below: str) -> tuple[Floats, tuple[int, int]]:
    """The two-way table of two spelled columns, on the rows of the lower table."""
    at = below.partition(".")[0]
    first, second = (coarse(rows.book.column(name), rows.codes(name, at)) for name in (above, below))
    sizes = (first[1], second[1])
    return shares([first[0], second[0]], sizes), sizes
