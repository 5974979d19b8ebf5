"""Passports loaded by the client libraries of their formats, for every kind of release."""

import json
from pathlib import Path

import pytest
from passport_releases import TABLES, linked

import understudy as us
from understudy.release.folders import digest_of
from understudy.release.passport.writing import write_passport

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def rows_of(place: Path) -> int:
    return json.loads((place / "manifest.json").read_text(encoding="utf-8"))["rows"]["number"]


@pytest.mark.parametrize("kind", TABLES)
def test_mlcroissant_loads_the_records(places, kind) -> None:
    import mlcroissant

    dataset = mlcroissant.Dataset(jsonld=str(places[kind] / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
    assert dataset.metadata.ctx.conforms_to.value == "http://mlcommons.org/croissant/1.1"
    (records,) = dataset.metadata.record_sets
    rows = list(dataset.records(record_set=records.id))
    assert len(rows) == rows_of(places[kind])
    assert all(len(row) == len(records.fields) for row in rows)


@pytest.mark.parametrize("kind", TABLES)
def test_frictionless_validates_the_package(places, kind) -> None:
    import frictionless

    place = places[kind]
    package = frictionless.Package(str(place / "datapackage.json"))
    table = package.resources[0]
    if table.format == "csv":  # reading Parquet would need more than the library itself
        report = frictionless.validate(str(place / "datapackage.json"))
        assert report.valid, report.flatten(["type", "note"])
        assert len(table.read_rows()) == rows_of(place)
    assert {file.path for file in package.resources[1:]} >= {"codebook.toml", "manifest.json"}


def test_frictionless_would_notice_a_value_outside_the_codebook(tmp_path) -> None:
    import frictionless

    place = TABLES["synthetic"](tmp_path / "r")
    us.passport(place, formats="frictionless")
    text = (place / "synthetic.csv").read_text(encoding="utf-8").splitlines()
    (place / "synthetic.csv").write_text("\n".join([text[0], *("X" + line[3:] for line in text[1:])]) + "\n")
    assert not frictionless.validate(str(place / "datapackage.json")).valid


def test_linked_tables_have_keys_that_both_clients_read(tmp_path) -> None:
    import frictionless
    import mlcroissant

    described = linked(tmp_path / "r")
    write_passport(described, tmp_path / "r", manifest_digest=digest_of(tmp_path / "r" / "manifest.json"))
    report = frictionless.validate(str(tmp_path / "r" / "datapackage.json"))
    assert report.valid, report.flatten(["type", "note"])
    dataset = mlcroissant.Dataset(jsonld=str(tmp_path / "r" / "croissant.json"))
    assert [one.id for one in dataset.metadata.record_sets] == ["people", "stays"]
    parent_key = dataset.metadata.record_sets[1].fields[1]
    assert parent_key.references.field == "people/1-person-id"


def test_a_row_without_its_parent_is_noticed(tmp_path) -> None:
    import frictionless

    described = linked(tmp_path / "r", orphan=True)
    write_passport(described, tmp_path / "r", manifest_digest="", formats=["frictionless"])
    report = frictionless.validate(str(tmp_path / "r" / "datapackage.json"))
    assert [error for (error,) in report.flatten(["type"])] == ["foreign-key"]
