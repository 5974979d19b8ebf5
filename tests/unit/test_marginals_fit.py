"""What is made of noisy tables: shrinkage without a knob, latent classes, and rows that agree."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.blocks.known import Known
from understudy.blocks.latent import LatentClasses, NoisyTables, fit_classes
from understudy.blocks.measured import MarginalFit
from understudy.blocks.planning import group_small, pair_choice
from understudy.blocks.shrinking import (
    believable,
    denoised,
    fitted_margins,
    james_stein,
    on_simplex,
    posterior_ratios,
)
from understudy.codebook import Categorical, Codebook
from understudy.mechanisms.gaussian_measurements import GaussianMeasurements, Meter, centred
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, Secret
from understudy.release.measurements import read_measurements
from understudy.samplers import agreeing
from understudy.samplers.agreeing import draw_agreeing
from understudy.sources.tables import CountTable
from understudy.synth.measurements import measurements_table

CLASSES = LatentClasses(
    weights=np.array([0.5, 0.3, 0.2]),
    levels=[
        np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]),
        np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]),
        np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [0.7, 0.1, 0.1, 0.1]]),
    ],
)
FREE = Codebook(
    columns=tuple(Categorical(name=f"c{size}", levels=tuple(map(str, range(size)))) for size in (3, 2, 4))
).allowed
PAIRS = list(itertools.combinations(range(3), 2))
counts = st.lists(st.floats(-500, 5000), min_size=1, max_size=30).map(np.array)


def total_variation(first, second):
    return 0.5 * np.abs(first - second).sum()


@given(counts, st.floats(1, 10_000))
def test_the_projection_is_the_nearest_point(values, total):
    near = on_simplex(values, total)
    assert near.min() >= 0
    assert near.sum() == pytest.approx(total)
    # the nearest point of a convex set: every other point lies on the far side of the tangent plane (corners suffice)
    slack = 1e-6 * (1 + np.abs(values).max() + total) ** 2
    for corner in np.eye(len(values)) * total:
        assert (values - near) @ (corner - near) <= slack


@given(counts, st.floats(10, 10_000), st.floats(0.1, 500))
def test_believable_counts_are_counts_of_that_total_whatever_the_order(values, total, deviation):
    found = believable(values, total, deviation)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    assert believable(values[::-1], total, deviation)[::-1] == pytest.approx(found, abs=1e-6 * total)


def test_believable_keeps_what_is_clear_and_a_little_of_what_is_not():
    found = believable(np.array([9000.0, 1000.0, -40.0, 30.0]), 10_000.0, 50.0)
    assert found[:2] == pytest.approx([9000, 1000], abs=50)
    assert 0 < found[2] < found[3] < 60


def test_james_stein_by_hand():
    towards = np.zeros(4)
    assert james_stein(np.array([1.0, 1.0, 1.0, 1.0]), towards, 1.0) == pytest.approx([0.5] * 4)  # 1 - 2/4
    assert not james_stein(np.array([0.5, 0.5, 0.5, 0.5]), towards, 1.0).any()  # 1 - 2/1 < 0
    assert james_stein(np.full(4, 1e6), towards, 1.0) == pytest.approx(np.full(4, 1e6), rel=1e-11)


def test_margins_are_fitted_and_odds_ratios_kept():
    table = np.array([[1.0, 2.0], [3.0, 4.0]])
    fitted = fitted_margins(table, np.array([6.0, 4.0]), np.array([5.0, 5.0]), rounds=200)
    assert fitted.sum(axis=1) == pytest.approx([6, 4])
    assert fitted.sum(axis=0) == pytest.approx([5, 5])
    assert fitted[0, 0] * fitted[1, 1] / (fitted[0, 1] * fitted[1, 0]) == pytest.approx(2 / 3)


def test_dependence_without_noise_is_kept_and_noise_without_dependence_goes():
    dependent = np.diag([300.0, 400.0, 500.0])
    margins = np.outer(dependent.sum(axis=1), dependent.sum(axis=0)) / dependent.sum()
    assert denoised(dependent, margins, 1e-6)[0] == pytest.approx(dependent, abs=1e-3)
    flat = np.full((6, 6), 100.0)
    weak = flat + 0.1 * np.outer([1, -1] * 3, [1, -1] * 3)
    assert denoised(weak, flat, 5.0)[0] == pytest.approx(flat)  # far below the edge of the noise


def test_the_risk_of_shrinkage_is_estimated_without_bias():
    """Stein: the mean of the estimate, plus (cells - margins) variance, is the mean squared error; z below 6.5."""
    rng = np.random.default_rng()
    shape, deviation = (9, 6), 3.0
    truth = 40 * np.outer(rng.normal(size=9), rng.normal(size=6))
    truth = truth - truth.mean(axis=0) - truth.mean(axis=1, keepdims=True) + truth.mean()
    free = (shape[0] - 1) * (shape[1] - 1)
    gaps = []
    for _ in range(800):
        noisy = truth + rng.normal(0, deviation, shape)
        shown, risk = denoised(noisy, np.zeros(shape), deviation)
        gaps.append(risk - free * deviation**2 - ((shown - truth) ** 2).sum())
    assert abs(np.mean(gaps)) < 6.5 * np.std(gaps) / np.sqrt(len(gaps)) + 0.02 * free * deviation**2


ratios = st.lists(st.one_of(st.just(0.0), st.floats(1 / 16, 16)), min_size=1, max_size=40).map(np.array)


@settings(deadline=None)  # the first call compiles
@given(ratios, st.floats(1, 1e6))
def test_ratios_without_noise_are_kept_and_noise_alone_keeps_what_was_expected(ratio, scale):
    expected = scale * np.linspace(1, 2, len(ratio))
    clear = posterior_ratios(ratio * expected, expected, 1e-6 * scale)
    assert clear == pytest.approx(ratio * expected, rel=1e-3, abs=1e-3 * scale)
    drowned = posterior_ratios(ratio * expected, expected, 1e9 * scale) / expected
    assert drowned == pytest.approx(np.full(len(ratio), drowned[0]), rel=1e-3), "one factor, which the margins take out"


def test_cells_that_are_empty_together_are_shown_empty():
    expected = np.full(100, 50.0)
    noisy = np.where(np.arange(100) % 2, 100.0, 0.0)
    shown = posterior_ratios(noisy, expected, 20.0)
    # alone, a cell at 0 with expectation 50 +- 20 and a flat prior on the positive numbers would be sqrt(2 / pi) 20
    assert shown[0] < 0.5 * 0.8 * 20
    assert shown[1] == pytest.approx(100, abs=10)


def test_small_levels_are_merged():
    assert group_small(np.array([5.0, 100.0, 3.0]), 10).of.tolist() == [1, 0, 1]
    assert group_small(np.array([5.0, 100.0, 30.0]), 10).of.tolist() == [0, 1, 2]  # one alone stays as it is


def test_pairs_are_taken_while_they_are_worth_their_noise():
    gains = {(0, 1): 1000.0, (0, 2): 500.0, (1, 2): 0.0}
    shapes = dict.fromkeys(gains, (3, 3))
    choose = pair_choice(gains, shapes)
    plan = choose(0.1)
    assert set(plan.shares) == {(0, 1), (0, 2)}
    assert sum(plan.shares.values()) == pytest.approx(1)
    assert all(error <= gains[pair] for pair, error in plan.errors.items())
    assert choose(1e5).shares == {}
    assert choose(1e5).errors == gains


def test_two_measurements_are_weighed_by_their_precision():
    both = Known(values=np.array([0.0]), variance=1.0).with_another(Known(values=np.array([4.0]), variance=3.0))
    assert both.values == pytest.approx([1.0])
    assert both.variance == pytest.approx(0.75)


def fit_of(gain: float, score_deviation: float) -> MarginalFit:
    event = GaussianMeasurements(variance=Fraction(1024), units=10, delta=1e-6, neighbours=Neighbours.ADD_REMOVE)
    fit = MarginalFit(meter=Meter(event, Stream.seeded(1)), sizes=(2, 2), workload=(1.0, 1.0))
    fit.gains[0, 1] = gain
    fit.score_deviation = score_deviation
    return fit


def test_a_pair_that_nobody_measured_shows_what_its_score_supports():
    independent = np.full((2, 2), 250.0)
    model = independent + np.array([[200.0, -200.0], [-200.0, 200.0]])  # 800 from independence
    for gain, deviation, shown in ((0.0, 0.0, 0.0), (400.0, 0.0, 0.5), (400.0, 800.0, 0.75), (1e6, 0.0, 1.0)):
        table = fit_of(gain, deviation)._supported((0, 1), model, independent)
        assert table == pytest.approx(independent + shown * (model - independent))


def test_independent_columns_lie_as_far_apart_as_chance_says():
    """The mean of 300 distances, which vary by less than a third of themselves, within six deviations of that mean."""
    rng, records = np.random.default_rng(3), 20_000
    shares = [np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.6, 0.4])]
    fit, distances = fit_of(0.0, 0.0), []
    fit.sizes, fit.records = (4, 2), Known(values=np.array([float(records)]), variance=1.0)
    fit.ones = [share * records for share in shares]
    fit.raw = [Known(values=fit.ones[0], variance=60.0**2), Known(values=fit.ones[1], variance=90.0**2)]
    for _ in range(300):
        table = rng.multinomial(records, np.outer(*shares).ravel()).reshape(4, 2)
        margins = [table.sum(axis=1) + rng.normal(0, 60, 4), table.sum(axis=0) + rng.normal(0, 90, 2)]
        distances.append(np.abs(table - np.outer(*margins) / records).sum())
    # cells of one margin err together, which changes how a distance varies and not what it is on average; sampling
    # moves the margins with the cells, which is less than a tenth of it here
    assert np.mean(distances) == pytest.approx(fit._by_chance(0, 1), rel=0.1 + 6 / 3 / math.sqrt(300))


def test_measurements_are_those_made_not_what_was_made_of_them():
    fit = fit_of(0.0, 1.0)
    book = Codebook(columns=tuple(Categorical(name=name, levels=("x", "y")) for name in "ab"))
    fit.records = Known(values=np.array([100.0]), variance=1.0)
    fit.raw = [Known(values=np.array([10.0, -10.0]), variance=4.0) for _ in "ab"]
    fit.ones = [np.array([60.0, 40.0]) for _ in "ab"]
    fit.improve_one(0, np.array([55.0, 45.0]))
    tables = read_measurements(measurements_table(fit, book), book).tables
    for name in "ab":
        assert tables[name,].values == pytest.approx([0.1, -0.1])


def noisy_tables(known, precision=1e8):
    return NoisyTables(
        ones=[CLASSES.one_way(i) for i in range(3)],
        one_precision=[precision] * 3,
        pairs={pair: centred(CLASSES.two_way(*pair)) for pair in known},
        pair_precision=dict.fromkeys(known, precision),
        merged=[np.arange(size) for size in (3, 2, 4)],
    )


def fitted_to(known):
    ones = [CLASSES.one_way(i) for i in range(3)]
    return fit_classes(
        noisy_tables(known), ones, classes=8, fits=3, penalty=1.0, iterations=2000, generator=np.random.default_rng()
    )


def test_classes_explain_tables_that_come_from_classes():
    found = fitted_to(PAIRS)
    assert found.weights.sum() == pytest.approx(1)
    for column in range(3):
        assert found.one_way(column) == pytest.approx(CLASSES.one_way(column), abs=2e-3)
    for pair in PAIRS:
        assert total_variation(found.two_way(*pair), CLASSES.two_way(*pair)) < 0.01


def test_a_pair_that_was_not_measured_is_predicted_in_between():
    """Two measured pairs with a common column say something about the third; independence says nothing."""
    found = fitted_to([(0, 1), (0, 2)])
    independent = np.outer(CLASSES.one_way(1), CLASSES.one_way(2))
    truth = CLASSES.two_way(1, 2)
    assert total_variation(found.two_way(1, 2), truth) < total_variation(independent, truth)


def test_pooled_classes_average_their_tables():
    both = LatentClasses.pooled([CLASSES, CLASSES])
    assert both.two_way(0, 2) == pytest.approx(CLASSES.two_way(0, 2))
    assert len(both.weights) == 6


@pytest.mark.parametrize("rows", [1, 7, 4000])
def test_rows_agree_with_tables(rows):
    pairs = {pair: CLASSES.two_way(*pair) for pair in PAIRS}
    steps = []
    drawn = draw_agreeing(
        CLASSES.weights,
        CLASSES.levels,
        pairs,
        allowed=FREE,
        rows=rows,
        stream=Stream.from_system(),
        report=lambda *step: steps.append(step),
    )
    assert [len(column) for column in drawn] == [rows] * 3
    assert steps[-1][0] == steps[-1][1]
    for (i, j), table in pairs.items():
        shares = np.bincount(drawn[i] * table.shape[1] + drawn[j], minlength=table.size) / rows
        # no single change helps any more, so the distance is a matter of whole rows: below one row per cell
        assert total_variation(shares, table.ravel()) <= table.size / rows


def test_every_class_gets_its_rows_and_every_level_within_one():
    drawn = draw_agreeing(CLASSES.weights, CLASSES.levels, {}, allowed=FREE, rows=1000, stream=Stream.from_system())
    for column, values in enumerate(drawn):
        expected = CLASSES.one_way(column) * 1000
        assert (
            np.abs(np.bincount(values, minlength=len(expected)) - expected).max() < 3
        )  # one for each of three classes


def test_rows_agree_with_tables_of_three_columns():
    """An exclusive or of two fair columns: every pair looks independent, and only a table of three can say it."""
    triple = np.zeros((2, 2, 2))
    for first, second in itertools.product(range(2), repeat=2):
        triple[first, second, first ^ second] = 0.25
    book = Codebook(columns=tuple(Categorical(name=f"b{n}", levels=("0", "1")) for n in range(3)))
    fair = [np.full((1, 2), 0.5) for _ in range(3)]
    drawn = draw_agreeing(
        np.ones(1), fair, {(0, 1, 2): triple}, allowed=book.allowed, rows=400, stream=Stream.from_system()
    )
    # a row off costs two cells one each; no single change helps any more
    assert np.mean((drawn[0] ^ drawn[1]) != drawn[2]) <= 8 / 400


def test_rows_find_values_that_imply_each_other():
    """Forty codes and their four groups, no class knows them: a tree of dependence does."""
    codes, share = 40, 1 / 40
    table = np.zeros((codes, 4))
    table[np.arange(codes), np.arange(codes) // 10] = share
    book = Codebook(
        columns=tuple(Categorical(name=f"c{size}", levels=tuple(map(str, range(size)))) for size in (codes, 4))
    )
    alone = [np.full((1, codes), share), np.full((1, 4), 0.25)]
    drawn = draw_agreeing(
        np.ones(1), alone, {(0, 1): table}, allowed=book.allowed, rows=4000, stream=Stream.from_system()
    )
    assert (drawn[0] // 10 == drawn[1]).all()
    assert np.abs(np.bincount(drawn[0], minlength=codes) - 100).max() <= 1


def test_a_fit_never_asks_for_more_than_is_paid_for():
    """Triples each want a measurement at least; where units run out the rest goes unmeasured."""
    fit = fit_of(1.0, 1.0)
    assert fit._affordable(0.2) == 1
    assert fit._affordable(99.0) == 10
    fit.meter.left = 0
    assert fit._affordable(99.0) == 0
    fit.sizes = (2, 2, 2)
    fit._take_triples(
        {(0, 1, 2): Secret(CountTable.dense(("a", "b", "c"), np.ones((2, 2, 2), dtype=np.int64)))}, share=1.0
    )
    assert fit.triples == {}


def test_large_draws_meet_the_tables_on_any_number_of_threads(monkeypatch):
    """Lanes of several blocks, to which the beginning brings the same error again and again."""
    monkeypatch.setattr(agreeing, "_LANE", 9000)
    monkeypatch.setattr(agreeing, "_BLOCK", 1000)
    monkeypatch.setattr(agreeing, "_FEW", 2000)
    pairs = {pair: CLASSES.two_way(*pair) for pair in PAIRS}
    alone = [CLASSES.one_way(column)[np.newaxis] for column in range(3)]

    def drawn(stream, threads):
        return draw_agreeing(np.ones(1), alone, pairs, allowed=FREE, rows=20_000, stream=stream, threads=threads)

    def distance(rows):
        counted = [np.histogram2d(rows[i], rows[j], bins=table.shape)[0] for (i, j), table in pairs.items()]
        return sum(total_variation(found / 20_000, table) for found, table in zip(counted, pairs.values(), strict=True))

    first, again, other = drawn(Stream.seeded(1), 1), drawn(Stream.seeded(1), 3), drawn(Stream.from_system(), 1)
    assert all((one == two).all() for one, two in zip(first, again, strict=True))
    assert any((one != two).any() for one, two in zip(first, other, strict=True))
    monkeypatch.setattr(agreeing, "_descend", lambda *_: None)
    begun = distance(drawn(Stream.from_system(), 1))
    # each lane is mended until so little is left; together they are no further off, and begin within a few percent
    assert distance(other) <= 1.1 * agreeing._ENOUGH * begun
