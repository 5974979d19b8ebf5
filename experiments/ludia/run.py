"""One command: collect, keep the numbers in a JSON file, print the tables, draw the figures."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.ludia import charges, figures, hospital, simulated
from experiments.ludia.report import report

OUT = Path("out") / "ludia"

PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "errors": simulated.errors,
    "starts": simulated.starts,
    "iterations": simulated.iterations,
    "clusters": simulated.clusters,
    "hospital": hospital.hospital,
    "charges": charges.charges,
}
FIGURES: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "ludia-4-4-errors": ("errors", figures.errors),
    "ludia-4-5-starts": ("starts", figures.starts),
    "ludia-4-6a-scatter": ("hospital", figures.scatter),
    "ludia-4-6b-daily": ("hospital", figures.daily),
    "ludia-4-7-lines": ("hospital", figures.lines),
    "ludia-4-8-lasso": ("hospital", figures.lasso),
    "ludia-charges-4-3-errors": ("charges", figures.charges_table),
    "ludia-charges-4-6a-points": ("charges/simulated", figures.charges_points),
    "ludia-charges-4-6a-new-york": ("charges/sparcs", figures.charges_bands),
    "ludia-charges-4-6b-daily": ("charges/simulated", figures.charges_daily),
    "ludia-charges-4-7-lines": ("charges/simulated", figures.charges_lines),
    "ludia-charges-4-8-lasso": ("charges/simulated", figures.charges_lasso),
    "ludia-charges-4-8-new-york": ("charges/sparcs", figures.charges_lasso),
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
    for name, (part, draw) in FIGURES.items():
        study = results
        for step in part.split("/"):
            study = study.get(step, {"skipped": "not run"})
        if "skipped" not in study:
            (out / f"{name}.svg").write_text(draw(study), encoding="utf-8")
    print(report(results))
    print(f"numbers and figures: {out}")
    return results
