"""Which combinations of several columns are allowed, read column by column instead of laid out in full.

A rule over 23 columns has 2^23 combinations, but whoever reads a row from left to right need only remember whether
every value so far was one that the rule names. So a set of combinations is kept as a decision diagram (Bryant 1986,
with one branch per class of levels): before each column there are a few states, and the class of its value leads to a
state of the next. States from which the same can follow are one state, so that equal sets have equal diagrams.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Moves = tuple[Integers, ...]
"""For every column the next state by state and class. It begins in state 0; after the last column 1 means allowed."""


def moves_of(allowed: Bools) -> Moves:
    """A table of allowed combinations, column by column."""
    layers, shape = [], list(allowed.shape)
    states = allowed.astype(np.int64)
    while shape:
        rows, states = distinct(states.reshape(-1, shape.pop()))
        layers.append(rows)
    return tuple(reversed(layers))


def distinct(rows: Integers) -> tuple[Integers, Integers]:
    """The different rows, and for each row the number of its like."""
    whole = np.ascontiguousarray(rows)
    keys = whole.view(np.dtype((np.void, whole.itemsize * whole.shape[1]))).reshape(-1)
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    return whole[first], number.reshape(-1)


class TooLarge(Exception):
    """Too many states are told apart; ``args`` are the columns and the rules."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Diagram:
    """Allowed combinations of classes of ``columns``, in this order, and the rules they come from."""

    columns: tuple[int, ...]
    moves: Moves
    rules: frozenset[int]

    @property
    def allows_all(self) -> bool:
        """Whether nothing is forbidden."""
        return bool(self.moves[-1].all())

    @property
    def allows_none(self) -> bool:
        """Whether nothing is left."""
        return not self.moves[-1].any()

    def holds(self, classes: Sequence[Integers]) -> Bools:
        """Whether rows are allowed; ``classes`` holds those of each column of the diagram."""
        return followed(self.moves, classes).astype(np.bool_)

    def arranged(self, place: Mapping[int, int]) -> "Diagram":
        """With its columns in another order: neighbours change places until they are sorted."""
        columns, moves = list(self.columns), list(self.moves)
        for end in range(1, len(columns)):
            for at in range(end, 0, -1):
                if place[columns[at - 1]] < place[columns[at]]:
                    break
                columns[at - 1], columns[at] = columns[at], columns[at - 1]
                after = np.take(moves[at], moves[at - 1], axis=0).transpose(0, 2, 1)
                rows, number = distinct(after.reshape(-1, after.shape[2]))
                moves[at - 1], moves[at] = number.reshape(after.shape[:2]), rows
        return Diagram(columns=tuple(columns), moves=tuple(moves), rules=self.rules)

    def without_last(self) -> "Diagram":
        """What the last column leaves possible for those before it, of which there is at least one."""
        moves = list(self.moves[:-1])
        moves[-1] = np.take(self.moves[-1].max(axis=1), moves[-1])
        return Diagram(columns=self.columns[:-1], moves=_merged(moves), rules=self.rules)

    def joined(self, other: "Diagram", place: Mapping[int, int], *, most: int) -> "Diagram":
        """What both allow, where both are sorted by ``place``; no column may need more than ``most`` moves."""
        columns = tuple(sorted({*self.columns, *other.columns}, key=place.__getitem__))
        rules = self.rules | other.rules
        mine, theirs = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        layers: list[Integers] = []
        for column in columns:
            here, there = self._moves_at(column, mine), other._moves_at(column, theirs)
            width = max(here.shape[1], there.shape[1])
            if len(mine) * width > most:
                raise TooLarge(columns, rules)
            here, there = np.broadcast_to(here, (len(mine), width)), np.broadcast_to(there, (len(mine), width))
            span = int(there.max()) + 1
            pairs, number = np.unique(here * span + there, return_inverse=True)
            mine, theirs = pairs // span, pairs % span
            layers.append(number.reshape(-1, width))
        layers[-1] = np.take(mine & theirs, layers[-1])
        return Diagram(columns=columns, moves=_merged(layers), rules=rules)

    def _moves_at(self, column: int, states: Integers) -> Integers:
        """Where these states lead by the class of a column; nowhere where the diagram does not read it."""
        return self.moves[self.columns.index(column)][states] if column in self.columns else states[:, None]


def followed(moves: Sequence[Integers], classes: Sequence[npt.NDArray[np.integer]]) -> Integers:
    """The states of rows after these columns."""
    states: Integers = moves[0][0, classes[0]]
    for layer, own in zip(moves[1:], classes[1:], strict=True):
        states = layer[states, own]
    return states


def ending(layers: Sequence[Integers], allowed: Sequence[bool]) -> Moves:
    """Moves from a state to a state, of which the last ones are allowed or not."""
    last = np.array(allowed, dtype=np.int64)[layers[-1]]
    return reduced([*layers[:-1], last])


def reduced(layers: Sequence[Integers]) -> Moves:
    """The same with states that occur only, each once."""
    states = np.zeros(1, dtype=np.int64)
    reached: list[Integers] = []
    for layer in layers[:-1]:
        states, number = np.unique(layer[states], return_inverse=True)
        reached.append(number.reshape(-1, layer.shape[1]))
    return _merged([*reached, layers[-1][states]])


def _merged(layers: Sequence[Integers]) -> Moves:
    """States from which the same can follow made one; all of them occur."""
    merged: list[Integers] = []
    number: Integers | None = None
    for layer in reversed(layers):
        rows, number = distinct(layer if number is None else number[layer])
        merged.append(rows)
    return tuple(reversed(merged))
