"""Metrics of linked tables, one in each file."""

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.measure import Measure, find_measures

LINKED: dict[str, Measure] = find_measures(__name__, __path__)
"""Every metric of linked tables by name, in the order of a report."""
MUST_BE_PERFECT = ("orphans", "constants", "broken_rules")
"""Metrics that forgive nothing: a release that is not perfect in them is wrong."""


def metric_of(score: Score) -> Metric:
    """What the metric of a score says."""
    return LINKED[score.metric].metric
