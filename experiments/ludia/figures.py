"""The figures of chapter 4, as SVG."""

import math
from collections.abc import Sequence
from typing import Any

from experiments.chart import Line, Panel, chart
from experiments.ludia.charges import spread
from experiments.ludia.simulate import KINDS
from understudy.pages.charts import (
    DEEP_BLUE,
    DEEP_ORANGE,
    SOFT,
    Scale,
    axes,
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
_DAYS = ("MP", "ER", "WLS-ER, corrected", "LUDIA, held-out rank", "PC-ER, held-out rank", "shrunken (ours)")
_CHARGES = (
    "MP",
    "ER",
    "LUDIA, held-out rank",
    "LUDIA, slopes of the stay",
    "PC-ER, held-out rank",
    "shrunken (ours)",
    "LUDIA, held-out rank, stacked",
    "LUDIA, slopes of the stay, stacked",
    "shrunken (ours), stacked",
)
_TABLES = {"simulated": "simulated", "sparcs": "New York"}
_LEVELS = {"zip": "ZIP area", "county, hospital and zip": "all three stacked"}


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
    return _bands(found["scatter"], _DAYS, title="log days of care, averages by region x beds x ownership", high=3.6)


def _bands(part: dict[str, Any], names: Sequence[str], *, title: str, low: float = 0.0, high: float) -> str:
    original = part["original"]
    lines = [Line(label="perfect", style=7, points=[(value, value) for value in original])]
    lines += [
        Line(label=name, style=style, points=list(zip(original, part["answers"][name], strict=True)))
        for style, name in enumerate(name for name in names if name in part["answers"])
    ]
    panel = Panel(
        title=title, x="original", y="mean reconstructed", lines=lines, low=low, high=high, from_zero=low <= 0
    )
    return chart("Figure 4.6a again, in bands", [panel], note="Each mark: the people of one of ten bands, at least 50.")


def daily(found: dict[str, Any]) -> str:
    """Figure 4.6b."""
    return _ratios(
        "Figure 4.6b again: a ratio of a reconstructed and a known column",
        found["daily"],
        ("MP", "ER", "LUDIA, full rank, 100 it.", "LUDIA, held-out rank", "PC-ER, held-out rank", "shrunken (ours)"),
        x="diagnoses per day of care",
        note="Distance: mean difference of sorted ratios (Wasserstein-1). The number of diagnoses was masked.",
    )


def _ratios(title: str, part: dict[str, Any], names: Sequence[str], *, x: str, note: str) -> str:
    middles = [(a + b) / 2 for a, b in zip(part["edges"][:-2:2], part["edges"][2::2], strict=True)]

    def pairs(shares: Sequence[float]) -> list[tuple[float, float]]:
        return [(x, a + b) for x, a, b in zip(middles, shares[::2], shares[1::2], strict=True)]

    names = [name for name in names if name in part["answers"]]
    highest = max(
        y for shares in [part["original"], *(part["answers"][k]["shares"] for k in names)] for _, y in pairs(shares)
    )
    panels = [
        Panel(
            title=f"{name}: distance {part['answers'][name]['wasserstein']:.2f}",
            x=x,
            y="share",
            from_zero=min(middles) < 2,
            high=highest,
            lines=[
                Line(label="original", style=0, points=pairs(part["original"])),
                Line(label="reconstructed", style=1, points=pairs(part["answers"][name]["shares"])),
            ],
        )
        for name in names
    ]
    return chart(title, panels, across=3, note=note)


def lines(found: dict[str, Any]) -> str:
    """Figure 4.7."""
    return _intercepts(
        "Figure 4.7 again: random-intercept lines by region x beds x ownership",
        found["lines"],
        ("MP", "ER", "LUDIA, held-out rank", "PC-ER, held-out rank", "shrunken (ours)"),
        x="age",
        y="log days of care",
        over=(20, 90),
        ends=(0.0, 2.6),
    )


def _intercepts(
    title: str,
    part: dict[str, Any],
    names: Sequence[str],
    *,
    x: str,
    y: str,
    over: Sequence[float],
    ends: tuple[float, float],
) -> str:
    fits = {"original": part["original"], **{name: part["answers"][name] for name in names if name in part["answers"]}}
    panels = []
    for name, fit in fits.items():
        order = sorted(range(len(fit["effects"])), key=lambda k: part["original"]["effects"][k])
        picked = [order[round(q * (len(order) - 1))] for q in (0.0, 0.25, 0.5, 0.75, 1.0)]
        panels.append(
            Panel(
                title=name if name == "original" else f"{name}: MSE {fit['mse']:.2g}",
                x=x,
                y=y,
                low=ends[0],
                high=ends[1],
                lines=[
                    Line(
                        label=f"group at quantile {q:g} of the original effects",
                        style=style,
                        points=[(place, fit["level"] + fit["effects"][k] + fit["slope"] * place) for place in over],
                    )
                    for style, (q, k) in enumerate(zip((0, 0.25, 0.5, 0.75, 1), picked, strict=True))
                ],
                from_zero=False,
            )
        )
    return chart(title, panels, across=3, note="MSE: mean squared error of the groups' effects.")


def lasso(found: dict[str, Any]) -> str:
    """Figure 4.8 as boxes: tenths, quartiles and medians of absolute errors on held-out people."""
    return _boxes("Figure 4.8 again: Lasso trained on reconstructed values", found["lasso"], masked="log days")


def charges_table(found: dict[str, Any]) -> str:
    """Table 4.3 as marks: errors by level and method, with standard errors."""
    studies = {name: study for name, study in found.items() if "skipped" not in study}
    names = list(
        dict.fromkeys(name for s in studies.values() for part in s["levels"].values() for name in part["methods"])
    )
    width, left, row = 330, 200, 21
    height = len(names) * row + 62
    title = "Table 4.3 again: mean absolute error of log charges"
    parts = [text(14, 26, title, size=16, weight=600)]
    for down, (table, study) in enumerate(studies.items()):
        for right, (level, part) in enumerate(study["levels"].items()):
            x0, y0 = left + right * width, 74 + down * height
            across = Scale(low=0.2, high=1.1, start=x0, end=x0 + width - 44)
            up = Scale(low=0, high=len(names), start=y0 + len(names) * row, end=y0)
            groups = sum(part["groups"]) // len(part["groups"])
            parts.append(
                text(
                    x0,
                    y0 - 10,
                    f"{_TABLES[table]}, {_LEVELS.get(level, level)} ({groups} averages)",
                    size=12.5,
                    weight=600,
                )
            )
            parts.append(axes(across, up, labels=(None, {})))
            plain = across(spread(study, part["methods"]["MP"]["mae"])[0])
            parts.append(line([(plain, y0), (plain, up.start)], colour=SOFT, width=1, dash="3 3"))
            for place, name in enumerate(names):
                y = y0 + (place + 0.5) * row
                if not right:
                    parts.append(text(x0 - 10, y + 4, name, anchor="end"))
                parts += _error(part["methods"].get(name), study, across, y)
    total = 74 + len(studies) * height
    note = (
        "Bars: two standard errors, of draws (simulated) or by the jackknife (New York). Dashed line: plain "
        "group averages. Beyond 1.1 only the number is given; no mark: too few groups for it, or one partition only."
    )
    return svg([*parts, text(14, total - 8, note, size=11)], width=left + 4 * width, height=total, title=title)


def _error(row: dict[str, Any] | None, study: dict[str, Any], across: Scale, y: float) -> list[str]:
    if row is None:
        return []
    mean, error = spread(study, row["mae"])
    error = 0.0 if math.isnan(error) else error  # one repeat
    if mean > across.high:
        return [text(across.end, y + 4, f"{mean:.3g} →", anchor="end", size=11)]
    ends = [across(min(max(end, across.low), across.high)) for end in (mean - 2 * error, mean + 2 * error)]
    bar_of_error = line([(ends[0], y), (ends[1], y)], colour=DEEP_BLUE, width=2)
    return [
        bar_of_error,
        dots([(across(mean), y)], size=4, colour=DEEP_BLUE),
        bar(ends[1] + 6, y - 6, 25, 12, fill="#fff"),
        text(ends[1] + 7, y + 4, f"{mean:.2f}", size=11),
    ]


def charges_points(found: dict[str, Any]) -> str:
    """Figure 4.6a: simulated people, by hospital and with all averages stacked."""
    part = found["figures"]["points"]
    return _clouds(
        "Figure 4.6a again: log charges of simulated people, averages by hospital",
        part["original"],
        {name: part["answers"][name] for name in _CHARGES if name in part["answers"]},
        note="First of five simulated tables. Stacked: averages of counties and ZIP areas as well.",
    )


def charges_bands(found: dict[str, Any]) -> str:
    """Figure 4.6a for real people: no mark of it is a person."""
    part = found["figures"]["scatter"]
    shown = [name for name in _CHARGES if name != "PC-ER, held-out rank" and not name.startswith("LUDIA, slopes of")]
    return _bands(part, shown, title="New York: log charges, averages by hospital", low=8.0, high=12.0)


def charges_daily(found: dict[str, Any]) -> str:
    """Figure 4.6b: charges a day, the reconstructed charges over the known stay."""
    return _ratios(
        "Figure 4.6b again: charges per day of stay, simulated people",
        found["figures"]["daily"],
        _CHARGES,
        x="log of charges per day",
        note="First of five simulated tables, averages by hospital. Distance: mean difference of sorted logs.",
    )


def charges_lines(found: dict[str, Any]) -> str:
    """Figure 4.7: random intercepts of simulated hospitals about a common slope of the stay."""
    part = found["figures"]["lines"]
    return _intercepts(
        "Figure 4.7 again: random-intercept lines of simulated hospitals",
        part,
        [name for name in _CHARGES if name != "PC-ER, held-out rank"],  # nine panels with the original
        x="log days of stay",
        y="log charges",
        over=part["stay"],
        ends=(7.5, 12.0),
    )


def charges_lasso(found: dict[str, Any]) -> str:
    """Figure 4.8."""
    people = "simulated people" if found["invented"] else "New York"
    title = f"Figure 4.8 again: Lasso trained on reconstructed charges, {people}"
    return _boxes(title, found["figures"]["lasso"], masked="log charges")


def _boxes(title: str, rows: dict[str, Any], *, masked: str) -> str:
    width, left, height = 860, 250, 46
    top = min(max(row["quantiles"][-1] for row in rows.values()) * 1.05, 2.4)
    floor = 60 + height * len(rows)
    across = Scale(low=0.0, high=top, start=left, end=width - 90)

    def px(value: float) -> float:
        return across(min(value, top))

    parts = [
        text(14, 26, title, size=16, weight=600),
        axes(
            across,
            Scale(low=0.0, high=1.0, start=floor, end=60.0),
            names=(f"absolute error of {masked}", ""),
            labels=(None, {}),
        ),
    ]
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
    cut = any(row["quantiles"][-1] > top for row in rows.values())
    note = "Box: quartiles and median; whiskers: tenths; diamond and number: mean." + (
        f" Cut at {top:g}." if cut else ""
    )
    return svg([*parts, text(14, floor + 58, note, size=11)], width=width, height=floor + 70, title=title)


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
        for tick in wide.ticks():
            parts.append(text(wide(tick), y0 + side + 14, f"{tick:g}", anchor="middle", size=10.5))
            parts.append(text(x0 - 5, up(tick) + 4, f"{tick:g}", anchor="end", size=10.5))
        parts.append(cloud([(wide(a), up(b)) for a, b in zip(original, values, strict=True)], colour=DEEP_BLUE))
    note = f"Across: original; up: reconstructed (cut to the frame). {note}"
    return svg([*parts, text(50, height - 12, note, size=11)], width=width, height=height, title=title)
