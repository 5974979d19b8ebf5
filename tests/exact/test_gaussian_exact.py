"""The discrete Gaussian, its bounds and the price of Gaussian stability, by enumeration.

Released values are enumerated up to a window beyond which a law has less than 1e-25 of its mass (12 deviations and
more), in floats whose rounding is below 1e-12: both are covered by the 1e-10 that every bound is raised by.
"""

import itertools
import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy import stats

from understudy.errors import ParameterError
from understudy.mechanisms import exact_gaussian as kernel
from understudy.mechanisms import exact_laplace
from understudy.mechanisms.discrete_gaussian import (
    _excess,
    deviation_of,
    discrete_gaussian,
    gaussian_delta,
    gaussian_tail,
    variance_for,
)
from understudy.mechanisms.exact_laplace import COUNT_LIMIT, LIMIT
from understudy.mechanisms.gaussian_stability import (
    GaussianStability,
    gaussian_stability_event,
)
from understudy.mechanisms.laplace_tables import share_of
from understudy.mechanisms.stability import StabilityHistogram, stable_histogram_event
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE
HALF, ONE, UNEVEN = Fraction(1, 4), Fraction(1), Fraction(9, 4)
LARGE = 60  # a count so far above any threshold here that its cell is always shown, up to 1e-100


# --- the law, its tail, and the sum of several noises ---------------------------------------------------------------


@pytest.mark.parametrize("variance", [HALF, ONE, UNEVEN, Fraction(729, 4), Fraction(40_001, 1 << 4) ** 2])
@pytest.mark.parametrize("at", [-9.0, -1.0, 0.0, 0.4, 1.0, 3.0, 6.0, 15.0, 37.0])
def test_tail_is_rounded_up_and_tight(variance, at):
    t = math.floor(at * math.sqrt(variance))
    with localcontext(Context(prec=50)):
        v = Decimal(variance.numerator) / Decimal(variance.denominator)
        reach = math.ceil(16 * math.sqrt(variance))

        def ladder(start, steps):  # e^(-z^2 / 2v) for z = start, start + 1, ... by two products each
            term, ratio = (-(Decimal(start) ** 2) / (2 * v)).exp(), (-Decimal(2 * start + 1) / (2 * v)).exp()
            shrink = (-1 / v).exp()
            for _ in range(steps):
                yield term
                term, ratio = term * ratio, ratio * shrink

        whole = 2 * sum(ladder(1, reach)) + 1
        upper = sum(ladder(max(t, 1 - t), reach))  # 1 - t and beyond when t <= 0
        exact = upper / whole if t > 0 else 1 - upper / whole
        found = Decimal(gaussian_tail(variance, t))
        # 16 deviations leave out less than e^-128 of the whole, and e^-128 of the first term of the tail
        assert exact * (1 + Decimal("1e-40")) <= found <= exact * (1 + Decimal("1e-9"))


def test_a_tail_too_small_for_a_float_is_not_nothing():
    assert 0 < gaussian_tail(ONE, 39) <= 2 * math.ulp(0.0)
    assert 0 < gaussian_tail(ONE, 10**12) <= 2 * math.ulp(0.0)
    assert gaussian_delta(ONE, 3, Fraction(10**12)) > 0


def law(variance, reach):
    values = np.arange(-reach, reach + 1)
    weights = np.exp(-(values**2) / (2 * float(variance)))
    return weights / weights.sum()


@pytest.mark.parametrize("variance", [HALF, ONE, UNEVEN, Fraction(25)])
@pytest.mark.parametrize("cells", [1, 2, 3, 7])
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 20), Fraction(1, 2), Fraction(2), Fraction(9)])
def test_delta_of_the_sum_is_the_enumerated_one(variance, cells, epsilon):
    reach = math.ceil(16 * math.sqrt(variance)) + math.ceil(epsilon * variance)
    one = law(variance, reach)
    total = one
    for _ in range(cells - 1):
        total = np.convolve(total, one)
    values = np.arange(len(total)) - cells * reach
    loss = (cells + 2 * values) / (2 * float(variance))
    exact = float(total @ np.maximum(0.0, -np.expm1(np.minimum(float(epsilon) - loss, 0.0))))
    found = gaussian_delta(variance, cells, epsilon)
    assert found >= exact * (1 - 1e-12)
    if exact < 1e-280:  # floats end there
        assert found < 1e-250
    else:  # the truth lies between 1/r and r of one Gaussian of the joint variance, and the bound is r of it
        assert found <= exact * _excess(float(variance), cells) ** 2 * (1 + 1e-9)
        assert _excess(float(variance), cells) <= 1 + (3e-4 if variance >= 1 else 40) * (cells > 1)
    assert gaussian_delta(variance, 0, epsilon) == 0


def test_noise_is_that_of_the_privacy_contract():
    """PRIVACY section 6, continuous noise: at its deviations the discrete delta is its 5e-7, to its digits."""
    for deviation, cells in ((13.80, 10), (19.52, 20), (25.8, 35)):
        gaussian = stats.norm(scale=deviation * math.sqrt(cells))
        start = deviation**2 - cells / 2
        continuous = gaussian.sf(start) - math.e * gaussian.sf(start + cells)
        assert gaussian_delta(variance_for(deviation), cells, Fraction(1)) == pytest.approx(continuous, rel=2e-3)
        assert continuous == pytest.approx(5e-7, rel=0.03)
    # its threshold 74.5 for 10 tables at 5e-7, in whole numbers
    lone = gaussian_tail(variance_for(13.80), 75 - 1)
    assert -math.expm1(10 * math.log1p(-lone)) <= 5e-7 * 1.05
    event = gaussian_stability_event(epsilon=1.0, delta=1e-6, tables=10, neighbours=AR)
    assert (round(float(deviation_of(event.variance)), 2), event.threshold) == (13.36, 71)
    event = gaussian_stability_event(epsilon=1.0, delta=1e-6, tables=10, neighbours=RO)
    assert (round(float(deviation_of(event.variance)), 2), event.threshold) == (18.89, 100)


# --- the price of thresholded tables ---------------------------------------------------------------------------------


@cache
def one_cell(count, threshold, variance):
    """Law of one released cell: 'not shown', then T, T + 1, ... up to a window beyond which nothing counts."""
    reach = math.ceil(12 * math.sqrt(variance))
    values = np.arange(threshold, max(LARGE, threshold) + reach + 1)
    if count == 0:
        return np.concatenate([[1.0], np.zeros(len(values))])
    shown = np.exp(-((values - count) ** 2) / (2 * float(variance)))
    wide = np.arange(-2 * reach, 2 * reach + 1)
    shown /= np.exp(-(wide**2) / (2 * float(variance))).sum()
    return np.concatenate([[max(0.0, 1 - shown.sum())], shown])


def hockey_stick(pairs, threshold, variance, epsilon):
    """sup_S P(S) - e^epsilon Q(S) over all outputs of the cells whose counts are listed as pairs."""
    left, right = np.ones(1), np.ones(1)
    for a, b in pairs:
        p, q = one_cell(a, threshold, variance), one_cell(b, threshold, variance)
        some = (p > 1e-18) | (q > 1e-18)  # what is dropped weighs less than 4 laws x 200 values x 1e-18
        left, right = np.outer(left, p[some]).ravel(), np.outer(right, q[some]).ravel()
    return float(np.maximum(0.0, left - math.exp(epsilon) * right).sum())


LOW = [0, 1, 2, 3, LARGE]
EVENTS = [(ONE, 3, 0.1), (ONE, 4, 0.01), (UNEVEN, 2, 0.45), (UNEVEN, 5, 0.02), (HALF, 2, 0.2)]


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize(("variance", "threshold", "delta"), EVENTS)
def test_one_table_is_priced_exactly(relation, variance, threshold, delta):
    """Every pair of neighbouring histograms of 2 cells and of 3, in both directions."""
    event = GaussianStability(variance=variance, threshold=threshold, tables=1, delta=delta, neighbours=relation)
    claim = event.guarantee()
    assert claim.delta == delta
    worst = 0.0
    pairs = set()
    for counts in itertools.product(LOW, repeat=3):
        for i, j in itertools.permutations(range(3), 2):
            right = list(counts)
            right[i] += 1
            if relation is RO:
                if counts[j] == 0:
                    continue
                right[j] -= 1
            pairs.add(tuple(sorted(zip(counts, right, strict=True))))
            pairs.add(tuple(sorted(zip(right, counts, strict=True))))
    for pair in pairs:
        changed = [(a, b) for a, b in pair if a != b]
        found = hockey_stick(changed, threshold, variance, claim.epsilon)
        assert found <= delta * (1 + 1e-12)
        worst = max(worst, found)
        if max(max(pair)) < LARGE and len(changed) < 3 and variance == ONE:  # the third cell cancels: enumerate it too
            assert hockey_stick(pair, threshold, variance, claim.epsilon) == pytest.approx(found, abs=1e-13)
    # tight for persistent cells (up to the factor r of the proof, twice; 1 for a single cell) and for lone cells
    cells = 1 if relation is AR else 2
    bound = gaussian_delta(variance, cells, Fraction(claim.epsilon)) / _excess(float(variance), cells) ** 2
    assert worst >= max(bound, event.slack) * (1 - 1e-9)
    if relation is AR and claim.epsilon > 0 and event.slack < delta / 2:
        assert worst >= delta * (1 - 1e-6)  # epsilon is on a grid of 2^-32


JOINT = list(itertools.product(range(2), repeat=2))


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize(("variance", "threshold", "delta"), [(ONE, 3, 0.2), (UNEVEN, 6, 0.05), (UNEVEN, 4, 0.3)])
def test_two_tables_stay_within_their_price(relation, variance, threshold, delta):
    """Records of two binary columns, one table of each column: all data sets of up to 2 records a value, or 60."""
    event = GaussianStability(variance=variance, threshold=threshold, tables=2, delta=delta, neighbours=relation)
    epsilon = event.guarantee().epsilon
    cases = set()
    for counts in itertools.product([0, 1, 2, LARGE // 2], repeat=4):
        data = dict(zip(JOINT, counts, strict=True))
        for new in JOINT:
            for old in JOINT if relation is RO else [None]:
                if old is not None and data[old] == 0:
                    continue
                other = dict(data)
                other[new] += 1
                if old is not None:
                    other[old] -= 1
                cells = [(axis, level) for axis in (0, 1) for level in (0, 1)]
                pair = [
                    tuple(sum(n for key, n in d.items() if key[axis] == level) for d in (data, other))
                    for axis, level in cells
                ]
                changed = tuple(sorted((a, b) for a, b in pair if a != b))
                cases |= {changed, tuple(sorted((b, a) for a, b in changed))}
    worst = max(hockey_stick(case, threshold, variance, epsilon) for case in cases)
    assert worst <= delta * (1 + 1e-9)
    assert worst >= 0.5 * delta  # not an empty claim


@pytest.mark.parametrize("relation", [AR, RO])
def test_curve_and_slack_imply_the_enumerated_divergence(relation):
    """rho-zCDP gives epsilon = rho + 2 sqrt(rho ln(1/d)) at d [BS16 Prop 1.3]; with the slack it covers every pair."""
    event = GaussianStability(variance=UNEVEN, threshold=5, tables=1, delta=0.05, neighbours=relation)
    orders = np.array([1.5, 2.0, 9.0])
    rho = (1 if relation is AR else 2) / (2 * float(UNEVEN))
    assert event.renyi(orders) == pytest.approx(orders * rho, rel=1e-11)
    assert event.slack == pytest.approx(gaussian_tail(UNEVEN, 4), rel=1e-9)
    for d in (0.3, 0.01, 1e-5):
        epsilon = rho + 2 * math.sqrt(rho * math.log(1 / d))
        for a, b in itertools.product(LOW[:4], repeat=2):
            pair = [(a, a + 1)] if relation is AR else [(a + 1, a), (b, b + 1)]
            for case in (pair, [(y, x) for x, y in pair]):
                assert hockey_stick(case, 5, UNEVEN, epsilon) <= d + event.slack
    five = GaussianStability(variance=UNEVEN, threshold=5, tables=5, delta=0.05, neighbours=relation)
    assert five.slack == pytest.approx(1 - (1 - gaussian_tail(UNEVEN, 4)) ** 5, rel=1e-9)
    assert five.rho == pytest.approx(5 * rho, rel=1e-15)


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_laplace_curve_holds_outside_its_slack(relation, count):
    """Without its lone cell, a stability histogram has at most the stated Renyi divergence, whatever persists."""
    event = StabilityHistogram(scale=Fraction(2), threshold=4, neighbours=relation)
    orders = np.array([1.5, 2.0, 9.0, 200.0])
    curve = event.renyi(orders)
    assert event.slack == event.guarantee().delta
    values = np.arange(4, 400)

    def cell(c):
        q = math.exp(-1 / 2)
        shown = (1 - q) / (1 + q) * q ** np.abs(values - c)
        return np.concatenate([[1 - shown.sum()], shown])

    p, q = cell(count), cell(count + 1)
    for order, bound in zip(orders, curve, strict=True):
        moved = 1 if relation is AR else 2
        for one, other in ((p, q), (q, p)):
            divergence = math.log(float((one * (one / other) ** (order - 1)).sum())) / (order - 1)
            assert moved * divergence <= bound * (1 + 1e-12)


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize("tables", [1, 4, 30])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.05, 1e-9), (0.1, 0.2), (1.0, 1e-6), (8.0, 1e-12), (1e5, 1e-3)])
def test_calibration_is_within_target_and_smallest(epsilon, delta, tables, relation):
    event = gaussian_stability_event(epsilon=epsilon, delta=delta, tables=tables, neighbours=relation)
    paid = event.guarantee()
    assert paid.epsilon <= epsilon
    assert paid.delta == delta
    assert event.slack < delta
    deviation = deviation_of(event.variance)
    if deviation > Fraction(1, 2):  # a ten-thousandth less noise would cost too much already
        cells = tables * (1 if relation is AR else 2)
        assert gaussian_delta(variance_for(float(deviation) * 0.9999), cells, Fraction(epsilon)) > delta * 0.9999
    if event.threshold > 1:
        lower = {"variance": event.variance, "threshold": event.threshold - 1, "delta": delta}
        try:
            cheaper = GaussianStability(**lower, tables=tables, neighbours=relation).guarantee()
        except ParameterError as error:
            assert "must exceed" in str(error)
        else:
            assert cheaper.epsilon > epsilon * (1 - 1e-6)


def test_gaussian_beats_laplace_for_many_tables():
    for tables, better in ((2, False), (3, True), (8, True), (9, True)):
        gaussian = gaussian_stability_event(epsilon=1.0, delta=1e-6, tables=tables, neighbours=AR)
        assert (float(gaussian.variance) < 2 * tables**2) == (tables >= 9)  # variance of Laplace at scale p
        laplace = stable_histogram_event(epsilon=share_of(1.0, tables), delta=share_of(1e-6, tables), neighbours=AR)
        assert (gaussian.threshold < laplace.threshold) == better


# --- the kernel ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0, 1, 5, 20])
@pytest.mark.parametrize("turns", [1, 3, 7, 1 << 21 | 1, (1 << 44) - 1])
def test_distance_is_that_of_big_integers(turns, shift):
    parts = sorted({p for p in (0, 1, 2, 5, turns // 2, turns - 1) if p < turns})
    for part, rounds in itertools.product(parts, [0, 1, 2, 3, 40, (1 << 19) + 3, 1 << 41, (1 << 63) + 5]):
        kept = (part + turns * rounds) >> shift << shift
        expected = divmod(abs(kept - turns), turns)
        found = kernel._distance(*(np.uint64(x) for x in (part, rounds, turns, shift)))
        assert tuple(map(int, found)) == expected


class Drip(Stream):
    """Offers a kernel one more word at a time, so that every draw is interrupted wherever it can be."""

    def run(self, step, items, *, words_each):
        start, pool = 0, np.empty(0, dtype=np.uint64)
        while start < items:
            pool = np.concatenate([pool, self.words(1)])
            start, used = step(pool, start)
            pool = pool[used:]


@pytest.mark.parametrize("deviation", [Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(3495254, 1 << 20)])
def test_words_one_at_a_time_give_the_same_draws(deviation):
    whole = kernel.exact_gaussian(300, deviation=deviation, stream=Stream.seeded(11))
    dripped = kernel.exact_gaussian(300, deviation=deviation, stream=Drip.seeded(11))
    assert (whole == dripped).all()


def test_noisy_count_clamps_like_infinite_noise(monkeypatch):
    saturated = np.array([exact_laplace.SATURATED, -exact_laplace.SATURATED])
    monkeypatch.setattr("understudy.mechanisms.discrete_gaussian.exact_gaussian", lambda size, **_: saturated.copy())
    for count in (-COUNT_LIMIT, COUNT_LIMIT):
        noisy = discrete_gaussian(np.full(2, count), variance=ONE, stream=Stream.seeded(1))
        assert noisy.tolist() == [LIMIT, -LIMIT]
