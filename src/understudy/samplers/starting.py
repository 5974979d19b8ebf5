"""Rows to begin with: drawn column by column, each given a latent class or one column drawn before.

Within every group of rows that share what a column is given, its levels are apportioned by systematic sampling: the
number of rows with a level differs from its expectation by less than one. Where the rules of a codebook join columns,
each goes on as those before it allow. Everything here works on released tables, so a fast generator will do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook.constraints import Allowed, Step
from understudy.compiled import kernel
from understudy.sources.tables import code_type

Codes = npt.NDArray[np.unsignedinteger]
Values = npt.NDArray[np.float64]
_UNIT = 1.0 / 9007199254740992.0  # 2^-53


@kernel
def next_word(state: Any) -> Any:
    """Xorshift with 64 bits."""
    word = state[0]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    state[0] = word
    return word


@kernel
def uniform(state: Any) -> Any:
    """In [0, 1)."""
    return (next_word(state) >> np.uint64(11)) * _UNIT


@kernel
def below(state: Any, bound: int) -> Any:
    """A whole number from 0 to ``bound`` - 1."""
    return np.int64(uniform(state) * bound)


@kernel
def shuffle(values: Any, state: Any) -> None:
    """In place, every order as likely as any other."""
    for number in range(len(values) - 1, 0, -1):
        swapped = below(state, number + 1)
        values[number], values[swapped] = values[swapped], values[number]


@kernel
def _fill(values: Any, group: Any, shares: Any, state: Any) -> None:
    """Give the rows of every group the levels of its shares, by systematic sampling in random order."""
    ends = np.zeros(len(shares) + 1, dtype=np.int64)
    for row in range(len(group)):
        ends[group[row] + 1] += 1
    for number in range(len(shares)):
        ends[number + 1] += ends[number]
    place = ends[:-1].copy()
    members = np.empty(len(group), dtype=np.int64)
    for row in range(len(group)):
        members[place[group[row]]] = row
        place[group[row]] += 1
    for number in range(len(shares)):
        mine = members[ends[number] : ends[number + 1]]
        shuffle(mine, state)
        total = shares[number].sum()
        level, passed = 0, 0.0
        offset = uniform(state)
        for position in range(len(mine)):
            at = (position + offset) / len(mine) * total
            while level < shares.shape[1] - 1 and at >= passed + shares[number, level]:
                passed += shares[number, level]
                level += 1
            values[mine[position]] = level


def fill_columns(
    drawn: Codes,
    columns: Sequence[int],
    given: Mapping[int, int],
    shares_of: Sequence[Values],
    kind: npt.NDArray[np.int64],
    plan: Sequence[Step | None],
    state: Any,
) -> None:
    """Fill columns of the rows one after the other, each given another or the latent class, as the rules allow."""
    for column in columns:
        group = drawn[:, given[column]].astype(np.int64) if column in given else kind
        shares = shares_of[column]
        step = plan[column]
        if step is not None:
            masks = np.asarray(step.choices.levels)
            both = group * len(masks) + step.sets(list(drawn.T))
            kinds, group = np.unique(both, return_inverse=True)
            shares = np.stack([possible(shares[of // len(masks)], masks[of % len(masks)]) for of in kinds])
        _fill(drawn[:, column], group, np.ascontiguousarray(shares), state)


@dataclass(frozen=True, kw_only=True)
class Beginning:
    """An order of columns, and for each the shares of its levels by what it is given."""

    order: Sequence[int]
    given: Mapping[int, int]
    """The column that a column is given; one that is not named is given the latent class."""
    shares: Sequence[Values]
    """For every column: what it is given by its levels."""
    weights: Values
    """Of the latent classes."""

    def rows(self, number: int, allowed: Allowed, state: Any) -> Codes:
        """So many rows of all columns, in random order."""
        ends = np.rint(np.cumsum(self.weights) / self.weights.sum() * number).astype(np.int64)
        kind = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        shuffle(kind, state)
        kind_of_code = code_type(max(shares.shape[1] for shares in self.shares))
        drawn = np.zeros((number, len(self.shares)), dtype=kind_of_code)
        fill_columns(drawn, self.order, self.given, self.shares, kind, allowed.plan(tuple(self.order)), state)
        return drawn


def from_classes(weights: Values, levels: Sequence[Values]) -> Beginning:
    """Every column given the latent class."""
    return Beginning(order=range(len(levels)), given={}, shares=levels, weights=weights)


def from_tree(ones: Sequence[Values], pairs: Mapping[tuple[int, int], Values]) -> Beginning:
    """Every column given one other, along the tree of strongest dependence (Chow and Liu)."""
    strength = {pair: dependence(table) for pair, table in pairs.items()}
    tied = np.zeros((len(ones), len(ones)))
    for (i, j), value in strength.items():
        tied[i, j] = tied[j, i] = value
    first = int(tied.sum(axis=1).argmax())
    order, given = [first], {}
    shares = [one[np.newaxis] for one in ones]
    while len(order) < len(ones):
        rest = [column for column in range(len(ones)) if column not in order]
        edges = tied[np.ix_(order, rest)]
        parent, child = np.unravel_index(int(edges.argmax()), edges.shape)
        column, before = rest[child], order[parent]
        order.append(column)
        if edges[parent, child] > 0:
            given[column] = before
            table = pairs[before, column] if before < column else pairs[column, before].T
            empty = table.sum(axis=1, keepdims=True) <= 0
            shares[column] = np.where(empty, ones[column], table)
    return Beginning(order=order, given=given, shares=shares, weights=np.ones(1))


def dependence(table: Values) -> float:
    """How far a two-way table lies from independence: total variation, from 0 to 1."""
    shares = table / table.sum()
    return 0.5 * float(np.abs(shares - np.outer(shares.sum(axis=1), shares.sum(axis=0))).sum())


def possible(table: Values, mask: npt.NDArray[np.bool_]) -> Values:
    """The table without its impossible cells; where the noise left nothing else, all others alike."""
    kept = np.where(mask, np.maximum(table, 0), 0.0)
    return kept if kept.sum() > 0 else mask.astype(np.float64)
