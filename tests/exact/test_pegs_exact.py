"""PeGS on tiny domains: the exact output law of what a fit really holds, for every pair of neighbours."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from enumeration import (
    AR,
    RO,
    World,
    neighbours_of,
    records_of,
    renyi,
    small_book,
    source_of,
    tables_up_to,
    world,
    worst_ratio,
)

from understudy.blocks import conditional
from understudy.blocks.priors import PriorShape, PublicShape
from understudy.codebook import Codebook, Ordinal, Origin
from understudy.mechanisms.dirichlet import DirichletDraws
from understudy.privacy import NoFormal, PureDP
from understudy.synth import MarginalBootstrap, PeGS
from understudy.synth.seeds import RealSeeds

Laws = dict[tuple, dict]


def price_of(recipe, book, rows=1):
    claim = recipe.quote(book, rows).pure
    assert isinstance(claim, PureDP)
    return claim.epsilon


def laws_of(recipe, book, most):
    """Law of one record by table and seed, for all tables of at most ``most`` records."""
    found = {}
    for table in tables_up_to(book, most):
        here = world(recipe, book, table)
        found[table] = {seed: here.sweep(seed) for seed in records_of(book)}
    return found


def pairs_of(laws: Laws, book, relation):
    for table in laws:
        for other in neighbours_of(book, table, relation):
            if other in laws:
                yield laws[table], laws[other]


def worst_of(laws: Laws, book, relation):
    """Largest ratio over neighbours, seeds and outputs."""
    return max(worst_ratio(left[seed], right[seed]) for left, right in pairs_of(laws, book, relation) for seed in left)


@cache
def binary_pair_laws():
    book = small_book(2, 2)
    return book, laws_of(PeGS(alpha=1.0), book, 5)


def test_all_tables_of_two_binary_columns_stay_within_the_quote():
    """Exhaustive: every base of at most 4 records, one more or one other record. The figures are those of PRIVACY."""
    book, laws = binary_pair_laws()
    assert worst_of(laws, book, AR) == Fraction(64, 25)  # 2.56
    assert worst_of(laws, book, RO) == Fraction(24, 7)  # 3.4286
    for relation in (AR, RO):
        price = price_of(PeGS(alpha=1.0, neighbours=relation), book)
        assert price == pytest.approx(math.log(4), rel=1e-14)
        assert math.log(worst_of(laws, book, relation)) <= price


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize("alpha", [0.03, 1.0, 5.51])
@pytest.mark.parametrize(("sizes", "most"), [((2, 2), 4), ((2, 2, 2), 2), ((3, 2), 3), ((4,), 4)])
def test_every_pair_of_neighbours_stays_within_the_quote(sizes, most, alpha, relation):
    book = small_book(*sizes)
    recipe = PeGS(alpha=alpha, neighbours=relation)
    worst = worst_of(laws_of(recipe, book, most), book, relation)
    assert worst > 1
    assert math.log(worst) <= price_of(recipe, book)


@pytest.mark.parametrize("relation", [AR, RO])
def test_renyi_divergence_of_a_sweep_stays_within_the_curve(relation):
    book, laws = binary_pair_laws()
    event = PeGS(alpha=1.0, neighbours=relation).event(PeGS(alpha=1.0).priors(book), 1)
    for order in (2, 3, 8):
        found = max(
            renyi(left[seed], right[seed], order) for left, right in pairs_of(laws, book, relation) for seed in left
        )
        assert found <= event.renyi(np.array([float(order)]))[0]


@pytest.mark.parametrize(("copies", "ratio"), [(10, 3.4082840236686396), (10_000, 3.9992)])
def test_the_bound_of_equation_8_is_approached(copies, ratio):
    """D2 = copies of every one-coordinate flip of x, D1 = D2 + x, seed x, output x."""
    book, flips, recipe = small_book(2, 2), ((1, 0), (0, 1)), PeGS(alpha=1.0)
    without = world(recipe, book, flips * copies).sweep((0, 0))
    found = world(recipe, book, (*(flips * copies), (0, 0))).sweep((0, 0))[0, 0] / without[0, 0]
    assert found == (Fraction(2) * Fraction(copies + 2, copies + 3)) ** 2
    assert float(found) == pytest.approx(ratio, rel=1e-6)
    assert math.log(found) <= price_of(recipe, book)


def test_rows_multiply_and_the_quote_with_them():
    """Rows are independent given the tables: the tight family of one row is tight for any number of rows."""
    book, flips, copies = small_book(2, 2), ((1, 0), (0, 1)), 10_000
    one = world(PeGS(alpha=1.0), book, (*(flips * copies), (0, 0))).sweep((0, 0))[0, 0]
    one /= world(PeGS(alpha=1.0), book, flips * copies).sweep((0, 0))[0, 0]
    for rows in (1, 2, 50):
        price = price_of(PeGS(alpha=1.0), book, rows)
        assert rows * math.log(one) <= price <= rows * math.log(one) * 1.0002


def test_hidden_sweeps_are_paid_for():
    """Six sweeps of which only the last is seen: 22.97, more than one sweep's 4."""
    book, recipe = small_book(2, 2), PeGS(alpha=1.0, sweeps=6)
    base = ((1, 1),) * 10_000
    left, right = world(recipe, book, base), world(recipe, book, (*base, (0, 0)))
    ratio = max(worst_ratio(left.sweeps(seed, 6), right.sweeps(seed, 6)) for seed in records_of(book))
    assert float(ratio) == pytest.approx(22.9749021017202, rel=1e-12)
    assert math.log(ratio) > price_of(PeGS(alpha=1.0), book)
    assert math.log(ratio) <= price_of(recipe, book) == pytest.approx(6 * 2 * math.log(2))
    event = recipe.quote(book, 7).ledger.entries[-1].event
    assert isinstance(event, DirichletDraws)
    assert event.draws == 42


def shaped_book() -> Codebook:
    columns = (
        Ordinal(name="a", levels=("low", "middle", "high"), parents=("b",)),
        Ordinal(name="b", levels=("no", "yes"), parents=("a",)),
    )
    return Codebook(columns=columns)


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize(
    "shape",
    [PriorShape.ORDINAL, PublicShape(counts={"a": (0, 6, 2), "b": (4, 0)}, source="an old yearbook")],
    ids=["ordinal", "public"],
)
def test_shaped_priors_cost_what_their_smallest_count_says(shape, relation):
    book = shaped_book()
    recipe = PeGS(alpha=0.75, prior=shape, neighbours=relation)
    ratios = [(1, 2, 1), (1, 1)] if shape is PriorShape.ORDINAL else [(1, 7, 3), (5, 1)]
    empty = world(recipe, book, ())
    for prior, shares in zip(empty.priors, ratios, strict=True):
        assert prior == tuple(Fraction(share, sum(shares)) for share in shares)
    laws = laws_of(recipe, book, 3)
    worst = worst_of(laws, book, relation)
    price = price_of(recipe, book)
    assert price == pytest.approx(2 * math.log1p(1 / 0.75), rel=1e-14)
    assert math.log(worst) <= price
    for order in (2, 6):
        found = max(
            renyi(left[seed], right[seed], order) for left, right in pairs_of(laws, book, relation) for seed in left
        )
        assert found <= recipe.event(recipe.priors(book), 1).renyi(np.array([float(order)]))[0]


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize("buckets", [1, 2, 3])
@pytest.mark.parametrize("key", ["feature-hash", "minhash"])
def test_hashed_keys_keep_the_bound(key, buckets, relation):
    book = small_book(2, 2, 2)
    recipe = PeGS(alpha=1.0, key=key, key_space=buckets, neighbours=relation)
    assert math.log(worst_of(laws_of(recipe, book, 2), book, relation)) <= price_of(recipe, book)


@pytest.mark.parametrize("relation", [AR, RO])
def test_marginal_bootstrap_keeps_the_bound(relation):
    book = small_book(2, 3)
    recipe = MarginalBootstrap(alpha=0.5, neighbours=relation)
    laws = laws_of(recipe, book, 3)
    assert math.log(worst_of(laws, book, relation)) <= price_of(recipe, book)
    assert all(len(set(map(tuple, map(dict.items, by_seed.values())))) == 1 for by_seed in laws.values())


def test_a_key_that_no_record_has_gives_the_prior_alone():
    """PRIVACY: with any other fallback the ratio of a draw grows with n (68 at n = 100)."""
    book = small_book(2, 3)
    here = world(PeGS(alpha=1.0), book, ((0, 2),) * 100)
    assert here.law(0, (0, 0)) == here.law(0, (1, 1)) == (Fraction(1, 2), Fraction(1, 2))
    assert here.law(1, (1, 0)) == (Fraction(1, 3),) * 3
    assert here.law(1, (0, 0)) == (Fraction(1, 103), Fraction(1, 103), Fraction(101, 103))


@pytest.mark.parametrize("key", ["columns", "feature-hash", "minhash"])
def test_sparse_tables_have_the_law_of_dense_ones(key, monkeypatch):
    book = small_book(2, 3, 2)
    recipe = PeGS(alpha=0.3, key=key, key_space=None if key == "columns" else 5)
    rows = ((0, 2, 1), (1, 0, 0), (1, 0, 0), (0, 1, 1))
    dense = world(recipe, book, rows)
    monkeypatch.setattr(conditional, "DENSE_CELLS", 0)
    sparse = world(recipe, book, rows)
    assert sum(map(len, sparse.cells)) < sum(map(len, dense.cells))
    for column, record in itertools.product(range(3), records_of(book)):
        assert sparse.law(column, record) == dense.law(column, record)


def test_real_seeds_break_the_bound_and_lose_the_label():
    """Two pairs of columns; leaving (0, 0, 0, 0) takes two rare draws, starting from (1, 1, 1, 1) takes none."""
    pairs = {"a": ("b",), "b": ("a",), "c": ("d",), "d": ("c",)}
    book, recipe = small_book(2, 2, 2, 2).with_parents(pairs), PeGS(alpha=1.0)
    zeros, ones = ((0, 0, 0, 0),) * 2000, (1, 1, 1, 1)
    without = world(recipe, book, zeros).sweep(zeros[0])[ones]
    here = world(recipe, book, (*zeros, ones))
    started = (2000 * here.sweep(zeros[0])[ones] + here.sweep(ones)[ones]) / 2001
    assert math.log(started / without) > price_of(recipe, book)  # about 400 against 16
    assert math.log(here.sweep(ones)[ones] / world(recipe, book, zeros).sweep(ones)[ones]) <= price_of(recipe, book)
    total = PeGS(alpha=1.0, seeds=RealSeeds()).quote(book, 1).total
    assert isinstance(total, NoFormal)
    assert "real rows" in total.why


def test_parents_chosen_by_mutual_information_break_the_bound_and_lose_the_label():
    """b copies a and c mirrors it; one replaced row spoils either, and the choice flips with it."""
    book = small_book(2, 2, 2)
    recipe = PeGS(alpha=1.0, parents="mutual-information", parent_count=1, neighbours=RO)
    base = ((0, 0, 1), (1, 1, 0)) * 750
    laws = [world(recipe, book, (*base, row)).law(0, (0, 0, 0)) for row in ((0, 1, 1), (0, 0, 0))]
    ratio = max(left / right for left, right in itertools.permutations([law[1] for law in laws], 2))
    assert ratio > 100
    assert math.log(ratio) > price_of(PeGS(alpha=1.0, neighbours=RO), book)
    total = recipe.quote(book, 1).total
    assert isinstance(total, NoFormal)
    assert "mutual information" in total.why


def test_levels_drafted_from_the_data_lose_the_label():
    book = small_book(2, 2)
    drafted = replace(book, columns=(replace(book.columns[0], origin=Origin.DRAFTED), book.columns[1]))
    total = PeGS(alpha=1.0).quote(drafted, 1).total
    assert isinstance(total, NoFormal)
    assert "levels of a" in total.why


def test_the_enumeration_reads_what_the_fit_holds():
    """Guard of this file itself: counts and prior by hand."""
    book = small_book(2, 2)
    here = World.of(PeGS(alpha=0.5).fit(source_of(book, ((0, 0), (0, 1), (0, 1)))))
    assert here.law(0, (1, 1)) == (Fraction(5, 6), Fraction(1, 6))
    assert here.law(1, (0, 0)) == (Fraction(3, 8), Fraction(5, 8))
    assert here.sweep((1, 1))[0, 1] == Fraction(5, 6) * Fraction(5, 8)
