"""Change a codebook file as little as possible: only keys that differ are written; comments and layout stay."""

import re
from collections.abc import Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, InlineTable, Table

from understudy.codebook.book import Codebook
from understudy.codebook.columns import Column
from understudy.codebook.toml import write_codebook
from understudy.errors import CodebookError


def edited_text(text: str, wanted: Codebook) -> str:
    """The text of a codebook file, changed so that it says what ``wanted`` says.

    Columns keep their names and order; rules, purchases, the unit and the weight may be added.

    >>> from dataclasses import replace
    >>> text = 'format = 1\\n\\n[[columns]]\\nname = "sex"  # as registered\\nkind = "categorical"\\n'
    >>> text += 'levels = ["F", "M"]\\n'
    >>> book = Codebook.from_toml(text)
    >>> changed = replace(book, columns=(replace(book.columns[0], missing="NA"),))
    >>> print(edited_text(text, changed).split("\\n\\n")[1])
    [[columns]]
    name = "sex"  # as registered
    kind = "categorical"
    levels = ["F", "M"]
    missing = "NA"
    <BLANKLINE>
    """
    book = Codebook.from_toml(text)
    if text == book.to_toml():  # nobody wrote anything into it
        return wanted.to_toml()
    try:
        document: Any = tomlkit.parse(text)
        fresh: Any = tomlkit.parse(write_codebook(wanted))
        for old, new, table in zip(book.written, wanted.written, document["columns"], strict=True):
            if old != new:
                change_table(table, _own(fresh, new))
        for header, before, after in (
            ("constraints", book.constraints, wanted.constraints),
            ("learned", book.learned, wanted.learned),
        ):
            if before != after:
                change_tables(document, header, before, after, fresh.get(header))
        if wanted.unit is None:
            document.pop("unit", None)
        elif wanted.unit != book.unit:
            document["unit"] = fresh["unit"]
        if wanted.weight is None:
            document.pop("weight", None)
        elif wanted.weight != book.weight:
            _set_above_tables(document, "weight", wanted.weight)
        if wanted.file != book.file and "file" in document:
            change_table(document["file"], fresh["file"])
        edited = tomlkit.dumps(document)
    except (TOMLKitError, LookupError, ValueError) as reason:
        raise CodebookError(f"the codebook cannot be edited ({reason}); change it by hand.") from None
    edited = re.sub("\r?\n", "\r\n", edited) if "\r\n" in text else edited
    if Codebook.from_toml(edited) != wanted:
        raise CodebookError(
            "the codebook is laid out in a way that cannot be edited without risk; write [[columns]] before each "
            "column, or change it by hand."
        )
    return edited


def _set_above_tables(document: Any, key: str, value: str) -> None:
    """A key of the codebook itself stands above its columns, or it would be one of the last column."""
    if key in document:
        document[key] = value
        return
    own = [name for name, item in document.body if name is not None and not isinstance(item, Table | AoT)]
    document._insert_after(own[-1], key, value)


def _own(fresh: Any, column: Column) -> Any:
    return next(table for table in fresh["columns"] if table["name"] == column.name)


def change_table(table: Any, wanted: Any) -> None:
    """Write what differs; keys that the new table has not are taken out."""
    for key in [key for key in table if key not in wanted]:
        del table[key]
    for key, value in wanted.items():
        if key in table and table[key] == value:
            continue
        if key in table and isinstance(value, Table) and not isinstance(table[key], InlineTable):
            change_table(table[key], value)
        elif key in table or isinstance(table, InlineTable):
            table[key] = value.unwrap() if hasattr(value, "unwrap") else value
        else:
            insert(table, key, value)


def insert(table: Any, key: str, value: Any) -> None:
    """Behind the last key, in front of any comment that follows."""
    if isinstance(value, Table):
        fresh = tomlkit.table()
        fresh.update(value.unwrap())
        fresh.trivia.indent = "\n"
        value = fresh
    own = [name for name, item in table.value.body if name is not None and not isinstance(item, Table | AoT)]
    table.value._insert_after(own[-1], key, value)


def change_tables(document: Any, header: str, before: Sequence[Any], after: Sequence[Any], fresh: Any) -> None:
    """``[[header]]`` tables: those that changed in place, new ones at the end of the file; none but those that went are
    taken out, and all are written anew where others changed as well."""
    if (gone := _gone(before, after)) is not None:
        for place in reversed(gone):
            del document[header][place]
        if not after:
            del document[header]
        return
    if len(after) < len(before) or any(type(old) is not type(new) for old, new in zip(before, after, strict=False)):
        document[header] = fresh
        return
    for old, new, place in zip(before, after, range(len(before)), strict=False):
        if old != new:
            change_table(document[header][place], fresh[place])
    if header not in document:
        document[header] = tomlkit.aot()
    for table in fresh[len(before) :]:
        document[header].append(table)


def _gone(before: Sequence[Any], after: Sequence[Any]) -> list[int] | None:
    """The places of those that went, where nothing else changed; None where that is not so.

    >>> _gone("abcb", "ab"), _gone("abc", "abcd"), _gone("abc", "ax")
    ([2, 3], None, None)
    """
    left, gone = list(after), []
    for place, one in enumerate(before):
        if left and left[0] == one:
            left.pop(0)
        else:
            gone.append(place)
    return gone if gone and not left else None


_HEADER = re.compile(r"\s*\[{1,2}[^\[\],=]+\]{1,2}\s*(#.*)?$")


def text_without(text: str, header: str, place: int) -> str | None:
    """The text without one ``[[header]]`` table and the remark right above it; None where it is not to be found.

    A parser counts a remark to the table before it, so the remark of the next one would go, and this one's would stay
    and seem to speak of the next. Lines are a guess about TOML: whoever calls this compares what the text says then.

    >>> print(text_without("a = 1\\n\\n# x\\n[[r]]\\nb = 1\\n[r.c]\\nd = 2\\n\\n# y\\n[[r]]\\nb = 2\\n", "r", 0))
    a = 1
    <BLANKLINE>
    # y
    [[r]]
    b = 2
    <BLANKLINE>
    >>> text_without("a = 1", "r", 0)
    """
    lines = text.splitlines(keepends=True)
    heads = [number for number, line in enumerate(lines) if _HEADER.match(line)]
    own = [number for number in heads if lines[number].strip().startswith(f"[[{header}]]")]
    if place >= len(own):
        return None
    after = (number for number in heads if number > own[place])
    end = next((number for number in after if not lines[number].strip().startswith(f"[{header}.")), len(lines))
    left = [*lines[: _remark(lines, own[place])], *lines[_remark(lines, end) :]]
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    return "".join(left).rstrip() + (end_of_line if left else "")


def _remark(lines: Sequence[str], number: int) -> int:
    """Where the remark begins that stands right above a line."""
    while number and lines[number - 1].lstrip().startswith("#"):
        number -= 1
    return number
