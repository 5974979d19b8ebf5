"""What measured marginals will err by on a table that nobody has seen: their plan, made for imagined tables.

How large the errors are depends on how steeply the levels of a column fall and on how much columns depend, which is
not public. So the plan is made twice: for a table whose levels fall and whose columns depend little, and for one whose
levels are even and whose columns depend much. The formulas are those by which the method itself divides its budget
(:mod:`understudy.blocks.planning`): the error of a two-way table is that of its margins and of its interaction, each
what noise leaves after shrinking.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.blocks.planning import MEAN_SIZE, Pair, PairPlan, Values, group_small, one_way_weights, pair_choice


@dataclass(frozen=True, kw_only=True)
class Imagined:
    """A table that nobody has."""

    steepness: float
    """The share of the j-th level falls as j to the power of minus this."""
    dependence: float
    """Of two columns, as a share of the most that their levels allow (total variation from independence)."""
    factor: float
    """What the formulas leave out."""


EASY = Imagined(steepness=1.5, dependence=0.1, factor=0.5)
"""Tables that must agree with each other err less than each alone: up to half of it."""
HARD = Imagined(steepness=0.0, dependence=0.3, factor=1.5)
"""Rows that agree with all tables at once, and levels that were merged, add up to half of it."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Public numbers of the method."""

    variance: float
    """Of the noise of one measurement."""
    copies: float
    """Measurements of one table that all units together pay for."""
    one_share: float
    """Of the one-way tables at first."""
    score_share: float
    patience: float
    """From how many deviations on a level is measured on its own."""


@dataclass(frozen=True, kw_only=True)
class Foreseen:
    """Expected errors as total variation distances of shares, and what they follow from."""

    ones: Sequence[float]
    twos: Mapping[Pair, float]
    deviations: Sequence[float]
    """Of the noise of a count of each column."""
    merged_below: float
    """Records below which levels of a column are measured together in pairs."""


def foreseen(sizes: Sequence[int], records: int, budget: Budget, imagined: Imagined) -> Foreseen:
    """The errors of the plan for an imagined table with so many records."""
    weights = one_way_weights(sizes)
    shares = [np.arange(1, size + 1, dtype=np.float64) ** -imagined.steepness for size in sizes]
    shares = [share / share.sum() for share in shares]
    pairs = list(itertools.combinations(range(len(sizes)), 2))
    left = budget.copies * (1 - budget.one_share - budget.score_share)
    least = budget.patience * math.sqrt(budget.variance * max(1, min(len(pairs), 30)) / left)
    counts = [group_small(records * share, least).count for share in shares]
    shapes = {(i, j): (counts[i], counts[j]) for i, j in pairs}
    possible = [1 - float((share**2).sum()) for share in shares]
    # half of the L1 distance from independence is the total variation
    gains = {(i, j): 2 * records * imagined.dependence * min(possible[i], possible[j]) for i, j in pairs}
    choose = pair_choice(gains, shapes)
    best: tuple[float, list[float], dict[Pair, float], Values] | None = None
    for further in np.linspace(0.0, 0.5, 6) if pairs else [0.5]:
        share = budget.one_share + float(further) * left / budget.copies
        copies = np.maximum(share * budget.copies * weights[1:] / weights.sum(), 1.0)
        deviations = np.sqrt(budget.variance / copies)
        margins = [
            MEAN_SIZE * float(np.minimum(deviation * math.sqrt(1 - 1 / len(level)), records * level).sum())
            for deviation, level in zip(deviations, shares, strict=True)
        ]
        twos = _two_way(choose(math.sqrt(budget.variance / (left * (1 - float(further))))), margins) if gains else {}
        error = sum(twos.values()) if twos else sum(margins)
        if best is None or error < best[0]:
            best = (error, margins, twos, deviations)
    assert best is not None
    _, margins, twos, deviations = best
    scale = imagined.factor / (2 * records)
    return Foreseen(
        ones=[min(1.0, scale * margin) for margin in margins],
        twos={pair: min(1.0, scale * two) for pair, two in twos.items()},
        deviations=deviations.tolist(),
        merged_below=least,
    )


def _two_way(plan: PairPlan, margins: Sequence[float]) -> dict[Pair, float]:
    """L1 errors in records."""
    first, second = ([margins[pair[side]] for pair in plan.errors] for side in (0, 1))
    return dict(zip(plan.errors, map(math.hypot, plan.errors.values(), first, second), strict=True))
