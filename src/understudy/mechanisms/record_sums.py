"""Sums over secret labelled records of public vectors, whose length is cut record by record, under one Gaussian price.

Every feature has a public table: for each of its codes a few whole numbers of at most ``LEAN``. A record's vector is
made of the rows that its codes point at, and shrunk to a squared length of at most ``bound`` where it is longer. Then
it moves the sum of vectors by a length of ``sqrt(bound)``, and the matrix of second moments by one that ``bound``
limits too (``proofs/gaussian_measurements.md``, *Sums of vectors*).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.errors import RefusalError
from understudy.mechanisms.gaussian_measurements import Meter
from understudy.mechanisms.labelled import Cells, ChanceOf, Codes, LeafOf, leaf_counts
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.secret import Secret

LEAN = 64
"""What stands for 1 in vectors of whole numbers."""
_TIMES = 16  # counts are measured as multiples, beside which the rounding of noise is small

Whole = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]
Tables = Sequence[Whole]
"""For each feature an array of codes x columns."""


def vectors(codes: Codes, tables: Tables, *, bound: int) -> Whole:
    """The vector of every row of codes, none of a squared length beyond ``bound``.

    >>> tables = [np.array([[64], [0]]), np.array([[0], [64]])]
    >>> vectors(np.array([[0, 1]], dtype=np.uint8), tables, bound=64**2).tolist()
    [[45, 45]]
    """
    whole = np.concatenate([np.asarray(table, np.int64)[codes[:, at]] for at, table in enumerate(tables)], axis=1)
    if whole.size and (int(whole.min()) < -LEAN or int(whole.max()) > LEAN):
        raise ValueError(f"a table of vectors holds numbers beyond {LEAN}")
    length = (whole * whole).sum(axis=1)
    # A little less than the true ratio: no float is rounded up past it, and cutting off digits only shortens.
    ratio = np.sqrt(bound / np.maximum(length, 1)) * (1 - 1e-9)
    cut: Whole = np.where((length > bound)[:, None], np.trunc(whole * ratio[:, None]).astype(np.int64), whole)
    return cut


def sums_squared(bound: int) -> int:
    """Squared length by which a record moves the sums of its vector and of LEAN."""
    return bound + LEAN**2


def moments_squared(bound: int) -> int:
    """The same for LEAN times the vector, and all products of two of its entries, each pair once.

    For b the squared length the products have (b^2 + the sum of fourth powers) / 2; an entry's square is at most
    LEAN^2.
    """
    return LEAN**2 * bound + (bound**2 + LEAN**2 * bound + 1) // 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """Released numbers in records, and the deviation of the noise of each."""

    values: Values
    deviation: float


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordSums:
    """Secret records and the meter that pays for what is measured of them. Tables, bounds and units are public."""

    cells: Secret[Cells]
    meter: Meter

    def __post_init__(self) -> None:
        """The lengths below are those of one record more or less."""
        if self.meter.event.neighbours is not Neighbours.ADD_REMOVE:
            raise RefusalError("sums of records are priced for add-remove neighbours only. Use that relation.")

    def _measured(self, exact: Whole, *, squared: int, units: int, one: int) -> Measured:
        noisy, variance = self.meter.sums(exact, squared=squared, units=units)
        return Measured(values=noisy / one, deviation=variance**0.5 / one)

    def class_counts(self, leaf_of: LeafOf, leaves: int, *, units: int) -> Measured:
        """(negative, positive) counts of every leaf; a record is in one."""
        exact = leaf_counts(self.cells.open(), leaf_of, leaves)
        return self._measured(_TIMES * exact, squared=_TIMES**2, units=units, one=_TIMES)

    def histograms(self, places: Sequence[int], groups: Sequence[Whole], *, units: int) -> list[Measured]:
        """Records by group of codes, for several features; codes in no group (-1) are left out."""
        held = self.cells.open()
        records = held.counts.sum(axis=1)
        parts = []
        for place, group in zip(places, groups, strict=True):
            at = group[held.codes[:, place]]
            counts = np.zeros(int(group.max()) + 1, dtype=np.int64)
            np.add.at(counts, at[at >= 0], records[at >= 0])
            parts.append(counts)
        exact = _TIMES * np.concatenate(parts)
        whole = self._measured(exact, squared=_TIMES**2 * len(places), units=units, one=_TIMES)
        ends = np.cumsum([len(part) for part in parts])[:-1]
        return [Measured(values=part, deviation=whole.deviation) for part in np.split(whole.values, ends)]

    def residual_sums(
        self, tables: Tables, chance_of: ChanceOf, *, bound: int, units: int, reach: int = LEAN
    ) -> Measured:
        """The sum over records of (label - chance) (1, vector); in whole LEANths a residual is cut to +-``reach``."""
        held = self.cells.open()
        chance = np.rint(np.clip(chance_of(held.codes), 0.0, 1.0) * LEAN).astype(np.int64)
        pull = np.clip(np.stack([-chance, LEAN - chance], axis=1), -reach, reach)
        pulls = (pull * held.counts).sum(axis=1)
        summed = pulls @ vectors(held.codes, tables, bound=bound)
        exact = np.concatenate([[LEAN * int(pulls.sum())], summed]).astype(np.int64)
        return self._measured(exact, squared=reach**2 * sums_squared(bound), units=units, one=LEAN**2)

    def second_moments(self, tables: Tables, *, bound: int, units: int) -> tuple[Values, Values, float]:
        """The sum of vectors, the sum of their outer products, and the deviation of the noise of each number."""
        held = self.cells.open()
        each = vectors(held.codes, tables, bound=bound).astype(np.float64)
        weighted = each * held.counts.sum(axis=1)[:, None]
        # sums of whole numbers below 2^53, which floats hold exactly in any order
        first, products = LEAN * weighted.sum(axis=0), each.T @ weighted
        upper = np.triu_indices(each.shape[1])
        exact = np.concatenate([first, products[upper]]).astype(np.int64)
        found = self._measured(exact, squared=moments_squared(bound), units=units, one=LEAN**2)
        size = each.shape[1]
        second = np.zeros((size, size))
        second[upper] = found.values[size:]
        return found.values[:size], second + np.triu(second, 1).T, found.deviation
