"""Total variation of detailed codes: they are outside the model, so that no other metric looks at them."""

import numpy as np

from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.risk.cells import joint_keys, open_cells
from understudy.sources.base import Source

METRIC = Metric(
    name="detail_tvd",
    goal="minimize",
    lowest=0.0,
    highest=1.0,
    room="utility",
    says="The share of records whose detailed code would have to change to make the tables agree, averaged.",
)


def detail_tvd(real: Source, synthetic: Source) -> Score:
    """Of every detail column; what fell back to ``other`` counts as changed."""
    parts, others = {}, {}
    for detail in real.codebook.details:
        a, b = (open_cells(source, [detail.name]) for source in (real, synthetic))
        keys = joint_keys((detail.size,), a.codes, b.codes)
        shares = [np.bincount(k, c.counts, detail.size) / c.rows for k, c in zip(keys, (a, b), strict=True)]
        parts[detail.name] = float(np.abs(shares[0] - shares[1]).sum() / 2)
        others[detail.name] = float(shares[1][detail.code_of[str(detail.other)]])
    if not parts:
        return Score(metric=METRIC.name, value=float("nan"), note="there is no detail column.")
    said = ", ".join(f"{share:.1%} of {name}" for name, share in others.items())
    return Score(
        metric=METRIC.name, value=float(np.mean(list(parts.values()))), breakdown=parts, note=f"{said} became other."
    )
