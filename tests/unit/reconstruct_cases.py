"""Small tables for the reconstruction tests, and the matrices that the room avoids."""

import numpy as np
import pandas as pd

from understudy.reconstruct import Aggregate
from understudy.reconstruct.grams import DenseGram, DiagonalGram
from understudy.reconstruct.sketch import Sketch


def table(seed=1, n=240, groups=12, columns=3, *, noise=0.3, between=1.0):
    """Individuals with distinct group means, and a target linear in the columns."""
    rng = np.random.default_rng(seed)
    county = rng.integers(0, groups, n)
    county[:groups] = np.arange(groups)  # none is empty
    x = rng.standard_normal((n, columns)) + between * rng.standard_normal((groups, columns))[county]
    y = 5 + x @ np.arange(1, columns + 1) + noise * rng.standard_normal(n)
    frame = pd.DataFrame(x, columns=[f"x{k}" for k in range(columns)])
    return frame.assign(county=county, ward=rng.integers(0, 5, n)), y


def averages(frame, y, by, **more):
    means = pd.Series(y).groupby(frame[by].to_numpy()).mean()
    return Aggregate(by=by, target="y", values={str(k): float(v) for k, v in means.items()}, **more)


def matrices(frame, y, levels, *, ones=True):
    """X, A, s as the dissertation writes them, dense."""
    x = frame[[name for name in frame if name.startswith("x")]].to_numpy()
    x = np.column_stack([x, np.ones(len(x))]) if ones else x
    blocks = []
    for name in levels:
        codes = pd.factorize(frame[name], sort=True)[0]
        block = np.eye(codes.max() + 1)[:, codes]
        blocks.append(block / block.sum(axis=1, keepdims=True))
    a = np.concatenate(blocks)
    return x, a, (a @ y)[:, None]


def sketch_of(x, a, s, *, intercept=None):
    k = a @ a.T
    diagonal = np.allclose(k, np.diag(np.diagonal(k)))
    groups = DiagonalGram(np.diagonal(k).copy()) if diagonal else DenseGram(k)
    return Sketch(gram=x.T @ x, means=a @ x, groups=groups, targets=s, intercept=intercept)
