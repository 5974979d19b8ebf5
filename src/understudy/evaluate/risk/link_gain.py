"""What linking another column to the file adds to a guess (lugs.txt theorem 2).

Lambda = Pr(Y~ = Y | X, Z) / Pr(Y~ = Y | X): X are the quasi-identifiers, Z the linked column, Y the sensitive one, and
the probabilities are those of the synthetic file at a real person's values. The theorem is Bayes' rule. What follows
from it is Lambda <= 1 / Pr(Y~ = Y | X), no more: the paper's "Lambda increases as the guess gets worse" does not
(PRIVACY section 4).
"""

from collections.abc import Sequence

import numpy as np

from understudy.errors import ParameterError
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.risk.cells import Cells, Floats, check_tables, open_cells
from understudy.evaluate.risk.match_probability import match_counts
from understudy.sources.base import Source

METRIC = Metric(
    name="link_gain",
    goal="minimize",
    lowest=0.0,
    highest=float("inf"),
    room="risk",
    says="By what factor one more known column makes a synthetic record's sensitive value likelier to be right.",
    best=1.0,
)


def gain(people: Cells, guide: Cells, *, quasi: Sequence[str]) -> tuple[float, float, float]:
    """Mean of Lambda over people, and the mean chances before and after linking; columns are quasi, linked, sensitive.

    Only people whom the synthetic file can guess at all count: their own combination with Z occurs, and the value too.
    """
    linked, sensitive = people.columns[-2:]
    fits, right = _chances(people, guide, (*quasi, sensitive), quasi)
    fits_too, right_too = _chances(people, guide, people.columns, (*quasi, linked))
    known = (right > 0) & (fits_too > 0)
    if not known.any():
        return float("nan"), float("nan"), float("nan")
    weight = people.counts[known] / people.counts[known].sum()
    before, after = (right / fits.clip(min=1))[known], (right_too / fits_too.clip(min=1))[known]
    return tuple(float((part * weight).sum()) for part in (after / before, before, after))  # type: ignore[return-value]


def _chances(people: Cells, guide: Cells, columns: Sequence[str], known: Sequence[str]) -> tuple[Floats, Floats]:
    part, whole = (
        Cells(columns=tuple(columns), sizes=table.sizes_of(columns), codes=table.pick(columns), counts=table.counts)
        for table in (people, guide)
    )
    return match_counts(part, whole, known)


def link_gain(
    real: Source, synthetic: Source, *, quasi: Sequence[str], sensitive: str, linked: Sequence[str] | None = None
) -> Score:
    """The mean gain of the most telling linked column; the breakdown has all of them."""
    others = [name for name in real.codebook.names if name not in (*quasi, sensitive)]
    columns = others if linked is None else list(linked)
    check_tables(real, synthetic, columns=(*quasi, sensitive, *columns))
    if not columns or set(columns) & {*quasi, sensitive}:
        raise ParameterError(
            f"`linked` is {', '.join(columns) or 'empty'}; name columns besides the quasi-identifiers and "
            f"{sensitive!r} that another file could bring."
        )
    lines: dict[str, float] = {}
    top, before, after = float("nan"), float("nan"), float("nan")
    for name in columns:
        clique = (*quasi, name, sensitive)
        found = gain(open_cells(real, clique), open_cells(synthetic, clique), quasi=tuple(quasi))
        lines[name] = found[0]
        if not np.isnan(found[0]) and not found[0] <= top:
            top, before, after = found
    lines |= {"chance before": before, "chance after": after}
    return Score(
        metric=METRIC.name,
        value=top,
        breakdown=lines,
        note=f"Gain about {sensitive} beyond {', '.join(quasi) or 'nothing'}; 1 means that linking tells nothing. "
        "Small groups make it look larger than it is.",
    )
