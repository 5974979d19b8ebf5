"""What every passport says, held against our own lists; the promise above all."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from passport_facts import catalogue_faults, ddi_faults, registry_faults
from passport_releases import BOOK, DP_TABLES, STAYS, TABLES, linked, score

import understudy as us
from understudy.codebook import Publication
from understudy.errors import CodebookError, ParameterError, ReleaseError
from understudy.release.folders import digest_of
from understudy.release.passport.writing import write_passport

FILES = {
    "croissant": "croissant.json",
    "frictionless": "datapackage.json",
    "ddi": "ddi-codebook.xml",
    "dcat-ap": "dcat-ap.jsonld",
    "healthdcat-ap": "healthdcat-ap.jsonld",
    "dp-registry": "dp-registry.yaml",
    "card": "README.md",
}


def manifest_of(place: Path) -> dict:
    return json.loads((place / "manifest.json").read_text(encoding="utf-8"))


def read(place: Path, form: str) -> str:
    return (place / FILES[form]).read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", TABLES)
def test_ddi_has_its_elements_in_order(places, kind) -> None:
    assert ddi_faults(read(places[kind], "ddi")) == []


@pytest.mark.parametrize("kind", TABLES)
def test_catalogues_find_what_they_ask_for(places, kind) -> None:
    assert catalogue_faults(json.loads(read(places[kind], "dcat-ap")), health=False) == []
    if (places[kind] / FILES["healthdcat-ap"]).exists():
        assert catalogue_faults(json.loads(read(places[kind], "healthdcat-ap")), health=True) == []


def test_which_kinds_have_which_formats(places) -> None:
    with_entry = {kind for kind, place in places.items() if (place / FILES["dp-registry"]).exists()}
    assert with_entry == set(DP_TABLES) - {"commuted"}  # a commute has no codebook in which a place is declared
    assert all((place / FILES["card"]).exists() for place in places.values())
    with_health = {kind for kind, place in places.items() if (place / FILES["healthdcat-ap"]).exists()}
    assert with_health == set(TABLES) - {"commuted", "imputed"}


@pytest.mark.parametrize("kind", [kind for kind in DP_TABLES if kind != "commuted"])
def test_registry_entries_state_the_promise_of_the_manifest(places, kind) -> None:
    entry = yaml.safe_load(read(places[kind], "dp-registry"))
    assert registry_faults(entry) == []
    total, stated = manifest_of(places[kind])["guarantee"], entry["deployment"]["privacy_loss"]["privacy_parameters"]
    assert stated["epsilon"] >= total["epsilon"] * (1 - 1e-8)
    assert stated["epsilon"] == pytest.approx(total["epsilon"], rel=1e-4)
    assert stated.get("delta", 0.0) == pytest.approx(total["delta"], rel=1e-4)


@pytest.mark.parametrize("kind", TABLES)
def test_every_format_carries_the_promise_or_says_that_there_is_none(places, kind) -> None:
    statement = manifest_of(places[kind])["statement"]
    if kind == "imputed":
        statement = "It is confidential: it has no formal privacy guarantee and must not be published."
    assert statement in json.loads(read(places[kind], "croissant"))["description"]
    assert statement in json.loads(read(places[kind], "frictionless"))["description"]
    assert statement in json.loads(read(places[kind], "dcat-ap"))["dct:description"]["@value"]


def test_a_confidential_table_shows_no_number_of_records_and_is_not_public(places) -> None:
    place = places["imputed"]
    dataset = json.loads(read(place, "dcat-ap"))
    assert dataset["dct:accessRights"]["@id"].endswith("/NON_PUBLIC")
    assert "caseQnty" not in read(place, "ddi")
    assert "Confidential: this must not be published." in read(place, "card")
    (records,) = json.loads(read(place, "croissant"))["recordSet"]
    assert "description" not in records


def test_a_seeded_release_says_so(places) -> None:
    assert "made with a seed" in read(places["seeded"], "card")
    assert not (places["seeded"] / FILES["dp-registry"]).exists()


@pytest.mark.parametrize("kind", TABLES)
def test_verify_knows_the_passport_and_notices_a_change(places, kind, tmp_path) -> None:
    import shutil

    place = shutil.copytree(places[kind], tmp_path / "r")
    verdict = us.verify(place)
    assert verdict.is_valid, verdict.problems
    assert "the passport is that of this release" in verdict.passed
    (place / "README.md").write_text("A better promise.", encoding="utf-8")
    assert "README.md was changed after the passport was written" in us.verify(place).problems
    listed = json.loads((place / "passport.json").read_text(encoding="utf-8"))
    listed["files"]["README.md"] = digest_of(place / "README.md")
    (place / "passport.json").write_text(json.dumps(listed), encoding="utf-8")
    assert any("README.md does not say what the manifest" in problem for problem in us.verify(place).problems)


def test_verify_refuses_what_only_looks_like_a_passport(tmp_path) -> None:
    place = TABLES["parquet_only"](tmp_path / "r")
    (place / "passport.json").write_text("[" * 4, encoding="utf-8")
    problems = us.verify(place).problems
    assert any("passport.json cannot be read" in problem for problem in problems)
    listed = {
        "passport": 1,
        "version": "0",
        "manifest": digest_of(place / "manifest.json"),
        "files": {"notes.html": ""},
    }
    (place / "passport.json").write_text(json.dumps(listed), encoding="utf-8")
    (place / "notes.html").write_text("confidential figures", encoding="utf-8")
    assert any(problem.startswith("notes.html lies in the folder") for problem in us.verify(place).problems)


def test_a_passport_is_written_once_and_where_it_is_told(tmp_path) -> None:
    place = TABLES["parquet_only"](tmp_path / "r")
    made = us.passport(place, formats=["card", "ddi"], out=tmp_path)
    assert sorted(made.files) == ["card", "ddi"]
    assert sorted(path.name for path in place.iterdir()) == sorted([*manifest_of(place)["files"], "manifest.json"])
    with pytest.raises(ReleaseError, match="exists already"):
        us.passport(place, formats="card", out=tmp_path)
    with pytest.raises(ReleaseError, match="no folder"):
        us.passport(place, out=tmp_path / "nowhere")


def test_what_is_lacking_is_named_all_at_once(tmp_path) -> None:
    place = tmp_path / "r"
    us.synthesize(STAYS, replace(BOOK, publication=None), 40, epsilon=1.0, delta=1e-6, out=place)
    with pytest.raises(ParameterError) as caught:
        us.passport(place, formats=["dp-registry", "healthdcat-ap"])
    for word in ("publisher", "spatial", "intended_use", "health_categories", "contact", "keywords"):
        assert word in str(caught.value)
    with pytest.raises(ParameterError, match="must be one of croissant"):
        us.passport(place, formats="pdf")
    made = us.passport(place)
    assert set(made.left_out) == {"dp-registry", "healthdcat-ap"}
    assert us.verify(place).is_valid


def test_a_publication_may_come_from_a_file(tmp_path) -> None:
    place = TABLES["commuted"](tmp_path / "r")
    (tmp_path / "bad.toml").write_text('[publication]\nlicence = "open"\ntitel = "x"\n', encoding="utf-8")
    with pytest.raises(CodebookError) as caught:
        us.passport(place, publication=tmp_path / "bad.toml")
    assert len(caught.value.faults) == 2
    (tmp_path / "p.toml").write_text(BOOK.to_toml(), encoding="utf-8")
    made = us.passport(place, publication=tmp_path / "p.toml")
    assert "dp-registry" in made.files
    entry = yaml.safe_load(read(place, "dp-registry"))
    assert registry_faults(entry) == []
    assert us.verify(place).is_valid


def test_a_score_is_a_model_and_no_table(tmp_path) -> None:
    model = score(tmp_path / "s")
    with pytest.raises(ParameterError, match="out"):
        us.passport(model)
    made = us.passport(model, out=tmp_path)  # what is declared is in its codebook
    assert set(made.files) == {"card", "dp-registry"}
    assert all("a risk score is a model" in why for why in made.left_out.values())
    entry = yaml.safe_load(read(tmp_path, "dp-registry"))
    assert registry_faults(entry) == []
    assert entry["deployment"]["basic"]["data_product_type"] == "Machine learning model"


def test_linked_tables_are_described_with_their_keys(tmp_path) -> None:
    described = linked(tmp_path / "r")
    write_passport(described, tmp_path / "r", manifest_digest="")
    assert ddi_faults(read(tmp_path / "r", "ddi")) == []
    assert "person id is the key of a row of people" in read(tmp_path / "r", "card")
    health = json.loads(read(tmp_path / "r", "healthdcat-ap"))
    assert catalogue_faults(health, health=True) == []
    assert len(health["csvw:tableGroup"]["csvw:table"]) == 2


def test_a_licence_of_one_s_own_and_a_contact_on_the_web(tmp_path) -> None:
    place = TABLES["parquet_only"](tmp_path / "r")
    own = Publication(
        licence="LicenseRef-agreement", contact="https://example.org/ask", publisher="P", access="restricted"
    )
    us.passport(place, publication=own)
    assert catalogue_faults(json.loads(read(place, "dcat-ap")), health=False) == []
    assert json.loads(read(place, "dcat-ap"))["dct:accessRights"]["@id"].endswith("/RESTRICTED")
    assert json.loads(read(place, "frictionless"))["licenses"] == [{"name": "LicenseRef-agreement"}]
    assert us.verify(place).is_valid


def test_names_in_a_card_cannot_become_markup(places) -> None:
    card = read(places["synthetic"], "card")
    assert "<registered>" not in card
    assert "Sex \\| as \\<registered\\>" in card
