"""Private risk scores of which only bounds and levels of the features are known: ours, InterpretML's and diffprivlib's.

``python -m benchmarks.environments FOLDER interpret-core diffprivlib``, then
``UNDERSTUDY_PEERS=FOLDER UNDERSTUDY_DATA=... python -m benchmarks scores``. All get the same random halves. Bounds are
round numbers written in ``score_tables.py``. UNDERSTUDY_HALVES (20; tables above 10,000 rows take a tenth),
UNDERSTUDY_TABLES, UNDERSTUDY_EPSILONS. What a peer has reached, which takes far longer, is kept in FOLDER/figures and
read from there by later runs: the halves are the same. Bars: the AUROC of issue 21
on Pima (for 100 halves), none that falls by more than 0.01 as epsilon grows, ahead of both peers at every epsilon, and
a Brier score of at most 0.01 above that of DP-EBM. A difference is told with its standard error over the halves.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.score_tables import TABLES, Task
from understudy.codebook import Categorical, Codebook, Continuous
from understudy.mechanisms.stream import Stream
from understudy.privacy import Secret

__all__ = ["area", "main"]

DELTA = 1e-5
PEERS = ("interpret-core", "diffprivlib")
PIMA_BARS = {0.1: 0.68, 0.5: 0.76, 1.0: 0.785, 2.0: 0.80, 5.0: 0.81, 10.0: 0.82}
Values = npt.NDArray[np.float64]
Figures = dict[str, list[tuple[float, float]]]
"""AUROC and Brier score of every half, by epsilon."""


def area(label: npt.NDArray[np.intp], score: Values) -> float:
    """Area under the ROC curve: the chance that a positive record has the larger score, ties counted half."""
    positive, negative = score[label == 1], np.sort(score[label == 0])
    below = np.searchsorted(negative, positive, "left") + np.searchsorted(negative, positive, "right")
    return float(below.mean() / 2 / len(negative))


def _book(task: Task) -> Codebook:
    """64 equal bins between the bounds of each number, as ``PrivateAdditiveScore`` makes them."""
    edges = [tuple(Fraction(f"{cut:.9g}") for cut in np.linspace(low, high, 65)) for low, high in task.bounds.values()]
    numbers = [Continuous(name=f"x{at}", edges=cuts, precision=6, clip=True) for at, cuts in enumerate(edges)]
    words = [Categorical(name=f"c{at}", levels=tuple(map(str, range(size)))) for at, size in enumerate(task.levels)]
    return Codebook(columns=(*numbers, *words, Categorical(name="y", levels=("0", "1"))))


def ours(task: Task, epsilons: list[float], repeats: int) -> Figures:
    """AUROC and Brier score of every half."""
    from understudy.mechanisms.labelled import pooled
    from understudy.trees import Additive
    from understudy.trees.features import features_of

    found: Figures = {}
    features = features_of(_book(task), "y")
    codes = np.empty(task.values.shape, dtype=np.uint8)
    for place, feature in enumerate(features):
        column = task.values[:, place]
        cuts = np.array(feature.thresholds) if place < len(task.bounds) else None
        codes[:, place] = column if cuts is None else np.searchsorted(cuts, column, side="right")
    for epsilon in epsilons:
        training = Additive(epsilon=epsilon, delta=DELTA)
        for train, test in task.halves(repeats):
            cells = Secret(pooled(codes[train], np.eye(2, dtype=np.int64)[task.label[train]]))
            chance = training.grow(cells, features, Stream.from_system()).scorer.score(codes[test])[0]
            brier = float(((chance - task.label[test]) ** 2).mean())
            found.setdefault(str(epsilon), []).append((area(task.label[test], chance), brier))
    return found


def peer_figures(name: str, task: Task, epsilons: list[float], repeats: int, folder: Path) -> Figures:
    """The same of a peer, in its own environment; or as it was measured before, of the halves that there were."""
    kept = folder / "figures" / f"{name} {task.name}.json"
    if kept.exists():
        before: Figures = json.loads(kept.read_text(encoding="utf-8"))
        if all(str(epsilon) in before for epsilon in epsilons):
            return before
    found = _peer(name, task, epsilons, repeats, folder / f"{name}-env" / "bin" / "python")
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps(found), encoding="utf-8")
    return found


def _peer(name: str, task: Task, epsilons: list[float], repeats: int, python: Path) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.json"
        np.savez(
            source,
            values=task.values,
            label=task.label,
            bounds=np.array(list(task.bounds.values())),
            levels=np.array(task.levels, dtype=np.intp),
            halves=np.array(task.halves(repeats)),
            epsilons=np.array(epsilons),
            delta=DELTA,
        )
        script = Path(__file__).with_name("score_peers.py")
        # -P: else this folder's numbers.py would stand before the one of the standard library
        subprocess.run([python, "-P", script, name, source, target], check=True)
        read: Figures = json.loads(target.read_text(encoding="utf-8"))
        return read


def main() -> None:
    if not os.environ.get("UNDERSTUDY_DATA"):
        print("UNDERSTUDY_DATA is not set; this benchmark needs real tables")
        return
    epsilons = [float(word) for word in os.environ.get("UNDERSTUDY_EPSILONS", "0.1,0.5,1,2,5,10").split(",")]
    folder = Path(os.environ.get("UNDERSTUDY_PEERS", "."))
    peers = [name for name in PEERS if (folder / f"{name}-env" / "bin" / "python").exists()]
    for name in set(PEERS) - set(peers):
        print(f"left out: {name} (no {name}-env in UNDERSTUDY_PEERS)")
    halves = int(os.environ.get("UNDERSTUDY_HALVES", "20"))
    for name in os.environ.get("UNDERSTUDY_TABLES", ",".join(TABLES)).split(","):
        task = TABLES[name]()
        repeats = halves if len(task.label) <= 10_000 else max(halves // 10, 2)
        found = {"understudy": ours(task, epsilons, repeats)}
        found |= {peer: peer_figures(peer, task, epsilons, repeats, folder) for peer in peers}
        print("\n".join(report(task, epsilons, found)), flush=True)


def report(task: Task, epsilons: list[float], found: dict[str, Figures]) -> Iterator[str]:
    """The table of one task, and its bars."""
    halves = {name: min(len(by[str(e)]) for e in epsilons) for name, by in found.items()}
    counts = ", ".join(f"{name} on {count} halves" for name, count in halves.items())
    yield f"\n{task.name}, {len(task.label):,} rows, {task.features}, delta {DELTA:g}; {counts}\n"
    yield "| epsilon | " + " | ".join(f"{epsilon:g}" for epsilon in epsilons) + " |"
    yield "|" + " --- |" * (len(epsilons) + 1)
    figures = {name: [np.array(by[str(e)][: halves[name]]) for e in epsilons] for name, by in found.items()}
    for at, figure in enumerate(("AUROC", "Brier")):
        for name, values in figures.items():
            yield f"| {name}, {figure} | " + " | ".join(f"{value[:, at].mean():.3f}" for value in values) + " |"
    mine = figures["understudy"]
    bars = {}
    falls = [b[:, 0].mean() - a[:, 0].mean() for a, b in pairwise(mine)]
    bars["falls by no more than .01"] = min(falls, default=0.0) >= -0.01
    if task.name == "pima":
        bars["AUROC on Pima"] = all(
            value[:, 0].mean() >= PIMA_BARS.get(epsilon, 0) for epsilon, value in zip(epsilons, mine, strict=True)
        )
    for name in set(figures) - {"understudy"}:
        same = min(halves[name], halves["understudy"])
        gaps = [a[:same, 0] - b[:same, 0] for a, b in zip(mine, figures[name], strict=True)]
        words = [f"{gap.mean():+.3f} ± {gap.std(ddof=1) / same**0.5:.3f}" for gap in gaps]
        yield f"| ahead of {name}, AUROC on the {same} halves of both | " + " | ".join(words) + " |"
        bars[f"ahead of {name}"] = all(gap.mean() > 0 for gap in gaps)
    if "interpret-core" in figures:
        brier = [a[:, 1].mean() - b[:, 1].mean() for a, b in zip(mine, figures["interpret-core"], strict=True)]
        bars["Brier score"] = max(brier) <= 0.01
    yield ""
    for bar, met in bars.items():
        yield f"{bar}: {'met' if met else 'MISSED'}"
