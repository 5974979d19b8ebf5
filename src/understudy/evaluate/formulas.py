"""What may stand in a formula: columns, arithmetic and a few functions; anything else would be run as a program.

The library that reads formulas evaluates their terms as Python, so ``__import__("os")`` in one would be carried out.
Names are therefore held against a list before it sees them: without other names there is nothing to reach.
"""

import io
import keyword
import tokenize
from collections.abc import Collection

from understudy.errors import ParameterError

_TERMS = frozenset({"C", "I", "Q", "Treatment", "Sum", "Poly", "Diff", "Helmert", "bs", "cr", "center", "standardize"})
_SETTINGS = frozenset({"reference", "levels", "df", "degree"})
_NUMBERS = frozenset({"abs", "exp", "log", "log10", "log1p", "log2", "maximum", "minimum", "power", "sign", "sqrt"})
_WORDS = frozenset({"and", "or", "not", "in", "True", "False"})
_PLAIN = {tokenize.STRING, tokenize.NUMBER, tokenize.OP, tokenize.ERRORTOKEN}
_STRANGE = {"@", ";", ":=", "->", "!", "$", "?", "{", "}"}
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


def _refused(formula: str, what: str) -> ParameterError:
    return ParameterError(
        f"`formula` is {formula[:120]!r}; {what} is neither a column nor one of the functions that a formula may use "
        f"(np.{', np.'.join(sorted(_NUMBERS))}, C, Q). Name columns, as in charge > 25 ~ age + sex."
    )
