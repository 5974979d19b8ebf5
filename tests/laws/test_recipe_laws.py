"""Laws that every registered method's price obeys, whatever the codebook and the number of rows."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from registry_examples import examples_with

from understudy.codebook import Categorical, Codebook, Ordinal
from understudy.privacy import ApproxDP, Neighbours, NoFormal, PureDP
from understudy.privacy.guarantees import LDiverse
from understudy.synth import METHODS, make_recipe

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE
SEARCH = 4e-6
"""Relative error of a total: search for the best Renyi order, and gains below 1e-6 that are not taken."""

BY_ALPHA = {"epsilon_per_record": None, "alpha": 3.0, "delta": 1e-6}
EXAMPLES = examples_with(
    {
        **{
            key: {"epsilon_per_record": None, "alpha": 3.0, "delta": 1e-06}
            for key in ("pegs", "marginal-bootstrap", "pmi")
        },
        "pegs-rs": {"epsilon_per_record": None, "alpha": 3.0, "delta": 1e-6, "block_size": 7},
        **{key: {"public_rows": 5000, "parent_count": 1} for key in ("sbhg", "sbhg-gauss")},
        "privbayes": {"public_rows": 5_000},
    }
)
DIVERSE = ("lugs", "plugs")
"""They promise l-diversity, which has no epsilon."""
ROUTE_S = [name for name, cls in METHODS.items() if cls.route == "S" and name not in DIVERSE]
PROMISING = [name for name, cls in METHODS.items() if cls.route != "none"]

sizes = st.lists(st.sampled_from([2, 3, 7]), min_size=2, max_size=4)
rows = st.integers(1, 100_000)
quick = settings(max_examples=25, deadline=None)


def book_of(levels):
    kinds = (Categorical, Ordinal)
    return Codebook(
        columns=tuple(
            kinds[position % 2](name=f"c{position}", levels=tuple(map(str, range(size))))
            for position, size in enumerate(levels)
        )
    )


def epsilon(guarantee):
    assert isinstance(guarantee, PureDP | ApproxDP)
    return guarantee.epsilon


@pytest.mark.parametrize("method", METHODS)
@quick
@given(levels=sizes, few=rows, more=rows)
def test_more_rows_never_cost_less(method, levels, few, more):
    few, more = sorted((few, more))
    recipe, book = make_recipe(method, **EXAMPLES[method]), book_of(levels)
    low, high = recipe.quote(book, few), recipe.quote(book, more)
    if recipe.route == "none":
        assert isinstance(low.total, NoFormal)
        assert low.total == high.total
        return
    if method in DIVERSE:
        assert low.total == high.total == LDiverse(l=1.2)
        return
    assert epsilon(low.pure) <= epsilon(high.pure)
    assert epsilon(low.total) <= epsilon(high.total) * (1 + SEARCH)
    assert epsilon(high.total) <= epsilon(high.pure)
    if recipe.route == "N":
        assert low.ledger == high.ledger


@pytest.mark.parametrize("method", ROUTE_S)
@pytest.mark.parametrize("relation", [AR, RO])
@quick
@given(levels=sizes, blocks=st.integers(1, 500), more=st.integers(1, 500))
def test_drawing_twice_pays_twice(method, relation, levels, blocks, more):
    """Pure prices of route S add up, in units of whole blocks."""
    recipe = make_recipe(method, **{**EXAMPLES[method], "neighbours": relation})
    book, unit = book_of(levels), EXAMPLES[method].get("block_size", 1)
    first, second = recipe.quote(book, blocks * unit), recipe.quote(book, more * unit)
    both = recipe.quote(book, (blocks + more) * unit)
    assert math.isclose(epsilon(first.pure) + epsilon(second.pure), epsilon(both.pure), rel_tol=1e-12)
    joined = (first.ledger + second.ledger).total(delta=1e-6)
    assert math.isclose(epsilon(joined), epsilon(both.total), rel_tol=SEARCH)


@pytest.mark.parametrize("method", ROUTE_S)
@quick
@given(levels=sizes, number=rows, alphas=st.lists(st.floats(1e-3, 1e6), min_size=2, max_size=2).map(sorted))
def test_a_larger_alpha_never_costs_more(method, levels, number, alphas):
    book = book_of(levels)
    options = {**EXAMPLES[method], "delta": None}
    prices = [epsilon(make_recipe(method, **{**options, "alpha": alpha}).quote(book, number).pure) for alpha in alphas]
    assert prices[1] <= prices[0]


@pytest.mark.parametrize("method", ROUTE_S)
@quick
@given(levels=sizes, number=rows, alpha=st.floats(1e-2, 1e3))
def test_replace_one_never_costs_less_than_add_remove(method, levels, number, alpha):
    """A replaced record is one removed and one added."""
    book = book_of(levels)
    recipe = make_recipe(method, **{**EXAMPLES[method], "alpha": alpha, "delta": None})
    added, replaced = (epsilon(replace(recipe, neighbours=r).quote(book, number).pure) for r in (AR, RO))
    assert added <= replaced <= 2 * added * (1 + 1e-12)


@pytest.mark.parametrize("method", ROUTE_S)
@quick
@given(levels=sizes, per_record=st.floats(1e-6, 50))
def test_the_papers_figure_is_met_and_is_never_the_total(method, levels, per_record):
    options = {key: value for key, value in EXAMPLES[method].items() if key != "alpha"}
    recipe, book = make_recipe(method, **options, epsilon_per_record=per_record), book_of(levels)
    figure = recipe.paper_figure(book)
    assert figure is not None
    assert figure["epsilon_per_record"] <= per_record
    quote, unit = recipe.quote(book, 700), options.get("block_size", 1)
    assert epsilon(quote.pure) <= 700 * per_record * (1 + 1e-12)
    assert math.isclose(epsilon(quote.pure), 700 * figure["epsilon_per_record"], rel_tol=1e-12)
    assert "That per-row figure alone is not the cost of this file." in quote.statement
    assert 700 % unit == 0


@pytest.mark.parametrize("method", ROUTE_S)
@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize("delta", [None, 1e-6])
@settings(max_examples=3, deadline=None)
@given(target=st.sampled_from([0.1, 1.0, 8.0]), number=st.sampled_from([10, 3000]))
def test_a_whole_file_target_is_met(method, relation, delta, target, number):
    options = {key: value for key, value in EXAMPLES[method].items() if key not in ("alpha", "delta")}
    recipe = make_recipe(method, **options, epsilon=target, rows=number, delta=delta, neighbours=relation)
    found = epsilon(recipe.quote(book_of((2, 3, 7)), number).total)
    assert target * (1 - 1e-4) <= found <= target


@pytest.mark.parametrize("method", PROMISING)
@quick
@given(levels=sizes, number=rows)
def test_a_seeded_stream_ends_every_promise(method, levels, number):
    quote = make_recipe(method, **EXAMPLES[method]).quote(book_of(levels), number, secure=False)
    assert isinstance(quote.total, NoFormal)
    assert "seeded" in quote.total.why
