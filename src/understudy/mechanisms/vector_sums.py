"""Noisy sums of whole-number vectors, one per record, that a public rule reads off the record's cell.

Counts, means, quantiles and regressions on the real data are such sums: a rule gives every cell of a public grid a slot
(a group of a public list) and a short vector of whole numbers. Vectors are cut here to the length that the event pays
for, whatever the rule says, so that the price rests on this file alone. See ``proofs/vector_sums.md``,
``proofs/tree_counts.md`` and ``proofs/moment_sums.md``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, TypeVar

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
from understudy.mechanisms.exact_laplace import COUNT_LIMIT, MAX_SCALE
from understudy.mechanisms.gaussian_measurements import GaussianMeasurements, Meter, gaussian_sums_event
from understudy.mechanisms.histogram import GeometricHistogram
from understudy.mechanisms.stream import Stream
from understudy.parameters import EPSILON, Whole, option
from understudy.privacy.events import Event, Orders, Renyi
from understudy.privacy.guarantees import Neighbours, PureDP
from understudy.privacy.secret import Secret
from understudy.sources.tables import Codes, CountTable

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Rule = Callable[[Codes], tuple[Integers, Integers]]
"""From codes of cells to the slot of each (-1: none) and to its vector. It looks at each cell by itself."""
_TOGETHER, _MOST_CELLS = 1 << 22, 1 << 19
"""Numbers that are laid out at a time, and cells: from a million on pandas may hand arithmetic to another library
(numexpr) with other rounding, so that one record more would change the numbers of all others."""


@dataclass(frozen=True, kw_only=True)
class VectorSums(Event):
    """Discrete Laplace noise on sums of vectors, each of which has absolute values of at most ``moved`` in all."""

    kind: ClassVar[str] = "vector-sums"
    proof: ClassVar[str | None] = "vector_sums.md"
    scale: Fraction = option(rule=SCALE, help="of the discrete Laplace noise")
    moved: int = option(rule=Whole(), help="most that the absolute values of a record's vector add up to")
    neighbours: Neighbours = option(rule=RELATION, help="the relation that it is priced for")

    def guarantee(self) -> PureDP:
        """Moved (twice where a record may be replaced) over scale, rounded up to a float."""
        moved = self.moved * count_sensitivity(self.neighbours)
        return pure_claim(moved, scale=self.scale, neighbours=self.neighbours)

    def renyi(self, orders: Orders) -> Renyi:
        """What holds for every epsilon-DP mechanism [BS16 Prop 3.3]."""
        return pure_renyi(orders, self.guarantee().epsilon)


@dataclass(frozen=True, kw_only=True)
class TreeCounts(VectorSums):
    """Counts of all nodes of a public tree over the values of a column: a record adds one on every level."""

    kind: ClassVar[str] = "tree-counts"
    proof: ClassVar[str | None] = "tree_counts.md"


@dataclass(frozen=True, kw_only=True)
class MomentSums(VectorSums):
    """Score and information of a model at public coefficients: products of a record's own design values."""

    kind: ClassVar[str] = "moment-sums"
    proof: ClassVar[str | None] = "moment_sums.md"


Sums = TypeVar("Sums", bound=VectorSums)


def vector_sums_event(kind: type[Sums], *, epsilon: float, moved: int, neighbours: Neighbours) -> Sums:
    """The least noise at which such sums cost at most ``epsilon``; needs no data."""
    scale = scale_for(epsilon, moved * count_sensitivity(neighbours))
    return kind(scale=scale, moved=moved, neighbours=neighbours)


def most_units(epsilon: float, *, wanted: int, times: int, neighbours: Neighbours) -> int:
    """Units that may stand for 1, a power of two, so that noise for ``times`` of them can still be drawn; public."""
    EPSILON.check("epsilon", epsilon)
    units = wanted
    while units > 1 and units * times * count_sensitivity(neighbours) > Fraction(epsilon) * MAX_SCALE:
        units //= 2
    return units


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """How long a record's vector may be, by the sum of absolute values and by the sum of squares."""

    moved: int
    squared: int


def cut_vectors(vectors: Integers, lengths: Lengths) -> Integers:
    """The vectors, those beyond either length shrunk below it in whole numbers; exact.

    >>> cut_vectors(np.array([[3, -3], [1, 1]]), Lengths(moved=4, squared=8)).tolist()
    [[2, -2], [1, 1]]
    """
    # first each number by itself: beyond that, the smallest of 64 bits has no absolute value, and sums would wrap
    whole = np.clip(np.asarray(vectors, dtype=np.int64), -lengths.moved, lengths.moved)
    absolute = np.abs(whole)
    length = absolute.sum(axis=1)
    # floor(|v| moved / length) summed over entries is at most moved: no rounding lifts it
    shrunk = np.sign(whole) * (absolute * lengths.moved // np.maximum(length, 1)[:, None])
    whole = np.where((length > lengths.moved)[:, None], shrunk, whole)
    squares = (whole * whole).sum(axis=1)
    for row in np.flatnonzero(squares > lengths.squared):
        root = math.isqrt(int(squares[row]) - 1) + 1  # rounded up, and the product rounded down
        whole[row] = np.sign(whole[row]) * (np.abs(whole[row]) * math.isqrt(lengths.squared) // root)
    return whole


def _exact_sums(table: CountTable, rule: Rule, *, slots: int, width: int, lengths: Lengths) -> Integers:
    every, counted = table.occupied()
    exact = np.zeros((slots, width), dtype=np.int64)
    together = max(1, min(_TOGETHER // width, _MOST_CELLS))
    for start in range(0, len(every), together):  # a rule looks at each cell by itself, so that parts add up
        codes, counts = every[start : start + together], counted[start : start + together]
        slot, vectors = rule(codes)
        if vectors.shape != (len(codes), width):
            raise ParameterError(f"the rule gives vectors of {vectors.shape[1:]} numbers; {width} were paid for.")
        kept = (slot >= 0) & (slot < slots)
        np.add.at(exact, slot[kept], cut_vectors(vectors[kept], lengths) * counts[kept][:, None])
    # neighbours stay as near to each other under this cut; larger numbers would be refused, which tells something
    return np.clip(exact, -COUNT_LIMIT, COUNT_LIMIT)


@dataclass(frozen=True, kw_only=True, eq=False)
class Released:
    """Noisy sums, one row of numbers per slot, and what is known of their noise."""

    values: Floats
    laplace: float
    """Scale of the noise of each number, where it is Laplace noise; else 0."""
    normal: float
    """Standard deviation of the noise of each number, where it is Gaussian; else 0."""

    @property
    def is_full(self) -> bool:
        """Whether some sum reaches the end of what can be summed, so that nothing is known of it."""
        return bool(np.abs(self.values).max(initial=0.0) >= 0.999 * COUNT_LIMIT)

    @property
    def variance(self) -> float:
        """Of the noise of each number."""
        return 2 * self.laplace**2 + self.normal**2


def noisy_vector_sums(
    counts: Secret[CountTable],
    rule: Rule,
    *,
    slots: int,
    width: int,
    lengths: Lengths,
    event: VectorSums | GeometricHistogram | GaussianMeasurements,
    stream: Stream,
) -> Released:
    """The sum of all vectors of every slot, with the noise that ``event`` pays for; empty slots among them.

    A histogram pays for vectors with a single 1, which are its cells.
    """
    if not isinstance(event, GaussianMeasurements):
        paid = event.moved if isinstance(event, VectorSums) else 1
        if lengths.moved > paid:
            raise ParameterError(f"vectors of {lengths.moved} were asked for, and {paid} are paid for.")
        exact = _exact_sums(counts.open(), rule, slots=slots, width=width, lengths=lengths)
        noisy = discrete_laplace(exact, scale=event.scale, stream=stream)
        return Released(values=noisy.astype(np.float64), laplace=float(event.scale), normal=0.0)
    exact = _exact_sums(counts.open(), rule, slots=slots, width=width, lengths=lengths)
    # replaced, a record leaves one vector and enters another: at most twice the length, four times its square
    squared = lengths.squared * count_sensitivity(event.neighbours) ** 2
    values, variance = Meter(event, stream).sums(exact, squared=squared, units=event.units)
    return Released(values=values, laplace=0.0, normal=math.sqrt(variance))


def gaussian_deviation(event: GaussianMeasurements, lengths: Lengths) -> float | None:
    """Of the noise that this event would add, or None where so much cannot be drawn; needs no data."""
    squared = lengths.squared * count_sensitivity(event.neighbours) ** 2
    variance = event.sums_variance(squared=squared, units=event.units)
    return None if variance is None else math.sqrt(variance)


def quieter_event(
    kind: type[Sums], lengths: Lengths, *, epsilon: float, delta: float | None, neighbours: Neighbours
) -> Sums | GaussianMeasurements:
    """Laplace noise, or Gaussian noise where a delta is declared and it is less; decided by public numbers."""
    pure = vector_sums_event(kind, epsilon=epsilon, moved=lengths.moved, neighbours=neighbours)
    if delta is None:
        return pure
    try:
        event = gaussian_sums_event(epsilon=epsilon, delta=delta, neighbours=neighbours)
    except RefusalError:  # which noise there is then is Laplace noise
        return pure
    deviation = gaussian_deviation(event, lengths)
    return event if deviation is not None and deviation < math.sqrt(2) * float(pure.scale) else pure
