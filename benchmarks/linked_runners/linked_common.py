"""What all runners of linked tables share: arguments, clocks, and files that any environment can read.

A runner is given a folder with ``patients.csv``, ``encounters.csv``, ``levels.json`` (for each table its columns with
their levels) and ``book.toml``, then epsilon, delta and a folder for the tables that it makes. It prints one line of
JSON. Only the standard library and pandas are needed here.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from common import peak, processor

PATIENT, CAP = "patient_nbr", 5
Tables = dict[str, pd.DataFrame]
Levels = dict[str, dict[str, list[str]]]
Make = Callable[[Tables, Levels, Path, float, float], Callable[[], Tables]]
"""Fits on the tables and gives a function that draws."""


def run(make: Make) -> None:
    """Fit, draw, write, and say how long it took."""
    folder, out = Path(sys.argv[1]), Path(sys.argv[4])
    epsilon, delta = float(sys.argv[2]), float(sys.argv[3])
    levels = json.loads((folder / "levels.json").read_text())
    tables = {
        name: pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False)
        for name in ("patients", "encounters")
    }
    start, used = time.perf_counter(), processor()
    draw = make(tables, levels, folder, epsilon, delta)
    fitted = time.perf_counter()
    made = draw()
    drawn = time.perf_counter()
    for name, table in made.items():
        table.to_csv(out / f"{name}.csv", index=False)
    figures = {
        "fit": fitted - start,
        "draw": drawn - fitted,
        "processor": processor() - used,
        "megabytes": peak(),
    }
    print(json.dumps(figures))
