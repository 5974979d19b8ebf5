"""Private choice of the questions of a tree, level by level; a record is in one node of each level.

There are three ways: the exponential mechanism on an alpha-gain of known sensitivity, the same choice
only where it is stable (the legitimate form of the chapter's test), and Gaussian noise on the 2 x 2 tables, after which
every alpha is free. See ``proofs/tree_splits.md``, ``proofs/stable_splits.md`` and ``proofs/gaussian_measurements.md``.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.discrete_gaussian import discrete_gaussian
from understudy.mechanisms.discrete_laplace import ADD_REMOVE, SCALE, discrete_laplace, float_above
from understudy.mechanisms.exponential import MAX_EPSILON, select
from understudy.mechanisms.gaussian_measurements import GaussianMeasurements
from understudy.mechanisms.labelled import Cells, LeafOf
from understudy.mechanisms.stability import stability_delta, stability_threshold
from understudy.mechanisms.stream import Stream
from understudy.parameters import Text, Whole, option
from understudy.privacy.events import Event, Orders, Renyi
from understudy.privacy.guarantees import ApproxDP, Guarantee, Neighbours, PureDP
from understudy.privacy.secret import Secret

AR = Neighbours.ADD_REMOVE
PRICED_ALPHAS = (0.5, 1.0, 2.0)
"""The alphas whose gain has a score with a proved sensitivity."""
MAX_RECORDS = 1 << 31
_FRACTION = Text(
    words=f"a Fraction of 0 or more, at most {MAX_EPSILON:,}",
    example="Fraction(1, 10)",
    admitted=lambda value: isinstance(value, Fraction) and 0 <= value <= MAX_EPSILON,
)
_LEVELS = Whole(most=1 << 16, tried=3)
_HELLINGER = 8.5
_SLACK = Fraction(1, 1 << 13)  # covers the float error of two scores; see proofs/stable_splits.md
_UP = 1.0 + 1e-12

Answers = npt.NDArray[np.bool_]
Tables = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class TreeSplits(Event):
    """All questions of a tree of ``levels`` levels by the exponential mechanism, at ``epsilon`` for each level.

    At epsilon 0 every question is equally likely, whatever the records are: questions drawn at random cost nothing.
    """

    kind: ClassVar[str] = "tree-splits"
    proof: ClassVar[str | None] = "tree_splits.md"
    epsilon: Fraction = option(rule=_FRACTION, help="of one level")
    levels: int = option(rule=_LEVELS, help="levels of the tree")
    neighbours: Neighbours = option(rule=ADD_REMOVE, help="the relation that it is priced for")

    def guarantee(self) -> Guarantee:
        """Levels x epsilon, rounded up to a float."""
        return PureDP(epsilon=float_above(self.levels * self.epsilon), neighbours=self.neighbours)

    def renyi(self, orders: Orders) -> Renyi:
        """As of one choice by the exponential mechanism for each level."""
        epsilon = float_above(self.epsilon)
        each = np.minimum(np.asarray(orders, dtype=np.float64) * (epsilon**2 / 8), epsilon)
        return each * (self.levels * _UP)


@dataclass(frozen=True, kw_only=True)
class StableSplits(Event):
    """All questions of a tree, each asked only where its lead over the second best, plus noise, reaches a threshold."""

    kind: ClassVar[str] = "stable-splits"
    proof: ClassVar[str | None] = "stable_splits.md"
    scale: Fraction = option(rule=SCALE, help="of the discrete Laplace noise")
    threshold: int = option(rule=Whole(least=2), help="smallest noisy lead at which a question is asked")
    levels: int = option(rule=_LEVELS, help="levels of the tree")
    neighbours: Neighbours = option(rule=ADD_REMOVE, help="the relation that it is priced for")

    def guarantee(self) -> Guarantee:
        """Levels x (1 / scale, q^(T-1) / (1 + q)), both rounded up."""
        delta = float_above(self.levels * Fraction(stability_delta(self.scale, self.threshold)))
        epsilon = float_above(self.levels / self.scale)
        return ApproxDP(epsilon=epsilon, delta=min(delta, 1.0), neighbours=self.neighbours)


def stable_threshold(*, epsilon: float, delta: float) -> tuple[Fraction, int]:
    """Noise scale and the smallest threshold T whose q^(T-1) / (1 + q) stays within ``delta``, for one level."""
    scale, threshold = stability_threshold(epsilon=epsilon, delta=delta, neighbours=AR)
    return scale, max(2, threshold)


def score_sensitivity(alpha: float, public_rows: int | None) -> tuple[float, bool]:
    """Sensitivity of :func:`split_scores`, and whether all scores move the same way between neighbours."""
    if alpha == 2:
        return 2.0, True
    if alpha == 0.5:
        return _HELLINGER, False
    if alpha == 1:
        if public_rows is None:
            raise ParameterError(
                "`public_rows` is missing; at alpha 1 the sensitivity grows with the number of records, so that a "
                "public upper bound on it is needed. Give one, or use alpha 2."
            )
        Whole(most=MAX_RECORDS, tried=1000).check("public_rows", public_rows)
        return math.log(public_rows + 1) + 1, True
    raise ParameterError(
        f"`alpha` is {alpha}; a private choice by its gain has a proved sensitivity only for alpha "
        f"{', '.join(f'{a:g}' for a in PRICED_ALPHAS)}. Choose one of these, or structure 'measured', which takes any."
    )


def split_scores(tables: Tables, alpha: float) -> npt.NDArray[np.float64]:
    """A score that ranks the questions ``[..., x, y]`` of one node as their alpha-gain does.

    alpha 2: minus the sum over x of 2 n_x0 n_x1 / n_x (Gini); alpha 1: -n H(Y | X); alpha 1/2: sqrt(n) D_1/2.
    """
    counts = tables.astype(np.float64)
    sides = counts.sum(axis=-1)
    if alpha == 2:
        product = 2.0 * counts[..., 0] * counts[..., 1]
        impurity = np.divide(product, sides, out=np.zeros_like(sides), where=sides > 0)
        return np.asarray(-impurity.sum(axis=-1))
    if alpha == 1:
        return np.asarray(_x_log_x(counts).sum(axis=(-2, -1)) - _x_log_x(sides).sum(axis=-1))
    total = sides.sum(axis=-1)
    margins = sides[..., :, None] * counts.sum(axis=-2)[..., None, :]
    # sum of sqrt(P Q) = sum of sqrt(n_xy n_x. n_.y) / n^(3/2)
    affinity = np.sqrt(counts * margins).sum(axis=(-2, -1))
    root = np.sqrt(total)
    close = np.divide(affinity, root**3, out=np.ones_like(total), where=total > 0)
    return np.asarray(root * 4.0 * np.maximum(1.0 - close, 0.0))


def _x_log_x(value: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return value * np.log(np.where(value > 0, value, 1.0))


def _tables(cells: Cells, asked: Answers, leaf_of: LeafOf, leaves: int) -> Tables:
    """Counts ``[leaf, question, x, y]``."""
    tables = np.zeros((leaves, asked.shape[1], 2, 2), dtype=np.int64)
    if len(cells.codes):
        places = leaf_of(cells.codes)
        for leaf in range(leaves):
            inside = places == leaf
            yes = asked[inside].T.astype(np.int64) @ cells.counts[inside]
            tables[leaf, :, 1] = yes
            tables[leaf, :, 0] = cells.counts[inside].sum(axis=0) - yes
    if tables.sum(axis=(-2, -1)).max(initial=0) > MAX_RECORDS:
        raise RefusalError(
            f"there are more than {MAX_RECORDS:,} records; scores would not be exact enough. Split them."
        )
    return tables


AskAll = Callable[[npt.NDArray[np.uint8]], Answers]
"""A public function from codes to the answers of all questions, one column each."""


def choose_splits(
    cells: Secret[Cells],
    ask: AskAll,
    leaf_of: LeafOf,
    leaves: int,
    *,
    alpha: float,
    epsilon: float,
    public_rows: int | None,
    stream: Stream,
) -> list[int]:
    """One question for every leaf of a level; the level costs ``epsilon``. The caller records :class:`TreeSplits`."""
    sensitivity, monotone = score_sensitivity(alpha, public_rows)
    scores = _level_scores(cells.open(), ask, leaf_of, leaves, alpha, public_rows)
    choose = partial(select, epsilon=epsilon, sensitivity=sensitivity, monotone=monotone, neighbours=AR, stream=stream)
    return [choose(row.tolist())[0] for row in scores]


def choose_stable_splits(
    cells: Secret[Cells],
    ask: AskAll,
    leaf_of: LeafOf,
    leaves: int,
    *,
    alpha: float,
    scale: Fraction,
    threshold: int,
    public_rows: int | None,
    stream: Stream,
) -> list[int | None]:
    """The best question of every leaf where its lead is stable, else None; a level costs one level of the event."""
    scores = _level_scores(cells.open(), ask, leaf_of, leaves, alpha, public_rows)
    distances = np.array([stable_distance(row.tolist(), alpha, public_rows) for row in scores], dtype=np.int64)
    noisy = discrete_laplace(distances, scale=scale, stream=stream)
    return [int(np.argmax(row)) if lead >= threshold else None for row, lead in zip(scores, noisy, strict=True)]


def _level_scores(
    cells: Cells, ask: AskAll, leaf_of: LeafOf, leaves: int, alpha: float, public_rows: int | None
) -> npt.NDArray[np.float64]:
    """The score of every question in every leaf."""
    if public_rows is not None and int(cells.counts.sum()) > public_rows:
        raise RefusalError(
            f"there are more records than the public bound of {public_rows:,}; the promise would not hold. Raise it."
        )
    return split_scores(_tables(cells, ask(cells.codes), leaf_of, leaves), alpha)


def stable_distance(scores: Sequence[float], alpha: float, public_rows: int | None) -> int:
    """How many records must change, at least, before another score can be best; it differs by at most 1 for neighbours.

    It is 1 where a single record might do, which is what the event's delta pays for: not less, or a part of delta
    would buy nothing.
    """
    sensitivity, monotone = score_sensitivity(alpha, public_rows)
    if len(scores) < 2:
        return 1 << 40  # nothing else could be chosen
    second, best = sorted(map(Fraction, scores))[-2:]
    step = Fraction(sensitivity) * (1 if monotone else 2) * (1 + _SLACK)
    return math.floor((best - second) / step) + 1


def measured_splits(
    cells: Secret[Cells], ask: AskAll, leaf_of: LeafOf, leaves: int, *, event: GaussianMeasurements, stream: Stream
) -> npt.NDArray[np.int64]:
    """Noisy tables ``[leaf, question, x, y]`` of one level; uses as many units of ``event`` as there are questions."""
    held = cells.open()
    exact = _tables(held, ask(held.codes), leaf_of, leaves)
    return discrete_gaussian(exact, variance=event.variance, stream=stream)
