"""Draws from a perturbed prediction: ``(g_j + alpha) / (1 + C alpha)`` for any probability vector g (pegs.txt, 3.5).

The prediction may come from any model, fitted to the data in any way, because the price bounds the ratio for *any* two
predictions (proofs/perturbed_prediction.md). It is held as whole units that add up to a public total, so that it is a
probability vector exactly; what is none (a NaN, a negative or an infinite value) becomes the uniform one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from understudy.errors import RefusalError
from understudy.mechanisms.discrete_laplace import RELATION
from understudy.mechanisms.stream import Stream
from understudy.parameters import Text, Whole, option
from understudy.privacy.events import Event, Orders, Renyi
from understudy.privacy.guarantees import Guarantee, Neighbours, PureDP
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable, code_type

T = TypeVar("T")
Units = npt.NDArray[np.int64]

_ALPHA = Text(
    words="a positive Fraction",
    example="Fraction(1)",
    admitted=lambda value: isinstance(value, Fraction) and value > 0,
)
_LEVELS = Text(
    words="one whole number of levels, 1 or more, for each column",
    example="(2, 3)",
    admitted=lambda value: bool(value) and all(Whole().admits(levels) for levels in value),
)
_MOST_BITS = 40  # finer than any model knows its probabilities; floats of 53 bits still divide it exactly
_UP = 1 + 2.0**-48  # a stated price is never below the true one because of rounding (proof file, "Rounding")


@dataclass(frozen=True, kw_only=True)
class PerturbedPrediction(Event):
    """``draws`` draws from the perturbed predictions of each column; ``levels`` are their numbers of levels (PMI)."""

    kind: ClassVar[str] = "perturbed-prediction"
    proof: ClassVar[str | None] = "perturbed_prediction.md"
    alpha: Fraction = option(rule=_ALPHA, help="virtual records per level, added to every prediction")
    levels: tuple[int, ...] = option(rule=_LEVELS, help="the level count of each column")
    draws: int = option(rule=Whole(), help="draws from each column")
    neighbours: Neighbours = option(rule=RELATION, help="the relation that it is priced for")

    def scaled(self, factor: Fraction) -> "PerturbedPrediction":
        """The same draws with alpha multiplied."""
        return replace(self, alpha=self.alpha * factor)

    @property
    def per_draw(self) -> float:
        """ln(1 + 1/alpha), attained by a prediction of 1 against one of 0."""
        return math.log1p(1 / float(self.alpha)) * _UP

    def guarantee(self) -> Guarantee:
        """Every draw adds ln(1 + 1/alpha), whatever the two tables are."""
        columns = sum(levels > 1 for levels in self.levels)
        return PureDP(epsilon=self.draws * columns * self.per_draw, neighbours=self.neighbours)

    def renyi(self, orders: Orders) -> Renyi:
        """The supremum over all pairs of predictions, reached by two that are certain of different levels.

        With x = ln(1 + 1/alpha), ln(1 + alpha (e^(t x) - 1)(1 - e^(-(t-1) x)) / (1 + C alpha)) / (t - 1) at order t,
        which is at most t x^2/2 (that is, x^2/2-zCDP) and at most x.
        """
        total = np.zeros(len(orders))
        for levels in self.levels:
            total += _worst_pair(float(self.alpha), levels, self.per_draw, orders)
        return np.asarray(self.draws * total * _UP)


def _worst_pair(alpha: float, levels: int, epsilon: float, orders: Orders) -> Renyi:
    if levels == 1:
        return np.zeros(len(orders))
    with np.errstate(over="ignore"):
        rise = alpha * np.expm1(orders * epsilon) * -np.expm1(-(orders - 1) * epsilon) / (1 + levels * alpha)
        exact = np.log1p(rise) / (orders - 1)
    # both caps hold for every epsilon-DP draw, also where the exponential above is too large for a float
    return np.minimum(exact, np.minimum(epsilon, orders * epsilon**2 / 2))


def to_units(predicted: npt.NDArray[np.float64], *, bits: int) -> Units:
    """Whole units of 2^-bits, one row per prediction: never negative, and every row adds up to exactly 2^bits.

    >>> to_units(np.array([[0.25, 0.75], [np.nan, 1.0]]), bits=4).tolist()
    [[4, 12], [8, 8]]
    """
    g = np.array(predicted, dtype=np.float64)
    mass, broken = _masses(g)
    g[broken], mass[broken] = 1.0, g.shape[1]
    whole = 1 << bits
    units: Units = np.floor(g / mass[:, None] * whole).astype(np.int64)
    # rounding leaves less than one unit per level, which goes to the largest share (and is taken from it)
    units[np.arange(len(g)), units.argmax(axis=1)] += whole - units.sum(axis=1)
    assert (units >= 0).all()  # the largest share is at least 1/C, far more than the rounding
    return units


def _masses(predicted: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """The sum of each row, and which rows are no prediction at all."""
    with np.errstate(over="ignore", invalid="ignore"):
        mass = predicted.sum(axis=1)
        sound = np.isfinite(predicted).all(axis=1) & (predicted >= 0).all(axis=1) & np.isfinite(mass) & (mass > 0)
    return mass, ~sound


def draw_predicted(
    predicted: npt.NDArray[np.float64],
    *,
    alpha: Fraction,
    stream: Stream,
    inside: npt.NDArray[np.bool_] | None = None,
) -> npt.NDArray[np.unsignedinteger]:
    """One level per row of predictions, with probability exactly (units/2^bits + alpha) / (1 + C alpha).

    ``alpha = 0`` draws from the prediction itself: for baselines that promise nothing. ``inside`` says which levels the
    rules of the codebook allow in each row: the prediction is held to them first, and a level outside, which then only
    the perturbation can cause, becomes any of them (proof file, "Rules").
    """
    levels = predicted.shape[1]
    if inside is not None:
        predicted = _held_to(predicted, inside)
    bits = unit_bits(alpha, levels)
    added = alpha * (1 << bits)
    assert added.denominator == 1
    cumulative = np.cumsum(to_units(predicted, bits=bits) + int(added), axis=1)
    total = (1 << bits) + levels * int(added)
    picks = stream.below_each(np.full(len(predicted), total, dtype=np.uint64)).astype(np.int64)
    chosen: npt.NDArray[np.int64] = (cumulative[:, :-1] <= picks[:, None]).sum(axis=1)
    if inside is not None:
        lost = np.flatnonzero(~inside[np.arange(len(chosen)), chosen])
        if len(lost):
            ranks = np.cumsum(inside[lost], axis=1)  # the allowed levels of each row, numbered from 1
            picked = stream.below_each(ranks[:, -1].astype(np.uint64)).astype(np.int64)
            chosen[lost] = (ranks <= picked[:, None]).sum(axis=1)
    return chosen.astype(code_type(levels))


def _held_to(predicted: npt.NDArray[np.float64], inside: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Predictions without what is not allowed; one that leaves nothing, or is none, becomes uniform over the rest."""
    held = np.where(inside, predicted, 0.0)
    _, broken = _masses(held)
    held[broken] = inside[broken]
    return held


def unit_bits(alpha: Fraction, levels: int) -> int:
    """As fine as 63-bit totals allow, and fine enough to hold alpha exactly."""
    room = 62 - math.ceil(1 + levels * alpha).bit_length()
    bits = min(_MOST_BITS, room)
    needed = alpha.denominator.bit_length() - 1
    if alpha.denominator != 1 << needed or needed > room or levels > 1 << max(bits - 4, 0):
        raise RefusalError(
            f"an alpha of {float(alpha):g} over {levels:,} levels does not fit exact 63-bit weights; use a larger "
            "epsilon or fewer levels."
        )
    return max(bits, needed)


def fitted_in_secret(counts: Secret[CountTable], fit: Callable[[CountTable], T]) -> Secret[T]:
    """A model of the counts, in the same box that they came in: nothing is released, so nothing is paid."""
    return Secret(fit(counts.open()))
