"""Reference lines: what two tables that everybody can picture would score, by formula and without drawing a row.

*Bootstrap*: as many rows as the synthetic table has, drawn from the real table with replacement. *Independent*: as many
rows, every column drawn by itself from its real shares. A cell count of such a table is binomial, so that the expected
distances are exact:

    E|X - c| = 2 E(c - X)+ + mq - c,   E(c - X)+ = c F_m(floor c) - mq F_{m-1}(floor c - 1),   X ~ Bin(m, q).

The lines of conditional distances take the number of rows with the given level at its mean, which is approximate.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.evaluate.opened import open_grids
from understudy.evaluate.utility.tables import tables_of_width, triples
from understudy.extras import need
from understudy.parameters import ROWS
from understudy.sources.base import Source
from understudy.sources.tables import CountTable

Floats = npt.NDArray[np.float64]
Expected = Callable[[Floats, Floats, Floats | int], Floats]


@dataclass(frozen=True, kw_only=True)
class Reference:
    """What the two pictured tables score on average."""

    metric: str
    bootstrap: float
    independent: float


def expected_gap(target: Floats, drawn: Floats, rows: Floats | int) -> Floats:
    """E|X/rows - target| of each cell, where X ~ Bin(rows, drawn).

    >>> expected_gap(np.array([0.5]), np.array([0.5]), 2)  # |X - 1| / 2 is 1/2, 0, 1/2 with chances 1/4, 1/2, 1/4
    array([0.25])
    """
    need("scipy", extra="report", what="a reference line")
    from scipy.stats import binom

    m = np.broadcast_to(np.asarray(rows, dtype=np.float64), drawn.shape)
    c = target * m
    below = np.floor(c + 1e-9)  # a whole number may arrive a hair too small
    short = c * binom.cdf(below, m, drawn) - m * drawn * binom.cdf(below - 1, np.maximum(m - 1, 0), drawn)
    return np.asarray(np.maximum(2 * short + m * drawn - c, 0.0) / m)


def expected_square(target: Floats, drawn: Floats, rows: Floats | int) -> Floats:
    """E(X/rows - target)^2 of each cell: variance and squared bias."""
    return np.asarray(drawn * (1 - drawn) / rows + (drawn - target) ** 2)


def reference_lines(
    real: Source,
    *,
    rows: int,
    conditional_on: str | None = None,
    three_way: Sequence[Sequence[str]] | None = None,
) -> dict[str, Reference]:
    """The lines of every metric that is a distance of tables, for synthetic tables of ``rows`` rows."""
    ROWS.check("rows", rows)
    book = real.codebook
    ones = {clique[0]: table for clique, table in _shares(real, tables_of_width(book, 1))}
    pairs = dict(_shares(real, tables_of_width(book, 2)))
    threes = dict(_shares(real, list(map(tuple, three_way)) if three_way is not None else triples(book)))
    single = {(name,): p for name, p in ones.items()}
    lines = {
        "marginal_mae": [_both(expected_gap, p, rows) for p in ones.values()],
        "marginal_mse": [_both(expected_square, p, rows) for p in ones.values()],
    }
    for name, tables in (("tvd_one_way", single), ("tvd_two_way", pairs), ("tvd_three_way", threes)):
        lines[name] = [
            np.array([expected_gap(p, q, rows).sum() / 2 for q in (p, _product(ones, clique))])
            for clique, p in tables.items()
        ]
    kinds: list[tuple[str, Expected, int]] = [
        ("conditional_mae", expected_gap, 1),
        ("conditional_mse", expected_square, 2),
    ]
    for name, expected, power in kinds:
        lines[name] = []
        for (first, second), p in pairs.items():
            for given, other, table in ((first, second, p), (second, first, p.T)):
                if conditional_on in (None, given):
                    lines[name].append(_conditional(expected, power, table, ones[other], rows))
    made = {
        name: Reference(metric=name, bootstrap=float(mean[0]), independent=float(mean[1]))
        for name, mean in ((name, np.mean(values, axis=0)) for name, values in lines.items() if values)
    }
    made["joint_l1"] = joint_reference(real.count([book.names])[0].open(), list(ones.values()), rows)
    return made


def joint_reference(table: CountTable, shares: Sequence[Floats], rows: int) -> Reference:
    """The lines of joint L1 in real rows, over occupied cells only; the cells that no real row has cost n q each."""
    codes, counts = table.occupied()
    n = float(counts.sum())
    p = counts / n
    q = np.ones(len(counts))
    for position, share in enumerate(shares):
        q *= share[codes[:, position]]
    sizes, of = np.unique(p, return_inverse=True)  # most cells hold one record: compute each size once
    bootstrap = expected_gap(sizes, sizes, rows)[of].sum()
    independent = expected_gap(p, q, rows).sum() + max(1 - q.sum(), 0.0)
    return Reference(metric="joint_l1", bootstrap=float(n * bootstrap), independent=float(n * independent))


def _shares(real: Source, cliques: Sequence[tuple[str, ...]]) -> list[tuple[tuple[str, ...], Floats]]:
    return [(clique, table / table.sum()) for clique, table in zip(cliques, open_grids(real, cliques), strict=True)]


def _product(ones: dict[str, Floats], clique: Sequence[str]) -> Floats:
    product = np.ones(())
    for name in clique:
        product = np.multiply.outer(product, ones[name])
    return product


def _both(expected: Expected, p: Floats, rows: int) -> Floats:
    """One column alone knows nothing of independence: both lines are one."""
    return np.repeat(expected(p, p, rows).mean(), 2)


def _conditional(expected: Expected, power: int, table: Floats, other: Floats, rows: int) -> Floats:
    """Means over the given levels; with chance (1 - p)^rows no row has a level, and its shares are uniform."""
    given = table.sum(axis=1)
    seen = given > 0
    p = table[seen] / given[seen, None]
    absent = (1 - given[seen, None]) ** rows
    drawn = np.maximum(np.round(rows * given[seen, None] / (1 - absent)), 1.0)
    uniform = np.abs(p - 1 / p.shape[1]) ** power
    return np.array(
        [
            ((1 - absent) * expected(p, q, np.broadcast_to(drawn, p.shape)) + absent * uniform).mean()
            for q in (p, np.broadcast_to(other, p.shape))
        ]
    )
