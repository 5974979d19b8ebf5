"""Share of purely artificial records: synthetic records that no real row has (lugs.txt section 5.4).

Not a fault by itself: new rows of the same population would also hold records that were never seen, about as often as a
record occurs only once in the real table (Good and Turing). The breakdown gives that share as the line to compare with.
"""

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.seen import known_records, unseen_share
from understudy.evaluate.utility.tables import counted
from understudy.sources.base import Source

METRIC = Metric(
    name="artificial_share",
    goal="minimize",
    lowest=0.0,
    highest=1.0,
    room="utility",
    says="The share of synthetic rows whose whole record no real row has.",
)


def artificial_share(real: Source, synthetic: Source) -> Score:
    """The share, with what new real rows would give."""
    ((_, truth, copy),) = counted(real, synthetic, [real.codebook.names])
    _, drawn = copy.occupied()
    share = float(drawn[~known_records(truth, copy)].sum() / drawn.sum())
    expected = unseen_share(truth)
    return Score(
        metric=METRIC.name,
        value=share,
        breakdown={"new real rows would give about": expected, "a bootstrap gives": 0.0},
        note="Neither extreme is good: 0 copies only what exists, 1 invents every record.",
    )
