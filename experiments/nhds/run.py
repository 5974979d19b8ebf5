"""Releases of NHDS at three prices: every rule in every row, distances, time and memory."""

import resource
import time
from typing import Any

import numpy as np
import pyarrow as pa

from experiments.nhds.tables import Absent, load
from understudy.codebook import Codebook
from understudy.evaluate.remembered import Remembered
from understudy.evaluate.utility.columns import order_distance
from understudy.evaluate.utility.distances import tvd_one_way, tvd_two_way
from understudy.evaluate.utility.survey import weighted_mean, weighted_tvd
from understudy.sources import open_source
from understudy.sources.check import check_table
from understudy.synth import Marginals

__all__ = ["main", "release"]

EPSILONS = (1.0, 3.0, 10.0)
DELTA = 1e-7
DETAILS = 0.4
"""Share of epsilon for the three tables of details."""
QUICK_ROWS = 5_000
HEADINGS = (
    "epsilon", "seconds", "peak MiB", "faults", "1-way", "2-way", "weighted", "order", "dx other", "pc other",
    "drg other",
)  # fmt: skip


def main(*, quick: bool = False) -> None:
    """Print one line per price, as a table for the report."""
    try:
        table, book = load()
    except Absent as reason:
        print(f"left out: {reason}")
        return
    faults = check_table(table, book)
    print(f"{table.num_rows:,} records, {len(book.released)} columns; rules broken by real rows: {len(faults)}")
    for fault in faults:
        print(f"  {fault.sentence}")
    rows = QUICK_ROWS if quick else table.num_rows
    print("| " + " | ".join(HEADINGS) + " |")
    print("| --- " * len(HEADINGS) + "|")
    for epsilon in EPSILONS[1:2] if quick else EPSILONS:
        found = release(table, book, epsilon=epsilon, rows=rows)
        print("| " + " | ".join(f"{value:.4g}" for value in found.values()) + " |", flush=True)


def release(table: pa.Table, book: Codebook, *, epsilon: float, rows: int) -> dict[str, Any]:
    """One release, and what is said about it."""
    source = open_source(table, book)
    start = time.perf_counter()
    recipe = Marginals(
        epsilon=(1 - DETAILS) * epsilon, delta=DELTA, detail_epsilon=DETAILS * epsilon, detail_delta=DELTA
    )
    made = recipe.fit(source).sample(rows)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    broken = sum(fault.count for fault in check_table(made.table, book))
    real, copy = Remembered(source), Remembered(open_source(made.table, book))
    means = [weighted_mean(side, "days") for side in (real, copy)]
    print(f"epsilon {epsilon:g}: {made.manifest.total}; weighted mean stay {means[0].value:.3f}, {means[1].value:.3f}")
    others = {name: _share(made.table[name].to_pylist(), "other") for name in ("dx", "pc", "drg")}
    return {
        "epsilon": epsilon,
        "seconds": seconds,
        "peak": peak,
        "broken": broken,
        "one": tvd_one_way(real, copy).value,
        "two": tvd_two_way(real, copy).value,
        "weighted": weighted_tvd(real, copy).value,
        "order": order_distance(real, copy).value,
        **others,
    }


def _share(values: list[str], level: str) -> float:
    return float(np.mean([value == level for value in values]))
