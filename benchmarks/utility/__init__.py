"""Utility beside peers: the same rows, levels, epsilon, delta, metrics and machine.

``python -m benchmarks utility`` runs our default; environment variables widen it: UNDERSTUDY_DATA (Adult and census,
else only the simulated discharges), UNDERSTUDY_PEERS (the folder of
:mod:`benchmarks.environments`), UNDERSTUDY_TABLES, UNDERSTUDY_RUNNERS, UNDERSTUDY_EPSILONS and UNDERSTUDY_REPEATS. For
time beside peers in one run see :mod:`benchmarks.peers`. Bars (Adult, delta 1e-9, mean of five): two-way total
variation of at most .062, .0200 and .0065 at epsilon 0.1, 1 and 10; three-way and AUC within 5 % and .01 of the best
peer; fit and draw of 39,074 rows in under 20 seconds.
"""

import os
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.environments import RUNNERS, interpreter, why_absent
from benchmarks.utility.processes import one_run
from benchmarks.utility.tables import Task, adult, census, discharges

DELTA, PATIENCE = 1e-9, 900
BARS = {0.1: (0.062, 0.1254, 0.857), 1.0: (0.0200, 0.0478, 0.892), 10.0: (0.0065, 0.0256, 0.896)}
"""Two-way, three-way (5 % above the best row known) and AUC (.01 below it), on Adult."""
FIGURES = ("tvd1", "tvd2", "tvd3", "auc", "fit", "draw", "megabytes")


def tasks() -> Iterator[Task]:
    """What can be had here."""
    data = os.environ.get("UNDERSTUDY_DATA")
    if data:
        yield adult(Path(data))
        yield census(Path(data))
    else:
        print("left out: Adult and census (UNDERSTUDY_DATA is not set)")
    yield discharges()


def verdict(task: Task, epsilon: float, mean: dict[str, float]) -> str:
    """Against the bars of Adult."""
    if task.name != "adult" or epsilon not in BARS:
        return ""
    two, three, auc = BARS[epsilon]
    met = mean["tvd2"] <= two and mean["tvd3"] <= three and mean["auc"] >= auc and mean["fit"] + mean["draw"] < 20
    return f"bars .{round(two * 1e4):04d} / .{round(three * 1e4):04d} / {auc}: {'met' if met else 'MISSED'}"


def main() -> None:
    epsilons = [float(word) for word in os.environ.get("UNDERSTUDY_EPSILONS", "0.1,0.5,1,5,10").split(",")]
    repeats = int(os.environ.get("UNDERSTUDY_REPEATS", "5"))
    wanted = os.environ.get("UNDERSTUDY_RUNNERS", ",".join(RUNNERS)).split(",")
    peers = Path(os.environ["UNDERSTUDY_PEERS"]) if os.environ.get("UNDERSTUDY_PEERS") else None
    print("| table | method | epsilon | runs | 1-way | 2-way | 3-way | AUC | fit s | draw s | MB | |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as scratch:
        for task in tasks():
            if task.name not in os.environ.get("UNDERSTUDY_TABLES", task.name).split(","):
                continue
            for runner in wanted:
                python = interpreter(runner, peers)
                if python is None:
                    print(f"left out: {runner} ({why_absent(runner, peers)})")
                    continue
                for epsilon in epsilons:
                    print(line(runner, python, task, epsilon, repeats, Path(scratch)), flush=True)


def line(runner: str, python: Path, task: Task, epsilon: float, repeats: int, folder: Path) -> str:
    """One row of the printed table."""
    found = [
        one_run(runner, python, task, epsilon=epsilon, delta=DELTA, folder=folder, patience=PATIENCE)
        for _ in range(repeats if runner in OWN else 1)
    ]
    failed = [run for run in found if isinstance(run, str)]
    if failed:
        return f"| {task.name} | {runner} | {epsilon:g} | {failed[0]} |"
    mean = {name: statistics.fmean(run[name] for run in found) for name in FIGURES}
    cells = [f"{mean[name]:.4f}" for name in FIGURES[:4]] + [f"{mean[name]:.1f}" for name in FIGURES[4:6]]
    remark = verdict(task, epsilon, mean) if runner in OWN else ""
    return (
        f"| {task.name} | {runner} | {epsilon:g} | {len(found)} | {' | '.join(cells)} | {mean['megabytes']:.0f} | "
        f"{remark} |"
    )


OWN = ("understudy_marginals",)
"""Repeated; peers, which take minutes, run once."""
