"""Total variation distance of tables of three columns."""

from collections.abc import Sequence

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.tables import triples
from understudy.evaluate.utility.tvd import tvd_score
from understudy.sources.base import Clique, Source

METRIC = Metric(
    name="tvd_three_way",
    goal="minimize",
    lowest=0.0,
    highest=1.0,
    room="utility",
    says="The share of rows that would have to change to make the 3-way tables agree, averaged over tables.",
)


def tvd_three_way(real: Source, synthetic: Source, *, tables: Sequence[Clique] | None = None) -> Score:
    """The chosen tables; unasked, up to 64 of them, evenly spaced among all small ones."""
    return tvd_score(METRIC.name, real, synthetic, triples(real.codebook) if tables is None else tables)
