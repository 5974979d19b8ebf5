"""Perturbed predictions: exact probabilities, whatever the model says, against the price that is stated."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from enumeration import records_of, small_book, source_of, tables_up_to
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.mechanisms import prediction
from understudy.mechanisms.dirichlet import rational_alpha
from understudy.mechanisms.prediction import PerturbedPrediction, draw_predicted, to_units
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, NoFormal
from understudy.privacy.events import event_from_dict
from understudy.synth import PMI
from understudy.synth.seeds import RealSeeds

ROUNDING = 1e-9
anything = st.floats(allow_nan=True, allow_infinity=True) | st.floats(0, 1) | st.sampled_from([0.0, 1.0, 1e-300, 1e300])
alphas = st.floats(1e-4, 1e6).map(rational_alpha)
pairs = st.integers(2, 9).flatmap(lambda levels: st.tuples(*[st.lists(anything, min_size=levels, max_size=levels)] * 2))


def event_of(alpha, levels, draws=1, neighbours=Neighbours.ADD_REMOVE):
    return PerturbedPrediction(alpha=alpha, levels=tuple(levels), draws=draws, neighbours=neighbours)


def law(g, alpha):
    """Exact probabilities of the levels, from the units that a draw really uses."""
    levels = len(g)
    bits = prediction.unit_bits(alpha, levels)
    units = to_units(np.array([g]), bits=bits)[0]
    whole = (1 << bits) * (1 + levels * alpha)
    return [(int(u) + alpha * (1 << bits)) / whole for u in units]


@settings(max_examples=300, deadline=None)
@given(g=st.integers(2, 40).flatmap(lambda n: st.lists(anything, min_size=n, max_size=n)), bits=st.integers(10, 40))
def test_units_are_a_probability_vector_whatever_the_floats(g, bits):
    units = to_units(np.array([g, [1.0] * len(g)]), bits=bits)
    assert (units >= 0).all()
    assert units.sum(axis=1).tolist() == [1 << bits] * 2
    sound = all(math.isfinite(x) and x >= 0 for x in g) and 0 < sum(g) < math.inf
    if sound:
        share = np.array(g) / sum(g)
        assert np.abs(units[0] / (1 << bits) - share).max() <= len(g) * 2.0**-bits + 1e-12  # a unit per level
    else:
        assert units[0].max() - units[0].min() <= len(g)  # uniform, up to the rounding


@settings(max_examples=300, deadline=None)
@given(pair=pairs, alpha=alphas)
def test_any_two_predictions_stay_within_the_price(pair, alpha):
    left, right = (law(g, alpha) for g in pair)
    assert sum(left) == sum(right) == 1
    bound = 1 + 1 / alpha
    assert all(a / b <= bound and b / a <= bound for a, b in zip(left, right, strict=True))
    assert math.log1p(float(1 / alpha)) <= event_of(alpha, [len(left)]).guarantee().epsilon


@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(1), rational_alpha(12.5064)])
def test_the_bound_is_attained(alpha):
    sure, other = law([1.0, 0.0, 0.0], alpha), law([0.0, 1.0, 0.0], alpha)
    assert sure[0] / other[0] == 1 + 1 / alpha
    assert math.isclose(event_of(alpha, [3]).guarantee().epsilon, math.log(1 + 1 / alpha), rel_tol=1e-12)


def divergence(left, right, order):
    left, right = np.array(left, dtype=float), np.array(right, dtype=float)
    return math.log(float((left**order * right ** (1 - order)).sum())) / (order - 1)


@settings(max_examples=200, deadline=None)
@given(pair=pairs, alpha=st.floats(0.05, 50).map(rational_alpha), order=st.floats(1.05, 20))
def test_the_renyi_curve_is_the_supremum_over_predictions(pair, alpha, order):
    levels = len(pair[0])
    stated = float(event_of(alpha, [levels]).renyi(np.array([order]))[0])
    left, right = (law(g, alpha) for g in pair)
    assert divergence(left, right, order) <= stated + ROUNDING
    corners = [law([float(j == k) for j in range(levels)], alpha) for k in (0, 1)]
    reached = divergence(*corners, order)
    assert stated - ROUNDING <= reached * (1 + 1e-6) + ROUNDING  # attained
    eps0 = math.log(1 + 1 / alpha)
    assert stated <= min(eps0, order * eps0**2 / 2) * (1 + ROUNDING)  # zCDP eps0^2/2, PRIVACY section 3


def test_more_levels_never_cost_more_and_one_level_costs_nothing():
    orders = np.array([1.5, 2.0, 8.0])
    curves = [event_of(Fraction(3), [levels]).renyi(orders) for levels in range(2, 30)]
    assert all((b <= a).all() for a, b in itertools.pairwise(curves))
    assert event_of(Fraction(3), [1]).renyi(orders).tolist() == [0, 0, 0]
    assert event_of(Fraction(3), [1, 2]).guarantee() == event_of(Fraction(3), [2]).guarantee()


@pytest.mark.parametrize("alpha", [Fraction(0), Fraction(1, 4), Fraction(3), rational_alpha(1299.5)])
def test_draws_have_exactly_the_stated_probabilities(alpha):
    """Every pick below the total falls on the level whose interval holds it: first and last pick of each level."""
    g = np.array([[0.5, 0.0, 0.125, 0.375]])
    bits = prediction.unit_bits(alpha, 4)
    weights = [int(u + alpha * (1 << bits)) for u in to_units(g, bits=bits)[0].tolist()]
    ends = list(itertools.accumulate(weights))

    class Scripted:
        def below_each(self, bounds):
            assert bounds.tolist() == [ends[-1]]
            return np.array([self.pick], dtype=np.uint64)

    stream = Scripted()
    for level, (weight, end) in enumerate(zip(weights, ends, strict=True)):
        for stream.pick in {end - weight, end - 1} if weight else ():
            assert draw_predicted(g, alpha=alpha, stream=stream).tolist() == [level]


def sweep_law(models, book, alpha):
    """Law of one record after one sweep from a uniform seed."""
    found = {}
    seeds = records_of(book)
    for seed in seeds:
        paths = {seed: Fraction(1, len(seeds))}
        for place, name in enumerate(book.names):
            after = {}
            for record, chance in paths.items():
                columns = [np.array([code], dtype=np.uint8) for code in record]
                for level, share in enumerate(law(models[name].probabilities(columns)[0], alpha)):
                    moved = (*record[:place], level, *record[place + 1 :])
                    after[moved] = after.get(moved, 0) + chance * share
            paths = after
        for record, chance in paths.items():
            found[record] = found.get(record, 0) + chance
    return found


@pytest.mark.parametrize("engine", ["logistic", "cart", "blocks"])
def test_every_pair_of_tiny_tables_stays_within_the_quote(engine):
    """All pairs, not only neighbours: the promise is that strong. The empty table is among them."""
    book, recipe = small_book(2, 3), PMI(alpha=1.0, engines=engine)
    alpha = recipe.alpha_used(book)
    stated = recipe.quote(book, 1).total.epsilon
    laws = []
    for table in tables_up_to(book, 2):
        fitted = recipe.fit(source_of(book, table), stream=Stream.seeded(1))
        laws.append(sweep_law(fitted.models.open(), book, alpha))
    worst = max(max(a[r] / b[r] for r in a) for a, b in itertools.permutations(laws, 2))
    assert 1 < worst <= math.exp(stated)


def test_real_seeds_lose_the_label_and_an_ordered_pass_needs_none():
    book = small_book(2, 3)
    assert isinstance(PMI(alpha=1.0, seeds=RealSeeds()).quote(book, 5).total, NoFormal)
    ordered = PMI(alpha=1.0, sweeps=0).quote(book, 5)
    assert ordered.total == PMI(alpha=1.0).quote(book, 5).total


def test_an_event_is_read_back_from_a_manifest():
    event = event_of(Fraction(7, 2), (2, 5), draws=9, neighbours=Neighbours.REPLACE)
    assert event_from_dict(event.to_dict()) == event


def test_the_weight_on_the_model_is_that_of_the_contract():
    """PRIVACY section 3: epsilon 1 per record, 13 columns, 10 levels."""
    book = small_book(*[10] * 8)
    weight = PMI(epsilon_per_record=8 / 13).model_weights(book)["a"]
    assert weight == pytest.approx(0.0079, abs=5e-5)
