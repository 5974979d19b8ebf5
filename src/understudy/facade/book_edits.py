"""Edit a codebook file: one column, who is a person, or the cap of a linked table. The text around it stays."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import CodebookError, ParameterError, listed

if TYPE_CHECKING:
    from understudy.codebook import Codebook, LinkedCodebook
    from understudy.codebook.rules import Rule

_SHARED = ("name", "kind", "role", "description", "missing", "parents", "reading", "value_labels")
_OWN = {
    "categorical": ("levels", "other", "hierarchy"),
    "ordinal": ("levels", "other", "hierarchy"),
    "integer": ("edges", "closed", "clip", "spikes", "shape", "pieces", "special", "units"),
    "continuous": ("edges", "closed", "clip", "spikes", "shape", "pieces", "special", "units", "decimals"),
    "date": ("grain", "start", "end"),
    "text": (),
}
"""What each kind may say besides what all may; other kinds are packs of codes, which say nothing more."""
KINDS = tuple(_OWN)


def code_packs() -> dict[str, str]:
    """Public classifications that a column may hold codes of, each with its title."""
    from understudy.codebook.packs import SHIPPED, shipped_pack

    return {name: shipped_pack(name).title for name in SHIPPED}


def edit_column(
    book: str | Path, name: str, changes: Mapping[str, Any], *, table: str | None = None
) -> Codebook | LinkedCodebook:
    """Change keys of one column, as its ``[[columns]]`` table spells them; None takes a key out.

    ``table`` is that of the column in a codebook of linked tables. What the column may hold was declared, paid for or
    attested as it stood. Where that changes, it counts as drafted from data from then on, until somebody reviews and
    attests it again: whoever edits has usually seen the data.
    """
    from understudy.codebook.edits import edited_text
    from understudy.codebook.linked_declare import edited_linked_text
    from understudy.facade.linked_reviews import with_columns
    from understudy.facade.reviews import read_book, write_book

    folder = Path(book).parent
    if table is None:
        text, before = read_book(book)
        wanted = _edited(before, name, changes, folder)
        write_book(book, edited_text(text, wanted))
        return wanted
    text, linked = _read_linked(book)
    own = linked.table(table)
    column = _edited(own.book, name, changes, folder).column(name)
    changed = with_columns(linked, {own.spelled(name): column})
    write_book(book, edited_linked_text(text, linked, changed))
    return changed


def take_codes(book: str | Path, data: Any, columns: Sequence[str], pack: str, *, table: str | None = None) -> Codebook:
    """Columns that a draft left out become codes of a public pack; reads how the data write missing values."""
    from understudy.codebook.edits import edited_text
    from understudy.facade.reviews import read_book, write_book
    from understudy.sources.draft_codes import kinds_of, with_codes

    text, before = read_book(book)
    wanted = with_codes(before, data, kinds_of(dict.fromkeys(columns, pack)), table=table)
    write_book(book, edited_text(text, wanted))
    return wanted


def _read_linked(book: str | Path) -> tuple[str, LinkedCodebook]:
    from understudy.codebook import LinkedCodebook
    from understudy.codebook.book import read_text

    return read_text(book), LinkedCodebook.load(book)


def _edited(before: Codebook, name: str, changes: Mapping[str, Any], folder: Path) -> Codebook:
    """The codebook of one table with one column changed."""
    import tomlkit

    from understudy.codebook import Codebook
    from understudy.codebook.toml import write_codebook

    number = next((k for k, column in enumerate(before.written) if column.name == name), None)
    if number is None:
        raise CodebookError(f"the codebook has no column {name!r}; it has {', '.join(before.names[:12])}.")
    document: Any = tomlkit.parse(write_codebook(before))
    table = document["columns"][number]
    kind = str(changes.get("kind") or table["kind"])
    for key in [key for key in table if key not in (*_SHARED, *_OWN.get(kind, ()), "origin", "attestation", "review")]:
        del table[key]  # what another kind had said
    if kind == "text":
        changes = {**changes, "role": "identifier", "missing": None, "reading": None}
    elif table.get("role") == "identifier" and "role" not in changes:
        changes = {**changes, "role": "other"}
    for key, value in changes.items():
        if value is None:
            table.pop(key, None)
        elif key == "reading" and isinstance(value, Mapping):
            table[key] = {**table.get(key, {}), **value}
        else:
            table[key] = value
    wanted = Codebook.from_toml(tomlkit.dumps(document), folder)
    if wanted.written[number].content != before.written[number].content:
        for key in ("attestation", "review"):
            table.pop(key, None)
        table["origin"] = "drafted"
        wanted = Codebook.from_toml(tomlkit.dumps(document), folder)
    return wanted


def set_cap(book: str | Path, table: str, cap: int) -> LinkedCodebook:
    """Say how many rows of each parent row take part in a linked table; its place has to be attested again."""
    from understudy.codebook.columns import Origin
    from understudy.codebook.linked_declare import edited_linked_text
    from understudy.facade.reviews import write_book

    text, linked = _read_linked(book)
    own = linked.table(table)
    if own.parent is None:
        raise ParameterError(f"{table!r} is the table of the persons, who have no cap; name a table below it.")
    if own.cap == _checked_cap(cap):
        return linked
    changed = replace(own, cap=cap, origin=Origin.DRAFTED, attestation=None)
    wanted = replace(linked, tables=tuple(changed if each is own else each for each in linked.tables))
    write_book(book, edited_linked_text(text, linked, wanted))
    return wanted


def _checked_cap(cap: int | None) -> int:
    if cap is None or cap < 1:
        raise ParameterError(
            f"the cap is {cap}; how many rows of one person take part is a whole number of at least 1. Take it "
            "from what is known about such tables, not from these data."
        )
    return cap


def set_person(book: str | Path, column: str | None, cap: int | None = None) -> Codebook:
    """Say in a codebook which column tells people apart and how many rows of each take part; None: rows are people."""
    from understudy.codebook import PersonUnit
    from understudy.codebook.columns import Origin, Role, Text
    from understudy.codebook.edits import edited_text
    from understudy.facade.reviews import read_book, write_book

    text, before = read_book(book)
    if column is None:
        wanted = replace(before, unit=None)
    else:
        cap = _checked_cap(cap)
        id_column = before.column(column)
        left_out = Text(name=column, role=Role.IDENTIFIER, origin=Origin.DRAFTED, description=id_column.description)
        columns = tuple(left_out if own is id_column and not isinstance(own, Text) else own for own in before.columns)
        wanted = replace(before, unit=PersonUnit(id=column, cap=cap), columns=columns)
    write_book(book, edited_text(text, wanted))
    return wanted


def set_weight(book: str | Path, column: str | None) -> Codebook:
    """Say in a codebook which column tells how many people of the population a record stands for; None: none does."""
    from understudy.codebook.edits import edited_text
    from understudy.facade.reviews import read_book, write_book

    text, before = read_book(book)
    wanted = replace(before, weight=column)
    write_book(book, edited_text(text, wanted))
    return wanted


def remove_rule(book: str | Path, title: str, *, table: str | None = None) -> Codebook | LinkedCodebook:
    """Take one rule out of a codebook, named by its title; all others stay as they are written.

    ``table`` is that of the rule where linked tables have it for themselves; None is for rules across them. What was
    paid for a rule stays paid for, and stays in the codebook.
    """
    from understudy.codebook import Codebook, LinkedCodebook
    from understudy.codebook.edits import edited_text, text_without
    from understudy.codebook.linked_declare import edited_linked_text
    from understudy.facade.linked_reviews import linked_file
    from understudy.facade.reviews import read_book, write_book

    wanted: Codebook | LinkedCodebook
    if not linked_file(book):
        text, before = read_book(book)
        rules, header = before.constraints, "constraints"
        wanted = replace(before, constraints=_without(rules, title))
        shorter = _as_wanted(text_without(text, header, _place(rules, title)), Codebook, wanted)
        write_book(book, edited_text(text, wanted) if shorter is None else shorter)
        return wanted
    text, linked = _read_linked(book)
    if table is None:
        rules, header = linked.rules, "rules"
        wanted = replace(linked, rules=_without(rules, title))
    else:
        own = linked.table(table)
        rules, header = own.book.constraints, f"tables.{table}.constraints"
        part = replace(own, book=replace(own.book, constraints=_without(rules, title)))
        wanted = replace(linked, tables=tuple(part if each is own else each for each in linked.tables))
    shorter = _as_wanted(text_without(text, header, _place(rules, title)), LinkedCodebook, wanted)
    write_book(book, edited_linked_text(text, linked, wanted) if shorter is None else shorter)
    return wanted


def _place(rules: Sequence[Rule], title: str) -> int:
    return next(place for place, rule in enumerate(rules) if rule.title == title)


def _as_wanted(text: str | None, kind: Any, wanted: Any) -> str | None:
    """The text where it says just what is wanted."""
    try:
        return text if text is not None and kind.from_toml(text) == wanted else None
    except CodebookError:
        return None


def _without(rules: Sequence[Rule], title: str) -> tuple[Rule, ...]:
    left = tuple(rule for rule in rules if rule.title != title)
    if len(left) == len(rules):
        raise ParameterError(
            f"there is no rule {title!r} here in the codebook; "
            f"it has {listed([rule.title for rule in rules]) or 'none'}."
        )
    return left


def difference(before: str, after: str) -> Sequence[tuple[str, str]]:
    """Two texts of a codebook line by line: what came (+), what went (-), and lines around it (blank).

    >>> difference("a\\nb\\n", "a\\nc\\n")
    [(' ', 'a'), ('-', 'b'), ('+', 'c')]
    """
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    return [(line[:1], line[1:]) for line in lines if not line.startswith(("---", "+++", "@@"))]
