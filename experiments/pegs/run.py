"""One command: collect, keep the numbers in a JSON file, draw the figures, print what agrees."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.pegs import figures
from experiments.pegs.blocks import blocks, sweep
from experiments.pegs.maps import maps
from experiments.pegs.report import report
from experiments.pegs.settings import SETTINGS

OUT = Path("out") / "pegs"


def main(*, quick: bool = False, only: Sequence[str] | None = None, out: Path = OUT) -> dict[str, Any]:
    """All figures of all tables that are there; those left out by ``only`` keep their last results."""
    out.mkdir(parents=True, exist_ok=True)
    kept = out / "results.json"
    results: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8")) if only and kept.is_file() else {}
    for name in only or SETTINGS:
        setting = SETTINGS[name](quick=quick)
        if setting is None:
            results[name] = None
            continue
        found = {"blocks": blocks(setting), "sweep": sweep(setting), "maps": maps(setting, quick=quick)}
        results[name] = found
        (out / f"pegs-{name}-5-blocks.svg").write_text(figures.blocks(found["blocks"]), encoding="utf-8")
        for figure, drawn in figures.maps(found["maps"]).items():
            (out / f"pegs-{name}-{figure}.svg").write_text(drawn, encoding="utf-8")
        kept.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(report(results))
    print(f"numbers and figures: {out}")
    return results
