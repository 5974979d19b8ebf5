"""Whole flows that agree with each other: no flow is negative, parts add up, and public destination totals hold.

A step takes the flows of the coarser step as they are. Inside every pair of coarser units the estimates are moved to
the nearest flows that are not negative and add up (a common amount is taken off, and what falls below 0 is 0), fitted
to the totals of destinations and to the estimated ones of origins, and rounded. All of it is post-processing of
estimates.
"""

from dataclasses import dataclass

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
    order = np.lexsort((-values, groups))
    ranked, of = values[order], groups[order]
    starts = np.searchsorted(of, np.arange(len(totals)))
    sums = np.cumsum(ranked)
    sums -= np.concatenate([[0.0], sums])[starts][of]
    rank = np.arange(len(of)) - starts[of] + 1
    takes = (sums - totals[of]) / rank  # what is taken off if so many stay positive
    # ranks are kept while the value is above what is taken off; the first is always kept
    kept = (ranked > takes) | (rank == 1)
    last = np.zeros(len(totals), dtype=np.int64)
    np.maximum.at(last, of[kept], np.flatnonzero(kept))
    return np.maximum(values - takes[last][groups], 0.0)


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
    values = nearest(table.reshape(-1), parents, goal)
    column, row = np.tile(np.arange(shape[1]), shape[0]), np.repeat(np.arange(shape[0]), shape[1])
    for _ in range(_ROUNDS):
        if rows is not None:
            values = _shifted(values, row, rows.totals.astype(np.float64))
        values = _shifted(values, column, columns.totals.astype(np.float64))
        values = _shifted(values, parents, goal)
    values = nearest(values, parents, goal)
    whole = rounded(values, parents, above).reshape(shape)
    _settle(whole, values.reshape(shape), columns)
    if rows is not None:
        _settle(whole.T, values.reshape(shape).T, rows)
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
    order = np.lexsort((stream.words(len(labels)), label_groups[labels]))
    mixed = np.empty(len(groups), dtype=np.int64)
    mixed[np.argsort(groups, kind="stable")] = labels[order]
    return mixed
