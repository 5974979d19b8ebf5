"""Sums of vectors over labelled records: how far one record moves them, and what that costs, by enumeration."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from understudy.errors import RefusalError
from understudy.mechanisms.gaussian_measurements import GaussianMeasurements, Meter, gaussian_sums_event
from understudy.mechanisms.labelled import pooled
from understudy.mechanisms.record_sums import (
    LEAN,
    RecordSums,
    moments_squared,
    sums_squared,
    vectors,
)
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, Secret

AR = Neighbours.ADD_REMOVE
TABLES = (
    np.array([[-LEAN, 20], [0, -31], [LEAN, LEAN]]),
    np.array([[LEAN, 0], [0, LEAN]]),
)
RECORDS = list(itertools.product(range(3), range(2), range(2)))
EVERY_CODE = np.array(list(itertools.product(range(3), range(2))), dtype=np.uint8)
BOUNDS = [1, 77, LEAN**2, 2 * LEAN**2 + 5, 4 * LEAN**2]


class Exact(Meter):
    """A meter that adds no noise, and keeps what it was told about lengths."""

    def sums(self, exact, *, squared, units):
        self.told = squared
        return exact.astype(np.float64), 0.0


def exact_meter():
    return Exact(GaussianMeasurements(variance=Fraction(1024), units=64, delta=1e-6, neighbours=AR), Stream.seeded(1))


def test_other_neighbours_are_refused():
    event = GaussianMeasurements(variance=Fraction(1024), units=64, delta=1e-6, neighbours=Neighbours("replace-one"))
    with pytest.raises(RefusalError, match="add-remove"):
        RecordSums(cells=held(RECORDS), meter=Meter(event, Stream.seeded(1)))


def held(records):
    codes = np.array([record[:2] for record in records], dtype=np.uint8).reshape(len(records), 2)
    return Secret(pooled(codes, np.eye(2, dtype=np.int64)[[record[2] for record in records]].reshape(-1, 2)))


def chance_of(codes):
    return 0.07 + 0.3 * codes[:, 0].astype(float) + 0.2 * codes[:, 1]


def everything(records, bound):
    """What every measurement would release without noise in whole numbers, and the squared length it claims."""
    meter = exact_meter()
    sums = RecordSums(cells=held(records), meter=meter)
    groups = [np.array([0, 0, 1]), np.array([0, -1])]
    found = {}

    def kept(name, values, one):
        whole = np.asarray(values) * one
        assert np.abs(whole - np.rint(whole)).max() < 1e-6
        found[name] = (np.rint(whole), meter.told)

    kept("classes", sums.class_counts(lambda codes: codes[:, 0].astype(np.intp), 3, units=1).values, 16)
    counts = sums.histograms([0, 1], groups, units=1)
    kept("histograms", np.concatenate([count.values for count in counts]), 16)
    half = sums.residual_sums(TABLES, lambda codes: np.full(len(codes), 0.5), bound=bound, units=1, reach=LEAN // 2)
    kept("labels", half.values, LEAN**2)
    kept("residuals", sums.residual_sums(TABLES, chance_of, bound=bound, units=1).values, LEAN**2)
    first, second, _ = sums.second_moments(TABLES, bound=bound, units=1)
    kept("moments", np.concatenate([first, second[np.triu_indices(4)]]), LEAN**2)
    return found


@pytest.mark.parametrize("bound", BOUNDS)
def test_no_vector_is_longer_than_its_bound(bound):
    cut = vectors(EVERY_CODE, TABLES, bound=bound)
    free = vectors(EVERY_CODE, TABLES, bound=1 << 40)
    lengths = (cut**2).sum(axis=1)
    assert (lengths <= bound).all()
    short = (free**2).sum(axis=1) <= bound
    assert (cut[short] == free[short]).all()  # and what is short enough stays as it is
    assert (np.sign(cut) * np.sign(free) >= 0).all()


@pytest.mark.parametrize("bound", BOUNDS)
def test_one_record_moves_every_measurement_by_no_more_than_is_paid_for(bound):
    """All tables of up to one record and all records that may join them."""
    nearest = {}
    for size in range(2):
        for table in itertools.combinations_with_replacement(RECORDS, size):
            before = everything(table, bound)
            for record in RECORDS:
                after = everything((*table, record), bound)
                for name, (values, told) in after.items():
                    moved = int(((values - before[name][0]) ** 2).sum())
                    assert moved <= told, name
                    nearest[name] = max(nearest.get(name, 0.0), moved / told)
    assert nearest["classes"] == 1.0  # the bound is attained
    if bound >= 4 * LEAN**2:
        assert nearest["labels"] == 0.8  # (1, 1, 1, 1, 0) of five ones


def test_lengths_are_those_of_the_worst_vector():
    """Of all vectors of two numbers up to LEAN, by brute force on a coarse grid."""
    grid = range(-LEAN, LEAN + 1, 8)
    for bound in (LEAN**2, 2 * LEAN**2):
        worst = 0
        for a, b in itertools.product(grid, grid):
            if a * a + b * b <= bound:
                worst = max(worst, LEAN**2 * (a * a + b * b) + a**4 + b**4 + (a * b) ** 2)
        assert worst <= moments_squared(bound)
    assert moments_squared(LEAN**2) == 2 * LEAN**4  # attained by a vector along one axis
    assert sums_squared(5) == 5 + LEAN**2


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 10.0, 100.0])
def test_the_event_has_units_that_can_be_joined_and_costs_no_more(epsilon):
    event = gaussian_sums_event(epsilon=epsilon, delta=1e-6, neighbours=AR)
    assert event.joins
    assert event.guarantee().epsilon <= epsilon
    assert event.guarantee().delta == 1e-6


def test_noise_has_the_variance_of_its_units_and_the_meter_refuses_beyond_them():
    """40,000 numbers: mean and variance are within 7 standard errors."""
    event = gaussian_sums_event(epsilon=1.0, delta=1e-6, neighbours=AR)
    meter = Meter(event, Stream.from_system())
    size, units = 40_000, event.units // 2
    noisy, variance = meter.sums(np.zeros(size, dtype=np.int64), squared=3 * LEAN**2, units=units)
    assert variance == pytest.approx(float(event.variance + 8) * 3 * LEAN**2 / units + 8, rel=1e-5)
    assert variance == meter.event.sums_variance(squared=3 * LEAN**2, units=units)
    assert abs(noisy.mean()) <= 7 * math.sqrt(variance / size)
    assert abs(noisy.var() - variance) <= 7 * variance * math.sqrt(2 / size)
    with pytest.raises(RefusalError, match="are paid for"):
        meter.sums(np.zeros(1, dtype=np.int64), squared=1, units=units + 1)


def test_noise_too_large_to_draw_is_refused_before_anything_is_spent():
    meter = Meter(gaussian_sums_event(epsilon=1.0, delta=1e-6, neighbours=AR), Stream.seeded(1))
    assert meter.event.sums_variance(squared=1 << 60, units=1) is None
    with pytest.raises(RefusalError, match="larger epsilon"):
        meter.sums(np.zeros(1, dtype=np.int64), squared=1 << 60, units=1)
    assert meter.left == meter.event.units
