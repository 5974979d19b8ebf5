"""The chapter's two case studies, played.

5.0.2: Bob knows every training record but Dave's diagnosis, and asks the model about Dave. He simulates both worlds and
says which one fits the answer better. Against a plain tree that is certain; against the forest it is bounded.
5.0.1: Bob sees Alice's score and tries inputs until he meets it. That is no leak of the training data, and training
privacy does not stop it; what helps is to show less of the score.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.dpat.data import Task, load
from understudy.evaluate.risk.intervals import wilson
from understudy.mechanisms.stream import Stream
from understudy.trees.forest import grow_forest
from understudy.trees.train import Forest, ScoreMethod, make_training

__all__ = ["inversion", "membership"]

Values = npt.NDArray[np.float64]


def _loneliest(task: Task, count: int) -> npt.NDArray[np.intp]:
    """People without a twin in the table: Dave "is the only one who has similar conditions"."""
    _, inverse, counts = np.unique(task.codes, axis=0, return_inverse=True, return_counts=True)
    alone = np.flatnonzero(counts[inverse.ravel()] == 1)
    return np.random.default_rng(3).permutation(alone)[:count]


def membership(*, quick: bool) -> dict[str, Any]:
    """Share of right guesses at Dave's diagnosis; 0.5 is a coin."""
    task = load("pima")
    daves = _loneliest(task, 6 if quick else 60)
    stream = Stream.seeded(9)
    found: dict[str, Any] = {}
    trials = 1 if quick else 4
    methods = {
        "plain tree (C4.5)": (make_training("alpha-tree", min_records=2), None),
        "forest, epsilon 0.1": (make_training("forest", epsilon=0.1), 0.1),
        "forest, epsilon 1": (make_training("forest", epsilon=1.0), 1.0),
        "forest, epsilon 10": (make_training("forest", epsilon=10.0), 10.0),
    }
    for name, (training, epsilon) in methods.items():
        right = 0.0
        asked = 0
        for dave in daves:
            others = np.delete(np.arange(len(task.label)), dave)
            repeats = 1 if epsilon is None else (4 if quick else 12)
            worlds = [[_asked(task, others, dave, label, training, stream) for _ in range(repeats)] for label in (0, 1)]
            for _ in range(1 if epsilon is None else trials):
                truth = int(task.label[dave])
                answer = _asked(task, others, dave, truth, training, stream)
                right += _guess(answer, worlds, truth)
                asked += 1
        rate = wilson(right, asked)
        # flipping a label is a removal and an addition: at most 2 epsilon, hence this share of right guesses
        most = None if epsilon is None else 1 / (1 + math.exp(-2 * epsilon))
        found[name] = {"right": rate.value, "low": rate.low, "high": rate.high, "trials": asked, "bound": most}
    return found


def _asked(
    task: Task, others: npt.NDArray[np.intp], dave: int, label: int, training: ScoreMethod, stream: Stream
) -> float:
    """Train on everybody with Dave's diagnosis set to ``label``, and ask about Dave."""
    from dataclasses import replace

    world = task.label.copy()
    world[dave] = label
    changed = replace(task, label=world)
    cells = changed.cells(np.append(others, dave))
    if isinstance(training, Forest):  # the band is not needed, and is most of the work
        forest, _ = grow_forest(cells, task.fine, epsilon=training.epsilon, stream=stream, replicates=0)
        return float(forest.score(task.codes[dave : dave + 1])[0][0])
    grown = training.grow(cells, task.fine, stream)
    return float(grown.scorer.score(task.codes[dave : dave + 1])[0][0])


def _guess(answer: float, worlds: list[list[float]], truth: int) -> float:
    """1, 0, or 1/2 for a tie: the world whose simulated answers lie nearer on average (in log-odds)."""

    def odds(value: float) -> float:
        return math.log(value / (1 - value))

    apart = [abs(odds(answer) - float(np.mean([odds(value) for value in world]))) for world in worlds]
    if math.isclose(apart[0], apart[1], abs_tol=1e-12):
        return 0.5
    return float((apart[1] < apart[0]) == bool(truth))


def inversion(*, quick: bool) -> dict[str, Any]:
    """How sure Bob is of Alice's glucose band after seeing her score, knowing age, pregnancies and pedigree."""
    task = load("pima")
    stream = Stream.seeded(10)
    everybody = np.arange(len(task.label))
    forest = make_training("forest", epsilon=1.0).grow(task.cells(everybody), task.fine, stream).scorer
    calls = (
        make_training("per-call-tree", epsilon=1.0, call_epsilon=0.5)
        .grow(task.cells(everybody), task.fine, stream)
        .scorer
    )
    known = [0, 6, 7]
    hidden = [place for place in range(8) if place not in known]
    glucose = 1
    sizes = [task.fine[place].column.proper_levels for place in hidden]
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*(np.arange(size) for size in sizes), indexing="ij")], axis=1)
    people = np.flatnonzero((task.codes[:, hidden] < np.array(sizes)).all(axis=1))  # nothing missing
    people = np.random.default_rng(4).permutation(people)[: 5 if quick else 60]
    shown = {
        "every digit": lambda p: p,
        "whole percent": lambda p: np.round(p, 2),
        "five bands": lambda p: np.floor(p * 5),
    }
    found: dict[str, Any] = {}
    chance = float(np.mean([1 / sizes[hidden.index(glucose)]]))
    for name, cut in shown.items():
        sure, left = [], []
        for person in people:
            tries = np.repeat(task.codes[person : person + 1], len(grid), axis=0)
            tries[:, hidden] = grid
            scores = forest.score(tries)[0]
            same = cut(scores) == cut(forest.score(task.codes[person : person + 1])[0])[0]
            sure.append(float((tries[same, glucose] == task.codes[person, glucose]).mean()))
            left.append(int(same.sum()))
        found[name] = {"sure": float(np.mean(sure)), "left": float(np.median(left)), "of": len(grid)}
    found["per-call noise, epsilon 0.5"] = _inverted_calls(task, calls, people, grid, hidden, glucose, stream)
    return found | {"knowing nothing": {"sure": chance, "left": float(len(grid)), "of": len(grid)}}


def _inverted_calls(
    task: Task,
    calls: Any,
    people: npt.NDArray[np.intp],
    grid: npt.NDArray[Any],
    hidden: list[int],
    glucose: int,
    stream: Stream,
) -> dict[str, float]:
    """Bob's best guess with one noisy answer: each leaf is weighed by its likelihood."""
    (tree,), (counts,) = calls.trees, calls.counts.open()
    scale = float(calls.scale)
    sure = []
    for person in people:
        tries = np.repeat(task.codes[person : person + 1], len(grid), axis=0)
        tries[:, hidden] = grid
        leaf = tree.leaf_of(tries)
        own = counts[tree.leaf_of(task.codes[person : person + 1])[0]]
        generator = np.random.default_rng(int(person))
        noisy = own + np.rint(generator.laplace(0.0, scale, 2))
        weight = np.exp(-np.abs(noisy - counts).sum(axis=1) / scale)[leaf]  # even were the two counts shown
        sure.append(float(weight[tries[:, glucose] == task.codes[person, glucose]].sum() / weight.sum()))
    return {"sure": float(np.mean(sure)), "left": float(len(grid)), "of": len(grid)}
