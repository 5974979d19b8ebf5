"""L1 distance of whole-record counts (sbhg.txt section 4), over occupied cells only, so that the domain may be huge.

Two tables of n rows that share no record are 2n apart; an empty table is n away from any table of n rows. Half of the
distance, over n, is the total variation distance of two tables of n rows.

These numbers are computed on confidential data and are not covered by the guarantee of the release.
"""

import numpy as np

from understudy.errors import DataError
from understudy.evaluate.checks import check_rows, check_same_columns
from understudy.evaluate.metric import Metric, Score
from understudy.sources.base import Source
from understudy.sources.tables import CountTable

METRIC = Metric(
    name="joint_l1",
    goal="minimize",
    lowest=0.0,
    highest=float("inf"),
    room="utility",
    says="How many rows differ when whole records are counted, the synthetic table scaled to the size of the real one; "
    "twice the number of real rows at most.",
)


def joint_l1(real: Source, synthetic: Source, *, rescale: bool = False) -> float:
    """Sum over all combinations of levels of |real count - synthetic count|.

    ``rescale`` multiplies the synthetic counts so that both tables have the same number of rows, for synthetic tables
    of another size.

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
    cells = np.concatenate([codes, others])
    if not len(cells):
        return 0.0
    gaps = np.concatenate([counts.astype(np.float64), -weight * drawn])
    order = np.lexsort(cells.T[::-1])
    cells = cells[order]
    first = np.concatenate([[True], (cells[1:] != cells[:-1]).any(axis=1)])
    return float(np.abs(np.add.reduceat(gaps[order], np.flatnonzero(first))).sum())


def joint_l1_score(real: Source, synthetic: Source) -> Score:
    """The distance in rows, scaled to the size of the real table; the breakdown adds it as a share of its maximum."""
    check_same_columns(real, synthetic)
    rows = check_rows(real, called="real")
    check_rows(synthetic, called="synthetic")
    distance = joint_l1(real, synthetic, rescale=True)
    return Score(
        metric=METRIC.name,
        value=distance,
        breakdown={"share of the largest possible": distance / (2 * rows)},
        note=f"At most {2 * rows:,} for a table of {rows:,} rows.",
    )
