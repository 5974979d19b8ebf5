"""Edges that no other test noticed when a small fault was put there (see decision 0178)."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from understudy.mechanisms.dirichlet import DirichletResetBlocks, _draw_renyi, draw_epsilon
from understudy.mechanisms.discrete_gaussian import gaussian_delta, smooth_delta
from understudy.mechanisms.discrete_laplace import count_sensitivity
from understudy.mechanisms.exponential import _power_of_two_below
from understudy.mechanisms.stability import shown_cells, stability_delta, stability_threshold
from understudy.mechanisms.stream import Stream
from understudy.mechanisms.weighted import weight_units, weighted_event, weighted_histogram
from understudy.privacy import Neighbours, Secret
from understudy.privacy.guarantees import ApproxDP, PureDP, differential_privacy
from understudy.privacy.transaction import Payment
from understudy.sources import CountTable

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE


def test_pure_is_where_delta_is_zero_and_nowhere_else():
    assert differential_privacy(1.0, 0, AR) == PureDP(epsilon=1.0, neighbours=AR)
    for delta, stated in ((1e-9, 1e-9), (1.0, 1.0), (3.0, 1.0)):
        assert differential_privacy(1.0, delta, AR) == ApproxDP(epsilon=1.0, delta=stated, neighbours=AR)


def test_one_record_moves_two_counts_unless_it_comes_or_goes():
    assert [count_sensitivity(relation) for relation in (AR, RO, Neighbours.ORIGIN)] == [1, 2, 2]


@pytest.mark.parametrize("squared", [Fraction(1, 100), Fraction(1), Fraction(9)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)])
def test_the_delta_of_smooth_noise_is_the_known_one(squared, epsilon):
    """[BW18 Thm 8] by another library, and never below it."""
    mu, bound = math.sqrt(squared), float(epsilon)
    known = norm.cdf(mu / 2 - bound / mu) - math.exp(bound) * norm.cdf(-mu / 2 - bound / mu)
    assert known * (1 - 1e-9) <= smooth_delta(squared, epsilon) <= known * (1 + 1e-6) + 1e-11


def test_no_delta_is_above_one():
    assert all(gaussian_delta(Fraction(1, 4), cells, Fraction(0)) <= 1.0 for cells in (1, 3, 10, 30))


@pytest.mark.parametrize("value", [Fraction(1), Fraction(5), Fraction(1, 3), Fraction(7, 1000), Fraction(1, 1024)])
def test_the_power_of_two_below(value):
    power = _power_of_two_below(value)
    assert power <= value < 2 * power
    assert 1 in (power.numerator, power.denominator) and math.log2(power).is_integer()


def test_a_cell_at_the_threshold_is_shown_and_one_below_is_not():
    table = CountTable.sparse(("a",), (4,), np.array([[0], [1], [2]]), np.array([4, 5, 6]))
    codes, counts = shown_cells(table, 5, lambda exact: exact).occupied()
    assert codes.ravel().tolist() == [1, 2] and counts.tolist() == [5, 6]


def test_units_of_weights():
    assert weight_units([Fraction(3, 2), Fraction(20)], Fraction(1, 2)) == ((3, 40), Fraction(1, 2))
    assert weight_units([Fraction(1, 4), Fraction(20)], Fraction(1, 2)) == ((1, 80), Fraction(1, 4)), "halves of steps"
    assert weight_units([Fraction(1), Fraction(5, 4)], Fraction(1, 2)) == ((4, 5), Fraction(1, 4)), "not all are even"
    assert weight_units([Fraction(1), Fraction(2048)], Fraction(1, 2)) == ((1, 1024), Fraction(2)), "coarse"


def test_the_last_column_is_the_weight(monkeypatch):
    """Of three, so that the last is neither the first nor the second."""
    monkeypatch.setattr("understudy.mechanisms.weighted.discrete_laplace", lambda exact, **_: exact)
    codes = np.array([[0, 0, 0], [0, 1, 3], [1, 2, 2], [1, 2, 3]])
    table = CountTable.sparse(("a", "b", "w"), (2, 3, 4), codes, np.array([5, 1, 2, 1]))
    event = weighted_event(epsilon=1.0, largest=9, neighbours=AR)
    sums = weighted_histogram(Secret(table), units=(1, 2, 4, 9), event=event, stream=Stream.of_seed(1))
    assert sums.tolist() == [[5, 9, 0], [0, 0, 17]]


def test_a_replaced_record_in_a_chain_costs_the_cell_it_left_too():
    """Claimed in proofs/dirichlet_reset.md: ln(1 + 1/mass) more, the mass being alpha times levels, added up."""
    prior = ((Fraction(1, 2), 6), (Fraction(2), 4))
    event = DirichletResetBlocks.__new__(DirichletResetBlocks)
    object.__setattr__(event, "neighbours", RO)
    assert event._cells(prior) == pytest.approx(draw_epsilon(prior) + math.log1p(1 / 11), rel=1e-9)


def test_a_free_payment_has_its_name_and_is_on_no_account():
    assert Payment.free(release_id="x").release_id == "x" and Payment.free().release_id
    assert not Payment.free().is_charged


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 7.0])
@pytest.mark.parametrize("neighbours", [AR, RO])
def test_the_threshold_is_the_smallest_that_keeps_its_delta(epsilon, neighbours):
    """Asked for exactly the delta of a threshold, where the first guess may be one too high."""
    scale, _ = stability_threshold(epsilon=epsilon, delta=1e-6, neighbours=neighbours)
    for threshold in (*range(1, 40), 100, 300):
        delta = stability_delta(scale, threshold)
        if 1e-300 < delta < 1:  # smaller ones share their floats
            assert stability_threshold(epsilon=epsilon, delta=delta, neighbours=neighbours) == (scale, threshold)


def test_the_scan_over_counts_ends_only_where_nothing_larger_can_follow(monkeypatch):
    """With a divergence that is largest at 500 records: below its bound order eta^2 / 8, and there equal to it."""
    orders = np.array([1.5, 4.0])
    late = math.log1p(1 / 501)

    def tilt(eta, _reach, at):
        return np.where(eta > late * 1.000001, at / 8 * 1e-6, at * eta**2 / 8)

    monkeypatch.setattr("understudy.mechanisms.dirichlet._tilt_renyi", tilt)
    found = _draw_renyi.__wrapped__(((Fraction(1), 2),), orders.tobytes())
    assert np.all(found >= orders * late**2 / 8) and np.all(found <= orders * late**2 / 8 * 1.001)
