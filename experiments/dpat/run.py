"""One command: collect, keep the numbers in a JSON file, print the tables, draw the figures."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.dpat import attacks, figures
from experiments.dpat.accuracy import CALLS, EPSILONS, accuracy, peers
from experiments.dpat.data import Absent, load
from experiments.dpat.roc import roc

OUT = Path("out") / "dpat"

PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "pima": lambda *, quick: accuracy("pima", quick=quick),
    "mimic": lambda *, quick: accuracy("mimic", quick=quick),
    "peers": peers,
    "roc": roc,
    "membership": attacks.membership,
    "inversion": attacks.inversion,
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
        try:
            results[part] = PARTS[part](quick=quick)
        except Absent as reason:
            results[part] = {"skipped": str(reason)}
        print(f"{part}: {time.perf_counter() - began:.0f} s", flush=True)
        kept.write_text(json.dumps(results, indent=1), encoding="utf-8")
    for name, drawn in _figures(results).items():
        (out / f"{name}.svg").write_text(drawn, encoding="utf-8")
    print(report(results))
    print(f"numbers and figures: {out}")
    return results


def _figures(results: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        load("pima")
    except Absent:
        return found
    found |= figures.structures()
    found["dpat-reliability"] = figures.reliability_figure()
    measured = {name: one for name, one in results.items() if name in ("pima", "mimic") and "skipped" not in one}
    for name, number in (("pima", "5.6"), ("mimic", "5.7")):
        if name in measured:
            curves, others = results.get("roc", {}).get(name), results.get("peers", {}).get(name, {})
            drawn = figures.auroc_figure(measured[name], curves, others, number, load(name).title)
            found[f"dpat-{number.replace('.', '-')}-{name}"] = drawn
    if measured:
        found["dpat-calls"] = figures.calls_figure(measured)
    return found


def report(results: dict[str, Any]) -> str:
    """The tables as text."""
    lines: list[str] = []
    for name in ("pima", "mimic"):
        one = results.get(name)
        if not one:
            continue
        if "skipped" in one:
            lines.append(f"{name}: {one['skipped']}")
            continue
        lines.append(
            f"\n{name}: AUROC, mean and deviation over {one['repeats']} random halves of {one['rows']:,} records"
        )
        lines.append("epsilon".ljust(26) + "".join(f"{epsilon:>14g}" for epsilon in EPSILONS))
        rows = dict(one["curves"])
        others = results.get("peers", {}).get(name, {})
        if "best" in others:
            rows["diffprivlib, best of five"] = others["best"]
        for label, by in rows.items():
            cells = (by.get(str(epsilon)) for epsilon in EPSILONS)
            shown = ("" if cell is None else f"{cell['mean']:.3f} ±{cell['deviation']:.3f}" for cell in cells)
            lines.append(label.ljust(26) + "".join(f"{cell:>14}" for cell in shown))
        brier = one["curves"]["forest"].values()
        lines.append("forest, Brier score".ljust(26) + "".join(f"{cell['brier']:>14.3f}" for cell in brier))
        lines.append("forest, mean noise band".ljust(26) + "".join(f"{cell['band']:>14.3f}" for cell in brier))
        for label, cell in one["plain"].items():
            lines.append(f"{label}, no privacy: {cell['mean']:.3f} ±{cell['deviation']:.3f}")
        lines.append("price of DPaT and EDPaT, were their noise private: epsilon times the calls, " + _prices())
    if "skipped" not in results.get("membership", {"skipped": ""}):
        lines.append("\ncase study 5.0.2: right guesses at one person's diagnosis (a coin: 0.5)")
        for label, one in results["membership"].items():
            bound = "none" if one["bound"] is None else f"{one['bound']:.3f}"
            lines.append(f"{label.ljust(26)} {one['right']:.3f} ({one['low']:.3f} to {one['high']:.3f}); bound {bound}")
    if "skipped" not in results.get("inversion", {"skipped": ""}):
        lines.append("\ncase study 5.0.1: how sure Bob is of Alice's glucose band after seeing her score")
        for label, one in results["inversion"].items():
            lines.append(f"{label.ljust(30)} {one['sure']:.3f}; inputs that fit: {one['left']:,.0f} of {one['of']:,}")
    return "\n".join(lines)


def _prices() -> str:
    return "; ".join(f"{calls:,} calls at epsilon 1: {calls:,}" for calls in CALLS)
