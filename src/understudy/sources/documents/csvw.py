"""CSV on the Web (CSVW): the W3C's metadata of tables in JSON."""

import re
from collections.abc import Mapping
from typing import Any

from understudy.codebook import FileReading
from understudy.errors import DataError, quoted
from understudy.sources.documents.variables import Variable, day_in, number_in

_TYPES = {
    **dict.fromkeys(
        ("integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "gYear"), "integer"
    ),
    **dict.fromkeys(("number", "decimal", "double", "float"), "number"),
    **dict.fromkeys(("date", "datetime", "dateTime"), "date"),
    "boolean": "boolean",
}
_ALTERNATIVES = re.compile(r"\^?\(?((?:[\w .,'/-]+\|)+[\w .,'/-]+)\)?\$?")
"""A pattern that lists values: ``A|B|C``, perhaps with brackets and anchors."""


def is_csvw(document: Mapping[str, Any]) -> bool:
    """Whether a JSON document is one of theirs."""
    return "csvw" in str(document.get("@context", "")) or "tableSchema" in document


def variables_of(document: Mapping[str, Any], table: str | None) -> tuple[list[Variable], FileReading]:
    """The columns of the one table, or of the one that was named, and how its file is read."""
    tables = [item for item in document.get("tables", [document]) if isinstance(item, dict)]
    names = [str(item.get("url", "")) for item in tables]
    chosen = [item for item, name in zip(tables, names, strict=True) if table in (None, name)]
    if len(chosen) != 1:
        raise DataError(f"the document describes the tables {quoted(names) or 'none'}; name one with --table.")
    schema = chosen[0].get("tableSchema", document.get("tableSchema"))
    columns = schema.get("columns") if isinstance(schema, dict) else None
    if not isinstance(columns, list) or not columns:
        raise DataError(
            "the tableSchema of the document lists no columns; write them into the document itself, since other files "
            "and addresses are not opened."
        )
    inherited = {**document, **chosen[0], **(schema or {})}
    described = [item for item in columns if isinstance(item, dict) and item.get("virtual") is not True]
    return [_variable(item, inherited) for item in described], _reading(
        chosen[0].get("dialect", document.get("dialect"))
    )


def _reading(dialect: Any) -> FileReading:
    facts = dialect if isinstance(dialect, dict) else {}
    delimiter, encoding = str(facts.get("delimiter", "")), str(facts.get("encoding", ""))
    skipped = facts.get("skipRows", 0)
    return FileReading(
        delimiter=delimiter if len(delimiter) == 1 and delimiter != "," else "",
        encoding=encoding if encoding.lower() not in ("", "utf-8", "utf8") else "",
        skip=skipped if isinstance(skipped, int) and skipped > 0 else 0,
    )


def _variable(item: Mapping[str, Any], inherited: Mapping[str, Any]) -> Variable:
    kind = item.get("datatype", inherited.get("datatype", "string"))
    facts = kind if isinstance(kind, dict) else {"base": kind}
    base = _TYPES.get(str(facts.get("base", "string")), "text")
    listed = _ALTERNATIVES.fullmatch(str(facts.get("format", ""))) if base == "text" else None
    empty = item.get("null", inherited.get("null", []))
    read = day_in if base == "date" else number_in
    return Variable(
        name=_first(item.get("titles")) or str(item.get("name", "")),
        label=_first(item.get("dc:description") or item.get("dc:title") or item.get("description")),
        type=base,
        values=tuple((code, "") for code in listed[1].split("|")) if listed else (),
        missing=tuple(str(code) for code in (empty if isinstance(empty, list) else [empty]) if code),
        required=item.get("required", inherited.get("required")) is True,
        low=read(facts.get("minimum", facts.get("minInclusive", ""))),
        high=read(facts.get("maximum", facts.get("maxInclusive", ""))),
    )


def _first(value: Any) -> str:
    """A natural-language property: a text, a list of them, or one by language."""
    if isinstance(value, dict):
        value = next(iter(value.values()), "")
    if isinstance(value, list):
        value = value[0] if value else ""
    return str(value.get("@value", "")) if isinstance(value, dict) else str(value or "")
