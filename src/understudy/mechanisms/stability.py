"""Histogram of the occupied cells only: noise each, keep what reaches a threshold (SBA) [sbhg §2, KKMN09].

Costs no noise on empty cells, hence works on domains of any size; the price is a delta, because an output
cell that only one neighbour occupies proves which neighbour it was. See ``proofs/stability_histogram.md``.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from understudy.mechanisms.discrete_laplace import (
    RELATION,
    SCALE,
    count_sensitivity,
    discrete_laplace,
    float_above,
    laplace_renyi,
    scale_for,
)
from understudy.mechanisms.exact_laplace import COUNT_LIMIT
from understudy.mechanisms.stream import Stream
from understudy.parameters import DELTA, Whole, option
from understudy.privacy.events import Event, Orders, Renyi
from understudy.privacy.guarantees import ApproxDP, Guarantee, Neighbours
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import Secret
from understudy.sources.tables import Codes, CountTable

# Decimal's exp is correctly rounded: 60 digits leave an error far below the 1e-30 that is added.
_WIDE = Context(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
THRESHOLD = Whole(least=1, most=COUNT_LIMIT, tried=20)
"""The proof needs released counts to be positive."""

_UP = Decimal(1) + Decimal("1e-30")


@dataclass(frozen=True, kw_only=True)
class StabilityHistogram(Event):
    """Discrete Laplace noise on the occupied cells of one table; released iff noisy count >= threshold."""

    kind: ClassVar[str] = "stability-histogram"
    proof: ClassVar[str | None] = "stability_histogram.md"
    scale: Fraction = option(rule=SCALE, help="of the discrete Laplace noise")
    threshold: int = option(rule=THRESHOLD, help="smallest noisy count that is shown")
    neighbours: Neighbours = option(rule=RELATION, help="the relation that it is priced for")

    def guarantee(self) -> Guarantee:
        """Epsilon as for noise on every cell; delta = q^(T-1) / (1 + q), attained. Both rounded up."""
        return ApproxDP(
            epsilon=float_above(count_sensitivity(self.neighbours) / self.scale),
            delta=stability_delta(self.scale, self.threshold),
            neighbours=self.neighbours,
        )

    def renyi(self, orders: Orders) -> Renyi:
        """As for noise on every cell, outside the event that a lone cell shows."""
        return laplace_renyi(orders, scale=self.scale, neighbours=self.neighbours)

    @property
    def slack(self) -> float:
        """Probability that a cell of one record shows: delta."""
        return stability_delta(self.scale, self.threshold)


def _delta_bound(scale: Fraction, threshold: int) -> Decimal:
    """q^(T-1) / (1 + q) with q = e^(-1/scale), from above by a relative 1e-30."""
    step = _WIDE.divide(Decimal(scale.denominator), Decimal(scale.numerator))
    q = _WIDE.exp(-step)
    power = _WIDE.exp(_WIDE.multiply(Decimal(1 - threshold), step))
    return _WIDE.multiply(_WIDE.divide(power, _WIDE.add(Decimal(1), q)), _UP)


def stability_delta(scale: Fraction, threshold: int) -> float:
    """Probability that a cell of count 1 reaches ``threshold``, q^(T-1) / (1 + q), rounded up to a float."""
    bound = _delta_bound(scale, threshold)
    near = float(bound)
    return near if Decimal(near) >= bound else math.nextafter(near, math.inf)


def stability_threshold(*, epsilon: float, delta: float, neighbours: Neighbours) -> tuple[Fraction, int]:
    """Scale, and the smallest threshold whose delta does not exceed ``delta``.

    >>> stability_threshold(epsilon=1.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE)
    (Fraction(1, 1), 15)
    """
    scale = scale_for(epsilon, count_sensitivity(neighbours))
    DELTA.check("delta", delta)
    allowed = Decimal(delta)
    q = math.exp(-1 / scale)
    threshold = max(1, 1 + math.ceil(-float(scale) * (math.log(delta) + math.log1p(q))))
    while _delta_bound(scale, threshold) > allowed:  # the float guess is off by one at most
        threshold += 1
    while threshold > 1 and _delta_bound(scale, threshold - 1) <= allowed:
        threshold -= 1
    return scale, threshold


def stable_histogram_event(*, epsilon: float, delta: float, neighbours: Neighbours) -> StabilityHistogram:
    """What :func:`stable_histogram` will pay; needs no data."""
    scale, threshold = stability_threshold(epsilon=epsilon, delta=delta, neighbours=neighbours)
    return StabilityHistogram(scale=scale, threshold=threshold, neighbours=neighbours)


def stable_histogram_entry(columns: Sequence[str], *, epsilon: float, delta: float, neighbours: Neighbours) -> Entry:
    """The line that :func:`stable_histogram` will write in the ledger; needs no data."""
    event = stable_histogram_event(epsilon=epsilon, delta=delta, neighbours=neighbours)
    return Entry(
        stage="tables",
        reads=f"counts of occupied combinations of {', '.join(columns)}, shown from {event.threshold:,} on",
        event=event,
        assumptions=public_levels(columns, neighbours),
    )


def public_levels(columns: Sequence[str], neighbours: Neighbours) -> tuple[str, ...]:
    """What a priced table takes as public knowledge."""
    levels = tuple(f"the levels of {name} are public" for name in columns)
    return (*levels, "the number of records is public") if neighbours is Neighbours.REPLACE else levels


def stable_histogram(
    counts: Secret[CountTable], *, epsilon: float, delta: float, neighbours: Neighbours, stream: Stream
) -> tuple[CountTable, Entry]:
    """Noisy counts of those occupied cells that reach the threshold, and what that cost."""
    table = counts.open()
    entry = stable_histogram_entry(table.columns, epsilon=epsilon, delta=delta, neighbours=neighbours)
    event = entry.event
    assert isinstance(event, StabilityHistogram)
    return shown_cells(table, event.threshold, partial(discrete_laplace, scale=event.scale, stream=stream)), entry


def occupied_once(table: CountTable) -> tuple[Codes, npt.NDArray[np.int64]]:
    """The occupied cells in order, each once: a combination listed twice would be noised twice, at one price."""
    return CountTable.sparse(table.columns, table.sizes, *table.occupied()).occupied()


def shown_cells(
    table: CountTable, threshold: int, noised: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]]
) -> CountTable:
    """Noisy counts of the occupied cells that reach the threshold."""
    codes, exact = occupied_once(table)
    noisy = noised(exact)
    kept = noisy >= threshold
    return CountTable.sparse(table.columns, table.sizes, codes[kept], noisy[kept])
