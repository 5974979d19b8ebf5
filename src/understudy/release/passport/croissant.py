"""Croissant 1.1 (JSON-LD): what machine-learning tools and dataset searches read."""

import json
from typing import Any

from understudy.release.passport.description import Description, Field, File, Kind, Table, slug

_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    **{
        word: f"cr:{word}"
        for word in (
            "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileProperty",
            "fileObject", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5",
            "parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate",
            "separator", "source", "subField", "transform",
        )
    },
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    "sc": "https://schema.org/",
}  # fmt: skip
"""The words of the format; readers ask for exactly these."""
_PARQUET = "application/x-parquet"
"""The format has its own word."""
_TYPES = {Kind.TEXT: "sc:Text", Kind.WHOLE: "sc:Integer", Kind.NUMBER: "sc:Float", Kind.DATE: "sc:Date"}


def croissant(release: Description) -> str:
    """``croissant.json``."""
    publication = release.publication
    document: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": release.title,
        "description": release.text,
        "identifier": release.release,
        "dateCreated": release.created,
        "datePublished": release.day,
        "citeAs": release.citation,
        "isLiveDataset": False,
        "rai:dataLimitations": [*release.warnings, *(f"Takes for granted: {words}" for words in release.assumptions)],
        "rai:personalSensitiveInformation": [release.statement],
        "distribution": [*_files(release)],
        "recordSet": [_record_set(table, release) for table in release.tables],
    }
    if publication.licence:
        document["license"] = publication.licence_address or publication.licence
    if publication.publisher:
        document["publisher"] = document["creator"] = {"@type": "sc:Organization", "name": publication.publisher}
    optional = {
        "url": publication.url,
        "version": publication.version,
        "keywords": list(publication.keywords),
        "spatialCoverage": publication.spatial,
        "temporalCoverage": publication.temporal,
    }
    document.update({name: value for name, value in optional.items() if value})
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _files(release: Description) -> list[dict[str, Any]]:
    entries = [_file(file) for table in release.tables for file in table.files] + [_file(f) for f in release.files]
    for table in release.tables:
        if len(table.parts) > 1:
            folder = table.parts[0].path.rpartition("/")[0]
            entries.append(
                {
                    "@type": "cr:FileSet",
                    "@id": f"{slug(table.name)}-parts",
                    "encodingFormat": _PARQUET,
                    "includes": f"{folder}/*.parquet",
                }
            )
    return entries


def _file(file: File) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": file.path,
        "contentUrl": file.path,
        "contentSize": f"{file.size} B",
        "encodingFormat": _PARQUET if file.form == "parquet" else file.media,
        "sha256": file.sha256,
    }


def _identifier(table: Table, name: str) -> str:
    """Of a column, without the characters that an identifier cannot hold; its place tells like names apart."""
    place = next(number for number, field in enumerate(table.fields, start=1) if field.name == name)
    return f"{slug(table.name)}/{place}-{slug(name)}"


def _record_set(table: Table, release: Description) -> dict[str, Any]:
    described: dict[str, Any] = {
        "@type": "cr:RecordSet",
        "@id": slug(table.name),
        "name": table.name,
        "field": [_field(table, field, release) for field in table.fields],
    }
    if table.rows is not None:
        described["description"] = f"{table.rows:,} rows"
    if table.key:
        described["key"] = [{"@id": _identifier(table, name)} for name in table.key]
    return described


def _field(table: Table, field: Field, release: Description) -> dict[str, Any]:
    in_parts = len(table.parts) > 1
    source = (
        {"fileSet": {"@id": f"{slug(table.name)}-parts"}} if in_parts else {"fileObject": {"@id": table.parts[0].path}}
    )
    described: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": _identifier(table, field.name),
        "name": field.name,
        "description": field.description or field.name,
        "dataType": _TYPES[field.kind],
        "source": {**source, "extract": {"column": field.name}},
    }
    if field.name in table.parent_key:
        parent = next(other for other in release.tables if other.name == table.parent)
        key = parent.key[table.parent_key.index(field.name)]
        described["references"] = {"field": {"@id": _identifier(parent, key)}}
    return described
