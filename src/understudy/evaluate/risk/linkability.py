"""Whether two halves of what is known about a person lead to one synthetic record (Giomi et al. 2023, section 4.2).

The intruder holds two files about the same people, without a common key: some columns in one, the others in the other.
For each person the nearest synthetic record is looked up by either half; the halves are linked when it is the same one.
"""

from collections.abc import Sequence

import numpy as np

from understudy.errors import ParameterError
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.risk.cells import Cells, Ints, check_tables, open_cells
from understudy.evaluate.risk.intervals import Rate, residual, wilson
from understudy.evaluate.risk.neighbours import nearest, scale_of
from understudy.mechanisms.stream import Stream
from understudy.sources.base import Source

METRIC = Metric(
    name="linkability",
    goal="minimize",
    lowest=0.0,
    highest=1.0,
    room="risk",
    says="How often two separate pieces of knowledge about a person lead to one synthetic record, beyond chance.",
)


def linkability(
    real: Source,
    synthetic: Source,
    *,
    halves: tuple[Sequence[str], Sequence[str]] | None = None,
    holdout: Source | None = None,
    targets: int = 500,
    most: int = 20_000,
    stream: Stream | None = None,
) -> Score:
    """Rate of linked halves with Wilson's interval; against the hold-out where there is one.

    ``halves`` are the columns of either file, every other column by default. Up to ``targets`` people are looked up
    among up to ``most`` synthetic records; equally near records are taken at random, for each half on its own.
    """
    names = real.codebook.names
    one, other = (names[::2], names[1::2]) if halves is None else (tuple(halves[0]), tuple(halves[1]))
    check_tables(real, synthetic, holdout, columns=(*one, *other))
    if not one or not other or set(one) & set(other):
        raise ParameterError(
            f"the halves are {', '.join(one) or 'empty'} and {', '.join(other) or 'empty'}; linking needs two sets of "
            "columns without a common one."
        )
    rng = (stream or Stream.seeded(0)).generator()
    records = open_cells(synthetic, names).subsample(most, rng).records()
    orders = [rng.permutation(len(records)) for _ in range(2)]

    def rate(source: Source) -> Rate:
        people = open_cells(source, names).subsample(targets, rng)
        found = [
            _look_up(people, half, records, order, source) for half, order in zip((one, other), orders, strict=True)
        ]
        linked = int(np.repeat(found[0] == found[1], people.counts).sum())
        return wilson(linked, people.rows)

    attack = rate(real)
    lines = {"attack": attack.value, "baseline": 1 / len(records)}
    shown = attack
    if holdout is not None:
        control = rate(holdout)
        lines["control"] = control.value
        shown = residual(attack, control)
    return Score(
        metric=METRIC.name,
        value=shown.value,
        breakdown=lines,
        low=shown.low,
        high=shown.high,
        note=f"{', '.join(one)} in one file, {', '.join(other)} in the other.",
    )


def _look_up(people: Cells, half: Sequence[str], records: Ints, order: Ints, source: Source) -> Ints:
    axes = [people.columns.index(name) for name in half]
    places, _ = nearest(people.codes[:, axes], records[order][:, axes], scale_of(source.codebook, half))
    return order[places]
