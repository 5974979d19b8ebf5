"""Total variation distance of tables of two columns."""

from dataclasses import replace

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.tables import left_out, tables_of_width
from understudy.evaluate.utility.tvd import tvd_score
from understudy.sources.base import Source

METRIC = Metric(
    name="tvd_two_way",
    goal="minimize",
    lowest=0.0,
    highest=1.0,
    room="utility",
    says="The share of rows that would have to change to make the 2-way tables agree, averaged over tables.",
)


def tvd_two_way(real: Source, synthetic: Source) -> Score:
    """All tables of two columns that are small enough to be laid out."""
    score = tvd_score(METRIC.name, real, synthetic, tables_of_width(real.codebook, 2))
    return replace(score, note=score.note + left_out(real.codebook, 2))
