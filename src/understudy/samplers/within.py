"""Exact draws from a conditional table restricted to the levels that the rules of the codebook allow.

Route N restricts released weights: post-processing. Route S (``prior`` given) draws as from the whole table without
the records outside the allowed set S: level j of S has weight n_j + a_j, and the virtual records outside S, which are
as many as ever, are dealt out to S in proportion to a. That is one paid draw followed by a public map, so it costs what
a draw without rules costs (proofs/dirichlet_draw.md, "Rules").
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook.constraints import Step
from understudy.compiled import kernel
from understudy.mechanisms.stream import below, first_above
from understudy.samplers.kernels import SCAN_LEVELS, level_by_scan

Numbers = npt.NDArray[np.int64]


@kernel
def _weight(cumulative: Any, slot: int, first: int, last: int, lows: Numbers, highs: Numbers) -> Any:
    """Total weight of the runs ``first`` to ``last``."""
    total = np.uint64(0)
    for run in range(first, last):
        total += cumulative[slot, highs[run] - 1]
        if lows[run] > 0:
            total -= cumulative[slot, lows[run] - 1]
    return total


@kernel
def _level(cumulative: Any, slot: int, pick: Any, first: int, last: int, lows: Numbers, highs: Numbers) -> Any:
    """The level that holds the pick-th unit of weight of the runs."""
    run = first
    while True:
        before = np.uint64(0)
        if lows[run] > 0:
            before = cumulative[slot, lows[run] - 1]
        here = cumulative[slot, highs[run] - 1] - before
        if pick < here or run == last - 1:
            break
        pick -= here
        run += 1
    pick += before  # from here on a place in the whole row
    if cumulative.shape[1] <= SCAN_LEVELS:
        return level_by_scan(cumulative, slot, pick)
    return first_above(cumulative[slot], lows[run], highs[run] - 1, pick)


@kernel
def _any_level(pick: Any, first: int, last: int, lows: Numbers, highs: Numbers) -> Any:
    """The pick-th level of the runs."""
    left = np.int64(pick)
    for run in range(first, last):
        if left < highs[run] - lows[run]:
            return lows[run] + left
        left -= highs[run] - lows[run]
    return np.int64(-1)  # never: pick is below their number


@kernel
def draw_within(
    slots: Numbers,
    sets: Numbers,
    starts: Numbers,
    lows: Numbers,
    highs: Numbers,
    cumulative: Any,
    outside: Any,
    prior: int,
    words: Any,
    position: int,
    out: Any,
    start: int,
    stage: Any,
) -> tuple[int, int]:
    """Draw one level per row, within its set; returns (rows finished, words used so far).

    ``prior`` is the row of the virtual records alone and ``outside`` how many of them each set leaves out; on route N
    that is 0. Where the whole set has weight 0 (route N only) every level of it is equally likely. ``stage[0]``
    remembers, when the words run out, that the row is at its second draw: to start it over would favour the rows that
    need only one.
    """
    for row in range(start, len(slots)):
        first, last = starts[sets[row]], starts[sets[row] + 1]
        while True:
            slot = slots[row] if stage[0] == 0 else prior
            inside = _weight(cumulative, slot, first, last, lows, highs)
            total = inside
            if stage[0] == 0:
                total += outside[sets[row]]
            is_bare = total == 0
            if is_bare:
                for run in range(first, last):
                    total += np.uint64(highs[run] - lows[run])
            pick, position = below(total, words, position)
            if position < 0:
                return row, len(words)
            if is_bare:
                out[row] = _any_level(pick, first, last, lows, highs)
                break
            if pick < inside:
                out[row] = _level(cumulative, slot, pick, first, last, lows, highs)
                break
            stage[0] = 1
        stage[0] = 0
    return len(slots), position


@kernel
def _follow(states: Numbers, moves: Numbers, codes: Any) -> None:
    for row in range(len(states)):
        states[row] = moves[states[row], codes[row]]


def fill_sets(step: Step, row: Sequence[Any], sets: Numbers) -> None:
    """As :meth:`Step.sets`, compiled, into ``sets``."""
    sets[:] = 0
    for place, moves in zip(step.reads, step.moves, strict=True):
        _follow(sets, moves, row[place])


def outside_of(step: Step, virtual: Any) -> Any:
    """Virtual records (weights of the prior) that each set of levels leaves out."""
    return (~step.choices.levels * virtual[None, :]).sum(axis=1, dtype=np.uint64)


def uniform_within(step: Step, row: Sequence[Any], below_each: Any) -> Any:
    """For each row one of its allowed levels, equally likely; ``step`` and ``row`` as for the draws."""
    levels = step.choices.levels
    members = [np.flatnonzero(allowed) for allowed in levels]
    sizes = np.array([len(codes) for codes in members], dtype=np.uint64)
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    sets = step.sets(row)
    picks = below_each(np.maximum(sizes[sets], 1)).astype(np.int64)
    return np.concatenate(members)[offsets[sets] + picks]
