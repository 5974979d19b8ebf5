"""The default method on tables that it was not tuned on, beside independent noisy columns and AIM from its paper.

``UNDERSTUDY_DATA`` names the folder of the tables; UNDERSTUDY_EPSILONS and UNDERSTUDY_REPEATS (5) choose. Delta is
1e-6, on Adult 1e-9; as many rows are drawn as were read. AIM runs once where its domain can be listed.
Bars: two-way error at most 1.02 times that of independent noisy columns, at most 2 % of pairs worse than those by more
than .005 and two standard errors; error falls with epsilon in every order; and those of the single tables below.
"""

import math
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.environments import interpreter
from benchmarks.utility.processes import one_run
from benchmarks.utility.tables import Task, adult, census, diabetes, fire, nhds, nltcs

TABLES = {"nltcs": nltcs, "adult": adult, "fire": fire, "acs": census, "diabetes": diabetes, "nhds": nhds}
PATIENCE = 1800
ORDERS = ("tvd1", "tvd2", "tvd3", "tvd5")
FIGURES = (*ORDERS, "auc", "coefficients", "processor")
MOST: dict[str, dict[float, dict[str, float]]] = {
    "fire": {1.0: {"tvd2": 0.045}, 10.0: {"tvd2": 0.030}},
    "nltcs": {
        0.1: {"tvd2": 0.0140 * 0.85},
        1.0: {"tvd2": 0.0020 * 0.85, "tvd3": 0.0060, "tvd5": 0.020},
        10.0: {"tvd2": 0.00026 * 0.85, "tvd3": 0.0015, "tvd5": 0.009},
    },
    "adult": {0.1: {"tvd2": 0.0536}, 1.0: {"tvd2": 0.0151}, 10.0: {"tvd2": 0.0036}},
}
LEAST: dict[str, dict[float, dict[str, float]]] = {
    "fire": {1.0: {"auc": 0.99}, 10.0: {"auc": 0.99}},
    "adult": {0.1: {"auc": 0.866}, 1.0: {"auc": 0.901, "coefficients": 0.90}, 10.0: {"auc": 0.905}},
    "diabetes": {1.0: {"coefficients": 0.65}},
    "acs": {1.0: {"coefficients": 0.65}},
}


def runs(runner: str, task: Task, epsilon: float, repeats: int, folder: Path) -> list[dict[str, Any]] | str:
    """So many runs in processes of their own, or why there are none."""
    python = interpreter(runner, None)
    assert python is not None
    found: list[dict[str, Any]] = []
    for _ in range(repeats):
        delta = 1e-9 if task.name == "adult" else 1e-6
        one = one_run(runner, python, task, epsilon=epsilon, delta=delta, folder=folder, patience=PATIENCE)
        if isinstance(one, str):
            return one
        found.append(one)
    return found


def line(name: str, runner: str, epsilon: float, found: list[dict[str, Any]]) -> str:
    """One row of the printed table."""
    cells = []
    for figure in FIGURES:
        mean = float(np.mean([run[figure] for run in found]))
        cells.append("-" if math.isnan(mean) else f"{mean:.1f}" if figure == "processor" else f"{mean:.5f}")
    return f"| {name} | {runner} | {epsilon:g} | {len(found)} | {' | '.join(cells)} |"


def verdicts(name: str, epsilon: float, ours: list[dict[str, Any]], alone: list[dict[str, Any]]) -> list[str]:
    """Every bar of this table and epsilon, with what was measured."""

    def mean(figure: str, of: list[dict[str, Any]] = ours) -> float:
        return float(np.mean([run[figure] for run in of]))

    def said(words: str, value: float, bar: float, *, is_most: bool = True) -> str:
        met = value <= bar if is_most else value >= bar
        return f"{name} {epsilon:g} {words}: {value:.4f} (bar {bar:.4f}, {'at most' if is_most else 'at least'}): " + (
            "met" if met else "MISSED"
        )

    lines = [said("two-way against independent noisy columns", mean("tvd2") / mean("tvd2", alone), 1.02)]
    mine, theirs = (np.stack([run["pairs"] for run in of]) for of in (ours, alone))
    noise = np.sqrt(sum(them.var(axis=0, ddof=1) / len(them) for them in (mine, theirs))) if len(mine) > 1 else 0.0
    worse = float(np.mean(mine.mean(axis=0) > theirs.mean(axis=0) + 0.005 + 2 * noise))
    lines.append(said("share of pairs that are worse", worse, 0.02))
    for figure, bar in MOST.get(name, {}).get(epsilon, {}).items():
        lines.append(said(figure, mean(figure), bar))
    for figure, bar in LEAST.get(name, {}).get(epsilon, {}).items():
        lines.append(said(figure, mean(figure), bar, is_most=False))
    return lines


def one_table(name: str) -> None:
    """One table at every epsilon, then the verdicts."""
    data = os.environ.get("UNDERSTUDY_DATA")
    if not data:
        print("left out (UNDERSTUDY_DATA is not set)")
        return
    epsilons = sorted(float(word) for word in os.environ.get("UNDERSTUDY_EPSILONS", "0.1,1,10").split(","))
    repeats = int(os.environ.get("UNDERSTUDY_REPEATS", "5"))
    lines: list[str] = []
    print("| table | method | epsilon | runs | 1-way | 2-way | 3-way | 5-way | AUC | coefficients | processor s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    task = TABLES[name](Path(data))
    before: dict[str, float] | None = None
    with tempfile.TemporaryDirectory() as scratch:
        for epsilon in epsilons:
            ours = runs("understudy_marginals", task, epsilon, repeats, Path(scratch))
            alone = runs("independent_columns", task, epsilon, repeats, Path(scratch))
            assert not isinstance(ours, str), ours
            assert not isinstance(alone, str), alone
            print(line(name, "ours", epsilon, ours), flush=True)
            print(line(name, "independent noisy columns", epsilon, alone), flush=True)
            if math.prod(len(levels) for levels in task.levels.values()) <= 1 << 20:
                aim = runs("aim_from_its_paper", task, epsilon, 1, Path(scratch))
                print(aim if isinstance(aim, str) else line(name, "AIM", epsilon, aim), flush=True)
            lines += verdicts(name, epsilon, ours, alone)
            now = {order: float(np.mean([run[order] for run in ours])) for order in ORDERS}
            if before is not None:
                falls = all(now[order] <= before[order] for order in ORDERS)
                lines.append(f"{name} {epsilon:g} error falls in every order: {'met' if falls else 'MISSED'}")
            before = now
    print("\n".join(lines))


PARTS = {name: partial(one_table, name) for name in TABLES}


if __name__ == "__main__":
    for word in sys.argv[1:] or PARTS:
        PARTS[word]()
