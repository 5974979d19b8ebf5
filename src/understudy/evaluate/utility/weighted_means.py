"""Weighted means with their intervals, compared: what a survey is mostly asked for."""

import numpy as np

from understudy.errors import DataError
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.survey import weighted_mean
from understudy.evaluate.values import is_ordered
from understudy.sources.base import Source

METRIC = Metric(
    name="weighted_means",
    goal="maximize",
    lowest=0.0,
    highest=1.0,
    room="utility",
    says="How much of the two 95% intervals of a weighted mean is common, averaged over columns with an order.",
)


def weighted_means(real: Source, synthetic: Source) -> Score:
    """Overlap of the intervals of every column with an order but the weight; both means stand in the breakdown."""
    book = real.codebook
    shares: list[float] = []
    parts: dict[str, float] = {}
    for column in book.modelled:
        if not is_ordered(column) or column.name == book.weight:
            continue
        try:
            a, b = (weighted_mean(source, column.name) for source in (real, synthetic))
        except DataError:  # no value at all on one side
            continue
        common = max(0.0, min(a.high, b.high) - max(a.low, b.low))
        widths = [found.high - found.low for found in (a, b)]
        share = 1.0 if (a.low, a.high) == (b.low, b.high) else sum(common / w if w > 0 else 0.0 for w in widths) / 2
        shares.append(share)
        parts |= {column.name: share, f"{column.name}: real": a.value, f"{column.name}: synthetic": b.value}
    if not shares:
        return Score(metric=METRIC.name, value=float("nan"), note="there is no column with an order beside the weight.")
    return Score(
        metric=METRIC.name,
        value=float(np.mean(shares)),
        breakdown=parts,
        note=f"Weighted by {book.weight}, over {len(shares)} columns with an order.",
    )
