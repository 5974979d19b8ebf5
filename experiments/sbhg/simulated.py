"""Tables 1 and 2 and figures 1 to 3: simulated dense and sparse tables, a new one for every repeat."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import understudy as us
from experiments.sbhg.measure import histogram_l1, pegs, privbayes, run, sba, sbhg, two_way_tv
from experiments.sbhg.simulate import DENSE, ROWS, SPARSE, Table, private_floor, simulated
from experiments.sbhg.theory import expected_l1_discrete
from understudy.mechanisms.stability import stability_threshold
from understudy.synth import Recipe

EPSILON, DELTA = 0.5, 1e-4
PAPER_PARENTS = {DENSE: 2, SPARSE: 3}
Point = dict[str, Any]


def summary(values: Iterable[float], refused: Iterable[bool] = ()) -> Point:
    """Mean, standard deviation, and how many runs released nothing."""
    found = list(values)
    return {"mean": float(np.mean(found)), "sd": float(np.std(found, ddof=1)) if len(found) > 1 else 0.0} | {
        "refused": sum(refused),
        "runs": len(found),
    }


def measured(recipe: Recipe, tables: Sequence[Table], *, rows: int | None = None, two_way: bool = False) -> Point:
    """One recipe on every table."""
    outcomes = [run(recipe, table, seed=number, rows=rows) for number, table in enumerate(tables)]
    point = summary((o.l1 for o in outcomes), (o.refused for o in outcomes))
    point["seconds"] = float(np.median([o.seconds for o in outcomes]))
    if two_way:
        found = [two_way_tv(table, o.codes) for table, o in zip(tables, outcomes, strict=True) if not o.refused]
        point["two_way"] = float(np.mean([value for value in found if value is not None])) if found else None
    return point


def recipes(columns: int, epsilon: float, delta: float) -> dict[str, Recipe]:
    """The rows of tables 1 and 2, then ours."""
    parents = PAPER_PARENTS[columns]
    return {
        "empirical sampler": us.Contingency(),
        "Gibbs sampler": us.GibbsSampler(),
        f"hashed Gibbs without noise (R={parents})": us.GibbsSampler(
            parents="mutual-information", parent_count=parents
        ),
        f"SBHG (R={parents})": sbhg(epsilon, delta, parents=parents),
        f"SBHG+EM (R={parents})": sbhg(epsilon, delta, parents=parents, rows=ROWS),
        "SBHG+EM (R=1)": sbhg(epsilon, delta, parents=1, rows=ROWS),
        "sbhg-gauss (R=1)": sbhg(epsilon, delta, parents=1, rows=ROWS, gauss=True),
        "PrivBayes": privbayes(epsilon, ROWS),
        "PeGS (R=1), epsilon of the file": pegs(epsilon, delta),
        "PeGS (R=1), epsilon of a record": pegs(epsilon),
        "independent columns (not private)": us.BayesianBootstrap(),
    }


def dense(*, quick: bool) -> dict[str, Any]:
    """Figure 6 (appendix A): how often each of the 1,000 combinations occurs, and how many occur at all."""
    grids = [simulated(DENSE, seed).counts.to_grid().ravel() for seed in range(2 if quick else 20)]
    return {"counts": grids[0].tolist(), "occupied": [int((grid > 0).sum()) for grid in grids]}


def tables(*, quick: bool) -> dict[str, Any]:
    """Tables 1 and 2, at the paper's budget and at ten times its epsilon."""
    repeats = 2 if quick else 20
    found: dict[str, Any] = {}
    for title, columns in (("dense", DENSE), ("sparse", SPARSE)):
        drawn = [simulated(columns, seed) for seed in range(repeats)]
        for epsilon in (EPSILON, 10 * EPSILON):
            found[f"{title}, epsilon {epsilon:g}"] = {
                name: measured(recipe, drawn, two_way=True) for name, recipe in recipes(columns, epsilon, DELTA).items()
            } | {"floor": {"mean": private_floor(columns, epsilon=epsilon, delta=DELTA)}}
    return found


def figure1(*, quick: bool) -> dict[str, Any]:
    """L1 against epsilon."""
    repeats = 2 if quick else 20
    epsilons = [0.1, 0.5, 1, 5, 10] if quick else [*np.linspace(0.1, 1, 10), *range(2, 11)]
    found: dict[str, Any] = {"epsilons": [round(float(e), 6) for e in epsilons]}
    for title, columns in (("dense", DENSE), ("sparse", SPARSE)):
        drawn = [simulated(columns, seed) for seed in range(repeats)]
        points: dict[str, list[Any]] = {}
        for epsilon in found["epsilons"]:
            for name, point in _against_epsilon(columns, epsilon, drawn).items():
                points.setdefault(name, []).append(point)
        found[title] = points
    return found


def _against_epsilon(columns: int, epsilon: float, drawn: Sequence[Table]) -> dict[str, Any]:
    """SBA is judged by its histogram, as Proposition 2.1 does; the others by as many rows as the table has."""
    parents = PAPER_PARENTS[columns]
    histogram = sba(epsilon, DELTA)
    return {
        "SBA": summary(histogram_l1(histogram, table, seed=seed) for seed, table in enumerate(drawn)),
        "SBA, expected": summary(_expected(table, epsilon) for table in drawn),
        f"SBHG+EM, R={parents}": measured(sbhg(epsilon, DELTA, parents=parents, rows=ROWS), drawn),
        "SBHG+EM, R=1": measured(sbhg(epsilon, DELTA, parents=1, rows=ROWS), drawn),
        "sbhg-gauss, R=1": measured(sbhg(epsilon, DELTA, parents=1, rows=ROWS, gauss=True), drawn),
        "PrivBayes": measured(privbayes(epsilon, ROWS), drawn),
        "floor": private_floor(columns, epsilon=epsilon, delta=DELTA),
    }


def _expected(table: Table, epsilon: float) -> float:
    scale, threshold = stability_threshold(epsilon=epsilon, delta=DELTA, neighbours=us.Neighbours.REPLACE)
    return expected_l1_discrete(table.counts.occupied()[1], scale=float(scale), threshold=threshold)


def figure2(*, quick: bool) -> dict[str, Any]:
    """L1 on the dense table against the number of synthetic rows, counts rescaled to the real size."""
    repeats = 2 if quick else 20
    rows = [1_000, 10_000] if quick else [1_000, 3_000, 10_000, 30_000, 100_000]
    drawn = [simulated(DENSE, seed) for seed in range(repeats)]
    series = {
        "empirical sampler": us.Contingency(),
        "Gibbs sampler": us.GibbsSampler(),
        "SBHG, R=2, epsilon 0.5": sbhg(EPSILON, DELTA, parents=2),
        "SBHG, R=1, epsilon 5": sbhg(5.0, DELTA, parents=1),
        "PrivBayes, epsilon 0.5": privbayes(EPSILON, ROWS),
        "PrivBayes, epsilon 5": privbayes(5.0, ROWS),
    }
    return {"rows": rows} | {
        "series": {name: [measured(recipe, drawn, rows=count) for count in rows] for name, recipe in series.items()}
    }


def figure3(*, quick: bool) -> dict[str, Any]:
    """The sparse table: number of parents, running time, epsilon and delta; parents by raw mutual information."""
    repeats = 2 if quick else 40
    drawn = [simulated(SPARSE, seed) for seed in range(repeats)]
    parents = [1, 3] if quick else list(range(1, 10))
    epsilons = [0.5, 10] if quick else [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50]
    deltas = [1e-4, 0.1] if quick else [1e-4, 1e-3, 1e-2, 1e-1]

    def at(epsilon: float, delta: float, count: int) -> Point:
        return measured(sbhg(epsilon, delta, parents=count), drawn, two_way=True)

    return {
        "parents": parents,
        "epsilons": epsilons,
        "deltas": deltas,
        "by parents": {f"{e:g}": [at(e, 5e-4, count) for count in parents] for e in (0.5, 20)},
        "by epsilon": {f"{count}": [at(e, 5e-4, count) for e in epsilons] for count in (1, 3)},
        "by delta": {f"{e:g}": [at(e, d, 1) for d in deltas] for e in (0.5, 5)},
        "baselines": {
            "empirical sampler": measured(us.Contingency(), drawn, two_way=True),
            "Gibbs sampler": measured(us.GibbsSampler(), drawn, two_way=True),
        },
    }
