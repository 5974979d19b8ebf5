"""How many records stand alone on some columns (dissertation figure 3.12c).

A synthetic record that stands alone is nobody in particular: PeGS makes more of them than the data have. What matters
to a person is the last line of the breakdown, records that stand alone in both tables at the same combination.
"""

from collections.abc import Sequence

from understudy.errors import ParameterError
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.risk.cells import check_tables, group_sums, joint_keys, lookup, open_cells
from understudy.evaluate.risk.intervals import wilson
from understudy.mechanisms.stream import Stream
from understudy.sources.base import Source

METRIC = Metric(
    name="uniqueness",
    goal="minimize",
    lowest=0.0,
    highest=1.0,
    room="risk",
    says="Share of synthetic records that no other synthetic record resembles on the quasi-identifiers.",
)


def uniqueness(real: Source, synthetic: Source, *, columns: Sequence[str], stream: Stream | None = None) -> Score:
    """Unique records of the synthetic table, of the real one and of a bootstrap, and those that both share."""
    if not columns:
        raise ParameterError("`columns` is empty; name the columns on which records are compared.")
    check_tables(real, synthetic, columns=columns)
    rng = (stream or Stream.seeded(0)).generator()
    truth, copy = open_cells(real, columns), open_cells(synthetic, columns)
    lone = int((copy.counts == 1).sum())
    ours, theirs = joint_keys(truth.sizes, truth.codes, copy.codes)
    distinct, records = group_sums(ours, truth.counts)
    alone = lookup(theirs, distinct, (records == 1).astype(float), default=0.0)
    both = float(alone[copy.counts == 1].sum())
    rate = wilson(lone, copy.rows)
    return Score(
        metric=METRIC.name,
        value=rate.value,
        breakdown={
            "synthetic": rate.value,
            "original": float((truth.counts == 1).sum() / truth.rows),
            "bootstrap": float((truth.resample(copy.rows, rng).counts == 1).sum() / copy.rows),
            "unique in both": both / copy.rows,
        },
        low=rate.low,
        high=rate.high,
        note=f"On {', '.join(columns)}. A unique synthetic record is not a person; see `unique in both`.",
    )
