"""The table of all methods is fresh, its files exist, and what it says of proofs is what releases cite."""

import importlib.util
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.test_registry import COLUMNS, EXAMPLES
from understudy import datasets
from understudy.codebook import Codebook
from understudy.commute.recipe import METHODS as COMMUTE
from understudy.errors import ParameterError
from understudy.facade.methods import method_facts
from understudy.privacy.guarantees import Neighbours
from understudy.synth import METHODS, make_recipe
from understudy.synth.facts import FACTS as SYNTH
from understudy.trees.facts import FACTS as TREES
from understudy.trees.recipe import RiskScore
from understudy.trees.train import METHODS as SCORES
from understudy.trees.train import make_training

ALL = method_facts()

ROOT = Path(__file__).parents[2]
PROOFS = ROOT / "src" / "understudy" / "mechanisms" / "proofs"
EVERY = [one for room in ALL.values() for one in room]


def test_the_index_is_fresh():
    spec = importlib.util.spec_from_file_location("index", ROOT / "docs" / "methods" / "generate_index.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.TARGET.read_text(encoding="utf-8") == module.render(), "stale: run `make docs`"


def test_every_registered_method_is_there():
    assert list(SYNTH) == list(METHODS)
    assert set(TREES) == set(SCORES)
    assert [one.name for one in ALL["Commuting tables"]] == [f"commute {name}" for name in COMMUTE]


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.name)
def test_every_file_exists(one):
    for path in (one.page, *one.exact_tests, *one.audits):
        assert (ROOT / path).is_file(), path
    for name in one.proofs:
        assert (PROOFS / name).is_file(), name


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.name)
def test_every_proof_is_checked_by_a_test_that_is_listed(one):
    for name in one.proofs:
        cited = set(re.findall(r"`(tests/exact/\S+?\.py)::", (PROOFS / name).read_text(encoding="utf-8")))
        assert cited & set(one.exact_tests), f"{one.name} lists no exact test of {name}"


def test_every_proof_belongs_to_a_method():
    assert {name for one in EVERY for name in one.proofs} == {path.name for path in PROOFS.glob("*.md")}


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.name)
def test_what_is_not_proved_has_something_proved_beside_it(one):
    if one.sound == "unsound" or one.route == "none":
        assert one.instead
    if one.neighbours:
        assert one.proofs and one.exact_tests and one.route in ("N", "S", "call")


@pytest.fixture(scope="module")
def book():
    whole = datasets.discharges_codebook()
    return Codebook(columns=tuple(replace(whole.column(name), parents=None) for name in COLUMNS))


@pytest.mark.parametrize("name", METHODS)
def test_releases_cite_the_proofs_and_relations_that_are_listed(name, book):
    """Under each relation that the facts name the method is priced by listed proofs; under the others it is refused."""
    facts, cls = SYNTH[name], METHODS[name]
    assert facts.route == cls.route
    for relation in (Neighbours.ADD_REMOVE, Neighbours.REPLACE):
        options = EXAMPLES[name]
        if facts.neighbours:
            recipe = make_recipe(name, **options, neighbours=relation)
            quoted = recipe.quote(book, 20)
            assert relation in facts.neighbours and quoted.total.neighbours is relation
        else:
            quoted = make_recipe(name, **options).quote(book, 20)
            assert not hasattr(quoted.total, "neighbours")
        cited = {entry.event.proof for entry in quoted.ledger} - {None}
        assert cited <= set(facts.proofs), name
    for strange in (Neighbours.ORIGIN, Neighbours.ADD_REMOVE_PERSON, Neighbours.REPLACE_PERSON):
        with pytest.raises(ParameterError, match=r"`neighbours` is|does not take `neighbours`"):
            make_recipe(name, **EXAMPLES[name], neighbours=strange).quote(book, 20)


@pytest.mark.parametrize("structure", [None, "random", "measured", "stable"])
@pytest.mark.parametrize("name", SCORES)
def test_scores_cite_the_proofs_that_are_listed(name, structure, book):
    facts = TREES[name]
    if structure is not None and name not in ("tree", "bag", "per-call-tree"):
        structure = None
    needs = {"dpat": {"call_epsilon": 0.1}, "edpat": {"call_epsilon": 0.1}, "alpha-tree": {}}
    needs["additive"] = {"epsilon": 1.0, "delta": 1e-6}
    options = dict(needs.get(name, {"epsilon": 1.0}))
    if name == "per-call-tree":
        options = {"call_epsilon": 0.1, **({} if structure == "random" else {"epsilon": 1.0})}
    if structure is not None:
        options |= {"structure": structure, **({"delta": 1e-6} if structure in ("measured", "stable") else {})}
    quoted = RiskScore(training=make_training(name, **options), target="sex").quote(book)
    cited = {entry.event.proof for entry in quoted.ledger} - {None}
    assert cited <= set(facts.proofs)
    total = quoted.total
    assert (total.is_formal and total.neighbours in facts.neighbours) or facts.route == "none"
