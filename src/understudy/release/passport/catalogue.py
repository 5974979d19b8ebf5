"""DCAT-AP 3 and HealthDCAT-AP as JSON-LD: what European data catalogues read."""

import json
from typing import Any

from understudy.codebook.publication import is_address, is_email
from understudy.release.passport.description import Description, File, Kind, Table

_CONTEXT = {
    "adms": "http://www.w3.org/ns/adms#",
    "csvw": "http://www.w3.org/ns/csvw#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcatap": "http://data.europa.eu/r5r/",
    "dct": "http://purl.org/dc/terms/",
    "dpv": "https://w3id.org/dpv#",
    "eli": "http://data.europa.eu/eli/ontology#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "healthdcatap": "http://healthdataportal.eu/ns/health#",
    "prov": "http://www.w3.org/ns/prov#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "spdx": "http://spdx.org/rdf/terms#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_AUTHORITY = "http://publications.europa.eu/resource/authority"
_ACCESS = {"public": "PUBLIC", "restricted": "RESTRICTED", "non-public": "NON_PUBLIC"}
_HEALTH_LAW = "http://data.europa.eu/eli/reg/2025/327/oj"
"""The regulation on the European Health Data Space."""
_FILE_TYPES = {"parquet": "PARQUET", "csv": "CSV", "xlsx": "XLSX", "json": "JSON", "html": "HTML"}
_TYPES = {Kind.TEXT: "string", Kind.WHOLE: "integer", Kind.NUMBER: "number", Kind.DATE: "date"}
Node = dict[str, Any]


def dcat(release: Description) -> str:
    """``dcat-ap.jsonld``."""
    return _written(_dataset(release))


def health_dcat(release: Description) -> str:
    """``healthdcat-ap.jsonld``: the same with what the profile for health data asks for."""
    dataset = _dataset(release)
    law = {"@id": _HEALTH_LAW, "@type": "eli:LegalResource"}
    dataset["dcatap:applicableLegislation"] = law
    for distribution in dataset["dcat:distribution"]:
        distribution["dcatap:applicableLegislation"] = law
    dataset["dcat:theme"] = _concept("data-theme/HEAL", "Health")
    dataset["healthdcatap:healthCategory"] = [{"@id": address} for address in release.publication.health_categories]
    dataset["dct:publisher"]["dcat:contactPoint"] = _contact(release)
    if len(release.tables) == 1 and release.tables[0].rows is not None:
        number = {"@type": "xsd:nonNegativeInteger", "@value": str(release.tables[0].rows)}
        dataset["healthdcatap:numberOfRecords"] = number
    dataset["csvw:tableGroup"] = {"@type": "csvw:TableGroup", "csvw:table": [_table(one) for one in release.tables]}
    return _written(dataset)


def lacks_health_facts(release: Description) -> list[str]:
    """What HealthDCAT-AP asks for and nobody declared."""
    publication = release.publication
    lacking = [
        f"{name} in [publication]"
        for name in ("publisher", "contact", "keywords", "health_categories")
        if not getattr(publication, name)
    ]
    if release.access != "public":
        lacking.append("a health data access body, which tables that are not public must name and a release cannot")
    return lacking


def _written(dataset: Node) -> str:
    return json.dumps({"@context": _CONTEXT, **dataset}, indent=2, ensure_ascii=False) + "\n"


def _dataset(release: Description) -> Node:
    publication = release.publication
    dataset: Node = {
        "@id": publication.url or f"urn:understudy:{release.release}",
        "@type": "dcat:Dataset",
        "dct:identifier": release.release,
        "dct:title": _english(release.title),
        "dct:description": _english(release.text),
        "dct:issued": _day(release.day),
        "dct:accessRights": {
            "@id": f"{_AUTHORITY}/access-right/{_ACCESS[release.access]}",
            "@type": "dct:RightsStatement",
        },
        "dct:provenance": {"@type": "dct:ProvenanceStatement", "rdfs:label": _english(_origin(release))},
        "dcat:distribution": [_distribution(file, release) for table in release.tables for file in table.files]
        + [_distribution(file, release) for file in release.files],
    }
    if not release.has_real_records:  # the vocabulary has no word for anonymised records
        synthetic = _concept("dataset-type/SYNTHETIC_DATA", "Synthetic data")
        counted = _concept("dataset-type/STATISTICAL", "Statistical data")
        dataset["dct:type"] = counted if release.made.is_statistics else synthetic
    if publication.publisher:
        dataset["dct:publisher"] = {"@type": "foaf:Agent", "foaf:name": publication.publisher}
    if publication.contact:
        dataset["dcat:contactPoint"] = _contact(release)
    if publication.keywords:
        dataset["dcat:keyword"] = [_english(word) for word in publication.keywords]
    if publication.url:
        dataset["dcat:landingPage"] = {"@id": publication.url, "@type": "foaf:Document"}
    if publication.version:
        dataset["dcat:version"] = publication.version
    if publication.spatial:
        label = {"rdfs:label": publication.spatial}
        where = {"@id": publication.spatial} if is_address(publication.spatial) else label
        dataset["dct:spatial"] = {**where, "@type": "dct:Location"}
    if publication.period is not None:
        first, last = (_day(day.isoformat()) for day in publication.period)
        dataset["dct:temporal"] = {"@type": "dct:PeriodOfTime", "dcat:startDate": first, "dcat:endDate": last}
    return dataset


def _concept(name: str, label: str) -> Node:
    """A word of the European vocabularies; the profile wants its label beside it."""
    return {"@id": f"{_AUTHORITY}/{name}", "@type": "skos:Concept", "skos:prefLabel": _english(label)}


def _english(text: str) -> Node:
    return {"@language": "en", "@value": text}


def _day(day: str) -> Node:
    return {"@type": "xsd:date", "@value": day}


def _origin(release: Description) -> str:
    software = f"Made by the method {release.method} of understudy {release.version}."
    return f"It holds {release.kind}. {software} The manifest has every parameter and price."


def _contact(release: Description) -> Node:
    contact = release.publication.contact
    node: Node = {"@type": "vcard:Kind", "vcard:fn": release.publication.publisher or contact}
    if is_email(contact):
        node["vcard:hasEmail"] = {"@id": f"mailto:{contact}"}
    else:
        node["vcard:hasURL"] = {"@id": contact}
    return node


def _distribution(file: File, release: Description) -> Node:
    base = release.publication.url
    node: Node = {
        "@id": f"{base or 'urn:understudy:' + release.release}#{file.path}",
        "@type": "dcat:Distribution",
        "dct:title": _english(file.path),
        "dcat:accessURL": {"@id": base or f"urn:understudy:{release.release}", "@type": "rdfs:Resource"},
        "dcat:mediaType": {
            "@id": f"http://www.iana.org/assignments/media-types/{file.media}",
            "@type": "dct:MediaType",
        },
        "dcat:byteSize": {"@type": "xsd:nonNegativeInteger", "@value": str(file.size)},
        "spdx:checksum": {
            "@type": "spdx:Checksum",
            "spdx:algorithm": {
                "@id": "http://spdx.org/rdf/terms#checksumAlgorithm_sha256",
                "@type": "spdx:ChecksumAlgorithm",
            },
            "spdx:checksumValue": {"@type": "xsd:hexBinary", "@value": file.sha256},
        },
    }
    if file.form in _FILE_TYPES:
        kind = f"{_AUTHORITY}/file-type/{_FILE_TYPES[file.form]}"
        node["dct:format"] = {"@id": kind, "@type": "dct:MediaTypeOrExtent"}
    if address := release.publication.licence_address:
        node["dct:license"] = {"@id": address, "@type": "dct:LicenseDocument"}
    elif release.publication.licence:
        node["dct:rights"] = {"@type": "dct:RightsStatement", "rdfs:label": release.publication.licence}
    return node


def _table(table: Table) -> Node:
    return {
        "@type": "csvw:Table",
        "dct:title": table.name,
        "csvw:column": [
            {
                "@type": "csvw:Column",
                "csvw:name": field.name,
                "csvw:titles": field.name,
                "dct:description": field.description or field.name,
                "csvw:datatype": _TYPES[field.kind],
            }
            for field in table.fields
        ],
    }
