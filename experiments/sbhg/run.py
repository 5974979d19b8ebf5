"""One command: collect, keep the numbers in a JSON file, print the tables, draw the figures."""

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from experiments.sbhg import figures, simulated
from experiments.sbhg.noise import noise, survival
from experiments.sbhg.real import real
from experiments.sbhg.report import report
from experiments.sbhg.wide import wide

OUT = Path("out") / "sbhg"

PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "noise": noise,
    "survival": survival,
    "dense": simulated.dense,
    "tables": simulated.tables,
    "figure1": simulated.figure1,
    "figure2": simulated.figure2,
    "figure3": simulated.figure3,
    "real": real,
    "wide": wide,
}
WIDE = "simulated tables of the survey's size"
FIGURES: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "sbhg-1-epsilon": ("figure1", figures.figure1),
    "sbhg-2-rows": ("figure2", figures.figure2),
    "sbhg-3-settings": ("figure3", figures.figure3),
    "sbhg-4-real-error": ("real", figures.figure4),
    "sbhg-5-real-accuracy": ("real", figures.figure5),
    "sbhg-4-wide-error": ("wide", partial(figures.figure4, tables=WIDE)),
    "sbhg-5-wide-accuracy": ("wide", partial(figures.figure5, tables=WIDE)),
    "sbhg-6-dense": ("dense", figures.figure6),
}


def main(*, quick: bool = False, only: Sequence[str] | None = None, out: Path = OUT) -> dict[str, Any]:
    """Run the parts; those left out by ``only`` keep what ``results.json`` of an earlier run says."""
    out.mkdir(parents=True, exist_ok=True)
    kept = out / "results.json"
    results: dict[str, Any] = (
        json.loads(kept.read_text(encoding="utf-8")) if only is not None and kept.is_file() else {}
    )
    for part in only if only is not None else PARTS:
        began = time.perf_counter()
        results[part] = PARTS[part](quick=quick)
        print(f"{part}: {time.perf_counter() - began:.0f} s", flush=True)
        kept.write_text(json.dumps(results, indent=1), encoding="utf-8")
    shown = [
        part for part in results if part != "real" or any("skipped" not in data for data in results[part].values())
    ]
    for name, (part, draw) in FIGURES.items():
        if part in shown:
            (out / f"{name}.svg").write_text(draw(results[part]), encoding="utf-8")
    print(report(results))
    print(f"numbers and figures: {out}")
    return results
