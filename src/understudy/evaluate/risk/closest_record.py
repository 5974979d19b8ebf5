"""Whether synthetic records lie closer to the data they were made from than to other people of the same kind."""

import math

import numpy as np

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.risk.cells import check_tables, open_cells
from understudy.evaluate.risk.intervals import wilson
from understudy.evaluate.risk.neighbours import nearest, scale_of
from understudy.mechanisms.stream import Stream
from understudy.sources.base import Source

METRIC = Metric(
    name="closest_record",
    goal="minimize",
    lowest=0.0,
    highest=1.0,
    room="risk",
    says="Share of synthetic records closer to the data than to a hold-out of as many others; one half is no memory.",
    best=0.5,
)


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
        return Score(metric=METRIC.name, value=math.nan, note="Needs a hold-out that was set aside before synthesis.")
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
    return Score(
        metric=METRIC.name,
        value=rate.value,
        breakdown={
            "closer to the data": rate.value,
            "ties": float((near == far) @ weights / points.rows),
            "mean distance to the data": float(near @ weights / points.rows),
            "mean distance to the hold-out": float(far @ weights / points.rows),
            "5th percentile, data": float(np.percentile(np.repeat(near, weights), 5)),
            "5th percentile, hold-out": float(np.percentile(np.repeat(far, weights), 5)),
        },
        low=rate.low,
        high=rate.high,
        note=f"{points.rows:,} synthetic records against {size:,} of each kind; ties count half. A distance is no "
        "guarantee: copies can be hidden by small changes.",
    )
