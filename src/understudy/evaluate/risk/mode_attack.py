"""An intruder guesses a categorical value: the commonest one among synthetic records that look like the person.

E[1(inferred != correct) | quasi-identifiers] (pegs.txt section 4.4, figure 12 left). Ties are shared equally, so that
the order of levels does not matter; a person whom no synthetic record resembles is guessed from the whole column.
"""

from collections.abc import Sequence

import numpy as np

from understudy.errors import ParameterError
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.risk.cells import Cells, Floats, Ints, check_tables, group_sums, joint_keys, lookup, open_cells
from understudy.evaluate.risk.intervals import wilson
from understudy.mechanisms.stream import Stream
from understudy.sources.base import Source

METRIC = Metric(
    name="mode_attack",
    goal="maximize",
    lowest=0.0,
    highest=1.0,
    room="risk",
    says="How often an intruder who knows the quasi-identifiers guesses the sensitive value wrongly.",
)


def mode_attack(
    real: Source,
    synthetic: Source,
    *,
    quasi: Sequence[str],
    sensitive: str,
    holdout: Source | None = None,
    stream: Stream | None = None,
) -> Score:
    """Share of wrong guesses about real people, beside a bootstrap, the marginal alone, and people not in the data."""
    columns = _columns(real, synthetic, quasi, sensitive, holdout)
    rng = (stream or Stream.seeded(0)).generator()
    people, copy = open_cells(real, columns), open_cells(synthetic, columns)
    wrong = misses(people, copy)
    rate = wilson(people.rows * wrong, people.rows)
    lines = {
        "synthetic": wrong,
        "bootstrap": misses(people, people.resample(copy.rows, rng)),
        "marginal": misses(people, copy, known=()),
    }
    if holdout is not None:
        lines["control"] = misses(open_cells(holdout, columns), copy)
    return Score(
        metric=METRIC.name,
        value=rate.value,
        breakdown=lines,
        low=rate.low,
        high=rate.high,
        note=_note(sensitive, quasi, lines),
    )


def misses(people: Cells, guide: Cells, *, known: Sequence[str] | None = None) -> float:
    """Expected share of wrong guesses about ``people`` by the modes of ``guide``; the last column is the target.

    >>> guide = Cells(columns=("q", "t"), sizes=(2, 2), codes=np.array([[0, 0], [0, 1]]), counts=np.array([3, 1]))
    >>> people = Cells(columns=("q", "t"), sizes=(2, 2), codes=np.array([[0, 0], [1, 1]]), counts=np.array([1, 1]))
    >>> misses(people, guide)
    0.5
    """
    *quasi, target = people.columns
    given = tuple(quasi if known is None else known)
    size = people.sizes_of([target])[0]
    theirs, ours = joint_keys(guide.sizes_of(given), guide.pick(given), people.pick(given))
    answers = people.pick([target])[:, 0]
    whole = _chance(np.zeros_like(theirs), guide, np.zeros_like(ours), answers, size)
    right = whole
    if given:
        seen = lookup(ours, *group_sums(theirs, guide.counts), default=0.0) > 0
        right = np.where(seen, _chance(theirs, guide, ours, answers, size), whole)
    return float(1 - (right * people.counts).sum() / people.rows)


def _chance(theirs: Ints, guide: Cells, ours: Ints, answers: Ints, size: int) -> Floats:
    """Chance that the mode of each person's group is their true answer, ties being drawn at random."""
    cells, counts = group_sums(theirs * size + guide.codes[:, -1], guide.counts)
    group = cells // size
    starts = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    top = np.repeat(np.maximum.reduceat(counts, starts), np.diff([*starts, len(cells)]))
    ties = np.repeat(np.add.reduceat((counts == top).astype(float), starts), np.diff([*starts, len(cells)]))
    return lookup(ours * size + answers, cells, np.where(counts == top, 1 / ties, 0.0), default=0.0)


def _columns(
    real: Source, synthetic: Source, quasi: Sequence[str], sensitive: str, holdout: Source | None
) -> tuple[str, ...]:
    columns = (*quasi, sensitive)
    check_tables(real, synthetic, holdout, columns=columns)
    if len(set(columns)) < len(columns):
        raise ParameterError(
            f"the columns {', '.join(columns)} name one twice; what the intruder knows and wants must be different "
            "columns. Take it out of the quasi-identifiers."
        )
    return columns


def _note(sensitive: str, quasi: Sequence[str], lines: dict[str, float]) -> str:
    compared = " Below `control` by more than chance, it is the people in the data who are exposed."
    return f"Wrong guesses of {sensitive} by somebody who knows {', '.join(quasi) or 'nothing'}." + (
        compared if "control" in lines else " Without a hold-out, what is general and what is leaked look alike."
    )
