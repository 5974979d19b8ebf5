"""Edges that no other test noticed when a small fault was put there (see decision 0178)."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.bounded_sums import BoundedSums, _released, noisy_means_entries
from understudy.mechanisms.dirichlet import DirichletResetBlocks, _draw_renyi, draw_epsilon
from understudy.mechanisms.discrete_gaussian import LEAST_VARIANCE, gaussian_delta, smooth_delta
from understudy.mechanisms.discrete_laplace import count_sensitivity, laplace_deviation
from understudy.mechanisms.drafting import DraftBudget, PricedDraft, cell_scores, quantile_scores
from understudy.mechanisms.exact_binomial import exact_binomial
from understudy.mechanisms.exact_laplace import exact_noise
from understudy.mechanisms.exponential import _power_of_two_below
from understudy.mechanisms.flow_measurements import FlowMeter, flow_event, measured_deviation
from understudy.mechanisms.gaussian_measurements import (
    MOST_COPIES,
    GaussianMeasurements,
    Meter,
    gaussian_measurements_event,
    gaussian_sums_event,
)
from understudy.mechanisms.group import GroupOf
from understudy.mechanisms.histogram import GeometricHistogram
from understudy.mechanisms.stability import shown_cells, stability_delta, stability_threshold
from understudy.mechanisms.stream import Stream
from understudy.mechanisms.weighted import weight_units, weighted_event, weighted_histogram
from understudy.privacy import Neighbours, Secret
from understudy.privacy.guarantees import ApproxDP, PureDP, differential_privacy
from understudy.privacy.transaction import Payment
from understudy.sources import CountTable
from understudy.sources.flows import Histograms
from understudy.sources.looks import Numbers

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


@pytest.mark.parametrize("before", [1e-6, 0.95, 0.999])
@pytest.mark.parametrize("records", [500, 514])  # the scan looks up at 512
def test_the_scan_over_counts_ends_only_where_nothing_larger_can_follow(monkeypatch, before, records):
    """With a divergence that is largest at so many records: below its bound order eta^2 / 8, and there equal to it."""
    orders = np.array([1.5, 4.0])
    late = math.log1p(1 / (records + 1))

    def tilt(eta, _reach, at):
        return np.where(eta > late * 1.000001, before * at * late**2 / 8, at * eta**2 / 8)

    monkeypatch.setattr("understudy.mechanisms.dirichlet._tilt_renyi", tilt)
    found = _draw_renyi.__wrapped__(((Fraction(1), 2),), orders.tobytes())
    assert np.all(found >= orders * late**2 / 8) and np.all(found <= orders * late**2 / 8 * 1.001)


class Digits:
    """A stream that gives these digits of a uniform number, one after the other."""

    def __init__(self, digits, base):
        self.digits, self.base = iter(digits), base

    def below(self, bound):
        assert bound == self.base, "a digit of another length would shift all that follow"
        return next(self.digits)


def test_a_binomial_is_the_inverse_of_its_law_however_many_digits_it_takes(monkeypatch):
    """With digits of 4 bits nearly every draw needs several; U = 0.d1d2d3... decides, by exact fractions."""
    monkeypatch.setattr("understudy.mechanisms.exact_binomial._FIRST_BITS", 4)
    chance, trials = Fraction(1, 3), 5

    def third(bits):
        return (1 << bits) // 3, (1 << bits) // 3 + 1

    law = [math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials + 1)]
    chosen = np.random.default_rng(8)
    for _ in range(200):
        digits = chosen.integers(0, 16, 40).tolist()
        uniform = sum(Fraction(digit, 16 ** (place + 1)) for place, digit in enumerate(digits))
        wanted = next(k for k in range(trials + 1) if uniform < sum(law[: k + 1]))
        assert exact_binomial(trials, chance=third, stream=Digits(digits, 16)) == wanted


def test_noise_has_two_sides_and_its_scale():
    """Mean 0 and variance 2 q / (1 - q)^2, within five standard errors of the fourth moment: for any seed."""
    for scale in (Fraction(1, 2), Fraction(5), Fraction(7, 4)):
        drawn = exact_noise(40_000, scale=scale, stream=Stream.seeded(3)).astype(float)
        q = math.exp(-1 / scale)
        variance = 2 * q / (1 - q) ** 2
        assert abs(drawn.mean()) < 5 * math.sqrt(variance / len(drawn))
        fourth = 2 * q * (1 + 10 * q + q**2) / (1 - q) ** 4
        assert abs((drawn**2).mean() - variance) < 5 * math.sqrt((fourth - variance**2) / len(drawn))


def test_scores_of_a_quantile_by_hand():
    """Values 1, 1, 2: none lies below 0 or 1, two below 2, all below 3."""
    numbers = Numbers(values=np.array([1.0, 2.0]), counts=np.array([2, 1]))
    assert quantile_scores(numbers, np.array([0.0, 1.0, 2.0, 3.0]), 0.5).tolist() == [-1.5, -1.5, -0.5, -1.5]
    assert cell_scores(numbers, np.array([0.0, 2.0, 3.0]), 0.5).tolist() == [0.0, -0.5]


def test_a_draft_may_spend_its_budget_to_the_last_and_no_further():
    event = PricedDraft(epsilon=1, delta=1e-6, neighbours=AR)
    budget = DraftBudget(event)
    budget.pay(event)
    with pytest.raises(RefusalError, match="cannot pay"):
        budget.pay(GeometricHistogram(scale=Fraction(1 << 20), neighbours=AR))
    for short in (replace(event, epsilon=0.999), replace(event, delta=0.999e-6)):
        with pytest.raises(RefusalError, match="cannot pay"):
            DraftBudget(short).pay(event)


def test_noisy_means_follow_from_noisy_whole_numbers():
    """Bounds 0 and 10 in 5 steps of 1 from the middle: every figure by hand."""
    sums = BoundedSums(scale=Fraction(4), reach=5, neighbours=AR)
    counts = GeometricHistogram(scale=Fraction(2), neighbours=AR)
    made = _released(np.array([6, -40]), np.array([3, 2]), sums, counts, lower=0.0, upper=10.0, reach=5)
    half = _released(np.array([6, -40]), np.array([3, 2]), sums, counts, lower=0.0, upper=5.0, reach=5)
    assert made.sums.tolist() == [6.0, -40.0] and half.sums.tolist() == [3.0, -20.0]
    assert made.means.tolist() == [7.0, 0.0] and half.means.tolist() == [3.5, 0.0]
    of_sums, of_counts = laplace_deviation(Fraction(4)), laplace_deviation(Fraction(2))
    assert (made.sum_deviation, half.sum_deviation) == pytest.approx((of_sums, of_sums / 2))
    assert made.deviations[0] == pytest.approx(math.hypot(of_sums / 3, of_counts * 2 / 3))
    assert half.deviations[0] == pytest.approx(math.hypot(of_sums / 6, of_counts / 3))


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_no_means_for_an_epsilon_that_is_none(epsilon):
    with pytest.raises(ParameterError, match=f"`epsilon` is {epsilon}"):
        noisy_means_entries("g", "v", lower=0.0, upper=1.0, epsilon=epsilon, neighbours=AR)


def test_flows_find_units_for_a_large_epsilon_too():
    """The first number of units leaves too little noise to share out at an epsilon of 100."""
    event = flow_event(epsilon=100.0, delta=1e-5)
    assert event.units > flow_event(epsilon=1.0, delta=1e-5).units
    assert event.guarantee().epsilon <= 100.0 and event.variance >= LEAST_VARIANCE


def test_the_curve_of_measurements_is_order_times_rho():
    event = GaussianMeasurements(variance=Fraction(144), units=9, delta=1e-5, neighbours=AR)
    assert event.renyi(np.array([2.0, 7.0])) == pytest.approx([2 * 9 / 288, 7 * 9 / 288], rel=1e-9)
    with pytest.raises(RefusalError, match="is too small for 1,000,000 measurements"):
        gaussian_measurements_event(epsilon=1e-4, delta=1e-5, units=1_000_000, neighbours=AR)


def test_three_rows_of_one_person_move_a_number_by_three_and_cost_nine_units():
    event = GaussianMeasurements(variance=Fraction(4096), units=900, delta=1e-5, neighbours=AR)
    meter = Meter(event, Stream.seeded(0))
    assert [meter.apart(100, rows=rows).number_price for rows in (1, 2, 3)] == [1, 4, 9]


def test_flows_are_measured_where_they_are_and_say_their_noise(monkeypatch):
    """Three origins, two destinations; without noise the counts are those of the listed pairs."""
    event = flow_event(epsilon=1.0, delta=1e-3)
    cells = Histograms.of(np.array([0, 0, 1, 1]), np.array([0, 2, 1, 1]), np.array([5, 7, 2, 1]), number=2)
    meter = FlowMeter(cells=Secret(cells), meter=Meter(event, Stream.seeded(1)))
    _, variance = meter.homes(np.arange(3), 3, units=100)
    assert math.sqrt(variance) == pytest.approx(measured_deviation(event, 100))
    monkeypatch.setattr(meter.meter, "sums", lambda exact, **_: (exact, 1.0))
    homes, work = np.array([0, 1, 2]), np.array([0, 1])
    listed, _ = meter.listed(homes, work, np.array([0, 3, 4, 5]), 2, units=10)
    assert listed.tolist() == [5.0, 3.0, 7.0, 0.0]
    assert meter.pairs(homes, work, (3, 2), units=10)[0].tolist() == [5.0, 0.0, 0.0, 3.0, 7.0, 0.0]


def test_a_group_has_at_least_one_record():
    one = GeometricHistogram(scale=Fraction(2), neighbours=AR)
    with pytest.raises(ParameterError, match="`records` is 0"):
        GroupOf(event=one, records=0)


@pytest.mark.parametrize(("deviation", "delta", "squared"), [(2, 1e-6, 1), (128, 1e-50, 1), (128, 1e-6, 1 << 60)])
def test_sums_are_drawn_at_once_only_where_that_is_proved(deviation, delta, squared):
    """Too little noise, a delta that rounding could tell, and a deviation that is not drawn: nothing is spent."""
    event = GaussianMeasurements(variance=Fraction(deviation**2), units=100, delta=delta, neighbours=AR)
    meter = Meter(event, Stream.seeded(1))
    assert meter.event.sums_variance(squared=squared, units=4) is None
    with pytest.raises(RefusalError, match="cannot be drawn or is not proved"):
        meter.sums(np.array([5, 7]), squared=squared, units=4)
    assert meter.left == 100


def test_no_more_measurements_of_a_table_than_add_up_in_64_bits():
    event = GaussianMeasurements(variance=Fraction(4), units=1 << 22, delta=1e-6, neighbours=AR)
    table = Secret(CountTable.dense(("a",), np.array([1])))
    with pytest.raises(RefusalError, match="at most 2,097,152 add up"):
        Meter(event, Stream.seeded(1)).table(table, copies=MOST_COPIES + 1)


def test_units_for_sums_are_so_many_that_they_join():
    event = gaussian_sums_event(epsilon=1.0, delta=1e-6, neighbours=AR)
    assert event.joins and event.guarantee().epsilon <= 1.0
