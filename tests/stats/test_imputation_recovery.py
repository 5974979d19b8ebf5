"""Imputation learns what is there: known coefficients come back, and filled values have the right law.

z = 6 throughout: one failure in 5e8 for a normal estimate, so that every seed passes.
"""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import softmax
from scipy.stats import chi2

import understudy as us
from understudy.blocks.elastic import Coefficients, Design, Penalty, log_shares, solve
from understudy.blocks.engines import EngineChoice, make_learner
from understudy.blocks.learning import Records
from understudy.blocks.regressions import LinearPredictor, LogisticLearner
from understudy.codebook import Categorical, Codebook, Continuous, Ordinal
from understudy.mechanisms.prediction import draw_predicted
from understudy.mechanisms.stream import Stream
from understudy.sources import EncodedSource, open_source
from understudy.synth.filling import Filling

Z = 6.0
X = Categorical(name="x", levels=("a", "b", "c"))
W = Ordinal(name="w", levels=("1", "2", "3", "4"))
Y = Categorical(name="y", levels=("no", "maybe", "yes"))
EFFECT_X = np.array([[0.0, 0.0, 0.0], [0.0, 0.7, -0.4], [0.0, -0.5, 1.0]])
EFFECT_W = np.array([[0.0, 0.3, -0.6]]) * np.arange(4)[:, None]


def seeded(number):
    return np.random.default_rng(number)


def logistic_records(rows, seed):
    draw = seeded(seed)
    x, w = draw.integers(0, 3, rows), draw.integers(0, 4, rows)
    shares = softmax(np.array([0.2, 0.0, -0.1]) + EFFECT_X[x] + EFFECT_W[w], axis=1)
    y = (shares.cumsum(axis=1) < draw.random((rows, 1))).sum(axis=1)
    columns = tuple(np.asarray(c, dtype=np.uint8) for c in (x, w, y))
    return Records(columns=columns, counts=np.ones(rows))


def true_shares(x, w):
    return softmax(np.array([0.2, 0.0, -0.1]) + EFFECT_X[x] + EFFECT_W[w], axis=1)


def cells():
    grid = np.array([(x, w) for x in range(3) for w in range(4)], dtype=np.uint8)
    return grid[:, 0], grid[:, 1]


BOOK = Codebook(columns=(X, W, Y))


def information(rows):
    """Covariance of the estimated log-odds of every cell, at the truth, for the model y ~ x + w by level."""
    x, w = cells()
    design = np.column_stack([np.ones(12), x == 1, x == 2, w == 1, w == 2, w == 3]).astype(float)
    shares = true_shares(x, w)
    total = np.zeros((12, 12))
    for row, p in zip(design, shares, strict=True):
        middle = np.diag(p[1:]) - np.outer(p[1:], p[1:])
        total += rows / 12 * np.kron(middle, np.outer(row, row))
    inverse = np.linalg.inv(total)
    spread = np.array([np.kron(unit, row) for row in design for unit in np.eye(2)])
    return np.sqrt(np.einsum("ij,jk,ik->i", spread, inverse, spread)).reshape(12, 2)


@pytest.mark.parametrize("seed", range(3))
def test_a_logistic_regression_recovers_its_log_odds(seed):
    rows = 20_000
    records = logistic_records(rows, seed)
    learner = make_learner(BOOK, "y", ("x", "w"), EngineChoice())
    assert isinstance(learner, LogisticLearner)
    learner._penalty = Penalty(strength=1e-7, mixing=0.5)  # its bias is then far below the standard error
    x, w = cells()
    found = learner.fit(records, records.counts, seeded(1)).probabilities([x, w, x])
    odds = np.log(found[:, 1:] / found[:, :1])
    truth = true_shares(x, w)
    error = odds - np.log(truth[:, 1:] / truth[:, :1])
    assert np.abs(error / information(rows)).max() < Z


def test_the_tuned_fit_predicts_nearly_as_well_as_the_truth():
    """Its excess log-loss on fresh data is at most that of the coefficients' number over 2n, several times over."""
    rows = 20_000
    records = logistic_records(rows, 5)
    learner = make_learner(BOOK, "y", ("x", "w"), EngineChoice())
    learner.tune(records, seeded(2))
    x, w = cells()
    found = learner.fit(records, records.counts, seeded(1)).probabilities([x, w, x])
    truth = true_shares(x, w)
    excess = float((truth * np.log(truth / found)).sum(axis=1).mean())
    assert excess < Z * 12 / (2 * rows) + 2e-3  # twelve coefficients; the shrinkage may cost up to 0.2 % of a nat


@pytest.mark.parametrize("penalty", [Penalty(strength=1e-3, mixing=0.9), Penalty(strength=1e-2, mixing=0.1)])
def test_the_solver_ends_at_the_optimum_of_the_elastic_net(penalty):
    """First-order conditions: gradient = -strength (mixing sign(w) + (1 - mixing) w), or within the lasso at zero."""
    records = logistic_records(3000, 8)
    design = Design((X, W))
    places = design.places(records.columns[:2])
    target = records.columns[2].astype(np.int64)
    weights = np.full(3000, 1 / 3000)
    start = Coefficients.zero(design, np.bincount(target) / 3000)
    found = solve(design, places, target, weights, penalty, start=start, most=20_000, close=1e-10)
    shares = np.exp(log_shares(found.constant, found.table(design), places))
    residual = (shares - np.eye(3)[target]) / 3000
    indicators = np.zeros((3000, design.length))
    for place in places.T:
        indicators[np.arange(3000), place] = 1
    assert np.abs(residual.sum(axis=0)).max() < 1e-7
    for gradient, value in (
        (indicators.T @ residual, found.effects),
        (design.scores.T @ (indicators.T @ residual), found.slopes),
    ):
        ridge = penalty.strength * (1 - penalty.mixing) * value
        lasso = penalty.strength * penalty.mixing
        zero = value == 0
        assert np.abs(gradient[zero]).max(initial=0) <= lasso + 1e-7
        assert np.abs((gradient + ridge + lasso * np.sign(value))[~zero]).max(initial=0) < 1e-7


def test_the_solver_agrees_with_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    records = logistic_records(2000, 9)
    design = Design((X, W))
    places = design.places(records.columns[:2])
    features = np.zeros((2000, design.length))
    for place in places.T:
        features[np.arange(2000), place] = 1
    features = np.hstack([features, features @ design.scores])
    target = records.columns[2].astype(np.int64)
    strength = 0.01
    theirs = LogisticRegression(C=1 / (2000 * strength), l1_ratio=0.0, max_iter=10_000, tol=1e-10).fit(features, target)
    start = Coefficients.zero(design, np.bincount(target) / 2000)
    ours = solve(
        design,
        places,
        target,
        np.full(2000, 1 / 2000),
        Penalty(strength=strength, mixing=0.0),
        start=start,
        most=20_000,
        close=1e-10,
    )
    mine = np.exp(log_shares(ours.constant, ours.table(design), places))
    assert np.abs(mine - theirs.predict_proba(features)).max() < 1e-4


NUMBER_EDGES = tuple(Fraction(step, 10) for step in range(-60, 61))


def linear_book():
    return Codebook(
        columns=(
            Categorical(name="g", levels=("a", "b")),
            Continuous(name="x", edges=NUMBER_EDGES, precision=4, clip=True),
            Continuous(name="y", edges=tuple(Fraction(step, 5) for step in range(-60, 91)), precision=4, clip=True),
        )
    )


def linear_table(rows, seed):
    draw = seeded(seed)
    g, x = draw.integers(0, 2, rows), draw.normal(size=rows)
    y = 2 + 1.5 * x + 0.8 * g + draw.normal(scale=1.2, size=rows)
    return pa.table({"g": np.array(["a", "b"])[g], "x": x, "y": y})


def slopes(table):
    g = np.array([value == "b" for value in table["g"].to_pylist()], dtype=float)
    x, y = table["x"].to_numpy(), table["y"].to_numpy()
    design = np.column_stack([np.ones(len(x)), x, g])
    inverse = np.linalg.inv(design.T @ design)
    found = inverse @ design.T @ y
    residual = y - design @ found
    spread = residual @ residual / (len(y) - 3)
    return found, np.sqrt(spread * np.diag(inverse)), math.sqrt(spread)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_a_linear_regression_comes_back_from_a_synthetic_file(seed):
    """One proper file: its estimate has three times the variance of its own (data, parameters, file)."""
    rows = 8000
    book = linear_book()
    recipe = us.Imputation()
    made = recipe.fit(open_source(linear_table(rows, seed), book), stream=Stream.seeded(seed)).sample(rows).table
    found, errors, spread = slopes(made)
    # values are redrawn inside their bins of width h: slopes lose h^2/12 of themselves, variances gain h^2/12
    bias = np.array([0.01, 2 * 1.5 * 0.1**2 / 12, 0.01])
    assert (np.abs(found - np.array([2, 1.5, 0.8])) < Z * math.sqrt(3) * errors + bias).all()
    assert abs(spread - 1.2) < Z * math.sqrt(3) * 1.2 / math.sqrt(2 * rows) + 0.2**2


def test_a_linear_model_predicts_bins_by_the_normal_law():
    book = linear_book()
    source = open_source(linear_table(4000, 3), book)
    records = Records.of(source.count([book.names])[0].open())
    model = make_learner(book, "y", ("g", "x"), EngineChoice()).fit(records, records.counts, seeded(1))
    assert isinstance(model, LinearPredictor)
    columns = [np.array([1], np.uint8), np.array([70], np.uint8), np.array([0], np.uint8)]
    shares = model.probabilities(columns)[0]
    assert shares.sum() == pytest.approx(1)
    middles = (np.array(book.column("y").float_edges)[1:] + np.array(book.column("y").float_edges)[:-1]) / 2
    assert shares @ middles == pytest.approx(model.mean(columns)[0], abs=1e-3)
    spread = math.sqrt(shares @ middles**2 - (shares @ middles) ** 2)
    assert spread == pytest.approx(math.sqrt(model.deviation**2 + 0.2**2 / 12), rel=1e-3)


@pytest.mark.parametrize("alpha", [Fraction(0), Fraction(1, 2)])
def test_draws_follow_the_perturbed_prediction(alpha):
    g = np.array([0.6, 0.3, 0.1, 0.0])
    rows = 40_000
    drawn = draw_predicted(np.tile(g, (rows, 1)), alpha=alpha, stream=Stream.seeded(4))
    expected = rows * (g + float(alpha)) / (1 + 4 * float(alpha))
    tally = np.bincount(drawn, minlength=4)
    kept = expected > 0
    assert tally[~kept].sum() == 0
    statistic = ((tally - expected)[kept] ** 2 / expected[kept]).sum()
    assert statistic < chi2.isf(1e-9, int(kept.sum()) - 1)


def test_bootstrap_weights_have_the_moments_of_the_dirichlet():
    counts = np.array([1.0, 5.0, 94.0])
    records = Records(columns=(np.arange(3, dtype=np.uint8),), counts=counts)
    draws = np.array([records.bootstrapped(seeded(number)) for number in range(2000)])
    assert draws.sum(axis=1) == pytest.approx(100)
    share = counts / 100
    spread = 100 * np.sqrt(share * (1 - share) / 101)
    assert (np.abs(draws.mean(axis=0) - counts) < Z * spread / math.sqrt(2000)).all()
    assert draws.std(axis=0) == pytest.approx(spread, rel=Z / math.sqrt(2 * 2000) + 0.2)


def test_pmi_with_a_tiny_alpha_is_imputation():
    """At alpha near 0 the marginal of a predicted column is that of the data."""
    rows = 20_000
    records = logistic_records(rows, 11)
    source = EncodedSource(codebook=BOOK, columns=records.columns)
    made = us.PMI(alpha=1e-6, sweeps=0).fit(source, stream=Stream.seeded(3)).sample(rows).table
    counts = open_source(made, BOOK).count([["x", "y"]])[0].open().to_grid()
    real = source.count([["x", "y"]])[0].open().to_grid()
    error = np.abs(counts - real) / np.sqrt(2 * np.maximum(real, 1))
    assert error.max() < Z + 2  # the penalty moves a cell by up to two standard errors


def test_filling_recovers_a_mean_that_complete_cases_miss():
    """y is missing mostly where x is large: the complete cases are biased, the filled files are not."""
    rows = 4000
    table = linear_table(rows, 21)
    x, y = table["x"].to_numpy(), table["y"].to_numpy()
    gone = seeded(2).random(rows) < 1 / (1 + np.exp(-2 * x))
    holed = table.set_column(2, "y", pa.array(y, mask=gone))
    edges = linear_book().column("y").edges
    book = Codebook(
        columns=(
            *linear_book().columns[:2],
            Continuous(name="y", edges=edges, precision=4, clip=True, missing="NA"),
        )
    )
    filled = Filling(sweeps=2).fit(us.open(holed, book), stream=Stream.seeded(5)).sample_many(files=5)
    columns = [release.table["y"].to_numpy() for release in filled]
    combined = us.combine([c.mean() for c in columns], [c.var(ddof=1) / rows for c in columns], kind="missing")
    assert abs(combined.estimate - y.mean()) < Z * combined.error
    assert abs(y[~gone].mean() - y.mean()) > Z * combined.error
    for column in columns:
        assert (column[~gone] == y[~gone]).all()
        assert np.unique(column[gone] - columns[0][gone]).size >= 1
    assert not (columns[0] == columns[1]).all()
