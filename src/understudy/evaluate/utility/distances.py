"""Distances of tables of shares: total variation, mean errors per level, and whole records.

Marginal and conditional errors are those of pegs.txt section 4.3, the L1 distance of whole records is that of sbhg.txt
section 4. Functions on counts do not know where the counts came from.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from understudy.errors import DataError, ParameterError
from understudy.evaluate.checks import check_comparable
from understudy.evaluate.holdout import known_records, unseen_share
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.opened import Counts, open_grids
from understudy.evaluate.risk.cells import group_sums, joint_keys
from understudy.evaluate.utility.measure import measures
from understudy.evaluate.utility.tables import JOIN, counted, given_grids, grids, left_out, tables_of_width, triples
from understudy.sources.base import Clique, Source
from understudy.sources.tables import CountTable

TVD_ONE_WAY, TVD_TWO_WAY, TVD_THREE_WAY = (
    Metric(
        name=f"tvd_{word}_way",
        title=f"{title} (total variation)",
        says=f"The share of rows that would have to change to make the {width}-way tables agree, averaged over tables.",
    )
    for width, word, title in (
        (1, "one", "Shares of levels"),
        (2, "two", "Pairs of columns"),
        (3, "three", "Triples of columns"),
    )
)
MARGINAL_MAE, MARGINAL_MSE = (
    Metric(
        name=f"marginal_{short}",
        title=f"Shares of levels (mean {kind} error)",
        says=f"How far the share of a level lies from the real one: mean {kind} difference over levels, then columns.",
    )
    for short, kind in (("mae", "absolute"), ("mse", "squared"))
)
CONDITIONAL_MAE, CONDITIONAL_MSE = (
    Metric(
        name=f"conditional_{short}",
        title=f"Shares given another column (mean {kind} error)",
        says="How far the share of a level among rows with a given level of another column lies from its real share.",
    )
    for short, kind in (("mae", "absolute"), ("mse", "squared"))
)
DETAIL_TVD = Metric(
    name="detail_tvd",
    title="Detailed codes (total variation)",
    says="The share of records whose detailed code would have to change to make the tables agree, averaged.",
)
JOINT_L1 = Metric(
    name="joint_l1",
    title="Whole records (L1, in records)",
    highest=float("inf"),
    says="How many rows differ when whole records are counted, the synthetic table scaled to the size of the real one; "
    "twice the number of real rows at most.",
)
ARTIFICIAL_SHARE = Metric(
    name="artificial_share",
    title="Purely artificial records",
    says="The share of synthetic rows whose whole record no real row has.",
)


def total_variation(real: npt.NDArray[np.number], synthetic: npt.NDArray[np.number]) -> float:
    """Half the L1 distance of the shares of two tables of counts; 0 equal, 1 disjoint.

    >>> total_variation(np.array([[5, 5], [0, 0]]), np.array([[0, 4], [0, 0]]))
    0.5
    """
    return float(np.abs(real / real.sum() - synthetic / synthetic.sum()).sum() / 2)


@measures(TVD_ONE_WAY, place=1)
def tvd_one_way(real: Source, synthetic: Source) -> Score:
    """All tables of one column."""
    return _tvd(TVD_ONE_WAY, real, synthetic, tables_of_width(real.codebook, 1))


@measures(TVD_TWO_WAY, place=2)
def tvd_two_way(real: Source, synthetic: Source) -> Score:
    """All tables of two columns that are small enough to be laid out."""
    score = _tvd(TVD_TWO_WAY, real, synthetic, tables_of_width(real.codebook, 2))
    return replace(score, note=score.note + left_out(real.codebook, 2))


@measures(TVD_THREE_WAY, "tables", place=3)
def tvd_three_way(real: Source, synthetic: Source, *, tables: Sequence[Clique] | None = None) -> Score:
    """The chosen tables; unasked, up to 64 of them, evenly spaced among all small ones."""
    return _tvd(TVD_THREE_WAY, real, synthetic, triples(real.codebook) if tables is None else tables)


def _tvd(metric: Metric, real: Source, synthetic: Source, tables: Sequence[Clique]) -> Score:
    """Averaged over the tables; the breakdown has one value per table, named by its columns."""
    if not tables:
        return metric.undefined("there is no table of this width, or none small enough.")
    if any(len(set(table)) != len(table) or not table for table in tables):
        raise ParameterError("`tables` names a column twice, or none, in one table; name each column once.")
    parts = {}
    for clique, a, b in counted(real, synthetic, tables):
        n, m = (int(side.occupied()[1].sum()) for side in (a, b))
        if a.grid is not None and b.grid is not None:
            parts[JOIN.join(clique)] = total_variation(a.grid, b.grid)
        else:  # occupied cells only: a wide table may have more cells than memory
            parts[JOIN.join(clique)] = table_l1(a, b, weight=n / m) / (2 * n)
    worst = max(parts, key=lambda name: parts[name])
    note = f"Mean over {len(parts)} tables; the worst is {worst} with {parts[worst]:.4f}."
    return metric.mean(parts, note=note, empty="")


@dataclass(frozen=True, kw_only=True)
class Distance:
    """How far two sets of probabilities lie apart: mean absolute and mean squared difference per level."""

    mae: float
    mse: float


def marginal_distance(real: Counts, synthetic: Counts) -> Distance:
    """Average over the levels of one column of the difference of their shares.

    >>> marginal_distance(np.array([5, 5]), np.array([10, 0]))
    Distance(mae=0.5, mse=0.25)
    """
    gap = _shares(real) - _shares(synthetic)
    return Distance(mae=float(np.abs(gap).mean()), mse=float((gap**2).mean()))


def conditional_distance(real: Counts, synthetic: Counts) -> Distance:
    """Average over the rows (given level) and columns (levels) of the difference of conditional shares.

    Rows that no real record has say nothing about the real table and are left out; a row that the synthetic table
    lacks counts as uniform, the best guess of somebody who has only that table.
    """
    seen = real.sum(axis=1) > 0
    return marginal_distance(real[seen], synthetic[seen]) if seen.any() else Distance(mae=0.0, mse=0.0)


def _shares(counts: Counts) -> npt.NDArray[np.float64]:
    totals = counts.sum(axis=-1, keepdims=True)
    uniform = np.full(counts.shape, 1 / counts.shape[-1])
    return np.where(totals > 0, counts / np.maximum(totals, 1), uniform)


@measures(MARGINAL_MAE, place=5)
def marginal_mae(real: Source, synthetic: Source) -> Score:
    """Mean absolute difference, averaged over columns; the breakdown has one value per column."""
    return _marginal(MARGINAL_MAE, "mae", real, synthetic)


@measures(MARGINAL_MSE, place=6)
def marginal_mse(real: Source, synthetic: Source) -> Score:
    """Mean squared difference, averaged over columns; the breakdown has one value per column."""
    return _marginal(MARGINAL_MSE, "mse", real, synthetic)


@measures(CONDITIONAL_MAE, "conditional_on", place=8)
def conditional_mae(real: Source, synthetic: Source, *, conditional_on: str | None = None) -> Score:
    """Given one column, or averaged over all ordered pairs; the breakdown says "other | given"."""
    return _conditional(CONDITIONAL_MAE, "mae", real, synthetic, conditional_on)


@measures(CONDITIONAL_MSE, "conditional_on", place=9)
def conditional_mse(real: Source, synthetic: Source, *, conditional_on: str | None = None) -> Score:
    """Given one column, or averaged over all ordered pairs; the breakdown says "other | given"."""
    return _conditional(CONDITIONAL_MSE, "mse", real, synthetic, conditional_on)


def _marginal(metric: Metric, which: str, real: Source, synthetic: Source) -> Score:
    tables = grids(real, synthetic, tables_of_width(real.codebook, 1))
    return metric.mean({name: getattr(marginal_distance(a, b), which) for (name,), a, b in tables}, empty="")


def _conditional(metric: Metric, which: str, real: Source, synthetic: Source, conditional_on: str | None) -> Score:
    tables = given_grids(real, synthetic, conditional_on)
    return metric.mean(
        {f"{other} | {given}": getattr(conditional_distance(a, b), which) for (given, other), a, b in tables},
        note="Given levels that no real row has are left out; one that no synthetic row has counts as uniform."
        + left_out(real.codebook, 2),
        empty="no column has another to be given.",
    )


@dataclass(frozen=True, kw_only=True)
class MeanErrors:
    """Errors averaged over columns and over ordered pairs of columns."""

    marginal_mae: float
    conditional_mae: float


def compare(real: Source, synthetic: Source) -> MeanErrors:
    """Mean absolute error of all one-way tables, and of all conditionals of one column given another."""
    return MeanErrors(
        marginal_mae=marginal_mae(real, synthetic).value, conditional_mae=conditional_mae(real, synthetic).value
    )


@measures(DETAIL_TVD, where=lambda real, _: bool(real.codebook.details), place=40)
def detail_tvd(real: Source, synthetic: Source) -> Score:
    """Of every detail column, which no other metric looks at; what fell back to ``other`` counts as changed."""
    parts, others = {}, []
    for detail in real.codebook.details:
        (a,), (b,) = (open_grids(source, [(detail.name,)]) for source in (real, synthetic))
        parts[detail.name] = total_variation(a, b)
        others.append(f"{b[detail.code_of[str(detail.other)]] / b.sum():.1%} of {detail.name}")
    return DETAIL_TVD.mean(parts, note=f"{', '.join(others)} became other.", empty="there is no detail column.")


def joint_l1(real: Source, synthetic: Source, *, rescale: bool = False) -> float:
    """Sum over all combinations of levels of |real count - synthetic count|, over occupied cells only.

    Two tables of n rows that share no record are 2n apart. ``rescale`` multiplies the synthetic counts so that both
    tables have the same number of rows.

    >>> from understudy.codebook import Categorical, Codebook
    >>> from understudy.sources import EncodedSource
    >>> book = Codebook(columns=tuple(Categorical(name=name, levels=("F", "M")) for name in "ab"))
    >>> real = EncodedSource(codebook=book, columns=[np.array([0, 0, 1], np.uint8), np.array([1, 1, 0], np.uint8)])
    >>> copy = EncodedSource(codebook=book, columns=[np.array([0, 1, 1], np.uint8), np.array([1, 1, 0], np.uint8)])
    >>> joint_l1(real, copy)
    2.0
    """
    names = real.codebook.names
    truth, copy = (source.count([names])[0].open() for source in (real, synthetic))
    rows, drawn = (int(table.occupied()[1].sum()) for table in (truth, copy))
    return table_l1(truth, copy, weight=rows / drawn if rescale and drawn else 1.0)


def table_l1(real: CountTable, synthetic: CountTable, *, weight: float = 1.0) -> float:
    """The same for two tables of counts, of which the second is multiplied by ``weight``."""
    if (real.columns, real.sizes) != (synthetic.columns, synthetic.sizes):
        raise DataError(
            f"the tables count {', '.join(real.columns)} and {', '.join(synthetic.columns)}; two tables can be "
            "compared only over the same columns and levels. Use one codebook for both."
        )
    (codes, counts), (others, drawn) = real.occupied(), synthetic.occupied()
    keys = np.concatenate(joint_keys(real.sizes, codes, others))
    _, gaps = group_sums(keys, np.concatenate([counts, -weight * drawn]))
    return float(np.abs(gaps).sum())


@measures(JOINT_L1, place=4)
def joint_l1_score(real: Source, synthetic: Source) -> Score:
    """The distance in rows, scaled to the size of the real table; the breakdown adds it as a share of its maximum."""
    rows, _ = check_comparable(real, synthetic)
    distance = joint_l1(real, synthetic, rescale=True)
    return JOINT_L1.score(
        distance,
        {"share of the largest possible": distance / (2 * rows)},
        note=f"At most {2 * rows:,} for a table of {rows:,} rows.",
    )


@measures(ARTIFICIAL_SHARE, place=19)
def artificial_share(real: Source, synthetic: Source) -> Score:
    """Synthetic records that no real row has (lugs.txt section 5.4), with what new real rows would give.

    Not a fault by itself: new rows of the same population would also hold records that were never seen, about as often
    as a record occurs only once in the real table (Good and Turing).
    """
    ((_, truth, copy),) = counted(real, synthetic, [real.codebook.names])
    _, drawn = copy.occupied()
    return ARTIFICIAL_SHARE.score(
        float(drawn[~known_records(truth, copy)].sum() / drawn.sum()),
        {"new real rows would give about": unseen_share(truth), "a bootstrap gives": 0.0},
        note="Neither extreme is good: 0 copies only what exists, 1 invents every record.",
    )
