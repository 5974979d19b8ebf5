"""Frictionless: a data package (``datapackage.json``) or a Table Schema."""

from collections.abc import Mapping
from typing import Any

from understudy.codebook import FileReading
from understudy.codebook.encode import spelling
from understudy.errors import DataError, quoted
from understudy.sources.documents.variables import Variable, day_in, number_in

_TYPES = {"integer": "integer", "year": "integer", "number": "number", "boolean": "boolean", "string": "text"}
_TYPES |= {"date": "date", "datetime": "date"}


def is_frictionless(document: Mapping[str, Any]) -> bool:
    """Whether a JSON document is one of theirs."""
    return isinstance(document.get("fields"), list) or isinstance(document.get("resources"), list)


def is_of_release(document: Mapping[str, Any]) -> bool:
    """Whether it is in the passport of a release of ours, which lists the manifest and the codebook."""
    listed = [item.get("path") for item in document.get("resources", []) if isinstance(item, dict)]
    return "manifest.json" in listed and "codebook.toml" in listed


def variables_of(document: Mapping[str, Any], table: str | None) -> tuple[list[Variable], FileReading]:
    """The fields of the one table, or of the one that was named, and how its file is read."""
    resource: Mapping[str, Any] = {"schema": document}
    if "resources" in document:
        with_schema = [item for item in document["resources"] if isinstance(item, dict) and "schema" in item]
        names = [str(item.get("name", item.get("path", ""))) for item in with_schema]
        chosen = [item for item, name in zip(with_schema, names, strict=True) if table in (None, name)]
        if len(chosen) != 1:
            raise DataError(f"the data package describes the tables {quoted(names) or 'none'}; name one with --table.")
        resource = chosen[0]
    schema = resource["schema"]
    fields = schema.get("fields") if isinstance(schema, dict) else None
    if not isinstance(fields, list) or not all(isinstance(field, dict) and field.get("name") for field in fields):
        raise DataError(
            "the schema of the data package lists no fields with names; write it into the document itself, since other "
            "files and addresses are not opened."
        )
    absent = [str(code) for code in schema.get("missingValues", [""])]
    return [_variable(field, absent) for field in fields], _reading(resource)


def _reading(resource: Mapping[str, Any]) -> FileReading:
    dialect = resource.get("dialect") if isinstance(resource.get("dialect"), dict) else {}
    assert isinstance(dialect, dict)
    delimiter = str(dialect.get("delimiter", ""))
    encoding = str(resource.get("encoding", ""))
    return FileReading(
        delimiter=delimiter if len(delimiter) == 1 and delimiter != "," else "",
        encoding=encoding if encoding.lower() not in ("", "utf-8", "utf8") else "",
    )


def _variable(field: Mapping[str, Any], absent: list[str]) -> Variable:
    limits = field.get("constraints") if isinstance(field.get("constraints"), dict) else {}
    assert isinstance(limits, dict)
    kind = _TYPES.get(str(field.get("type", "string")), "text")
    listed = field.get("categories") or limits.get("enum") or []
    values = tuple(
        (spelling(item["value"]), str(item.get("label", ""))) if isinstance(item, dict) else (spelling(item), "")
        for item in listed
        if not isinstance(item, dict) or "value" in item
    )
    own = field.get("missingValues", absent)
    codes = [str(code["value"] if isinstance(code, dict) else code) for code in own]
    read = day_in if kind == "date" else number_in
    return Variable(
        name=str(field["name"]),
        label=str(field.get("title") or field.get("description") or ""),
        type=kind,
        values=values,
        missing=tuple(code for code in codes if code),
        required=limits.get("required") is True,
        low=read(limits.get("minimum", "")),
        high=read(limits.get("maximum", "")),
        is_ordered=field.get("categoriesOrdered") is True,
    )
