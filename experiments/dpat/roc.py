"""ROC curves at epsilon 1, averaged over the halves (figures 5.6 b and 5.7 b)."""

from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.dpat.accuracy import local_scores
from experiments.dpat.data import Absent, load
from understudy.mechanisms.stream import Stream
from understudy.trees.train import make_training

__all__ = ["roc"]

GRID = np.linspace(0.0, 1.0, 26)
Values = npt.NDArray[np.float64]


def _curve(score: Values, label: npt.NDArray[np.intp]) -> Values:
    """Share of positives found at each share of false alarms; ties are walked through in a straight line."""
    values = np.unique(score)[::-1]
    found = np.array([[(score[label == kind] >= value).mean() for value in values] for kind in (0, 1)])
    return np.interp(GRID, np.append(0.0, found[0]), np.append(0.0, found[1]))


def roc(*, quick: bool) -> dict[str, Any]:
    """Mean curves of the forest, EDPaT, DPaT (one call at epsilon 1) and the plain tree."""
    found: dict[str, Any] = {}
    for name in ("pima", "mimic"):
        try:
            task = load(name)
        except Absent:
            continue
        stream = Stream.seeded(21)
        curves: dict[str, list[Values]] = {"forest": [], "edpat": [], "dpat": [], "C4.5": []}
        for number, (train, test) in enumerate(task.halves(2 if quick else 30)):
            label = task.label[test]
            forest = make_training("forest", epsilon=1.0).grow(task.cells(train), task.fine, stream)
            curves["forest"].append(_curve(forest.scorer.score(task.codes[test])[0], label))
            plain = make_training("alpha-tree", min_records=40, depth=5)
            tree = plain.grow(task.cells(train), task.fine, stream)
            curves["C4.5"].append(_curve(tree.scorer.score(task.codes[test])[0], label))
            for method in ("edpat", "dpat"):
                training = make_training(method, call_epsilon=1.0)
                model = training.grow(task.cells(train, coarse=True), task.coarse, stream).scorer
                score = local_scores(model, task.coarse_codes[test], 1.0, seed=number)
                curves[method].append(_curve(score, label))
        found[name] = {label: np.mean(many, axis=0).round(4).tolist() for label, many in curves.items()}
    return found or {"skipped": "no table is there"}
