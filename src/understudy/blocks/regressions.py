"""Regressions: multinomial logistic for levels, linear with normal residuals for numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.blocks.elastic import (
    TUNING_ROWS,
    Coefficients,
    Design,
    Floats,
    Penalty,
    has_score,
    log_shares,
    solve,
    tune,
)
from understudy.blocks.keys import Codes
from understudy.blocks.learning import Learner, MarginalPredictor, Predictor, Records
from understudy.codebook import Codebook, Number
from understudy.errors import ParameterError
from understudy.extras import need


@dataclass(frozen=True, kw_only=True, eq=False)
class LogisticPredictor(Predictor):
    """Softmax of a sum of effects; classes that no record has get nothing."""

    design: Design
    reads: tuple[int, ...]
    coefficients: Coefficients
    classes: npt.NDArray[np.int64]
    levels: int

    def probabilities(self, columns: Sequence[Codes]) -> Floats:
        """Gather, add, normalise."""
        places = self.design.places([columns[position] for position in self.reads])
        shares = np.zeros((len(places), self.levels))
        table = self.coefficients.table(self.design)
        shares[:, self.classes] = np.exp(log_shares(self.coefficients.constant, table, places))
        return shares


class LogisticLearner(Learner):
    """Multinomial logistic regression, elastic net by cross-validation on at most 10,000 rows."""

    word = "logistic"

    def __init__(self, book: Codebook, target: str, reads: Sequence[str]) -> None:
        super().__init__(book, target, reads)
        self.design = Design(self.read_columns)
        self.levels = self.column.size
        self._penalty = Penalty(strength=1e-3, mixing=0.5)
        self._tuned_on = 0.0
        self._last: tuple[npt.NDArray[np.int64], Coefficients] | None = None

    def classes_of(self, records: Records) -> npt.NDArray[np.int64]:
        """What is predicted: the level of the column."""
        return records.columns[self.target].astype(np.int64)

    def tune(self, records: Records, generator: np.random.Generator, tell: Callable[[], None] = lambda: None) -> None:
        """Cross-validated on a sample."""
        if not self.reads or not len(records.counts):
            return
        rows = records.sampled(TUNING_ROWS, generator)
        classes, target = np.unique(self.classes_of(records)[rows], return_inverse=True)
        if len(classes) > 1:
            places = self.design.places([records.columns[p][rows] for p in self.reads])
            self._penalty = tune(self.design, places, target, len(classes), tell=tell)
            self._tuned_on = float(len(rows))

    def penalty_for(self, records: float) -> Penalty:
        """A lasso that just drowns the noise shrinks with the square root of the number of records."""
        factor = np.sqrt(min(1.0, self._tuned_on / records)) if self._tuned_on else 1.0
        return Penalty(strength=self._penalty.strength * float(factor), mixing=self._penalty.mixing)

    def fit(self, records: Records, weights: Floats, generator: np.random.Generator) -> Predictor:
        """From where the last fit ended, if there was one."""
        every = self.classes_of(records)
        classes = np.flatnonzero(np.bincount(every, weights, minlength=self.levels) > 0)
        if not self.reads or len(classes) < 2:
            tally = np.bincount(every, weights, minlength=self.levels)
            return MarginalPredictor(shares=np.asarray(tally / max(tally.sum(), 1e-300)))
        kept = weights > 0
        target = np.searchsorted(classes, every[kept])
        share = weights[kept] / weights[kept].sum()
        places = self.design.places([records.columns[p][kept] for p in self.reads])
        shares: Floats = np.bincount(target, share, minlength=len(classes)).astype(np.float64)
        start = Coefficients.zero(self.design, shares)
        if self._last is not None and np.array_equal(self._last[0], classes):
            start = self._last[1]
        penalty = self.penalty_for(float(records.counts.sum()))
        coefficients = solve(self.design, places, target, share, penalty, start=start, most=300, close=2e-4)
        self._last = (classes, coefficients)
        return LogisticPredictor(
            design=self.design, reads=self.reads, coefficients=coefficients, classes=classes, levels=self.levels
        )


class _MissingLearner(LogisticLearner):
    """Whether the value is missing."""

    def __init__(self, book: Codebook, target: str, reads: Sequence[str]) -> None:
        super().__init__(book, target, reads)
        self.levels = 2

    def classes_of(self, records: Records) -> npt.NDArray[np.int64]:
        absent: npt.NDArray[np.bool_] = records.columns[self.target] == self.column.missing_code
        return absent.astype(np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearPredictor(Predictor):
    """A normal law around a sum of effects, cut at the edges of the bins; the end bins take what lies beyond."""

    inner_edges: Floats
    design: Design
    reads: tuple[int, ...]
    constant: float
    table: Floats
    deviation: float
    missing: Predictor | None

    def mean(self, columns: Sequence[Codes]) -> Floats:
        """The predicted value."""
        places = self.design.places([columns[position] for position in self.reads])
        return np.asarray(self.constant + self.table[places].sum(axis=1))

    def probabilities(self, columns: Sequence[Codes]) -> Floats:
        """Mass of every bin, then of the missing level."""
        need("scipy", extra="models", what="a linear regression")
        from scipy.special import ndtr

        standard = (self.inner_edges[None, :] - self.mean(columns)[:, None]) / self.deviation
        below = np.concatenate([np.zeros((len(standard), 1)), ndtr(standard), np.ones((len(standard), 1))], axis=1)
        bins = np.diff(below, axis=1)
        if self.missing is None:
            return np.asarray(bins)
        absent = self.missing.probabilities(columns)[:, 1:]
        return np.concatenate([bins * (1 - absent), absent], axis=1)


class LinearLearner(Learner):
    """Weighted least squares on the midpoints of the bins; numbers enter as numbers, other columns by level."""

    word = "linear"

    def __init__(self, book: Codebook, target: str, reads: Sequence[str]) -> None:
        super().__init__(book, target, reads)
        if not isinstance(self.column, Number):
            raise ParameterError(
                f"column {target!r} is {self.column.kind}, and linear regression needs numbers (integer or "
                "continuous); use logistic, cart or blocks."
            )
        if self.column.special:
            raise ParameterError(
                f"column {target!r} has special codes among its numbers ({', '.join(map(repr, self.column.special))}), "
                "and linear regression needs numbers alone; use logistic, cart or blocks."
            )
        self.edges = np.array(self.column.float_edges)
        self.design = Design(self.read_columns)
        self._missing = None if self.column.missing is None else _MissingLearner(book, target, reads)

    def tune(self, records: Records, generator: np.random.Generator, tell: Callable[[], None] = lambda: None) -> None:
        """Only the model of what is missing has something to tune."""
        if self._missing:
            self._missing.tune(records, generator, tell)

    def fit(self, records: Records, weights: Floats, generator: np.random.Generator) -> Predictor:
        """Normal equations; collinear columns share their effect (smallest norm)."""
        codes = records.columns[self.target].astype(np.int64)
        present = (codes != self.column.missing_code) & (weights > 0) if self.column.missing else weights > 0
        if not self.reads or not present.any():
            return self.marginal(records, weights)
        matrix = self._matrix([records.columns[p][present] for p in self.reads])
        values = ((self.edges[1:] + self.edges[:-1]) / 2)[codes[present]]
        share = weights[present]
        gram = (matrix.T @ matrix.multiply(share[:, None])).toarray()
        scale = np.sqrt(np.where(np.diag(gram) > 0, np.diag(gram), 1.0))
        solution, _, rank, _ = np.linalg.lstsq(
            gram / np.outer(scale, scale), (matrix.T @ (share * values)) / scale, rcond=1e-10
        )
        solution = solution / scale
        residual = values - matrix @ solution
        records_used = float(share.sum())
        spread = float((share * residual**2).sum()) / max(records_used - rank, 1.0)
        floor = 1e-9 * float(self.edges[-1] - self.edges[0])
        length = self.design.length
        table = solution[1 : 1 + length] + self.design.scores @ solution[1 + length :]
        return LinearPredictor(
            inner_edges=self.edges[1:-1],
            design=self.design,
            reads=self.reads,
            constant=float(solution[0]),
            table=table,
            deviation=max(float(np.sqrt(spread)), floor),
            missing=None if self._missing is None else self._missing.fit(records, weights, generator),
        )

    def _matrix(self, columns: Sequence[Codes]) -> Any:
        """Constant, indicators (not of numbers) and scores, as a sparse matrix."""
        need("scipy", extra="models", what="a linear regression")
        from scipy import sparse

        places = self.design.places(columns)
        rows = len(places)
        kept = [place for place, column in enumerate(self.read_columns) if not isinstance(column, Number)]
        chosen = places[:, kept]
        indicators = sparse.csr_matrix(
            (np.ones(chosen.size), chosen.ravel(), np.arange(rows + 1) * len(kept)), shape=(rows, self.design.length)
        )
        missing = [
            (place, code)
            for place, column in enumerate(self.read_columns)
            if isinstance(column, Number)
            for code in range(column.proper_levels, column.size)
        ]
        for place, code in missing:  # a missing number has an effect of its own, and so has each special code
            at = self.design.offsets[place] + code
            absent = places[:, place] == at
            indicators = indicators + sparse.csr_matrix(
                (np.ones(int(absent.sum())), (np.flatnonzero(absent), np.full(int(absent.sum()), at))),
                shape=indicators.shape,
            )
        scores = np.zeros((rows, self.design.scores.shape[1]))
        for place in range(places.shape[1]):
            scores += self.design.scores[places[:, place]]
        numeric = self._numeric_scores()
        return sparse.hstack([np.ones((rows, 1)), indicators, scores * numeric], format="csr")

    def _numeric_scores(self) -> Floats:
        """1 for the scores of numbers, 0 for those of ordinal levels and dates, which enter by level."""
        flags = [isinstance(c, Number) for c in self.read_columns if has_score(c)]
        return np.array(flags, dtype=np.float64)
