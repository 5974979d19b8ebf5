"""Review and rules of linked codebooks: every table's columns are asked about, and rules across tables are found."""

from dataclasses import replace

import pytest

import understudy as us
from understudy import datasets
from understudy.codebook import LinkedCodebook
from understudy.codebook.linked_rules import table_of
from understudy.codebook.rules import Order
from understudy.errors import CodebookError, ParameterError
from understudy.facade import demo

BOOK = datasets.histories_codebook()


@pytest.fixture(scope="module")
def data():
    return datasets.histories(1200, seed=3)._asdict()


@pytest.fixture
def file(tmp_path):
    """A codebook without rules, as somebody wrote it, with a comment."""
    bare = replace(
        BOOK, rules=(), tables=tuple(replace(t, book=replace(t.book, constraints=())) for t in BOOK.tables)
    )  # fmt: skip
    path = tmp_path / "book.toml"
    path.write_text("# our tables\n" + bare.to_toml(), encoding="utf-8")
    return path


def test_every_column_of_every_table_is_asked_about(data, file):
    before = file.read_text()
    reviewed = us.review(file, data)
    asked = [name for question in reviewed.questions for name in question.columns]
    columns = [table.spelled(column.name) for table in BOOK.tables for column in table.book.written]
    assert sorted(asked) == sorted(columns) == sorted(reviewed.unreviewed)
    assert file.read_text() == before


def test_answers_are_kept_in_the_codebook_with_who_gave_them(data, file):
    answers = {"panels": {"patients.levels": "yes"}, "columns": {"stays.ward": "sensitive", "diagnoses.code": "drop"}}
    reviewed = us.review(file, data, answers=answers, by="A. Meyer")
    book = LinkedCodebook.load(file)
    assert book == reviewed.codebook and file.read_text().startswith("# our tables")
    ward = book.table("stays").book.column("ward")
    assert ward.role.value == "sensitive" and ward.is_reviewed and ward.review.by == "A. Meyer"
    assert book.table("diagnoses").book.column("code").kind == "text"
    assert {"patients.sex", "patients.region", "patients.chronic"} <= set(reviewed.reviewed)
    assert "stays.days" in reviewed.unreviewed


def test_constants_are_asked_about_once_where_they_lie(tmp_path):
    """One file of stays that repeats people: the columns of the patients lie in it."""
    rows = datasets.histories(200, seed=5)
    stays = rows.stays.join(rows.patients, "patient_id").sort_by("stay_id")
    upper, lower = BOOK.tables[:2]
    constants = tuple(us.codebook.linked.Constant(column=name, child="stays") for name in upper.book.names)
    made = replace(upper, made_of="stays", constants=constants)
    LinkedCodebook(tables=(made, lower)).save(tmp_path / "book.toml")
    reviewed = us.review(tmp_path / "book.toml", {"stays": stays})
    asked = [name for question in reviewed.questions for name in question.columns]
    assert sorted(asked) == sorted([*map(upper.spelled, upper.book.names), *map(lower.spelled, lower.book.names)])
    with pytest.raises(ParameterError, match="is a constant"):
        us.review(tmp_path / "book.toml", {"stays": stays}, answers={"columns": {"patients.sex": "drop"}}, by="A")


@pytest.mark.parametrize(
    ("answers", "word"),
    [
        ({"person": "patient 3"}, "key of the top table"),
        ({"columns": {"ward": "yes"}}, "TABLE.COLUMN"),
        ({"columns": {"stays.ward": "perhaps"}}, "perhaps"),
        ({"panels": {"stays.nonsense": "yes"}}, "stays.nonsense"),
        ({"panels": 3}, "table of texts"),
    ],
)
def test_answers_that_make_no_sense_are_refused(data, file, answers, word):
    before = file.read_text()
    with pytest.raises(ParameterError, match=word):
        us.review(file, data, answers=answers, by="A")
    assert file.read_text() == before


def test_rules_across_tables_are_proposed_and_written(data, file):
    found = us.rules(file, data)
    by_columns = {tuple(sorted(map(str, p.rule.columns))): p for p in found.proposals}
    mothers = by_columns["patients.sex", "stays.ward"]  # men have no deliveries, and the example keeps it
    assert mothers.exceptions == 0 and "obstetrics" in mothers.words
    own = next(p for p in found.proposals if {table_of(name) for name in p.rule.columns} == {"diagnoses"}
               and not any("previous" in name for name in p.rule.columns))  # fmt: skip
    made = us.rules(file, data, accept=[mothers.id, own.id], by="A. Meyer", source="anatomy")
    book = LinkedCodebook.load(file)
    assert len(book.rules) == 1 and len(book.table("diagnoses").book.constraints) == 1
    assert book.unsourced_rules == () and len(made.added) == 2
    assert mothers.id not in {proposal.id for proposal in us.rules(file, data).proposals}


def test_public_tables_say_which_column_fixes_which(data, file, tmp_path):
    """Within a table the rule is its own, between tables it stands across them; a newer map replaces the older one."""
    inner, across = tmp_path / "inner.csv", tmp_path / "across.csv"
    inner.write_text("ward,outcome\nmedicine,home\nsurgery,care\n")
    across.write_text("ward,sex\nobstetrics,F\n")
    vouched = {"by": "A. Meyer", "source": "house rules"}
    maps = {("stays.ward", "stays.outcome"): inner, ("stays.ward", "patients.sex"): across}
    before = LinkedCodebook.load(file)
    with pytest.raises(ParameterError, match="a map needs `by` and `source`"):
        us.rules(file, maps=maps)
    assert len(us.rules(file, maps=maps, **vouched).added) == 2
    book = LinkedCodebook.load(file)
    (own,) = book.table("stays").book.constraints[len(before.table("stays").book.constraints) :]
    (rule,) = book.rules[len(before.rules) :]
    assert (own.columns, dict(own.groups)["care"]) == (("ward", "outcome"), ("surgery",)) and own.attestation
    assert (rule.columns, dict(rule.groups)) == (("stays.ward", "patients.sex"), {"F": ("obstetrics",)})
    assert book.unsourced_rules == ()
    inner.write_text("ward,outcome\nsurgery,home\n")
    us.rules(file, maps={("stays.ward", "stays.outcome"): inner}, **vouched)
    again = LinkedCodebook.load(file).table("stays").book.constraints
    assert [dict(one.groups) for one in again if one.kind == "determines"] == [{"home": ("surgery",)}]
    inner.write_text("ward,outcome\nsurgery,gone\n")
    with pytest.raises(ParameterError, match=r"no level of 'stays\.outcome'"):
        us.rules(file, maps={("stays.ward", "stays.outcome"): inner}, **vouched)


def test_a_confidential_file_of_linked_tables_is_no_public_map(file, tmp_path):
    folder = tmp_path / "files"
    demo.example_histories(folder, patients=30)
    with pytest.raises(ParameterError, match="confidential"):
        us.rules(file, folder, maps={("stays.ward", "stays.outcome"): folder / "stays.csv"}, by="A", source="s")


def test_what_nobody_declares_stays_drafted(data, file):
    proposal = next(p for p in us.rules(file, data).proposals if not p.needs_map)
    us.rules(file, data, accept=[proposal.id])
    assert LinkedCodebook.load(file).unsourced_rules != ()


def test_orders_of_days_are_found_between_tables(tmp_path):
    """Dates of thousands of days are compared as they are, not in a table of pairs."""
    from linked_examples import hospital, hospital_data

    book = replace(hospital(), rules=())
    tables = tuple(replace(table, book=replace(table.book, constraints=())) for table in book.tables)
    replace(book, tables=tables).save(tmp_path / "book.toml")
    found = us.rules(tmp_path / "book.toml", hospital_data(150))
    orders = {(p.rule.low, p.rule.high) for p in found.proposals if isinstance(p.rule, Order)}
    assert {
        ("stays.admitted", "stays.left"),
        ("stays.admitted", "diagnoses.on"),
        ("diagnoses.on", "stays.left"),
    } <= orders
    assert ("stays.left", "stays.admitted") not in orders


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"packs": ["deaths"]}, "packs"),
        ({"table": "stays"}, "table"),
        ({"accept": ["zzzzz"]}, "zzzzz"),
        ({"by": "A"}, "go together"),
    ],
)
def test_what_rules_of_linked_tables_do_not_take(data, file, given, word):
    with pytest.raises(ParameterError, match=word):
        us.rules(file, data, **given)
    with pytest.raises(ParameterError, match="data"):
        us.rules(file)
    with pytest.raises(CodebookError, match="linked"):
        us.learn_rules(file, data, [("a", "b")], out="new.toml", epsilon=1.0, delta=1e-6)
