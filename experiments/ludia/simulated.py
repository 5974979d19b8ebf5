"""Figures 4.4 and 4.5, the reference errors, what iterations do, many groups, and CUDIA."""

from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.ludia.simulate import KINDS, Drawn, Floats, draw, draw_clusters
from understudy.reconstruct.cudia import greedy, mcem, memberships
from understudy.reconstruct.heldout import choose
from understudy.reconstruct.linear import principal_regression, shrunken_regression, weighted_regression
from understudy.reconstruct.ludia import ludia, ludia_svd, rank_of
from understudy.reconstruct.mixture import People

PENALTIES = [float(p) for p in 10.0 ** np.arange(2, -6.1, -0.5)]


def _corrected(ones: bool, slopes: Callable[[Any], Floats]) -> Callable[[Drawn], Floats]:
    def answer(drawn: Drawn) -> Floats:
        x, sketch = drawn.sketch(ones=ones)
        return drawn.corrected(x, sketch, slopes(sketch))

    return answer


def _er(drawn: Drawn) -> Floats:
    x, sketch = drawn.sketch(ones=True)
    found: Floats = (x @ weighted_regression(sketch, weights="ols"))[:, 0]
    return found


def _shrunken(sketch: Any) -> Floats:
    penalty, _ = choose(sketch, PENALTIES, lambda part, p: shrunken_regression(part, penalty=p))
    return shrunken_regression(sketch, penalty=penalty)


def _pc(sketch: Any) -> Floats:
    return principal_regression(sketch, rank=min(2, sketch.columns - 1))


METHODS: dict[str, Callable[[Drawn], Floats]] = {
    "MP": _corrected(True, lambda sketch: np.zeros((sketch.columns, 1))),
    "ER": _er,
    "WLS-ER, corrected": _corrected(True, weighted_regression),
    "LUDIA, +1 column, 100 it.": _corrected(True, lambda s: ludia(s, rank=rank_of(s), iterations=100).beta),
    "LUDIA, r = 2, 100 it.": _corrected(False, lambda s: ludia(s, rank=2, iterations=100).beta),
    "LUDIA-SVD, r = 2": _corrected(False, lambda s: ludia_svd(s, rank=2, iterations=1000).beta),
    "PC-ER, r = 2": _corrected(True, _pc),
    "shrunken (ours)": _corrected(True, _shrunken),
}
REFERENCE: dict[tuple[str, int, str], float] = {
    ("LR", 5, "MP"): 0.956, ("LR", 200, "MP"): 1.108,
    ("FE", 5, "MP"): 0.883, ("FE", 200, "MP"): 0.961,
    ("RE1", 5, "MP"): 0.771, ("RE1", 200, "MP"): 0.898,
    ("RE2", 5, "MP"): 0.917, ("RE2", 200, "MP"): 1.00,
    ("FE", 5, "ER"): 0.210, ("FE", 200, "ER"): 0.252,
    ("RE1", 5, "ER"): 0.389, ("RE1", 200, "ER"): 2.06,
    ("RE2", 5, "ER"): 0.326, ("RE2", 200, "ER"): 0.371,
    ("FE", 5, "WLS-ER, corrected"): 0.201, ("FE", 200, "WLS-ER, corrected"): 0.251,
    ("RE1", 5, "WLS-ER, corrected"): 0.367, ("RE1", 200, "WLS-ER, corrected"): 2.00,
    ("RE2", 5, "WLS-ER, corrected"): 0.311, ("RE2", 200, "WLS-ER, corrected"): 0.370,
    ("FE", 5, "LUDIA, +1 column, 100 it."): 0.232, ("FE", 200, "LUDIA, +1 column, 100 it."): 0.910,
    ("RE1", 5, "LUDIA, +1 column, 100 it."): 0.478, ("RE1", 200, "LUDIA, +1 column, 100 it."): 0.877,
    ("RE2", 5, "LUDIA, +1 column, 100 it."): 0.360, ("RE2", 200, "LUDIA, +1 column, 100 it."): 0.955,
    ("LR", 5, "LUDIA, r = 2, 100 it."): 0.679, ("LR", 200, "LUDIA, r = 2, 100 it."): 1.00,
    ("LR", 10, "LUDIA, r = 2, 100 it."): 0.820, ("LR", 50, "LUDIA, r = 2, 100 it."): 0.845,
    ("LR", 10, "LUDIA-SVD, r = 2"): 0.662, ("LR", 50, "LUDIA-SVD, r = 2"): 0.601,
    ("LR", 200, "LUDIA-SVD, r = 2"): 0.579,
    ("LR", 10, "PC-ER, r = 2"): 0.533, ("LR", 50, "PC-ER, r = 2"): 0.610, ("LR", 200, "PC-ER, r = 2"): 0.618,
}  # fmt: skip
"""Mean absolute errors that PRIVACY section 8 gives, each over 40 or 100 replicates of its own."""


def errors(*, quick: bool) -> dict[str, Any]:
    """Figure 4.4: mean absolute error against people per group, five groups."""
    repeats = 3 if quick else 40
    sizes = (5, 10, 50) if quick else (5, 10, 25, 50, 100, 200)
    found: dict[str, Any] = {"sizes": list(sizes), "repeats": repeats, "kinds": {}}
    for number, kind in enumerate(KINDS):
        rows: dict[str, list[Any]] = {name: [] for name in METHODS}
        for size in sizes:
            rng = np.random.default_rng([7, number, size])
            each: dict[str, list[float]] = {name: [] for name in METHODS}
            for _ in range(repeats):
                drawn = draw(kind, size, rng)
                for name, method in METHODS.items():
                    each[name].append(float(np.abs(method(drawn) - drawn.y).mean()))
            for name, values in each.items():
                rows[name].append(
                    {
                        "mean": float(np.mean(values)),
                        "median": float(np.median(values)),
                        "se": float(np.std(values, ddof=1) / np.sqrt(repeats)),
                    }
                )
        found["kinds"][kind] = rows
    return found


def starts(*, quick: bool) -> dict[str, Any]:
    """Figure 4.5: reconstructed against original on RE1, 50 people per group, by start."""
    rng = np.random.default_rng(45)
    drawn = draw("RE1", 50, rng)
    x, sketch = drawn.sketch(ones=True)
    rank = rank_of(sketch)
    answers = {"MP": METHODS["MP"](drawn), "ER": METHODS["ER"](drawn)}
    for start in ("mp", "er", "random"):
        beta = ludia(sketch, rank=rank, iterations=100, start=start, rng=np.random.default_rng(1)).beta
        answers[f"LUDIA from {start}"] = drawn.corrected(x, sketch, beta)
    answers["shrunken (ours)"] = METHODS["shrunken (ours)"](drawn)
    over = {name: [] for name in answers}
    for _ in range(3 if quick else 40):
        again = draw("RE1", 50, rng)
        x, sketch = again.sketch(ones=True)
        over["MP"].append(METHODS["MP"](again) - again.y)
        over["ER"].append(METHODS["ER"](again) - again.y)
        over["shrunken (ours)"].append(METHODS["shrunken (ours)"](again) - again.y)
        for start in ("mp", "er", "random"):
            beta = ludia(sketch, rank=rank, iterations=100, start=start, rng=rng).beta
            over[f"LUDIA from {start}"].append(again.corrected(x, sketch, beta) - again.y)
    return {
        "original": drawn.y.tolist(),
        "answers": {name: values.tolist() for name, values in answers.items()},
        "mae": {name: [float(np.abs(gap).mean()) for gap in gaps] for name, gaps in over.items()},
    }


def iterations(*, quick: bool) -> dict[str, Any]:
    """What the number of iterations does to LUDIA, FE with 50 people per group; and many groups (p = 50, 20 each)."""
    steps = (20, 100) if quick else (20, 100, 1000, 5000)
    repeats = 3 if quick else 40
    found: dict[str, Any] = {"steps": {}, "many": {}}
    for count in steps:
        rng = np.random.default_rng(7)
        values = []
        for _ in range(repeats):
            drawn = draw("FE", 50, rng)
            x, sketch = drawn.sketch(ones=True)
            beta = ludia(sketch, rank=3, iterations=count).beta
            values.append(float(np.abs(drawn.corrected(x, sketch, beta) - drawn.y).mean()))
        found["steps"][str(count)] = {"mean": float(np.mean(values)), "se": float(np.std(values) / np.sqrt(repeats))}
    for kind in KINDS:
        rng = np.random.default_rng(50)
        each: dict[str, list[float]] = {}
        for _ in range(repeats):
            drawn = draw(kind, 20, rng, groups=50)
            for name in ("MP", "WLS-ER, corrected", "LUDIA, +1 column, 100 it.", "PC-ER, r = 2", "shrunken (ours)"):
                each.setdefault(name, []).append(float(np.abs(METHODS[name](drawn) - drawn.y).mean()))
        found["many"][kind] = {name: float(np.mean(values)) for name, values in each.items()}
    return found


def clusters(*, quick: bool) -> dict[str, Any]:
    """CUDIA's own simulation: K = 3, 40 groups of 100."""
    rows = []
    for seed in range(1 if quick else 5):
        drawn = draw_clusters(np.random.default_rng(seed), groups=20 if quick else 40)
        p = int(drawn.groups.max()) + 1
        sizes = np.bincount(drawn.groups)
        means = np.bincount(drawn.groups, drawn.y) / sizes
        people = People(numbers=drawn.x, words=(), sizes=())
        shared = {"clusters": 3, "iterations": 10 if quick else 40, "ridge": 1e-3}
        row: dict[str, Any] = {
            "groups": p,
            "MP": float(np.abs(means[drawn.groups] - drawn.y).mean()),
            "oracle": float(np.abs(drawn.eta[drawn.z] - drawn.y).mean()),
        }
        for name, fitted in (
            ("MCEM", mcem(people, drawn.groups, means, sweeps=5, rng=np.random.default_rng(1), **shared)),
            ("greedy", greedy(people, drawn.groups, means, rng=np.random.default_rng(1), **shared)),
        ):
            guess = memberships(fitted, people, drawn.groups) @ fitted.eta
            row[name] = {
                "mae": float(np.abs(guess - drawn.y).mean()),
                "eta": sorted(float(v) for v in fitted.eta),
                "accepted": fitted.accepted,
                "T": fitted.spread,
            }
        rows.append(row)
    return {"rows": rows}
