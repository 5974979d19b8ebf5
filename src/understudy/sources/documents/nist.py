"""The JSON schemas and data dictionaries that NIST publishes with its excerpts of census data."""

from collections.abc import Mapping
from typing import Any

from understudy.codebook.encode import spelling
from understudy.sources.documents.variables import Variable, number_in


def is_nist(document: Mapping[str, Any]) -> bool:
    """Whether every entry says what NIST's do of a column."""
    columns = _columns(document)
    return bool(columns) and all(
        isinstance(item, dict) and {"dtype", "values", "description"} & set(item) for item in columns.values()
    )


def variables_of(document: Mapping[str, Any]) -> list[Variable]:
    """All columns in their order."""
    return [_variable(name, item) for name, item in _columns(document).items()]


def _columns(document: Mapping[str, Any]) -> Mapping[str, Any]:
    columns = document.get("schema", document)
    return columns if isinstance(columns, dict) else {}


def _variable(name: str, item: Mapping[str, Any]) -> Variable:
    listed = item.get("values", [])
    limits = {**item, **(listed if isinstance(listed, dict) else {})}
    if isinstance(listed, dict):
        values = tuple((spelling(code), str(label)) for code, label in listed.items() if code not in ("min", "max"))
    else:
        values = tuple((spelling(code), "") for code in listed if code is not None)
    kind = str(item.get("dtype", ""))
    has_null = item.get("has_null") is True and item.get("null_value") is not None
    return Variable(
        name=name,
        label=str(item.get("description", "")),
        type="integer" if "int" in kind else "number" if "float" in kind else "",
        values=values,
        missing=(spelling(item["null_value"]),) if has_null else (),
        required=not has_null,
        low=number_in(limits.get("min", "")),
        high=number_in(limits.get("max", "")),
    )
