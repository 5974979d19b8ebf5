"""Total variation distance of tables of one column."""

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.tables import tables_of_width
from understudy.evaluate.utility.tvd import tvd_score
from understudy.sources.base import Source

METRIC = Metric(
    name="tvd_one_way",
    goal="minimize",
    lowest=0.0,
    highest=1.0,
    room="utility",
    says="The share of rows that would have to change to make the 1-way tables agree, averaged over tables.",
)


def tvd_one_way(real: Source, synthetic: Source) -> Score:
    """All tables of one column."""
    return tvd_score(METRIC.name, real, synthetic, tables_of_width(real.codebook, 1))
