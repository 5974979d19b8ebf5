"""Packs: what the files of facts say, how codes of files are found in them, and the columns that follow."""

import datetime as dt
from dataclasses import replace

import pyarrow as pa
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook, Coded, Origin, Pack, PersonUnit, Text
from understudy.codebook.columns import Role
from understudy.codebook.declare import declare_text
from understudy.codebook.encode import encode_value
from understudy.codebook.packs import SHIPPED, shipped_pack
from understudy.errors import CodebookError
from understudy.sources.draft_codes import proposed

OWN = "# source: our own table\ncode,group,label\nheart,,Of the heart\n410,heart,\n411,heart,\n480,lung,pneumonia\n"


@pytest.mark.parametrize("name", SHIPPED)
def test_every_pack_says_where_it_comes_from_and_every_code_finds_itself(name):
    pack = shipped_pack(name)
    assert pack.title and pack.source and pack.said["licence"]
    assert {code: pack.find(code) for code in pack.codes} == {code: code for code in pack.codes}
    assert {node: pack.find(node) for node in pack.nodes} == {node: node for node in pack.nodes}
    assert all(len(chain) == len(pack.levels) for chain in pack.codes.values())
    assert all(pack.labels.get(chain[0]) for chain in pack.nodes.values()) or name in ("iso_countries", "us_states")


@pytest.mark.parametrize(
    ("pack", "text", "found"),
    [
        ("icd9", "250.83", "250"), ("icd9", "25083", "250"), ("icd9", "250", "250"), ("icd9", "38", "038"),
        ("icd9", "8.45", "008"), ("icd9", "V57", "V57"), ("icd9", "v5789", "V57"), ("icd9", "E909", "E909"),
        ("icd9", "E9090", "E909"), ("icd9", " 428 ", "428"), ("icd9", "390-459", "390-459"), ("icd9", "zzz", None),
        ("icd9", "", None), ("icd9", "407", None), ("icd10", "e11.9", "E11"), ("icd10", "E119", "E11"),
        ("icd10", "C7A.1", "C7A"), ("icd10", "I1A", "I1A"), ("ms_drg", "1", "001"), ("ms_drg", "470", "470"),
        ("us_states", "New York", "NY"), ("us_states", "36", "NY"), ("us_states", "9", "CT"),
        ("us_counties", "1001", "01001"), ("us_counties", "36059", "36059"), ("us_counties", "NY", "NY"),
        ("iso_countries", "deu", "DE"), ("iso_countries", "DE", "DE"), ("naics", "622110", "622"),
        ("naics", "62", "62"), ("sic", "8062", "80"),
    ],
)  # fmt: skip
def test_codes_are_found_as_they_stand_in_files(pack, text, found):
    assert shipped_pack(pack).find(text) == found


def test_a_code_makes_chapter_block_and_code():
    text = 'format = 1\n\n[[columns]]\nname = "diag"\nkind = "icd9"\nmissing = "?"\n'
    book = Codebook.from_toml(text)
    assert [(c.name, c.is_modelled) for c in book.columns] == [
        ("diag_chapter", True), ("diag_block", False), ("diag", False),
    ]  # fmt: skip
    said = {value: [c.labels[encode_value(c, value)] for c in book.columns] for value in ("250.83", "38", "?", "xx")}
    assert said == {
        "250.83": ["240-279", "249-259", "250"],
        "38": ["001-139", "030-041", "038"],
        "?": ["?", "?", "?"],
        "xx": ["other", "other", "other"],
    }
    assert Codebook.from_toml(book.to_toml()) == book and book.to_toml().count("[[columns]]") == 1
    plain = Codebook(columns=(replace(book.column("diag"), leading_zeros=False),))
    assert plain.column("diag").labels[encode_value(plain.column("diag"), "038")] == "38"
    assert plain.digest != book.digest


def test_an_attestation_of_the_code_is_one_of_its_parents_and_falls_with_the_edition(tmp_path):
    text = 'format = 1\n\n[[columns]]\nname = "diag"\nkind = "icd9"\norigin = "drafted"\n'
    assert Codebook.from_toml(text).unattested == ("diag",)
    attested = declare_text(text, columns=None, by="A. Meyer", source="ICD-9-CM", on=dt.date(2026, 1, 1))
    assert Codebook.from_toml(attested).is_public
    other = attested.replace('kind = "icd9"', 'kind = "icd9"\nleading_zeros = false')
    assert Codebook.from_toml(other).unattested == ("diag",)
    with pytest.raises(CodebookError, match="take the version that the codebook was made with"):
        Codebook.from_toml(text + 'edition = "sha256:00"\n')


def test_an_own_pack_is_one_file_and_travels_with_the_codebook(tmp_path):
    (tmp_path / "ours.csv").write_text(OWN)
    text = 'format = 1\n\n[[packs]]\nname = "ours"\nfile = "ours.csv"\n'
    text += "".join(f'\n[[columns]]\nname = "{name}"\nkind = "ours"\n' for name in ("a", "b"))
    (tmp_path / "book.toml").write_text(text)
    book = Codebook.load(tmp_path / "book.toml")
    assert book.column("a").groups == (("heart", ("410", "411", "heart")), ("lung", ("480", "lung")))
    (tmp_path / "ours.csv").unlink()
    assert Codebook.from_toml(book.to_toml()) == book and book.to_toml().count("[[packs]]") == 1


def test_a_draft_takes_kinds_and_proposes_them():
    listed = list(shipped_pack("icd9").codes)
    codes = [code.lstrip("0") for code in (*listed[:299], *listed[-100:])] * 3 + ["?"] * 9  # the last are E800 to E999
    table = pa.table({"sex": ["F", "M", "F"] * 402, "diag": codes, "age": list(range(1206))})
    assert proposed(table, ["diag", "sex"]) == {"diag": "icd9"}
    drafted = us.draft(table)
    assert "--kind diag=icd9" in drafted.reasons["diag"]
    column = us.draft(table, kind=["diag=icd9"]).codebook.column("diag")
    assert isinstance(column, Coded) and column.missing == "?" and not column.leading_zeros
    assert column.origin is Origin.DRAFTED
    with pytest.raises(CodebookError, match="'age' is to be of kind 'iso_countries'"):
        us.draft(table, kind={"age": "iso_countries"})


def test_columns_that_share_a_name_with_a_parent_are_refused():
    coded = Coded(name="diag", pack="icd9")
    with pytest.raises(CodebookError, match="'diag_chapter' is described twice"):
        Codebook(columns=(coded, Categorical(name="diag_chapter", levels=("a",))))


def test_a_person_may_have_many_codes():
    ids = Text(name="id", role=Role.IDENTIFIER)
    book = Codebook(columns=(ids, Coded(name="d", pack="icd9")), unit=PersonUnit(id="id", cap=2))
    assert book.names == ("d_chapter",) and book.released[-1].name == "d"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "its first line must name the columns"),
        ("code,label\n1,x\n", "its first line must name the columns"),
        ("code,group,group\n1,a,b\n", "give every column a name of its own"),
        ("code,group\n1,a\n1,b\n", "gives the code '1' two parents, 'a' and 'b'"),
        ("code,group\n1,a\n1,a\n", "the parent 'a' twice"),
        ("code,block,chapter\n1,a,x\n2,a,y\n", "block 'a' has two parents, 'x' and 'y'"),
        ("code,group\n1,\n", "the code '1' has no parent"),
        ("code,block,chapter\n1,a,\n", "has 1 of 2 parents"),
        ("code,group\n", "it has no codes"),
        ("code,group\na,b\nb,c\n", "'b' is a code and a parent"),
        ("code,group\n1,a,b,c\n", "has 4 cells and the header 2"),
        ("# reading: sideways\ncode,group\n1,a\n", "its reading has 'sideways'"),
        ("code,group\n,a\n", "a line has no code"),
    ],
)
def test_bad_packs_get_a_sentence(text, said):
    with pytest.raises(CodebookError) as refused:
        Pack(name="ours", text=text)
    assert said in str(refused.value)


def test_an_unknown_pack_is_named_with_those_that_there_are():
    with pytest.raises(CodebookError, match="no pack 'idc9'; did you mean 'icd9'"):
        Coded(name="d", pack="idc9")
    with pytest.raises(CodebookError, match=r"is of kind 'icd11'; kinds are .*icd9"):
        Codebook.from_toml('format = 1\n\n[[columns]]\nname = "d"\nkind = "icd11"\n')
