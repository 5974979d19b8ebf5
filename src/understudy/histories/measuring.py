"""One view measured and made plausible, by the engine of ``marginals``: one-way tables, dependence, chosen pairs.

Every number that comes out of here is a measurement that a meter charged for, or follows from such measurements.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.blocks.latent import LatentClasses
from understudy.blocks.measured import MarginalFit
from understudy.blocks.planning import first_share, patience_at
from understudy.codebook.views import View
from understudy.mechanisms.gaussian_measurements import Meter
from understudy.mechanisms.stream import Stream
from understudy.sources.base import Report, Source

Values = npt.NDArray[np.float64]
SCORE_SHARE = 0.05
"""Of the budget of a view: the dependence of its pairs."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ViewTables:
    """What is known of a view."""

    ones: Sequence[Values]
    """By column of its codebook, each of one total."""
    twos: dict[tuple[int, int], Values]
    classes: LatentClasses


def measure_view(
    view: View, source: Source, meter: Meter, *, epsilon: float, stream: Stream, report: Report | None
) -> ViewTables:
    """Measure, choose, measure, make plausible; ``epsilon`` is what the units of the meter alone would cost, about."""
    book, names = view.book, view.book.names
    cliques = [*[(name,) for name in names], *[(names[i], names[j]) for i, j in view.pairs]]
    counts = source.count(cliques, report)
    ones, twos = counts[: len(names)], dict(zip(view.pairs, counts[len(names) :], strict=True))
    # a step stands for all rows of its person: among those, an error by their number counts up to the cap
    heavy = {} if view.siblings is None else {names.index(view.siblings): float(view.table.cap or 1)}
    fit = MarginalFit(meter=meter, sizes=book.sizes, workload=[1.0] * len(names), heavy=heavy)
    fit.measure_ones(ones, share=first_share(epsilon) if twos else 1.0)
    fit.score_pairs(twos, share=SCORE_SHARE, patience=patience_at(epsilon))
    fit.measure_pairs(ones, twos, reserve=0.0)
    classes = fit.classes(stream.generator(), report)
    shown, pairs = fit.plausible(classes)
    return ViewTables(ones=shown, twos=pairs, classes=classes)
