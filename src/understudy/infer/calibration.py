"""Rows brought into line with what was measured: weights for every record, and how far a weighted figure may be off.

Released rows agree with tables from which noise was shrunk away, so figures of the rows are biased towards what the
method expected. The measurements are not: each is the true table plus noise of a known variance. As surveys calibrate a
sample to known totals (Deville and Sarndal 1992), the rows get weights under which their tables are the measured ones.
With records x of shares r(x), tables t with measured deviations d_t from the rows, and indicator functions a(x) of all
their cells, the weights are

    w(x) = r(x) (1 + a(x)' h),      (T G + N) h = T d,      G = sum r(x) a(x) a(x)',

where N is the variance of the noise in every cell and T a vague prior variance of what the rows may be off by. Any
weighted sum of f(x) then is the sum in the rows plus c'd with (T G + N) c = T sum r(x) f(x) a(x): its noise has the
variance c'Nc, which is known, because N is public. The page docs/methods/intervals.md derives this.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from understudy.errors import RefusalError
from understudy.release.measurements import Measurements

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
_VAGUE = 1.0
"""T: a cell that the rows give the share p may in truth be off by as much as its square root, which excludes nothing.
A third or ten times as much changes coverage by less than a percentage point; a thirtieth leaves bias in models."""
_MOST_CELLS = 4_000
"""Of all tables together, whose equations are solved at once."""
_SMALL = 64


@dataclass(frozen=True, kw_only=True, eq=False)
class Records:
    """Distinct records of some columns in the released rows."""

    names: tuple[str, ...]
    """In the order of the codebook."""
    codes: Whole
    """One line per distinct record."""
    shares: Floats
    """Of the rows."""
    rows: int

    @classmethod
    def of(cls, names: Sequence[str], sizes: Sequence[int], columns: Sequence[npt.NDArray[np.integer]]) -> "Records":
        """From the codes of all rows."""
        rows = len(columns[0])
        stacked = np.stack([column.astype(np.int64) for column in columns], axis=1)
        if math.prod(sizes) < 1 << 62:
            keys = np.ravel_multi_index(tuple(stacked.T), tuple(sizes))
            _, first, counts = np.unique(keys, return_index=True, return_counts=True)
            distinct = stacked[first]
        else:
            distinct, counts = np.unique(stacked, axis=0, return_counts=True)
        return cls(names=tuple(names), codes=distinct, shares=counts / rows, rows=rows)

    def of_column(self, name: str) -> Whole:
        """Codes of one column."""
        column: Whole = self.codes[:, self.names.index(name)]
        return column


@dataclass(frozen=True, kw_only=True, eq=False)
class _Table:
    """Some cells that every record is in one of."""

    cells: Whole
    """Of each record."""
    missed: Floats
    """What was measured minus what the rows have; nothing where nobody measured."""
    noise: Floats
    """Covariance of what is not known about the cells."""
    outside: Floats
    """Projection on what these cells say nothing about: the margins of an interaction."""
    is_measured: bool

    @property
    def size(self) -> int:
        return self.missed.size


@dataclass(frozen=True, kw_only=True, eq=False)
class Variances:
    """What the variance of each of some figures is made of."""

    sampling: Floats
    """That the confidential records are a sample."""
    noise: Floats
    """The noise of the measurements."""
    unmeasured: Floats
    """Dependence that nobody measured, as large as its paid score allows, and rows that are drawn at random."""

    @property
    def privacy(self) -> Floats:
        """All that a confidential table would not have."""
        return self.noise + self.unmeasured


class Calibration:
    """Weights of the records of some columns."""

    def __init__(self, measured: Measurements, records: Records, *, clustered: int = 1) -> None:
        """``clustered``: how many records of one person there may be."""
        self.records = records
        self._measured, self._clustered = measured, clustered
        shapes = [_shape(measured, columns) for columns in _table_columns(measured, records.names)]
        cells = 1 + sum(map(math.prod, shapes))
        if cells > _MOST_CELLS:
            raise RefusalError(
                f"{', '.join(records.names)} have {cells:,} cells in their pairs; at most {_MOST_CELLS:,} "
                "are calibrated together. Ask for fewer columns at a time, or for columns of fewer levels."
            )
        self._tables = [_everybody(records), *_tables(measured, records)]
        self._starts = np.cumsum([0, *(table.size for table in self._tables)])

    @cached_property
    def weights(self) -> Floats:
        """Calibrated shares, which may be slightly negative; they sum to 1."""
        missed = np.concatenate([table.missed.ravel() for table in self._tables])
        pulled = self._spread(self._solved(_VAGUE * missed[:, None])[:, 0])
        weights: Floats = self.records.shares * (1 + pulled - self.records.shares @ pulled)
        return weights

    def variances(self, influence: Floats) -> Variances:
        """Of figures whose influence functions (Hampel) these are, one in each column, one record a line."""
        shares, rows = self.records.shares, self.records.rows
        influence = influence - self.weights @ influence
        pulled = np.concatenate([self._added(table, influence * shares[:, None]) for table in self._tables])
        answers = self._solved(_VAGUE * pulled)
        noise, unmeasured = np.zeros(influence.shape[1]), np.zeros(influence.shape[1])
        for table, start, end in zip(self._tables, self._starts, self._starts[1:], strict=False):
            answer = answers[start:end] - table.outside @ answers[start:end]
            variance = (answer * (table.noise @ answer)).sum(axis=0)
            if table.is_measured:
                noise += variance
            else:
                unmeasured += variance
        left = influence - np.stack([self._spread(answer) for answer in answers.T], axis=1)
        unmeasured += shares @ left**2 / rows  # no table holds the rows to this part: it is as it was drawn
        records = max(1.0, float(self._measured.records.values[0]))
        # weights may make a variance of few records too small, or negative
        spread = np.maximum(self.weights @ influence**2, 0.5 * (shares @ influence**2))
        # a sum over people of up to k records each varies at most k times as much as one over independent records
        return Variances(sampling=self._clustered * spread / records, noise=noise, unmeasured=unmeasured)

    @cached_property
    def _factor(self) -> Floats:
        """The inverse of the Cholesky factor of T G + N."""
        total = int(self._starts[-1])
        matrix = np.zeros((total, total))
        shares = self.records.shares
        for a, b in itertools.combinations_with_replacement(range(len(self._tables)), 2):
            first, second = self._tables[a], self._tables[b]
            together = np.bincount(
                first.cells * second.size + second.cells, shares, minlength=first.size * second.size
            ).reshape(first.size, second.size)
            here, there = slice(self._starts[a], self._starts[a + 1]), slice(self._starts[b], self._starts[b + 1])
            matrix[here, there] = _VAGUE * together
            matrix[there, here] = _VAGUE * together.T
        for table, start, end in zip(self._tables, self._starts, self._starts[1:], strict=False):
            matrix[start:end, start:end] += table.noise + table.outside
        return _inverse_of_lower(np.asarray(np.linalg.cholesky(matrix), dtype=np.float64))

    def _solved(self, right: Floats) -> Floats:
        answer: Floats = self._factor.T @ (self._factor @ right)
        return answer

    def _spread(self, answer: Floats) -> Floats:
        """a(x)' h of every record."""
        spread = np.zeros(len(self.records.shares))
        for table, start in zip(self._tables, self._starts, strict=False):
            spread += answer[start + table.cells]
        return spread

    @staticmethod
    def _added(table: _Table, values: Floats) -> Floats:
        columns = [np.bincount(table.cells, column, minlength=table.size) for column in values.T]
        return np.stack(columns, axis=1)


def _inverse_of_lower(lower: Floats) -> Floats:
    """Of a lower triangular matrix, by halves; NumPy alone has none, and loading SciPy takes longer than inferring."""
    if len(lower) <= _SMALL:
        return np.asarray(np.linalg.inv(lower), dtype=np.float64)
    half = len(lower) // 2
    first, last = _inverse_of_lower(lower[:half, :half]), _inverse_of_lower(lower[half:, half:])
    inverse = np.zeros_like(lower)
    inverse[:half, :half], inverse[half:, half:] = first, last
    inverse[half:, :half] = -last @ (lower[half:, :half] @ first)
    return inverse


def _everybody(records: Records) -> _Table:
    """All shares together are 1, which nobody needs to measure."""
    nothing = np.zeros((1, 1))
    cells = np.zeros(len(records.codes), dtype=np.int64)
    return _Table(cells=cells, missed=np.zeros(1), noise=nothing, outside=nothing, is_measured=True)


def _tables(measured: Measurements, records: Records) -> list[_Table]:
    return [_one_table(measured, records, columns) for columns in _table_columns(measured, records.names)]


def _table_columns(measured: Measurements, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Every column, pair and measured triple."""
    triples = [triple for triple in itertools.combinations(names, 3) if triple in measured.tables]
    return [*((name,) for name in names), *itertools.combinations(names, 2), *triples]


def _shape(measured: Measurements, columns: tuple[str, ...]) -> tuple[int, ...]:
    """Levels of a table; of a pair they are the groups that it was measured in."""
    if len(columns) == 2:
        return tuple(int(measured.groups[name].max()) + 1 for name in columns)
    return measured.tables[columns].values.shape


def _one_table(measured: Measurements, records: Records, columns: tuple[str, ...]) -> _Table:
    codes = [records.of_column(name) for name in columns]
    if len(columns) == 2:
        codes = [measured.groups[name][own] for name, own in zip(columns, codes, strict=True)]
    shape = _shape(measured, columns)
    cells = np.ravel_multi_index(tuple(codes), shape).astype(np.int64)
    size = math.prod(shape)
    shown: Floats = np.bincount(cells, records.shares, minlength=size).astype(np.float64).reshape(shape)
    inside: Floats = np.ones((1, 1))
    for levels in shape:
        inside = np.asarray(np.kron(inside, np.eye(levels) - 1 / levels), dtype=np.float64)
    outside = np.eye(size) - inside
    known = measured.tables.get(columns)
    if known is not None:
        missed, noise = known.values - (inside @ shown.ravel()).reshape(shape), known.variance * inside
    else:
        missed = np.zeros(shape)
        margins = zip(columns, (shown.sum(axis=1), shown.sum(axis=0)), strict=True)
        sides = [_direction(margin, ordered=name in measured.ordered) for name, margin in margins]
        guessed = (shown - np.outer(shown.sum(axis=1), shown.sum(axis=0))).ravel()
        noise = inside @ _unmeasured(sides, measured.dependence.get(columns, 0.0), guessed) @ inside + 1e-12 * inside
    return _Table(cells=cells, missed=missed, noise=noise, outside=outside, is_measured=known is not None)


def _unmeasured(sides: Sequence[Floats], dependence: float, guessed: Floats) -> Floats:
    """How far the cells of a pair may be off that nobody measured, as a covariance.

    What the rows show of it (``guessed``) was never measured either, so it may be wrong by as much as it shows. What
    they do not show is taken for normal, with a covariance from that of each of its columns, and so large that its
    absolute values add up to ``dependence`` on average: those of a normal number are sqrt(2 / pi) times its deviation.
    """
    hidden = math.pi / 2 * dependence**2 * np.kron(*sides)
    return np.asarray(hidden + np.outer(guessed, guessed), dtype=np.float64)


def _direction(shares: Floats, *, ordered: bool) -> Floats:
    """Covariance of a vector over the levels of a column that adds up to 0; its deviations add up to 1.

    Dependence is spread over the levels as chance spreads counts, or where levels have an order is as likely a trend.
    """
    spread = np.diag(shares) - np.outer(shares, shares)
    shapes = [spread / max(float(np.sqrt(np.maximum(np.diag(spread), 0)).sum()) ** 2, 1e-12)]
    trend = shares * (np.arange(len(shares)) - shares @ np.arange(len(shares)))
    if ordered and trend.any():
        shapes.append(np.outer(trend, trend) / np.abs(trend).sum() ** 2)
    covariance: Floats = np.mean(shapes, axis=0)
    return covariance
