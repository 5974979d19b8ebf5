"""The collected numbers as line charts."""

from collections.abc import Sequence
from typing import Any

from experiments.chart import Line, Panel, chart
from experiments.sbhg.simulate import ROWS

HOLLOW = "Hollow markers: most runs released nothing at all, which counts as L1 = n."
L1 = "L1 of whole-record counts"


def _line(
    label: str, style: int, xs: Sequence[float], points: Sequence[dict[str, Any]], of: str = "mean", over: float = 1.0
) -> Line:
    """L1 and time of every point, hollow where most runs were refused; other measures only where most were not."""
    kept = [
        (x, point)
        for x, point in zip(xs, points, strict=True)
        if of in ("mean", "seconds") or (point[of] is not None and not _mostly_refused(point))
    ]
    return Line(
        label=label,
        style=style,
        points=[(x, point[of] / over) for x, point in kept],
        hollow=[_mostly_refused(point) for _, point in kept],
    )


def _mostly_refused(point: dict[str, Any]) -> bool:
    return bool(2 * point["refused"] > point["runs"])


def _level(label: str, style: int, xs: Sequence[float], value: float) -> Line:
    return Line(label=label, style=style, points=[(min(xs), value), (max(xs), value)])


def figure1(found: dict[str, Any]) -> str:
    """L1 against epsilon, simulated tables."""
    panels = []
    for title in ("dense", "sparse"):
        for part, (low, high) in zip("ab" if title == "dense" else "cd", ((0.1, 1), (1, 10)), strict=True):
            chosen = [i for i, e in enumerate(found["epsilons"]) if low <= e <= high]
            xs = [found["epsilons"][i] for i in chosen]
            series = {name: [points[i] for i in chosen] for name, points in found[title].items()}
            paper = next(name for name in series if name.startswith("SBHG+EM") and not name.endswith("R=1"))
            lines = [
                _line("SBA, released histogram", 0, xs, series["SBA"]),
                _line("SBA, expected (Prop. 2.1 corrected)", 6, xs, series["SBA, expected"]),
                _line("SBHG+EM, R of the paper", 1, xs, series[paper]),
                _line("SBHG+EM, R=1", 2, xs, series["SBHG+EM, R=1"]),
                _line("sbhg-gauss, R=1", 3, xs, series["sbhg-gauss, R=1"]),
                _line("PrivBayes", 4, xs, series["PrivBayes"]),
            ]
            floor = [(x, value) for x, value in zip(xs, series["floor"], strict=True) if value > 0]
            if floor:
                lines.append(Line(label="no private file of n rows can be below", style=7, points=floor))
            panels.append(Panel(title=f"({part}) {title}", x="epsilon (delta = 1e-4)", y=L1, lines=lines, high=6000))
    return chart(f"Figure 1: error of private methods on simulated tables, n = {ROWS:,}", panels, note=HOLLOW)


def figure2(found: dict[str, Any]) -> str:
    """L1 against the number of synthetic rows."""
    lines = [_line(name, i, found["rows"], points) for i, (name, points) in enumerate(found["series"].items())]
    panel = Panel(
        title="dense, counts rescaled to 3,000 rows",
        x="synthetic rows",
        y=L1,
        lines=lines,
        log_x=True,
    )
    return chart("Figure 2: more synthetic rows", [panel], note=HOLLOW)


def figure3(found: dict[str, Any]) -> str:
    """Number of parents, time, epsilon, delta on the sparse table."""
    base = found["baselines"]
    counts, epsilons, deltas = found["parents"], found["epsilons"], found["deltas"]
    by_parents, by_epsilon, by_delta = found["by parents"], found["by epsilon"], found["by delta"]

    def baselines(xs: Sequence[float], of: str = "mean") -> list[Line]:
        return [
            _level("empirical sampler (not private)", 6, xs, base["empirical sampler"][of]),
            _level("Gibbs sampler (not private)", 7, xs, base["Gibbs sampler"][of]),
        ]

    panels = [
        Panel(
            title="(a) parents, L1",
            x="parents R (delta = 5e-4)",
            y=L1,
            from_zero=False,
            high=6000,
            lines=[_line(f"epsilon {e}", i, counts, by_parents[e]) for i, e in enumerate(by_parents)]
            + baselines(counts),
        ),
        Panel(
            title="(b) parents, time",
            x="parents R",
            from_zero=False,
            y="seconds to fit and draw",
            lines=[_line(f"epsilon {e}", i, counts, by_parents[e], "seconds") for i, e in enumerate(by_parents)],
        ),
        Panel(
            title="(c) epsilon, L1",
            x="epsilon (delta = 5e-4)",
            y=L1,
            high=6000,
            log_x=True,
            lines=[_line(f"R = {r}", 2 + i, epsilons, by_epsilon[r]) for i, r in enumerate(by_epsilon)]
            + baselines(epsilons),
        ),
        Panel(
            title="(d) delta, L1, R = 1",
            x="delta",
            y=L1,
            high=6000,
            log_x=True,
            lines=[_line(f"epsilon {e}", i * 4 if i else 0, deltas, by_delta[e]) for i, e in enumerate(by_delta)]
            + baselines(deltas),
        ),
        Panel(
            title="(e) epsilon, two-way tables",
            x="epsilon (delta = 5e-4), where rows could be drawn",
            y="total variation distance",
            high=1.0,
            log_x=True,
            lines=[_line(f"R = {r}", 2 + i, epsilons, by_epsilon[r], "two_way") for i, r in enumerate(by_epsilon)]
            + baselines(epsilons, "two_way"),
        ),
    ]
    return chart("Figure 3: SBHG (parents by raw mutual information) on the sparse table", panels, note=HOLLOW)


SHOWN = {
    "SBA": 0,
    "SBHG, R=1": 1,
    "SBHG+EM, R=1": 2,
    "SBHG+EM, R=2": 5,
    "sbhg-gauss, R=1": 3,
    "PrivBayes": 4,
}


WHAT = {"mean": "whole records", "two_way": "two-way tables", "accuracy": "accuracy"}


def _real(found: dict[str, Any], of: str, *, share: bool) -> list[Panel]:
    panels = []
    for title, data in found.items():
        if "skipped" in data:
            continue
        xs = data["epsilons"]
        over = data["rows"] if share else 1.0
        lines = [_line(name, style, xs, data["series"][name], of, over) for name, style in SHOWN.items()]
        if of == "accuracy":
            lines += [
                _level("trained on the real rows", 6, xs, data["real accuracy"]),
                _level("always the commoner label", 7, xs, data["majority"]),
            ]
        panels.append(
            Panel(
                title=f"{title}, {data['columns']} columns: {WHAT[of]}",
                x="epsilon (delta = 1e-6)",
                y={"accuracy": "accuracy on held-out rows", "mean": "L1 / n", "two_way": "total variation distance"}[
                    of
                ],
                lines=lines,
                log_x=True,
                low=0.4 if of == "accuracy" else 0.0,
                high={"accuracy": 0.9, "mean": 2.0}.get(of),
            )
        )
    return panels


def figure4(found: dict[str, Any], tables: str = "real data") -> str:
    """L1, then two-way tables, against epsilon."""
    errors, pairs = _real(found, "mean", share=True), _real(found, "two_way", share=False)
    return chart(
        f"Figure 4: error on {tables}",
        [*errors, *pairs],
        note=HOLLOW + " Below, they are left out.",
    )


def figure5(found: dict[str, Any], tables: str = "real data") -> str:
    """Accuracy of a logistic regression against epsilon."""
    return chart(
        f"Figure 5: logistic regression trained on synthetic rows, {tables}",
        _real(found, "accuracy", share=False),
        note="Points where most runs released nothing are left out.",
    )


def figure6(found: dict[str, Any]) -> str:
    """The dense table of appendix A: every combination, and how many occur how often."""
    counts = found["counts"]
    often = [(times, float(counts.count(times))) for times in range(max(counts) + 1)]
    occupied = found["occupied"]
    return chart(
        "Figure 6: one simulated dense table, 3,000 rows in 1,000 combinations",
        [
            Panel(
                title="every combination, in order of its levels",
                x="combination",
                y="rows",
                lines=[Line(label="rows of a combination", style=6, points=list(enumerate(counts)))],
            ),
            Panel(
                title="how many combinations occur so often",
                x="rows",
                y="combinations",
                lines=[Line(label="combinations with so many rows", style=0, points=often)],
            ),
        ],
        note=f"{min(occupied)} to {max(occupied)} of the 1,000 combinations occur in {len(occupied)} such tables.",
    )
