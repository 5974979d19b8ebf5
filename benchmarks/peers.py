"""Time, memory and utility beside peers of the package registry: same rows, levels, epsilon, delta, metrics and run.

``make peers`` does all of this in ``.venv-peers``. By hand: ``python -m benchmarks.environments FOLDER``, then
``UNDERSTUDY_PEERS=FOLDER UNDERSTUDY_DATA=... python -m benchmarks peers``. Every run is a fresh process that fits
and draws as many rows as it read. Ours runs before and after each peer, and a ratio is of a peer to the two around it,
so that load from elsewhere falls on both. UNDERSTUDY_TABLES, UNDERSTUDY_RUNNERS and UNDERSTUDY_EPSILONS (1) as in
:mod:`benchmarks.utility`; UNDERSTUDY_REPEATS (2; a peer that needed more than ten minutes runs once);
UNDERSTUDY_PATIENCE (1800 seconds for one run). UNDERSTUDY_RUNS names a file that keeps every run as it ends, and the
benchmark goes on with what is in it. Bars: faster than every private peer at equal or better two-way error, by the
clock and by processor time; ten times faster than the most accurate one.
"""

import json
import os
import statistics
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.environments import RUNNERS, interpreter, versions, why_absent
from benchmarks.utility import DELTA, tasks
from benchmarks.utility.processes import one_run
from benchmarks.utility.tables import Task

__all__ = ["main", "report"]

OURS, FIRST = "understudy_marginals", "understudy_marginals, first run"
NOT_PRIVATE = ("sdv_copula",)
"""For speed only: without a promise, in no bar."""
SLOW, TIMES_FASTER = 600.0, 10.0
Record = dict[str, Any]
"""One run: table, epsilon, runner, load, and either its figures or why it ``failed``."""


def seconds(run: Record) -> float:
    """Fit and draw, by the clock."""
    return float(run["fit"] + run["draw"])


def ratios(runs: Sequence[Record], runner: str, measure: Callable[[Record], float]) -> list[float]:
    """How many times longer each run of a peer took than ours just before and after it, on average."""
    found = []
    for place, run in enumerate(runs):
        if run["runner"] == runner and "failed" not in run:
            before = [other for other in runs[:place] if other["runner"] == OURS and "failed" not in other][-1:]
            after = [other for other in runs[place + 1 :] if other["runner"] == OURS and "failed" not in other][:1]
            if before or after:
                found.append(measure(run) / statistics.fmean(measure(other) for other in before + after))
    return found


def report(runs: Sequence[Record]) -> Iterable[str]:
    """The table and the bars for the runs of one table at one epsilon."""
    yield (
        "| method | runs | 1-way | 2-way | 3-way | AUC | fit + draw s | whole process s | processor s | MB | load | "
        "times ours, clock | times ours, processor |"
    )
    yield "|" + " --- |" * 13
    error, least, unfinished, used = {}, {}, {}, {}
    for runner in dict.fromkeys(run["runner"] for run in runs):
        mine = [run for run in runs if run["runner"] == runner]
        good = [run for run in mine if "failed" not in run]
        if not good:
            unfinished[runner] = mine[0]["failed"]
            yield f"| {runner} | {len(mine)} | {mine[0]['failed']} |"
            continue
        mean = {
            name: statistics.fmean(run[name] for run in good) for name in good[0] if isinstance(good[0][name], float)
        }
        clock, processor = ratios(runs, runner, seconds), ratios(runs, runner, lambda run: run["processor"])
        error[runner], used[runner] = mean["tvd2"], mean["processor"]
        if runner not in (OURS, FIRST) and clock:
            least[runner] = min(clock + processor)
        cells = [f"{mean[name]:.4f}" for name in ("tvd1", "tvd2", "tvd3", "auc")]
        cells += [_spread([measure(run) for run in good]) for measure in (seconds, lambda r: r["whole"])]
        cells += [_spread([run["processor"] for run in good]), f"{mean['megabytes']:.0f}"]
        cells += [_spread([run["load"] for run in good])]
        cells += [
            _spread(found) if runner not in (OURS, FIRST) else "1" * (runner == OURS) for found in (clock, processor)
        ]
        yield f"| {runner} | {len(good)} of {len(mine)} | {' | '.join(cells)} |"
    yield from _verdicts(error, least, unfinished)
    private = [runner for runner in least if runner not in NOT_PRIVATE]
    if private and FIRST in used:
        best = min(private, key=lambda runner: error[runner])
        yield f"against our first run, which compiles: {used[best] / used[FIRST]:.1f} times its processor time"


def _spread(found: Sequence[float]) -> str:
    """One figure, or the smallest and the largest."""
    shown = [f"{value:.0f}" if value >= 100 else f"{value:.1f}" for value in (min(found), max(found))]
    return shown[0] if shown[0] == shown[1] else f"{shown[0]} to {shown[1]}"


def _verdicts(error: dict[str, float], least: dict[str, float], unfinished: dict[str, str]) -> Iterable[str]:
    private = [runner for runner in least if runner not in NOT_PRIVATE]
    for runner in private:
        met = least[runner] > 1 and error[OURS] <= error[runner]
        yield (
            f"{runner}: at least {least[runner]:.1f} times our time, two-way error {error[runner]:.4f} against our "
            f"{error[OURS]:.4f} (bar: slower, and no smaller error): {'met' if met else 'MISSED'}"
        )
    for runner, why in unfinished.items():
        yield f"{runner}: {why}; no error to compare"
    if private:
        best = min(private, key=lambda runner: error[runner])
        met = least[best] >= TIMES_FASTER
        yield (
            f"most accurate private peer: {best}, at least {least[best]:.1f} times our time (bar {TIMES_FASTER:.0f}): "
            f"{'met' if met else 'MISSED'}"
        )


class _Kept:
    """Runs so far, in a file if one is named."""

    def __init__(self, place: Path | None) -> None:
        self._place = place
        lines = place.read_text(encoding="utf-8").splitlines() if place and place.exists() else []
        self.runs: list[Record] = [json.loads(line) for line in lines]

    def add(self, run: Record) -> None:
        self.runs.append(run)
        if self._place:
            with self._place.open("a", encoding="utf-8") as file:
                file.write(json.dumps(run) + "\n")

    def of(self, table: str, epsilon: float) -> list[Record]:
        return [run for run in self.runs if (run["table"], run["epsilon"]) == (table, epsilon)]


def next_peer(runs: Sequence[Record], wanted: Sequence[str], repeats: int) -> str | None:
    """By turns; a peer that failed or took very long is not run again."""
    done = {runner: [run for run in runs if run["runner"] == runner] for runner in wanted}
    for turn in range(repeats):
        for runner in wanted:
            if len(done[runner]) <= turn and not any("failed" in run or seconds(run) > SLOW for run in done[runner]):
                return runner
    return None


def _measure(kept: _Kept, task: Task, epsilon: float, pythons: dict[str, Path], repeats: int, scratch: Path) -> None:
    """What is still missing for one table and epsilon: ours, a peer, ours, a peer, ..., ours."""
    patience = float(os.environ.get("UNDERSTUDY_PATIENCE", "1800"))
    machine_code = f"compiled for {task.name} at {epsilon:g}"

    def run(runner: str, shown: str = "") -> None:
        load = os.getloadavg()[0]
        found = one_run(
            runner,
            pythons[runner],
            task,
            epsilon=epsilon,
            delta=DELTA,
            folder=scratch,
            patience=patience,
            extra={"NUMBA_CACHE_DIR": str(scratch / machine_code)},
        )
        figures = {"failed": found} if isinstance(found, str) else found
        kept.add({"table": task.name, "epsilon": epsilon, "runner": shown or runner, "load": load, **figures})

    wanted = [runner for runner in pythons if runner != OURS]
    while (peer := next_peer(kept.of(task.name, epsilon), wanted, repeats)) or not kept.of(task.name, epsilon):
        if not (scratch / machine_code).exists():
            run(OURS, shown=FIRST)  # compiles, as after installation; the others find what it compiled
        run(OURS)
        if peer:
            run(peer)
    if kept.of(task.name, epsilon)[-1]["runner"] != OURS:
        run(OURS)


def main() -> None:
    repeats = int(os.environ.get("UNDERSTUDY_REPEATS", "2"))
    wanted = os.environ.get("UNDERSTUDY_RUNNERS", ",".join(RUNNERS)).split(",")
    folder = Path(os.environ["UNDERSTUDY_PEERS"]) if os.environ.get("UNDERSTUDY_PEERS") else None
    kept = _Kept(Path(os.environ["UNDERSTUDY_RUNS"]) if os.environ.get("UNDERSTUDY_RUNS") else None)
    pythons = {}
    for runner in dict.fromkeys([OURS, *wanted]):
        python = interpreter(runner, folder)
        if python is None:
            print(f"left out: {runner} ({why_absent(runner, folder)})")
        else:
            pythons[runner] = python
    for name in dict.fromkeys(RUNNERS[runner] for runner in pythons if RUNNERS[runner]):
        print(f"environment of {name}: {versions(next(pythons[r] for r in pythons if RUNNERS[r] == name))}")
    tables = os.environ.get("UNDERSTUDY_TABLES", "adult" if os.environ.get("UNDERSTUDY_DATA") else "discharges").split(
        ","
    )
    with tempfile.TemporaryDirectory() as scratch:
        for task in tasks():
            for epsilon in map(float, os.environ.get("UNDERSTUDY_EPSILONS", "1").split(",")):
                if task.name in tables:
                    _measure(kept, task, epsilon, pythons, repeats, Path(scratch))
                    size = f"{len(task.train):,} rows of {len(task.levels)} columns"
                    print(f"\n{task.name}, {size}, epsilon {epsilon:g}, delta {DELTA:g}\n")
                    print("\n".join(report(kept.of(task.name, epsilon))), flush=True)
