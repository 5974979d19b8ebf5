"""Rows that continue others: some columns stand already, one row looks back at another, and rows differ in weight.

Latent classes are drawn given what stands, new columns given the class; then single new values are changed as in
``agreeing.py`` wherever that brings all rows, by their weights, nearer to the tables. A value that the next row repeats
changes in both.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook.constraints import Allowed
from understudy.compiled import kernel
from understudy.mechanisms.stream import Stream
from understudy.samplers.agreeing import Goal, Tables, flat_rules, proposals_for, seed_of
from understudy.samplers.starting import Codes, Values, fill_columns, possible, uniform

_PASSES, _SETTLED = 30, 0.98
_LEAST = 1e-9


@kernel
def _classes(rows: Any, known: Any, offset: Any, logs: Any, weights: Any, state: Any, kind: Any) -> None:
    """Draw a class for every row, given its known columns."""
    score = np.empty(len(weights))
    for row in range(len(rows)):
        score[:] = weights
        for place in range(len(known)):
            score += logs[offset[place] + rows[row, known[place]]]
        score = np.exp(score - score.max())
        at = uniform(state) * score.sum()
        number = 0
        while number < len(score) - 1 and at >= score[number]:
            at -= score[number]
            number += 1
        kind[row] = number


@dataclass(frozen=True, kw_only=True, eq=False)
class Continuing:
    """Latent classes of a view, of whose columns some are known."""

    weights: Values
    levels: Sequence[Values]
    known: Sequence[int]
    new: Sequence[int]
    allowed: Allowed

    def __post_init__(self) -> None:
        logs = [np.log(np.maximum(self.levels[column], _LEAST)).T for column in self.known]
        sizes = [len(part) for part in logs]
        empty = np.zeros((1, len(self.weights)))
        object.__setattr__(self, "_logs", np.ascontiguousarray(np.concatenate([*logs, empty])))
        object.__setattr__(self, "_offset", np.cumsum([0, *sizes])[: len(sizes)].astype(np.int64))
        object.__setattr__(self, "_prior", np.log(np.maximum(self.weights / self.weights.sum(), _LEAST)))

    def draw(self, rows: Codes, state: Any) -> None:
        """Fill the new columns of rows whose known columns stand."""
        kind = np.zeros(len(rows), dtype=np.int64)
        known = np.array(self.known, dtype=np.int64)
        _classes(rows, known, self._offset, self._logs, self._prior, state, kind)  # type: ignore[attr-defined]
        plan = self.allowed.plan((*self.known, *self.new))
        fill_columns(rows, self.new, {}, self.levels, kind, plan, state)


@dataclass(frozen=True, kw_only=True, eq=False)
class Links:
    """What is special about rows that continue others."""

    free: Sequence[int]
    """Columns that may change."""
    weights: npt.NDArray[np.float32]
    follower: npt.NDArray[np.int64]
    """The row that looks back at each row, or -1."""
    repeated: Mapping[int, int]
    """Columns, each with the one in which the row that looks back repeats it."""


def mend_linked(
    rows: Codes,
    ones: Sequence[Values],
    tables: Tables,
    links: Links,
    *,
    allowed: Allowed,
    stream: Stream,
    report: Callable[[int, int], None] | None = None,
) -> None:
    """Change free values until the rows, by their weights, are about as near to the tables as they get."""
    if allowed:
        tables = {columns: possible(table, allowed.possible(columns)) for columns, table in tables.items()}
    if not len(rows) or not tables:
        return
    goal = Goal(tables, [len(one) for one in ones])
    repeated = np.full(len(ones), -1, dtype=np.int64)
    for column, again in links.repeated.items():
        repeated[column] = again
    linked = (np.array(links.free, dtype=np.int64), links.weights, links.follower, repeated)
    work = (proposals_for(ones, goal), flat_rules(allowed), seed_of(stream))
    gap = goal.weighted_gap(rows, links.weights)
    left = goal.distance(gap)
    for number in range(_PASSES):
        goal.descend_linked(rows, gap, linked, work)
        gap = goal.weighted_gap(rows, links.weights)  # sums of thirds drift in single precision
        before, left = left, goal.distance(gap)
        if report:
            report(number + 1, _PASSES)
        if left > _SETTLED * before:
            break
