"""The collected numbers as Markdown tables."""

import math
from typing import Any

from experiments.ludia.charges import spread
from experiments.ludia.simulated import REFERENCE


def report(results: dict[str, Any]) -> str:
    """Every part that was collected."""
    known = {
        "errors": _errors,
        "starts": _starts,
        "iterations": _iterations,
        "clusters": _clusters,
        "hospital": _hospital,
        "charges": _charges,
    }
    return "\n\n".join(write(results[part]) for part, write in known.items() if part in results)


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *rows])


def _errors(found: dict[str, Any]) -> str:
    parts = []
    for kind, rows in found["kinds"].items():
        head = [f"{kind}, mean (median)", *(f"{size}" for size in found["sizes"])]
        lines = [[name, *(f"{p['mean']:.3g} ({p['median']:.3g})" for p in points)] for name, points in rows.items()]
        parts.append(_table(head, lines))
    lines = []
    for (kind, size, name), wanted in REFERENCE.items():
        if size in found["sizes"]:
            point = found["kinds"][kind][name][found["sizes"].index(size)]
            spread = point["se"] * math.sqrt(
                1 + found["repeats"] / 70
            )  # the reference has 40 to 100 replicates of its own
            z = (point["mean"] - wanted) / spread if spread else 0.0
            lines.append([kind, f"{size}", name, f"{point['mean']:.3f}", f"{wanted:.3f}", f"{z:+.1f}"])
    parts.append(_table(["model", "people per group", "method", "here", "PRIVACY", "z"], lines))
    return "\n\n".join(parts)


def _starts(found: dict[str, Any]) -> str:
    rows = []
    for name, values in found["mae"].items():
        ranked = sorted(values)
        rows.append([name, f"{sum(values) / len(values):.3f}", f"{ranked[len(ranked) // 2]:.3f}"])
    return _table(["RE1, 50 per group", "mean error", "median"], rows)


def _iterations(found: dict[str, Any]) -> str:
    head = ["LUDIA on FE, 50 per group, iterations", *found["steps"]]
    first = _table(
        head, [["mean absolute error", *(f"{p['mean']:.3f} ± {p['se']:.3f}" for p in found["steps"].values())]]
    )
    names = list(next(iter(found["many"].values())))
    second = _table(
        ["50 groups of 20", *names],
        [[kind, *(f"{row[name]:.3f}" for name in names)] for kind, row in found["many"].items()],
    )
    return f"{first}\n\n{second}"


def _clusters(found: dict[str, Any]) -> str:
    rows = []
    for number, row in enumerate(found["rows"]):
        for name in ("MCEM", "greedy"):
            part = row[name]
            eta = ", ".join(f"{value:.2f}" for value in part["eta"])
            rows.append(
                [
                    f"{number}",
                    name,
                    eta,
                    f"{part['mae']:.2f}",
                    f"{row['MP']:.2f}",
                    f"{row['oracle']:.2f}",
                    f"{part['accepted']:.0%}",
                ]
            )
    return _table(["simulation", "CUDIA", "means of clusters", "error", "MP", "oracle", "accepted"], rows)


def _hospital(found: dict[str, Any]) -> str:
    if "skipped" in found:
        return f"hospital: skipped, {found['skipped']}"
    parts = [f"{found['rows']:,} discharges"]
    lines = []
    for level, part in found["table"].items():
        for name, row in part["methods"].items():
            lines.append(
                [
                    f"{level} ({part['groups']})",
                    name,
                    f"{row['mae']:.3f} (±{row['mae_sd']:.2f})",
                    f"{row['mse']:.3f} (±{row['mse_sd']:.2f})",
                ]
            )
        lines.append(
            [
                f"{level} ({part['groups']})",
                "limit of one slope",
                f"{part['limit']['mae']:.3f}",
                f"{part['limit']['mse']:.3f}",
            ]
        )
    parts.append(_table(["level (groups)", "model", "MAE", "MSE"], lines))
    daily = found["daily"]
    parts.append(
        _table(
            ["diagnoses per day", "mean", "Wasserstein distance"],
            [["original", f"{daily['mean']:.3f}", ""]]
            + [[name, f"{row['mean']:.3f}", f"{row['wasserstein']:.3f}"] for name, row in daily["answers"].items()],
        )
    )
    fits = found["lines"]
    parts.append(
        _table(
            ["random intercepts", "slope of age", "MSE of effects"],
            [["original", f"{fits['original']['slope']:.4f}", ""]]
            + [[name, f"{row['slope']:.4f}", f"{row['mse']:.2g}"] for name, row in fits["answers"].items()],
        )
    )
    parts.append(
        _table(
            ["Lasso trained on", "MAE on held-out people"],
            [[name, f"{row['mae']:.3f} (±{row['sd']:.2f})"] for name, row in found["lasso"].items()],
        )
    )
    return "\n\n".join(parts)


_MEASURED = {
    "mae": "MAE",
    "mse": "MSE",
    "daily": "daily charges (4.6b)",
    "effects": "random effects (4.7)",
}


def _charges(found: dict[str, Any]) -> str:
    """Means over the repeats with their standard errors."""
    parts = []
    for table, study in found.items():
        if "skipped" in study:
            parts.append(f"{table}: skipped, {study['skipped']}")
            continue
        for level, part in study["levels"].items():
            groups, fixed = (sum(part[key]) // len(part[key]) for key in ("groups", "fixed"))
            head = [f"{table}, by {level} ({groups} groups, {fixed} people given away)", *_MEASURED.values()]
            lines = []
            for name, row in part["methods"].items():
                kept = f" (fell back {sum(row['fell_back']):.0f} times)" if sum(row.get("fell_back", [])) else ""
                lines.append([name + kept, *(_spread(study, row.get(key)) for key in _MEASURED)])
            parts.append(_table(head, lines))
        lines = [[name, _spread(study, row["mae"])] for name, row in study["lasso"].items()]
        parts.append(_table([f"{table}, Lasso (4.8) trained on", "MAE on held-out people"], lines))
    return "\n\n".join(parts)


def _spread(study: dict[str, Any], values: list[float] | None) -> str:
    return "" if values is None else "{:.3g} ± {:.2g}".format(*spread(study, values))
