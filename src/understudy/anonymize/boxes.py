"""The compiled loop of Mondrian: cut boxes at the median while both halves satisfy everything that is asked."""

import numpy as np
import numpy.typing as npt

from understudy.anonymize.kernels import is_bad
from understudy.compiled import kernel


@kernel
def _half_is_bad(
    order: npt.NDArray[np.int64],
    start: int,
    end: int,
    ranks: npt.NDArray[np.int32],
    column: int,
    cut: int,
    left: bool,
    counts: npt.NDArray[np.int64],
    sensitive: npt.NDArray[np.int32],
    total: int,
    kinds: npt.NDArray[np.int64],
    places: npt.NDArray[np.int64],
    first: npt.NDArray[np.float64],
    second: npt.NDArray[np.float64],
    sizes: npt.NDArray[np.int64],
    wholes: npt.NDArray[np.int64],
    trees: npt.NDArray[np.int64],
    heights: npt.NDArray[np.int64],
    histogram: npt.NDArray[np.int64],
) -> bool:
    """Whether one side of a cut breaks a criterion; ``total`` is its number of rows."""
    for criterion in range(len(kinds)):
        histogram[:] = 0
        where = places[criterion]
        for place in range(start, end):
            row = order[place]
            if (ranks[row, column] <= cut) == left:
                histogram[sensitive[row, where]] += counts[row]
        if is_bad(
            histogram,
            total,
            sizes[where],
            kinds[criterion],
            first[criterion],
            second[criterion],
            wholes[where],
            trees[criterion],
            heights[criterion],
        ):
            return True
    return False


@kernel
def cut_boxes(  # noqa: PLR0912, PLR0915 - one compiled loop: calls between kernels would copy their state
    ranks: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int64],
    sensitive: npt.NDArray[np.int32],
    spans: npt.NDArray[np.int64],
    k: int,
    kinds: npt.NDArray[np.int64],
    places: npt.NDArray[np.int64],
    first: npt.NDArray[np.float64],
    second: npt.NDArray[np.float64],
    sizes: npt.NDArray[np.int64],
    wholes: npt.NDArray[np.int64],
    trees: npt.NDArray[np.int64],
    heights: npt.NDArray[np.int64],
    box: npt.NDArray[np.int64],
) -> int:
    """Number the boxes from 0 on in ``box``; returns how many there are.

    Strict: all rows with one value of the cut column go to one side. The column with the widest range (as a share of
    ``spans``) is cut first; in it, the cut nearest to the median that both halves survive. A column without one
    passes its turn to the next.
    """
    rows, columns = ranks.shape
    order = np.arange(rows)
    spare = np.empty(rows, dtype=np.int64)
    stack = np.empty((2 * rows + 2, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1] = 0, rows
    waiting, found = 1, 0
    tally = np.zeros(spans.max() + 1, dtype=np.int64)
    histogram = np.zeros(max(1, sizes.max()), dtype=np.int64)
    lows, highs = np.empty(columns, dtype=np.int64), np.empty(columns, dtype=np.int64)
    widths = np.empty(columns)
    while waiting:
        waiting -= 1
        start, end = stack[waiting, 0], stack[waiting, 1]
        total = 0
        for column in range(columns):
            lows[column], highs[column] = ranks[order[start], column], ranks[order[start], column]
        for place in range(start, end):
            row = order[place]
            total += counts[row]
            for column in range(columns):
                rank = ranks[row, column]
                lows[column] = min(lows[column], rank)
                highs[column] = max(highs[column], rank)
        for column in range(columns):
            widths[column] = (highs[column] - lows[column]) / max(spans[column], 1)
        done = False
        if total >= 2 * k:
            for column in np.argsort(-widths, kind="mergesort"):
                low, high = lows[column], highs[column]
                if low == high:
                    continue
                tally[low : high + 1] = 0
                for place in range(start, end):
                    tally[ranks[order[place], column]] += counts[order[place]]
                for rank in range(low + 1, high + 1):
                    tally[rank] += tally[rank - 1]
                while True:  # the allowed cut nearest to the median, not yet tried
                    cut, nearest = -1, 2.0 * total
                    for rank in range(low, high):
                        if tally[rank] >= k and total - tally[rank] >= k:
                            away = abs(2.0 * tally[rank] - total)
                            if away < nearest:
                                cut, nearest = rank, away
                    if cut < 0:
                        break
                    left = tally[cut]
                    bad = False
                    for side in range(2):
                        part = left if side == 0 else total - left
                        bad = bad or _half_is_bad(
                            order, start, end, ranks, column, cut, side == 0, counts, sensitive, part, kinds, places,
                            first, second, sizes, wholes, trees, heights, histogram,
                        )  # fmt: skip
                    if not bad:
                        done = True
                        break
                    tally[cut] = -1  # tried
                if done:
                    middle, behind = start, 0
                    for place in range(start, end):
                        row = order[place]
                        if ranks[row, column] <= cut:
                            order[middle] = row
                            middle += 1
                        else:
                            spare[behind] = row
                            behind += 1
                    order[middle:end] = spare[:behind]
                    stack[waiting, 0], stack[waiting, 1] = middle, end
                    stack[waiting + 1, 0], stack[waiting + 1, 1] = start, middle
                    waiting += 2
                    break
        if not done:
            for place in range(start, end):
                box[order[place]] = found
            found += 1
    return found
