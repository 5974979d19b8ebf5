"""Write a person's declaration that columns and rules are public knowledge into the codebook file.

Only the attestation is added; comments and layout of the file stay as they are.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace

from understudy.codebook.attestation import Attestation
from understudy.codebook.book import FILE, Codebook
from understudy.codebook.columns import Origin
from understudy.codebook.edits import edited_text
from understudy.codebook.rules import Determines, Rule
from understudy.errors import CodebookError, ParameterError
from understudy.parameters import Text

_NO_SOURCE = {"data", "the data", "our data", "this data", "the file", "this file", "the table", "this table", "none"}


def declare_text(
    text: str, *, columns: Sequence[str] | None, by: str, source: str, on: dt.date, rules: Sequence[str] = ()
) -> str:
    """The text of a codebook with an attestation for each of ``columns`` and ``rules``; an earlier one is replaced.

    ``columns=None`` attests every column that was drafted and has no attestation yet. Rules are named one by one.

    >>> text = 'format = 1\\n\\n[[columns]]\\nname = "sex"  # as registered\\nkind = "categorical"\\n'
    >>> text += 'levels = ["F", "M"]\\norigin = "drafted"\\n'
    >>> edited = declare_text(text, columns=None, by="A. Meyer", source="form 7", on=dt.date(2024, 5, 1))
    >>> Codebook.from_toml(edited).is_public, "# as registered" in edited
    (True, True)
    """
    attestation = attestation_of(by, source, on)
    book = Codebook.from_toml(text)
    for option, names in (("columns", columns), ("rules", rules)):
        if isinstance(names, str):
            raise ParameterError(f"`{option}` is {names!r}; it must be a list of names. Try [{names!r}].")
    chosen = book.unattested if columns is None else columns
    attested = {name: replace(attestation, of=book.content_of(name)) for name in chosen}
    named = {title: _rule(book, title) for title in rules}
    file = replace(book.file, attestation=attested[FILE]) if book.file and FILE in attested else book.file
    return edited_text(
        text,
        replace(
            book,
            file=file,
            columns=tuple(replace(c, attestation=attested.get(c.name, c.attestation)) for c in book.columns),
            constraints=tuple(
                replace(rule, attestation=replace(attestation, of=rule.content)) if rule.title in named else rule
                for rule in book.constraints
            ),
        ),
    )


def _rule(book: Codebook, title: str) -> Rule:
    """The rule of this title, where a person may vouch for it."""
    known = {rule.title: rule for rule in book.constraints}
    if title not in known:
        drafted = "; ".join(book.unsourced_rules or tuple(known)) or "none"
        raise CodebookError(f"there is no rule {title!r} in the codebook; it has {drafted}.")
    refuse_drafted_map(
        known[title],
        title,
        remedy="(`understudy codebook rules BOOK --map {}={}=TABLE.csv`), or buy the map (`--learn`).",
    )
    return known[title]


def refuse_drafted_map(rule: Rule, title: str, *, remedy: str) -> None:
    """Nobody's word makes a map public that was read from the data: what it says about each value is data."""
    if isinstance(rule, Determines) and rule.origin is Origin.DRAFTED:
        raise CodebookError(
            f"the rule {title!r} has a map that was read from the data; give the public table that it stands in "
            f"{remedy.format(rule.column, rule.sets)}"
        )


def attestation_of(by: str, source: str, on: dt.date) -> Attestation:
    """A person's word, checked: readers of a release rely on it."""
    for name, value, example in (("by", by, "'A. Meyer, registrar'"), ("source", source, "'State form 7, 2011'")):
        words = "a text that is not empty, because readers of a release rely on it"
        Text(words=words, example=example, admitted=lambda v: isinstance(v, str) and bool(v.strip())).check(name, value)
    if source.strip().lower() in _NO_SOURCE:
        raise ParameterError(
            f"`source` is {source!r}; what is known only from the data is not public. Name a published source, such as "
            "'State form 7, 2011', or leave it undeclared: releases then have no formal guarantee."
        )
    if not isinstance(on, dt.date) or isinstance(on, dt.datetime):
        raise ParameterError(f"`on` is {on!r}; it must be a date. Try date.today().")
    return Attestation(by=by.strip(), source=source.strip(), on=on)
