"""Formulas of models, and what may stand in them: columns, arithmetic and a few functions.

The library that reads formulas evaluates their terms as Python: ``__import__("os")`` in one would be run as a program.
Names are therefore held against a list before it sees them: without other names there is nothing to reach. A column may
be called like something that Python can call or reach by a point (``open``, ``x.eval``), so no column is called, and a
point follows ``np`` alone.
"""

import io
import keyword
import re
import tokenize
from collections.abc import Collection, Sequence
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
_PLAIN = {tokenize.STRING, tokenize.NUMBER, tokenize.OP}
_STRANGE = {"@", ";", ":=", "->", "!", "$", "?", "{", "}", "<<", ">>"}
_SMALL = re.compile(r"(\d|10)(\.\d{0,6})?")
_MOST_NESTED = 4
"""Powers of something else than a name: each may raise the one before."""
_QUIET = {tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT}


def check_formula(formula: str, columns: Collection[str]) -> None:
    """Refuse a formula, or a side of one, that holds more than columns, numbers, texts, operators and listed functions.

    >>> check_formula("charge > 25 ~ np.log(age) + C(sex)", ["charge", "age", "sex"])
    """
    if "\n" in formula or "\r" in formula:
        raise _refused(formula, "a line break")
    try:
        tokens = [
            token for token in tokenize.generate_tokens(io.StringIO(formula).readline) if token.type not in _QUIET
        ]
    except (tokenize.TokenError, SyntaxError, IndentationError):
        # not left to the reader of formulas, which may find the parts of it whole
        raise ParameterError(
            f"`formula` is {formula[:120]!r}; a bracket or a quote in it has no partner. Close what is open."
        ) from None
    texts = ["", "", *(token.string for token in tokens), "", ""]
    _check_powers(formula, texts)
    _check_repetitions(formula, texts)
    for place, token in enumerate(tokens, start=2):
        text = token.string
        if token.type == tokenize.NAME:
            _check_name(formula, texts[place - 2 : place + 2], columns)
        elif token.type == tokenize.STRING and text[0] not in "\"'":
            raise _refused(formula, text[:40])
        elif text.strip() and (token.type not in _PLAIN or text in _STRANGE):
            raise _refused(formula, repr(text))


def _check_powers(formula: str, texts: Sequence[str]) -> None:
    """Exponents are small numbers as they stand: 9**9**9 would be computed for days, in whole numbers without end."""
    nested = 0
    for place, text in enumerate(texts):
        if text != "**":
            continue
        signed = texts[place + 1] in ("-", "+")
        exponent, after = texts[place + 1 + signed : place + 3 + signed]
        nested += not texts[place - 1].isidentifier()
        if not _SMALL.fullmatch(exponent) or after == "**" or nested > _MOST_NESTED:
            raise ParameterError(
                f"`formula` is {formula[:120]!r}; after ** stands a number up to 10, and no further power."
            )


def _check_repetitions(formula: str, texts: Sequence[str]) -> None:
    """A text or a list is not multiplied: (0,) * 9999999999 would ask for more memory than there is."""
    open_at: list[int] = []
    lists: set[int] = set()
    for place, text in enumerate(texts):
        if text in ("(", "["):
            open_at.append(place)
        elif text == "," and open_at and (texts[open_at[-1]] == "[" or not texts[open_at[-1] - 1].isidentifier()):
            lists.add(open_at[-1])
        elif text in (")", "]") and open_at:
            begin = open_at.pop()
            wraps = place - 1 in lists or texts[place - 1][:1] in ("'", '"')  # brackets around one, not a call
            if text == "]" or begin in lists or (wraps and not texts[begin - 1].isidentifier()):
                lists |= {begin, place}
    for place, text in enumerate(texts):
        beside = [place - 1, place + 1] if text == "*" else []
        if any(each in lists or texts[each][:1] in ("'", '"') for each in beside):
            raise ParameterError(
                f"`formula` is {formula[:120]!r}; a text or a list in it is multiplied. Leave that out."
            )


def _check_name(formula: str, around: Sequence[str], columns: Collection[str]) -> None:
    """Whether a name may stand where it does: ``around`` are the two words before it, itself, and the one after."""
    *before, text, after = around
    if before == ["np", "."]:
        allowed = text in _NUMBERS
    elif before[1] == ".":
        whole = f"{before[0]}.{text}"
        if whole in columns:
            raise ParameterError(f"`formula` is {formula[:120]!r}; a name with a point is written Q({whole!r}).")
        allowed = False
    elif after == "(" and text not in _WORDS:
        allowed = text in _TERMS
    else:
        allowed = text in _TERMS | _SETTINGS | _WORDS | {"np"} or text in columns
    if not allowed or (keyword.iskeyword(text) and text not in _WORDS):
        raise _refused(formula, repr(text))


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
    left, right = (side.strip() for side in formula.split("~"))
    for side in (left, right):  # each as it is computed: what is a text or a remark in the whole is none in a part
        check_formula(side, columns)
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
