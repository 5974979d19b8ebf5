"""Whole flows that agree with each other: no flow is negative, parts add up, and public destination totals hold.

A step takes the flows of the coarser step as they are. Inside every pair of coarser units the estimates are moved to
flows that are not negative and add up: between the nearest ones (a common amount is taken off, and what falls below 0
is 0), which have the smallest error and many invented pairs, and twice as near to the fewest (the largest are kept,
the rest is 0). They are fitted to the totals of destinations and to the estimated ones of origins, and rounded. All of
it is post-processing of estimates.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from understudy.mechanisms.stream import Stream

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_ROUNDS = 30


@dataclass(frozen=True, kw_only=True, eq=False)
class Margin:
    """What the columns of a table, or its rows, have to add up to."""

    totals: Integers
    of: Integers
    """The coarser unit of each, inside which workers may be moved from one to another."""


def nearest(values: Floats, groups: Integers, totals: Floats) -> Floats:
    """The nearest values that are not negative and whose sum in every group is its total.

    >>> nearest(np.array([3.0, 1.0, -2.0, 5.0]), np.array([0, 0, 0, 1]), np.array([2.0, 4.0])).tolist()
    [2.0, 0.0, 0.0, 4.0]
    """
    largest = np.full(len(totals), -np.inf)
    np.maximum.at(largest, groups, values)
    # less is taken off than would leave the largest value alone
    some = np.flatnonzero((totals[groups] > 0) & (values >= (largest - totals)[groups]))
    near = np.zeros(len(values))
    if not len(some):
        return near
    by_rank = _by_rank(values[some], groups[some], len(totals))
    ranked, of, sums, rank = by_rank.values, by_rank.groups, by_rank.sums, by_rank.rank
    takes = (sums - totals[of]) / rank  # what is taken off if so many stay positive
    # ranks are kept while the value is above what is taken off; the first is always kept
    kept = (ranked > takes) | (rank == 1)
    last = np.zeros(len(totals), dtype=np.int64)
    np.maximum.at(last, of[kept], np.flatnonzero(kept))
    near[some] = np.maximum(values[some] - takes[last][groups[some]], 0.0)
    return near


def fewest(values: Floats, groups: Integers, totals: Floats) -> Floats:
    """As few positive values as possible: the largest are kept as they are until they make up the total.

    A group whose positive values fall short of its total is raised as :func:`nearest` does.

    >>> fewest(np.array([3.0, 1.0, 2.0, 5.0]), np.array([0, 0, 0, 1]), np.array([4.0, 6.0])).tolist()
    [3.0, 0.0, 1.0, 6.0]
    """
    found = np.zeros(len(values))
    some = np.flatnonzero((values > 0) & (totals[groups] > 0))
    if len(some):
        by_rank = _by_rank(values[some], groups[some], len(totals))
        before = by_rank.sums - by_rank.values
        found[some[by_rank.order]] = np.clip(totals[by_rank.groups] - before, 0.0, by_rank.values)
    short = np.bincount(groups, weights=found, minlength=len(totals)) < totals - 1e-9
    return np.where(short[groups], nearest(values, groups, totals), found) if short.any() else found


class _ByRank(NamedTuple):
    order: Integers
    values: Floats
    """From the largest to the smallest of each group."""
    groups: Integers
    sums: Floats
    """Of the values of the group up to here."""
    rank: Integers


def _by_rank(values: Floats, groups: Integers, number: int) -> _ByRank:
    order = np.lexsort((-values, groups))
    ranked, of = values[order], groups[order]
    starts = np.searchsorted(of, np.arange(number))
    sums = np.cumsum(ranked)
    sums -= np.concatenate([[0.0], sums])[starts][of]
    return _ByRank(order=order, values=ranked, groups=of, sums=sums, rank=np.arange(len(of)) - starts[of] + 1)


def rounded(values: Floats, groups: Integers, totals: Integers) -> Integers:
    """Whole values with the given sum in every group, which the values have too: largest remainders are rounded up."""
    whole = np.floor(values + 1e-9).astype(np.int64)
    missing = totals - np.bincount(groups, weights=whole, minlength=len(totals)).astype(np.int64)
    order = np.lexsort((whole - values, groups))
    of = groups[order]
    rank = np.arange(len(of)) - np.searchsorted(of, np.arange(len(totals)))[of]
    size = np.bincount(groups, minlength=len(totals))
    share = missing // np.maximum(size, 1)  # 0 but for floats that lost a unit on the way
    whole[order] += share[of] + (rank < (missing - share * size)[of])
    if (whole < 0).any():  # the same float errors, taken off where nothing was left
        return _lifted(whole, groups)
    return whole


def _lifted(whole: Integers, groups: Integers) -> Integers:
    """Negative values become 0, and the largest of the group pays for them."""
    for at in np.flatnonzero(whole < 0):
        inside = np.flatnonzero(groups == groups[at])
        while whole[at] < 0:
            whole[inside[np.argmax(whole[inside])]] -= 1
            whole[at] += 1
    return whole


def whole_step(
    estimates: Floats,
    shape: tuple[int, int],
    parents: Integers,
    above: Integers,
    columns: Margin,
    rows: Margin | None = None,
) -> Integers:
    """The flows of one step, row by row; ``parents`` of the cells, whose flows ``above`` they add up to.

    Totals of columns hold, and so do those of rows where they are given. Cutting negative flows off would otherwise
    move workers from rows with few large flows to rows with many small ones.
    """
    table = estimates.reshape(shape) + (columns.totals - estimates.reshape(shape).sum(axis=0)) / shape[0]
    goal = above.astype(np.float64)
    flat = table.reshape(-1)
    start = (nearest(flat, parents, goal) + 2 * fewest(flat, parents, goal)) / 3
    kept = np.flatnonzero(start > 0)  # nothing is shifted that is 0 already
    row, column = np.divmod(kept, shape[1])
    inside, values = parents[kept], start[kept]
    for _ in range(_ROUNDS):
        if rows is not None:
            values = _shifted(values, row, rows.totals.astype(np.float64))
        values = _shifted(values, column, columns.totals.astype(np.float64))
        values = _shifted(values, inside, goal)
    values = nearest(values, inside, goal)
    whole, fitted = np.zeros(len(estimates), dtype=np.int64), np.zeros(len(estimates))
    whole[kept], fitted[kept] = rounded(values, inside, above), values
    whole, fitted = whole.reshape(shape), fitted.reshape(shape)
    _settle(whole, fitted, columns)
    if rows is not None:
        _settle(whole.T, fitted.T, rows)
    return whole.reshape(-1)


def _shifted(values: Floats, groups: Integers, totals: Floats) -> Floats:
    """One step towards the totals: positive values of a group are shifted by a common amount, and cut at 0."""
    number = len(totals)
    positive = (values > 0).astype(np.float64)
    gap = totals - np.bincount(groups, weights=values, minlength=number)
    step = gap / np.maximum(np.bincount(groups, weights=positive, minlength=number), 1.0)
    return np.maximum(values + positive * step[groups], 0.0)


def _settle(whole: Integers, values: Floats, margin: Margin) -> None:
    """Move workers between columns of one unit, in a row where it hurts least, until every column has its total.

    A row keeps its sum, and so does every pair of coarser units.
    """
    spare = whole.sum(axis=0) - margin.totals
    for unit in np.unique(margin.of[spare != 0]):
        columns = np.flatnonzero(margin.of == unit)
        while spare[columns].any():
            rich, poor = columns[np.argmax(spare[columns])], columns[np.argmin(spare[columns])]
            gain = whole[:, rich] - values[:, rich] - whole[:, poor] + values[:, poor]
            row = int(np.argmax(np.where(whole[:, rich] > 0, gain, -np.inf)))
            whole[row, rich] -= 1
            whole[row, poor] += 1
            spare[rich] -= 1
            spare[poor] += 1


def shuffled_labels(groups: Integers, counts: Integers, label_groups: Integers, stream: Stream) -> Integers:
    """For every worker a label of the worker's group, each used as often as its count, in random order.

    ``label_groups`` holds the group of every label; in each group the counts add up to its number of workers.
    """
    labels = np.repeat(np.arange(len(counts)), counts)
    return _dealt(groups, labels, np.lexsort((stream.words(len(labels)), label_groups[labels])))


def even_labels(groups: Integers, counts: Integers, label_groups: Integers, stream: Stream) -> Integers:
    """The same, each label at even distances among the workers of its group, from a random start on.

    A label is met by every stretch of workers as often as its share says, or one off; at random it would be met as
    often as chance has it.
    """
    labels = np.repeat(np.arange(len(counts)), counts)
    before = np.cumsum(counts) - counts
    starts = stream.words(len(counts)) / 2.0**64
    places = (np.arange(len(labels)) - before[labels] + starts[labels]) / counts[labels]
    return _dealt(groups, labels, np.lexsort((places, label_groups[labels])))


def _dealt(groups: Integers, labels: Integers, order: Integers) -> Integers:
    """Labels in this order, which is by group, to the workers of each group as they come."""
    dealt = np.empty(len(groups), dtype=np.int64)
    dealt[np.argsort(groups, kind="stable")] = labels[order]
    return dealt
