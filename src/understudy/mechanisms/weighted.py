"""Weighted counts with noise: one record counts as much as its survey weight, at most the largest one.

Weights are kept as the bins of their column, and a bin counts as its middle, which is public; with narrow bins that is
the weight itself, rounded. Sums are whole multiples of a public unit, so that the noise is an exact integer. Without a
weight every record counts 1. See ``proofs/weighted_histogram.md``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.discrete_laplace import (
    RELATION,
    SCALE,
    count_sensitivity,
    discrete_laplace,
    pure_claim,
    pure_renyi,
    scale_for,
)
from understudy.mechanisms.exact_laplace import COUNT_LIMIT
from understudy.mechanisms.stream import Stream
from understudy.parameters import Whole, option
from understudy.privacy.events import Event, Orders, Renyi
from understudy.privacy.guarantees import Neighbours, PureDP
from understudy.privacy.secret import Secret
from understudy.sources.tables import DENSE_LIMIT, CountTable

STEPS = 1024
"""The largest weight is so many units, unless the column's own steps are fewer."""


@dataclass(frozen=True, kw_only=True)
class WeightedHistogram(Event):
    """Discrete Laplace noise on every cell of a table of weighted counts, in units of which one record has some."""

    kind: ClassVar[str] = "weighted-histogram"
    proof: ClassVar[str | None] = "weighted_histogram.md"
    scale: Fraction = option(rule=SCALE, help="of the discrete Laplace noise")
    largest: int = option(rule=Whole(), help="the largest weight, in units")
    neighbours: Neighbours = option(rule=RELATION, help="the relation that it is priced for")

    def guarantee(self) -> PureDP:
        """Largest weight / scale, twice under replace-one: the record leaves one cell and enters another."""
        moved = count_sensitivity(self.neighbours) * self.largest
        return pure_claim(moved, scale=self.scale, neighbours=self.neighbours)

    def renyi(self, orders: Orders) -> Renyi:
        """At most epsilon, and order epsilon^2 / 2 [BS16 Prop 3.3]."""
        return pure_renyi(orders, self.guarantee().epsilon)


def weight_units(weights: Sequence[Fraction], step: Fraction) -> tuple[tuple[int, ...], Fraction]:
    """Each weight as a whole number of units, and the unit: the step, or a 1024th of the largest weight if more.

    >>> weight_units([Fraction(3, 2), Fraction(20)], Fraction(1, 2))
    ((3, 40), Fraction(1, 2))
    """
    if not weights or min(weights) <= 0:
        raise ParameterError("`weights` holds one of 0 or less, or none at all; every bin must weigh something.")
    unit = max(step / 2, max(weights) / STEPS)  # the middle of a bin is a multiple of half a step
    whole = all((weight / unit).denominator == 1 for weight in weights)
    if whole and all((weight / (2 * unit)).denominator == 1 for weight in weights):
        unit *= 2
    return tuple(max(1, round(weight / unit)) for weight in weights), unit


def weighted_event(*, epsilon: float, largest: int, neighbours: Neighbours) -> WeightedHistogram:
    """What :func:`weighted_histogram` will pay; needs no data."""
    scale = scale_for(epsilon, largest * count_sensitivity(neighbours))
    return WeightedHistogram(scale=scale, largest=largest, neighbours=neighbours)


def weighted_histogram(
    counts: Secret[CountTable], *, units: Sequence[int] | None, event: WeightedHistogram, stream: Stream
) -> npt.NDArray[np.int64]:
    """Noisy weighted counts, in units; the last column of ``counts`` is the bin of the weight.

    Without ``units`` there is no such column, and every record counts 1.
    """
    table = counts.open()
    if units is not None and (max(units) > event.largest or min(units) < 1 or len(units) != table.sizes[-1]):
        raise ParameterError(f"`units` does not fit the event, which pays for weights up to {event.largest}.")
    shape = table.sizes if units is None else table.sizes[:-1]
    if int(np.prod(shape, dtype=np.float64)) > DENSE_LIMIT:
        raise RefusalError(
            f"the columns {', '.join(table.columns)} have more than {DENSE_LIMIT:,} combinations; every one needs "
            "noise. Use fewer columns."
        )
    codes, occupied = table.occupied()
    weights = np.ones(len(codes), np.int64) if units is None else np.array(units, dtype=np.int64)[codes[:, -1]]
    exact = np.zeros(shape, dtype=np.int64)
    np.add.at(exact, tuple(codes[:, place].astype(np.int64) for place in range(len(shape))), occupied * weights)
    # neighbours stay as near to each other under this cut; larger numbers would be refused, which tells something
    exact = np.minimum(exact, COUNT_LIMIT)
    return discrete_laplace(exact.ravel(), scale=event.scale, stream=stream).reshape(exact.shape)
