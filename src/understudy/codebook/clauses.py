"""Rules as small tables: codes of each column sorted into classes, and which combinations of classes are allowed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.codebook.columns import Column, Dates
from understudy.codebook.numbers import Number
from understudy.codebook.rules import Determines, Implies, Impossible, Order, Rule, codes_of

Columns = Mapping[str, Column]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Clause:
    """One rule. ``classes[i]`` gives the class of every code of ``columns[i]``."""

    columns: tuple[str, ...]
    classes: tuple[Integers, ...]
    allowed: npt.NDArray[np.bool_]


def clause_of(rule: Rule, columns: Columns) -> Clause:
    """A rule as a table."""
    if isinstance(rule, Impossible):
        return _impossible(rule, columns)
    if isinstance(rule, Implies):
        return _implies(rule, columns)
    if isinstance(rule, Order):
        return order_clause(columns[rule.low], columns[rule.high], rule.gap)
    assert isinstance(rule, Determines)
    return _determines(rule, columns)


def _inside(column: Column, values: Sequence[str]) -> Integers:
    """1 for the codes that are named, else 0."""
    inside = np.zeros(column.size, dtype=np.int64)
    inside[codes_of(column, values)] = 1
    return inside


def _impossible(rule: Impossible, columns: Columns) -> Clause:
    """Everything but one corner."""
    allowed = np.ones((2,) * len(rule.cells), dtype=bool)
    allowed[(1,) * len(rule.cells)] = False
    classes = tuple(_inside(columns[name], values) for name, values in rule.cells)
    return Clause(columns=rule.columns, classes=classes, allowed=allowed)


def _implies(rule: Implies, columns: Columns) -> Clause:
    """Violated where every condition holds and some consequence does not; a missing consequence is no violation."""
    when = [_inside(columns[name], values) for name, values in rule.when]
    then = []
    for name, values in rule.then:
        kept = _inside(columns[name], values)
        missing = columns[name].missing_code
        if missing is not None:
            kept[missing] = 1
        then.append(kept)
    allowed = np.ones((2,) * (len(when) + len(then)), dtype=bool)
    allowed[(1,) * len(when)] = False
    allowed[(1,) * (len(when) + len(then))] = True
    return Clause(columns=rule.columns, classes=(*when, *then), allowed=allowed)


def _determines(rule: Determines, columns: Columns) -> Clause:
    """Classes of the determining column are the values that it fixes, and one more for what fixes nothing."""
    first, second = columns[rule.column], columns[rule.sets]
    fixed = np.full(first.size, second.size, dtype=np.int64)
    for group, values in rule.groups:
        fixed[codes_of(first, values)] = codes_of(second, [group])[0]
    allowed = np.zeros((second.size + 1, second.size), dtype=bool)
    np.fill_diagonal(allowed, True)
    allowed[second.size] = True
    if second.missing_code is not None:
        allowed[:, second.missing_code] = True
    return Clause(columns=rule.columns, classes=(fixed, np.arange(second.size)), allowed=allowed)


def order_clause(low: Column, high: Column, gap: int) -> Clause:
    """Allowed where a value of the one bin can lie ``gap`` steps below a value of the other."""
    smallest, _ = value_range(low)
    _, largest = value_range(high)
    allowed = np.ones((low.size, high.size), dtype=bool)
    allowed[: low.proper_levels, : high.proper_levels] = smallest[:, None] + gap <= largest[None, :]
    classes = (np.arange(low.size), np.arange(high.size))
    return Clause(columns=(low.name, high.name), classes=classes, allowed=allowed)


def value_range(column: Column) -> tuple[Integers, Integers]:
    """Smallest and largest value of each proper code, in steps of the column's unit."""
    if isinstance(column, Number):
        first = np.array([start for start, _ in column.grids], dtype=np.int64)
        return first, first + np.array([count - 1 for _, count in column.grids], dtype=np.int64)
    if isinstance(column, Dates):
        grains = np.array([column.grain.number(day) for day in column.firsts], dtype=np.int64)
        return grains, grains
    codes = np.arange(column.proper_levels, dtype=np.int64)
    return codes, codes
