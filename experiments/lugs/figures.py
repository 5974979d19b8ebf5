"""The figures as SVG."""

import math
from typing import Any

from experiments.chart import Line, Panel, chart

__all__ = ["FIGURES"]
TITLES = {"nhds": "NHDS 2010", "discharges": "generated discharges"}


def _paths(found: dict[str, Any]) -> str:
    study = found.get("nhds") or found["discharges"]
    panels = [
        Panel(
            title=name,
            x="sweep",
            y="code",
            lines=[Line(label="one chain", style=6, points=list(enumerate(codes)))],
        )
        for name, codes in study["path"].items()
    ]
    return chart("Figure 2: 300 sweeps of one chain, log l = 0.1", panels, across=3)


def _autocorrelation(found: dict[str, Any]) -> str:
    panels = [
        Panel(
            title=TITLES[name],
            x="sweeps apart",
            y="autocorrelation",
            high=1.0,
            lines=[
                *(
                    Line(label=f"{TITLES[name]}: {column}", style=style, points=list(enumerate(rho)))
                    for style, (column, rho) in enumerate(study["autocorrelation"].items())
                ),
                Line(label="0.1", style=7, points=[(0, 0.1), (20, 0.1)]),
            ],
        )
        for name, study in found.items()
    ]
    return chart("Figure 3: how fast chains forget (agreement beyond chance), log l = 0.1", panels)


def _histograms(found: dict[str, Any], which: int, number: int) -> str:
    panels = []
    for study in found.values():
        column = list(study["labels"])[which]
        truth = study["real"]["histograms"][column]
        order = sorted(range(len(truth)), key=lambda level: -truth[level])
        points = study["points"]
        shown = [(0, "confidential", truth)] + [
            (style, f"log l = {point['log_l']}", point["histograms"][column])
            for style, point in enumerate((points[1], points[len(points) // 2], points[-1]), start=1)
        ]
        few = [_ranked(label, style, counts, order[:30]) for style, label, counts in shown]
        where = f"{study['title']}, {column}"
        panels.append(Panel(title=f"{where}: the commonest 30", x="level, by real rank", y="share of rows", lines=few))
        every = [_tail(label, style, counts, order) for style, label, counts in shown]
        least = min(y for line in every for _, y in line.points)
        panels.append(
            Panel(
                title=f"{where}: all levels",
                x="level, by real rank",
                y="log10 of the share of rows",
                lines=every,
                log_x=True,
                low=math.floor(least),
            )
        )
    return chart(f"Figure {number}: marginal histograms against log l", panels)


def _ranked(label: str, style: int, counts: list[int], shown: list[int]) -> Line:
    total = sum(counts)
    points = [(rank, counts[level] / total) for rank, level in enumerate(shown) if counts[level]]
    return Line(label=label, style=style, points=points)


def _tail(label: str, style: int, counts: list[int], order: list[int]) -> Line:
    """Mean share of the levels between ranks that grow by a fifth, so that rare levels can be seen."""
    total, points, start = sum(counts), [], 0
    while start < len(order):
        end = min(len(order), max(start + 1, round(start * 1.2)))
        share = sum(counts[level] for level in order[start:end]) / (end - start) / total
        if share:
            points.append(((start + end + 1) / 2, math.log10(share)))
        start = end
    return Line(label=label, style=style, points=points)


def _procedures(found: dict[str, Any]) -> str:
    return _histograms(found, 0, 4)


def _groups(found: dict[str, Any]) -> str:
    return _histograms(found, 1, 5)


def _against(study: dict[str, Any], key: str, real: float, title: str, y: str) -> Panel:
    points = [(point["log_l"], point[key]) for point in study["points"]]
    ends = [(points[0][0], real), (points[-1][0], real)]
    return Panel(
        title=title,
        x="log l",
        y=y,
        lines=[
            Line(label="LUGS", style=0, points=points),
            Line(label="confidential (for artificial records: what new real rows would give)", style=4, points=ends),
        ],
    )


def _three(found: dict[str, Any]) -> str:
    panels = []
    for study in found.values():
        real = study["real"]
        panels += [
            _against(study, "chi_square", real["chi_square"], f"{study['title']}: three-way association", "chi-square"),
            _against(study, "missing", real["missing"], f"{study['title']}: missing values", "share of values"),
            _against(
                study,
                "artificial",
                real["new_rows_artificial"],
                f"{study['title']}: artificial records",
                "share of rows",
            ),
        ]
    return chart("Figure 6: chi-square, missing values and artificial records", panels, across=3)


def _sizes(found: dict[str, Any]) -> str:
    """What figure 6 shows, and the autocorrelation of figure 3, against the number of records."""
    measures = (
        ("artificial", "artificial records", "new real rows"),
        ("missing", "missing values", "real missing"),
        ("autocorrelation", "autocorrelation, lag 5", ""),
    )
    panels = []
    for name, by_rows in found.items():
        for key, title, reference in measures:
            levels = list(next(iter(by_rows.values())))
            lines = [
                Line(
                    label=f"log l = {log_l}",
                    style=style,
                    points=[(int(rows), by_l[log_l][key][0]) for rows, by_l in by_rows.items()],
                    spread=[by_l[log_l][key][1] for by_l in by_rows.values()],
                )
                for style, log_l in enumerate(levels)
            ]
            if reference:
                real = [(int(rows), by_l[levels[0]][reference][0]) for rows, by_l in by_rows.items()]
                lines.append(
                    Line(label="confidential (artificial: what new real rows would give)", style=4, points=real)
                )
            panels.append(Panel(title=f"{TITLES[name]}: {title}", x="records", y="share", lines=lines, log_x=True))
    return chart(
        "Figures 3 and 6 against the size of the table",
        panels,
        across=3,
        note="Five random samples of each size; bars: one standard deviation. The paper has 15,000 records.",
    )


def _lasso(found: dict[str, Any]) -> str:
    panels = []
    for study in found.values():
        chosen = [point for point in study["points"] if "mse" in point]
        for key, penalties, title in (
            ("mse", "penalties", "mean squared error"),
            ("auc", "auc_penalties", "area under ROC"),
        ):
            lines = [
                Line(label="trained on real rows", style=4, points=_curve(chosen[0][penalties], study["real"][key]))
            ]
            for style, point in enumerate(chosen):
                lines.append(
                    Line(label=f"log l = {point['log_l']}", style=style, points=_curve(point[penalties], point[key]))
                )
            panels.append(
                Panel(
                    title=f"{study['title']}: {title} on real rows",
                    x="penalty",
                    y=title,
                    lines=lines,
                    log_x=True,
                    low=0.5 if key == "auc" else 0.0,
                )
            )
    return chart("Figure 7: Lasso trained on synthetic rows", panels)


def _curve(penalties: list[float], values: list[float]) -> list[tuple[float, float]]:
    return sorted(zip(penalties, values, strict=True))


def _memory(found: dict[str, Any]) -> str:
    panels = []
    spaces = sorted({point["key_space"] for point in found["points"]})
    for key, title in (
        ("conditional_mae", "error of conditionals"),
        ("marginal_mae", "error of marginals"),
        ("unseen", "draws from unseen keys"),
        ("mean_weight", "mean mixing weight"),
    ):
        lines = []
        for style, space in enumerate(spaces):
            mine = [point for point in found["points"] if point["key_space"] == space]
            lines.append(
                Line(
                    label=f"{space:,} keys, 1 to 8 hashes",
                    style=style,
                    points=[(point["bytes"] / 2**20, point[key]) for point in mine],
                )
            )
        panels.append(Panel(title=title, x="MiB of tables", y=title, lines=lines, log_x=True))
    return chart(
        "Memory against fidelity: hashes and key space, generated discharges, log l = 0.1",
        panels,
        note="along each line the number of hashes grows: 1, 2, 3, 4, 6, 8",
    )


FIGURES = {
    "lugs-2-trace": ("chains", _paths),
    "lugs-3-autocorrelation": ("chains", _autocorrelation),
    "lugs-4-procedures": ("levels", _procedures),
    "lugs-5-groups": ("levels", _groups),
    "lugs-6-records": ("levels", _three),
    "lugs-6-sizes": ("sizes", _sizes),
    "lugs-7-lasso": ("levels", _lasso),
    "lugs-memory": ("memory", _memory),
}
