"""Synthetic records that equal a real record in every column."""

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.risk.cells import Cells, check_tables, group_sums, joint_keys, lookup, open_cells
from understudy.evaluate.risk.intervals import wilson
from understudy.sources.base import Source

METRIC = Metric(
    name="exact_copies",
    goal="minimize",
    lowest=0.0,
    highest=1.0,
    room="risk",
    says="Share of synthetic records that equal some real record in every column.",
)


def copied(records: Cells, table: Cells, *, lone: bool = False) -> float:
    """Share of ``records`` that occur in ``table``; with ``lone``, only where a single record of the table has it.

    >>> import numpy as np
    >>> book = {"columns": ("a",), "sizes": (3,)}
    >>> table = Cells(**book, codes=np.array([[0], [1]]), counts=np.array([1, 2]))
    >>> copied(Cells(**book, codes=np.array([[1], [2]]), counts=np.array([3, 1])), table)
    0.75
    """
    ours, theirs = joint_keys(table.sizes, records.codes, table.codes)
    found = lookup(ours, *group_sums(theirs, table.counts), default=0.0)
    hit = found == 1 if lone else found > 0
    return float(records.counts[hit].sum() / records.rows)


def exact_copies(real: Source, synthetic: Source, *, holdout: Source | None = None) -> Score:
    """The share, beside how many records of people who were not in the data would be "copies" by chance."""
    check_tables(real, synthetic, holdout)
    names = real.codebook.names
    truth, copy = open_cells(real, names), open_cells(synthetic, names)
    share = copied(copy, truth)
    rate = wilson(share * copy.rows, copy.rows)
    lines = {"synthetic": share, "copies of a lone record": copied(copy, truth, lone=True)}
    if holdout is not None:
        lines["control"] = copied(open_cells(holdout, names), truth)
    return Score(
        metric=METRIC.name,
        value=share,
        breakdown=lines,
        low=rate.low,
        high=rate.high,
        note="Over binned columns. Equal records also arise by chance: `control` is the share of hold-out records that "
        "have a twin in the real table."
        if holdout is not None
        else "Over binned columns. Equal records also arise by chance; a hold-out would tell how often.",
    )
