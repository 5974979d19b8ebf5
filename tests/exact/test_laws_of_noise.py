"""What a price or a draw of noise must be, whatever the numbers are: closed forms and whole laws (decision 0178)."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import erfcx

from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms import discrete_gaussian, exact_binomial, prediction
from understudy.mechanisms.discrete_gaussian import (
    _excess,
    _normaliser,
    deviation_of,
    first_fit,
    gaussian_delta,
    smooth_delta,
    variance_for,
)
from understudy.mechanisms.exact_binomial import _Distribution, tail_chance
from understudy.mechanisms.exact_laplace import MAX_SCALE, SCALE_BITS
from understudy.mechanisms.gaussian_measurements import (
    GaussianMeasurements,
    _smallest_epsilon,
    gaussian_measurements_event,
    gaussian_sums_event,
    joining_event,
    squared_sensitivity,
)
from understudy.mechanisms.gaussian_stability import GaussianStability, _left, gaussian_stability_event
from understudy.mechanisms.prediction import PerturbedPrediction, draw_predicted, to_units, unit_bits
from understudy.mechanisms.record_sums import vectors
from understudy.privacy import Neighbours

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE
GRID = 1 << SCALE_BITS


# ---- Gaussian noise


@pytest.mark.parametrize("mu", [0.03, 0.5, 3.0, 20.0, 60.0, 90.0])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 5.0, 200.0, 1800.0, 4000.0])
def test_the_smooth_delta_is_the_closed_form_from_above(mu, epsilon):
    """Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), with both tails written as multiples of e^(-near^2)."""
    near, far = (epsilon / mu - mu / 2) / math.sqrt(2), (epsilon / mu + mu / 2) / math.sqrt(2)
    stated = smooth_delta(Fraction(mu) ** 2, Fraction(epsilon))
    small = math.exp(-(near**2))
    first = math.erfc(near) if near < 0 else small * erfcx(near)
    second = small * erfcx(far)
    due = (first - second) / 2
    assert due * (1 - 1e-9) <= stated <= 1.0
    if near < 25:  # above 26, where floats end, and where the second tail is below the smallest one, it states more
        left_out = second / 2 if far >= 26 else 0.0
        assert stated <= (due + left_out) * (1 + 1e-7) + 4e-12 * first


@pytest.mark.parametrize("epsilon", [20, 40, 60])
def test_a_smooth_law_proves_no_less_than_adding_up(monkeypatch, epsilon):
    variance, cells = Fraction(1024), (1 << 16) + 1
    smooth = gaussian_delta(variance, cells, Fraction(epsilon))
    monkeypatch.setattr(discrete_gaussian, "_LONG", 1 << 62)
    added = gaussian_delta(variance, cells, Fraction(epsilon))
    assert added * (1 - 1e-9) < smooth != added, "two ways to compute it"
    assert smooth <= smooth_delta(cells / (variance - 8), Fraction(epsilon)) * (1 + 1e-12), "and it gives up 8 of 1024"


def test_a_delta_rises_with_what_changes_and_falls_with_epsilon_and_is_a_probability():
    for variance in (Fraction(1, 4), Fraction(9, 4), Fraction(100)):
        for cells in (1, 2, 5, 40):
            falling = [gaussian_delta(variance, cells, Fraction(step, 2)) for step in range(8)]
            assert all(0 < after <= before <= 1 for before, after in itertools.pairwise(falling))
            more = [gaussian_delta(variance, cells + add, Fraction(1)) for add in range(4)]
            assert all(before <= after for before, after in itertools.pairwise(more))
    assert gaussian_delta(Fraction(1, 4), 20_000, Fraction(1)) == 1.0, "no bound is known, and 1 always holds"
    assert gaussian_delta(Fraction(1, 4), 0, Fraction(1)) == 0.0


def test_factors_that_are_not_laid_out_are_bounded_by_the_last(monkeypatch):
    exact = _excess(0.5, 60)
    monkeypatch.setattr(discrete_gaussian, "_AT_ONCE", 8)
    bounded = _excess(0.5, 60)
    assert exact < bounded < exact**1.5
    assert _excess(0.5, 1) == 1.0, "one noise is of its own law"


@pytest.mark.parametrize("variance", [0.25, 0.4, 1.0])
def test_a_noise_more_multiplies_by_the_waves_of_its_theta_function_at_most(variance):
    """1 +- 2 (x + x^4 + x^9 + ...): the factor is the largest over the smallest, of every noise but the first."""
    due = 1.0
    for cells in range(1, 6):
        found = _excess(variance, cells)
        assert due * (1 - 1e-15) <= found <= due * (1 + 1e-2) ** cells
        x = math.exp(-2 * math.pi**2 * variance * cells / (cells + 1))
        wave = 2 * sum(x ** (n * n) for n in range(1, 9))
        due *= (1 + wave) / (1 - wave)


@pytest.mark.parametrize("variance", [0.25, 0.7, 1.0, 9.0, 400.0])
def test_weights_of_the_noise_add_up_to_their_normaliser(variance):
    reach = math.ceil(40 * math.sqrt(variance))
    due = math.fsum(math.exp(-(z**2) / (2 * variance)) for z in range(-reach, reach + 1))
    assert _normaliser(Fraction(variance)) == pytest.approx(due, rel=1e-13)


@pytest.mark.parametrize("deviation", [0.5, 0.7, 1.0, 13.4, 16384.0, 1 + 2.0**-20, 1 + 2.0**-21])
def test_deviations_are_the_next_on_a_grid_that_the_kernel_draws_from(deviation):
    root = deviation_of(variance_for(deviation))
    assert (root * GRID).denominator == 1 and 0 <= root - Fraction(deviation) < Fraction(1, GRID)


@pytest.mark.parametrize("root", [Fraction(1) + Fraction(1, 2 * GRID), Fraction(1, 2) - Fraction(1, GRID)])
def test_a_deviation_between_two_of_the_grid_or_below_it_is_none(root):
    deviation_of(Fraction(1, 4))
    deviation_of(Fraction(1 << 28))
    for variance in (root**2, Fraction(1 << 28) + 1, (Fraction(1 << 14) + Fraction(1, GRID)) ** 2, -(root**2)):
        with pytest.raises(ParameterError, match="variance"):
            deviation_of(variance)


def test_a_bisection_finds_where_it_begins_to_hold():
    for low, high in itertools.combinations(range(-3, 14), 2):
        for begins in range(low + 1, high + 1):
            asked = []
            assert first_fit(lambda n: asked.append(n) or n >= begins, low, high) == begins  # noqa: B023
            assert all(low < n < high for n in asked) and len(asked) <= (high - low).bit_length()


@pytest.mark.parametrize(("variance", "units"), [(Fraction(1), 1), (Fraction(9), 7), (Fraction(400), 300)])
@pytest.mark.parametrize("delta", [1e-9, 1e-3])
def test_a_stated_epsilon_is_the_smallest_of_its_grid_within_delta(variance, units, delta):
    epsilon = Fraction(_smallest_epsilon(variance, units, delta))
    step = Fraction(1, 1 << 32)
    assert (epsilon / step).denominator == 1
    assert gaussian_delta(variance, units, epsilon) <= delta < gaussian_delta(variance, units, epsilon - step)
    for relation in (AR, RO):
        event = GaussianMeasurements(variance=variance, units=units, delta=delta, neighbours=relation)
        orders = np.array([1.5, 2.0, 40.0])
        due = orders * units / (2 * float(variance))
        curve = event.renyi(orders)
        assert (curve >= due).all() and curve == pytest.approx(due, rel=1e-11)


@pytest.mark.parametrize(("epsilon", "delta", "units"), [(1.0, 1e-9, 10), (0.3, 1e-6, 300), (8.0, 1e-9, 5)])
def test_the_noise_of_measurements_is_the_least_that_meets_the_target(epsilon, delta, units):
    event = gaussian_measurements_event(epsilon=epsilon, delta=delta, units=units, neighbours=AR)
    assert event.guarantee().epsilon <= epsilon and (event.units, event.delta) == (units, delta)
    less = (deviation_of(event.variance) - Fraction(3, GRID)) ** 2  # a step of the grid is 1e-6, and it stops at 1e-9
    assert gaussian_delta(less, units, Fraction(epsilon)) > delta
    with pytest.raises(RefusalError, match="too small"):
        gaussian_measurements_event(epsilon=1e-5, delta=1e-9, units=10**9, neighbours=AR)
    with pytest.raises(ParameterError):
        gaussian_measurements_event(epsilon=0.0, delta=1e-9, units=units, neighbours=AR)
    with pytest.raises(ParameterError):
        gaussian_measurements_event(epsilon=1.0, delta=0.0, units=units, neighbours=AR)
    plenty = gaussian_measurements_event(epsilon=1e9, delta=0.9, units=1, neighbours=AR)
    assert plenty.variance == Fraction(1, 4), "and never less than the least"


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_units_are_joined_at_the_first_number_whose_noise_allows_it(epsilon):
    numbers = [1 << bits for bits in range(2, 16)]
    each = [gaussian_measurements_event(epsilon=epsilon, delta=1e-9, units=n, neighbours=AR) for n in numbers]
    first = next(event for event in each if event.variance >= 1024)
    assert joining_event(epsilon=epsilon, delta=1e-9, neighbours=AR, units=numbers) == first and first != each[0]
    assert joining_event(epsilon=epsilon, delta=1e-9, neighbours=AR, units=[1, 2]) is None
    assert gaussian_sums_event(epsilon=epsilon, delta=1e-9, neighbours=AR).joins
    with pytest.raises(ParameterError):
        joining_event(epsilon=-1.0, delta=1e-9, neighbours=AR, units=[1 << 20])


@pytest.mark.parametrize("share", [Fraction(1, 700), Fraction(1), Fraction(13, 7), Fraction(5000)])
def test_one_draw_for_many_units_has_all_the_noise_that_they_paid_for(share):
    """Rounded noise of variance v hides what Gaussian noise of v - 8 does: both ends are paid for."""
    event = GaussianMeasurements(variance=Fraction(1024), units=10**6, delta=1e-9, neighbours=AR)
    deviation = event.joined_deviation(share)
    assert (deviation * GRID).denominator == 1
    assert (
        deviation**2
        >= (event.variance + 8) * share + 8
        > (deviation * (1 - Fraction(1, 10**11)) - Fraction(1, GRID)) ** 2
    )
    assert event.joins
    for less in ({"variance": variance_for(31.99)}, {"delta": 1e-41}):
        usual = {"variance": Fraction(1024), "units": 9, "delta": 1e-9, "neighbours": AR}
        quiet = GaussianMeasurements(**{**usual, **less})
        assert not quiet.joins and quiet.sums_variance(squared=1, units=1) is None
    assert event.sums_variance(squared=5, units=7) == float(event.joined_deviation(Fraction(5, 7))) ** 2
    assert event.sums_variance(squared=5, units=0) == event.sums_variance(squared=5, units=1)
    most = math.isqrt(int(MAX_SCALE) ** 2 // 1100)
    assert event.sums_variance(squared=most**2, units=1) is not None
    assert event.sums_variance(squared=most**2 * 2, units=1) is None, "more than the kernel draws"


@pytest.mark.parametrize("deviation", [33, 500, 9000])
def test_a_deviation_that_lies_just_above_the_grid_is_rounded_up(deviation):
    """By less than a float tells: the noise would fall short of its price."""
    event = GaussianMeasurements(variance=Fraction(1024), units=10**6, delta=1e-9, neighbours=AR)
    for above in (Fraction(0), Fraction(1, 10**13), Fraction(1, 10**12)):
        due = (deviation * (1 + above)) ** 2
        found = event.joined_deviation((due - 8) / (event.variance + 8))
        assert due <= found**2 and found <= deviation * (1 + above) + Fraction(2, GRID)


def test_a_table_of_one_level_has_no_contrasts():
    for relation in (AR, RO):
        assert squared_sensitivity((1,), relation) == squared_sensitivity((3, 1), relation) == 0
    assert (squared_sensitivity((2, 3), AR), squared_sensitivity((2, 3), RO)) == (12, 48)


# ---- thresholds


@pytest.mark.parametrize("delta", [1e-9, 0.2])
@pytest.mark.parametrize("cells", [0, 1, 3, 30])
def test_what_lone_cells_leave_of_delta_and_what_they_take_is_all_of_it(delta, cells):
    lone = delta / 50
    left = _left(delta, lone, cells)
    with localcontext() as context:
        context.prec = 50
        both = 1 - (1 - Decimal(lone)) ** cells * (1 - Decimal(left))
        assert Decimal(delta) * (1 - Decimal("1e-8")) <= both <= Decimal(delta)


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize("tables", [1, 4])
def test_shown_tables_cost_what_their_cells_do(relation, tables):
    event = gaussian_stability_event(epsilon=1.0, delta=1e-6, tables=tables, neighbours=relation)
    each = 1 if relation is AR else 2
    due = Fraction(tables * each) / (2 * event.variance)
    assert due <= Fraction(event.rho) <= due * (1 + Fraction(1, 10**12))
    orders = np.array([1.5, 2.0, 40.0])
    assert (event.renyi(orders) >= orders * float(due)).all() and event.renyi(orders) == pytest.approx(
        orders * float(due)
    )
    some = 1 - (1 - event.lone) ** tables
    assert some <= event.slack * (1 + 1e-9) and event.slack == pytest.approx(some, rel=1e-6) and event.slack < 1e-6
    assert 0.99 < event.guarantee().epsilon <= 1.0 and event.guarantee().delta == 1e-6
    lower = {"variance": event.variance, "threshold": event.threshold - 1, "tables": tables, "delta": 1e-6}
    try:
        dearer = GaussianStability(**lower, neighbours=relation).guarantee().epsilon
    except ParameterError:  # nothing of delta is left
        return
    assert dearer > 1.0


@pytest.mark.parametrize(
    "wrong", [{"epsilon": 0.0}, {"epsilon": math.nan}, {"delta": 0.0}, {"delta": 1.0}, {"tables": 0}]
)
def test_no_tables_for_a_price_that_is_none(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        gaussian_stability_event(**{"epsilon": 1.0, "delta": 1e-6, "tables": 2, "neighbours": AR, **wrong})


# ---- exact draws


def chance_of(p):
    def bounds(bits):
        return math.floor(p * (1 << bits)), math.ceil(p * (1 << bits))

    return bounds


def cumulative(trials, p):
    masses = [math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]
    return list(itertools.accumulate(masses))


CHANCES = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 64), Fraction(7, 1000), Fraction(9, 10)]


@pytest.mark.parametrize("p", CHANCES)
@pytest.mark.parametrize("trials", [1, 2, 5, 9])
def test_every_start_of_a_uniform_number_decides_what_it_decides_and_nothing_else(p, trials):
    """All numbers of eight bits: k where the whole interval lies between F(k - 1) and F(k), else it stays open."""
    law, bits = cumulative(trials, p), 8
    table = _Distribution(trials, chance_of(p), bits)
    for start in range(1 << bits):
        low, high = Fraction(start, 1 << bits), Fraction(start + 1, 1 << bits)
        inside = [k for k in range(trials + 1) if (law[k - 1] if k else 0) <= low and high <= law[k]]
        found = table.locate(start)
        if p.denominator & (p.denominator - 1):  # its bounds are close and never met
            assert found == (inside[0] if inside else None)
        else:
            assert found in ((inside[0],) if inside else (None,))
    unit = 1 << table._bits
    for (below, above), due in zip(table._cumulative, law, strict=False):
        assert below <= due * unit <= above <= below + (1 << 60), "hundreds of bits agree"


class Numbers:
    """Uniform numbers that were written down beforehand, most significant bits first."""

    def __init__(self, digits):
        self.digits = list(digits)

    def below(self, bound):
        return self.digits.pop(0) % bound


@pytest.mark.parametrize("p", CHANCES[:4])
def test_a_draw_is_the_inverse_of_its_distribution_however_many_bits_it_takes(monkeypatch, p):
    monkeypatch.setattr(exact_binomial, "_FIRST_BITS", 4)
    law = cumulative(6, p)
    for digits in itertools.product(range(16), range(0, 16, 5), (3, 12)):
        numbers = Numbers([*digits, *[7] * 400])
        value = exact_binomial.exact_binomial(6, chance=chance_of(p), stream=numbers)
        used = ([*digits, *[7] * 400])[: 403 - len(numbers.digits)]
        uniform = sum(Fraction(digit, 16 ** (place + 1)) for place, digit in enumerate(used))
        assert (law[value - 1] if value else 0) <= uniform and uniform + Fraction(1, 16 ** len(used)) <= law[value]


def test_many_trials_are_drawn_in_parts_that_add_up(monkeypatch):
    """With a number of all bits set every part gives all its trials, with none of them none."""
    monkeypatch.setattr(exact_binomial, "_MEAN_EACH", 2)
    for trials in (1, 7, 30, 33):
        most = exact_binomial.exact_binomial(trials, chance=chance_of(Fraction(1, 2)), stream=Numbers([-1] * 400))
        none = exact_binomial.exact_binomial(trials, chance=chance_of(Fraction(1, 2)), stream=Numbers([0] * 400))
        assert (none, most) == (0, trials)
    assert exact_binomial.exact_binomial(0, chance=chance_of(Fraction(1, 2)), stream=Numbers([])) == 0


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(50)])
@pytest.mark.parametrize("threshold", [0, 1, 9])
def test_the_chance_of_a_tail_lies_between_its_bounds(scale, threshold):
    for bits in (20, 64, 300):
        low, high = tail_chance(scale, threshold)(bits)
        with localcontext() as context:
            context.prec = 150
            q = (-1 / (Decimal(scale.numerator) / Decimal(scale.denominator))).exp()
            due = q**threshold / (1 + q) * (1 << bits)
            assert low <= due <= high and high - low <= 6


# ---- predictions


class Picks:
    """Every pick in its turn, in the place of uniform ones."""

    def __init__(self, *rounds):
        self.rounds = list(rounds)
        self.asked = []

    def below_each(self, bounds):
        self.asked.append(bounds.tolist())
        return np.array(self.rounds.pop(0), dtype=np.uint64)


@pytest.mark.parametrize("alpha", [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(3)])
def test_a_level_is_drawn_in_proportion_to_its_units_and_alpha(monkeypatch, alpha):
    monkeypatch.setattr(prediction, "_MOST_BITS", 7)
    guess = np.array([0.5, 0.25, 0.25])
    total = int(128 * (1 + 3 * alpha))
    picks = Picks(range(total))
    drawn = draw_predicted(np.tile(guess, (total, 1)), alpha=alpha, stream=picks)
    assert picks.asked == [[total] * total] and drawn.dtype == np.uint8
    assert np.bincount(drawn, minlength=3).tolist() == [int(128 * (each + alpha)) for each in (0.5, 0.25, 0.25)]


def test_a_level_that_rules_forbid_becomes_any_of_the_others(monkeypatch):
    monkeypatch.setattr(prediction, "_MOST_BITS", 7)
    inside = np.array([True, False, True, True])
    guess = np.array([0.125, 0.5, 0.25, 0.125])
    total = 128 * 5
    lost = 128  # picks that only alpha gives to the forbidden level
    picks = Picks(range(total), [number % 3 for number in range(lost)])
    drawn = draw_predicted(
        np.tile(guess, (total, 1)), alpha=Fraction(1), stream=picks, inside=np.tile(inside, (total, 1))
    )
    assert picks.asked[1] == [3] * lost
    counts = np.bincount(drawn, minlength=4) - np.array([43, 0, 43, 43])
    assert counts[1] == 0 and np.abs(counts - 128 * np.array([1.25, 0, 1.5, 1.25])).max() <= 1
    nothing = draw_predicted(
        np.array([[0.0, 1.0, 0.0, 0.0]] * 128),
        alpha=Fraction(0),
        stream=Picks(range(128)),
        inside=np.tile(inside, (128, 1)),
    )
    assert set(nothing.tolist()) == {0, 2, 3}, "a prediction of what is forbidden alone becomes uniform"


def test_units_of_predictions_are_whole_and_all_of_them():
    rng = np.random.default_rng(3)
    rows = np.vstack([rng.dirichlet([0.2] * 5, size=200), rng.random((50, 5)) * 1e300, [[0, 0, 0, 0, 0]]])
    rows = np.vstack([rows, [[np.nan, 1, 1, 1, 1]], [[-1e-9, 1, 0, 0, 0]], [[np.inf, 0, 0, 0, 0]], [[1e308] * 5]])
    for bits in (4, 30, 40):
        units = to_units(rows, bits=bits)
        assert (units >= 0).all() and (units.sum(axis=1) == 1 << bits).all()
        shares = rows[:200] / rows[:200].sum(axis=1, keepdims=True)
        assert np.abs(units[:200] / 2**bits - shares).max() <= 5 / 2**bits
        assert (np.ptp(units[250:], axis=1) <= 5).all(), "what is no prediction becomes uniform"


@pytest.mark.parametrize("levels", [2, 3, 1000])
@pytest.mark.parametrize("alpha", [Fraction(0), Fraction(5), Fraction(3, 1 << 20), Fraction(1 << 30)])
def test_units_hold_alpha_exactly_and_totals_of_63_bits(alpha, levels):
    bits = unit_bits(alpha, levels)
    assert (alpha * (1 << bits)).denominator == 1 and (1 << bits) * (1 + levels * alpha) < 1 << 63
    assert levels <= 1 << bits
    for wrong in (Fraction(1, 3), Fraction(1, 1 << 63), Fraction(1 << 62)):
        with pytest.raises(RefusalError, match="does not fit"):
            unit_bits(wrong, levels)


def test_predictions_cost_their_columns_that_can_vary():
    event = PerturbedPrediction(alpha=Fraction(1, 2), levels=(3, 1, 4), draws=5, neighbours=AR)
    assert event.guarantee().epsilon == pytest.approx(5 * 2 * math.log(3)) and event.per_draw >= math.log(3)
    orders = np.array([1.1, 2.0, 30.0])
    curve = event.renyi(orders)
    for level, x in ((3, math.log(3)), (4, math.log(3))):
        rise = 0.5 * np.expm1(orders * x) * -np.expm1(-(orders - 1) * x) / (1 + level / 2)
        curve = curve - 5 * np.minimum(np.log1p(rise) / (orders - 1), np.minimum(x, orders * x**2 / 2))
    assert np.abs(curve).max() <= 1e-9 and event.scaled(Fraction(2)).alpha == 1


# ---- vectors


@pytest.mark.parametrize("bound", [1, 2, 5, 37, 64**2 - 1, 64**2, 3 * 61**2 - 1])
def test_no_vector_is_longer_than_it_was_paid_for(bound):
    rng = np.random.default_rng(bound)
    tables = [rng.integers(-64, 65, size=(200, 3)), np.array([[64, 0], [0, -64], [1, 0], [0, 0]])]
    codes = np.stack([np.arange(200), np.arange(200) % 4], axis=1)
    whole = np.concatenate([tables[0], tables[1][codes[:, 1]]], axis=1)
    cut, length = vectors(codes, tables, bound=bound), (whole**2).sum(axis=1)
    assert ((cut**2).sum(axis=1) <= bound).all()
    assert (cut[length <= bound] == whole[length <= bound]).all(), "a short one is left as it is"
    shorter = whole * np.sqrt(bound / np.maximum(length, 1))[:, None]
    assert (np.abs(cut - np.where((length > bound)[:, None], shorter, whole)) < 1 + 1e-6).all()
    assert (cut * whole >= 0).all()


def test_a_vector_of_many_entries_is_not_cut_by_a_rounding_too_little():
    """A whole number of each entry would be one too long in all, and lies nearer than a thousand-millionth."""
    entries, bound = 200_000, 200_000 * 63**2 - 1
    cut = vectors(np.zeros((1, 1), dtype=np.uint8), [np.full((1, entries), 64)], bound=bound)
    assert (cut**2).sum() <= bound and set(cut.ravel().tolist()) == {62}
