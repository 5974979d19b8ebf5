"""Rules by classes: codes of each column sorted into classes, and which combinations of classes are allowed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.codebook.columns import Column, Dates
from understudy.codebook.diagrams import Integers, Moves, ending, followed, moves_of
from understudy.codebook.numbers import Number
from understudy.codebook.rules import Determines, Implies, Impossible, Order, Rule, codes_of

Columns = Mapping[str, Column]


@dataclass(frozen=True, kw_only=True, eq=False)
class Clause:
    """One rule. ``classes[i]`` gives the class of every code of ``columns[i]``."""

    columns: tuple[str, ...]
    classes: tuple[Integers, ...]
    moves: Moves

    def allows(self, codes: Sequence[npt.NDArray[np.integer]]) -> npt.NDArray[np.bool_]:
        """Which rows keep it; ``codes`` are those of its columns."""
        return followed(self.moves, [own[code] for own, code in zip(self.classes, codes, strict=True)]).astype(np.bool_)


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


# States of a rule about named values: 0 all of them so far, 1 kept whatever follows, 2 broken.
_NAMED = np.array([[1, 0], [1, 1], [2, 2]])
_KEPT = np.array([[2, 0], [1, 1], [2, 2]])


def _impossible(rule: Impossible, columns: Columns) -> Clause:
    """Broken where every value is one that it names."""
    classes = tuple(_inside(columns[name], values) for name, values in rule.cells)
    layers = [_NAMED] * len(classes)
    return Clause(columns=rule.columns, classes=classes, moves=ending(layers, allowed=[False, True, False]))


def _implies(rule: Implies, columns: Columns) -> Clause:
    """Broken where every condition holds and some consequence does not; a missing consequence breaks nothing."""
    when = [_inside(columns[name], values) for name, values in rule.when]
    then = []
    for name, values in rule.then:
        kept = _inside(columns[name], values)
        missing = columns[name].missing_code
        if missing is not None:
            kept[missing] = 1
        then.append(kept)
    layers = [_NAMED] * len(when) + [_KEPT] * len(then)
    moves = ending(layers, allowed=[True, True, False])
    return Clause(columns=rule.columns, classes=(*when, *then), moves=moves)


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
    return Clause(columns=rule.columns, classes=(fixed, np.arange(second.size)), moves=moves_of(allowed))


def order_clause(low: Column, high: Column, gap: int) -> Clause:
    """Allowed where a value of the one bin can lie ``gap`` steps below a value of the other."""
    smallest, _ = value_range(low)
    _, largest = value_range(high)
    allowed = np.ones((low.size, high.size), dtype=bool)
    allowed[: low.proper_levels, : high.proper_levels] = smallest[:, None] + gap <= largest[None, :]
    classes = (np.arange(low.size), np.arange(high.size))
    return Clause(columns=(low.name, high.name), classes=classes, moves=moves_of(allowed))


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
