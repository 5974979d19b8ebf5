"""What to measure of a table with a given budget: how often each column, which levels alone, and which pairs.

Everything here is arithmetic on public numbers and on results that are already paid for.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.compiled import kernel

Values = npt.NDArray[np.float64]
Pair = tuple[int, int]
MEAN_SIZE = 0.8
"""Mean size of a standard normal number: sqrt(2 / pi)."""
_CAUTION = 0.25
"""Share of its error that a pair must be worth to be measured: what is measured helps others too."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """Levels of one column merged for measuring: ``of[level]`` is its group."""

    of: npt.NDArray[np.int64]

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.of.max()) + 1

    def add_up_rows(self, table: Values) -> Values:
        """Sums of rows by group."""
        sums = np.zeros((self.count, table.shape[1]))
        np.add.at(sums, self.of, table)
        return sums


def group_small(counts: Values, least: float) -> Groups:
    """Levels below ``least`` share one group; the others keep their own."""
    small = counts < least
    if small.sum() < 2:
        return Groups(of=np.arange(len(counts)))
    of = np.empty(len(counts), dtype=np.int64)
    of[~small] = np.arange(int((~small).sum()))
    of[small] = int((~small).sum())
    return Groups(of=of)


@lru_cache(maxsize=4096)  # columns have few sizes, and a forecast asks for every pair many times
def _rank_error(first: int, second: int) -> float:
    """L1 error of an interaction of this shape per unit of noise, after keeping about two singular directions."""
    a, b = max(first, 2), max(second, 2)
    frobenius = math.sqrt(min((a - 1) * (b - 1), 2 * (a + b - 2)))
    return frobenius * math.sqrt(a * b * (1 - 1 / a) * (1 - 1 / b))


@dataclass(frozen=True, kw_only=True)
class PairPlan:
    """Which pairs are measured, each with its share of what is left for pairs, and the error that is expected."""

    shares: Mapping[Pair, float]
    errors: Mapping[Pair, float]
    """L1, in records; for a pair that is not measured its dependence, which is lost."""


def pair_choice(
    gains: Mapping[Pair, float], shapes: Mapping[Pair, tuple[int, int]], heavy: Mapping[Pair, float] | None = None
) -> Callable[[float], PairPlan]:
    """Which pairs to measure if the whole budget for pairs, spent on one table, had noise of a given deviation.

    Greedy: a pair is taken while the dependence it would show (``gains``, L1 in records) exceeds what it adds to the
    error of all pairs chosen so far. With errors c_p sigma_p and a fixed sum of 1/sigma_p^2 the best split of the
    budget gives pair p a share proportional to c_p^(2/3), and has total error (sum c_p^(2/3))^(3/2) sigma. The error of
    a ``heavy`` pair counts so many times. What does not depend on the deviation is computed once.
    """
    waiting = sorted(gains)
    weights = np.array([(heavy or {}).get(pair, 1.0) for pair in waiting])
    cost = np.array([_rank_error(*shapes[pair]) for pair in waiting])
    part = (_CAUTION * cost * weights) ** (2 / 3)
    own = np.array([gains[pair] for pair in waiting])
    gain = own * weights
    order = np.lexsort((-gain, part))
    heads = np.flatnonzero(np.diff(part[order], prepend=-1.0))
    ends = np.append(heads[1:], len(order))

    def chosen(deviation: float) -> PairPlan:
        is_free = np.ones(len(waiting), dtype=np.bool_)
        weight = _take_greedily(gain, part, order, heads.copy(), ends, deviation, is_free)
        taken = np.flatnonzero(~is_free)
        share, whole = part[taken] / weight, own[taken]
        raw = MEAN_SIZE * cost[taken] * deviation / np.sqrt(share)
        # as shrinking towards nothing leaves it
        left = raw * whole / np.fromiter(map(math.hypot, raw.tolist(), whole.tolist()), np.float64, len(taken))
        pairs = [waiting[place] for place in taken.tolist()]
        return PairPlan(
            shares=dict(zip(pairs, share.tolist(), strict=True)),
            errors=dict(gains) | dict(zip(pairs, left.tolist(), strict=True)),
        )

    return chosen


def strongest(gains: Mapping[Pair, float], *, most: int) -> list[Pair]:
    """At most so many pairs, taken in turn: of every column the strongest one, then the second, and so on."""
    if len(gains) <= most:
        return list(gains)
    taken: dict[int, int] = {}
    turn: dict[Pair, int] = {}
    for i, j in sorted(gains, key=lambda pair: (-gains[pair], pair)):
        turn[i, j] = min(taken.get(i, 0), taken.get(j, 0))
        taken[i], taken[j] = taken.get(i, 0) + 1, taken.get(j, 0) + 1
    return sorted(sorted(turn, key=lambda pair: (turn[pair], -gains[pair], pair))[:most])


@kernel
def _take_greedily(gain: Any, part: Any, order: Any, heads: Any, ends: Any, deviation: float, is_free: Any) -> float:
    """Mark what :func:`pair_choice` takes, and return its weight; ``order`` sorts by part, then by falling gain.

    Among pairs of one part the one with the largest gain is best, so only the heads of these queues are compared.
    """
    weight, error = 0.0, 0.0
    while True:
        best, most, after_best = -1, -np.inf, 0.0
        for queue in range(len(heads)):
            if heads[queue] < ends[queue]:
                pair = order[heads[queue]]
                after = (weight + part[pair]) ** 1.5 * deviation
                if gain[pair] - after > most:
                    best, most, after_best = queue, gain[pair] - after, after
        if best < 0 or most <= -error:
            return weight
        taken = order[heads[best]]
        heads[best] += 1
        is_free[taken] = False
        weight, error = weight + part[taken], after_best


def one_way_weights(sizes: Sequence[int]) -> Values:
    """Parts of the budget of the one-way tables: of the number of records, then of every column."""
    weights = np.array([(size * size * (1 - 1 / size)) ** (1 / 3) if size > 1 else 0.0 for size in sizes])
    return np.array([float(weights.mean()) or 1.0, *weights])


def first_share(epsilon: float) -> float:
    """Of the budget, for the one-way tables at first: more when little can be known at all."""
    return float(np.clip(0.16 * epsilon**-0.33, 0.12, 0.35))


def patience_at(epsilon: float) -> float:
    """From how many deviations on a level is measured on its own: few where the noise is large anyway."""
    return float(np.clip(0.5 + 2.15 * math.log10(epsilon / 0.1), 0.0, 2.0))
