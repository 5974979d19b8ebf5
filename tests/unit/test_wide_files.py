"""Files of many columns: short cuts give what going through everything would give."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.blocks import latent, measured, planning
from understudy.blocks.known import Known
from understudy.blocks.latent import NoisyTables
from understudy.blocks.measured import MarginalFit
from understudy.blocks.planning import Groups, pair_choice, strongest
from understudy.codebook import Categorical, Codebook
from understudy.mechanisms.gaussian_measurements import MOST_CELLS, GaussianMeasurements, Meter
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours
from understudy.sources import EncodedSource
from understudy.synth import Marginals


def pairs_of(number):
    return list(itertools.combinations(range(number), 2))


def greedy(gains, shapes, deviation):
    """As pair_choice says, with all pairs compared at every step."""
    part = {pair: (planning._CAUTION * planning._rank_error(*shapes[pair])) ** (2 / 3) for pair in gains}
    taken, weight, error = set(), 0.0, 0.0
    while len(taken) < len(gains):
        after = {pair: (weight + part[pair]) ** 1.5 * deviation for pair in gains if pair not in taken}
        best = max(after, key=lambda pair: gains[pair] - after[pair])
        if gains[best] <= after[best] - error:
            break
        taken.add(best)
        weight, error = weight + part[best], after[best]
    return taken


@given(st.integers(2, 9), st.integers(0, 2**32 - 1), st.sampled_from([0.1, 3.0, 30.0]))
@settings(deadline=None)
def test_the_pairs_chosen_are_those_of_the_whole_comparison(number, seed, deviation):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, number).tolist()
    gains = {pair: float(max(0.0, rng.normal(100, 300))) for pair in pairs_of(number)}
    shapes = {(i, j): (sizes[i], sizes[j]) for i, j in gains}
    assert set(pair_choice(gains, shapes)(deviation).shares) == greedy(gains, shapes, deviation)


@given(st.integers(2, 12), st.integers(0, 2**32 - 1), st.integers(12, 40))
@settings(deadline=None)
def test_the_strongest_pairs_leave_no_column_out(number, seed, most):
    rng = np.random.default_rng(seed)
    gains = {pair: float(rng.random()) for pair in pairs_of(number)}
    found = strongest(gains, most=most)
    assert len(found) == len(set(found)) == min(most, len(gains))
    assert {column for pair in found for column in pair} == set(range(number))
    for column in range(number):
        assert max((pair for pair in gains if column in pair), key=gains.__getitem__) in found


def test_triples_are_found_in_the_order_of_their_worth():
    sizes = (2, 3, 16, 16, 4, 40, 2)
    event = GaussianMeasurements(variance=Fraction(1024), units=10**6, delta=1e-6, neighbours=Neighbours.ADD_REMOVE)
    fit = MarginalFit(meter=Meter(event, Stream.seeded(1)), sizes=sizes, workload=(1.0,) * 7)
    rng = np.random.default_rng(3)
    fit.gains = {pair: float(rng.integers(0, 3)) for pair in pairs_of(7)}
    fit.groups = [Groups(of=np.arange(size)) for size in sizes]
    fit.records = Known(values=np.array([1e6]), variance=1.0)  # so many that noise excludes none
    worth = {}
    for triple in itertools.combinations([column for column, size in enumerate(sizes) if size <= 16], 3):
        gain = sum(fit.gains[pair] for pair in itertools.combinations(triple, 2))
        if gain > 0 and math.prod(sizes[column] for column in triple) <= MOST_CELLS:
            worth[triple] = fit._triple_error(triple) / gain
    assert fit.candidates(share=0.5) == sorted(worth, key=lambda triple: (worth[triple], triple))


def test_what_pairs_miss_is_the_same_block_by_block(monkeypatch):
    """Against the whole matrix in double precision; 1e-5 is a hundred roundings of single precision."""
    rng = np.random.default_rng(5)
    sizes = [7, 5, 9, 4]
    pairs = {pair: rng.normal(0, 0.1, (sizes[pair[0]], sizes[pair[1]])) for pair in pairs_of(4)[1:]}
    tables = NoisyTables(
        ones=[np.full(size, 1 / size) for size in sizes],
        one_precision=[1.0] * 4,
        pairs=pairs,
        pair_precision={pair: 1.0 + number for number, pair in enumerate(pairs)},
        merged=[np.arange(size) for size in sizes],
    )
    monkeypatch.setattr(latent, "_BLOCK", 6)
    problem = latent._Problem(tables)
    weights, merged = rng.random((2, 3)), rng.normal(0, 1, (2, 3, sum(sizes)))
    missed = (merged * weights[..., None]).swapaxes(-1, -2) @ merged - problem.pair
    whole = merged @ (missed * problem.pair_precision)
    assert problem._pulled(weights, merged) == pytest.approx(whole, abs=1e-5 * np.abs(whole).max())


def test_a_wide_file_shows_no_more_pairs_than_it_may(monkeypatch):
    monkeypatch.setattr(measured, "_MOST_PAIRS", 14)
    rng = np.random.default_rng(7)
    kind = rng.random(2000) < 0.5
    book = Codebook(columns=tuple(Categorical(name=f"c{n}", levels=("0", "1")) for n in range(12)))
    codes = [(rng.random(2000) < np.where(kind, 0.8, 0.2)).astype(np.uint8) for _ in range(12)]
    fit = Marginals(epsilon=5.0, delta=1e-6).fit(EncodedSource(codebook=book, columns=codes))
    shown = [
        tuple(book.position(name) for name in table.columns) for table in fit.model.tables if len(table.columns) == 2
    ]
    assert len(shown) == 14
    made = np.array([np.array(column) == "1" for column in fit.sample(2000).table.columns])
    apart = np.corrcoef(made)
    others = [apart[pair] for pair in pairs_of(12) if pair not in shown]
    # all pairs depend alike; the mean of 52 pairs of independent columns has a deviation of about .003
    assert np.mean(others) > 0.1


def test_a_heavy_pair_gets_a_larger_share_and_its_error_is_its_own():
    """Shares go by (weight times cost) to the power of 2/3; of two equal pairs the one of weight 8 gets 4 to 1."""
    gains, shapes = {(0, 1): 1e6, (0, 2): 1e6}, {(0, 1): (3, 3), (0, 2): (3, 3)}
    even = pair_choice(gains, shapes)(1.0)
    heavy = pair_choice(gains, shapes, {(0, 1): 8.0})(1.0)
    assert even.shares == pytest.approx({(0, 1): 0.5, (0, 2): 0.5})
    assert heavy.shares == pytest.approx({(0, 1): 0.8, (0, 2): 0.2})
    assert heavy.errors[0, 1] / heavy.errors[0, 2] == pytest.approx(0.5, rel=1e-3)  # deviations as 1/sqrt(share)
