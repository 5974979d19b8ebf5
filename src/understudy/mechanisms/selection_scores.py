"""Scores by which parents are chosen, how much one record changes them, and how exactly they are computed.

Both are in nats. A table has the child on its last axis and the parents, together, on the others.

- Mutual information, replace-one, number of records public (PrivBayes, SBHG).
- Minus the conditional entropy of all records, add-remove, an upper bound on their number public: between candidates
  for the same child it ranks like the mutual information.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from understudy.errors import DataError
from understudy.parameters import Whole
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable

MAX_RECORDS = 1 << 31
"""Up to here the float error of both scores is below ``SCORE_ERROR`` of their sensitivity: see the proof file."""

Counts = npt.NDArray[np.int64]


def mutual_information(table: Counts) -> float:
    """I(child; parents) of the empirical distribution, in nats; 0 for an empty table.

    >>> round(mutual_information(np.array([[5, 0], [0, 5]])), 6)  # ln 2
    0.693147
    """
    flat = _checked(table)
    records = int(flat.sum())
    if records == 0:
        return 0.0
    terms = [*_terms(flat), *-_terms(flat.sum(axis=0)), *-_terms(flat.sum(axis=1)), *_terms(np.array([records]))]
    return max(0.0, math.fsum(terms) / records)


def information_of_all(table: Counts) -> float:
    """n I(child; parents) in nats: what the parents tell about the child in all records together.

    It is n H(child) - n H(child | parents), and a new record adds to each of the two between 0 and
    :func:`conditional_entropy_sensitivity`; so it changes by at most that under add-remove, up or down.
    """
    return mutual_information(table) * int(table.sum())


def mutual_information_sensitivity(n: int, *, binary: bool) -> float:
    """Most that it changes when one of ``n`` records is replaced [PrivBayes Lemma 4.1].

    ``binary``: the child, or all its parents together, have two levels. Otherwise the general bound.

    >>> round(mutual_information_sensitivity(1000, binary=True), 8)
    0.00790726
    """
    Whole(least=2, most=MAX_RECORDS).check("n", n)
    if binary:
        return math.log(n) / n - (n - 1) / n * math.log1p(-1 / n)
    return 2 / n * math.log((n + 1) / 2) + (n - 1) / n * math.log1p(2 / (n - 1))


def conditional_entropy_score(table: Counts) -> float:
    """-n H(child | parents) in nats, never above 0.

    >>> round(conditional_entropy_score(np.array([[1, 1], [0, 7]])), 6)  # -2 ln 2
    -1.386294
    """
    flat = _checked(table)
    return min(0.0, math.fsum([*_terms(flat), *-_terms(flat.sum(axis=1))]))


def conditional_entropy_sensitivity(n_max: int) -> float:
    """Most that it falls when a record is added to at most ``n_max``, a public number; it never rises.

    (n+1) ln(n+1) - n ln n <= ln(n+1) + 1.
    """
    Whole(most=MAX_RECORDS).check("n_max", n_max)
    return math.log(n_max + 1) + 1


def fixed_size(counts: Sequence[Secret[CountTable]], stated: int, *, capped: bool) -> int:
    """The number of records that a score under replace-one is computed for.

    Where records per person are capped it is that of the kept records: a replaced person keeps their number of records,
    so all neighbours have the same. ``stated`` is then the public size of the whole table, and only an upper bound.
    """
    if not capped or not counts:
        return stated
    size = int(counts[0].open().occupied()[1].sum())
    if not 2 <= size <= stated:
        raise DataError(
            f"the data do not have between 2 and {stated:,} records after the cap, and the price rests on that; state "
            "the publicly known size of the table."
        )
    return size


def score_tables(
    counts: Sequence[Secret[CountTable]],
    score: Callable[[Counts], float],
    *,
    records: int,
    exactly: bool,
    offsets: Sequence[float] | None = None,
) -> Secret[Sequence[float]]:
    """The score of every table, as secret as the tables; :func:`understudy.mechanisms.exponential.select` opens it.

    The last column of each table is the child. ``records`` is the public size that the sensitivity was computed for, an
    upper bound or, if ``exactly``, the very number; a table that contradicts it is refused, because its price would be
    wrong. ``offsets`` are public and taken off the scores, which changes no sensitivity.
    """
    tables = [_compact(count.open()) for count in counts]
    for table in tables:
        size = int(table.sum())
        if size > records or (exactly and size != records):
            bound = "exactly" if exactly else "at most"
            raise DataError(
                f"the data do not have {bound} {records:,} records, which is what the price rests on; "
                "state the publicly known size of the table."
            )
    public = offsets or [0.0] * len(tables)
    return Secret([score(table) - offset for table, offset in zip(tables, public, strict=True)])


def _compact(table: CountTable) -> Counts:
    """Parents (occupied combinations only) by child; the scores do not see empty rows."""
    codes, counts = table.occupied()
    _, rows = np.unique(codes[:, :-1], axis=0, return_inverse=True)
    flat = np.zeros((int(rows.max(initial=-1)) + 1, table.sizes[-1]), dtype=np.int64)
    np.add.at(flat, (rows.ravel(), codes[:, -1]), counts)
    return flat


def _checked(table: Counts) -> Counts:
    if not isinstance(table, np.ndarray) or not np.issubdtype(table.dtype, np.integer) or table.ndim < 2:
        raise DataError("a score needs whole counts with the parents on the first axes and the child on the last.")
    if table.size and int(table.min()) < 0:
        raise DataError("some count is below 0; a score needs the exact counts of records.")
    if int(table.sum()) > MAX_RECORDS:
        raise DataError(
            f"there are more than {MAX_RECORDS:,} records; the score would not be exact enough for its price. "
            "Split the data."
        )
    return table.reshape(-1, table.shape[-1]).astype(np.int64)


def _terms(counts: Counts) -> npt.NDArray[np.float64]:
    """c ln c of every count, with 0 ln 0 = 0; each within a relative 2^-50."""
    occupied = counts[counts > 1].astype(np.float64)  # 1 ln 1 = 0 too
    return occupied * np.log(occupied)
