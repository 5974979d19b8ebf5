"""One command: collect, keep the numbers in a JSON file, print the comparison with the paper, draw the figures."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.lugs.collect import chains, levels, memory, partitions, sizes
from experiments.lugs.figures import FIGURES

OUT = Path("out") / "lugs"
PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "chains": chains,
    "levels": levels,
    "sizes": sizes,
    "partitions": partitions,
    "memory": memory,
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
        kept.write_text(json.dumps(results), encoding="utf-8")
    for name, (part, draw) in FIGURES.items():
        if part in results:
            (out / f"{name}.svg").write_text(draw(results[part]), encoding="utf-8")
    print(report(results))
    print(f"numbers and figures: {out}")
    return results


def report(results: dict[str, Any]) -> str:
    """The paper's statements beside ours."""
    lines = []
    for name, study in results.get("chains", {}).items():
        worst = max(study["autocorrelation"].items(), key=lambda item: item[1][5])
        lines.append(
            f"{name}: autocorrelation after 5 sweeps at most {worst[1][5]:.3f} ({worst[0]}; paper: below 0.1); "
            f"{study['unseen']:.1%} of draws from unseen keys, {study['lost']:.3%} without a near block"
        )
        lines += ["| sweep | " + " | ".join(study["path"]) + " |", "| --- " * (len(study["path"]) + 1) + "|"]
        lines += [f"| {sweep} | " + " | ".join(row) + " |" for sweep, row in enumerate(study["rows"])]
    for name, study in results.get("levels", {}).items():
        real = study["real"]
        lines.append(
            f"{name}, {study['rows']:,} rows; real: chi-square {real['chi_square']:,.0f}, missing "
            f"{real['missing']:.2%}, new real rows would be artificial in {real['new_rows_artificial']:.1%}, "
            f"least MSE {min(real['mse']):.3f} of variance {real['variance']:.3f}, best AUC {max(real['auc']):.3f}"
        )
        for point in study["points"]:
            trained = f", least MSE {min(point['mse']):.3f}, best AUC {max(point['auc']):.3f}" if "mse" in point else ""
            lines.append(
                f"  log l {point['log_l']:.2f}: chi-square {point['chi_square']:,.0f}, missing {point['missing']:.2%}, "
                f"artificial {point['artificial']:.1%}, mean weight {point['mean_weight']:.3f}{trained}"
            )
    for name, by_rows in results.get("sizes", {}).items():
        for rows, by_l in by_rows.items():
            lines += [
                f"{name}, {int(rows):,} records, log l {log_l}: {_numbers(found)}" for log_l, found in by_l.items()
            ]
    for name, by_count in results.get("partitions", {}).items():
        lines += [f"{name}, {count} partitions: {_numbers(found)}" for count, found in by_count.items()]
    return "\n".join(lines)


def _numbers(found: dict[str, list[float]]) -> str:
    return ", ".join(f"{key} {mean:.4g} ± {spread:.2g}" for key, (mean, spread) in found.items())
