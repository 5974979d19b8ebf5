"""Rows calibrated to measurements: what the weights meet, and that stated variances are those of the noise."""

import itertools
import math

import numpy as np
import pytest

from understudy.blocks.known import Known
from understudy.infer.calibration import Calibration, Records, _direction, _inverse_of_lower, _unmeasured
from understudy.infer.estimates import Model, correlation_of, difference_of, mean_of
from understudy.mechanisms.gaussian_measurements import centred
from understudy.release.measurements import Measurements

SIZES = {"a": 3, "b": 2, "c": 4}
NAMES = tuple(SIZES)
LEVELS = [np.array(codes) for codes in itertools.product(*(range(size) for size in SIZES.values()))]


def records_of(shares):
    return Records(names=NAMES, codes=np.array(LEVELS), shares=shares, rows=10_000)


def shares(seed):
    return np.random.default_rng(seed).dirichlet(np.full(len(LEVELS), 2.0))


def table_of(weights, columns):
    shape = tuple(SIZES[name] for name in columns)
    cells = np.ravel_multi_index(tuple(np.array(LEVELS)[:, [NAMES.index(name) for name in columns]].T), shape)
    return np.bincount(cells, weights, minlength=math.prod(shape)).reshape(shape)


PAIRS = list(itertools.combinations(NAMES, 2))


def measured_of(truth, deviation, rng=None, pairs=PAIRS, dependence=0.1):
    tables = {}
    for columns in [*((name,) for name in NAMES), *pairs]:
        values = table_of(truth, columns)
        noise = np.zeros_like(values) if rng is None else rng.normal(0, deviation, values.shape)
        tables[columns] = Known(values=centred(values + noise), variance=deviation**2)
    return Measurements(
        records=Known(values=np.array([10_000.0]), variance=1.0),
        groups={name: np.arange(size) for name, size in SIZES.items()},
        tables=tables,
        dependence={pair: dependence for pair in PAIRS if pair not in pairs},
        ordered=frozenset({"c"}),
    )


def test_under_hardly_any_noise_the_weighted_rows_have_the_measured_tables():
    truth, rows = shares(1), shares(2)
    calibration = Calibration(measured_of(truth, 1e-6), records_of(rows))
    assert calibration.weights.sum() == pytest.approx(1)
    for pair in PAIRS:
        assert table_of(calibration.weights, pair) == pytest.approx(table_of(truth, pair), abs=1e-6)
    three = np.abs(table_of(calibration.weights, NAMES) - table_of(truth, NAMES)).max()
    assert three > 1e-3  # nobody measured what all three do together


def test_rows_that_agree_already_keep_their_weights():
    truth = shares(3)
    calibration = Calibration(measured_of(truth, 0.01), records_of(truth))
    assert calibration.weights == pytest.approx(truth)


def figures(weights):
    """One of each kind, by name."""
    codes = np.array(LEVELS).astype(float)
    everybody = np.ones(len(LEVELS), dtype=bool)
    design = np.column_stack([np.ones(len(LEVELS)), codes[:, 2], codes[:, 0] == 1])
    yes = (codes[:, 1] == 1).astype(float)
    in_first, in_last = codes[:, 0] == 0, codes[:, 0] == 2
    found = {
        "share": mean_of("share", yes, everybody, weights, ends=(0.0, 1.0)),
        "mean": mean_of("mean", codes[:, 2], everybody, weights),
        "mean of a part": mean_of("part", codes[:, 2], in_first, weights),
        "difference": difference_of(
            "gap", mean_of("x", codes[:, 2], in_first, weights), mean_of("y", codes[:, 2], in_last, weights)
        ),
        "correlation": correlation_of("r", codes[:, 0], codes[:, 2], everybody, weights),
    }
    for kind, response in (("linear", codes[:, 2]), ("logistic", yes), ("poisson", codes[:, 2])):
        own = design if kind == "logistic" else design[:, [0, 2]]
        model = Model(
            kind=kind, terms=[f"t{n}" for n in range(own.shape[1])], design=own, response=response, formula=""
        )
        found |= {f"{kind} {one.name}": one for one in model.solve(weights)}
    return found


KINDS = list(figures(shares(4)))


@pytest.mark.parametrize("kind", KINDS)
def test_influence_is_the_slope_of_a_figure_in_every_record(kind):
    weights, step = shares(5), 1e-6
    for record in (0, 7, len(LEVELS) - 1):
        moved = (1 - step) * weights
        moved[record] += step
        slope = (figures(moved)[kind].value - figures(weights)[kind].value) / step
        assert slope == pytest.approx(figures(weights)[kind].influence[record], rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_over_many_measurements_a_figure_varies_as_much_as_is_stated(kind):
    """A chi-square of 300 degrees of freedom lies within 0.72 and 1.33 of its mean but once in a million runs."""
    truth, rows, runs = shares(6), shares(7), 300
    rng = np.random.default_rng(8)
    stated, values = [], []
    for _ in range(runs):
        calibration = Calibration(measured_of(truth, 0.002, rng), records_of(rows))
        one = figures(calibration.weights)[kind]
        values.append(one.value)
        stated.append(calibration.variances(one.influence[:, None]).noise[0])
    # second-order terms of models and ratios are below a tenth of the variance at this noise
    assert 0.65 < np.var(values) / np.mean(stated) < 1.45


def test_models_are_those_of_statsmodels():
    import statsmodels.api as sm

    weights = shares(9)
    codes = np.array(LEVELS).astype(float)
    design = np.column_stack([np.ones(len(LEVELS)), codes[:, 2], codes[:, 0] == 1])
    for kind, response, family in (
        ("linear", codes[:, 1], sm.families.Gaussian()),
        ("logistic", codes[:, 1], sm.families.Binomial()),
        ("poisson", codes[:, 1], sm.families.Poisson()),
    ):
        model = Model(kind=kind, terms=["one", "c", "a"], design=design, response=response, formula="")
        expected = sm.GLM(response, design, family=family, freq_weights=1000 * weights).fit().params
        assert [one.value for one in model.solve(weights)] == pytest.approx(list(expected), rel=1e-5)


def unmeasured(truth, rows, dependence):
    """The variance of a cell of a and c that nobody measured."""
    cell = ((np.array(LEVELS)[:, 0] == 0) & (np.array(LEVELS)[:, 2] == 1)).astype(float)[:, None]
    pairs = [pair for pair in PAIRS if pair != ("a", "c")]
    measured = measured_of(truth, 0.001, pairs=pairs, dependence=dependence)
    return float(Calibration(measured, records_of(rows)).variances(cell).unmeasured[0])


def test_a_pair_that_nobody_measured_makes_figures_of_it_uncertain():
    truth, rows = shares(10), shares(11)
    cell = ((np.array(LEVELS)[:, 0] == 0) & (np.array(LEVELS)[:, 2] == 1)).astype(float)[:, None]
    known = Calibration(measured_of(truth, 0.001), records_of(rows)).variances(cell)
    nothing, little, twice = (unmeasured(truth, rows, dependence) for dependence in (0.0, 0.05, 0.1))
    assert little > 10 * known.unmeasured[0]
    assert 3 < (twice - nothing) / (little - nothing) <= 4.01  # squares


def test_what_rows_guess_of_a_pair_that_nobody_measured_may_be_wrong_by_as_much():
    """The deviation of a cell is what the rows show of it beyond its margins, where nothing else is unknown."""
    truth = table_of(shares(10), NAMES)
    a, b, c = (truth.sum(axis=axes) for axes in ((1, 2), (0, 2), (0, 1)))
    independent = np.einsum("a,b,c->abc", a, b, c)
    shift = np.zeros_like(independent)
    shift[0, :, 1] = shift[1, :, 0] = 0.01 * b
    shift[0, :, 0] = shift[1, :, 1] = -0.01 * b
    plain, guessed = (unmeasured(truth.ravel(), rows.ravel(), 0.0) for rows in (independent, independent + shift))
    assert math.sqrt(guessed - plain) == pytest.approx(0.01, rel=0.05)


def test_hidden_dependence_adds_up_to_what_the_score_allows():
    """A normal number of deviation d is sqrt(2 / pi) d large on average; summed over all cells that is the score."""
    margins = [np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.4])]
    sides = [_direction(margin, ordered=False) for margin in margins]
    cells = np.sqrt(np.diag(_unmeasured(sides, 0.1, np.zeros(6))))
    assert math.sqrt(2 / math.pi) * cells.sum() == pytest.approx(0.1)


def test_an_inverse_by_halves_is_an_inverse():
    lower = np.tril(np.random.default_rng(12).normal(size=(150, 150))) + 20 * np.eye(150)
    assert _inverse_of_lower(lower) @ lower == pytest.approx(np.eye(150), abs=1e-12)


def test_sampling_is_that_of_a_simple_random_sample():
    truth = shares(12)
    yes = (np.array(LEVELS)[:, 1] == 1).astype(float)
    share = float(truth @ yes)
    variances = Calibration(measured_of(truth, 1e-5), records_of(truth)).variances(yes[:, None])
    assert variances.sampling[0] == pytest.approx(share * (1 - share) / 10_000)
