"""How well a finished release meets what was asked of it, measured in the confidential table at a price.

Three numbers are measured with discrete Laplace noise: the records that would have to move to another cell for a table
of the release to agree, sums of public whole numbers over all records, and the number of records. One record moves each
of them by a known amount (``proofs/certificate.md``). Releases that are drawn until one passes are a private selection;
its price is :class:`SelectedTry` (``proofs/selected_try.md``).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from understudy.mechanisms.discrete_laplace import (
    RELATION,
    SCALE,
    discrete_laplace,
    float_above,
    pure_claim,
    pure_renyi,
    scale_for,
)
from understudy.mechanisms.exact_laplace import COUNT_LIMIT
from understudy.mechanisms.stream import Stream
from understudy.parameters import EPSILON, Whole, option
from understudy.privacy.events import Event, Orders, Renyi
from understudy.privacy.guarantees import Neighbours, PureDP
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable

STEPS = 1 << 14
"""Whole steps that one record adds to all sums of one regression together, at most."""
_UP = 1.0 + 1e-12
Integers = npt.NDArray[np.int64]
Try = TypeVar("Try")


@dataclass(frozen=True, kw_only=True)
class CertifiedNumbers(Event):
    """Discrete Laplace noise on whole numbers that one record moves by at most ``moved`` in all."""

    kind: ClassVar[str] = "certified-numbers"
    proof: ClassVar[str | None] = "certificate.md"
    scale: Fraction = option(rule=SCALE, help="of the discrete Laplace noise")
    moved: int = option(rule=Whole(), help="most that the numbers move in all between neighbours")
    neighbours: Neighbours = option(rule=RELATION, help="the relation that it is priced for")

    def guarantee(self) -> PureDP:
        """Moved over scale, rounded up to a float."""
        return pure_claim(self.moved, scale=self.scale, neighbours=self.neighbours)

    def renyi(self, orders: Orders) -> Renyi:
        """What holds for every epsilon-DP mechanism [BS16 Prop 3.3]."""
        return pure_renyi(orders, self.guarantee().epsilon)


@dataclass(frozen=True, kw_only=True)
class SelectedTry(Event):
    """Tries of ``epsilon`` each until one passes; after each that does not, it ends with the chance 1 / ``tries``."""

    kind: ClassVar[str] = "selected-try"
    proof: ClassVar[str | None] = "selected_try.md"
    epsilon: float = option(rule=EPSILON, help="of one try")
    tries: int = option(rule=Whole(), help="how many there are on average if none passes")
    neighbours: Neighbours = option(rule=RELATION, help="the relation that it is priced for")

    def guarantee(self) -> PureDP:
        """epsilon + ln((g + e^epsilon) / (1 + g e^epsilon)) with g = 1 / tries, which is attained; rounded up."""
        stop, less = 1 / self.tries, math.exp(-self.epsilon)
        # the same as 1 plus what it exceeds 1 by: a small epsilon would be lost in the quotient
        more = math.log1p((1 - stop) * -math.expm1(-self.epsilon) / (less + stop)) if self.tries > 1 else 0.0
        price = min(float_above(Fraction(self.epsilon) + Fraction(more * _UP)), float_above(2 * Fraction(self.epsilon)))
        return PureDP(epsilon=price, neighbours=self.neighbours)

    def renyi(self, orders: Orders) -> Renyi:
        """What holds for every epsilon-DP mechanism [BS16 Prop 3.3]."""
        return pure_renyi(orders, self.guarantee().epsilon)


def certified_event(*, epsilon: float, moved: int, neighbours: Neighbours) -> CertifiedNumbers:
    """The least noise at which such numbers cost at most ``epsilon``; needs no data."""
    return CertifiedNumbers(scale=scale_for(epsilon, moved), moved=moved, neighbours=neighbours)


def measure_records(counts: Secret[CountTable], *, event: CertifiedNumbers, stream: Stream) -> int:
    """The number of records, with noise."""
    return int(_noisy(np.array([counts.open().to_grid().sum()]), event, stream)[0])


def measure_moves(counts: Secret[CountTable], released: Integers, *, event: CertifiedNumbers, stream: Stream) -> int:
    """How many records would have to move for the table to have the shares of ``released``, with noise."""
    return int(_noisy(np.array([moves(counts.open().to_grid(), released)]), event, stream)[0])


def measure_sums(counts: Secret[CountTable], steps: Integers, *, event: CertifiedNumbers, stream: Stream) -> Integers:
    """Sums over all records of the whole numbers that stand in ``steps`` for their cell, with noise.

    ``steps`` has one axis more than the table, its last. The numbers of one cell add up to at most :data:`STEPS`.
    """
    beyond = int(steps.min()) < -STEPS or int(steps.max()) > STEPS  # or their sums could wrap around
    if beyond or int(np.abs(steps).sum(axis=-1).max()) > STEPS:
        raise ValueError(f"the steps of one cell add up to more than {STEPS}")
    grid = counts.open().to_grid().ravel()
    sums = [int(np.dot(grid, column)) for column in steps.reshape(len(grid), -1).T]
    # neighbours stay as near to each other under this cut; larger numbers would be refused, which tells something
    return _noisy(np.clip(np.array(sums, dtype=np.int64), -COUNT_LIMIT, COUNT_LIMIT), event, stream)


def moves(counts: Integers, released: Integers) -> int:
    """Records to move, rounded down: the sum of max(0, c - n r / R) over all cells, for n records and R rows.

    >>> moves(np.array([6, 4]), np.array([50, 50]))
    1
    """
    records, rows = int(counts.sum()), int(released.sum())
    wide = object if records.bit_length() + rows.bit_length() > 62 else np.int64
    beyond = counts.astype(wide) * rows - released.astype(wide) * records
    return int(np.maximum(beyond, 0).sum()) // rows


def until_passed(draw: Callable[[], Try], passes: Callable[[Try], bool], *, tries: int, stream: Stream) -> Try:
    """Draw until one passes; after each that does not, end with the chance 1 / ``tries``. Nobody is told how many."""
    while True:
        drawn = draw()
        if passes(drawn) or stream.below(tries) == 0:
            return drawn


def _noisy(exact: npt.NDArray[np.int64], event: CertifiedNumbers, stream: Stream) -> Integers:
    return discrete_laplace(exact.astype(np.int64), scale=event.scale, stream=stream)
