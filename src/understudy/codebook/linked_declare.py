"""A person's declaration about linked tables: columns, places of tables, constants and rules, written into the file."""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from understudy.codebook.attestation import Attestation
from understudy.codebook.book import FILE
from understudy.codebook.declare import attestation_of, refuse_drafted_map
from understudy.codebook.edits import change_table, change_tables, insert
from understudy.codebook.linked import LinkedCodebook, LinkedTable, constant_title
from understudy.codebook.linked_toml import PLACE
from understudy.codebook.rules import Rule
from understudy.errors import CodebookError


def declare_linked_text(
    text: str, *, names: Sequence[str] | None, rules: Sequence[str] = (), by: str, source: str, on: dt.date
) -> str:
    """The text with attestations; ``names`` are spelled as :attr:`LinkedCodebook.unattested` does, None means all."""
    attestation = attestation_of(by, source, on)
    book = LinkedCodebook.from_toml(text)
    contents = _contents(book)
    chosen = book.unattested if names is None else names
    if strange := [name for name in chosen if name not in contents]:
        raise CodebookError(
            f"there is no {strange[0]!r} in the codebook to attest; name columns as TABLE.COLUMN, tables as [TABLE], "
            f"constants as {'TABLE.COLUMN is constant'!r}. Not attested yet: {', '.join(book.unattested) or 'none'}."
        )
    titles = dict(_rules(book))
    if strange := [title for title in rules if title not in titles]:
        raise CodebookError(f"there is no rule {strange[0]!r} in the codebook; it has {'; '.join(titles) or 'none'}.")
    for title in rules:
        refuse_drafted_map(
            titles[title], title, remedy='as its groups, with origin = "declared", or take the rule out.'
        )
    said = {name: replace(attestation, of=contents[name]) for name in chosen}
    wanted = replace(
        book,
        tables=tuple(_attested(table, said, rules, attestation) for table in book.tables),
        rules=tuple(_attested_rule(rule, rule.title, rules, attestation) for rule in book.rules),
    )
    return edited_linked_text(text, book, wanted)


def _contents(book: LinkedCodebook) -> dict[str, str]:
    """Digest of everything that can be attested, by its name."""
    contents: dict[str, str] = {}
    for table in book.tables:
        contents[f"[{table.name}]"] = table.content
        contents |= {table.spelled(column.name): column.content for column in table.book.columns if _has_levels(column)}
        contents |= {constant_title(table, one): one.content for one in table.constants}
        if table.book.file is not None:
            contents[f"[{table.name}.file]"] = table.book.content_of(FILE)
    return contents


def _has_levels(column: Any) -> bool:
    return bool(column.kind != "text")


def _rules(book: LinkedCodebook) -> list[tuple[str, Rule]]:
    own = [(f"{table.name}: {rule.title}", rule) for table in book.tables for rule in table.book.constraints]
    return [*own, *((rule.title, rule) for rule in book.rules)]


def _attested(
    table: LinkedTable, said: Mapping[str, Attestation], rules: Sequence[str], attestation: Attestation
) -> LinkedTable:
    book = table.book
    file = book.file
    if file is not None:
        file = replace(file, attestation=said.get(f"[{table.name}.file]", file.attestation))
    return replace(
        table,
        attestation=said.get(f"[{table.name}]", table.attestation),
        constants=tuple(
            replace(one, attestation=said.get(constant_title(table, one), one.attestation)) for one in table.constants
        ),
        book=replace(
            book,
            file=file,
            columns=tuple(
                replace(column, attestation=said.get(table.spelled(column.name), column.attestation))
                for column in book.columns
            ),
            constraints=tuple(
                _attested_rule(rule, f"{table.name}: {rule.title}", rules, attestation) for rule in book.constraints
            ),
        ),
    )


def _attested_rule(rule: Rule, title: str, rules: Sequence[str], attestation: Attestation) -> Rule:
    return replace(rule, attestation=replace(attestation, of=rule.content)) if title in rules else rule


def edited_linked_text(text: str, book: LinkedCodebook, wanted: LinkedCodebook) -> str:
    """The text of a file, changed so that it says what ``wanted`` says; comments and layout stay."""
    if text == book.to_toml():  # nobody wrote anything into it
        return wanted.to_toml()
    try:
        document: Any = tomlkit.parse(text)
        fresh: Any = tomlkit.parse(wanted.to_toml())
        for old, new in zip(book.tables, wanted.tables, strict=True):
            _change(document["tables"][old.name], fresh["tables"][new.name], old, new)
        if book.rules != wanted.rules:
            change_tables(document, "rules", book.rules, wanted.rules, fresh.get("rules"))
        edited = tomlkit.dumps(document)
        edited = re.sub("\r?\n", "\r\n", edited) if "\r\n" in text else edited
        fits = LinkedCodebook.from_toml(edited) == wanted
    except (TOMLKitError, LookupError, ValueError) as reason:
        raise CodebookError(f"the codebook cannot be edited ({reason}); change it by hand.") from None
    if not fits:
        raise CodebookError("the codebook is laid out in a way that cannot be edited without risk; change it by hand.")
    return edited


def _change_place(document: Any, fresh: Any) -> None:
    """Keys, parent and cap of one table."""
    for key in [key for key in PLACE if document.get(key) != fresh.get(key)]:
        if key not in fresh:
            del document[key]
        elif key in document:
            document[key] = fresh[key].unwrap()
        else:
            insert(document, key, fresh[key])


def _change(document: Any, fresh: Any, old: LinkedTable, new: LinkedTable) -> None:
    """One table of the document."""
    _change_place(document, fresh)
    if old.attestation != new.attestation:
        if "attestation" in document:
            del document["attestation"]
        if new.attestation is not None:
            insert(document, "attestation", fresh["attestation"])
    for column, changed, table in zip(old.book.written, new.book.written, document["columns"], strict=True):
        if column != changed:
            change_table(table, next(each for each in fresh["columns"] if each["name"] == column.name))
    for one, changed_one in zip(old.constants, new.constants, strict=True):
        if one != changed_one:
            change_table(document["constants"][one.column], fresh["constants"][one.column])
    if old.book.file != new.book.file:
        change_table(document["file"], fresh["file"])
    if old.book.constraints != new.book.constraints:
        change_tables(document, "constraints", old.book.constraints, new.book.constraints, fresh.get("constraints"))
