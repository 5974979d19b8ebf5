"""The figures of chapter 4, as SVG."""

from collections.abc import Sequence
from typing import Any

from experiments.chart import Line, Panel, chart
from experiments.ludia.simulate import KINDS
from understudy.pages.charts import (
    DEEP_BLUE,
    DEEP_ORANGE,
    SOFT,
    Scale,
    bar,
    cloud,
    dots,
    line,
    svg,
    text,
)  # fmt: skip

_STYLE = {
    "MP": 6,
    "ER": 1,
    "WLS-ER, corrected": 4,
    "LUDIA, +1 column, 100 it.": 0,
    "LUDIA, r = 2, 100 it.": 5,
    "LUDIA-SVD, r = 2": 3,
    "PC-ER, r = 2": 2,
    "shrunken (ours)": 7,
}
_TOP = 2.2


def errors(found: dict[str, Any]) -> str:
    """Figure 4.4."""
    panels = []
    for kind, rows in found["kinds"].items():
        lines = []
        for name, points in rows.items():
            low_rank_only = name in ("LUDIA, r = 2, 100 it.", "LUDIA-SVD, r = 2")
            if low_rank_only and kind != "LR":  # without a constant these cannot follow a model that has one
                continue
            lines.append(
                Line(
                    label=name,
                    style=_STYLE[name],
                    points=[(size, min(p["median"], _TOP)) for size, p in zip(found["sizes"], points, strict=True)],
                )
            )
        panels.append(
            Panel(title=KINDS[kind], x="people per group", y="mean absolute error", lines=lines, log_x=True, high=_TOP)
        )
    return chart(
        "Figure 4.4 again: error against people per group (five groups)",
        panels,
        note=f"Medians over {found['repeats']} data sets; values above {_TOP} are drawn at {_TOP}.",
    )


def starts(found: dict[str, Any]) -> str:
    """Figure 4.5."""
    titles = {
        name: f"{name}: median error {sorted(found['mae'][name])[len(found['mae'][name]) // 2]:.2f}"
        for name in found["answers"]
    }
    return _clouds(
        "Figure 4.5 again: reconstructed against original, random intercepts",
        found["original"],
        {titles[name]: values for name, values in found["answers"].items()},
        note="50 people in each of five groups, one data set; the median error is over 40 data sets.",
    )


def scatter(found: dict[str, Any]) -> str:
    """Figure 4.6a, in bands: no point of it is a person."""
    part = found["scatter"]
    original = part["original"]
    shown = ("MP", "ER", "WLS-ER, corrected", "LUDIA, held-out rank", "PC-ER, held-out rank", "shrunken (ours)")
    lines = [Line(label="perfect", style=7, points=[(value, value) for value in original])]
    lines += [
        Line(label=name, style=style, points=list(zip(original, part["answers"][name], strict=True)))
        for style, name in enumerate(shown)
        if name in part["answers"]
    ]
    return chart(
        "Figure 4.6a again, in bands: log days of care",
        [
            Panel(
                title="averages by region x beds x ownership",
                x="original",
                y="mean reconstructed",
                lines=lines,
                high=3.6,
            )
        ],
        note="Each mark: the people whose stay falls into one of ten bands.",
    )


def daily(found: dict[str, Any]) -> str:
    """Figure 4.6b."""
    part = found["daily"]
    middles = [(a + b) / 2 for a, b in zip(part["edges"][:-2:2], part["edges"][2::2], strict=True)]

    def pairs(shares: Sequence[float]) -> list[tuple[float, float]]:
        return [(x, a + b) for x, a, b in zip(middles, shares[::2], shares[1::2], strict=True)]

    shown = ("MP", "ER", "LUDIA, full rank, 100 it.", "LUDIA, held-out rank", "PC-ER, held-out rank", "shrunken (ours)")
    panels = [
        Panel(
            title=f"{name}: distance {part['answers'][name]['wasserstein']:.2f}",
            x="diagnoses per day of care",
            y="share",
            lines=[
                Line(label="original", style=0, points=pairs(part["original"])),
                Line(label="reconstructed", style=1, points=pairs(part["answers"][name]["shares"])),
            ],
        )
        for name in shown
        if name in part["answers"]
    ]
    return chart(
        "Figure 4.6b again: a ratio of a reconstructed and a known column",
        panels,
        note="Distance: mean difference of sorted ratios (Wasserstein-1). The number of diagnoses was masked.",
    )


def lines(found: dict[str, Any]) -> str:
    """Figure 4.7."""
    part = found["lines"]
    shown = ("MP", "ER", "LUDIA, held-out rank", "PC-ER, held-out rank", "shrunken (ours)")
    fits = {"original": part["original"], **{name: part["answers"][name] for name in shown if name in part["answers"]}}
    panels = []
    for name, fit in fits.items():
        order = sorted(range(len(fit["effects"])), key=lambda k: part["original"]["effects"][k])
        picked = [order[round(q * (len(order) - 1))] for q in (0.0, 0.25, 0.5, 0.75, 1.0)]
        title = name if name == "original" else f"{name}: MSE of effects {fit['mse']:.2g}"
        panels.append(
            Panel(
                title=title,
                x="age",
                y="log days of care",
                low=0.0,
                high=2.6,
                lines=[
                    Line(
                        label=f"group at quantile {q:g} of the original effects",
                        style=style,
                        points=[(age, fit["level"] + fit["effects"][k] + fit["slope"] * age) for age in (20, 90)],
                    )
                    for style, (q, k) in enumerate(zip((0, 0.25, 0.5, 0.75, 1), picked, strict=True))
                ],
                from_zero=False,
            )
        )
    return chart("Figure 4.7 again: random-intercept lines by region x beds x ownership", panels, across=3)


def lasso(found: dict[str, Any]) -> str:
    """Figure 4.8 as boxes: tenths, quartiles and medians of absolute errors on held-out people."""
    rows = found["lasso"]
    width, left, height = 860, 250, 46
    top = min(max(row["quantiles"][-1] for row in rows.values()) * 1.05, 2.4)
    total = 60 + height * len(rows) + 40

    def px(value: float) -> float:
        return left + min(value / top, 1.0) * (width - left - 90)

    title = "Figure 4.8 again: Lasso trained on reconstructed values, errors on held-out people"
    parts = [text(14, 26, title, size=16, weight=600)]
    for k, (name, row) in enumerate(rows.items()):
        y = 60 + height * k
        a, b, c, d, e = (px(value) for value in row["quantiles"])
        parts += [
            text(left - 10, y + 18, name, anchor="end"),
            line([(a, y + 14), (e, y + 14)], colour=SOFT, width=1),
            bar(b, y + 4, d - b, 20, fill="#cfe2f0", edge=DEEP_BLUE),
            line([(c, y + 4), (c, y + 24)], colour=DEEP_BLUE, width=2.5),
            dots([(px(row["mae"]), y + 14)], shape="diamond", size=6, colour=DEEP_ORANGE),
            text(e + 8, y + 18, f"{row['mae']:.3f}"),
        ]
    note = "Box: quartiles and median of the absolute error of log days; whiskers: tenths; number: mean. Cut at 2.4."
    return svg([*parts, text(14, total - 14, note, size=11)], width=width, height=total, title=title)


def _clouds(title: str, original: Sequence[float], answers: dict[str, Sequence[float]], *, note: str) -> str:
    side, gap, across = 250, 40, 3
    rows = -(-len(answers) // across)
    width, height = across * (side + gap) + 50, rows * (side + gap + 22) + 80
    low, high = min(original), max(original)
    pad = 0.06 * (high - low)
    low, high = low - pad, high + pad
    parts = [text(14, 26, title, size=16, weight=600)]
    for k, (name, values) in enumerate(answers.items()):
        x0, y0 = 50 + k % across * (side + gap), 62 + k // across * (side + gap + 22)
        wide = Scale(low=low, high=high, start=x0, end=x0 + side)
        up = Scale(low=low, high=high, start=y0 + side, end=y0)
        parts.append(text(x0, y0 - 8, name, size=12.5, weight=600))
        parts.append(bar(x0, y0, side, side, fill="none", edge="#888"))
        parts.append(line([(x0, y0 + side), (x0 + side, y0)], colour=SOFT, width=1, dash="3 3"))
        for tick in range(-6, 9, 2 if high - low > 5 else 1):
            if low < tick < high:
                parts.append(text(wide(tick), y0 + side + 14, str(tick), anchor="middle", size=10.5))
                parts.append(text(x0 - 5, up(tick) + 4, str(tick), anchor="end", size=10.5))
        parts.append(cloud([(wide(a), up(b)) for a, b in zip(original, values, strict=True)], colour=DEEP_BLUE))
    note = f"Across: original; up: reconstructed (cut to the frame). {note}"
    return svg([*parts, text(50, height - 12, note, size=11)], width=width, height=height, title=title)
