"""Codebooks of linked tables: what they may say, and everything wrong with them at once."""

import datetime as dt
from dataclasses import replace

import pytest

from tests.unit.linked_hospital import TEXT, book
from understudy.codebook import Codebook, LinkedCodebook, Origin, Publication
from understudy.codebook.joined import joined_book
from understudy.codebook.linked_declare import declare_linked_text
from understudy.codebook.linked_toml import load_book
from understudy.codebook.split import split_book
from understudy.codebook.templates import TEMPLATES, template, template_text
from understudy.errors import CodebookError, ParameterError


def faults_of(*changes):
    with pytest.raises(CodebookError) as caught:
        book(*changes)
    return "\n".join(caught.value.faults)


def test_the_text_is_canonical():
    assert book().to_toml() == TEXT


def test_parents_stand_first_and_rows_of_a_person_are_bounded():
    made = LinkedCodebook(tables=tuple(reversed(book().tables)), rules=book().rules)
    assert [table.name for table in made.tables] == ["patients", "stays", "diagnoses"]
    assert made.most_rows("diagnoses") == 6
    assert [table.name for table in made.path("diagnoses")] == ["patients", "stays", "diagnoses"]
    assert [table.name for table in made.children("patients")] == ["stays"]


def test_a_rule_sees_its_path_and_the_previous_sibling():
    visible = book().visible("stays")
    assert "patients.sex" in visible and "stays.previous.ward" in visible and "diagnoses.code" not in visible
    assert [rule.kind for rule in book().rules_on("stays")] == ["impossible", "order"]
    assert [rule.kind for rule in book().ends("stays")] == ["last"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('parent = "stays"', 'parent = "visits"', "has the parent 'visits', which is not described"),
        ('parent = "patients"', 'parent = "diagnoses"', "are each other's parents in a circle"),
        ("cap = 2", "cap = 0", "has cap = 0"),
        ('key = "stay_id"\nparent = "patients"', 'parent = "patients"', "has no key, and diagnoses belong to its rows"),
        ('child = "stays"', 'child = "diagnoses"', "no table right below it"),
        ('order = "admitted"', 'order = "patient_id"', "which all siblings share"),
        ('"patients.sex" = ["M"]', '"patients.sex" = ["X"]', "which is no level of 'patients.sex'"),
        ('"patients.sex" = ["M"]', '"diagnoses.dose" = ["M"]', "'diagnoses.dose', which is not a column"),
        ('child = "stays"', 'child = "stays"\nrule = "best"', "it must be one of first, latest, most frequent"),
        ("cap = 2", "cap = 2\nsize = 3", "unknown keys size"),
        ("cap = 2", 'cap = 2\norphans = "keep"', "orphans = 'keep'"),
        ('order = "admitted"\n', "", "speaks about the last row of 'stays', which has no order"),
        ("[tables.diagnoses]", '[tables."a.b"]\nparent = "stays"\n[tables.diagnoses]', "there are no [[columns]]"),
    ],
)
def test_faults(old, new, words):
    assert words in faults_of((old, new))


def test_all_faults_come_at_once():
    told = faults_of(("cap = 2", "cap = 0"), ("cap = 3", "cap = -1"), ('parent = "stays"', 'parent = "visits"'))
    assert "cap = 0" in told and "cap = -1" in told and "'visits'" in told


def test_a_rule_across_two_branches_is_refused():
    other = TEXT.split("[[rules]]")[0].split("[tables.diagnoses]")[1].replace('"stays"', '"patients"')
    branch = "[tables.drugs]" + other.replace("tables.diagnoses", "tables.drugs").replace("stay_id", "patient_id")
    rule = '\n[[rules]]\nkind = "impossible"\n\n[rules.cells]\n"drugs.code" = ["x"]\n"diagnoses.code" = ["x"]\n'
    with pytest.raises(CodebookError, match="do not lie on one path"):
        LinkedCodebook.from_toml(TEXT.replace("[[rules]]", f"{branch}\n[[rules]]", 1) + rule)


def test_nothing_after_may_name_tables_of_several_branches():
    stays = TEXT.split("[tables.stays]")[1].split("[tables.diagnoses]")[0]
    drugs = "[tables.drugs]" + stays.replace("stay_id", "drug_id").replace("tables.stays", "tables.drugs")
    text = TEXT.replace("[[rules]]", f"{drugs}\n[[rules]]", 1).replace(
        'dates = ["stays.admitted"]', 'dates = ["stays.admitted", "drugs.admitted"]'
    )
    made = LinkedCodebook.from_toml(text)
    assert any("drugs.admitted" in rule.columns for rule in made.rules_on("drugs"))
    assert not any("drugs.admitted" in rule.columns for rule in made.rules_on("stays"))


def test_what_was_drafted_is_not_public_until_attested():
    made = book()
    assert made.is_public
    drafted = replace(
        made, tables=tuple(replace(t, origin=Origin.DRAFTED) if t.name == "stays" else t for t in made.tables)
    )
    assert drafted.unattested == ("[stays]",) and "stays" in drafted.why_not_public
    constant = replace(made.person, constants=(replace(made.person.constants[0], origin=Origin.DRAFTED),))
    assert replace(made, tables=(constant, *made.tables[1:])).unattested == ("patients.sex is constant",)


@pytest.mark.parametrize(
    ("title", "columns", "place"),
    [
        ("stays: ward determines kind", ("ward", "kind"), "[[tables.stays.constraints]]"),
        ("stays.ward determines stays.kind", ("stays.ward", "stays.kind"), "[[rules]]"),
    ],
    ids=["of one table", "across tables"],
)
def test_nobody_attests_a_map_that_was_read_from_linked_tables(title, columns, place):
    """What it says about each value is data, in a table's own rules and in those across tables."""
    kind = '[[tables.stays.columns]]\nname = "kind"\nkind = "categorical"\nlevels = ["care", "birth"]\n\n'
    of_map = f'kind = "determines"\ncolumn = "{columns[0]}"\nsets = "{columns[1]}"\norigin = "ORIGIN"\n'
    groups = f'[{place[2:-2]}.groups]\ncare = ["A", "B"]\nbirth = ["maternity"]\n\n'
    text = TEXT.replace("[tables.diagnoses]", f"{kind}[tables.diagnoses]", 1)
    text = text.replace("[tables.diagnoses]" if "tables" in place else "[[rules]]", f"{place}\n{of_map}{groups}@", 1)
    text = text.replace("@", "[tables.diagnoses]" if "tables" in place else "[[rules]]")
    words = {"names": [], "rules": [title], "by": "A. Meyer", "source": "register 2020", "on": dt.date(2026, 1, 1)}
    with pytest.raises(CodebookError, match=f"'{title}' has a map that was read from the data"):
        declare_linked_text(text.replace("ORIGIN", "drafted"), **words)
    declared = LinkedCodebook.from_toml(declare_linked_text(text.replace("ORIGIN", "declared"), **words))
    rules = [rule for rule in (*declared.tables[1].book.constraints, *declared.rules) if rule.kind == "determines"]
    assert [rule.is_attested for rule in rules] == [True]


def test_what_the_publisher_declares_outlives_a_split_and_a_join():
    said = Publication(title="Stays", publisher="Example Institute", licence="CC-BY-4.0")
    flat = replace(book().tables[1].book, publication=said)
    split = split_book(flat, person="patient_id", key="stay_id", constants={"ward": None}, cap=3)
    assert split.publication == said and LinkedCodebook.from_toml(split.to_toml()).publication == said
    assert joined_book(split, ["patients.ward", "encounters.admitted"]).publication == said


def test_each_kind_of_codebook_says_what_the_other_is(tmp_path):
    made = book()
    made.save(tmp_path / "linked.toml")
    assert load_book(tmp_path / "linked.toml") == made
    with pytest.raises(CodebookError, match="describes several linked tables"):
        Codebook.load(tmp_path / "linked.toml")
    made.tables[1].book.save(tmp_path / "one.toml")
    with pytest.raises(CodebookError, match="describes one table"):
        LinkedCodebook.load(tmp_path / "one.toml")


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_are_public_and_canonical(name):
    assert template(name).is_public and template(name).to_toml() == template_text(name)


def test_an_unknown_template_is_refused():
    with pytest.raises(ParameterError, match="there is no template 'fhir'"):
        template("fhir")
