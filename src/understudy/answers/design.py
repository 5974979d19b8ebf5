"""The design of a model by formula, from public numbers alone: its coefficients, their scaling, and what is redundant.

Every term is scaled to [-1, 1] (dummies of more than two levels stay 0 and 1), the response too. What a record adds to
score and information is then a vector whose length has a public bound.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.answers.grid import Grid
from understudy.answers.question import Question
from understudy.codebook import Codebook, Number
from understudy.errors import DataError, ParameterError
from understudy.evaluate.formulas import estimable, first_line, left_side, mentioned_in, right_side
from understudy.evaluate.values import is_ordered
from understudy.extras import need
from understudy.sources.tables import Codes

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
MOST_TERMS = 40
"""Coefficients of one model: the noise of each grows with the square of their number."""
_MOST_MADE = 1_000
"""Columns that the terms may make of public values before they are counted."""
_CORNERS, _FRAME = 5, 20_000
_LEARNED = re.compile(r"(?<![\w.])(center|standardize|bs|cr)\s*\(")


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """One model. All of it is public."""

    kind: str
    formula: str
    grid: Grid
    terms: tuple[str, ...]
    """Names of the coefficients, the intercept first."""
    info: Any
    """As the library that reads formulas keeps a design."""
    middle: Floats
    half: Floats
    """A term minus its middle, over half, lies in [-1, 1]."""
    slices: tuple[slice, ...]
    """Coefficients of each factor but the intercept."""
    exclusive: tuple[bool, ...]
    """Whether at most one coefficient of the factor is 1 for a record, and the others 0."""
    signs: tuple[bool, ...]
    """Whether the one coefficient of the factor is -1 or 1 for every record."""
    response_column: str
    response: Floats
    """Of every code of its column, in [-1, 1], or 0 and 1; NaN where there is none."""
    response_middle: float
    response_half: float
    read: tuple[str, ...]

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns whose values are taken."""
        return tuple(name for name in self.read if isinstance(self.grid.book.column(name), Number))

    @property
    def size(self) -> int:
        """Coefficients."""
        return len(self.terms)

    def present(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Cells with a value in every column of the model."""
        known = np.ones(len(codes), dtype=np.bool_)
        for name in self.read:
            own = codes[:, self.grid.columns.index(name)].astype(np.int64)
            known &= own < self.grid.column(name).proper_levels
        return known

    def scaled(self, codes: Codes) -> Floats:
        """The design of cells in which nothing is missing, in [-1, 1]; the intercept is 1."""
        from patsy import NAAction, build_design_matrices

        own = {name: codes[:, self.grid.columns.index(name)].astype(np.int64) for name in self.read}
        # nothing counts as missing here: to raise, or to drop a cell, would tell something of the records
        (made,) = build_design_matrices([self.info], _frame(self.grid, own), NA_action=NAAction(NA_types=[]))
        matrix = (np.asarray(made, dtype=np.float64) - self.middle) / self.half
        matrix[:, 0] = 1.0
        # a cell for which a function has no number adds nothing but its place
        return np.clip(np.nan_to_num(matrix, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0)

    def answers(self, codes: Codes) -> Floats:
        """The scaled response of every cell."""
        own = codes[:, self.grid.columns.index(self.response_column)].astype(np.int64)
        return self.response[own]

    def to_scaled(self, coefficients: Mapping[str, float]) -> Floats:
        """Coefficients by name on the scale of the formula, as they are here; of a logistic model."""
        plain = np.array([coefficients.get(term, 0.0) for term in self.terms])
        scaled = plain * self.half
        scaled[0] = plain[0] + float(plain[1:] @ self.middle[1:])
        return np.asarray(scaled, dtype=np.float64)

    @cached_property
    def from_scaled(self) -> tuple[Floats, Floats]:
        """The matrix and shift that take scaled coefficients to the scale of the formula."""
        matrix = np.diag(self.response_half / self.half)
        matrix[0, 0] = self.response_half
        matrix[0, 1:] = -self.response_half * self.middle[1:] / self.half[1:]
        shift = np.zeros(self.size)
        shift[0] = self.response_middle
        return matrix, shift


def _frame(grid: Grid, codes: Mapping[str, Integers]) -> Any:
    """Columns as a formula sees them: numbers, and levels by their labels."""
    import pandas as pd

    values: dict[str, Any] = {}
    for name, own in codes.items():
        column = grid.column(name)
        if is_ordered(column):
            values[name] = grid.values(name)[own]
        else:
            labels = list(column.labels[: column.proper_levels])
            values[name] = pd.Categorical.from_codes(own, categories=pd.Index(labels))
    return pd.DataFrame(values)


def design_of(question: Question, book: Codebook) -> Design:
    """The design of a question; what cannot be computed from public numbers, or is too much, is refused."""
    return _design_of(question.kind, question.formula, question.columns, book)


@lru_cache(maxsize=32)
def _design_of(kind: str, formula: str, columns: tuple[str, ...], book: Codebook) -> Design:
    need("pandas", "patsy", extra="report", what="a model by formula")
    left, right = (side.strip() for side in formula.split("~"))
    if learned := _LEARNED.search(right):
        raise ParameterError(
            f"`formula` is {formula[:120]!r}; {learned[1]} learns numbers from the data, which nobody would pay for. "
            "Write the numbers out, as in I(age - 50)."
        )
    explained, terms = mentioned_in(book, left), mentioned_in(book, right)
    if len(explained) != 1:
        raise ParameterError(
            f"the left side of {formula[:120]!r} names {', '.join(explained)}; explain one column, as in charge ~ age."
        )
    if explained[0] in terms:
        raise ParameterError(
            f"`formula` is {formula[:120]!r}; {explained[0]!r} stands on both sides, so that it foretells itself "
            "(perfect separation). Leave it out on the right."
        )
    read = tuple(name for name in book.names if name in (*explained, *terms))
    numbers = frozenset(name for name in read if isinstance(book.column(name), Number))
    grid = Grid(book=book, columns=columns, fine=numbers)
    return _made(kind, formula, grid, explained[0], left, right, terms, read)


def _made(
    kind: str,
    formula: str,
    grid: Grid,
    explained: str,
    left: str,
    right: str,
    terms: tuple[str, ...],
    read: tuple[str, ...],
) -> Design:
    from patsy import PatsyError

    sizes = {name: grid.column(name).proper_levels for name in read}
    with np.errstate(all="ignore"):
        answers = _response(kind, formula, grid, explained, left)
        frame = _frame(grid, _corners({name: sizes[name] for name in terms}))
        try:
            made = right_side(frame, right, most=_MOST_MADE)
        except (PatsyError, DataError, ArithmeticError) as reason:
            raise ParameterError(f"the right side {right[:120]!r} cannot be computed ({first_line(reason)}).") from None
    info, matrix = made.design_info, np.asarray(made, dtype=np.float64)
    names = tuple(str(name) for name in made.columns)
    if len(names) > MOST_TERMS:
        raise _too_many(formula, len(names))
    if names[:1] != ("Intercept",):
        raise ParameterError(
            f"`formula` is {formula[:120]!r}, which leaves the intercept out; an answer needs one. Take out 0 or -1."
        )
    if not np.isfinite(matrix).all():
        raise ParameterError(
            f"`formula` is {formula[:120]!r}; a function in it has no number for some declared value, such as the "
            "logarithm of 0. Use one that has, such as np.log1p."
        )
    _refuse_what_looks_around(formula, grid.book, info, frame, matrix)
    free = estimable(matrix)
    if not free.all():
        odd = [name for name, ok in zip(names, free, strict=True) if not ok]
        raise ParameterError(
            f"`formula` is {formula[:120]!r}; {', '.join(odd[:3])} follows from the terms before it. Leave it out."
        )
    low, high = matrix.min(axis=0), matrix.max(axis=0)
    middle, half = (low + high) / 2, (high - low) / 2
    slices, exclusive, signs = [], [], []
    for term, own in info.term_slices.items():
        if not term.factors:
            continue
        block = matrix[:, own]
        binary = bool(np.isin(block, (0.0, 1.0)).all())
        alone = binary and block.shape[1] > 1 and bool((block.sum(axis=1) <= 1).all())
        if alone:
            middle[own], half[own] = 0.0, 1.0
        slices.append(own)
        exclusive.append(alone)
        signs.append(binary and block.shape[1] == 1)
    middle[0], half[0] = 0.0, 1.0
    known = answers[~np.isnan(answers)]
    least, most = float(known.min()), float(known.max())
    is_linear = kind == "linear"
    centre, spread = ((least + most) / 2, (most - least) / 2) if is_linear else (0.0, 1.0)
    return Design(
        kind=kind,
        formula=formula,
        grid=grid,
        terms=names,
        info=info,
        middle=middle,
        half=half,
        slices=tuple(slices),
        exclusive=tuple(exclusive),
        signs=tuple(signs),
        response_column=explained,
        response=(answers - centre) / spread,
        response_middle=centre,
        response_half=spread,
        read=read,
    )


def _refuse_what_looks_around(formula: str, book: Codebook, info: Any, frame: Any, matrix: Floats) -> None:
    """A record's terms must follow from that record alone, whatever other records there are.

    Formulas admit nothing else (``check_formula``); this tries it on public values. Levels that a formula makes itself
    are known beforehand where they come from one column, all of whose values are in the frame.
    """
    from patsy import build_design_matrices

    for factor, facts in info.factor_infos.items():
        made_up = facts.type == "categorical" and tuple(facts.categories) != (False, True)
        if made_up and len(mentioned_in(book, factor.code)) > 1:
            raise ParameterError(
                f"`formula` is {formula[:120]!r}; {factor.code} makes levels of several columns, and which of them "
                "occur is not public. Multiply the columns as terms, as in C(a):C(b)."
            )
    for rows in (slice(None, None, -1), slice(-1, None)):
        (again,) = build_design_matrices([info], frame.iloc[rows].reset_index(drop=True))
        if not np.array_equal(np.asarray(again), matrix[rows]):
            raise ParameterError(
                f"`formula` is {formula[:120]!r}; a function in it looks at several records at once. Use functions of "
                "one value, such as np.log."
            )


def _too_many(formula: str, number: int) -> ParameterError:
    return ParameterError(
        f"`formula` is {formula[:60]!r}... with {number:,} coefficients; at most {MOST_TERMS} are estimated at one "
        "price, since the noise of each grows with their number. Name fewer terms, or join levels."
    )


def _response(kind: str, formula: str, grid: Grid, name: str, left: str) -> Floats:
    """The response of every code of its column."""
    column = grid.column(name)
    frame = _frame(grid, {name: np.arange(column.proper_levels)})
    try:
        told = left_side(frame, left, kind=kind, called="declared", formula=formula)
    except DataError as reason:  # one value only
        raise ParameterError(str(reason)) from None
    if not np.isfinite(told).all():
        raise ParameterError(f"the left side of {formula[:120]!r} has no number for some declared value; use another.")
    values = np.full(column.size, np.nan)
    values[: len(told)] = told
    return values


def _corners(sizes: Mapping[str, int]) -> dict[str, Integers]:
    """Codes in whose rows every level occurs, and every combination of a few values of all columns, if not too many."""
    most = max(sizes.values())
    codes = {name: np.arange(most) % size for name, size in sizes.items()}
    few = {
        name: np.unique(np.linspace(0, size - 1, min(size, _CORNERS)).astype(np.int64)) for name, size in sizes.items()
    }
    while np.prod([float(len(own)) for own in few.values()]) > _FRAME:
        longest = max(few, key=lambda name: len(few[name]))
        if len(few[longest]) <= 2:
            break
        few[longest] = few[longest][:: len(few[longest]) - 1]
    if np.prod([float(len(own)) for own in few.values()]) <= _FRAME:
        grid = np.array(list(product(*few.values())), dtype=np.int64).reshape(-1, len(few))
        codes = {name: np.concatenate([codes[name], grid[:, at]]) for at, name in enumerate(few)}
    return codes
