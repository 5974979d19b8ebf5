"""The public grid on which records are read: levels as they are, numbers cut to narrow pieces of their declared bins.

A record is counted in one cell of the grid. What it adds to a sum is a function of its cell, hence public as a table.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from understudy.answers.question import Question
from understudy.codebook import Codebook, CodeLevel, Column, Number, Role
from understudy.codebook.weight import finer
from understudy.evaluate.values import numbers_of

STEPS = 4096
"""Pieces of a number in all, none narrower than its precision: so near to the numbers that middles stand for them."""
COARSE = 256
"""The same where every piece gets noise of its own, for quantiles."""

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The columns of one question. All of it is public."""

    book: Codebook
    """As declared."""
    columns: tuple[str, ...]
    fine: frozenset[str]
    """Columns whose values are taken: numbers among them are cut into pieces."""
    steps: int = STEPS

    @cached_property
    def counted(self) -> Codebook:
        """What a source is opened with: the columns of the question and nothing else."""
        return _counted(self.used, self.fine, self.steps)

    @cached_property
    def used(self) -> Codebook:
        """The same as declared, for price, manifest and page: what was attested or paid for stays so."""
        return _used(self.book, self.columns)

    def column(self, name: str) -> Column:
        """As it is counted."""
        return self.counted.column(name)

    def values(self, name: str) -> Floats:
        """One number per code: the middle of a piece, a level that is a number, or its rank; NaN where there is none.

        The same as a release is read by (:meth:`understudy.infer.opened.OpenedRelease.values`), in narrower pieces.
        """
        if name not in self._known:
            self._known[name] = self._values(name)
        return self._known[name]

    @cached_property
    def _known(self) -> dict[str, Floats]:
        return {}

    @cached_property
    def _bins(self) -> dict[str, Codes]:
        return {}

    def _values(self, name: str) -> Floats:
        return numbers_of(self.column(name))

    def bounds(self, name: str) -> tuple[float, float]:
        """Between which all values lie; declared."""
        values = self.values(name)
        return float(np.nanmin(values)), float(np.nanmax(values))

    def groups(self, name: str) -> Codes:
        """For every code the code of its declared bin or level."""
        if name not in self._bins:
            self._bins[name] = self._declared(name)
        return self._bins[name]

    def _declared(self, name: str) -> Codes:
        column, declared = self.column(name), self.book.column(name)
        if name not in self.fine or not isinstance(declared, Number):
            return np.arange(column.size)
        assert isinstance(column, Number)
        middles = np.array([(first + (width - 1) / 2) * float(column.step) for first, width in column.grids])
        bins = declared.bins_of(middles)
        beyond = np.arange(declared.proper_levels, declared.size)  # special codes and the missing level
        return np.concatenate([bins, beyond]).astype(np.int64)


@lru_cache(maxsize=64)
def _used(book: Codebook, names: tuple[str, ...]) -> Codebook:
    ids = None if book.unit is None else book.unit.id
    levels = {column.coded.name for column in map(book.column, names) if isinstance(column, CodeLevel)}
    kept = [
        column if column.parents is None else replace(column, parents=None)
        for column in book.columns
        if column.name in (*names, *levels) or (column.name == ids and column.role is Role.IDENTIFIER)
    ]
    return replace(book, columns=tuple(kept), constraints=(), weight=None)


@lru_cache(maxsize=64)
def _counted(used: Codebook, fine: frozenset[str], steps: int) -> Codebook:
    return replace(used, columns=tuple(_as_counted(column, column.name in fine, steps) for column in used.columns))


def _as_counted(column: Column, is_fine: bool, steps: int) -> Column:
    """Numbers are counted by their bins, or by narrower ones where their values are taken."""
    if not isinstance(column, Number):
        return column
    plain = replace(column, shape="uniform", pieces=None)
    return finer(plain, steps) if is_fine and max(width for _, width in plain.grids) > 1 else plain


def grid_of(question: Question, book: Codebook) -> Grid:
    """The grid of one question."""
    fine: Collection[str] = ()
    if question.kind in ("mean", "sum", "quantile") or (question.is_difference and question.level is None):
        fine = (question.of,)
    elif question.is_model:
        from understudy.answers.design import design_of

        fine = design_of(question, book).numbers
    steps = COARSE if question.kind == "quantile" else STEPS
    return Grid(book=book, columns=question.columns, fine=frozenset(fine), steps=steps)
