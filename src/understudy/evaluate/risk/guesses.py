"""An intruder guesses a value from synthetic records that look like the person: the commonest one, or the mean.

Ties of the commonest are shared equally, so that the order of levels does not matter; a person whom no synthetic record
resembles is guessed from the whole column.
"""

from collections.abc import Callable, Sequence

import numpy as np

from understudy.codebook.numbers import Number
from understudy.errors import DataError, ParameterError
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.risk.attack import attacks
from understudy.evaluate.risk.cells import Cells, Floats, Ints, check_tables, group_sums, joint_keys, lookup, open_cells
from understudy.evaluate.risk.intervals import Z95, Rate, wilson
from understudy.evaluate.values import values_of
from understudy.mechanisms.stream import Stream
from understudy.sources.base import Source

MODE_ATTACK = Metric(
    name="mode_attack",
    title="Wrong guesses of a category",
    goal="maximize",
    room="risk",
    says="How often an intruder who knows the quasi-identifiers guesses the sensitive value wrongly.",
)
MEAN_ATTACK = Metric(
    name="mean_attack",
    title="Error of a guessed number",
    goal="maximize",
    highest=float("inf"),
    room="risk",
    says="How far off an intruder's guess of the sensitive number is on average, in its own unit.",
)


@attacks(
    MODE_ATTACK,
    "quasi",
    "holdout",
    "stream",
    each=True,
    where=lambda scene, about: not isinstance(scene.book.column(about), Number),
    place=10,
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
    """Share of wrong guesses of a category, beside a bootstrap, the marginal alone, and people not in the data.

    E[1(inferred != correct) | quasi-identifiers] (pegs.txt section 4.4, figure 12 left).
    """
    columns = (*quasi, sensitive)
    check_tables(real, synthetic, holdout, columns=columns)
    if len(set(columns)) < len(columns):
        raise ParameterError(
            f"the columns {', '.join(columns)} name one twice; what the intruder knows and wants must be different "
            "columns. Take it out of the quasi-identifiers."
        )
    rng = (stream or Stream.seeded(0)).generator()
    people, copy = open_cells(real, columns), open_cells(synthetic, columns)
    lines = _compared(misses, people, copy, None if holdout is None else open_cells(holdout, columns), rng)
    rate = wilson(people.rows * lines["synthetic"], people.rows)
    compared = (
        " Below `control` by more than chance, it is the people in the data who are exposed."
        if holdout is not None
        else " Without a hold-out, what is general and what is leaked look alike."
    )
    note = f"Wrong guesses of {sensitive} by somebody who knows {', '.join(quasi) or 'nothing'}.{compared}"
    return MODE_ATTACK.score(rate, lines, note=note)


def _compared(
    error: Callable[..., float], people: Cells, copy: Cells, others: Cells | None, rng: np.random.Generator
) -> dict[str, float]:
    """What guessing by the synthetic table errs, beside a bootstrap, the shares alone, and people not in the data."""
    lines = {
        "synthetic": error(people, copy),
        "bootstrap": error(people, people.resample(copy.rows, rng)),
        "marginal": error(people, copy, known=()),
    }
    return lines if others is None or not others.rows else lines | {"control": error(others, copy)}


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


@attacks(
    MEAN_ATTACK,
    "quasi",
    "holdout",
    "stream",
    each=True,
    where=lambda scene, about: isinstance(scene.book.column(about), Number),
    place=10,
)
def mean_attack(
    real: Source,
    synthetic: Source,
    *,
    quasi: Sequence[str],
    sensitive: str,
    holdout: Source | None = None,
    stream: Stream | None = None,
) -> Score:
    """Mean absolute error of a guessed number, beside a bootstrap, the marginal alone, and people not in the data.

    E[|inferred - correct| | quasi-identifiers] (pegs.txt section 4.4, figure 12 right). Numbers are taken at the middle
    of their bin; records where the number is missing are left out.
    """
    columns = (*quasi, sensitive)
    check_tables(real, synthetic, holdout, columns=columns)
    column = real.codebook.column(sensitive)
    if not isinstance(column, Number) or sensitive in quasi:
        raise ParameterError(
            f"`sensitive` is {sensitive!r}, which is {'known already' if sensitive in quasi else 'no number'}; the "
            "mean attack guesses a number that the intruder does not know. Use mode_attack for categories."
        )
    values = values_of(column)
    rng = (stream or Stream.seeded(0)).generator()
    people, copy = (_numbers(open_cells(source, columns), values) for source in (real, synthetic))
    if not people.rows or not copy.rows:
        raise DataError(f"the column {sensitive!r} is missing in every row of a table; there is no number to guess.")
    errors, weights = mean_error(people, copy, values)
    centre = _mean(errors, weights)
    spread = np.sqrt(_mean((errors - centre) ** 2, weights) / max(people.rows - 1, 1))

    def error(people: Cells, guide: Cells, known: Sequence[str] | None = None) -> float:
        return _mean(*mean_error(people, guide, values, known=known))

    others = None if holdout is None else _numbers(open_cells(holdout, columns), values)
    lines = _compared(error, people, copy, others, rng)
    return MEAN_ATTACK.score(
        Rate(value=centre, low=float(max(0.0, centre - Z95 * spread)), high=float(centre + Z95 * spread)),
        lines,
        note=f"Absolute error of {sensitive} for somebody who knows {', '.join(quasi) or 'nothing'}; bins count as "
        "their middle.",
    )


def mean_error(
    people: Cells, guide: Cells, values: Floats, *, known: Sequence[str] | None = None
) -> tuple[Floats, Floats]:
    """Absolute error of each cell of ``people`` and how many records it stands for; the last column is the target.

    >>> cells = Cells(columns=("t",), sizes=(2,), codes=np.array([[0], [1]]), counts=np.array([1, 3]))
    >>> mean_error(cells, cells, np.array([0.0, 4.0]))[0].tolist()
    [3.0, 1.0]
    """
    *quasi, _ = people.columns
    given = tuple(quasi if known is None else known)
    guesses = values[guide.codes[:, -1]]
    whole = _mean(guesses, guide.counts.astype(float))
    theirs, ours = joint_keys(guide.sizes_of(given), guide.pick(given), people.pick(given))
    distinct, records = group_sums(theirs, guide.counts)
    _, sums = group_sums(theirs, guide.counts * guesses)
    inferred = lookup(ours, distinct, sums / records, default=whole)
    return np.abs(inferred - values[people.codes[:, -1]]), people.counts.astype(float)


def _numbers(cells: Cells, values: Floats) -> Cells:
    kept = ~np.isnan(values[cells.codes[:, -1]])
    return cells.where(kept)


def _mean(values: Floats, weights: Floats) -> float:
    return float((values * weights).sum() / weights.sum())
