"""Figures 4 and 5: error and classification accuracy on real tables against epsilon, delta = 1e-6."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from experiments.sbhg.measure import ADD_REMOVE, histogram_l1, privbayes, run, sba, sbhg, two_way_tv
from experiments.sbhg.real_data import TASKS, Absent, Task
from experiments.sbhg.simulated import summary
from understudy.synth import Recipe

DELTA = 1e-6
EPSILONS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)

METHODS: dict[str, Callable[[float, int], Recipe]] = {
    "SBA": lambda epsilon, rows: sba(epsilon, DELTA),
    "SBHG, R=1": lambda epsilon, rows: sbhg(epsilon, DELTA, parents=1),
    "SBHG, R=2": lambda epsilon, rows: sbhg(epsilon, DELTA, parents=2),
    "SBHG+EM, R=1": lambda epsilon, rows: sbhg(epsilon, DELTA, parents=1, rows=rows),
    "SBHG+EM, R=2": lambda epsilon, rows: sbhg(epsilon, DELTA, parents=2, rows=rows),
    "sbhg-gauss, R=1": lambda epsilon, rows: sbhg(epsilon, DELTA, parents=1, rows=rows, gauss=True),
    "sbhg-gauss, R=2": lambda epsilon, rows: sbhg(epsilon, DELTA, parents=2, rows=rows, gauss=True),
    "PrivBayes": privbayes,
    "SBHG+EM, R=1, add-remove": lambda epsilon, rows: sbhg(epsilon, DELTA, parents=1, rows=rows, neighbours=ADD_REMOVE),
    "sbhg-gauss, R=1, add-remove": lambda epsilon, rows: sbhg(
        epsilon, DELTA, parents=1, rows=rows, gauss=True, neighbours=ADD_REMOVE
    ),
    "PrivBayes, add-remove": lambda epsilon, rows: privbayes(epsilon, rows, neighbours=ADD_REMOVE),
}
"""Replace-one as in the paper, and three of them under the software's default."""


def real(*, quick: bool) -> dict[str, Any]:
    """Every data set that is there; others are skipped by name."""
    found: dict[str, Any] = {}
    for title, load in TASKS.items():
        try:
            found[title] = measured_task(
                load(), METHODS, epsilons=(0.2, 1.6) if quick else EPSILONS, repeats=1 if quick else 10
            )
        except Absent as reason:
            print(f"skipped {title}: {reason}")
            found[title] = {"skipped": str(reason)}
    return found


def measured_task(task: Task, methods: Iterable[str], *, epsilons: Sequence[float], repeats: int) -> dict[str, Any]:
    """What the table is, and every method at every epsilon."""
    book = task.table.source.codebook
    return {
        "rows": task.table.rows,
        "held out": len(task.test[0]),
        "columns": len(book.names),
        "combinations": float(book.cells),
        "occupied": len(task.table.counts.occupied()[1]),
        "target": task.target,
        "real accuracy": task.accuracy(),
        "majority": task.majority,
        "epsilons": list(epsilons),
        "series": {
            name: [_point(METHODS[name](epsilon, task.table.rows), task, repeats) for epsilon in epsilons]
            for name in methods
        },
    }


def _point(recipe: Recipe, task: Task, repeats: int) -> dict[str, Any]:
    """SBA's L1 is that of its histogram; all else is measured on as many rows as the table has."""
    outcomes = [run(recipe, task.table, seed=seed) for seed in range(repeats)]
    errors = [outcome.l1 for outcome in outcomes]
    if recipe.name == "sba":
        errors = [histogram_l1(recipe, task.table, seed=seed) for seed in range(repeats)]
    shown = [outcome.codes for outcome in outcomes if outcome.codes is not None]
    accuracies = [task.accuracy(codes) for codes in shown]
    two_way = [two_way_tv(task.table, codes) or 0.0 for codes in shown]
    return summary(errors, (outcome.refused for outcome in outcomes)) | {
        "accuracy": float(np.mean(accuracies)) if shown else None,
        "accuracy sd": float(np.std(accuracies, ddof=1)) if len(shown) > 1 else 0.0,
        "two_way": float(np.mean(two_way)) if shown else None,
        "seconds": math.fsum(outcome.seconds for outcome in outcomes) / repeats,
    }
