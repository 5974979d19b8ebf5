"""A person's word that columns are public knowledge, written into the codebook file.

The file belongs to that person: its comments and layout stay as they are, and only the attestation is added.
"""

import datetime as dt
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from understudy.codebook.book import Codebook
from understudy.codebook.columns import Attestation
from understudy.errors import CodebookError, ParameterError


def declare_text(text: str, *, columns: Sequence[str] | None, by: str, source: str, on: dt.date) -> str:
    """The text of a codebook with an attestation for each of ``columns``; an earlier one is replaced.

    ``columns=None`` attests every column that was drafted and has no attestation yet.

    >>> text = 'format = 1\\n\\n[[columns]]\\nname = "sex"  # as registered\\nkind = "categorical"\\n'
    >>> text += 'levels = ["F", "M"]\\norigin = "drafted"\\n'
    >>> said = declare_text(text, columns=None, by="A. Meyer", source="form 7", on=dt.date(2024, 5, 1))
    >>> Codebook.from_toml(said).is_public, "# as registered" in said
    (True, True)
    """
    plain = _attestation(by, source, on)
    book = Codebook.from_toml(text)
    if isinstance(columns, str):
        raise ParameterError(f"`columns` is {columns!r}; it must be a list of names. Try [{columns!r}].")
    chosen = book.unattested if columns is None else tuple(dict.fromkeys(columns))
    for name in chosen:
        book.column(name)  # an unknown name is refused here
    words = {name: replace(plain, of=book.column(name).content) for name in chosen}
    already = {name for name in chosen if book.column(name).attestation is not None}
    positions = [p for p, column in enumerate(book.columns) if column.name in chosen and column.name not in already]
    said = {place: words[book.columns[place].name] for place in positions}
    edited = _replace_in_place(_insert(text, said, len(book.columns)), {name: words[name] for name in already})
    wanted = replace(
        book, columns=tuple(replace(c, attestation=words[c.name]) if c.name in chosen else c for c in book.columns)
    )
    if Codebook.from_toml(edited) != wanted:
        raise CodebookError(
            "the codebook is laid out in a way that cannot be edited without risk; write [[columns]] before each "
            "column, or add the [columns.attestation] tables by hand."
        )
    return edited


def _attestation(by: str, source: str, on: dt.date) -> Attestation:
    for name, value, example in (("by", by, "A. Meyer, registrar"), ("source", source, "State form 7, 2011")):
        if not isinstance(value, str) or not value.strip():
            raise ParameterError(
                f"`{name}` is {value!r}; it must not be empty, because readers of a release rely on it. "
                f"Try {example!r}."
            )
    if not isinstance(on, dt.date) or isinstance(on, dt.datetime):
        raise ParameterError(f"`on` is {on!r}; it must be a date. Try date.today().")
    return Attestation(by=by.strip(), source=source.strip(), on=on)


def _insert(text: str, words: Mapping[int, Attestation], columns: int) -> str:
    """Add a table right behind the last key of each column, in front of any comment that follows."""
    ends = _column_ends(text)
    if len(ends) != columns:  # the columns are written as a list of inline tables
        return _insert_inline(text, words)
    newline = "\r\n" if "\r\n" in text else "\n"
    for position in sorted(words, reverse=True):
        word = words[position]
        lines = ["", "", "[columns.attestation]", f"by = {_quoted(word.by)}", f"source = {_quoted(word.source)}"]
        block = newline.join([*lines, f"on = {word.on.isoformat()}", f"of = {_quoted(word.of or '')}"])
        text = text[: ends[position]] + block + text[ends[position] :]
    return text


def _insert_inline(text: str, words: Mapping[int, Attestation]) -> str:
    document: Any = tomlkit.parse(text)
    for position, word in words.items():
        table = tomlkit.inline_table()
        table.update({"by": word.by, "source": word.source, "on": word.on, "of": word.of})
        document["columns"][position]["attestation"] = table
    return tomlkit.dumps(document)


def _replace_in_place(text: str, words: Mapping[str, Attestation]) -> str:
    if not words:
        return text
    try:
        document: Any = tomlkit.parse(text)
        for entry in document["columns"]:
            if entry["name"] in words:
                word = words[entry["name"]]
                entry["attestation"]["by"] = word.by
                entry["attestation"]["source"] = word.source
                entry["attestation"]["on"] = word.on
                entry["attestation"]["of"] = word.of
        return tomlkit.dumps(document)
    except TOMLKitError as reason:
        raise CodebookError(f"the codebook cannot be edited ({reason}); change it by hand.") from None


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


@dataclass(frozen=True, kw_only=True)
class _Statement:
    """A header or a key with its value; comments and blank lines are no statements."""

    header: bool
    text: str
    end: int
    """Where its line ends, a comment behind it included."""


def _column_ends(text: str) -> list[int]:
    """Where the own keys of each ``[[columns]]`` end."""
    ends: list[int] = []
    is_own = False
    for statement in _statements(text):
        if statement.header:
            is_own = _is_column(statement.text)
            if is_own:
                ends.append(statement.end)
        elif is_own:
            ends[-1] = statement.end
    return ends


def _is_column(header: str) -> bool:
    return tomllib.loads(header) == {"columns": [{}]}


def _statements(text: str) -> Iterator[_Statement]:
    """Cut valid TOML into statements; only strings, brackets and comments matter for that."""
    position = 0
    while position < len(text):
        if text[position] in " \t\r\n":
            position += 1
            continue
        start = position
        is_header = text[start] == "["
        is_comment = text[start] == "#"
        position = _line_end(text, start) if is_header or is_comment else _value_end(text, start)
        if not is_comment:
            end = position - (text[position - 1] == "\r")
            yield _Statement(header=is_header, text=text[start:end], end=end)


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _value_end(text: str, start: int) -> int:
    """End of the line on which a ``key = value`` ends: lists and long strings run over several."""
    position, depth = start, 0
    while position < len(text):
        char = text[position]
        if char in "\"'":
            position = _string_end(text, position)
        elif char == "#":
            position = _line_end(text, position)
        elif char == "\n" and depth == 0:
            return position
        else:
            depth += (char in "[{") - (char in "]}")
            position += 1
    return position


def _string_end(text: str, start: int) -> int:
    quote = text[start]
    fence = quote * 3 if text.startswith(quote * 3, start) else quote
    position = start + len(fence)
    while not text.startswith(fence, position):
        position += 2 if quote == '"' and text[position] == "\\" else 1
    position += len(fence)
    while len(fence) == 3 and text.startswith(quote, position):  # up to two quotes may stand before the fence
        position += 1
    return position
