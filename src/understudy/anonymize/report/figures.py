"""Figures of the page: class sizes, duplicates and mosaics, each with its words and its table."""

from collections.abc import Mapping
from typing import Any

from understudy.evaluate.report.figures import Figure, axis, layout, text
from understudy.pages.charts import DEEP_ORANGE, HATCHED, REAL
from understudy.pages.numbers import percent


def sizes_figure(key: str, title: str, caption: str, before: Mapping[str, int], after: Mapping[str, int]) -> Figure:
    """Rows by the number of rows they are like."""
    bands = list(before)
    n, m = max(sum(before.values()), 1), max(sum(after.values()), 1)
    hover = "%{y:.2%} of the rows<extra>%{fullData.name}, %{x} alike</extra>"
    data = []
    for name, counts, total, marker in (("before", before, n, {"color": REAL}), ("released", after, m, dict(HATCHED))):
        shares = [counts[band] / total for band in bands]
        data.append({"type": "bar", "name": name, "x": bands, "y": shares, "marker": marker, "hovertemplate": hover})
    return Figure(
        key=key,
        title=title,
        spoken=f"Bars of the share of rows by the number of rows alike, before beside released. {caption}",
        caption=caption,
        data=data,
        layout=layout(
            barmode="group",
            xaxis=axis(type="category", title={"text": "rows alike", "font": {"size": 12}}, showgrid=False),
            yaxis=axis(tickformat=".0%", rangemode="tozero"),
        ),
        header=("rows alike", "rows before", "share", "rows released", "share"),
        rows=[
            (band, f"{before[band]:,}", percent(before[band] / n), f"{after[band]:,}", percent(after[band] / m))
            for band in bands
        ],
    )


_STEPS = ((DEEP_ORANGE, "x"), ("#f0b27a", "/"), ("#9cc4e0", ""))
"""Colour and pattern of boxes of one row, of fewer than k, and of k or more."""


def mosaic_figure(key: str, title: str, mosaic: Mapping[str, Any]) -> Figure:
    """Widths are rows per combination, heights shares within it; small boxes are marked."""
    counts, k, up, across = mosaic["counts"], mosaic["k"], mosaic["up"], " and ".join(mosaic["across"])
    totals = [sum(line) for line in counts]
    least = 0.004  # a column of one person must be seen
    occupied, n = sum(total > 0 for total in totals), max(sum(totals), 1)
    widths = [least * (total > 0) + (1 - least * occupied) * total / n for total in totals]
    lefts = [sum(widths[:x]) for x in range(len(widths))]
    middles = [left + width / 2 for left, width in zip(lefts, widths, strict=True)]
    data: list[dict[str, Any]] = []
    for y, label in enumerate(mosaic["y"]):
        heights = [line[y] / total if total else 0.0 for line, total in zip(counts, totals, strict=True)]
        steps = [_STEPS[_step(line[y], k)] for line in counts]
        marker = _marker([colour for colour, _ in steps], [pattern for _, pattern in steps])
        data.append(
            {
                "type": "bar",
                "x": middles,
                "y": heights,
                "width": widths,
                "showlegend": False,
                "marker": {**marker, "line": {"color": "#ffffff", "width": 1.2}},
                "text": [
                    text(label[:16]) if height > 0.055 and width > 0.1 else ""
                    for height, width in zip(heights, widths, strict=True)
                ],
                "textposition": "inside",
                "insidetextanchor": "middle",
                "textangle": 0,
                "constraintext": "none",
                "textfont": {"size": 10, "color": "#222222"},
                "customdata": [
                    [text(x), text(label), f"{line[y]:,}"] for x, line in zip(mosaic["x"], counts, strict=True)
                ],
                "hovertemplate": "%{customdata[0]}, %{customdata[1]}<br>%{customdata[2]} rows<extra></extra>",
            }
        )
    names = ("one row", f"2 to {k - 1} rows" if k > 3 else "2 rows", f"{k} rows or more")
    for place, (step, name) in enumerate(zip(_STEPS, names, strict=True)):
        if k > 2 or place != 1:  # with k = 2 nothing lies between one row and k
            entry = {"type": "bar", "x": [None], "y": [None], "name": name, "showlegend": True}
            data.append({**entry, "marker": _marker(*step)})
    shown = [x for x, width in enumerate(widths) if width > 0.03]
    boxes = [count for line in counts for count in line]
    rare, alone = sum(0 < count < k for count in boxes), boxes.count(1)
    bare: dict[str, Any] = {"range": [0, 1], "showgrid": False, "zeroline": False}
    return Figure(
        key=key,
        title=title,
        spoken=f"Mosaic plot of {up} within combinations of {across}: {rare} boxes of fewer than {k} rows, {alone} of "
        "them of one row; the counts are in the table below.",
        caption=f"Width: rows per combination of {across}. Height: share of {up} within it. {rare} occupied boxes hold "
        f"fewer than {k} rows, {alone} of them one.",
        data=data,
        layout=layout(
            barmode="stack",
            height=440,
            showlegend=True,
            margin={"l": 56, "r": 10, "t": 40, "b": 110},
            xaxis=axis(
                **bare,
                tickangle=-35,
                tickfont={"size": 10},
                tickmode="array",
                tickvals=[middles[x] for x in shown],
                ticktext=[text(mosaic["x"][x][:26]) for x in shown],
            ),
            yaxis=axis(**bare, tickformat=".0%", title={"text": text(f"share of {up}"), "font": {"size": 11}}),
        ),
        header=(f"{' / '.join(mosaic['across'])}, {up}", "rows"),
        rows=[
            (f"{x}, {y}", f"{count:,}")
            for x, line in zip(mosaic["x"], counts, strict=True)
            for y, count in zip(mosaic["y"], line, strict=True)
            if count
        ],
        wide=True,
    )


def _marker(colour: Any, shape: Any) -> dict[str, Any]:
    pattern = {"shape": shape, "fgcolor": "#ffffff", "bgcolor": colour, "size": 5, "solidity": 0.25}
    return {"color": colour, "pattern": pattern}


def _step(count: int, k: int) -> int:
    return 0 if count == 1 else 1 if count < k else 2
