"""Packs of public rules: facts with a source, matched to levels by words, codes and ages; never by bare numbers."""

from fractions import Fraction

import pytest

from understudy.codebook import Categorical, Codebook, Detail, Integer
from understudy.codebook.rule_packs import PACKS, match_pack, proposed_packs, rule_pack
from understudy.errors import ParameterError

SEX = Categorical(name="gender", levels=("Female", "Male"))


def chapters(*levels, **more):
    return Codebook(columns=(SEX, Categorical(name="diag_1_chapter", levels=levels), *more.get("others", ())))


@pytest.mark.parametrize("name", PACKS)
def test_every_pack_says_where_it_is_known_from(name):
    pack = rule_pack(name)
    assert pack.title and len(pack.source) > 40 and pack.facts["licence"]
    values = {(meaning, value) for meaning, facts in pack.columns.items() for value in facts["values"]}
    for rule in pack.facts["rules"]:
        assert set(rule["cells"].items()) <= values


def test_chapters_of_icd9_are_found_by_their_ranges():
    book = chapters("390-459", "630-679", "V01-V91")
    match = match_pack(book, "pregnancy")
    (rule,) = match.rules
    assert rule.words() == "never gender = Male and diag_1_chapter = 630-679"
    assert "ICD-9-CM chapter 11" in rule.source
    assert any("'V01-V91'" in note for note in match.notes)  # V22 is a pregnancy, V45 is none


def test_chapters_of_icd10_are_not_taken_for_icd9():
    book = chapters("I00-I99", "O00-O9A", "V00-Y99", "Z00-Z99")
    (rule,) = match_pack(book, "pregnancy").rules
    assert rule.cells[1] == ("diag_1_chapter", ("O00-O9A",))


def test_a_detail_is_spoken_about_through_its_coarse_column():
    groups = (("obstetric", ("630", "650", "V27")), ("heart", ("410", "427")), ("mixed", ("648", "780")))
    detail = Detail(name="diag_1", detail_of="diag_1_chapter", other="other", groups=groups)
    book = chapters("obstetric", "heart", "mixed", others=(detail,))
    match = match_pack(book, "pregnancy", {"diagnosis": ["diag_1"]})
    (rule,) = match.rules
    assert rule.cells[1] == ("diag_1_chapter", ("obstetric",))
    assert any("'mixed'" in note for note in match.notes)


def test_every_diagnosis_column_gets_its_rule():
    columns = [Categorical(name=f"diag_{k}_chapter", levels=("390-459", "630-679")) for k in (1, 2, 3)]
    match = match_pack(Codebook(columns=(SEX, *columns)), "pregnancy")
    assert [rule.columns[1] for rule in match.rules] == [column.name for column in columns]
    assert len({rule.title for rule in match.rules}) == 3


def test_blocks_of_one_sex():
    book = chapters("179-184", "185-187", "390-459", "614-616")
    words = {rule.words() for rule in match_pack(book, "sex_and_diagnoses").rules}
    assert words == {
        "never gender = Male and diag_1_chapter in (179-184, 614-616)",
        "never gender = Female and diag_1_chapter = 185-187",
    }


def test_numbers_are_never_guessed_at():
    status = Categorical(name="discharge_disposition", levels=("1", "11", "20"))
    back = Categorical(name="readmitted", levels=("<30", ">30", "NO"))
    book = Codebook(columns=(status, back))
    assert match_pack(book, "deaths").rules == ()
    (rule,) = match_pack(book, "deaths", levels={"died": ["11", "20"]}).rules
    assert rule.words() == "never discharge_disposition in (11, 20) and readmitted in (<30, >30)"
    assert proposed_packs(book) == []


@pytest.mark.parametrize(
    "age",
    [
        Categorical(name="age", levels=("0 to 17", "18 to 29", "70 or Older")),
        Integer(name="age", edges=tuple(map(Fraction, (0, 1, 2, 90)))),
    ],
)
def test_newborns_and_ages(age):
    admission = Categorical(name="Type of Admission", levels=("Emergency", "Newborn"))
    book = Codebook(columns=(age, admission))
    (rule,) = match_pack(book, "newborns").rules
    above = dict(rule.cells)["age"]
    assert set(above) == set(age.labels[1:])


def test_what_a_pack_cannot_be_matched_to():
    book = Codebook(columns=(SEX, Integer(name="n", edges=tuple(map(Fraction, (0, 1, 2))))))
    with pytest.raises(ParameterError, match="needs a column that says a diagnosis"):
        match_pack(book, "pregnancy")
    with pytest.raises(ParameterError, match="no rule pack 'magic'"):
        match_pack(book, "magic")
