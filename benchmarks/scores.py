"""Private risk scores of which only the bounds of the features are known: ours, InterpretML's and diffprivlib's.

``python -m benchmarks.environments FOLDER interpret-core diffprivlib``, then
``UNDERSTUDY_PEERS=FOLDER UNDERSTUDY_DATA=... python -m benchmarks scores``. All get the same random halves. Bounds are
round numbers written here; missing values are filled with their column's median, for all alike. UNDERSTUDY_HALVES (20;
tables above 10,000 rows take a tenth), UNDERSTUDY_TABLES, UNDERSTUDY_EPSILONS. Bars: the AUROC of issue 21 on Pima (for
100 halves), none that falls by more than 0.01 as epsilon grows, ahead of both peers at every epsilon, and a Brier score
of at most 0.01 above that of DP-EBM.
"""

import csv
import gzip
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["TABLES", "Task", "area", "main"]

DELTA = 1e-5
PEERS = ("interpret-core", "diffprivlib")
PIMA_BARS = {0.1: 0.68, 0.5: 0.76, 1.0: 0.785, 2.0: 0.80, 5.0: 0.81, 10.0: 0.82}
Bounds = dict[str, tuple[float, float]]
Values = npt.NDArray[np.float64]

PIMA: Bounds = {
    "pregnant": (0, 20),
    "glucose": (0, 250),
    "pressure": (0, 150),
    "triceps": (0, 110),
    "insulin": (0, 900),
    "mass": (0, 80),
    "pedigree": (0, 3),
    "age": (18, 100),
}
MIMIC: Bounds = {
    "age": (15, 100),
    "map_1st": (5, 200),
    "hr_1st": (20, 220),
    "temp_1st": (25, 110),
    "spo2_1st": (1, 100),
    "wbc_first": (0, 250),
    "hgb_first": (1, 25),
    "platelet_first": (1, 2000),
    "sodium_first": (90, 190),
    "potassium_first": (1, 12),
    "tco2_first": (1, 80),
    "chloride_first": (60, 160),
    "bun_first": (0, 300),
    "creatinine_first": (0, 40),
    "po2_first": (10, 800),
    "pco2_first": (5, 200),
}
ADULT: Bounds = {
    "age": (17, 90),
    "education_num": (1, 16),
    "capital_gain": (0, 100_000),
    "capital_loss": (0, 5_000),
    "hours_per_week": (1, 99),
}
DIABETES: Bounds = {
    "age": (0, 100),
    "time_in_hospital": (1, 14),
    "num_lab_procedures": (0, 150),
    "num_procedures": (0, 10),
    "num_medications": (0, 100),
    "number_outpatient": (0, 50),
    "number_emergency": (0, 100),
    "number_inpatient": (0, 25),
    "number_diagnoses": (0, 20),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """A table of numbers, their bounds, and a yes-or-no label."""

    name: str
    values: Values
    label: npt.NDArray[np.intp]
    bounds: Bounds

    def halves(self, repeats: int) -> list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
        """Random halves for training and testing."""
        generator = np.random.default_rng(5)
        orders = [generator.permutation(len(self.label)) for _ in range(repeats)]
        half = len(self.label) // 2
        return [(order[:half], order[half : 2 * half]) for order in orders]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        for row in pq.read_table(path).to_pylist():
            yield {name.replace("-", "_").replace(".", "_"): value for name, value in row.items()}
        return
    plain = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    yield from csv.DictReader(plain.decode("utf-8").splitlines())


def _number(word: Any) -> float:
    """A number; of an age band such as [70-80) its middle; NaN where there is none."""
    text = str(word)
    if text.startswith("["):
        low, high = text.strip("[)").split("-")
        return (float(low) + float(high)) / 2
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _task(name: str, file: str, bounds: Bounds, label: Callable[[dict[str, Any]], bool]) -> Task:
    rows = list(_rows(Path(os.environ["UNDERSTUDY_DATA"]) / file))
    values = np.array([[_number(row[column]) for column in bounds] for row in rows])
    middle = np.nanmedian(values, axis=0)
    values = np.where(np.isnan(values), middle, values)
    low, high = np.array(list(bounds.values())).T
    labels = np.array([label(row) for row in rows], dtype=np.intp)
    return Task(name=name, values=np.clip(values, low, high), label=labels, bounds=bounds)


TABLES: dict[str, Callable[[], Task]] = {
    "pima": lambda: _task("pima", "pima/pima.csv", PIMA, lambda row: row["diabetes"] == "1"),
    "mimic": lambda: _task(
        "mimic", "mimic2_iaccd/full_cohort_data.csv", MIMIC, lambda row: float(row["day_28_flg"]) == 1
    ),
    "adult": lambda: _task("adult", "adult/adult_full.parquet", ADULT, lambda row: ">" in str(_income(row))),
    "diabetes": lambda: _task(
        "diabetes", "diabetes130/diabetic_data.csv.gz", DIABETES, lambda row: row["readmitted"] == "<30"
    ),
}


def _income(row: dict[str, Any]) -> Any:
    return row["income"] if "income" in row else row["class"]


def area(label: npt.NDArray[np.intp], score: Values) -> float:
    """Area under the ROC curve: the chance that a positive record has the larger score, ties counted half."""
    positive, negative = score[label == 1], np.sort(score[label == 0])
    below = np.searchsorted(negative, positive, "left") + np.searchsorted(negative, positive, "right")
    return float(below.mean() / 2 / len(negative))


def ours(task: Task, epsilons: list[float], repeats: int) -> dict[str, list[tuple[float, float]]]:
    """AUROC and Brier score of every half."""
    from understudy.trees import PrivateAdditiveScore

    found: dict[str, list[tuple[float, float]]] = {}
    bounds = list(task.bounds.values())
    for epsilon in epsilons:
        for train, test in task.halves(repeats):
            model = PrivateAdditiveScore(epsilon=epsilon, delta=DELTA, bounds=bounds, classes=(0, 1))
            chance = model.fit(task.values[train], task.label[train]).predict_proba(task.values[test])[:, 1]
            brier = float(((chance - task.label[test]) ** 2).mean())
            found.setdefault(str(epsilon), []).append((area(task.label[test], chance), brier))
    return found


def peer_figures(name: str, task: Task, epsilons: list[float], repeats: int, python: Path) -> dict[str, Any]:
    """The same of a peer, in its own environment."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.json"
        np.savez(
            source,
            values=task.values,
            label=task.label,
            bounds=np.array(list(task.bounds.values())),
            halves=np.array(task.halves(repeats)),
            epsilons=np.array(epsilons),
            delta=DELTA,
        )
        script = Path(__file__).with_name("score_peers.py")
        subprocess.run([python, script, name, source, target], check=True)
        read: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
        return read


def main() -> None:
    if not os.environ.get("UNDERSTUDY_DATA"):
        print("UNDERSTUDY_DATA is not set; this benchmark needs real tables")
        return
    epsilons = [float(word) for word in os.environ.get("UNDERSTUDY_EPSILONS", "0.1,0.5,1,2,5,10").split(",")]
    folder = Path(os.environ.get("UNDERSTUDY_PEERS", "."))
    pythons = {name: folder / f"{name}-env" / "bin" / "python" for name in PEERS}
    for name in [name for name, python in pythons.items() if not python.exists()]:
        print(f"left out: {name} (no {name}-env in UNDERSTUDY_PEERS)")
        del pythons[name]
    for name in os.environ.get("UNDERSTUDY_TABLES", ",".join(TABLES)).split(","):
        task = TABLES[name]()
        halves = int(os.environ.get("UNDERSTUDY_HALVES", "20"))
        repeats = halves if len(task.label) <= 10_000 else max(halves // 10, 1)
        found: dict[str, Any] = {"understudy": ours(task, epsilons, repeats)}
        found |= {peer: peer_figures(peer, task, epsilons, repeats, python) for peer, python in pythons.items()}
        print("\n".join(report(task, epsilons, repeats, found)), flush=True)


def report(task: Task, epsilons: list[float], repeats: int, found: dict[str, Any]) -> Iterator[str]:
    """The table of one task, and its bars."""
    yield f"\n{task.name}, {len(task.label):,} rows, {len(task.bounds)} features, {repeats} halves, delta {DELTA:g}\n"
    yield "| epsilon | " + " | ".join(f"{epsilon:g}" for epsilon in epsilons) + " |"
    yield "|" + " --- |" * (len(epsilons) + 1)
    means = {name: [np.mean(by[str(e)], axis=0) for e in epsilons] for name, by in found.items()}
    for at, figure in enumerate(("AUROC", "Brier")):
        for name, values in means.items():
            yield f"| {name}, {figure} | " + " | ".join(f"{value[at]:.3f}" for value in values) + " |"
    mine = means["understudy"]
    bars = {"falls by no more than .01": all(b[0] >= a[0] - 0.01 for a, b in pairwise(mine))}
    if task.name == "pima":
        bars["AUROC on Pima"] = all(
            value[0] >= PIMA_BARS.get(epsilon, 0) for epsilon, value in zip(epsilons, mine, strict=True)
        )
    for name, values in means.items():
        if name != "understudy":
            bars[f"ahead of {name}"] = all(a[0] > b[0] for a, b in zip(mine, values, strict=True))
    if "interpret-core" in means:
        bars["Brier score"] = all(a[1] <= b[1] + 0.01 for a, b in zip(mine, means["interpret-core"], strict=True))
    for bar, met in bars.items():
        yield f"{bar}: {'met' if met else 'MISSED'}"
