"""Linked tables behind their codebook: constants, ranks, caps, checks and counts."""

from fractions import Fraction

import pyarrow as pa
import pytest

import understudy as us
from tests.unit.linked_hospital import book, changed, tables
from understudy.codebook import Categorical, Codebook, Coded, Integer, LinkedCodebook, LinkedTable
from understudy.codebook.rules import Order
from understudy.errors import DataError, ParameterError, RefusalError
from understudy.sources import linked
from understudy.sources.linked import open_linked
from understudy.sources.linked_check import check_linked


def rows(source, name):
    return source.rows(name).to_pyarrow().to_pylist()


def test_constants_are_read_into_the_parent_and_siblings_are_ranked():
    source = open_linked(tables(), book())
    sex = {row["key"]: row["c0"] for row in rows(source, "patients")}
    assert sex == {"a": 0, "b": 1, "c": 0, "d": 2}  # d has no stay, so that her sex is missing
    ranks = {row["key"]: row["rank"] for row in rows(source, "stays")}
    assert ranks == {"10": 0, "9": 1, "11": 2, "12": 0, "13": 0, "14": 1}


@pytest.mark.parametrize(("rule", "code"), [("first", 1), ("latest", 0), ("most frequent", 0)])
def test_a_reading_rule_settles_what_differs(rule, code):
    data = changed("stays", "sex", 1, "M")  # the first stay of a; her last one has no known sex
    made = book(
        ('child = "stays"', f'child = "stays"\nrule = "{rule}"'), ('"patients.sex" = ["M"]', '"patients.sex" = ["?"]')
    )
    sex = {row["key"]: row["c0"] for row in rows(open_linked(data, made), "patients")}
    assert sex["a"] == code


def test_without_a_rule_differing_records_are_refused():
    with pytest.raises(DataError, match="1 of them have several values in 'stays'"):
        open_linked(changed("stays", "sex", 1, "M"), book()).rows("patients")


def test_caps_hold_at_every_level_and_children_follow_their_parents():
    source = open_linked(tables(), book(("cap = 3", "cap = 1")))
    for key in ("one", "two", "three"):
        kept = source.capped(key)
        stays, diagnoses = rows(kept, "stays"), rows(kept, "diagnoses")
        assert sorted(row["parent"] for row in stays) == ["a", "a", "b", "c", "c"]
        assert {row["parent"] for row in diagnoses} <= {row["key"] for row in stays}
        assert len({row["parent"] for row in diagnoses}) == len(diagnoses)
        assert sorted(row["rank"] for row in stays if row["parent"] == "a") == [0, 1]


def test_what_one_person_gives_depends_on_nobody_else():
    whole = open_linked(tables(), book()).capped("a key")
    alone = {
        name: table.filter(pa.compute.equal(table["patient_id"], "a")) if "patient_id" in table.column_names else table
        for name, table in tables().items()
    }
    alone["diagnoses"] = tables()["diagnoses"].slice(0, 3)
    single = open_linked(alone, book()).capped("a key")
    of_a = {row["key"] for row in rows(whole, "stays") if row["parent"] == "a"}
    assert of_a == {row["key"] for row in rows(single, "stays")}


def test_nothing_is_counted_before_it_is_capped():
    source = open_linked(tables(), book())
    with pytest.raises(RefusalError, match="not capped yet"):
        source.counting(book().table("stays").book, source.rows("stays"))


def test_a_table_of_persons_can_be_made_of_their_records():
    made = book(
        ("[tables.patients]", '[tables.patients]\nmade_of = "stays"'),
        ('\n[[tables.patients.columns]]\nname = "died"\nkind = "date"\ngrain = "month"\nstart = 2010-01-01\n'
         'end = 2012-01-01\nmissing = ""\n', ""),
        ('\n[[rules]]\nkind = "nothing-after"\nend = "patients.died"\ndates = ["stays.admitted"]\n', ""),
    )  # fmt: skip
    assert {row["key"]: row["c0"] for row in rows(open_linked(tables(), made), "patients")} == {"a": 0, "b": 1, "c": 0}


def test_clean_tables_have_no_fault():
    assert check_linked(tables(), book()) == []


@pytest.mark.parametrize(
    ("name", "column", "row", "value", "kind", "numbers"),
    [
        ("diagnoses", "stay_id", 4, 77, "orphan", (5,)),
        ("diagnoses", "stay_id", 4, None, "orphan", (5,)),
        ("stays", "stay_id", 5, 13, "repeated key", (5, 6)),
        ("patients", "patient_id", 3, None, "missing key", (4,)),
        ("stays", "ward", 0, "Q", "outside levels", (1,)),
        ("stays", "sex", 0, "M", "contradiction", (1, 2, 3)),
        ("stays", "ward", 3, "maternity", "broken rule", (4,)),
        ("stays", "admitted", 3, "2011-07-01", "broken rule", (4,)),
        ("stays", "ward", 4, "B", "broken rule", (6,)),
    ],
)
def test_each_fault_is_told_with_its_rows(name, column, row, value, kind, numbers):
    faults = [fault for fault in check_linked(changed(name, column, row, value), book()) if fault.kind == kind]
    assert [(fault.table, fault.rows) for fault in faults] == [(name, numbers)]
    assert all(f"{name!r}" in fault.sentence for fault in faults)


def test_every_fault_comes_at_once():
    data = changed("stays", "ward", 0, "Q")
    data["diagnoses"] = changed("diagnoses", "stay_id", 4, 77)["diagnoses"]
    data["patients"] = changed("patients", "patient_id", 3, "c")["patients"]
    assert {fault.kind for fault in check_linked(data, book())} == {"outside levels", "orphan", "repeated key"}


def test_orphans_take_no_part_where_the_codebook_says_so():
    made = book(("cap = 3", 'cap = 3\norphans = "drop"'))
    data = changed("diagnoses", "stay_id", 4, 77)
    assert [(fault.kind, fault.is_fatal) for fault in check_linked(data, made)] == [("dropped orphan", False)]
    assert len(rows(open_linked(data, made), "diagnoses")) == 4
    with pytest.raises(DataError, match="whose 'stays' does not exist"):
        open_linked(data, book()).rows("diagnoses")


def test_counts_across_tables_are_priced_for_a_person():
    release = us.count(tables(), book(), by=["patients.sex", "diagnoses.code"], epsilon=1e6)
    counts = {(row["patients.sex"], row["diagnoses.code"]): row["count"] for row in release.table.to_pylist()}
    assert counts["M", "y"] == 1 and 0 <= counts["F", "x"] <= 2  # which stays of a take part is left to chance
    quote = us.count.__globals__["quote_count"](tables(), book(), by=["patients.sex", "diagnoses.code"], epsilon=1.0)
    assert quote.quote.total.epsilon <= 1.0 and quote.quote.total.neighbours.value == "add-remove-person"
    with pytest.raises(ParameterError, match=r"choose among patients\.sex"):
        us.count(tables(), book(), by=["sex"], epsilon=1.0)


def _two_stays(ages):
    """A patient whose stays have these ages, which share a bin."""
    age = Integer(name="age", edges=(Fraction(0), Fraction(50), Fraction(100)))
    people = LinkedTable(name="people", key="id", book=Codebook(columns=(Categorical(name="sex", levels=("F", "M")),)))
    stays = LinkedTable(
        name="stays", key="stay", parent="people", parent_key="id", cap=3, order="turn", book=Codebook(columns=(age,))
    )
    rule = Order(name="ages rise", low="stays.previous.age", relation="<=", high="stays.age")
    book = LinkedCodebook(tables=(people, stays), rules=(rule,))
    turns = list(range(len(ages)))
    rows = {"id": ["p"] * len(ages), "stay": [f"s{turn}" for turn in turns], "turn": turns, "age": ages}
    return {"people": pa.table({"id": ["p"], "sex": ["F"]}), "stays": pa.table(rows)}, book


def test_orders_compare_values_that_share_a_bin():
    assert check_linked(*_two_stays([20, 20, 21])) == []
    (fault,) = check_linked(*_two_stays([20, 19, 21]))
    assert fault.kind == "broken rule" and fault.rows == (2,) and fault.count == 1


def test_rows_without_numbers_are_told_by_their_keys(monkeypatch):
    """A server's rows have no numbers: orphans and broken rules name keys instead."""
    monkeypatch.setattr("understudy.sources.linked.ROW", "unnumbered")
    data, book = _two_stays([20, 19, 21])
    (fault,) = check_linked(data, book)
    assert fault.rows == () and "stay 's1'" in fault.sentence
    orphans = data | {"people": pa.table({"id": ["q"], "sex": ["F"]})}
    told = [each.sentence for each in check_linked(orphans, book) if each.kind == "orphan"]
    assert told and "stay 's0', 's1', 's2'" in told[0]


def a_book_of_diagnoses():
    """Two diagnoses that share a list of the package, so long that it is joined instead of written out."""
    codes = tuple(Coded(name=name, pack="icd9", missing="?") for name in ("first", "second"))
    people = LinkedTable(name="people", key="id", book=Codebook(columns=(Categorical(name="sex", levels=("F", "M")),)))
    stays = LinkedTable(name="stays", parent="people", parent_key="id", cap=2, book=Codebook(columns=codes))
    return LinkedCodebook(tables=(people, stays))


def test_codes_of_a_long_list_are_brought_from_files(tmp_path):
    (tmp_path / "people.csv").write_text("id,sex\n1,F\n2,M\n")
    (tmp_path / "stays.csv").write_text("id,first,second\n1,250.83,V57\n2,428,?\n2,no code,250\n")
    made = a_book_of_diagnoses()
    source = open_linked(tmp_path, made)
    place = [column.name for column in source.columns("stays")].index("first")
    labels = made.table("stays").book.column("first").labels
    assert sorted(labels[row[f"c{place}"]] for row in rows(source, "stays")) == ["250", "428", "other"]


def test_an_engine_that_has_too_little_memory_gets_more(monkeypatch):
    """Two megabytes are too few for any sort; the rows are those of an engine with room."""
    enough = rows(open_linked(tables(), book()).capped("a key"), "stays")
    monkeypatch.setattr(linked, "_MEMORY", 2)
    little = rows(open_linked(tables(), book()).capped("a key"), "stays")
    assert sorted(map(str, little)) == sorted(map(str, enough))
