"""Records that stand alone, equal a real record, or lie closer to the data than to other people of the same kind."""

from collections.abc import Sequence

import numpy as np

from understudy.errors import ParameterError
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.risk.attack import attacks
from understudy.evaluate.risk.cells import Cells, check_tables, group_sums, joint_keys, lookup, open_cells
from understudy.evaluate.risk.intervals import wilson
from understudy.evaluate.risk.neighbours import nearest, scale_of
from understudy.mechanisms.stream import Stream
from understudy.sources.base import Source

UNIQUENESS = Metric(
    name="uniqueness",
    title="Unique records",
    room="risk",
    says="Share of synthetic records that no other synthetic record resembles on the quasi-identifiers.",
)
EXACT_COPIES = Metric(
    name="exact_copies",
    title="Rows equal to a real record",
    room="risk",
    says="Share of synthetic records that equal some real record in every column.",
)
CLOSEST_RECORD = Metric(
    name="closest_record",
    title="Distance to the closest record",
    room="risk",
    says="Share of synthetic records closer to the data than to a hold-out of as many others; one half is no memory.",
    best=0.5,
)


@attacks(UNIQUENESS, "columns", "stream", where=lambda scene, about: bool(scene.quasi), place=40)
def uniqueness(real: Source, synthetic: Source, *, columns: Sequence[str], stream: Stream | None = None) -> Score:
    """Unique records of the synthetic table, of the real one and of a bootstrap (dissertation figure 3.12c).

    A synthetic record that stands alone is nobody in particular: PeGS makes more of them than the data have. What
    matters to a person is the last line of the breakdown, records that stand alone in both tables.
    """
    if not columns:
        raise ParameterError("`columns` is empty; name the columns on which records are compared.")
    check_tables(real, synthetic, columns=columns)
    rng = (stream or Stream.seeded(0)).generator()
    truth, copy = open_cells(real, columns), open_cells(synthetic, columns)
    lone = int((copy.counts == 1).sum())
    ours, theirs = joint_keys(truth.sizes, truth.codes, copy.codes)
    distinct, records = group_sums(ours, truth.counts)
    alone = lookup(theirs, distinct, (records == 1).astype(float), default=0.0)
    return uniqueness_score(
        columns,
        lone=lone,
        rows=copy.rows,
        both=int(alone[copy.counts == 1].sum()),
        original=float((truth.counts == 1).sum() / truth.rows),
        bootstrap=float((truth.resample(copy.rows, rng).counts == 1).sum() / copy.rows),
    )


def uniqueness_score(
    columns: Sequence[str], *, lone: int, rows: int, both: int, original: float, bootstrap: float
) -> Score:
    """From how many of the synthetic rows stand alone there, and in both tables; however they were counted."""
    rate = wilson(lone, rows)
    return UNIQUENESS.score(
        rate,
        {"synthetic": rate.value, "original": original, "bootstrap": bootstrap, "unique in both": both / rows},
        note=f"On {', '.join(columns)}. A unique synthetic record is not a person; see `unique in both`.",
    )


def copied(records: Cells, table: Cells, *, lone: bool = False) -> int:
    """How many of ``records`` occur in ``table``; with ``lone``, only where a single record of the table has it.

    >>> import numpy as np
    >>> book = {"columns": ("a",), "sizes": (3,)}
    >>> table = Cells(**book, codes=np.array([[0], [1]]), counts=np.array([1, 2]))
    >>> copied(Cells(**book, codes=np.array([[1], [2]]), counts=np.array([3, 1])), table)
    3
    """
    ours, theirs = joint_keys(table.sizes, records.codes, table.codes)
    twins = lookup(ours, *group_sums(theirs, table.counts), default=0.0)
    hit = twins == 1 if lone else twins > 0
    return int(records.counts[hit].sum())


@attacks(EXACT_COPIES, "holdout", place=50)
def exact_copies(real: Source, synthetic: Source, *, holdout: Source | None = None) -> Score:
    """The share, beside how many records of people who were not in the data would be "copies" by chance."""
    check_tables(real, synthetic, holdout)
    names = real.codebook.names
    truth, copy = open_cells(real, names), open_cells(synthetic, names)
    rate = wilson(copied(copy, truth), copy.rows)
    lines = {"synthetic": rate.value, "copies of a lone record": copied(copy, truth, lone=True) / copy.rows}
    note = "Over binned columns. Equal records also arise by chance; a hold-out would tell how often."
    if holdout is not None:
        others = open_cells(holdout, names)
        lines["control"] = copied(others, truth) / others.rows
        note = (
            "Over binned columns. Equal records also arise by chance: `control` is the share of hold-out records that "
            "have a twin in the real table."
        )
    return EXACT_COPIES.score(rate, lines, note=note)


@attacks(CLOSEST_RECORD, "holdout", "stream", full=True, place=70)
def closest_record(
    real: Source,
    synthetic: Source,
    *,
    holdout: Source | None,
    most: int = 2_000,
    stream: Stream | None = None,
) -> Score:
    """Compare up to ``most`` synthetic records with equally many records of the data and of the hold-out."""
    if holdout is None:
        return CLOSEST_RECORD.undefined("Needs a hold-out that was set aside before synthesis.")
    check_tables(real, synthetic, holdout)
    names = real.codebook.names
    rng = (stream or Stream.seeded(0)).generator()
    truth, copy, others = (open_cells(source, names) for source in (real, synthetic, holdout))
    size = min(truth.rows, others.rows)
    points = copy.subsample(most, rng)
    scale = scale_of(real.codebook, names)
    near, far = (nearest(points.codes, table.subsample(size, rng).codes, scale)[1] for table in (truth, others))
    weights = points.counts
    hits = float(((near < far) + 0.5 * (near == far)) @ weights)
    rate = wilson(hits, points.rows)
    return CLOSEST_RECORD.score(
        rate,
        {
            "closer to the data": rate.value,
            "ties": float((near == far) @ weights / points.rows),
            "mean distance to the data": float(near @ weights / points.rows),
            "mean distance to the hold-out": float(far @ weights / points.rows),
            "5th percentile, data": float(np.percentile(np.repeat(near, weights), 5)),
            "5th percentile, hold-out": float(np.percentile(np.repeat(far, weights), 5)),
        },
        note=f"{points.rows:,} synthetic records against {size:,} of each kind; ties count half. A distance is no "
        "guarantee: copies can be hidden by small changes.",
    )
