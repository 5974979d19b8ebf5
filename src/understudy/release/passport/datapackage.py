"""Frictionless Data Package: every table with its schema, keys and foreign keys."""

import json
from typing import Any

from understudy.codebook.publication import is_address, is_email, licence_id
from understudy.release.passport.description import Description, Field, File, Kind, Table, slug

_TYPES = {Kind.TEXT: "string", Kind.WHOLE: "integer", Kind.NUMBER: "number", Kind.DATE: "date"}


def datapackage(release: Description) -> str:
    """``datapackage.json``."""
    publication = release.publication
    document: dict[str, Any] = {
        "name": slug(release.title),
        "id": release.release,
        "title": release.title,
        "description": release.text,
        "created": release.created,
        "licenses": _licences(release),
        "homepage": publication.url,
        "version": publication.version,
        "keywords": list(publication.keywords),
        "contributors": _contributors(release),
        "resources": [*(_resource(table, release) for table in release.tables), *map(_plain, release.files)],
    }
    return json.dumps({name: value for name, value in document.items() if value}, indent=2, ensure_ascii=False) + "\n"


def _licences(release: Description) -> list[dict[str, str]]:
    publication = release.publication
    if not publication.licence:
        return []
    identifier, address = licence_id(publication.licence), publication.licence_address
    return [{name: value for name, value in (("name", identifier), ("path", address)) if value}]


def _contributors(release: Description) -> list[dict[str, str]]:
    publication = release.publication
    if not publication.publisher:
        return []
    entry = {"title": publication.publisher, "role": "publisher"}
    if is_email(publication.contact):
        entry["email"] = publication.contact
    if is_address(publication.contact):
        entry["path"] = publication.contact
    return [entry]


def _plain(file: File) -> dict[str, Any]:
    """A file that is described as a file."""
    return {
        "name": slug(file.path),
        "type": "file",
        "path": file.path,
        "format": file.form,
        "mediatype": file.media,
        "bytes": file.size,
        "hash": file.digest,
    }


def _resource(table: Table, release: Description) -> dict[str, Any]:
    """A table: its CSV file where there is one, which every reader can open; otherwise Parquet."""
    chosen = table.in_form("csv")
    files = (chosen,) if chosen is not None else table.parts
    described: dict[str, Any] = {
        "name": slug(table.name),
        "type": "table",
        "title": table.name,
        "path": files[0].path if len(files) == 1 else [file.path for file in files],
        "format": files[0].form,
        "mediatype": files[0].media,
        "schema": _schema(table, release, is_text=chosen is not None),
    }
    if chosen is not None:
        described["encoding"] = "utf-8"
    if len(files) == 1:
        described["bytes"], described["hash"] = files[0].size, files[0].digest
    return described


def _schema(table: Table, release: Description, *, is_text: bool) -> dict[str, Any]:
    tokens = [field.missing for field in table.fields if field.missing is not None]
    described: dict[str, Any] = {"fields": [_field(field, is_text=is_text) for field in table.fields]}
    if is_text and tokens:
        described["missingValues"] = list(dict.fromkeys(["", *tokens]))
    if table.key:
        described["primaryKey"] = list(table.key)
    if table.parent:
        parent = next(other for other in release.tables if other.name == table.parent)
        described["foreignKeys"] = [
            {
                "fields": list(table.parent_key),
                "reference": {"resource": slug(parent.name), "fields": list(parent.key)},
            }
        ]
    return described


def _field(field: Field, *, is_text: bool) -> dict[str, Any]:
    constraints: dict[str, Any] = {} if field.missing is not None else {"required": True}
    if field.levels:
        constraints["enum"] = [level for level, _ in field.levels]
    if field.low and field.kind is not Kind.TEXT:
        ends = (field.low, field.high)
        numbers = {Kind.WHOLE: int, Kind.NUMBER: float}
        low, high = map(numbers[field.kind], ends) if field.kind in numbers else ends
        constraints["minimum"], constraints["maximum"] = low, high
    described: dict[str, Any] = {
        "name": field.name,
        "type": _TYPES[field.kind],
        "description": field.description,
        "constraints": constraints,
    }
    if labelled := [{"value": level, "label": label} for level, label in field.levels if label]:
        described["categories"] = labelled
    return {name: value for name, value in described.items() if value}
