"""Numbers at the ends of what floats and 64 bits hold: the price must still be the true one, or more."""

import math
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest

from understudy.codec import from_plain
from understudy.errors import ParameterError
from understudy.mechanisms.bounded_sums import GroupValues, noisy_means
from understudy.mechanisms.certificate import STEPS, SelectedTry, certified_event, measure_sums
from understudy.mechanisms.discrete_gaussian import (
    LEAST_DELTA,
    MAX_DEVIATION,
    _concentrated_delta,
    gaussian_delta,
    variance_for,
)
from understudy.mechanisms.exact_laplace import COUNT_LIMIT
from understudy.mechanisms.gaussian_measurements import GaussianMeasurements
from understudy.mechanisms.record_sums import vectors
from understudy.mechanisms.split_choice import StableSplits, stable_threshold
from understudy.mechanisms.stability import stability_delta
from understudy.mechanisms.stream import Stream
from understudy.mechanisms.vector_sums import Lengths, cut_vectors
from understudy.mechanisms.weighted import weighted_event, weighted_histogram
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable

AR = Neighbours.ADD_REMOVE
SMALLEST = np.iinfo(np.int64).min  # what a cast makes of a number that is none


@pytest.mark.parametrize("row", [[SMALLEST, 0], [SMALLEST, SMALLEST], [SMALLEST + 1, 3], [np.iinfo(np.int64).max] * 2])
def test_vectors_are_cut_whatever_a_rule_gives(row):
    cut = cut_vectors(np.array([row]), Lengths(moved=16, squared=100))
    assert np.abs(cut).sum() <= 16
    assert (cut * cut).sum() <= 100


def test_steps_that_have_no_absolute_value_are_refused():
    counts = Secret(CountTable.dense(("a",), np.array([3, 4])))
    event = certified_event(epsilon=1.0, moved=1 << 14, neighbours=AR)
    with pytest.raises(ValueError, match="add up to more"):
        measure_sums(counts, np.array([[SMALLEST], [0]]), event=event, stream=Stream.seeded(1))
    with pytest.raises(ValueError, match="numbers beyond"):
        vectors(np.array([[0]], dtype=np.uint8), [np.array([[SMALLEST]])], bound=64)


def test_steps_may_be_as_many_as_one_record_has():
    counts = Secret(CountTable.dense(("a",), np.array([3, 4])))
    event = certified_event(epsilon=1.0, moved=STEPS, neighbours=AR)
    noisy = measure_sums(counts, np.array([[STEPS], [-STEPS]]), event=event, stream=Stream.seeded(1))
    assert abs(int(noisy[0]) + STEPS) < 60 * STEPS
    for beyond in (STEPS + 1, -STEPS - 1):
        with pytest.raises(ValueError, match="add up to more"):
            measure_sums(counts, np.array([[beyond], [0]]), event=event, stream=Stream.seeded(1))


def test_no_more_units_than_the_proof_adds_up():
    variance = variance_for(MAX_DEVIATION)
    most = GaussianMeasurements(variance=variance, units=1 << 40, delta=1e-6, neighbours=AR)
    assert most.units == 1 << 40
    with pytest.raises(ParameterError, match="1,099,511,627,776"):
        GaussianMeasurements(variance=variance, units=(1 << 40) + 1, delta=1e-6, neighbours=AR)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-7, 1.1e-6, 3e-5, 1e-3, 0.7, 5.0])
@pytest.mark.parametrize("tries", [2, 3, 10, 1000])
def test_a_selection_is_never_stated_below_its_price(epsilon, tries):
    getcontext().prec = 80
    stop, rise = 1 / Decimal(tries), Decimal(epsilon).exp()
    exact = Decimal(epsilon) + ((stop + rise) / (1 + stop * rise)).ln()
    stated = Decimal(SelectedTry(epsilon=epsilon, tries=tries, neighbours=AR).guarantee().epsilon)
    assert exact <= stated <= exact * (1 + Decimal("1e-11"))


@pytest.mark.parametrize("scale", [Fraction(1, 4), Fraction(3), Fraction(10**4), Fraction(1 << 24)])
def test_stable_questions_are_never_stated_below_their_delta(scale):
    threshold = 2 + math.ceil(14 * scale)
    event = StableSplits(scale=scale, threshold=threshold, levels=7, neighbours=AR)
    assert Fraction(event.guarantee().delta) >= 7 * Fraction(stability_delta(scale, threshold))
    small, least = stable_threshold(epsilon=1e-5, delta=1e-9)
    assert StableSplits(scale=small, threshold=least, levels=1, neighbours=AR).guarantee().delta <= 1e-9


def test_no_smooth_law_proves_a_delta_below_what_rounding_tells():
    variance, cells = Fraction(1 << 14), 1 << 14
    rho = cells / (2 * variance)
    for epsilon in (Fraction(20), Fraction(40), Fraction(60)):
        stated = gaussian_delta(variance, cells, epsilon)
        proved = math.exp(-float((epsilon - rho) ** 2 / (4 * rho)))
        assert stated >= min(LEAST_DELTA, proved)
    assert gaussian_delta(variance, cells, Fraction(5)) > LEAST_DELTA  # where it is proved the smooth law is used
    assert 0 < gaussian_delta(variance, cells, Fraction(10**6)) < 1e-300  # and some epsilon meets every delta


@pytest.mark.parametrize("rho", [Fraction(1, 2), Fraction(3, 1 << 20), Fraction(40)])
@pytest.mark.parametrize("exponent", [0.25, 1.0, 90.0, 700.0, 800.0])
def test_what_concentration_proves_is_stated_from_above(rho, exponent):
    """e^(-(epsilon - rho)^2 / (4 rho)), and hardly more: also where no float holds it."""
    getcontext().prec = 60
    epsilon = rho + Fraction(math.sqrt(4 * rho * exponent))
    square = (epsilon - rho) ** 2 / (4 * rho)
    exact = (-Decimal(square.numerator) / Decimal(square.denominator)).exp()
    stated = Decimal(_concentrated_delta(rho, epsilon))
    assert exact <= stated <= exact * (1 + Decimal("1e-9")) + 2 * Decimal(math.ulp(0.0))
    assert _concentrated_delta(rho, rho) == _concentrated_delta(rho, rho / 2) == 1.0


def test_sums_beyond_the_range_are_cut_and_not_refused():
    """A refusal would tell how large a sum is."""
    weights = weighted_event(epsilon=1.0, largest=1, neighbours=AR)
    table = Secret(CountTable.dense(("a",), np.array([5, COUNT_LIMIT + 7])))
    noisy = weighted_histogram(table, units=None, event=weights, stream=Stream.seeded(1))
    assert abs(int(noisy[1]) - COUNT_LIMIT) < 10_000
    few = GroupValues(groups=np.zeros(8, dtype=np.int64), values=np.ones(8))
    means, _ = noisy_means(
        Secret(few), groups=1, group="g", value="v", lower=0.0, upper=1.0, epsilon=1e6, neighbours=AR,
        stream=Stream.seeded(1), reach=1 << 38,
    )  # fmt: skip
    assert means.sums[0] * 2 * (1 << 38) == pytest.approx(COUNT_LIMIT, rel=1e-3)


@pytest.mark.parametrize("word", [True, False])
def test_yes_and_no_are_no_whole_numbers(word):
    with pytest.raises(TypeError, match="expected int"):
        from_plain(int, word)
