"""Attacks on people with histories: copies are found out, other people are not."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from coded_examples import coded_book, coded_data

import understudy as us
from understudy import datasets
from understudy.codebook import Role
from understudy.evaluate.linked.attacks import person_gains, person_records
from understudy.evaluate.linked.rows import read_rows

BOOK = datasets.histories_codebook()


@pytest.fixture(scope="module")
def sides():
    """Real people, people held out, and a third lot: all drawn alike."""
    return [read_rows(datasets.histories(300, seed=seed)._asdict(), BOOK) for seed in (21, 22, 23)]


def test_a_copy_is_found_out(sides):
    real, others, _ = sides
    (membership,) = person_gains(real, real, others)
    assert membership.inside == 1.0
    assert membership.value > 0.5 and membership.low > 0.4
    assert membership.value == membership.inside - membership.outside


def test_people_of_another_draw_give_nothing_away(sides):
    """Neither lot was used, so both are found equally often, up to chance."""
    real, others, unrelated = sides
    (membership,) = person_gains(real, unrelated, others)
    assert membership.low <= 0 <= membership.high


def test_sensitive_values_are_guessed_where_roles_are_declared(sides):
    """With their own records as the synthetic ones, rare histories are guessed better than those of others."""
    real, others, _ = sides
    roles = {"birth_year": Role.QUASI_IDENTIFIER, "region": Role.QUASI_IDENTIFIER, "chronic": Role.SENSITIVE}
    person = BOOK.person
    columns = tuple(replace(one, role=roles.get(one.name, one.role)) for one in person.book.columns)
    tables = (replace(person, book=replace(person.book, columns=columns)), *BOOK.tables[1:])
    book = replace(BOOK, tables=tables)
    known = [replace(side, book=book) for side in (real, others)]
    gains = {gain.attack: gain for gain in person_gains(known[0], known[0], known[1])}
    assert set(gains) == {"membership", f"{person.name}.chronic guessed"}
    assert gains[f"{person.name}.chronic guessed"].value > 0


def test_the_record_of_a_person_holds_their_first_and_last_rows():
    """Three levels: the last drug is the last of the last stay that has one."""
    book, data = coded_book(), coded_data(40, seed=3)
    rows = read_rows(data, book)
    source = person_records(rows)
    codes = dict(zip(source.codebook.names, source._columns, strict=True))
    table = rows.tables["stays"]
    ward = book.table("stays").book.column("ward").labels
    for person in range(rows.tables["patients"].rows):
        theirs = np.flatnonzero(table.above == person)
        assert codes["number of stays"][person] == len(theirs)
        wards = [table.written["ward"][int(row)].as_py() for row in theirs[np.argsort(table.place[theirs])]]
        first, last = (codes[f"{which} stays.ward"][person] for which in ("first", "last"))
        assert [first, last] == ([len(ward)] * 2 if not wards else [ward.index(wards[0]), ward.index(wards[-1])])
    assert "last drugs.reason" in codes


def test_the_page_shows_attacks_on_one_axis_or_says_why_there_are_none(tmp_path):
    real, synthetic, others = (datasets.histories(60, seed=seed, first=100 * seed)._asdict() for seed in (1, 2, 3))
    found = us.evaluate_linked(real, synthetic, BOOK, holdout=others, out=tmp_path / "with.html")
    assert [gain["attack"] for gain in found.to_dict()["attacks"]] == ["membership"]
    assert "Extra success on people in the data" in (tmp_path / "with.html").read_text(encoding="utf-8")
    alone = us.evaluate_linked(real, synthetic, BOOK, out=tmp_path / "without.html")
    assert alone.to_dict()["attacks"] is None
    assert "Nobody was set aside" in (tmp_path / "without.html").read_text(encoding="utf-8")


def test_nobody_at_all_is_no_attack(sides):
    real, others, _ = sides
    nobody = {name: table.written.slice(0, 0) for name, table in real.tables.items()}
    assert isinstance(nobody["patients"], pa.Table)
    assert person_gains(real, read_rows(nobody, BOOK), others) == []
