"""How close a synthetic table is: total variation of 1-, 2-, 3- and 5-way tables, a classifier's AUC and coefficients.

The same definitions as those of the independent scorer that lies with the data.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import OneHotEncoder

from benchmarks.utility.tables import Task

__all__ = ["score"]

TRIPLES, FIVES = 64, 60
DENSE = 1 << 22
"""Cells that are counted one by one; in larger tables only those that occur."""
COMMON = 50
"""Real rows of a level whose coefficient is compared."""


def _distance(real: np.ndarray, ours: np.ndarray, sizes: Sequence[int], columns: Sequence[int]) -> float:
    shape = [sizes[column] for column in columns]
    cells = [np.ravel_multi_index([codes[column] for column in columns], shape) for codes in (real, ours)]
    if math.prod(shape) > DENSE:
        _, places = np.unique(np.concatenate(cells), return_inverse=True)
        cells = list(np.split(places, [real.shape[1]]))
    width = max(int(cell.max()) for cell in cells) + 1
    shares = [np.bincount(cell, minlength=width) / len(cell) for cell in cells]
    return 0.5 * float(np.abs(shares[0] - shares[1]).sum())


def score(task: Task, synthetic: pd.DataFrame) -> dict[str, Any]:
    """Smaller is better, but for ``auc`` and ``coefficients``; ``pairs`` holds the error of every pair of columns."""
    names = list(task.train.columns)
    place = {name: {level: i for i, level in enumerate(task.levels[name])} for name in names}
    sizes = [len(task.levels[name]) for name in names]

    def coded(table: pd.DataFrame) -> np.ndarray:
        return np.stack([table[name].map(place[name]).to_numpy() for name in names])

    real, ours = coded(task.train), coded(synthetic)
    triples = list(itertools.combinations(range(len(names)), 3))
    picked = np.random.default_rng(12345).permutation(len(triples))[:TRIPLES]
    rng = np.random.default_rng(777)
    tables: dict[str, list[Sequence[int]]] = {
        "tvd1": [(column,) for column in range(len(names))],
        "tvd2": list(itertools.combinations(range(len(names)), 2)),
        "tvd3": [triples[number] for number in picked],
        "tvd5": [rng.choice(len(names), 5, replace=False) for _ in range(FIVES)] if len(names) >= 5 else [],
    }
    errors = {name: [_distance(real, ours, sizes, columns) for columns in them] for name, them in tables.items()}
    found: dict[str, Any] = {name: float(np.mean(them)) if them else math.nan for name, them in errors.items()}
    found["pairs"] = np.array(errors["tvd2"])
    return found | _classifier(task, real, ours, None if task.test is None else coded(task.test), sizes)


def _classifier(
    task: Task, real: np.ndarray, ours: np.ndarray, kept: np.ndarray | None, sizes: list[int]
) -> dict[str, float]:
    """A logistic regression from synthetic rows: on real rows kept back, and beside one learnt from real rows."""
    target = list(task.train.columns).index(task.target)
    positive = task.levels[task.target].index(task.positive)
    features = [column for column in range(len(sizes)) if column != target]
    encoder = OneHotEncoder(categories=[np.arange(sizes[column]) for column in features]).fit(real[features, :1].T)

    def learnt(codes: np.ndarray) -> LogisticRegression:
        return LogisticRegression(max_iter=300).fit(encoder.transform(codes[features].T), codes[target] == positive)

    if len(set(ours[target] == positive)) < 2:
        return {"auc": 0.5, "coefficients": 0.0}
    model = learnt(ours)
    auc = math.nan
    if kept is not None:
        chances = model.predict_proba(encoder.transform(kept[features].T))[:, 1]
        auc = float(roc_auc_score(kept[target] == positive, chances))
    common = np.asarray(encoder.transform(real[features].T).sum(axis=0)).ravel() >= COMMON
    if common.sum() < 2:
        return {"auc": auc, "coefficients": math.nan}
    pair = np.corrcoef(model.coef_[0][common], _real_coefficients(task, lambda: learnt(real))[common])
    return {"auc": auc, "coefficients": float(pair[0, 1])}


_KEPT: dict[int, np.ndarray] = {}


def _real_coefficients(task: Task, learn: Any) -> np.ndarray:
    """Of the regression on real rows, learnt once for every table."""
    if id(task.train) not in _KEPT:
        _KEPT[id(task.train)] = learn().coef_[0]
    return _KEPT[id(task.train)]
