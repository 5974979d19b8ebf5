"""Pure epsilon-DP histogram of a public domain: noise on every cell, laid out dense or kept sparse.

The sparse one has exactly the law of "noise every cell, keep those that reach T, set the others to 0" without
ever touching the empty cells one by one [CPST12 §4, high-pass filter]. See ``proofs/sparse_histogram.md``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
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
    laplace_renyi,
    pure_claim,
    scale_for,
)
from understudy.mechanisms.exact_binomial import exact_binomial, tail_chance
from understudy.mechanisms.exact_laplace import LIMIT, exact_geometric
from understudy.mechanisms.stability import THRESHOLD, occupied_once, public_levels
from understudy.mechanisms.stream import Stream
from understudy.parameters import option
from understudy.privacy.events import Event, Orders, Renyi
from understudy.privacy.guarantees import Guarantee, Neighbours
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import Secret
from understudy.sources.tables import DENSE_LIMIT, Codes, CountTable, code_type

SPURIOUS_CELLS = 10_000
"""Most empty cells that a sparse histogram is expected to show; its threshold follows from this."""
MAX_THRESHOLD = 10_000
"""A sparse histogram that shows only combinations of more records than this is refused as useless."""
MAX_CELLS = 1 << 200
"""Beyond this many combinations only methods that look at occupied cells make sense."""


@dataclass(frozen=True, kw_only=True)
class GeometricHistogram(Event):
    """Discrete Laplace noise on every cell of one table over a public domain."""

    kind: ClassVar[str] = "geometric-histogram"
    proof: ClassVar[str | None] = "geometric_histogram.md"
    scale: Fraction = option(rule=SCALE, help="of the discrete Laplace noise")
    neighbours: Neighbours = option(rule=RELATION, help="the relation that it is priced for")

    def guarantee(self) -> Guarantee:
        """Sensitivity / scale, rounded up to a float."""
        return pure_claim(count_sensitivity(self.neighbours), scale=self.scale, neighbours=self.neighbours)

    def renyi(self, orders: Orders) -> Renyi:
        """Exact for the worst neighbours."""
        return laplace_renyi(orders, scale=self.scale, neighbours=self.neighbours)


@dataclass(frozen=True, kw_only=True)
class SparseHistogram(Event):
    """As :class:`GeometricHistogram`, then noisy counts below ``threshold`` are set to 0; same price."""

    kind: ClassVar[str] = "sparse-histogram"
    proof: ClassVar[str | None] = "sparse_histogram.md"
    scale: Fraction = option(rule=SCALE, help="of the discrete Laplace noise")
    threshold: int = option(rule=THRESHOLD, help="chosen from the size of the public domain and epsilon alone")
    neighbours: Neighbours = option(rule=RELATION, help="the relation that it is priced for")

    def guarantee(self) -> Guarantee:
        """Sensitivity / scale, rounded up to a float; thresholding is post-processing."""
        return pure_claim(count_sensitivity(self.neighbours), scale=self.scale, neighbours=self.neighbours)

    def renyi(self, orders: Orders) -> Renyi:
        """At most that of the histogram before thresholding."""
        return laplace_renyi(orders, scale=self.scale, neighbours=self.neighbours)


def noisy_histogram_event(
    sizes: Sequence[int], *, epsilon: float, neighbours: Neighbours
) -> GeometricHistogram | SparseHistogram:
    """What :func:`noisy_histogram` will pay on a domain of these sizes; needs no data."""
    if len(sizes) == 0 or any(size < 1 for size in sizes):
        raise ParameterError(f"`sizes` is {tuple(sizes)}; a table has columns, each with at least one level.")
    scale = scale_for(epsilon, count_sensitivity(neighbours))
    cells = math.prod(int(size) for size in sizes)
    if cells <= DENSE_LIMIT:
        return GeometricHistogram(scale=scale, neighbours=neighbours)
    if cells > MAX_CELLS:
        raise RefusalError(_useless(cells, f"at most {Decimal(MAX_CELLS):.1e} are handled"))
    threshold = _threshold(cells, scale)
    if threshold > MAX_THRESHOLD:
        rule = (
            f"at epsilon {epsilon} only those of {threshold:,} records or more would stand out from the "
            f"noise, and beyond {MAX_THRESHOLD:,} nothing useful is left"
        )
        raise RefusalError(_useless(cells, rule))
    return SparseHistogram(scale=scale, threshold=threshold, neighbours=neighbours)


def _useless(cells: int, rule: str) -> str:
    return (
        f"the columns have {Decimal(cells):.1e} combinations; {rule}. Use fewer columns or a larger epsilon, "
        "or a method that works on occupied cells: `sba`, or `pegs`."
    )


def _threshold(cells: int, scale: Fraction) -> int:
    """Smallest T with cells q^T / (1 + q) <= SPURIOUS_CELLS, up to float rounding: any public T is safe."""
    surplus = math.log(cells) - math.log(SPURIOUS_CELLS) - math.log1p(math.exp(-1 / scale))
    return max(1, math.ceil(float(scale) * surplus))


def noisy_histogram_entry(
    columns: Sequence[str], sizes: Sequence[int], *, epsilon: float, neighbours: Neighbours
) -> Entry:
    """The line that :func:`noisy_histogram` will write in the ledger; needs no data."""
    event = noisy_histogram_event(sizes, epsilon=epsilon, neighbours=neighbours)
    note = f", those below {event.threshold:,} set to 0" if isinstance(event, SparseHistogram) else ""
    return Entry(
        stage="tables",
        reads=f"counts of all combinations of {', '.join(columns)}{note}",
        event=event,
        assumptions=public_levels(columns, neighbours),
    )


def noisy_histogram(
    counts: Secret[CountTable], *, epsilon: float, neighbours: Neighbours, stream: Stream
) -> tuple[CountTable, Entry]:
    """Noisy counts of every combination, none below 0, and the price; sparse beyond ``DENSE_LIMIT`` cells."""
    table = counts.open()
    entry = noisy_histogram_entry(table.columns, table.sizes, epsilon=epsilon, neighbours=neighbours)
    event = entry.event
    if isinstance(event, SparseHistogram):
        return _sparse(table, event, stream), entry
    assert isinstance(event, GeometricHistogram)
    noisy = discrete_laplace(table.to_grid(), scale=event.scale, stream=stream)
    return CountTable.dense(table.columns, np.maximum(noisy, 0, out=noisy)), entry


def _sparse(table: CountTable, event: SparseHistogram, stream: Stream) -> CountTable:
    """Exactly the law of noise on every cell with those below the threshold set to 0."""
    codes, exact = occupied_once(table)
    noisy = discrete_laplace(exact, scale=event.scale, stream=stream)
    kept = noisy >= event.threshold
    chance = tail_chance(event.scale, event.threshold)
    spurious = exact_binomial(table.cells - len(codes), chance=chance, stream=stream)
    places = _empty_cells(spurious, codes, table.sizes, stream)
    # Given that it reaches T, the noise exceeds T by a geometric amount (no memory).
    values = event.threshold + exact_geometric(spurious, scale=event.scale, stream=stream)
    return CountTable.sparse(
        table.columns,
        table.sizes,
        np.concatenate([codes[kept].astype(places.dtype), places]),
        np.concatenate([noisy[kept], np.minimum(values, LIMIT)]),
    )


def _empty_cells(wanted: int, occupied: Codes, sizes: Sequence[int], stream: Stream) -> Codes:
    """``wanted`` distinct cells not ``occupied``, all sets equally likely: uniform draws, clashes redrawn."""
    kind = code_type(max(sizes))
    cells: dict[bytes, None] = {}
    while len(cells) < wanted:
        missing = wanted - len(cells)
        bounds = np.tile(np.array(sizes, dtype=np.uint64), missing)
        rows = stream.below_each(bounds).reshape(missing, len(sizes)).astype(kind)
        for row in rows[~_among(rows, occupied)]:
            cells[row.tobytes()] = None
    return np.frombuffer(b"".join(cells), dtype=kind).reshape(wanted, len(sizes))


def _among(rows: Codes, table: Codes) -> npt.NDArray[np.bool_]:
    """Which rows occur in ``table``, itself in lexicographic order: binary search for all rows at once."""
    low = np.zeros(len(rows), dtype=np.int64)
    high = np.full(len(rows), len(table), dtype=np.int64)
    each = np.arange(len(rows))
    for _ in range(len(table).bit_length()):
        middle = np.minimum((low + high) // 2, len(table) - 1)
        there = table[middle]
        column = np.argmax(there != rows, axis=1)  # first difference; column 0 of equal rows compares equal
        less = there[each, column] < rows[each, column]
        open_ = low < high
        low = np.where(open_ & less, middle + 1, low)
        high = np.where(open_ & ~less, middle, high)
    inside = low < len(table)
    return inside & (table[np.minimum(low, max(len(table) - 1, 0))] == rows).all(axis=1) if len(table) else inside
