"""The person as the unit: codebooks, sources, every recipe, statements, accounts."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tests.unit.test_secrets import OPTIONS
from understudy.codebook import Categorical, Codebook, PersonUnit, Role, Text
from understudy.errors import BudgetError, CodebookError, DataError, ParameterError, RefusalError
from understudy.evaluate.audit import audit
from understudy.evaluate.risk.cells import open_cells
from understudy.mechanisms import GroupOf
from understudy.mechanisms.selection_scores import fixed_size
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours
from understudy.privacy.account import Account
from understudy.release.verify import verify_release
from understudy.sources import EncodedSource, EngineSource, open_source
from understudy.sources.check import check_table
from understudy.synth import METHODS, LaplaceHistogram, PeGS, make_recipe
from understudy.synth.choices import remade
from understudy.synth.people import capped_source

TEXT = """format = 1

[unit]
id = "patient"
cap = 2

[[columns]]
name = "patient"
kind = "text"
role = "identifier"

[[columns]]
name = "a"
kind = "categorical"
levels = ["0", "1"]

[[columns]]
name = "b"
kind = "categorical"
levels = ["0", "1"]
"""
BOOK = Codebook.from_toml(TEXT)


def table(rows=1200, people=300):
    drawn = np.random.default_rng(5)
    return pa.table(
        {
            "patient": [f"secret-{p}" for p in drawn.integers(0, people, rows)],
            "a": drawn.integers(0, 2, rows).astype(str),
            "b": drawn.integers(0, 2, rows).astype(str),
        }
    )


def test_a_unit_is_written_as_it_was_read():
    assert BOOK.to_toml() == TEXT
    assert BOOK.unit == PersonUnit(id="patient", cap=2)
    assert BOOK.names == ("a", "b")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("cap = 2", "cap = 0", "cap = 0; it is the number of records of one person"),
        ("cap = 2", "cap = -3", "cap = -3"),
        ("cap = 2", "cap = 1.5", "whole number"),
        ("cap = 2", "cap = true", "cap = True"),
        ("cap = 2", "", "lacks cap"),
        ('id = "patient"', 'id = "nobody"', "'nobody', which is not a column"),
        ('id = "patient"', 'id = "a"', "ids never reach a release"),
        ('id = "patient"', "id = 7", "id = 7; it must be text in quotes"),
        ("cap = 2", "cap = 2\nlimit = 1", "unknown keys limit"),
        ("cap = 2", "cap = 2\npseudonyms = 1", "true or false"),
    ],
)
def test_a_bad_unit_is_refused(old, new, said):
    with pytest.raises(CodebookError, match=said):
        Codebook.from_toml(TEXT.replace(old, new, 1))


def test_a_unit_that_is_no_table_is_refused():
    with pytest.raises(CodebookError, match=r"\[unit\] must be a table"):
        Codebook.from_toml(TEXT.replace('[unit]\nid = "patient"\ncap = 2', 'unit = "patient"'))


def test_the_source_keeps_no_more_records_than_the_cap():
    """Two people with three records each and one with one, all in cells of their own."""
    data = pa.table({"patient": ["x"] * 3 + ["y"] * 3 + ["z"], "a": ["0"] * 3 + ["1"] * 4, "b": ["0"] * 6 + ["1"]})
    capped = capped_source(open_source(data, BOOK), Stream.seeded(1))
    grid = open_cells(capped, ("a", "b"))
    assert dict(zip(map(tuple, grid.codes.tolist()), grid.counts.tolist(), strict=True)) == {
        (0, 0): 2,
        (1, 0): 2,
        (1, 1): 1,
    }


def test_chance_and_not_the_file_chooses():
    """One person, first record in cell 0, three others in cell 1, cap 1: the first stays in a quarter of 400 fits."""
    data = pa.table({"patient": ["x"] * 4, "a": ["0", "1", "1", "1"], "b": ["0"] * 4})
    book = replace(BOOK, unit=PersonUnit(id="patient", cap=1))
    source = open_source(data, book)
    stream = Stream.seeded(9)
    first = sum(int(open_cells(capped_source(source, stream), ("a",)).codes[0, 0] == 0) for _ in range(400))
    assert abs(first - 100) < 7 * np.sqrt(400 * 3 / 16)


def test_ids_missing_in_some_rows_are_refused_and_reported():
    data = pa.table({"patient": ["x", None, "y"], "a": ["0", "1", "1"], "b": ["0"] * 3})
    with pytest.raises(DataError, match="'patient' is missing in 1 rows"):
        LaplaceHistogram(epsilon=1.0).fit(open_source(data, BOOK))
    [fault] = check_table(data, BOOK)
    assert fault.kind == "missing id" and fault.rows == (2,) and fault.count == 1


def test_a_table_without_ids_cannot_be_released_for_people(tmp_path):
    data = table().drop_columns(["patient"])
    with pytest.raises(DataError, match="no column 'patient'"):
        LaplaceHistogram(epsilon=1.0).fit(open_source(data, BOOK))
    assert [fault.kind for fault in check_table(data, BOOK)] == ["missing column"]
    codes = [np.zeros(5, np.uint8), np.ones(5, np.uint8)]
    with pytest.raises(DataError, match="no column 'patient'"):
        LaplaceHistogram(epsilon=1.0).fit(EncodedSource(codebook=BOOK, columns=codes))


def test_a_table_too_large_for_memory_is_capped_by_the_engine():
    """More than two records each: 300 people times 2, whichever they are."""
    source = capped_source(open_source(table(rows=6000), BOOK, local_bytes=0), Stream.seeded(1))
    assert isinstance(source, EngineSource) and source.is_capped
    assert open_cells(source, ("a", "b")).counts.sum() == 600
    assert capped_source(source, Stream.seeded(2)) is source


def test_a_fit_around_the_cap_is_refused():
    with pytest.raises(RefusalError, match="not capped"):
        LaplaceHistogram(epsilon=1.0).fit_records(open_source(table(), BOOK), Stream.seeded(1), None)


@pytest.mark.parametrize("method", METHODS)
def test_every_recipe_prices_the_person(method, tmp_path):
    recipe = make_recipe(method, **OPTIONS[method])
    release = recipe.fit(open_source(table(), BOOK)).sample(30)
    total, single = release.manifest.total, recipe.quote(replace(BOOK, unit=None), 30).total
    assert release.table.column_names == ["a", "b"]
    assert type(total) is type(single)
    if not hasattr(total, "epsilon"):
        return
    assert total.neighbours is Neighbours.ADD_REMOVE_PERSON
    assert "adding or removing one person with all their records" in release.statement
    assert "no person can make" in release.statement and "cap of 2 records" in release.statement
    events = [entry.event for entry in release.manifest.ledger if entry.event.proof]
    assert all(isinstance(event, GroupOf) and event.records == 2 for event in events)
    if getattr(recipe, "epsilon", None) is not None:  # a target is meant for the person
        assert total.epsilon <= recipe.epsilon * (1 + 1e-9) and total.delta <= (getattr(recipe, "delta", 0) or 0)
        assert release.manifest.parameters["per_person"]["records"] == 2
    else:
        assert total.epsilon == pytest.approx(2 * single.epsilon)
    release.save(tmp_path / "out")
    assert verify_release(tmp_path / "out").is_valid
    assert not any(b"secret-" in path.read_bytes() for path in (tmp_path / "out").iterdir())


def test_a_whole_file_target_of_route_s_is_met_for_the_person():
    for options in ({}, {"delta": 1e-6}):
        recipe = PeGS(epsilon=2.0, rows=50, **options)
        total = recipe.quote(BOOK, 50).total
        assert 1.9 < total.epsilon <= 2.0 and total.neighbours is Neighbours.ADD_REMOVE_PERSON


def test_a_cap_of_one_costs_what_a_record_costs():
    book = replace(BOOK, unit=PersonUnit(id="patient", cap=1))
    for method, options in (("laplace", {"epsilon": 1.0}), ("sba", {"epsilon": 1.0, "delta": 1e-6})):
        recipe = make_recipe(method, **options)
        person, record = recipe.quote(book, 5).total, recipe.quote(replace(book, unit=None), 5).total
        assert (person.epsilon, person.delta) == (record.epsilon, record.delta)


def test_accounts_keep_people_and_records_apart(tmp_path):
    terms = {"dataset": "stays", "epsilon": 3.0, "delta": 0.0}
    records = Account.create(tmp_path / "records.db", neighbours=Neighbours.ADD_REMOVE, **terms)
    people = Account.create(tmp_path / "people.db", neighbours=Neighbours.ADD_REMOVE_PERSON, **terms)
    recipe = LaplaceHistogram(epsilon=1.0)
    with pytest.raises(BudgetError, match="priced for add-remove-person"):
        recipe.fit(open_source(table(), BOOK, account=records)).sample(5)
    recipe.fit(open_source(table(), BOOK, account=people)).sample(5)
    assert people.spent().epsilon == 1.0
    with pytest.raises(BudgetError, match="priced for add-remove,"):
        recipe.fit(open_source(table(), replace(BOOK, unit=None), account=people)).sample(5)


def test_a_relation_of_people_is_not_a_recipe_s_choice():
    for make in (LaplaceHistogram, lambda **o: PeGS(alpha=1.0, neighbours=o["neighbours"])):
        with pytest.raises(ParameterError, match=r"codebook's \[unit\]"):
            make(epsilon=1.0, neighbours=Neighbours.ADD_REMOVE_PERSON).quote(BOOK, 5)


def test_an_audit_attacks_a_whole_person():
    """Pays for one record and states it for a person with nine: the nine show."""
    book = Codebook(
        columns=(
            Text(name="id", role=Role.IDENTIFIER),
            Categorical(name="a", levels=("x", "y", "z")),
        ),
        unit=PersonUnit(id="id", cap=9),
    )
    data = pa.table({"id": [str(n) for n in range(60)], "a": ["x"] * 40 + ["y"] * 20})
    # 120 test runs of 120 against none prove ln(.886 / .114) = 2.05 at miss = 1e-6
    found = audit(_Careless(epsilon=1.0), open_source(data, book), rows=1, runs=240, stream=Stream.seeded(4))
    assert found.refuted and found.neighbours is Neighbours.ADD_REMOVE_PERSON
    honest = audit(LaplaceHistogram(epsilon=1.0), open_source(data, book), rows=1, runs=240, stream=Stream.seeded(4))
    assert not honest.refuted


class _Careless(LaplaceHistogram):
    """Forgets that the targets are those of a person."""

    def fit(self, source, *, stream=None, report=None):
        return LaplaceHistogram(epsilon=9.0).fit(source, stream=stream)


def test_pseudonyms_are_made_anew(tmp_path):
    """The id column comes back with ids that no confidential record has, none twice, other ones in every file."""
    book = Codebook.from_toml(TEXT.replace("cap = 2", "cap = 2\npseudonyms = true"))
    assert "pseudonyms = true" in book.to_toml() and Codebook.from_toml(book.to_toml()) == book
    fitted = LaplaceHistogram(epsilon=1.0).fit(open_source(table(), book))
    one, two = (fitted.sample(500) for _ in range(2))
    assert one.table.column_names == ["patient", "a", "b"]
    ids = [*one.table["patient"].to_pylist(), *two.table["patient"].to_pylist()]
    assert len(set(ids)) == 1000 and not set(ids) & set(table()["patient"].to_pylist())
    one.save(tmp_path / "out")
    assert verify_release(tmp_path / "out").is_valid


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("privbayes", {"epsilon": 4.0}),
        ("pegs", {"alpha": 1.0, "parents": "private", "parent_count": 1, "selection_epsilon": 2.0}),
    ],
)
def test_scores_under_replace_one_are_those_of_the_kept_records(method, options):
    """The stated size is that of the table, 1,200; the scores are computed for the 600 that take part of 300 people."""
    data = pa.table({**table(1200).to_pydict(), "patient": [f"p{k % 300}" for k in range(1200)]})
    recipe = make_recipe(method, **options, public_rows=1200, neighbours=Neighbours.REPLACE)
    release = recipe.fit(open_source(data, BOOK)).sample(10)
    assert release.manifest.total.neighbours is Neighbours.REPLACE_PERSON
    assert any("how many of them each person has" in text for text in release.manifest.ledger.assumptions)
    words = "for changing all records of one person (how many records each person has is public)."
    assert words in release.manifest.statement
    with pytest.raises(DataError, match="between 2 and 500 records after the cap"):
        replace(recipe, public_rows=500).fit(open_source(data, BOOK))
    with pytest.raises(DataError, match="do not have exactly 500 records"):  # records as the unit: as before
        replace(recipe, public_rows=500).fit(open_source(data, replace(BOOK, unit=None)))


def test_a_fixed_size_is_the_same_for_all_neighbours():
    """A person whose three records take other values: 2 of them stay, as before."""
    tables = []
    for theirs in (["0", "0", "0"], ["1", "0", "1"]):
        rows = pa.table({"patient": ["x"] * 3 + ["y", "z"], "a": [*theirs, "0", "1"], "b": ["0"] * 5})
        tables.append(capped_source(open_source(rows, BOOK), Stream.seeded(1)).count([("a", "b")]))
    assert [fixed_size(counts, 5, capped=True) for counts in tables] == [4, 4]
    assert fixed_size(tables[0], 5, capped=False) == 5


def test_the_risk_of_averages_is_priced_for_people():
    """Noise for epsilon 1 and a cap of 2 is that of half an epsilon per record, on no more than two records each."""
    from understudy.codebook import Integer
    from understudy.reconstruct.risk import RiskQuestion, assess

    drawn = np.random.default_rng(2)
    who = [f"p{k}" for k in drawn.integers(0, 100, 400)]
    data = pa.table({"patient": who, "a": drawn.integers(0, 2, 400).astype(str), "days": drawn.integers(0, 20, 400)})
    book = Codebook(
        columns=(
            Text(name="patient", role=Role.IDENTIFIER),
            Categorical(name="a", levels=("0", "1")),
            Integer(name="days", edges=(0, 10, 20)),
        ),
        unit=PersonUnit(id="patient", cap=2),
    )
    question = RiskQuestion(groups=("a",), value="days", known=(), epsilons=(1.0,), repeats=1)
    found = assess(data, book, question, stream=Stream.seeded(1))
    assert found["unit"] == {"id": "patient", "cap": 2, "people": len(set(who))}
    [noisy] = found["noisy"]
    assert noisy["guarantee"]["neighbours"] == "add-remove-person" and noisy["guarantee"]["epsilon"] <= 1.0
    assert {entry["event"]["kind"] for entry in noisy["ledger"]} == {"group-of-records"}
    plain = assess(data, replace(book, unit=None), question, stream=Stream.seeded(1))
    assert plain["unit"] is None and plain["noisy"][0]["guarantee"]["neighbours"] == "add-remove"
    gaps = data.set_column(0, "patient", pa.array([None, *who[1:]]))
    with pytest.raises(DataError, match="'patient' is missing in 1 rows"):
        assess(gaps, book, question)


def test_a_recipe_made_again_asks_for_the_person_what_was_asked():
    """The manifest holds the shares of one record; taken for targets they would be divided by the cap a second time."""
    for recipe in (
        make_recipe("marginals", epsilon=1.0, delta=1e-6),
        make_recipe("laplace", epsilon=3.0),
        PeGS(epsilon=2.0, rows=50),
    ):
        manifest = recipe.fit(open_source(table(), BOOK)).sample(5).manifest
        assert manifest.parameters["per_person"]["records"] == 2
        again = remade(manifest.method, manifest.to_dict()["parameters"])
        assert again == recipe and again.quote(BOOK, 5).total == manifest.total
