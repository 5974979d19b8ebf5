"""Whether the nearest synthetic record gives away a value (Giomi et al. 2023, section 4.3).

The intruder knows all other columns of a person and takes the secret one from the synthetic record that is nearest.
What is true of everybody like the person is learned as well from people who were not in the data: the control.
"""

from collections.abc import Sequence

import numpy as np

from understudy.errors import ParameterError
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.risk.cells import check_tables, open_cells
from understudy.evaluate.risk.intervals import Rate, residual, wilson
from understudy.evaluate.risk.neighbours import nearest, scale_of
from understudy.mechanisms.stream import Stream
from understudy.sources.base import Source

METRIC = Metric(
    name="inference",
    goal="minimize",
    lowest=0.0,
    highest=1.0,
    room="risk",
    says="How often the nearest synthetic record reveals a person's sensitive value, beyond chance.",
)


def inference(
    real: Source,
    synthetic: Source,
    *,
    sensitive: str,
    known: Sequence[str] | None = None,
    holdout: Source | None = None,
    targets: int = 500,
    most: int = 20_000,
    stream: Stream | None = None,
) -> Score:
    """Rate of right guesses with Wilson's interval; against the hold-out where there is one."""
    given = tuple(n for n in real.codebook.names if n != sensitive) if known is None else tuple(known)
    check_tables(real, synthetic, holdout, columns=(*given, sensitive))
    if not given or sensitive in given:
        raise ParameterError(
            f"the intruder knows {', '.join(given) or 'nothing'} and wants {sensitive!r}; known columns do not hold it."
        )
    rng = (stream or Stream.seeded(0)).generator()
    columns = (*given, sensitive)
    scale = scale_of(real.codebook, given)
    copy = open_cells(synthetic, columns)
    records = rng.permutation(copy.subsample(most, rng).records())
    common = int(np.bincount(copy.codes[:, -1], weights=copy.counts).argmax())

    def rates(source: Source) -> tuple[Rate, float]:
        people = open_cells(source, columns).subsample(targets, rng)
        places, _ = nearest(people.codes[:, :-1], records[:, :-1], scale)
        right = records[places, -1] == people.codes[:, -1]
        blind = float(people.counts[people.codes[:, -1] == common].sum() / people.rows)
        return wilson(int(people.counts[right].sum()), people.rows), blind

    attack, baseline = rates(real)
    lines = {"attack": attack.value, "baseline": baseline}
    shown = attack
    if holdout is not None:
        control, _ = rates(holdout)
        lines["control"] = control.value
        shown = residual(attack, control)
    return Score(
        metric=METRIC.name,
        value=shown.value,
        breakdown=lines,
        low=shown.low,
        high=shown.high,
        note=f"{sensitive} of the nearest synthetic record. `baseline` always guesses the commonest value."
        + ("" if holdout is not None else " Without a hold-out, what is general and what is leaked look alike."),
    )
