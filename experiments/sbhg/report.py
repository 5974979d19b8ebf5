"""The collected numbers as Markdown tables."""

import math
from typing import Any

PAPER = {
    "dense": {"empirical sampler": 978.25, "Gibbs sampler": 1302.44, "SBHG (R=2)": 1461.92, "SBHG+EM (R=2)": 1323.81},
    "sparse": {"empirical sampler": 1101.24, "Gibbs sampler": 1337.21, "SBHG (R=3)": 1531.72, "SBHG+EM (R=3)": 1429.84},
}


def report(results: dict[str, Any]) -> str:
    """Every part that was collected."""
    known = {"noise": _noise, "survival": _survival, "tables": _tables, "figure2": _rows, "real": _real, "wide": _real}
    return "\n\n".join(write(results[part]) for part, write in known.items() if part in results)


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _noise(found: dict[str, Any]) -> str:
    head = ["columns", *next(iter(found.values()))]
    rows = [
        [columns, *(f"{cell['deviation']:.1f} / {cell['threshold']}" for cell in cells.values())]
        for columns, cells in found.items()
    ]
    return _table(head, rows)


def _survival(found: dict[str, Any]) -> str:
    head = ["table", *next(iter(found.values()))]
    return _table(head, [[name, *map(str, cells.values())] for name, cells in found.items()])


def _tables(found: dict[str, Any]) -> str:
    parts = []
    for title, rows in found.items():
        paper = PAPER[title.split(",")[0]]
        lines = []
        for name, point in rows.items():
            if name == "floor":
                continue
            tv = "-" if point["two_way"] is None else f"{point['two_way']:.3f}"
            nothing = f"{point['refused']} of {point['runs']}" if point["refused"] else "-"
            said = f"{paper[name]:,.0f}" if name in paper and title.endswith(" 0.5") else ""
            full = f"{point['mean']:,.0f} ± {point['sd']:,.0f}"
            lines.append([name, full, f"{point['mean'] / 2:,.0f}", nothing, tv, said])
        head = ["method", "L1", "half L1", "nothing released", "two-way TV", "paper"]
        least = math.floor(max(0.0, rows["floor"]["mean"]))  # a bound from below is never rounded up
        floor = f"\nNo private file of n rows can be below L1 = {least:,} on average."
        parts.append(f"### {title}\n\n{_table(head, lines)}\n{floor}")
    return "\n\n".join(parts)


def _rows(found: dict[str, Any]) -> str:
    head = ["synthetic rows", *(f"{count:,}" for count in found["rows"])]
    return _table(head, [[name, *(f"{p['mean']:,.0f}" for p in points)] for name, points in found["series"].items()])


def _real(found: dict[str, Any]) -> str:
    parts = []
    for title, data in found.items():
        if "skipped" in data:
            parts.append(f"{title}: skipped, {data['skipped']}")
            continue
        head = ["method", *(f"{epsilon:g}" for epsilon in data["epsilons"])]
        facts = ", ".join(
            f"{key} {data[key]:,.6g}" for key in ("rows", "held out", "columns", "combinations", "occupied")
        )
        accuracy = f"accuracy on real rows {data['real accuracy']:.3f}, commoner label {data['majority']:.3f}"
        parts.append(f"### {title}: {facts}; {accuracy}")
        for what, of, form in (
            ("L1", "mean", ",.0f"),
            ("two-way TV", "two_way", ".3f"),
            ("accuracy", "accuracy", ".3f"),
        ):
            rows = [
                [name, *("-" if p[of] is None else format(p[of], form) + _stars(p) for p in points)]
                for name, points in data["series"].items()
            ]
            parts.append(f"{what} (in brackets: runs that released nothing)\n\n{_table(head, rows)}")
    return "\n\n".join(parts)


def _stars(point: dict[str, Any]) -> str:
    return f" ({point['refused']} of {point['runs']})" if point["refused"] else ""
