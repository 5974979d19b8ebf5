"""What a publisher declares about a data set: read, checked and carried into manifests."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook, Publication
from understudy.errors import CodebookError

FULL = Publication(
    title='Stays "2010"',
    description="One row per stay.\nSynthetic.",
    publisher="Institut für Beispiele",
    contact="data@example.org",
    licence="CC-BY-4.0",
    version="1.0.0",
    keywords=("hospital", "entlassung"),
    spatial="Norway",
    temporal="2009/2010-06",
    url="https://example.org/stays",
    citation="Example (2026): Stays.",
)
BOOK = Codebook(columns=(Categorical(name="sex", levels=("F", "M")),), publication=FULL)


def test_the_table_survives_the_round_trip() -> None:
    text = BOOK.to_toml()
    assert Codebook.from_toml(text) == BOOK
    assert Codebook.from_toml(text).to_toml() == text
    assert "[publication]" not in replace(BOOK, publication=None).to_toml()


def test_all_faults_come_at_once() -> None:
    text = (
        replace(BOOK, publication=None)
        .to_toml()
        .replace(
            "format = 1",
            'format = 1\n[publication]\ncontact = "nobody"\nlicence = "open"\ntemporal = "2010/2009"\n'
            'url = "example.org"\nversion = " "\nkeywords = ["a", ""]\ntitle = "a\\u0007b"',
        )
    )
    with pytest.raises(CodebookError) as caught:
        Codebook.from_toml(text)
    named = {fault.split()[2] for fault in caught.value.faults}
    assert named == {"contact", "licence", "temporal", "url", "version", "keywords", "title"}
    assert all("it must be" in fault and "Try" in fault for fault in caught.value.faults)


def test_unknown_keys_and_wrong_types_are_named() -> None:
    plain = replace(BOOK, publication=None).to_toml()
    for lines, word in (('licens = "x"', "licens"), ("version = 1.0", "version"), ('keywords = "a"', "keywords")):
        with pytest.raises(CodebookError, match=word):
            Codebook.from_toml(plain.replace("format = 1", f"format = 1\n[publication]\n{lines}"))


def test_a_licence_has_an_address_unless_it_is_private() -> None:
    assert FULL.licence_address == "https://spdx.org/licenses/CC-BY-4.0"
    assert Publication(licence="https://example.org/terms").licence_address == "https://example.org/terms"
    assert Publication(licence="LicenseRef-agreement").licence_address == ""


@pytest.mark.parametrize("kind", ["synthetic", "counts", "anonymised"])
def test_manifests_carry_it_and_verify_compares_it(kind: str, tmp_path: Path) -> None:
    table = pa.table({"sex": ["F", "M"] * 20})
    if kind == "counts":
        us.count(table, BOOK, ["sex"], 1.0, out=tmp_path / "r")
    elif kind == "anonymised":
        us.anonymize(table, BOOK, 5, quasi=["sex"], suppression=0.0, out=tmp_path / "r")
    else:
        us.synthesize(table, BOOK, 20, epsilon=1.0, delta=1e-6, out=tmp_path / "r")
    path = tmp_path / "r" / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    assert manifest["publication"] == FULL.to_dict()
    assert us.verify(tmp_path / "r").is_valid
    manifest["publication"]["licence"] = "CC0-1.0"
    path.write_text(json.dumps(manifest), encoding="utf-8")
    assert any("publication" in problem for problem in us.verify(tmp_path / "r").problems)
