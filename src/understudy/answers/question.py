"""The words in which the real data are asked, and what they mean to a codebook.

::

    count [by COLUMNS] [where CONDITIONS]
    table of COLUMNS [where CONDITIONS]
    mean of COLUMN [by COLUMNS] [where CONDITIONS]
    sum of COLUMN [by COLUMNS] [where CONDITIONS]
    share of COLUMN=LEVEL [by COLUMNS] [where CONDITIONS]
    median of COLUMN, quantile SHARE of COLUMN [by COLUMNS] [where CONDITIONS]
    difference of mean of COLUMN by COLUMN [where CONDITIONS]
    difference of share of COLUMN=LEVEL by COLUMN [where CONDITIONS]
    linear FORMULA [where CONDITIONS]
    logistic FORMULA [where CONDITIONS]

COLUMNS stand between commas. CONDITIONS are COLUMN=LEVEL with commas or ``and`` between them; a column that is named
again may hold the other level too. A number is named by its whole bin.
"""

import hashlib
import io
import re
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from understudy.codebook import Codebook, Column, Number, Ordinal
from understudy.codebook.where import code_asked
from understudy.errors import ParameterError
from understudy.evaluate.formulas import mentioned_in, sides_of
from understudy.parameters import SHARE, shown_value

KINDS = ("count", "sum", "mean", "share", "quantile", "difference", "table", "linear", "logistic")
MODELS = ("linear", "logistic")
MOST_CHARACTERS = 2_000
MOST_GROUPS = 10_000
"""Combinations of levels that one question may tell apart."""
_TRIED = "mean of charge by sex"

Where = tuple[tuple[str, tuple[int, ...]], ...]
"""Columns, each with the codes that it may hold; in the order of the codebook."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question in canonical words, checked against a codebook."""

    text: str
    """The same question in other words, another order or other spacing has the same text, where that can be told."""
    kind: str
    columns: tuple[str, ...]
    """All that it reads, in the order of the codebook."""
    of: str = ""
    """The column whose values are taken."""
    level: int | None = None
    """The code whose share is asked for."""
    quantile: float | None = None
    by: tuple[str, ...] = ()
    where: Where = ()
    formula: str = ""

    @property
    def is_model(self) -> bool:
        """Whether it asks for coefficients."""
        return self.kind in MODELS

    @property
    def is_difference(self) -> bool:
        """Whether groups are compared with the first."""
        return self.kind == "difference"

    def digest(self, book: Codebook) -> str:
        """Of the canonical text and the codebook: the identity by which a question is known again."""
        return "sha256:" + hashlib.sha256(f"{self.text}\n{book.digest}".encode()).hexdigest()


def parse_question(text: str, book: Codebook) -> Question:
    """The question that these words ask of a table with this codebook; what cannot be asked is refused here.

    >>> from understudy.codebook import Categorical
    >>> book = Codebook(columns=(Categorical(name="sex", levels=("F", "M")),))
    >>> parse_question("  Share  of sex = F", book).text
    'share of sex=F'
    """
    if not isinstance(text, str) or not text.strip():
        raise ParameterError(f"the question is {shown_value(text)}; ask for something, for example {_TRIED!r}.")
    if len(text) > MOST_CHARACTERS:
        raise ParameterError(
            f"the question has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read. Ask for less at once."
        )
    if any(ord(character) < 32 and not character.isspace() for character in text):
        raise ParameterError("the question holds control characters; write it in plain text.")
    words = " ".join(text.split())
    reader = _Reader(book)
    question = reader.read(words)
    if question.is_model:
        from understudy.answers.design import design_of

        design_of(question, book)  # refuses what no design can be made of
    return question


class _Reader:
    """Reads words with the columns of one codebook in mind."""

    def __init__(self, book: Codebook) -> None:
        self.book = book
        self.names = book.names
        spelled = sorted(self.names, key=len, reverse=True)
        self.name = "|".join(re.escape(name) for name in spelled)

    def read(self, words: str) -> Question:
        head, conditions = self._apart(words)
        where = self._where(conditions)
        model = re.match(r"(linear|logistic)\s+(.+)$", head, re.I)
        if model:
            return self._model(model[1].lower(), model[2], where)
        if table := re.match(r"table\s+of\s+(.+)$", head, re.I):
            return self._counted(self._columns(table[1], "table"), where)
        head, by = self._grouped(head)
        if re.fullmatch(r"count(\s+of\s+records)?", head, re.I):
            return self._counted(by, where)
        if compared := re.match(r"difference\s+of\s+(.+)$", head, re.I):
            return self._difference(compared[1], by, where)
        return self._figure(head, by, where)

    def _apart(self, words: str) -> tuple[str, str]:
        """What is asked, and of whom: the last ``where`` that a condition on a column follows."""
        found = list(re.finditer(r"\s+where\s+", words, re.I))
        if not found:
            if re.search(r"\bwhere$", words, re.I):
                raise ParameterError("`where` ends the question; name a column and a level, as in where sex=F.")
            return words, ""
        return words[: found[0].start()], words[found[0].end() :]

    def _grouped(self, head: str) -> tuple[str, tuple[str, ...]]:
        match = re.match(r"(.*?)\s+by\s+(.+)$", head, re.I)
        if match is None:
            return head, ()
        return match[1], self._columns(match[2], "by")

    def _columns(self, listed: str, called: str) -> tuple[str, ...]:
        names = [_bare(name) for name in re.split(r"\s*,\s*|\s+and\s+", listed.strip())]
        if listed.strip() in self.names:
            names = [listed.strip()]
        for name in names:
            self._column(name)
        if len(set(names)) < len(names):
            raise ParameterError(f"`{called}` is {listed!r}; name every column once.")
        return tuple(name for name in self.names if name in names)

    def _column(self, name: str) -> Column:
        if name not in self.names:
            raise ParameterError(
                f"there is no column {name[:80]!r} to ask about; choose among {', '.join(self.names)}, and write a "
                f"question such as {_TRIED!r}."
            )
        return self.book.column(name)

    def _level(self, condition: str, called: str) -> tuple[str, int]:
        name, equals, value = condition.partition("=")
        name, value = _bare(name), _bare(value)
        if not equals or not value:
            raise ParameterError(f"{called} is {condition[:80]!r}; write COLUMN=LEVEL, for example sex=F.")
        column = self._column(name)
        return name, code_asked(column, value)

    def _where(self, conditions: str) -> Where:
        if not conditions:
            return ()
        # a comma or "and" parts conditions only where a column and "=" follow: labels hold both
        pieces = re.split(rf"(?:\s*,\s*|\s+and\s+)(?=[\"']?(?:{self.name})[\"']?\s*=)", conditions)
        chosen: dict[str, set[int]] = {}
        for piece in pieces:
            name, code = self._level(piece, "`where`")
            chosen.setdefault(name, set()).add(code)
        whole = [name for name, codes in chosen.items() if len(codes) == self.book.column(name).size]
        return tuple((name, tuple(sorted(chosen[name]))) for name in self.names if name in chosen and name not in whole)

    def _made(
        self, kind: str, words: str, *, by: Sequence[str], where: Where, reads: Sequence[str] = (), **more: Any
    ) -> Question:
        parts = [words]
        if by:
            parts.append(f"by {', '.join(by)}")
        if where:
            told = [f"{name}={self.book.column(name).labels[code]}" for name, codes in where for code in codes]
            parts.append(f"where {', '.join(told)}")
        read = {*by, *(name for name, _ in where), *reads}
        cells = 1
        for name in by:
            cells *= self.book.column(name).size
        if cells > MOST_GROUPS:
            raise ParameterError(
                f"the question asks for {cells:,} groups; at most {MOST_GROUPS:,} are told apart. Name fewer columns."
            )
        return Question(
            text=" ".join(parts),
            kind=kind,
            columns=tuple(name for name in self.names if name in read) or self.names[:1],
            by=tuple(by),
            where=where,
            **more,
        )

    def _counted(self, by: tuple[str, ...], where: Where) -> Question:
        if len(by) < 2:
            return self._made("count", "count", by=by, where=where)
        made = self._made("table", "count", by=by, where=where)
        return Question(**{**vars(made), "text": made.text.replace("count by", "table of", 1)})

    def _figure(self, head: str, by: tuple[str, ...], where: Where) -> Question:
        if found := re.match(r"(?:mean|average)\s+of\s+(.+)$", head, re.I):
            name = self._ordered(found[1])
            return self._made("mean", f"mean of {name}", by=by, where=where, of=name, reads=(name,))
        if found := re.match(r"(?:sum|total)\s+of\s+(.+)$", head, re.I):
            name = self._ordered(found[1])
            return self._made("sum", f"sum of {name}", by=by, where=where, of=name, reads=(name,))
        if found := re.match(r"share\s+of\s+(.+)$", head, re.I):
            name, code = self._level(found[1], "`share`")
            words = f"share of {name}={self.book.column(name).labels[code]}"
            self._not_grouped(name, by)
            return self._made("share", words, by=by, where=where, of=name, level=code, reads=(name,))
        if found := re.match(r"(?:median|quantile\s+(\S+))\s+of\s+(.+)$", head, re.I):
            share, name = self._share(found[1]), self._ordered(found[2])
            return self._made(
                "quantile", f"quantile {share:g} of {name}", by=by, where=where, of=name, quantile=share, reads=(name,)
            )
        raise ParameterError(
            f"the question is {head[:80]!r}, which begins with none of count, table of, mean of, sum of, share of, "
            f"median of, quantile SHARE of, difference of, linear and logistic. Try {_TRIED!r}."
        )

    def _share(self, word: str | None) -> float:
        if word is None:
            return 0.5
        try:
            return float(SHARE.check("quantile", float(word)))
        except ValueError:
            raise ParameterError(
                f"`quantile` is {word[:40]!r}; write a share between 0 and 1, as in quantile 0.9 of charge."
            ) from None

    def _ordered(self, word: str) -> str:
        name = _bare(word)
        column = self._column(name)
        if not isinstance(column, Number | Ordinal):
            raise ParameterError(
                f"{name!r} is no number and has no order, so it has no mean, sum or quantile; ask for the share of a "
                f"level, as in share of {name}={column.labels[0]}."
            )
        return name

    def _not_grouped(self, name: str, by: Sequence[str]) -> None:
        if name in by:
            raise ParameterError(
                f"`by` names {name!r}, whose share is asked for; a group of one level holds nothing else. Group by "
                "another column."
            )

    def _difference(self, head: str, by: tuple[str, ...], where: Where) -> Question:
        inner = self._figure(head, by, where)
        if inner.kind not in ("mean", "share") or len(by) != 1:
            raise ParameterError(
                f"`difference` is of {head[:80]!r} by {', '.join(by) or 'nothing'}; it compares the means or shares of "
                "the groups of one column, as in difference of mean of charge by sex."
            )
        # groups of one column are disjoint: no record is in two of them, so the noise of each is its own
        return Question(**{**vars(inner), "kind": "difference", "text": f"difference of {inner.text}"})

    def _model(self, kind: str, formula: str, where: Where) -> Question:
        for detail in self.book.details:
            if re.search(rf"(?<![\w.]){re.escape(detail.name)}(?![\w.(])", formula):
                self._column(detail.name)
        left, right = sides_of(formula, self.names)
        told = canonical_formula(left, right)
        read = mentioned_in(self.book, told)
        return self._made(kind, f"{kind} {told}", by=(), where=where, formula=told, reads=read)


def _bare(word: str) -> str:
    """Without blanks and quotes around it."""
    word = word.strip()
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'" else word


def canonical_formula(left: str, right: str) -> str:
    """One spelling: single blanks, and the terms between top-level plus signs in order.

    >>> canonical_formula("charge>25", "sex+ age")
    'charge > 25 ~ age + sex'
    """
    terms = _terms(right)
    if terms is not None:
        right = " + ".join(sorted(dict.fromkeys(map(_spaced, terms)), key=lambda term: (term.count(":"), term)))
    return f"{_spaced(left)} ~ {_spaced(right)}"


def _terms(right: str) -> list[str] | None:
    """What stands between plus signs outside brackets; None where a minus makes the order matter."""
    depth, terms, start = 0, [], 0
    for place, character in enumerate(right):
        depth += (character in "([") - (character in ")]")
        if depth == 0 and character == "-":
            return None
        if depth == 0 and character == "+":
            terms.append(right[start:place])
            start = place + 1
    terms.append(right[start:])
    return terms if all(term.strip() for term in terms) else None


def _spaced(text: str) -> str:
    try:
        tokens = [
            token.string
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type not in (tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT)
        ]
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return text.strip()
    spelled = " ".join(token for token in tokens if token)
    if not re.search(r"[\"']", spelled):  # inside quotes blanks are somebody's level
        spelled = re.sub(r" ?([(\[.:]) ?", r"\1", spelled)
        spelled = re.sub(r" ([)\],])", r"\1", spelled)
    return spelled.strip()
