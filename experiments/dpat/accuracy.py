"""AUROC on random halves, for every method and epsilon."""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.dpat.data import Task, load
from understudy.evaluate.utility.dummies import auc
from understudy.mechanisms.leaf_answers import neighbouring_means
from understudy.mechanisms.stream import Stream
from understudy.trees.scorers import LocalNoiseForest
from understudy.trees.train import make_training

__all__ = ["CALLS", "EPSILONS", "accuracy", "local_scores", "peers"]

EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
CALLS = (1, 100, 10_000)
Values = npt.NDArray[np.float64]

ONE_SHOT = {
    "forest": lambda epsilon: make_training("forest", epsilon=epsilon),
    "tree": lambda epsilon: make_training("tree", epsilon=epsilon),
    "bag": lambda epsilon: make_training("bag", epsilon=epsilon, trees=5),
}


def auroc(task: Task, test: npt.NDArray[np.intp], score: Values) -> float:
    label = task.label[test]
    return auc(score, (label == 1).astype(float), (label == 0).astype(float))


def accuracy(name: str, *, quick: bool) -> dict[str, Any]:
    """Scores by method and epsilon: mean and standard deviation over the halves, as the chapter's error bars."""
    task = load(name)
    repeats = 3 if quick else 30
    halves = task.halves(repeats)
    stream = Stream.seeded(8)  # a simulation on public data
    found: dict[str, Any] = {"repeats": repeats, "rows": len(task.label), "positive": float(task.label.mean())}
    found["plain"] = {key: _summary(values) for key, values in _plain(task, halves).items()}
    curves: dict[str, dict[str, Any]] = {}
    for epsilon in EPSILONS:
        for method, make in ONE_SHOT.items():
            scores, brier, width = [], [], []
            for train, test in halves:
                grown = make(epsilon).grow(task.cells(train), task.fine, stream)
                middle, low, high = grown.scorer.score(task.codes[test])
                scores.append(auroc(task, test, middle))
                brier.append(float(np.mean((middle - task.label[test]) ** 2)))
                width.append(float(np.mean(high - low)))
            kept = _summary(scores) | {"brier": float(np.mean(brier)), "band": float(np.mean(width))}
            curves.setdefault(method, {})[str(epsilon)] = kept
    for method in ("dpat", "edpat"):
        models = [
            make_training(method, call_epsilon=1.0).grow(task.cells(train, coarse=True), task.coarse, stream).scorer
            for train, _ in halves
        ]
        for calls in CALLS:
            label = f"{method}, {calls:,} calls" if calls > 1 else method
            for epsilon in EPSILONS:
                scores = [
                    auroc(task, test, local_scores(model, task.coarse_codes[test], epsilon / calls, seed=number))
                    for number, (model, (_, test)) in enumerate(zip(models, halves, strict=True))
                ]
                curves.setdefault(label, {})[str(epsilon)] = _summary(scores)
    found["curves"] = curves
    return found


def local_scores(model: Any, codes: npt.NDArray[np.uint8], epsilon: float, *, seed: int) -> Values:
    """What DPaT and EDPaT answer to every row, all at once (the same law as one call after the other)."""
    assert isinstance(model, LocalNoiseForest)
    share, span = np.zeros(len(codes)), np.zeros(len(codes))
    for tree, counts in zip(model.trees, model.counts.open(), strict=True):
        shares = np.array([pair[1] / pair.sum() if pair.sum() else 0.5 for pair in counts])
        spans = np.array([np.subtract(*neighbouring_means(int(pair[0]), int(pair[1]))) for pair in counts])
        leaf = tree.leaf_of(codes)
        share += shares[leaf] / len(model.trees)
        span += spans[leaf] / len(model.trees)
    generator = np.random.default_rng(seed)
    return np.clip(share + generator.laplace(0.0, 1.0, len(codes)) * span / epsilon, 0.0, 1.0)


def _plain(task: Task, halves: list[Any]) -> dict[str, list[float]]:
    from sklearn.linear_model import LogisticRegression

    stream = Stream.seeded(1)
    found: dict[str, list[float]] = {"C4.5 (alpha = 1)": [], "C4.5, binary features": [], "logistic regression": []}
    for train, test in halves:
        fine = make_training("alpha-tree", min_records=40, depth=5).grow(task.cells(train), task.fine, stream)
        found["C4.5 (alpha = 1)"].append(auroc(task, test, fine.scorer.score(task.codes[test])[0]))
        coarse = make_training("alpha-tree", min_records=20).grow(task.cells(train, coarse=True), task.coarse, stream)
        found["C4.5, binary features"].append(auroc(task, test, coarse.scorer.score(task.coarse_codes[test])[0]))
        filled = np.where(np.isnan(task.raw), np.nanmean(task.raw[train], axis=0), task.raw)
        centre, spread = filled[train].mean(axis=0), filled[train].std(axis=0)
        fitted = LogisticRegression(max_iter=1000).fit((filled[train] - centre) / spread, task.label[train])
        score = fitted.predict_proba((filled[test] - centre) / spread)[:, 1]
        found["logistic regression"].append(auroc(task, test, score))
    return found


def peers(*, quick: bool) -> dict[str, Any]:
    """diffprivlib's five on both tables."""
    found = {}
    for name in ("pima", "mimic"):
        task = load(name)
        found[name] = _peers(task, task.halves(2 if quick else 30), quick=quick)
    return found


def _peers(task: Task, halves: list[Any], *, quick: bool) -> dict[str, Any]:
    """In its own interpreter; the best of the five at each epsilon, chosen by its test score.

    It gets the range of the data itself as its bounds, which no private fit may have.
    """
    interpreter = os.environ.get("UNDERSTUDY_DIFFPRIVLIB")
    if not interpreter:
        return {"skipped": "UNDERSTUDY_DIFFPRIVLIB names no interpreter with diffprivlib"}
    epsilons = EPSILONS[:1] if quick else EPSILONS
    values = np.where(np.isnan(task.raw), np.nanmean(task.raw, axis=0), task.raw)
    ends = np.stack([values.min(axis=0), values.max(axis=0)], axis=1)
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "in.npz", Path(folder) / "out.json"
        pairs = np.array([np.stack([train, test]) for train, test in halves])
        np.savez(given, raw=values, label=task.label, ends=ends, halves=pairs, epsilons=np.array(epsilons))
        script = Path(__file__).with_name("peer.py")
        subprocess.run([interpreter, str(script), str(given), str(made)], check=True, timeout=3600)
        found = json.loads(made.read_text(encoding="utf-8"))
    all_of = {name: {epsilon: _summary(scores) for epsilon, scores in by.items()} for name, by in found.items()}
    best = {
        str(epsilon): max((by[str(epsilon)] for by in all_of.values()), key=lambda one: one["mean"])
        for epsilon in epsilons
    }
    return {"all": all_of, "best": best}


def _summary(values: list[float]) -> dict[str, float]:
    return {"mean": float(np.mean(values)), "deviation": float(np.std(values, ddof=1) if len(values) > 1 else 0.0)}
