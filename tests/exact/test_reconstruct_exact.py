"""The fast solvers against the dissertation's own matrices on small problems, and what theory says must hold."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import solve_sylvester

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))

from reconstruct_cases import averages, matrices, sketch_of, table

from understudy.reconstruct import (
    CUDIA,
    LUDIA,
    METHODS,
    EcologicalRegression,
    LUDIASingularValues,
    MoorePenrose,
    PrincipalRegression,
    ShrunkenRegression,
)
from understudy.reconstruct.linear import weighted_regression
from understudy.reconstruct.ludia import ludia, ludia_svd, solve_u

LEVELS = [("county",), ("county", "ward")]


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("rank", [1, 2, 4])
def test_the_fast_solution_is_that_of_the_sylvester_and_of_the_kronecker_equation(levels, rank):
    frame, y = table(n=30, groups=4)
    x, a, s = matrices(frame, y, levels)
    rng = np.random.default_rng(rank)
    v_x, pi = rng.standard_normal((x.shape[1], rank)), rng.standard_normal((len(a), rank))
    b, m, held = solve_u(sketch_of(x, a, s), v_x, pi)
    fast = x @ b + a.T @ m
    inner, right = v_x.T @ v_x, x @ v_x + a.T @ pi
    slow = solve_sylvester(a.T @ a, inner, right)
    n = len(x)
    kron = np.kron(inner, np.eye(n)) + np.kron(np.eye(rank), a.T @ a)
    exact = np.linalg.solve(kron, right.T.ravel()).reshape(rank, n).T
    scale = np.abs(exact).max() * np.linalg.cond(kron)
    assert np.abs(fast - slow).max() <= 1e-13 * scale
    assert np.abs(fast - exact).max() <= 1e-13 * scale
    assert np.abs(held - a @ fast).max() <= 1e-13 * scale


def slow_ludia(x, a, s, rank, iterations):
    """Algorithm 2 with the corrected updates, every matrix written out; Kronecker products for Pi."""
    k = a @ a.T
    w = np.linalg.pinv(k)
    u, gamma, vt = np.linalg.svd(np.column_stack([x, a.T @ (w @ s)]), full_matrices=False)
    u, v = u[:, :rank] * np.sqrt(gamma[:rank]), vt[:rank].T * np.sqrt(gamma[:rank])
    v_x, v_y, pi = v[:-1], v[-1:], a @ u
    objective = []
    for _ in range(iterations):
        u = solve_sylvester(a.T @ a, v_x.T @ v_x, x @ v_x + a.T @ pi)
        left = np.eye(rank * len(a)) + np.kron(v_y.T @ v_y, w)
        pi = np.linalg.solve(left, (w @ s @ v_y + a @ u).T.ravel()).reshape(rank, len(a)).T
        v_x = np.linalg.solve(u.T @ u, u.T @ x).T
        v_y = np.linalg.solve(pi.T @ w @ pi, pi.T @ w @ s).T
        gap = s - pi @ v_y.T
        objective.append(float(((x - u @ v_x.T) ** 2).sum() + (gap.T @ w @ gap).item() + ((a @ u - pi) ** 2).sum()))
    y = u @ v_y.T
    return y + np.linalg.pinv(a) @ (s - a @ y), objective


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_whole_algorithm_is_algorithm_2(levels, rank):
    frame, y = table(n=60, groups=6)
    x, a, s = matrices(frame, y, levels)
    sketch = sketch_of(x, a, s)
    found = ludia(sketch, rank=rank, iterations=15)
    fast = x @ found.beta + a.T @ sketch.lift(found.beta)
    slow, objective = slow_ludia(x, a, s, rank, 15)
    assert fast == pytest.approx(slow, abs=1e-7 * np.abs(slow).max())
    assert found.objective == pytest.approx(objective, rel=1e-7, abs=1e-7 * np.trace(sketch.gram))


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("start", ["mp", "er", "random"])
@pytest.mark.parametrize("rank", [1, 2, 4])
def test_the_objective_never_rises(levels, start, rank):
    frame, y = table(n=100, groups=8)
    x, a, s = matrices(frame, y, levels)
    sketch = sketch_of(x, a, s)
    slack = 1e-10 * np.trace(sketch.gram)  # differences of sums of that size
    for history in (
        ludia(sketch, rank=rank, iterations=200, start=start, rng=np.random.default_rng(0), tolerance=0.0).objective,
        ludia_svd(sketch, rank=rank, iterations=200).objective,
    ):
        assert np.diff(history).max() <= slack
        assert history[-1] < history[0]


def test_alternating_svd_is_what_it_says():
    frame, y = table(n=50, groups=6)
    x, a, s = matrices(frame, y, ("county",))
    back = np.linalg.pinv(a)
    guess = back @ s
    for _ in range(7):
        u, gamma, vt = np.linalg.svd(np.column_stack([x, guess]), full_matrices=False)
        f = ((u[:, :2] * gamma[:2]) @ vt[:2])[:, -1:]
        guess = f + back @ (s - a @ f)
    sketch = sketch_of(x, a, s)
    beta = ludia_svd(sketch, rank=2, iterations=7).beta
    assert x @ beta + a.T @ sketch.lift(beta) == pytest.approx(guess, abs=1e-9)


def every_method():
    return [
        MoorePenrose(),
        EcologicalRegression(),
        EcologicalRegression(weights="ols"),
        LUDIA(rank="full"),
        LUDIA(rank=2, start="er", iterations=7),
        LUDIA(rank=1, start="random", seed=3),
        LUDIASingularValues(iterations=100, rank=2),
        PrincipalRegression(),
        ShrunkenRegression(),
    ]


@pytest.mark.parametrize("method", every_method(), ids=lambda m: f"{m.name}-{getattr(m, 'start', '')}")
def test_one_common_slope(method):
    """PRIVACY section 8: every corrected answer is s_g + (x_i - mean of the group) beta, whatever the method."""
    frame, y = table()
    frame = frame.drop(columns="ward")
    result = method.fit(frame, averages(frame, y, "county")).reconstruct()
    x = frame[["x0", "x1", "x2"]].to_numpy()
    codes = frame["county"].to_numpy()
    sizes = np.bincount(codes)

    def within(values):
        return values - (np.bincount(codes, values) / sizes)[codes]

    inner = np.stack([within(column) for column in x.T], axis=1)
    deviation = within(result.values["y"])
    beta = np.linalg.lstsq(inner, deviation, rcond=None)[0]
    assert np.abs(deviation - inner @ beta).max() <= 1e-9 * (1 + np.abs(deviation).max())
    assert np.bincount(codes, result.values["y"]) / sizes == pytest.approx(np.bincount(codes, y) / sizes, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "levels"),
    [(name, levels) for name in METHODS for levels in LEVELS if name != "cudia" or len(levels) == 1],
)
def test_the_aggregates_are_met_to_rounding(name, levels):
    frame, y = table()
    shared = {"cudia": {"seed": 1}, "ludia": {"rank": 2}, "ludia-svd": {"rank": 2, "iterations": 50}}.get(name, {})
    method = METHODS[name](**shared).fit(frame, [averages(frame, y, level) for level in levels])
    result = method.reconstruct()
    for level in levels:
        held = np.bincount(frame[level], result.values["y"]) / np.bincount(frame[level])
        assert held == pytest.approx(np.bincount(frame[level], y) / np.bincount(frame[level]), abs=1e-8)
    assert max(met.largest_gap for met in result.met) < 1e-8


def test_recovery_where_the_model_is_true_and_noise_is_zero():
    frame, y = table(noise=0.0)
    for method in (
        EcologicalRegression(),
        EcologicalRegression(weights="ols", correct=False),
        ShrunkenRegression(penalty=0.0),
    ):
        assert method.fit(frame, averages(frame, y, "county")).reconstruct().values["y"] == pytest.approx(y, abs=1e-8)
    flat = frame["county"].to_numpy() * 1.5 - 2  # everybody has the value of the group
    assert MoorePenrose().fit(frame, averages(frame, flat, "county")).reconstruct().values["y"] == pytest.approx(flat)


def test_random_intercepts_are_the_correction_equation():
    frame, y = table()
    plain = LUDIA(rank=2).fit(frame, averages(frame, y, "county")).reconstruct().values["y"]
    effects = LUDIA(rank=2, effects="intercept", correct=False).fit(frame, averages(frame, y, "county"))
    assert effects.reconstruct().values["y"] == pytest.approx(plain, abs=1e-9)


@pytest.mark.parametrize("ridge", [0.0, 0.7])
def test_random_slopes_solve_the_penalised_problem(ridge):
    frame, y = table(n=80, groups=5)
    model = LUDIA(rank=2, effects="slope", ridge=ridge, correct=False).fit(frame, averages(frame, y, "county"))
    x, codes = model.problem_.matrix, frame["county"].to_numpy()
    effects, sizes = model.effects_["y"], np.bincount(frame["county"])
    a = np.eye(5)[:, codes] / sizes[:, None]
    base = x @ effects.beta + effects.offsets[codes]
    g = np.concatenate([np.eye(5)[codes] * x[:, [k]] for k in range(x.shape[1])], axis=1)
    averaged, gap = a @ g, a @ y - a @ base
    assert (
        np.linalg.matrix_rank(averaged.T @ averaged) == 5 < averaged.shape[1]
    )  # the dissertation's inverse does not exist
    root = np.sqrt(sizes)[:, None]
    left = np.concatenate([root * averaged, np.sqrt(ridge) * np.eye(averaged.shape[1])])
    right = np.concatenate([root[:, 0] * gap, np.zeros(averaged.shape[1])])
    wanted = np.linalg.lstsq(left, right, rcond=None)[0]
    assert effects.gamma.T.ravel() == pytest.approx(wanted, abs=1e-8)


def test_wls_is_generalised_least_squares_and_lift_the_pseudo_inverse():
    frame, y = table(n=90, groups=7)
    x, a, s = matrices(frame, y, ("county", "ward"))
    sketch = sketch_of(x, a, s)
    w = np.linalg.pinv(a @ a.T)
    assert np.linalg.matrix_rank(a @ a.T) == len(a) - 1  # both levels have the whole in common
    exact = np.linalg.lstsq(x.T @ a.T @ w @ a @ x, x.T @ a.T @ w @ s, rcond=None)[0]
    assert weighted_regression(sketch) == pytest.approx(exact, abs=1e-8)
    assert a.T @ sketch.lift(exact) == pytest.approx(np.linalg.pinv(a) @ (s - a @ x @ exact), abs=1e-9)


def test_greedy_cudia_never_rises():
    frame, y = table(n=300, groups=10)
    frame = frame.assign(word=np.where(frame["x0"] > 0, "a", "b"))
    model = CUDIA(version="greedy", clusters=3, seed=1, fallback=False).fit(frame, averages(frame, y, "county"))
    history = np.array(model.models_["y"].history)
    assert len(history) > 2
    assert np.diff(history).max() <= 1e-8 * np.abs(history).max()
