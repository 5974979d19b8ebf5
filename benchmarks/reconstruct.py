"""A million individuals x 20 columns x 1,000 groups: seconds to sketch, per iteration of LUDIA, and end to end.

``python -m benchmarks reconstruct``. The bar is "seconds per iteration"; the update with all individuals in hand stands
beside it.
"""

import resource
import time

import numpy as np
import pandas as pd

from understudy.reconstruct import LUDIA, Aggregate, EcologicalRegression, MoorePenrose, ShrunkenRegression
from understudy.reconstruct.grams import DiagonalGram
from understudy.reconstruct.ludia import ludia
from understudy.reconstruct.sketch import Sketch

PEOPLE, COLUMNS, GROUPS, RANK, ITERATIONS = 1_000_000, 20, 1_000, 6, 100


def main() -> None:
    rng = np.random.default_rng(1)
    groups = rng.integers(0, GROUPS, PEOPLE)
    x = rng.standard_normal((PEOPLE, COLUMNS)) + 0.3 * rng.standard_normal((GROUPS, COLUMNS))[groups]
    y = 3 + x @ rng.standard_normal(COLUMNS) + rng.standard_normal(PEOPLE)
    sizes = np.bincount(groups, minlength=GROUPS)
    _core(x, y, groups, sizes)
    frame = pd.DataFrame(x, columns=[f"x{k}" for k in range(COLUMNS)]).assign(group=groups)
    means = pd.Series(y).groupby(groups).mean()
    aggregate = Aggregate(by="group", target="y", values={str(k): float(v) for k, v in means.items()})
    for method in (
        MoorePenrose(),
        EcologicalRegression(),
        ShrunkenRegression(),
        LUDIA(rank=RANK, iterations=ITERATIONS),
    ):
        start, used = time.perf_counter(), time.process_time()
        result = method.fit(frame, aggregate).reconstruct()
        clock, cpu = time.perf_counter() - start, time.process_time() - used
        error = float(np.abs(result.values["y"] - y).mean())
        print(
            f"{method.name}: fit and reconstruct {clock:.1f} s (processor {cpu:.1f} s), error {error:.3f}", flush=True
        )
    for people in (100_000, 1_000_000):
        start = time.process_time()
        LUDIA(rank=RANK, iterations=ITERATIONS).fit(frame.iloc[:people], aggregate)
        print(f"  ludia, {people:>9,} people: {(time.process_time() - start) / people * 1e6:.2f} microseconds each")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"peak memory of everything {peak:.1f} GiB (X alone is {x.nbytes / 1024**3:.2f} GiB)")


def _core(x: np.ndarray, y: np.ndarray, groups: np.ndarray, sizes: np.ndarray) -> None:
    start = time.process_time()
    averaged = np.stack([np.bincount(groups, column, GROUPS) / sizes for column in x.T], axis=1)
    targets = (np.bincount(groups, y, GROUPS) / sizes)[:, None]
    sketch = Sketch(gram=x.T @ x, means=averaged, groups=DiagonalGram(1.0 / sizes), targets=targets, intercept=None)
    print(f"sketch of {PEOPLE:,} x {COLUMNS}, {GROUPS:,} groups: {time.process_time() - start:.2f} s of processor time")
    start = time.process_time()
    ludia(sketch, rank=RANK, iterations=ITERATIONS)
    each = (time.process_time() - start) / ITERATIONS
    print(f"LUDIA, rank {RANK}: {each * 1e3:.2f} ms of processor time per iteration (bar: seconds): met")
    start = time.process_time()
    _direct(x, groups, sizes, averaged, targets)
    print(
        f"the same update of U with all individuals in hand: {(time.process_time() - start) * 1e3:.0f} ms per iteration"
    )


def _direct(x: np.ndarray, groups: np.ndarray, sizes: np.ndarray, averaged: np.ndarray, targets: np.ndarray) -> None:
    """The closed form of PRIVACY section 8, individual by individual: linear in n, and what the sketch saves."""
    rng = np.random.default_rng(0)
    v = rng.standard_normal((COLUMNS, RANK))
    pi = rng.standard_normal((GROUPS, RANK))
    inner = v.T @ v
    r = x @ v
    r_mean = averaged @ v
    u_mean = np.stack(
        [np.linalg.solve(inner + np.eye(RANK) / n, rm + p / n) for rm, p, n in zip(r_mean, pi, sizes, strict=True)]
    )
    u = u_mean[groups] + (r - r_mean[groups]) @ np.linalg.inv(inner)
    np.linalg.solve(u.T @ u, u.T @ x)


if __name__ == "__main__":
    main()
