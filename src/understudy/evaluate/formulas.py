"""Formulas of models, and what may stand in them: columns, arithmetic and a few functions.

The library that reads formulas evaluates their terms as Python: ``__import__("os")`` in one would be run as a program.
Names are therefore held against a list before it sees them: without other names there is nothing to reach.
"""

import io
import keyword
import re
import tokenize
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook
from understudy.errors import DataError, ParameterError
from understudy.extras import need

Floats = npt.NDArray[np.float64]

_TERMS = frozenset({"C", "I", "Q", "Treatment", "Sum", "Poly", "Diff", "Helmert", "bs", "cr", "center", "standardize"})
_SETTINGS = frozenset({"reference", "levels", "df", "degree"})
_NUMBERS = frozenset({"abs", "exp", "log", "log10", "log1p", "log2", "maximum", "minimum", "power", "sign", "sqrt"})
_WORDS = frozenset({"and", "or", "not", "in", "True", "False"})
_PLAIN = {tokenize.STRING, tokenize.NUMBER, tokenize.OP, tokenize.ERRORTOKEN}
_STRANGE = {"@", ";", ":=", "->", "!", "$", "?", "{", "}", "<<", ">>"}
_MOST_POWERS = 3
_QUIET = {tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT}


def check_formula(formula: str, columns: Collection[str]) -> None:
    """Refuse a formula that holds more than columns, numbers, texts, operators and the functions of the list.

    >>> check_formula("charge > 25 ~ np.log(age) + C(sex)", ["charge", "age", "sex"])
    """
    if "\n" in formula or "\r" in formula:
        raise _refused(formula, "a line break")
    try:
        tokens = [
            token for token in tokenize.generate_tokens(io.StringIO(formula).readline) if token.type not in _QUIET
        ]
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return  # brackets or quotes left open: the reader of formulas says where
    known = {part for column in columns for part in column.split(".")}  # a name with a point reads as two
    before = ["", ""]
    for token in tokens:
        text = token.string
        if token.type == tokenize.NAME:
            allowed = _NUMBERS if before == ["np", "."] else _TERMS | _SETTINGS | _WORDS | known | {"np"}
            if text not in allowed or (keyword.iskeyword(text) and text not in _WORDS):
                raise _refused(formula, repr(text))
        elif token.type == tokenize.STRING and text[0] not in "\"'":
            raise _refused(formula, text[:40])
        elif token.type not in _PLAIN or text in _STRANGE:
            raise _refused(formula, repr(text))
        before = [before[1], text]
    _check_powers(formula, [token.string for token in tokens])


def _check_powers(formula: str, words: list[str]) -> None:
    """Refuse towers of powers: 9**9**9 has 370 million digits, and whoever computes it does nothing else any more."""
    powers = [place for place, word in enumerate(words) if word == "**"]
    for place in powers:
        exponent, after = [*words, "", ""][place + 1 : place + 3]
        if not (exponent.isdecimal() and len(exponent) == 1) or after == "**" or len(powers) > _MOST_POWERS:
            raise ParameterError(
                f"`formula` is {formula[:120]!r}; powers are written as in age**2, with one digit, and there may be at "
                f"most {_MOST_POWERS} of them. Use np.power or np.sqrt for others."
            )


def _refused(formula: str, what: str) -> ParameterError:
    return ParameterError(
        f"`formula` is {formula[:120]!r}; {what} is neither a column nor one of the functions that a formula may use "
        f"(np.{', np.'.join(sorted(_NUMBERS))}, C, Q). Name columns, as in charge > 25 ~ age + sex."
    )


def sides_of(formula: str, columns: Collection[str]) -> tuple[str, str]:
    """What a formula explains, and by what; anything that is no formula of these columns is refused."""
    if formula.count("~") != 1:
        raise ParameterError(
            f'`formula` is {formula!r}; it must have one "~" between response and terms, as y ~ a + b.'
        )
    check_formula(formula, columns)
    left, right = (side.strip() for side in formula.split("~"))
    return left, right


def mentioned_in(book: Codebook, formula: str) -> tuple[str, ...]:
    """The columns that a formula names."""
    mentioned = [name for name in book.names if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.(])", formula)]
    if not mentioned:
        raise ParameterError(
            f"`formula` is {formula!r}, which names no column; the tables have {', '.join(book.names)}."
        )
    return tuple(mentioned)


def left_side(frame: Any, left: str, *, kind: str, called: str, formula: str) -> Floats:
    """The values of what a model explains."""
    need("patsy", extra="report", what="a formula")
    from patsy import EvalEnvironment, PatsyError, dmatrix

    try:
        made = dmatrix(
            f"0 + I({left})", frame, EvalEnvironment([{"np": np}]), return_type="dataframe", NA_action="raise"
        )
    except (PatsyError, TypeError, ValueError) as reason:
        raise ParameterError(
            f"the left side of {formula!r} cannot be computed ({first_line(reason)}); write a column with an order, "
            "or a comparison such as charge > 25000 or sex == 'F'."
        ) from None
    if made.shape[1] > 2 or (made.shape[1] == 2 and not str(made.columns[-1]).endswith("[True]")):
        raise ParameterError(
            f"the left side of {formula!r} is a column of levels without an order; compare it with one of them, as in "
            f"{left} == 'level'."
        )
    values = np.asarray(made.iloc[:, -1], dtype=np.float64)
    if kind == "logistic" and not np.isin(values, (0, 1)).all():
        raise ParameterError(
            f"the left side of {formula!r} is not a question with two answers; compare it with a number, as in "
            f"{left} > 3."
        )
    if len(np.unique(values)) < 2:
        raise DataError(
            f"the left side of {formula!r} has one value in the {called} table; a model needs two. Choose another."
        )
    return values


def right_side(frame: Any, right: str) -> Any:
    """The terms of a model as a frame, one column for each coefficient."""
    need("patsy", extra="report", what="a formula")
    from patsy import EvalEnvironment, PatsyError, dmatrix

    try:
        return dmatrix(right, frame, EvalEnvironment([{"np": np}]), return_type="dataframe", NA_action="raise")
    except (PatsyError, TypeError, ValueError) as reason:
        raise ParameterError(
            f"the right side {right!r} cannot be computed ({first_line(reason)}); name columns of the tables, as in "
            'age + sex, and write Q("a name") for names with spaces or dots.'
        ) from None


def estimable(matrix: Floats) -> npt.NDArray[np.bool_]:
    """Columns that are not a combination of those before them, by Gram and Schmidt, twice for accuracy."""
    free = np.zeros(matrix.shape[1], dtype=np.bool_)
    basis = np.zeros((len(matrix), 0))
    for position, column in enumerate(matrix.T):
        length = np.sqrt(column @ column)
        rest = column - basis @ (basis.T @ column)
        rest = rest - basis @ (basis.T @ rest)
        left = np.sqrt(rest @ rest)
        if length > 0 and left > 1e-8 * length:
            free[position] = True
            basis = np.column_stack([basis, rest / left])
    return free


def first_line(reason: object) -> str:
    """What another library said, for a sentence of ours."""
    return str(reason).strip().splitlines()[0].rstrip(".")
