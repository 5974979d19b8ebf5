"""PeGS.rs on tiny domains: the exact law of whole blocks with reset, for every pair of neighbours."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from enumeration import AR, RO, neighbours_of, records_of, renyi, small_book, tables_up_to, world, worst_ratio

from understudy.blocks.priors import PriorShape
from understudy.codebook import Codebook, Ordinal
from understudy.mechanisms.dirichlet import DirichletResetBlocks
from understudy.privacy import NoFormal, PureDP
from understudy.synth import PeGS, PeGSReset
from understudy.synth.seeds import RealSeeds


def price_of(recipe, book, rows):
    claim = recipe.quote(book, rows).pure
    assert isinstance(claim, PureDP)
    return claim.epsilon


def curve_of(recipe, book, order):
    return recipe.event(recipe.priors(book), recipe.block_size).renyi(np.array([float(order)]))[0]


def blocks_of(recipe, book, most):
    """Law of one whole block by table and seed."""
    found = {}
    for table in tables_up_to(book, most):
        here = world(recipe, book, table)
        found[table] = {seed: here.block(seed, recipe.block_size) for seed in records_of(book)}
    return found


def pairs_of(laws, book, relation):
    for table in laws:
        for other in neighbours_of(book, table, relation):
            if other in laws:
                for seed in laws[table]:
                    yield laws[table][seed], laws[other][seed]


@cache
def binary_pair_blocks(block_size):
    book = small_book(2, 2)
    return book, blocks_of(PeGSReset(alpha=1.0, block_size=block_size), book, 3)


@pytest.mark.parametrize("block_size", [1, 2, 3])
def test_a_block_costs_one_record_under_add_remove(block_size):
    """Every base of at most 2 records and one more: 2.25 whatever the block size; the quote says 4."""
    book, laws = binary_pair_blocks(block_size)
    worst = max(itertools.starmap(worst_ratio, pairs_of(laws, book, AR)))
    recipe = PeGSReset(alpha=1.0, block_size=block_size)
    assert worst == Fraction(9, 4)
    assert math.log(worst) <= price_of(recipe, book, block_size) == pytest.approx(math.log(4), rel=1e-14)


@pytest.mark.parametrize("block_size", [1, 2, 3])
def test_a_block_costs_two_cells_per_column_under_replace_one(block_size):
    book, laws = binary_pair_blocks(block_size)
    worst = max(itertools.starmap(worst_ratio, pairs_of(laws, book, RO)))
    price = price_of(PeGSReset(alpha=1.0, block_size=block_size, neighbours=RO), book, block_size)
    assert price == pytest.approx(math.log(9), rel=1e-14)
    assert math.log(worst) <= price
    assert block_size == 1 or worst > 4  # the add-remove price would be false


def test_the_replace_one_witness():
    """1000 x (0,0), and (0,1) against (1,1); seed (0,0), outputs (0,1), (0,0), (1,0)."""
    book, base = small_book(2, 2), ((0, 0),) * 1000
    recipe = PeGSReset(alpha=1.0, block_size=3, neighbours=RO)
    out = ((0, 1), (0, 0), (1, 0))
    left, right = (world(recipe, book, (*base, row)).block((0, 0), 3)[out] for row in ((0, 1), (1, 1)))
    ratio = left / right
    assert float(ratio) == pytest.approx(5.994017946161515, rel=1e-12)
    assert price_of(PeGSReset(alpha=1.0, block_size=3), book, 3) < math.log(ratio) <= price_of(recipe, book, 3)


def test_renyi_divergence_of_a_block_adds_up_path_by_path():
    book, laws = binary_pair_blocks(3)
    found = max(renyi(left, right, 2) for left, right in pairs_of(laws, book, AR))
    bound = curve_of(PeGSReset(alpha=1.0, block_size=3), book, 2)
    assert found == pytest.approx(0.2283383681913138, rel=1e-12)
    assert found <= bound == pytest.approx(0.2355660713127672, rel=1e-11)


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize("order", [2, 5, 20])
def test_renyi_divergence_stays_within_the_curve(order, relation):
    book, laws = binary_pair_blocks(2)
    found = max(renyi(left, right, order) for left, right in pairs_of(laws, book, relation))
    assert found <= curve_of(PeGSReset(alpha=1.0, block_size=2, neighbours=relation), book, order)


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize("alpha", [0.2, 3.0])
@pytest.mark.parametrize(("sizes", "key"), [((3, 2), "columns"), ((2, 2, 2), "feature-hash"), ((2, 2, 2), "minhash")])
def test_other_domains_and_keys_stay_within_the_quote(sizes, key, alpha, relation):
    book = small_book(*sizes)
    buckets = None if key == "columns" else 2
    recipe = PeGSReset(alpha=alpha, block_size=2, key=key, key_space=buckets, neighbours=relation)
    laws = blocks_of(recipe, book, 2 if key == "columns" else 1)
    price, curve = price_of(recipe, book, 2), curve_of(recipe, book, 3)
    for left, right in pairs_of(laws, book, relation):
        assert math.log(worst_ratio(left, right)) <= price
        assert renyi(left, right, 3) <= curve


@pytest.mark.parametrize("relation", [AR, RO])
def test_shaped_priors_stay_within_the_quote(relation):
    """A visited cell falls back to its own prior, shaped as it is."""
    columns = (
        Ordinal(name="a", levels=("low", "middle", "high"), parents=("b",)),
        Ordinal(name="b", levels=("no", "yes"), parents=("a",)),
    )
    book = Codebook(columns=columns)
    recipe = PeGSReset(alpha=0.5, block_size=2, prior=PriorShape.ORDINAL, neighbours=relation)
    here = world(recipe, book, ((1, 1), (1, 1)))
    assert here.priors[0] == (Fraction(1, 4), Fraction(1, 2), Fraction(1, 4))
    stay = here.block((1, 1), 2)[(1, 1), (1, 1)]  # both cells fresh, then both at their priors
    assert stay == Fraction(3, 4) * Fraction(5, 6) * Fraction(1, 2) * Fraction(1, 2)
    price, orders = price_of(recipe, book, 2), (2, 4)
    assert price == pytest.approx(
        2 * math.log(3) + (math.log1p(1 / 2) + math.log1p(1 / 1) if relation is RO else 0), rel=1e-14
    )
    for left, right in pairs_of(blocks_of(recipe, book, 2), book, relation):
        assert math.log(worst_ratio(left, right)) <= price
        assert all(renyi(left, right, order) <= curve_of(recipe, book, order) for order in orders)


def test_without_the_reset_a_block_would_cost_its_rows():
    """The tight family of PeGS, three rows from one chain: the add-remove price of a block needs the reset."""
    book, base, x = small_book(2, 2), ((1, 0), (0, 1)) * 1000, (0, 0)
    recipe = PeGSReset(alpha=1.0, block_size=3)
    left, right = world(recipe, book, (*base, x)), world(recipe, book, base)
    kept = (left.sweep(x)[x] / right.sweep(x)[x]) ** 3
    price = price_of(recipe, book, 3)
    assert math.log(kept) > price
    assert math.log(left.block(x, 3)[x, x, x] / right.block(x, 3)[x, x, x]) <= price
    assert math.log(kept) <= price_of(PeGS(alpha=1.0), book, 3)


def test_a_block_is_charged_however_few_of_its_rows_are_kept():
    book = small_book(2, 2)
    recipe = PeGSReset(alpha=1.0, block_size=10)
    for rows, blocks in ((1, 1), (10, 1), (11, 2), (1000, 100)):
        event = recipe.quote(book, rows).ledger.entries[-1].event
        assert isinstance(event, DirichletResetBlocks)
        assert event.blocks == blocks


def test_real_seeds_lose_the_label():
    total = PeGSReset(alpha=1.0, block_size=2, seeds=RealSeeds()).quote(small_book(2, 2), 2).total
    assert isinstance(total, NoFormal)
    assert "real rows" in total.why
