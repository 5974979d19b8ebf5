"""Write a person's declaration that columns are public knowledge into the codebook file.

Only the attestation is added; comments and layout of the file stay as they are.
"""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, InlineTable, Table

from understudy.codebook.book import FILE, Codebook
from understudy.codebook.columns import Attestation
from understudy.errors import CodebookError, ParameterError
from understudy.parameters import Text


def declare_text(text: str, *, columns: Sequence[str] | None, by: str, source: str, on: dt.date) -> str:
    """The text of a codebook with an attestation for each of ``columns``; an earlier one is replaced.

    ``columns=None`` attests every column that was drafted and has no attestation yet.

    >>> text = 'format = 1\\n\\n[[columns]]\\nname = "sex"  # as registered\\nkind = "categorical"\\n'
    >>> text += 'levels = ["F", "M"]\\norigin = "drafted"\\n'
    >>> edited = declare_text(text, columns=None, by="A. Meyer", source="form 7", on=dt.date(2024, 5, 1))
    >>> Codebook.from_toml(edited).is_public, "# as registered" in edited
    (True, True)
    """
    attestation = _attestation(by, source, on)
    book = Codebook.from_toml(text)
    if isinstance(columns, str):
        raise ParameterError(f"`columns` is {columns!r}; it must be a list of names. Try [{columns!r}].")
    chosen = book.unattested if columns is None else columns
    attested = {name: replace(attestation, of=book.content_of(name)) for name in chosen}
    edited = _edited(text, attested)
    wanted = tuple(replace(c, attestation=attested.get(c.name, c.attestation)) for c in book.columns)
    file = replace(book.file, attestation=attested[FILE]) if book.file and FILE in attested else book.file
    if Codebook.from_toml(edited) != replace(book, columns=wanted, file=file):
        raise CodebookError(
            "the codebook is laid out in a way that cannot be edited without risk; write [[columns]] before each "
            "column, or add the [columns.attestation] tables by hand."
        )
    return edited


def _attestation(by: str, source: str, on: dt.date) -> Attestation:
    for name, value, example in (("by", by, "'A. Meyer, registrar'"), ("source", source, "'State form 7, 2011'")):
        words = "a text that is not empty, because readers of a release rely on it"
        Text(words=words, example=example, admitted=lambda v: isinstance(v, str) and bool(v.strip())).check(name, value)
    if not isinstance(on, dt.date) or isinstance(on, dt.datetime):
        raise ParameterError(f"`on` is {on!r}; it must be a date. Try date.today().")
    return Attestation(by=by.strip(), source=source.strip(), on=on)


def _edited(text: str, attested: Mapping[str, Attestation]) -> str:
    try:
        document: Any = tomlkit.parse(text)
        for column in document["columns"] if attested else ():
            if column["name"] in attested:
                _attest(column, asdict(attested[column["name"]]))
        if FILE in attested:
            _attest(document["file"], asdict(attested[FILE]))
        edited = tomlkit.dumps(document)
    except TOMLKitError as reason:
        raise CodebookError(f"the codebook cannot be edited ({reason}); change it by hand.") from None
    return re.sub("\r?\n", "\r\n", edited) if "\r\n" in text else edited


def _attest(column: Any, values: dict[str, Any]) -> None:
    """Change the attestation that is there, or add one behind the last key, in front of any comment that follows."""
    if "attestation" in column:
        column["attestation"].update(values)
    elif isinstance(column, InlineTable):
        column["attestation"] = tomlkit.inline_table()
        column["attestation"].update(values)
    else:
        table = tomlkit.table()
        table.update(values)
        table.trivia.indent = "\n"
        own = [key for key, item in column.value.body if key is not None and not isinstance(item, Table | AoT)]
        column.value._insert_after(own[-1], "attestation", table)
