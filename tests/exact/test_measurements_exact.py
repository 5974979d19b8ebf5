"""Gaussian measurements: the price of a fixed number of units, by exact sums on small cases."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.signal import fftconvolve

from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms import gaussian_measurements
from understudy.mechanisms.discrete_gaussian import SPREAD, gaussian_delta, smooth_delta
from understudy.mechanisms.gaussian_measurements import (
    GaussianMeasurements,
    Meter,
    gaussian_measurements_event,
    squared_sensitivity,
)
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, Secret
from understudy.privacy.events import event_from_dict
from understudy.sources.tables import CountTable

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE
REACH = 60  # deviations are at most 3: beyond, probabilities are below e^-200


def law(variance: Fraction, shift: int) -> dict[int, float]:
    weights = {k: math.exp(-((k - shift) ** 2) / (2 * float(variance))) for k in range(-REACH, REACH + 1)}
    total = math.fsum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


def hockey_stick(first: dict, second: dict, epsilon: float) -> float:
    return math.fsum(max(0.0, p - math.exp(epsilon) * second[k]) for k, p in first.items())


@pytest.mark.parametrize("variance", [Fraction(1), Fraction(9, 4), Fraction(9)])
def test_two_adaptive_measurements_keep_the_stated_price(variance):
    """A second query that is chosen by the sign of the first result: any adaptive plan costs at most two units."""
    event = GaussianMeasurements(variance=variance, units=2, delta=1e-3, neighbours=AR)
    stated = event.guarantee()
    one, other, same = law(variance, 0), law(variance, 1), law(variance, 0)
    for plan in ("both", "only when positive"):
        joint_p, joint_q = {}, {}
        for a, p in one.items():
            moves = plan == "both" or a > 0
            for b in one:
                joint_p[a, b] = p * one[b]
                joint_q[a, b] = other[a] * (other[b] if moves else same[b])
        for first, second in ((joint_p, joint_q), (joint_q, joint_p)):
            assert hockey_stick(first, second, stated.epsilon) <= stated.delta * (1 + 1e-6)
        if plan == "both":  # and it is not loose: a slightly smaller epsilon fails
            assert hockey_stick(joint_p, joint_q, stated.epsilon * 0.999) > stated.delta


def test_the_meter_refuses_beyond_its_units():
    table = Secret(CountTable.dense(("a",), np.array([3, 4], dtype=np.int64)))
    meter = Meter(GaussianMeasurements(variance=Fraction(4), units=3, delta=1e-6, neighbours=AR), Stream.seeded(1))
    meter.table(table, copies=2)
    with pytest.raises(RefusalError, match="1 are paid for"):
        meter.table(table, copies=2)
    meter.dependences([table], [np.array([3, 4])], copies=1)
    with pytest.raises(RefusalError):
        meter.table(table, copies=1)


def test_scores_measured_together_cost_as_much_as_one_by_one():
    tables = [Secret(CountTable.dense(("a",), np.array([3, 4], dtype=np.int64)))] * 3
    expected = [np.array([3, 4])] * 3
    for units in (5, 6):
        event = GaussianMeasurements(variance=Fraction(4), units=units, delta=1e-6, neighbours=AR)
        meter = Meter(event, Stream.seeded(1))
        if units < 6:
            with pytest.raises(RefusalError, match="5 are paid for"):
                meter.dependences(tables, expected, copies=2)
        else:
            assert len(meter.dependences(tables, expected, copies=2)) == 3
        assert meter.left == units % 6


def undisturbed(monkeypatch) -> list[list[int]]:
    """Take the noise away; the list receives the whole numbers that it would have been added to."""
    seen: list[list[int]] = []

    def same(exact, *, variance, stream):
        seen.append(exact[0].tolist())
        return exact

    monkeypatch.setattr(gaussian_measurements, "discrete_gaussian", same)
    return seen


@pytest.mark.parametrize("relation", [AR, RO])
def test_dependence_changes_by_at_most_one(relation, monkeypatch):
    """Exhaustively: every small table, every neighbour of it, and every small table that it is compared with."""
    seen, cells, most = undisturbed(monkeypatch), range(4), 0
    tables = np.array(list(itertools.product(range(3), repeat=len(cells))))
    unit = np.eye(len(cells), dtype=np.int64)
    steps = unit if relation is AR else (unit[:, None] - unit[None]).reshape(-1, len(cells))
    event = GaussianMeasurements(variance=Fraction(4), units=len(tables), delta=1e-6, neighbours=relation)
    expected = [values.reshape(2, 2) for values in tables]

    def distances(counts):
        secret = Secret(CountTable.dense(("a", "b"), counts.reshape(2, 2)))
        Meter(event, Stream.seeded(1)).dependences([secret] * len(tables), expected, copies=1)
        return np.array(seen.pop())

    for counts in tables:
        here = distances(counts)
        for step in steps:
            if (counts + step >= 0).all():
                most = max(most, np.abs(distances(counts + step) - here).max())
    assert most == 1, "attained, and never more"


def test_a_table_costs_two_units_when_records_are_replaced():
    table = Secret(CountTable.dense(("a",), np.array([3, 4], dtype=np.int64)))
    meter = Meter(GaussianMeasurements(variance=Fraction(4), units=3, delta=1e-6, neighbours=RO), Stream.seeded(1))
    meter.table(table, copies=1)
    assert meter.left == 1
    meter.dependences([table], [np.array([3, 4])], copies=1)
    assert meter.left == 0


def test_averages_have_the_promised_variance():
    """20,000 cells of 5 measurements: the sample variance is within 7 standard errors of variance / 5."""
    cells, copies = 20_000, 5
    table = Secret(CountTable.dense(("a",), np.zeros(cells, dtype=np.int64)))
    meter = Meter(
        GaussianMeasurements(variance=Fraction(25), units=copies, delta=1e-6, neighbours=AR), Stream.seeded(11)
    )
    found = meter.table(table, copies=copies)
    wanted = meter.variance(copies)
    assert abs(found.mean()) <= 7 * math.sqrt(wanted / cells)
    assert abs(found.var() - wanted) <= 7 * wanted * math.sqrt(2 / cells)


def test_levels_are_added_up_before_the_noise():
    table = Secret(CountTable.dense(("a", "b"), np.arange(12, dtype=np.int64).reshape(3, 4) * 1000))
    meter = Meter(GaussianMeasurements(variance=Fraction(1), units=1, delta=1e-6, neighbours=AR), Stream.seeded(2))
    merged = meter.table(table, copies=1, groups=(np.array([0, 1, 1]), np.array([0, 0, 1, 1])))
    exact = np.array([[1000, 5000], [26000, 34000]])
    assert merged.shape == (2, 2)
    assert np.abs(merged - exact).max() <= 10  # ten deviations


@pytest.mark.parametrize(("epsilon", "delta", "units"), [(0.1, 1e-9, 2000), (1.0, 1e-9, 2000), (10.0, 1e-6, 500)])
def test_calibration_meets_its_target_and_wastes_nothing(epsilon, delta, units):
    event = gaussian_measurements_event(epsilon=epsilon, delta=delta, units=units, neighbours=AR)
    stated = event.guarantee()
    assert epsilon * (1 - 1e-5) <= stated.epsilon <= epsilon
    assert event_from_dict(event.to_dict()) == event


def test_it_is_cheaper_than_by_zcdp():
    """The exact sum proves about a tenth more budget than the Renyi conversion of the same noise."""
    from understudy.privacy import Entry, Ledger

    event = gaussian_measurements_event(epsilon=1.0, delta=1e-9, units=2000, neighbours=AR)
    ledger = Ledger.of([Entry(stage="tables", reads="", event=event)])
    assert ledger.total(delta=1e-9).epsilon == event.guarantee().epsilon


@pytest.mark.parametrize("units", [0, -1, True, 2.0])
def test_bad_units(units):
    with pytest.raises(ParameterError, match="units"):
        GaussianMeasurements(variance=Fraction(1), units=units, delta=1e-6, neighbours=AR)


def test_very_many_units_have_a_price():
    """As many as a hundred columns need; at first far too little noise is tried, where the exact bound overflows."""
    event = gaussian_measurements_event(epsilon=1.0, delta=1e-9, units=118_800, neighbours=AR)
    assert event.guarantee().epsilon <= 1.0
    # zCDP of rho = units / (2 variance) gives epsilon = rho + 2 sqrt(rho ln(1/delta)): the exact price is no worse
    rho = event.units / (2 * float(event.variance))
    assert rho + 2 * math.sqrt(rho * math.log(1e9)) >= 1.0


SHAPES = [(2,), (3,), (2, 2), (2, 3), (3, 4), (2, 2, 2), (2, 3, 4), (3, 3, 3)]


def contrasts(table: np.ndarray) -> np.ndarray:
    for axis, size in enumerate(table.shape):
        table = size * table - table.sum(axis=axis, keepdims=True)
    return table


@pytest.mark.parametrize("shape", SHAPES)
def test_contrasts_move_by_the_stated_length(shape):
    """Every record that joins, and every record that is replaced by any other: the stated length is the longest."""
    moves = [contrasts(record.reshape(shape)) for record in np.eye(math.prod(shape), dtype=np.int64)]
    assert {int((move**2).sum()) for move in moves} == {squared_sensitivity(shape, AR)}
    assert max(int(((a - b) ** 2).sum()) for a in moves for b in moves) == squared_sensitivity(shape, RO)


@pytest.mark.parametrize("shape", [(2,), (3,), (2, 2), (2, 3), (2, 2, 2)])
@pytest.mark.parametrize("units", [1, 7, 400])
def test_joined_units_keep_the_stated_price(shape, units):
    """The loss of one draw depends on the noise along the record's vector, whose law is computed by convolution."""
    event = GaussianMeasurements(variance=Fraction(1024), units=units, delta=1e-6, neighbours=AR)
    stated = event.guarantee()
    meter = Meter(event, Stream.seeded(1))
    move = contrasts(np.eye(1, math.prod(shape), dtype=np.int64).reshape(shape)).ravel()
    length = int((move**2).sum())
    variance = float(meter.event.joined_deviation(Fraction(length, units))) ** 2
    reach = int(12 * math.sqrt(variance))
    noise = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * variance))
    noise /= noise.sum()
    law, low = np.ones(1), 0
    for step in move[move != 0].tolist():
        spread = np.zeros(2 * reach * abs(step) + 1)
        spread[:: abs(step)] = noise
        law, low = fftconvolve(law, spread), low - reach * abs(step)
    loss = (length + 2 * (low + np.arange(len(law)))) / (2 * variance)
    excess = float((np.maximum(law, 0) * np.maximum(0.0, -np.expm1(stated.epsilon - loss))).sum())
    rounding = 1e-13  # of the convolution
    assert excess <= stated.delta + rounding
    closer = stated.epsilon * 0.93  # the price gives up at most 8 of 1024, and 8 of the variance of the draw
    if units < 400:
        assert float((np.maximum(law, 0) * np.maximum(0.0, -np.expm1(closer - loss))).sum()) > 0.1 * stated.delta


@pytest.mark.parametrize(
    ("variance", "units", "epsilon"),
    [(90_000, 50, (1, 10)), (90_000, 50, (1, 20)), (2_500, 400, (2, 1)), (2_500, 400, (1, 2)), (1_024, 3_000, (8, 1))],
)
def test_long_sums_are_bounded_from_above(variance, units, epsilon):
    """Where both can be computed: the Gaussian bound is above the sum, and would be nearly equal with all variance."""
    exact = gaussian_delta(Fraction(variance), units, Fraction(*epsilon))
    assert exact <= smooth_delta(Fraction(units, variance - SPREAD), Fraction(*epsilon))
    assert smooth_delta(Fraction(units, variance), Fraction(*epsilon)) == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize("relation", [AR, RO])
def test_interactions_have_the_stated_variance_and_no_margins(relation):
    """4,000 tables of 2 x 3: mean and variance of the noise are within 7 standard errors."""
    event = GaussianMeasurements(variance=Fraction(1024), units=4_000 * 20, delta=1e-6, neighbours=relation)
    meter = Meter(event, Stream.from_system())
    truth = np.array([[10, 20, 30], [40, 50, 0]], dtype=np.int64)
    table = Secret(CountTable.dense(("a", "b"), truth))
    found = np.array([meter.interaction(table, copies=10)[0] for _ in range(4_000)])
    variance = meter_variance(relation)
    assert np.abs(found.sum(axis=1)).max() < 1e-6 and np.abs(found.sum(axis=2)).max() < 1e-6
    free, noise = 2, found - contrasts(truth) / 6
    wanted = variance * free / 6  # what a projection on two of six directions leaves in a cell
    assert np.abs(noise.mean(axis=0)).max() <= 7 * math.sqrt(wanted / 4_000)
    assert abs((noise**2).mean() - wanted) <= 7 * wanted * math.sqrt(2 / (4_000 * free))


def meter_variance(relation: Neighbours) -> float:
    event = GaussianMeasurements(variance=Fraction(1024), units=100, delta=1e-6, neighbours=relation)
    table = Secret(CountTable.dense(("a", "b"), np.zeros((2, 3), dtype=np.int64)))
    return Meter(event, Stream.seeded(1)).interaction(table, copies=10)[1]


@pytest.mark.parametrize("variance", [4, 1024])
def test_what_cannot_be_joined_is_measured_as_a_table(variance):
    """Too little noise, or too many cells: the interaction of the noisy table, at the same price."""
    event = GaussianMeasurements(variance=Fraction(variance), units=40, delta=1e-6, neighbours=AR)
    meter = Meter(event, Stream.seeded(3))
    shape = (2, 3) if variance == 4 else (40, 40)
    truth = np.arange(math.prod(shape), dtype=np.int64).reshape(shape) ** 2
    found, stated = meter.interaction(Secret(CountTable.dense(("a", "b"), truth)), copies=10)
    assert meter.left == 30 and stated == variance / 10
    assert np.abs(found - contrasts(truth) / math.prod(shape)).max() < 10 * math.sqrt(stated)
