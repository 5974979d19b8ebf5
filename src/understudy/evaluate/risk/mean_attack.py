"""An intruder guesses a number: the mean over synthetic records that look like the person.

E[|inferred - correct| | quasi-identifiers] (pegs.txt section 4.4, figure 12 right). Numbers are taken at the middle of
their bin; records where the number is missing are left out.
"""

from collections.abc import Sequence

import numpy as np

from understudy.codebook.numbers import Number
from understudy.errors import DataError, ParameterError
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.risk.cells import Cells, Floats, check_tables, group_sums, joint_keys, lookup, open_cells
from understudy.evaluate.values import values_of
from understudy.mechanisms.stream import Stream
from understudy.sources.base import Source

METRIC = Metric(
    name="mean_attack",
    goal="maximize",
    lowest=0.0,
    highest=float("inf"),
    room="risk",
    says="How far off an intruder's guess of the sensitive number is on average, in its own unit.",
)
_Z = 1.959963984540054


def mean_attack(
    real: Source,
    synthetic: Source,
    *,
    quasi: Sequence[str],
    sensitive: str,
    holdout: Source | None = None,
    stream: Stream | None = None,
) -> Score:
    """Mean absolute error about real people, beside a bootstrap, the marginal alone, and people not in the data."""
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
    lines = {
        "synthetic": centre,
        "bootstrap": _mean(*mean_error(people, people.resample(copy.rows, rng), values)),
        "marginal": _mean(*mean_error(people, copy, values, known=())),
    }
    if holdout is not None and (others := _numbers(open_cells(holdout, columns), values)).rows:
        lines["control"] = _mean(*mean_error(others, copy, values))
    return Score(
        metric=METRIC.name,
        value=centre,
        breakdown=lines,
        low=float(max(0.0, centre - _Z * spread)),
        high=float(centre + _Z * spread),
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
    return Cells(columns=cells.columns, sizes=cells.sizes, codes=cells.codes[kept], counts=cells.counts[kept])


def _mean(values: Floats, weights: Floats) -> float:
    return float((values * weights).sum() / weights.sum())
