"""How close a synthetic table is: total variation of all 1-, 2- and 64 fixed 3-way tables, and a classifier's AUC.

The same definitions as those of the independent scorer that lies with the data.
"""

import itertools

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import OneHotEncoder

from benchmarks.utility.tables import Task

__all__ = ["score"]

TRIPLES = 64


def _shares(codes: np.ndarray, sizes: list[int], columns: tuple[int, ...]) -> np.ndarray:
    cell = np.ravel_multi_index([codes[column] for column in columns], [sizes[column] for column in columns])
    return np.bincount(cell, minlength=int(np.prod([sizes[column] for column in columns]))) / codes.shape[1]


def score(task: Task, synthetic: pd.DataFrame) -> dict[str, float]:
    """Smaller is better, but for ``auc``."""
    names = list(task.train.columns)
    place = {name: {level: i for i, level in enumerate(task.levels[name])} for name in names}
    sizes = [len(task.levels[name]) for name in names]
    real, ours, kept = (
        np.stack([table[name].map(place[name]).to_numpy() for name in names])
        for table in (task.train, synthetic, task.test)
    )
    triples = list(itertools.combinations(range(len(names)), 3))
    picked = np.random.default_rng(12345).permutation(len(triples))[:TRIPLES]
    tables = {
        "tvd1": [(column,) for column in range(len(names))],
        "tvd2": list(itertools.combinations(range(len(names)), 2)),
        "tvd3": [triples[number] for number in picked],
    }
    found = {
        name: float(np.mean([0.5 * np.abs(_shares(real, sizes, c) - _shares(ours, sizes, c)).sum() for c in columns]))
        for name, columns in tables.items()
    }
    target = names.index(task.target)
    positive = task.levels[task.target].index(task.positive)
    features = [column for column in range(len(names)) if column != target]
    encoder = OneHotEncoder(categories=[np.arange(sizes[column]) for column in features])
    encoder.fit(real[features].T)
    answers = ours[target] == positive
    found["auc"] = 0.5
    if 0 < answers.sum() < len(answers):
        model = LogisticRegression(max_iter=300).fit(encoder.transform(ours[features].T), answers)
        found["auc"] = float(
            roc_auc_score(kept[target] == positive, model.predict_proba(encoder.transform(kept[features].T))[:, 1])
        )
    return found
