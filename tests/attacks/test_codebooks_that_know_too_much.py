"""Levels, rules, weights and parents that were read off the data, and attestations that no longer fit."""

import datetime as dt
from dataclasses import replace

import pyarrow as pa
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook, Continuous, Origin
from understudy.codebook.declare import declare_text
from understudy.errors import BudgetError, CodebookError, DataError, ParameterError, RefusalError
from understudy.mechanisms.stream import Stream
from understudy.privacy import NoFormal
from understudy.synth import METHODS, make_recipe
from understudy.synth.counts import Counts
from understudy.synth.paid_draft import PaidPlan, paid_draft
from understudy.trees import PrivateAlphaForest
from understudy.trees.recipe import RiskScore
from understudy.trees.train import make_training

RECIPE = us.Marginals(epsilon=1.0, delta=1e-6)
SAID = {"by": "J. Doe", "source": "data dictionary 2024", "on": dt.date(2024, 5, 1)}


def drafted(book: Codebook) -> Codebook:
    return replace(book, columns=tuple(replace(column, origin=Origin.DRAFTED) for column in book.columns))


def attested(book: Codebook) -> Codebook:
    return Codebook.from_toml(declare_text(drafted(book).to_toml(), columns=None, **SAID))


def why(quoted) -> str:
    assert isinstance(quoted.total, NoFormal), quoted.total
    assert quoted.total.why in quoted.statement or "no formal" in quoted.statement
    return quoted.total.why


@pytest.mark.parametrize("method", [name for name, cls in METHODS.items() if cls.route != "none"])
def test_a_drafted_codebook_promises_nothing_by_any_method(method, book):
    from tests.unit.test_registry import EXAMPLES

    quoted = make_recipe(method, **EXAMPLES[method]).quote(drafted(book), 10)
    assert "levels of a, b were drafted from the data and nobody has attested" in why(quoted)


def test_a_draft_of_the_very_table_promises_nothing(data, tmp_path):
    found = us.draft(data, tmp_path / "book.toml").codebook
    assert "drafted from the data" in why(RECIPE.quote(found, 10))
    assert str(300) not in (tmp_path / "book.toml").read_text(), "the number of records does not show in a draft"


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace('"z"]', '"z", "rare disease"]'),
        lambda text: text.replace('["x", ', "["),
        lambda text: text.replace('missing = "NA"', 'missing = "unknown"'),
        lambda text: text.replace('["x", "y", "z"]', '["y", "x", "z"]'),
    ],
    ids=["level added", "level dropped", "missing renamed", "reordered"],
)
def test_an_attestation_speaks_for_what_the_person_saw(edit, book):
    text = attested(book).to_toml()
    assert RECIPE.quote(Codebook.from_toml(text), 10).total.is_formal
    changed = Codebook.from_toml(edit(text))
    assert "levels of a were changed after a person attested what stood there before" in why(RECIPE.quote(changed, 10))
    again = Codebook.from_toml(declare_text(changed.to_toml(), columns=None, **SAID))
    assert RECIPE.quote(again, 10).total.is_formal, "the person looked again"


def test_a_stale_attestation_is_quoted_nowhere(book):
    column = attested(book).column("a")
    changed = replace(column, levels=("x", "y", "z", "w"), origin=Origin.DECLARED)
    whole = replace(book, columns=(changed, book.column("b")))
    assert "J. Doe" not in RECIPE.quote(whole, 10).statement


@pytest.fixture(scope="module")
def bought():
    visits = pa.table({"s": ["F", "M"] * 4000, "t": ["u", "v", "w", "u"] * 2000})
    return paid_draft(visits, PaidPlan(epsilon=4.0, delta=1e-6))


def test_a_level_slipped_into_a_paid_draft_was_not_paid_for(bought):
    assert RECIPE.quote(bought, 10).total.is_formal
    changed = Codebook.from_toml(bought.to_toml().replace('["F", "M",', '["F", "M", "X",'))
    assert "levels of s were changed after the draft that paid for them" in why(RECIPE.quote(changed, 10))


def test_a_paid_draft_without_its_price_is_refused(bought):
    with pytest.raises(CodebookError, match=r"no \[paid\] table that says what was"):
        replace(bought, paid=None)


def test_a_paid_draft_made_cheaper_by_hand_is_refused_by_the_account_that_paid(account):
    visits = pa.table({"s": ["F", "M"] * 4000})
    found = paid_draft(visits, PaidPlan(epsilon=1.0, delta=1e-6), account=account)
    cheaper = Codebook.from_toml(found.to_toml().replace('\\"epsilon\\": 1.0', '\\"epsilon\\": 0.01'))
    assert cheaper != found
    recipe = us.Marginals(epsilon=0.5, delta=1e-6)
    fitted = recipe.fit(us.open(visits, cheaper, unknown="other-or-missing", account=account))
    with pytest.raises(BudgetError, match="paid another price"):
        fitted.sample(10)


def test_rules_are_an_assumption_that_the_statement_names(book):
    text = book.to_toml() + '\n[[constraints]]\nkind = "implies"\nwhen = { a = "x" }\nthen = { b = "1" }\n'
    said = RECIPE.quote(Codebook.from_toml(text), 10).statement
    assert "rules of the codebook are public knowledge and were not read off the data" in said


def test_parents_chosen_on_the_data_promise_nothing(book):
    recipe = make_recipe("pegs", alpha=5.0, parents="mutual-information", parent_count=1)
    assert "parents" in why(recipe.quote(book, 10))
    declared = make_recipe("pegs", alpha=5.0).quote(book, 10).statement
    assert "the parents of every column, the prior and the number of rows were fixed without looking" in declared


def weighted_book() -> Codebook:
    weight = Continuous(name="w", edges=(1, 2, 4), precision=1)
    return Codebook(columns=(Categorical(name="b", levels=("0", "1")), weight), weight="w")


def test_a_weight_beyond_its_bounds_is_refused_and_never_counted():
    heavy = pa.table({"b": ["0", "1"], "w": [1.5, 400.0]})
    with pytest.raises(DataError, match="values that the codebook does not know in 'w'"):
        RECIPE.fit(us.open(heavy, weighted_book()))


def test_weighted_counts_of_drafted_bounds_promise_nothing():
    plan = Counts(book=drafted(weighted_book()), by=("b",), epsilon=1.0, weighted=True)
    assert "levels of b, w were drafted" in plan.quote().total.why


def test_a_score_of_a_drafted_codebook_promises_nothing(data, book):
    source = us.open(data, drafted(book))
    model = RiskScore(training=make_training("forest", epsilon=1.0), target="b").fit(source).sample()
    assert "levels of a, b were drafted" in model.guarantee.why and "no formal" in model.statement


def test_quoting_with_one_codebook_and_drawing_with_another(book, table):
    """The price is that of the codebook that the data were opened with; no quote can be carried over."""
    coarse = Codebook(columns=(book.column("b"),))
    recipe = make_recipe("pegs", epsilon_per_record=1.0, delta=1e-6)
    cheap, due = recipe.quote(coarse, 50), recipe.quote(book, 50)
    release = recipe.fit(us.open(table, book)).sample(50)
    assert release.manifest.ledger == due.ledger != cheap.ledger


def test_a_source_keeps_its_codebook(book, table):
    source = us.open(table, drafted(book))
    with pytest.raises(RefusalError, match="the codebook of a source does not change"):
        source.codebook = book


def test_a_unit_that_is_not_enforced_is_refused(book, table):
    from understudy.codebook import Role, Text
    from understudy.codebook.unit import PersonUnit

    people = Codebook(columns=(Text(name="id", role=Role.IDENTIFIER), *book.columns), unit=PersonUnit(id="id", cap=2))
    rows = table.append_column("id", pa.array([f"p{k // 4}" for k in range(len(table))]))
    score = RiskScore(training=make_training("forest", epsilon=1.0), target="b")
    assert score.fit(us.open(rows, people)).quote().total.neighbours.unit == "person"  # `fit` caps the records itself
    with pytest.raises(DataError, match="the table has no column 'id'"):
        score.fit(us.open(table, people))
    with pytest.raises(ParameterError, match="without the ids of people"):
        PrivateAlphaForest(epsilon=1.0, codebook=people, target="b").fit(rows.to_pandas(), rows["b"].to_pylist())
    recipe = us.Marginals(epsilon=1.0, delta=1e-6)
    with pytest.raises(RefusalError, match="were not capped"):
        recipe.fit_records(us.open(rows, people), Stream.from_system(), None)
    with pytest.raises(DataError, match="the table has no column 'id'"):
        recipe.fit(us.open(table, people))
