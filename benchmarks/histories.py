"""People with histories beside single tables and peers, and at a million patients.

``UNDERSTUDY_DATA=... python -m benchmarks "histories: diabetes" "histories: peers" "histories: size"``.

*diabetes*: four fifths of the patients of diabetes130, at most five encounters of each, delta 1e-6, epsilon 1 and 10
(UNDERSTUDY_EPSILONS), UNDERSTUDY_REPEATS (2) runs of each method. Bars: every two-way table of a patient's and an
encounter's column at most 1.3 times as far off as by single-table ``marginals`` on the joined table at the same
person-level epsilon and cap; share of patients by number of encounters within 1 point; area under the curve for
readmission within 30 days, on the patients kept back, above .60 at epsilon 1 and within .02 of real rows at 10.

*peers*: UNDERSTUDY_PATIENTS (5,000) and ten columns, which the peers can take, with UNDERSTUDY_PATIENCE (1,500) seconds
for each run. SDV's HMA, which promises nothing, needs ``sdv-env`` in UNDERSTUDY_PEERS (:mod:`benchmarks.environments`).
DPSynth is not in the package registry and needs Python 3.12: in UNDERSTUDY_PEERS, ``python3.12 -m venv dpsynth-env``;
install ``jax[cpu]==0.11.0 dp-accounting mbi "etils[epath]" absl-py attrs pandas "pydantic>=2" pyyaml more-itertools
networkx scipy tqdm`` and, with ``--no-deps``, a snapshot of its repository. Bars: lower error across tables at equal
epsilon, a tenth of the time.

*size*: a million simulated patients with three million stays (UNDERSTUDY_PATIENTS), three tenths and a tenth of them;
with UNDERSTUDY_IN_PARTS also drawn in parts by all cores. Bars: processor time that grows as rows to the power of 1.1
at most, and at most 1.2 times the memory.
"""

import json
import math
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import understudy as us
from benchmarks.linked_tables import FEW, LinkedTask, diabetes
from benchmarks.utility.processes import reason
from understudy.datasets.histories import COMES_AGAIN
from understudy.evaluate.linked.metrics.children import share_by_number
from understudy.evaluate.linked.metrics.cross_pairs import cross_table_pairs
from understudy.evaluate.linked.metrics.next_event import next_event
from understudy.evaluate.linked.rows import LinkedRows, read_rows
from understudy.histories.parts import draw_linked_parts
from understudy.histories.recipe import Histories
from understudy.sources.linked import open_linked

OURS, JOINED = "understudy_histories", "understudy_marginals_joined"
ENVIRONMENT = {OURS: None, JOINED: None, "sdv_hma": "sdv", "dpsynth_relational": "dpsynth"}
DELTA, LABEL = 1e-6, "encounters.readmitted=<30"
BAR_RATIO, BAR_POINT, BAR_AUC, BAR_NEAR, BAR_TIMES, BAR_SLOPE, BAR_MEMORY = 1.3, 0.01, 0.60, 0.02, 10.0, 1.1, 1.2
CHUNK = 50_000
Run = dict[str, Any]


class Scorer:
    """Figures of made tables against the people that a method was given, and those it was not."""

    def __init__(self, task: LinkedTask) -> None:
        self.task = task
        self.real = read_rows(task.train, task.book)
        self._others = read_rows(task.test, task.book, capped=False)
        self.by_number = share_by_number(self.real, "encounters")

    @cached_property
    def real_area(self) -> float:
        """What real rows of the same capped table teach."""
        return self._task(self.real)["trained on real rows"]

    def _task(self, made: LinkedRows) -> dict[str, float]:
        return dict(next_event(self.real, made, holdout=self._others, label=LABEL).breakdown)

    def figures(self, made: dict[str, pd.DataFrame]) -> Run:
        """Distances of all pairs across tables, of numbers of encounters, and the area under the curve."""
        rows = read_rows(made, self.task.book)
        pairs = dict(cross_table_pairs(self.real, rows).breakdown)
        numbers = zip(self.by_number, share_by_number(rows, "encounters"), strict=True)
        return {
            "pairs": pairs,
            "cross": statistics.fmean(pairs.values()),
            "numbers": max(abs(real - ours) for real, ours in numbers),
            "auc": self._task(rows)["trained on synthetic rows"],
        }


def one_run(runner: str, scorer: Scorer, epsilon: float, folder: Path, patience: float) -> Run | str:
    """Fit and draw in a fresh process with a time limit: figures, or why there are none."""
    environment = ENVIRONMENT[runner]
    python = Path(sys.executable)
    if environment is not None:
        peers = os.environ.get("UNDERSTUDY_PEERS")
        python = Path(peers or "", f"{environment}-env", "bin", "python")
        if not peers or not python.exists():
            return f"not run: no {environment}-env in UNDERSTUDY_PEERS"
    scorer.task.write(folder)
    out = folder / "made"
    out.mkdir(exist_ok=True)
    for path in out.iterdir():
        path.unlink()
    here = Path(__file__).parent
    script = here / "linked_runners" / f"{runner}.py"
    paths = map(str, (Path(us.__file__).parents[1], script.parent, here / "utility" / "runners"))
    words = [python, script, folder, epsilon, DELTA, out]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    process = subprocess.Popen(
        list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ
    )
    try:
        shown, errors = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"not finished in {patience:.0f} s"
    if process.returncode:
        return reason(errors)
    made = {name: pd.read_csv(out / f"{name}.csv", dtype=str, keep_default_na=False) for name in scorer.task.train}
    return {**scorer.figures(made), **json.loads(shown.strip().splitlines()[-1])}


def main_diabetes(patients: int | None = None, columns: tuple[str, ...] | None = None) -> None:
    """Ours beside the single table at the same person-level price."""
    scorer = Scorer(diabetes(_data(), patients=patients, columns=columns))
    rows = {name: f"{table.rows:,}" for name, table in scorer.real.tables.items()}
    print(f"{rows['patients']} patients, {rows['encounters']} encounters; area of real rows {scorer.real_area:.4f}")
    with tempfile.TemporaryDirectory() as folder:
        for epsilon in _epsilons("1,10"):
            runs = {
                runner: [one_run(runner, scorer, epsilon, Path(folder), _patience()) for _ in range(_repeats())]
                for runner in (OURS, JOINED)
            }
            for line in told(runs, epsilon):
                print(line, flush=True)
            for line in verdicts(runs, epsilon, scorer.real_area):
                print(line, flush=True)


def told(runs: dict[str, list[Run | str]], epsilon: float) -> Iterator[str]:
    """One line for each run."""
    for runner, own in runs.items():
        for run in own:
            if isinstance(run, str):
                yield f"epsilon {epsilon:g}, {runner}: {run}"
            else:
                yield (
                    f"epsilon {epsilon:g}, {runner}: pairs across tables {run['cross']:.4f}, numbers of encounters "
                    f"{100 * run['numbers']:.2f} points, area {run['auc']:.4f}; fit {run['fit']:.0f} s, draw "
                    f"{run['draw']:.0f} s, processor {run['processor']:.0f} s, {run['megabytes']:.0f} MB"
                )


def verdicts(runs: dict[str, list[Run | str]], epsilon: float, real_area: float) -> Iterator[str]:
    """The bars of ours."""
    ours, joined = ([run for run in runs[runner] if not isinstance(run, str)] for runner in (OURS, JOINED))
    if not ours or not joined:
        yield f"epsilon {epsilon:g}: no figures to compare"
        return
    ratios = {pair: _mean(ours, pair) / _mean(joined, pair) for pair in ours[0]["pairs"]}
    worst = max(ratios, key=lambda pair: ratios[pair])
    within = sum(ratio <= BAR_RATIO for ratio in ratios.values())
    yield (
        f"epsilon {epsilon:g}: {within} of {len(ratios)} pairs at most {BAR_RATIO:g} times the single table's error; "
        f"worst {worst}, {ratios[worst]:.2f} times ({_mean(ours, worst):.4f}): {_met(within == len(ratios))}"
    )
    numbers = statistics.fmean(run["numbers"] for run in ours)
    yield (
        f"epsilon {epsilon:g}: shares by number of encounters within {100 * numbers:.2f} points (bar 1): "
        f"{_met(numbers <= BAR_POINT)}"
    )
    area = statistics.fmean(run["auc"] for run in ours)
    if epsilon >= 10:
        yield (
            f"epsilon {epsilon:g}: area {area:.4f}, {real_area - area:.4f} below real rows (bar {BAR_NEAR}): "
            f"{_met(real_area - area <= BAR_NEAR)}"
        )
    elif epsilon == 1:
        yield f"epsilon {epsilon:g}: area {area:.4f} (bar above {BAR_AUC:.2f}): {_met(area > BAR_AUC)}"


def main_peers(patients: int | None = None) -> None:
    """Ours and the peers on what they can take."""
    patients = patients or int(os.environ.get("UNDERSTUDY_PATIENTS", "5000"))
    scorer = Scorer(diabetes(_data(), patients=patients, columns=FEW))
    print(f"{scorer.real.tables['patients'].rows:,} patients, {len(FEW)} columns of encounters")
    with tempfile.TemporaryDirectory() as folder:
        for epsilon in _epsilons("1"):
            runs = {runner: [one_run(runner, scorer, epsilon, Path(folder), _patience())] for runner in ENVIRONMENT}
            for line in (*told(runs, epsilon), *peer_verdicts(runs, epsilon)):
                print(line, flush=True)


def peer_verdicts(runs: dict[str, list[Run | str]], epsilon: float) -> Iterator[str]:
    """Error and time of each peer beside ours."""
    (ours,) = runs[OURS]
    if isinstance(ours, str):
        return
    for peer in ("sdv_hma", "dpsynth_relational"):
        (other,) = runs[peer]
        if isinstance(other, str):
            yield f"epsilon {epsilon:g}, {peer}: {other}; no error to compare"
            continue
        times = (other["fit"] + other["draw"]) / (ours["fit"] + ours["draw"])
        yield (
            f"epsilon {epsilon:g}, {peer}: error across tables {other['cross']:.4f} against our {ours['cross']:.4f}: "
            f"{_met(ours['cross'] < other['cross'])}; {times:.1f} times our time (bar {BAR_TIMES:g}): "
            f"{_met(times >= BAR_TIMES)}"
        )


def main_size(patients: int | None = None) -> None:
    """Time and memory of fit and draw, each size in a process of its own."""
    patients = patients or int(os.environ.get("UNDERSTUDY_PATIENTS", "1000000"))
    sizes = [patients // 10, 3 * patients // 10, patients]
    times, peaks = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number in sizes:
            place = Path(folder) / str(number)
            stays = write_hospital(place, number)
            command = [sys.executable, "-m", "benchmarks.histories", str(place), str(number)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            one = json.loads(done.stdout.splitlines()[-1])
            times.append(one["processor"])
            peaks.append(one["gib"])
            parts = f", in parts by all cores {one['parts']:.0f} s" if one["parts"] else ""
            print(
                f"{number:,} patients, {stays:,} stays: fit {one['fit']:.0f} s, draw {one['draw']:.0f} s{parts}; "
                f"processor {one['processor']:.0f} s, peak of the fit {one['fit_gib']:.2f} GiB, of all "
                f"{one['gib']:.2f} GiB",
                flush=True,
            )
    slope, growth = math.log10(times[-1] / times[0]), peaks[-1] / peaks[0]
    print(
        f"from {sizes[0]:,} to {sizes[-1]:,} people: processor time grows as rows to the power of {slope:.2f} (bar "
        f"{BAR_SLOPE:g}): {_met(slope <= BAR_SLOPE)}; {growth:.2f} times the memory (bar {BAR_MEMORY:g}): "
        f"{_met(growth <= BAR_MEMORY)}"
    )


def write_hospital(folder: Path, patients: int) -> int:
    """Simulated patients with three stays each on average, written in parts; how many stays there are."""
    folder.mkdir()
    often = 1 - (1 - COMES_AGAIN) * 0.42
    writers: dict[str, pq.ParquetWriter] = {}
    stays = 0
    for number, start in enumerate(range(0, patients, CHUNK)):
        some = us.datasets.histories(min(CHUNK, patients - start), seed=number + 1, comes_again=often)
        stays += some.stays.num_rows
        for name in ("patients", "stays"):
            table = getattr(some, name)
            for key in {"patient_id", "stay_id"} & set(table.column_names):
                fresh = pc.binary_join_element_wise(pa.scalar(f"{number:04d}-"), table[key], "")
                table = table.set_column(table.column_names.index(key), key, fresh)
            if name not in writers:  # a second writer would empty the file
                writers[name] = pq.ParquetWriter(folder / f"{name}.parquet", table.schema)
            writers[name].write_table(table)
    for writer in writers.values():
        writer.close()
    whole = us.datasets.histories_codebook()
    replace(whole, tables=whole.tables[:2]).save(folder / "hospital.toml")
    return stays


def child(folder: str, patients: int) -> None:
    """Fit, and draw as many people as there were: written to disk as whole tables, and once more in parts."""
    place = Path(folder)
    start = time.perf_counter()
    fitted = Histories(epsilon=1.0, delta=DELTA).fit(open_linked(folder, place / "hospital.toml"))
    fit, fit_gib = time.perf_counter() - start, _peak()
    start = time.perf_counter()
    fitted.write(place / "release", patients)
    drawn, processor = time.perf_counter() - start, time.process_time()
    parts = 0.0
    if os.environ.get("UNDERSTUDY_IN_PARTS"):
        model = fitted.save_model(place / "model.zip")
        start = time.perf_counter()
        draw_linked_parts(model, rows=patients, out=place / "parts")
        parts = time.perf_counter() - start
    figures = {"fit": fit, "draw": drawn, "parts": parts, "processor": processor, "fit_gib": fit_gib, "gib": _peak()}
    print(json.dumps(figures))


def _peak() -> float:
    """Most memory of this process so far, in GiB."""
    own = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())
    return (int(own[1]) if own else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 2**20


def _mean(runs: Sequence[Run], pair: str) -> float:
    return statistics.fmean(run["pairs"][pair] for run in runs)


def _met(is_met: bool) -> str:
    return "met" if is_met else "MISSED"


def _data() -> Path:
    return Path(os.environ["UNDERSTUDY_DATA"])


def _epsilons(default: str) -> list[float]:
    return [float(word) for word in os.environ.get("UNDERSTUDY_EPSILONS", default).split(",")]


def _repeats() -> int:
    return int(os.environ.get("UNDERSTUDY_REPEATS", "2"))


def _patience() -> float:
    return float(os.environ.get("UNDERSTUDY_PATIENCE", "1500"))


PARTS = {"diabetes": main_diabetes, "peers": main_peers, "size": main_size}

if __name__ == "__main__":
    child(sys.argv[1], int(sys.argv[2]))
