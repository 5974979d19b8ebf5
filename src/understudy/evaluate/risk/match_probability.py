"""How likely a synthetic record picked by its quasi-identifiers is right about a person.

Duncan and Lambert (1986): an intruder who finds c records that fit a person gives each the probability 1/c. Reiter
(2005): the expected share of right matches is the mean of k/c, with k of the c records right. In a synthetic file no
record is the person's own, so "right" means that the sensitive values agree.
"""

from collections.abc import Sequence

from understudy.errors import ParameterError
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.risk.cells import Cells, Floats, check_tables, group_sums, joint_keys, lookup, open_cells
from understudy.evaluate.risk.intervals import wilson
from understudy.sources.base import Source

METRIC = Metric(
    name="match_probability",
    goal="minimize",
    lowest=0.0,
    highest=1.0,
    room="risk",
    says="Chance that a synthetic record which fits a person's quasi-identifiers is right about the sensitive values.",
)


def match_counts(people: Cells, guide: Cells, quasi: Sequence[str]) -> tuple[Floats, Floats]:
    """For each cell of ``people``: records of ``guide`` that fit on ``quasi``, and those of them that fit wholly."""
    theirs, ours = joint_keys(guide.sizes_of(quasi), guide.pick(quasi), people.pick(quasi))
    fitting = lookup(ours, *group_sums(theirs, guide.counts), default=0.0)
    theirs, ours = joint_keys(guide.sizes, guide.codes, people.codes)
    return fitting, lookup(ours, *group_sums(theirs, guide.counts), default=0.0)


def match_probability(
    real: Source, synthetic: Source, *, quasi: Sequence[str], sensitive: Sequence[str], holdout: Source | None = None
) -> Score:
    """Expected and maximum match probability, and Reiter's true and false match rates."""
    columns = tuple(dict.fromkeys((*quasi, *sensitive)))
    if not quasi or len(columns) == len(set(quasi)):
        raise ParameterError(
            f"the quasi-identifiers are {', '.join(quasi) or 'none'} and the sensitive columns "
            f"{', '.join(sensitive) or 'none'}; name at least one of each that the other does not hold."
        )
    check_tables(real, synthetic, holdout, columns=columns)
    people, copy = open_cells(real, columns), open_cells(synthetic, columns)
    fitting, right = match_counts(people, copy, quasi)
    chance = right / fitting.clip(min=1)
    expected = float((chance * people.counts).sum() / people.rows)
    single = fitting == 1
    singles = int(people.counts[single].sum())
    true = int(people.counts[single & (right == 1)].sum())
    largest = float(chance.max())
    lines = {
        "expected": expected,
        "maximum": largest,
        "people at the maximum": float(people.counts[chance == largest].sum() / people.rows) if largest else 0.0,
        "claimed": float((people.counts[fitting > 0] / fitting[fitting > 0]).sum() / people.rows),
        "true match rate": true / people.rows,
        "false match rate": (singles - true) / singles if singles else 0.0,
    }
    if holdout is not None:
        others = open_cells(holdout, columns)
        theirs, exact = match_counts(others, copy, quasi)
        lines["control"] = float((exact / theirs.clip(min=1) * others.counts).sum() / others.rows)
    rate = wilson(people.rows * expected, people.rows)
    return Score(
        metric=METRIC.name,
        value=expected,
        breakdown=lines,
        low=rate.low,
        high=rate.high,
        note=f"{', '.join(n for n in columns if n not in quasi)} of a record that fits on {', '.join(quasi)}. "
        "`claimed` is what the intruder would believe: 1 over the number of records that fit.",
    )
