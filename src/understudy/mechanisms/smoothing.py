"""Counts plus virtual records, as integer weights for exact draws. The weights stay secret.

Route S: smoothing releases nothing, so it costs nothing; opening the weights for ``n`` draws costs ``n`` draws, and
:func:`open_for_draws` hands out the weights only together with that entry.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from understudy.errors import RefusalError
from understudy.mechanisms.dirichlet import Prior
from understudy.privacy.events import Event
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.provenance import InputRole, Provenance
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable

T = TypeVar("T")
KeyOf = Callable[[Sequence[npt.NDArray[np.unsignedinteger]]], npt.NDArray[np.int64]]


@dataclass(frozen=True, kw_only=True)
class VirtualRecords:
    """The prior of one column on a common denominator: level j gets ``numerators[j] / denominator`` records."""

    numerators: tuple[int, ...]
    denominator: int

    @classmethod
    def shaped(cls, *, smallest: Fraction, ratios: Sequence[int]) -> "VirtualRecords":
        """``ratios`` are whole multiples (1 or more) of the smallest virtual count, which sets the price."""
        return cls(numerators=tuple(smallest.numerator * ratio for ratio in ratios), denominator=smallest.denominator)

    @property
    def prior(self) -> Prior:
        """As the pricing event wants it: distinct virtual counts, smallest first, with their multiplicity."""
        distinct = sorted(set(self.numerators))
        return tuple((Fraction(n, self.denominator), self.numerators.count(n)) for n in distinct)


@dataclass(frozen=True, kw_only=True, eq=False)
class Weights:
    """Cumulative integer weights of one conditional table.

    Row ``s`` of ``cumulative`` belongs to the key ``keys[s]`` (to the key ``s`` itself when ``keys`` is None); the last
    row is the prior alone and serves every key that no record has.
    """

    cumulative: npt.NDArray[np.uint64]
    keys: npt.NDArray[np.int64] | None

    @property
    def unseen(self) -> int:
        """Row that serves unseen keys."""
        return len(self.cumulative) - 1


def counts_by_key(
    table: CountTable, *, key_of: KeyOf, key_space: int, dense: bool
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64] | None]:
    """Counts of the last column by key, with an empty row behind them, and the keys of the rows unless ``dense``."""
    codes, tally = table.occupied()
    columns = [np.ascontiguousarray(codes[:, position]) for position in range(codes.shape[1])]
    target = columns[-1].astype(np.int64)
    keys = key_of(columns[:-1]) if len(columns) > 1 else np.zeros(len(target), dtype=np.int64)
    distinct, slots, rows = None, keys, key_space
    if not dense:
        distinct, slots = np.unique(keys, return_inverse=True)
        rows = len(distinct)
    grid = np.zeros((rows + 1, table.sizes[-1]), dtype=np.uint64)
    np.add.at(grid, (slots, target), tally.astype(np.uint64))
    return grid, distinct


def smoothed(
    counts: Secret[CountTable], *, virtual: VirtualRecords, key_of: KeyOf, key_space: int, dense: bool
) -> Secret[Weights]:
    """Group the counts by key, add the virtual records (Eq 6 of the PeGS paper) and accumulate.

    The last column of the table is the target, the others are what the key reads.
    """
    grid, distinct = counts_by_key(counts.open(), key_of=key_of, key_space=key_space, dense=dense)
    heaviest = int(grid.sum(axis=1, dtype=np.uint64).max()) * virtual.denominator + sum(virtual.numerators)
    if heaviest >= 1 << 63:
        raise RefusalError(
            f"the integer weights of a cell would need {heaviest.bit_length()} bits; at most 63 are exact. "
            "Use an alpha nearer to 1, or a less uneven prior."
        )
    grid *= np.uint64(virtual.denominator)
    grid += np.array(virtual.numerators, dtype=np.uint64)
    return Secret(Weights(cumulative=np.cumsum(grid, axis=1, dtype=np.uint64), keys=distinct))


def open_for_draws(tables: Sequence[Secret[T]], *, event: Event, ledger: Ledger) -> list[T]:
    """The weights, or models, but only against a ledger that already holds the entry for the draws to come."""
    if not ledger.pays_for(event):
        raise RefusalError("the ledger does not pay for these draws; quote and reserve them before drawing.")
    return [table.open() for table in tables]


def exposed(counts: Sequence[Secret[T]], *, stage: str, reads: str, why: str) -> tuple[list[T], Entry]:
    """Raw counts (or rows) for a baseline that promises nothing; the entry says so."""
    return [table.open() for table in counts], Entry.unpriced(stage=stage, reads=reads, why=why)


def declared_public(counts: Sequence[Secret[T]], *, provenance: Provenance, role: InputRole) -> list[T]:
    """Counts of a table that is used as public knowledge; a release of ours that is not public is refused.

    The caller's quote lists the table among its inputs, so that its price, or that it was declared public, is stated.
    """
    provenance.as_public(role)
    return [table.open() for table in counts]
