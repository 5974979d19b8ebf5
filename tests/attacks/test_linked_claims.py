"""Attempts to make linked tables state too much: a price swapped after the fit, guesses that nobody attested."""

import json
from dataclasses import replace

import pyarrow as pa
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook, LinkedCodebook, LinkedTable
from understudy.codebook.columns import Origin
from understudy.codebook.file_reading import FileReading
from understudy.codebook.joined import joined_book
from understudy.codebook.linked import Constant
from understudy.errors import DataError, RefusalError
from understudy.histories.recipe import Histories
from understudy.privacy.guarantees import NoFormal
from understudy.privacy.ledger import Ledger
from understudy.sources.linked import open_linked
from understudy.sources.linked_check import check_linked
from understudy.synth.linked_counts import join_faults, linked_counts

SEX = Categorical(name="sex", levels=("F", "M"))
WARD = Categorical(name="ward", levels=("A", "B"))
PEOPLE = LinkedTable(name="people", key="id", book=Codebook(columns=(SEX,)))
STAYS = LinkedTable(name="stays", parent="people", parent_key="id", cap=2, book=Codebook(columns=(WARD,)))
VISITS = LinkedTable(name="visits", parent="people", parent_key="id", cap=2, book=Codebook(columns=(WARD,)))
BOOK = LinkedCodebook(tables=(PEOPLE, STAYS))


def tables(**more):
    people = pa.table({"id": ["1", "2", "3"], "sex": ["F", "M", "F"]})
    return {"people": people, "stays": pa.table({"id": ["1", "1", "3"], "ward": ["A", "B", "B"]}), **more}


def price_of(book, by):
    return linked_counts(book, {"by": by, "epsilon": 1.0}).quote().total


@pytest.mark.parametrize("name", ["recipe", "codebook"])
def test_a_fit_keeps_what_it_was_fitted_with(name):
    fitted = Histories(epsilon=5.0, delta=1e-6).fit(open_linked(tables(), BOOK))
    with pytest.raises(RefusalError, match="does not change"):
        setattr(fitted, name, {"recipe": Histories(epsilon=0.1, delta=1e-6), "codebook": BOOK}[name])


def test_counts_rest_on_how_the_files_are_read():
    guessed = replace(STAYS, book=replace(STAYS.book, file=FileReading(origin=Origin.DRAFTED)))
    assert not isinstance(price_of(BOOK, "people.sex,stays.ward"), NoFormal)
    assert isinstance(price_of(replace(BOOK, tables=(PEOPLE, guessed)), "people.sex,stays.ward"), NoFormal)


def test_counts_rest_on_the_table_that_a_constant_is_read_from():
    constant = replace(PEOPLE, constants=(Constant(column="sex", child="visits"),))
    book = LinkedCodebook(tables=(constant, STAYS, replace(VISITS, origin=Origin.DRAFTED)))
    assert isinstance(price_of(book, "people.sex,stays.ward"), NoFormal)
    declared = LinkedCodebook(tables=(constant, STAYS, VISITS))
    assert not isinstance(price_of(declared, "people.sex,stays.ward"), NoFormal)


def test_rows_without_a_parent_are_refused_below_a_table_that_is_made():
    made = replace(PEOPLE, made_of="stays", constants=(Constant(column="sex", child="stays"),))
    book = LinkedCodebook(tables=(made, STAYS, VISITS))
    stays = pa.table({"id": ["1", "2"], "ward": ["A", "B"], "sex": ["F", "M"]})
    data = {"stays": stays, "visits": pa.table({"id": ["1", "9"], "ward": ["A", "A"]})}
    assert [fault.table for fault in check_linked(data, book)] == ["visits"]
    with pytest.raises(DataError):
        open_linked(data, book).prepare()


def test_counts_of_a_join_name_the_keys_and_caps_that_they_rest_on(tmp_path):
    """Each cap, not only their product; and a statement that leaves them out is found."""
    linked = replace(PEOPLE, constants=(Constant(column="sex", child="visits", source="the form"),))
    book = LinkedCodebook(tables=(linked, STAYS, VISITS))
    people = pa.table({"id": ["1", "2", "3"]})
    visits = pa.table({"id": ["1", "2", "3"], "ward": ["A", "A", "B"], "sex": ["F", "M", "F"]})
    us.count(tables(people=people, visits=visits), book, "people.sex,stays.ward", epsilon=1.0, out=tmp_path / "counts")
    assert us.verify(tmp_path / "counts").problems == ()
    path = tmp_path / "counts" / "manifest.json"
    manifest = json.loads(path.read_text())
    caps = [text for text in manifest["assumptions"] if "2 rows of stays for each row of people" in text]
    constants = [text for text in manifest["assumptions"] if "people.sex is constant" in text]
    assert len(caps) == len(constants) == 1 and "people.id" in caps[0] and caps[0] in manifest["statement"]
    assert "visits" in manifest["parameters"]["linked"]
    links = LinkedCodebook.from_toml(manifest["parameters"]["linked"])
    event = Ledger.from_list(manifest["ledger"])
    joined = joined_book(links, manifest["parameters"]["columns"])
    assert join_faults(joined, manifest["parameters"], event) == []
    less = Ledger.of(
        [replace(entry, assumptions=tuple(t for t in entry.assumptions if t not in caps)) for entry in event]
    )
    assert "does not name" in join_faults(joined, manifest["parameters"], less)[0]
    wider = replace(links, tables=tuple(replace(t, cap=5) if t.name == "stays" else t for t in links.tables))
    told = manifest["parameters"] | {"linked": wider.to_toml()}
    assert any("caps" in fault for fault in join_faults(joined, told, event))


def test_a_released_codebook_still_says_what_is_constant():
    """Also that nobody attested it: the released book is not more public than the one that was used."""
    drafted = Constant(column="sex", child="stays", origin=Origin.DRAFTED)
    made = replace(PEOPLE, made_of="stays", constants=(drafted,))
    plain = LinkedCodebook(tables=(made, STAYS)).plain
    assert plain.unattested == ("people.sex is constant",)
    assert LinkedCodebook.from_toml(plain.to_toml()) == plain
    open_linked(tables(), plain).prepare()  # the sex is read where the release has it
    declared = LinkedCodebook(tables=(replace(made, constants=(Constant(column="sex", child="stays"),)), STAYS))
    assert any("people.sex is constant" in text for text in declared.plain.assumptions)


def test_a_linked_release_used_as_an_input_is_never_taken_for_people(tmp_path):
    """As data, as public knowledge and as the shape of a prior; from files and in memory."""
    made = us.synthesize(tables(), BOOK, 40, epsilon=40.0, delta=1e-6, out=tmp_path / "release")  # or it may lack stays
    assert {name: table.num_rows for name, table in made.tables.items()} == made.manifest.tables
    file = tmp_path / "release" / "people.parquet"
    for again in (tmp_path / "release", made.tables):
        second = us.synthesize(again, BOOK, 10, epsilon=1.0, delta=1e-6)
        assert isinstance(second.manifest.total, NoFormal)
    for data in (file, made.tables["people"]):
        with pytest.raises(DataError, match="synthetic release"):
            us.count(data, PEOPLE.book, ["sex"], epsilon=1.0)
    with pytest.raises(DataError, match="synthetic release"):
        us.count(tmp_path / "release", BOOK, ["people.sex"], epsilon=1.0)
    people = pa.table({"sex": ["F", "M"] * 50})
    shaped = us.synthesize(people, PEOPLE.book, 20, "pegs", prior=str(file), alpha=1.0)
    assert isinstance(shaped.manifest.total, NoFormal)  # a price for people, and one for records
    with pytest.raises(DataError, match="is a folder"):
        us.synthesize(people, PEOPLE.book, 20, "pegs", prior=str(tmp_path / "release"), alpha=1.0)
    with pytest.raises(RefusalError, match="linked tables"):
        us.infer(tmp_path / "release", share="sex=F")
