"""The words of every promise against its proof file and against the privacy contract, method by method."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.test_registry import COLUMNS, EXAMPLES
from understudy import datasets
from understudy.codebook import Codebook
from understudy.privacy import ApproxDP, Neighbours, PureDP
from understudy.privacy.spelling import at_most
from understudy.synth import METHODS, make_recipe
from understudy.synth.facts import FACTS

PROOFS = Path(__file__).parents[2] / "src" / "understudy" / "mechanisms" / "proofs"
PROMISING = [name for name, facts in FACTS.items() if facts.neighbours]
ROWS = 20


@pytest.fixture(scope="module")
def book():
    whole = datasets.discharges_codebook()
    return Codebook(columns=tuple(replace(whole.column(name), parents=None) for name in COLUMNS))


def section(proof: str, heading: str) -> str:
    text = (PROOFS / proof).read_text(encoding="utf-8")
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, flags=re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("relation", [Neighbours.ADD_REMOVE, Neighbours.REPLACE])
@pytest.mark.parametrize("name", PROMISING)
def test_a_statement_names_relation_price_and_what_is_public(name, relation, book):
    """PRIVACY, general rule 1: the neighbour relation, epsilon, delta, and the inputs that are taken as public."""
    quoted = make_recipe(name, **EXAMPLES[name], neighbours=relation).quote(book, ROWS)
    total, said = quoted.total, quoted.statement
    assert isinstance(total, PureDP | ApproxDP)
    assert f"epsilon = {at_most(total.epsilon)}" in said
    assert ("delta" in said.split("differentially")[0]) == (total.delta > 0)
    assert {
        Neighbours.ADD_REMOVE: "for adding or removing one record.",
        Neighbours.REPLACE: "for changing one record to any other (the number of records is public).",
    }[relation] in said
    assert "the levels of typ, sex, sev, cat are public knowledge" in said
    assert "number of rows must have been chosen without looking at the data" in said
    if METHODS[name].route == "N":
        assert "The perturbed tables were released once; the rows are drawn from them and cost nothing more." in said
    else:  # PRIVACY sections 1 to 3: the file, not the row
        assert "The price covers all rows together; drawing again from the same data pays again." in said
        assert "That per-row figure alone is not the cost of this file." in said
    if total.epsilon > 10:
        assert "is a weak promise: take it as bookkeeping, not as protection" in said


@pytest.mark.parametrize("relation", [Neighbours.ADD_REMOVE, Neighbours.REPLACE])
@pytest.mark.parametrize("name", PROMISING)
def test_every_priced_line_is_proved_under_its_relation(name, relation, book):
    """A proof that is silent about a relation proves nothing under it."""
    word = {Neighbours.ADD_REMOVE: "add-remove", Neighbours.REPLACE: "replace-one"}[relation]
    ledger = list(make_recipe(name, **EXAMPLES[name], neighbours=relation).quote(book, ROWS).ledger)
    assert ledger
    for entry in ledger:
        assert entry.guarantee.neighbours is relation
        said = section(entry.event.proof, "Neighbours") + section(entry.event.proof, "Claim")
        assert word in said, entry.event.proof


@pytest.mark.parametrize(
    "proof", ["origin_draws.md", "geometric_histogram.md", "subsampled_binomial.md", "stability_histogram.md"]
)
def test_commuting_prices_are_proved_for_origins(proof):
    assert "origin" in section(proof, "Neighbours")


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("pegs", {"alpha": 5.0}, "the parents of every column, the prior and the number of rows were fixed without"),
        (
            "pegs",
            {"alpha": 5.0, "parents": "private", "parent_count": 1, "selection_epsilon": 1.0, "public_rows": 99},
            "the table is known to have at most 99 records",
        ),
        (
            "sbhg",
            {"epsilon": 2.0, "delta": 1e-6, "parents": "declared"},
            "the parents of every column were fixed without looking at the data",
        ),
        (
            "marginals",
            {"epsilon": 1.0, "delta": 1e-6, "workload": {"sex": 2.0}},
            "the weights of the workload were chosen without looking at the data",
        ),
        (
            "pmi",
            {"epsilon_per_record": 1.0},
            "alpha, the order of the columns and the number of rows were fixed without",
        ),
        ("sba", {"epsilon": 1.0, "delta": 0.01}, "A delta of 0.01 is a weak promise"),
        ("laplace", {"epsilon": 1.0, "neighbours": Neighbours.REPLACE}, "the number of confidential records is public"),
        ("lugs", {"l": 1.2}, "This is not differential privacy and gives no bound on membership inference."),
    ],
    ids=["pegs", "pegs-private", "sbhg-declared", "workload", "pmi", "weak delta", "replace", "lugs"],
)
def test_what_must_be_public_is_said(name, options, words, book):
    assert words in make_recipe(name, **options).quote(book, ROWS).statement


def test_private_parents_are_not_called_public(book):
    options = {"alpha": 5.0, "parent_count": 1, "selection_epsilon": 1.0, "public_rows": 99}
    said = make_recipe("pegs", parents="private", **options).quote(book, ROWS).statement
    assert "the parents of every column" not in said


@pytest.mark.parametrize("relation", [Neighbours.ADD_REMOVE, Neighbours.REPLACE])
def test_a_false_number_of_records_is_refused(relation, book):
    """Sensitivities rest on it: below the truth (add-remove), or other than it (replace-one), they are false."""
    import understudy as us
    from understudy.errors import UnderstudyError

    table = us.datasets.discharges(rows=500, seed=3).select(list(COLUMNS))
    recipe = make_recipe("sbhg", epsilon=2.0, delta=1e-6, public_rows=400, parent_count=1, neighbours=relation)
    with pytest.raises(UnderstudyError, match="400"):
        recipe.fit(us.open(table, book))
