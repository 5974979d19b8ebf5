"""Passports against the official schemas, where these are on the machine.

The schemas are published under licences of their own and are not part of this repository. The folder that the
environment variable ``UNDERSTUDY_SCHEMAS`` names, or ``passport_schemas`` in that of ``UNDERSTUDY_DATA``, holds

- ``ddi/codebook.xsd`` with the files that it imports (DDI-Codebook 2.5, LGPL-3.0-or-later),
- ``dcat/dcat-ap-SHACL.ttl`` (DCAT-AP 3.0.1, CC-BY-4.0),
- ``registry/deployments-schema.yaml`` (opendp/deployments-registry-data, MIT).

Without them, ``passport_facts`` has our own lists.
"""

import os
from pathlib import Path

import pytest
import yaml
from passport_releases import DP_TABLES, TABLES, linked

from understudy.release.passport.writing import write_passport

pytestmark = [
    pytest.mark.data,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def schemas() -> Path:
    named = os.environ.get("UNDERSTUDY_SCHEMAS")
    place = Path(named) if named else Path(os.environ.get("UNDERSTUDY_DATA", "")) / "passport_schemas"
    if not (place / "ddi" / "codebook.xsd").is_file():
        pytest.skip("group data: no official schemas; see tests/passport/test_passport_official.py")
    return place


@pytest.fixture(scope="module")
def all_places(places, tmp_path_factory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("linked")
    write_passport(linked(root / "r"), root / "r", manifest_digest="")
    return {**places, "linked": root / "r"}


@pytest.fixture(scope="module")
def ddi_schema(schemas):
    import xmlschema

    return xmlschema.XMLSchema(str(schemas / "ddi" / "codebook.xsd"), allow="local")


@pytest.fixture(scope="module")
def shapes(schemas):
    import rdflib

    return rdflib.Graph().parse(schemas / "dcat" / "dcat-ap-SHACL.ttl")


@pytest.fixture(scope="module")
def registry_validator(schemas):
    import jsonschema

    schema = yaml.safe_load((schemas / "registry" / "deployments-schema.yaml").read_text(encoding="utf-8"))
    kind = jsonschema.Draft7Validator
    return kind(schema, format_checker=kind.FORMAT_CHECKER)


@pytest.mark.parametrize("kind", [*TABLES, "linked"])
def test_ddi_codebook_2_5(all_places, kind, ddi_schema) -> None:
    assert [str(error.reason) for error in ddi_schema.iter_errors(str(all_places[kind] / "ddi-codebook.xml"))] == []


@pytest.mark.parametrize("name", ["dcat-ap.jsonld", "healthdcat-ap.jsonld"])
@pytest.mark.parametrize("kind", [*TABLES, "linked"])
def test_dcat_ap_3(all_places, kind, name, shapes) -> None:
    import pyshacl
    import rdflib

    if name not in [path.name for path in all_places[kind].iterdir()]:
        assert kind in ("commuted", "imputed")
        return
    data = rdflib.Graph().parse(all_places[kind] / name, format="json-ld")
    conforms, _, report = pyshacl.validate(data, shacl_graph=shapes)
    assert conforms, report


@pytest.mark.parametrize("kind", [*(kind for kind in DP_TABLES if kind != "commuted"), "linked"])
def test_deployments_registry(all_places, kind, registry_validator) -> None:
    entry = yaml.safe_load((all_places[kind] / "dp-registry.yaml").read_text(encoding="utf-8"))
    assert [error.message for error in registry_validator.iter_errors(entry)] == []


def test_the_schemas_would_notice_faults(all_places, ddi_schema, shapes, registry_validator) -> None:
    import pyshacl
    import rdflib

    place = all_places["parquet_only"]
    text = (place / "ddi-codebook.xml").read_text(encoding="utf-8")
    assert not ddi_schema.is_valid(text.replace("<titl>", "<title>").replace("</titl>", "</title>"))
    data = rdflib.Graph().parse(place / "dcat-ap.jsonld", format="json-ld")
    data.remove((None, rdflib.DCTERMS.title, None))
    assert not pyshacl.validate(data, shacl_graph=shapes)[0]
    entry = yaml.safe_load((place / "dp-registry.yaml").read_text(encoding="utf-8"))
    assert not registry_validator.is_valid({**entry, "tier": 0})
