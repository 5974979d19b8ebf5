"""Several tables of the same records at once: Gaussian noise on occupied cells and one threshold (SBHG's variant).

A record is in one cell of each table, so it moves the tables together by the square root of their number only, where
Laplace noise pays for each table in full: at epsilon 1 and delta 1e-6 the threshold is lower from three tables on, and
the noise smaller from nine (replace-one: five). As in :mod:`understudy.mechanisms.stability`, cells that only one
neighbour occupies cost a delta. See ``proofs/gaussian_stability.md``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import ClassVar

from understudy.errors import ParameterError
from understudy.mechanisms.discrete_gaussian import (
    MAX_DEVIATION,
    MIN_DEVIATION,
    VARIANCE,
    discrete_gaussian,
    first_fit,
    gaussian_delta,
    gaussian_tail,
)
from understudy.mechanisms.discrete_laplace import RELATION, count_sensitivity, float_above
from understudy.mechanisms.exact_laplace import SCALE_BITS
from understudy.mechanisms.stability import THRESHOLD, public_levels, shown_cells
from understudy.mechanisms.stream import Stream
from understudy.parameters import DELTA, EPSILON, Whole, option
from understudy.privacy.events import Event, Orders, Renyi
from understudy.privacy.guarantees import ApproxDP, Guarantee, Neighbours
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable

_TABLES = Whole(most=10_000)
_GRID = 1 << SCALE_BITS
_EPSILONS = 1 << 32  # a stated epsilon is a multiple of 1 / this, so that it does not hang on the last bit of a sum
_MARGIN = 1e-12  # relative, far above the rounding of the few float operations in _left and slack


@dataclass(frozen=True, kw_only=True)
class GaussianStability(Event):
    """Discrete Gaussian noise on the occupied cells of several tables; a cell is shown iff noisy count >= threshold."""

    kind: ClassVar[str] = "gaussian-stability"
    proof: ClassVar[str | None] = "gaussian_stability.md"
    variance: Fraction = option(rule=VARIANCE, help="of the noise on one count")
    threshold: int = option(rule=THRESHOLD, help="smallest noisy count that is shown")
    tables: int = option(rule=_TABLES, help="how many tables, in each of which a record is in at most one cell")
    delta: float = option(rule=DELTA, help="at which the guarantee states its epsilon; above the slack")
    neighbours: Neighbours = option(rule=RELATION, help="the relation that it is priced for")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _left(self.delta, self.lone, self.tables) > 0:
            raise ParameterError(
                f"`delta` is {self.delta}; it must exceed {self.slack:.6g}, the probability that a lone cell shows. "
                "Raise the threshold or delta, or use gaussian_stability_event(...)."
            )

    @property
    def lone(self) -> float:
        """Probability that a cell of one record is shown."""
        return gaussian_tail(self.variance, self.threshold - 1)

    @property
    def rho(self) -> float:
        """Zero-concentrated price of the noise alone: changed cells / (2 variance)."""
        return float_above(self.tables * count_sensitivity(self.neighbours) / (2 * self.variance))

    def guarantee(self) -> Guarantee:
        """The smallest epsilon, on a grid of 2^-32, whose exact sum is within ``delta``."""
        each = count_sensitivity(self.neighbours)
        epsilon = _smallest_epsilon(self.variance, self.threshold, self.tables, self.delta, each)
        return ApproxDP(epsilon=epsilon, delta=self.delta, neighbours=self.neighbours)

    def renyi(self, orders: Orders) -> Renyi:
        """Order times rho, outside the event that a lone cell shows."""
        return orders * (self.rho * (1 + _MARGIN))

    @property
    def slack(self) -> float:
        """Probability that the lone cell of some table shows: 1 - (1 - P(X >= T - 1))^tables, rounded up."""
        return min(1.0, -math.expm1(self.tables * math.log1p(-self.lone)) * (1 + _MARGIN))


def _left(delta: float, lone: float, cells: int) -> float:
    """The d with 1 - (1 - lone)^cells (1 - d) = delta, from below: what lone cells leave for the others."""
    return -math.expm1(math.log1p(-delta) - cells * math.log1p(-lone)) - _MARGIN * delta


@lru_cache(maxsize=4_096)
def _smallest_epsilon(variance: Fraction, threshold: int, tables: int, delta: float, each: int) -> float:
    """Smallest n / 2^32 at which every number l of lone cells leaves enough delta for the other each tables - l."""
    lone = gaussian_tail(variance, threshold - 1)
    steps = 0
    for cells in range(tables + 1):
        left = _left(delta, lone, cells)
        others = each * tables - cells

        def fits(n: int, left: float = left, others: int = others) -> bool:
            return gaussian_delta(variance, others, Fraction(n, _EPSILONS)) <= left

        if not fits(steps):
            low = steps
            high = max(2 * steps, _EPSILONS)
            while not fits(high):
                low, high = high, 2 * high
            steps = first_fit(fits, low, high)
    return steps / _EPSILONS


def gaussian_stability_event(*, epsilon: float, delta: float, tables: int, neighbours: Neighbours) -> GaussianStability:
    """The least noise, and then the lowest threshold, whose price is within (epsilon, delta); needs no data.

    No split of delta is chosen: lone cells and cells that persist are different cells, so that the worst case is
    either most of the one or most of the other, and each may have nearly all of delta.

    >>> event = gaussian_stability_event(epsilon=1.0, delta=1e-6, tables=10, neighbours=Neighbours.ADD_REMOVE)
    >>> round(float(event.variance) ** 0.5, 2), event.threshold
    (13.36, 71)
    """
    EPSILON.check("epsilon", epsilon)
    DELTA.check("delta", delta)
    _TABLES.check("tables", tables)
    each = count_sensitivity(neighbours)
    steps = math.floor(min(Fraction(epsilon), Fraction(1 << 20)) * _EPSILONS)

    def price(deviation: int) -> float:
        return gaussian_delta(Fraction(deviation, _GRID) ** 2, each * tables, Fraction(steps, _EPSILONS))

    allowed = _left(delta, 0.0, 0)
    least, most = int(MIN_DEVIATION * _GRID), MAX_DEVIATION * _GRID
    if price(most) > allowed:
        raise ParameterError(
            f"`epsilon` is {epsilon} at `delta` {delta}; for {tables} tables the noise on one count would exceed "
            f"{MAX_DEVIATION:,} records. Use a larger epsilon, or fewer tables."
        )
    deviation = least if price(least) <= allowed else first_fit(lambda d: price(d) <= allowed, least, most)
    while True:
        variance = Fraction(deviation, _GRID) ** 2
        threshold = _smallest_threshold(variance, Fraction(steps, _EPSILONS), delta, tables, each)
        event = GaussianStability(
            variance=variance, threshold=threshold, tables=tables, delta=float(delta), neighbours=neighbours
        )
        paid = event.guarantee()
        assert isinstance(paid, ApproxDP)
        if paid.epsilon <= epsilon:
            return event
        deviation += 1  # only if rounding made two equal sums differ


def _smallest_threshold(variance: Fraction, epsilon: Fraction, delta: float, tables: int, each: int) -> int:
    """The lowest threshold at which every number of lone cells, with the others, stays within ``delta``."""
    deltas = [gaussian_delta(variance, each * tables - cells, epsilon) for cells in range(tables + 1)]

    def fits(threshold: int) -> bool:
        lone = gaussian_tail(variance, threshold - 1)
        lefts = [_left(delta, lone, cells) for cells in range(tables + 1)]
        return lefts[-1] > 0 and all(need <= left for need, left in zip(deltas, lefts, strict=True))

    if fits(1):
        return 1
    high = 2
    while not fits(high):
        high *= 2
    return first_fit(fits, high // 2, high)


def gaussian_stability_entry(columns: Sequence[Sequence[str]], *, event: GaussianStability) -> Entry:
    """The line that :func:`gaussian_stable_tables` will write in the ledger; needs no data."""
    if len(columns) != event.tables:
        raise ParameterError(
            f"there are {len(columns)} tables and the event prices {event.tables}; price the tables that are released: "
            f"gaussian_stability_event(tables={len(columns)}, ...)."
        )
    listed = "; ".join(", ".join(names) for names in columns)
    levels = [public_levels(names, event.neighbours) for names in columns]
    return Entry(
        stage="tables",
        reads=f"counts of occupied combinations of {listed}, shown from {event.threshold:,} on",
        event=event,
        assumptions=tuple(dict.fromkeys(item for each in levels for item in each)),
    )


def gaussian_stable_tables(
    counts: Sequence[Secret[CountTable]], *, event: GaussianStability, stream: Stream
) -> tuple[list[CountTable], Entry]:
    """Noisy counts of those occupied cells that reach the threshold, for all tables, and what that cost."""
    tables = [count.open() for count in counts]
    entry = gaussian_stability_entry([table.columns for table in tables], event=event)
    noised = partial(discrete_gaussian, variance=event.variance, stream=stream)
    return [shown_cells(table, event.threshold, noised) for table in tables], entry
