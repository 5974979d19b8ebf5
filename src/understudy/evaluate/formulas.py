"""Formulas of models, and what may stand in them: columns, arithmetic and a few functions.

The library that reads formulas evaluates their terms as Python: ``__import__("os")`` in one would be run as a program.
Names are therefore held against a list before it sees them: without other names there is nothing to reach. A column may
be called like something that Python can call or reach by a point (``open``, ``x.eval``), so no column is called, and a
point follows ``np`` alone.
"""

import ast
import io
import keyword
import math
import re
import tokenize
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook
from understudy.errors import DataError, ParameterError
from understudy.extras import need

Floats = npt.NDArray[np.float64]

_CONTRASTS = frozenset({"Treatment", "Sum", "Poly", "Diff", "Helmert"})
_TERMS = _CONTRASTS | {"C", "I", "Q", "bs", "cr", "center", "standardize"}
_SETTINGS = frozenset({"reference", "levels", "df", "degree"})
_NUMBERS = frozenset({"abs", "exp", "log", "log10", "log1p", "log2", "maximum", "minimum", "power", "sign", "sqrt"})
_WORDS = frozenset({"True", "False"})
_PLAIN = {tokenize.STRING, tokenize.NUMBER, tokenize.OP}
_STRANGE = {"@", ";", ":=", "->", "!", "$", "?", "{", "}", "<<", ">>"}
_NODES = (ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.keyword, ast.Tuple, ast.List, ast.Compare, ast.BinOp,
          ast.UnaryOp, ast.operator, ast.unaryop, ast.cmpop, ast.Load)  # fmt: skip
_OF_TWO = frozenset({"maximum", "minimum", "power"})
_MOST_POWER, _MOST_NESTED = 10, 4
"""Exponents, and powers of something else than a name: each may raise the one before."""
_SPLINES, _MOST_KNOTS = ("bs", "cr"), 100
_NAMING = (ast.Name, ast.Constant)
MOST_COLUMNS = 4_096
"""Coefficients that the right side of a formula may make."""
_QUIET = {tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT}


def check_formula(formula: str, columns: Collection[str]) -> None:
    """Refuse a side of a formula that holds more than columns, numbers, texts, operators and listed functions.

    >>> check_formula("np.log(age) + C(sex)", ["charge", "age", "sex"])
    """
    if "\n" in formula or "\r" in formula:
        raise _refused(formula, "a line break")
    tokens = _tokens_of(formula)
    texts = ["", "", *(token.string for token in tokens), "", ""]
    for place, token in enumerate(tokens, start=2):
        text = token.string
        if token.type == tokenize.NAME:
            _check_name(formula, texts[place - 2 : place + 2], columns)
        elif token.type == tokenize.STRING and text[0] not in "\"'":
            raise _refused(formula, text[:40])
        elif text.strip() and (token.type not in _PLAIN or text in _STRANGE):
            raise _refused(formula, repr(text))
    _check_tree(formula, _tree_of(formula, tokens))


def _tokens_of(formula: str) -> list[tokenize.TokenInfo]:
    try:
        return [token for token in tokenize.generate_tokens(io.StringIO(formula).readline) if token.type not in _QUIET]
    except (tokenize.TokenError, SyntaxError, IndentationError):
        # not left to the reader of formulas, which may find the parts of it whole
        raise ParameterError(
            f"`formula` is {formula[:120]!r}; a bracket or a quote in it has no partner. Close what is open."
        ) from None


def _tree_of(side: str, tokens: Iterable[tokenize.TokenInfo]) -> ast.expr:
    """A side of a formula as Python reads it, ``a:b`` as ``a @ b``."""
    try:
        text = " ".join("@" if token.string == ":" else token.string for token in tokens)
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ParameterError(
            f"`formula` is {side[:120]!r}, which cannot be read. Write terms with signs between them, as in age + sex."
        ) from None


def _check_tree(formula: str, tree: ast.expr) -> None:
    """Hold what is computed against a list: every record by itself, and nothing that takes memory without end.

    A part of a column (``age[0]``) would let one record see another. Texts are compared or stand in functions, lists in
    functions alone: ``(0,) * 9999999999`` asks for more memory than there is, and so does ``'%9999999999d' % 1``.
    """
    powers = 0
    for node in ast.walk(tree):
        inside = list(ast.iter_child_nodes(node))
        if not isinstance(node, _NODES):
            raise _refused(formula, repr(ast.unparse(node)[:40]))
        if isinstance(node, ast.Call):
            _check_call(formula, node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            powers += not isinstance(node.left, ast.Name)
            _check_exponent(formula, node.right if powers <= _MOST_NESTED else None)
        elif isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare) and any(
            _is_list(each) or (_is_text(each) and not isinstance(node, ast.Compare)) for each in inside
        ):
            raise ParameterError(
                f"`formula` is {formula[:120]!r}; a text or a list in it stands where a number belongs. Compare texts, "
                "as in sex == 'F', and leave lists out."
            )


def _check_call(formula: str, call: ast.Call) -> None:
    """A listed function that is called by its name, with as many values as it has."""
    named = call.func.id if isinstance(call.func, ast.Name) else None
    numeric = call.func.attr if isinstance(call.func, ast.Attribute) else None
    settings = [*call.args[1:], *(each.value for each in call.keywords)]
    fits = all(each.arg in _SETTINGS for each in call.keywords)
    if numeric is not None or named == "I":
        fits &= len(call.args) == 1 + (numeric in _OF_TWO) and not call.keywords
        fits &= not any(_is_list(each) or _is_text(each) for each in call.args)
    elif named in _SPLINES:
        fits &= all(_is_list(each) or _small(each, most=_MOST_KNOTS) for each in settings)
    else:
        fits &= named in _TERMS
    if not fits:
        raise _refused(formula, repr(ast.unparse(call)[:40]))
    if numeric == "power":
        _check_exponent(formula, call.args[1])


def _check_exponent(formula: str, exponent: ast.expr | None) -> None:
    """Exponents are small numbers as they stand: 9**9**9 would be computed for days, in whole numbers without end."""
    if isinstance(exponent, ast.UnaryOp):
        exponent = exponent.operand
    if not _small(exponent, most=_MOST_POWER):
        raise ParameterError(
            f"`formula` is {formula[:120]!r}; after ** stands a number up to {_MOST_POWER}, and no further power."
        )


def _number(node: ast.AST | None) -> float | None:
    """What a plain number in a formula is."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int | float) else None


def _small(node: ast.AST | None, *, most: int) -> bool:
    number = _number(node)
    return number is not None and 0 <= number <= most


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_list(node: ast.AST) -> bool:
    return isinstance(node, ast.Tuple | ast.List)


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
    else:  # a function that is named without being called could be called in some other way
        allowed = text in _CONTRASTS | _SETTINGS | _WORDS | {"np"} or text in columns
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
    except (PatsyError, TypeError, ValueError, RecursionError) as reason:
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
            f"the left side of {formula!r} has one value in the {called} table; a model needs two. "
            f"{_compared_otherwise(frame, left)}"
        )
    return values


def _compared_otherwise(frame: Any, left: str) -> str:
    """What to write where a number was compared with a text, or a text with a number: both are always false."""
    for name in frame.columns:
        compared = rf"(?<![\w.]){re.escape(name)}\W{{0,3}}[!=]=\s*"
        is_number = frame[name].dtype.kind in "iuf"
        if is_number and re.search(rf"{compared}['\"]", left):
            return (
                f"{name} holds numbers in a model (an ordinal column those of its levels, or ranks from 0 where they "
                "are none): compare it without quotes."
            )
        if not is_number and (number := re.search(rf"{compared}([-+]?[\d.]+)", left)):
            return f"{name} has levels without an order, which are texts in a model: write {name} == '{number[1]}'."
    return "Choose another."


def right_side(frame: Any, right: str, *, most: int = MOST_COLUMNS) -> Any:
    """The terms of a model as a frame, one column for each coefficient; what would make too many is refused."""
    need("patsy", extra="report", what="a formula")
    from patsy import EvalEnvironment, PatsyError, dmatrix

    try:
        columns = _columns_at_most(_tree_of(right, _tokens_of(right)), frame)
    except RecursionError:
        columns = math.inf
    if columns > most:
        raise ParameterError(
            f"the right side {right[:120]!r} may make more than {most:,} coefficients, all products of levels counted. "
            "Name fewer terms, or columns of fewer levels."
        )
    try:
        return dmatrix(right, frame, EvalEnvironment([{"np": np}]), return_type="dataframe", NA_action="raise")
    except (PatsyError, TypeError, ValueError, RecursionError) as reason:
        raise ParameterError(
            f"the right side {right!r} cannot be computed ({first_line(reason)}); name columns of the tables, as in "
            'age + sex, and write Q("a name") for names with spaces or dots.'
        ) from None


def _columns_at_most(tree: ast.expr, frame: Any) -> float:
    """Of the design of some terms, counted before anything is made: a*b*c*... doubles it with every name."""
    if isinstance(tree, ast.UnaryOp):
        return _columns_at_most(tree.operand, frame)
    if isinstance(tree, ast.Compare):  # signs of terms beside it part it: a*b > 3 are a and b > 3
        parts = [
            _columns_at_most(each, frame) for each in (tree.left, *tree.comparators) if isinstance(each, ast.BinOp)
        ]
        return 2 * math.prod(1 + part for part in parts)
    if not isinstance(tree, ast.BinOp):
        return _columns_of(tree, frame)
    first, second = (min(_columns_at_most(each, frame), 1e9) for each in (tree.left, tree.right))
    if isinstance(tree.op, ast.Pow):
        together = int(_number(tree.right) or 1)
        return math.fsum(first**number / math.factorial(number) for number in range(1, together + 1))
    if isinstance(tree.op, ast.MatMult):
        return first * second
    return first + second + (0 if isinstance(tree.op, ast.Add | ast.Sub | ast.Div) else first * second)


def _columns_of(factor: ast.expr, frame: Any) -> float:
    """Of one factor: its levels, where it has some, or what a spline is given."""
    inside = list(ast.walk(factor))
    texts = {getattr(node, "id", getattr(node, "value", None)) for node in inside if isinstance(node, _NAMING)}
    if texts & set(_SPLINES):
        return 4 + sum(_number(node) or 0.0 for node in inside if _small(node, most=_MOST_KNOTS))
    of_levels = [
        name for name in frame.columns if name in texts and ("C" in texts or frame[name].dtype.kind not in "iuf")
    ]
    return float(min(math.prod(frame[name].nunique() for name in of_levels), len(frame)))


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
