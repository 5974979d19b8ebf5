"""Figures of the page: class sizes, duplicates and mosaics, each with its words and its table."""

from collections.abc import Mapping
from typing import Any

from understudy.evaluate.report.figures import Figure, axis, layout, text
from understudy.pages.charts import DEEP_ORANGE, HATCHED, REAL
from understudy.pages.numbers import percent


def sizes_figure(key: str, title: str, said: str, before: Mapping[str, int], after: Mapping[str, int]) -> Figure:
    """Rows by the number of rows they are like."""
    bands = list(before)
    n, m = max(sum(before.values()), 1), max(sum(after.values()), 1)
    shares = ([before[band] / n for band in bands], [after[band] / m for band in bands])
    hover = "%{y:.2%} of the rows<extra>%{fullData.name}, %{x} alike</extra>"
    data = [
        {
            "type": "bar",
            "name": "before",
            "x": bands,
            "y": shares[0],
            "marker": {"color": REAL},
            "hovertemplate": hover,
        },
        {
            "type": "bar",
            "name": "released",
            "x": bands,
            "y": shares[1],
            "marker": dict(HATCHED),
            "hovertemplate": hover,
        },
    ]
    return Figure(
        key=key,
        title=title,
        spoken=f"Bars of the share of rows by the number of rows alike, before beside released. {said}",
        caption=said,
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


_STEPS = (("one row", DEEP_ORANGE, "x"), ("fewer than k", "#f0b27a", "/"), ("k or more", "#9cc4e0", ""))


def mosaic_figure(key: str, title: str, found: Mapping[str, Any]) -> Figure:
    """Widths are rows per combination, heights shares within it; small boxes are marked."""
    counts, k = found["counts"], found["k"]
    totals = [sum(line) for line in counts]
    n = max(sum(totals), 1)
    least = 0.004  # a column of one person must be seen
    occupied = sum(total > 0 for total in totals)
    widths = [least * (total > 0) + (1 - least * occupied) * total / n for total in totals]
    lefts = [sum(widths[:x]) for x in range(len(widths))]
    data: list[dict[str, Any]] = []
    for y, label in enumerate(found["y"]):
        heights = [line[y] / total if total else 0.0 for line, total in zip(counts, totals, strict=True)]
        steps = [_STEPS[_step(line[y], k)] for line in counts]
        data.append(
            {
                "type": "bar",
                "x": [left + width / 2 for left, width in zip(lefts, widths, strict=True)],
                "y": heights,
                "width": widths,
                "showlegend": False,
                "marker": {
                    "color": [step[1] for step in steps],
                    "line": {"color": "#ffffff", "width": 1.2},
                    "pattern": {
                        "shape": [step[2] for step in steps],
                        "fgcolor": "#ffffff",
                        "bgcolor": [step[1] for step in steps],
                        "size": 5,
                        "solidity": 0.25,
                    },
                },
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
                    [text(x), text(label), f"{line[y]:,}"] for x, line in zip(found["x"], counts, strict=True)
                ],
                "hovertemplate": "%{customdata[0]}, %{customdata[1]}<br>%{customdata[2]} rows<extra></extra>",
            }
        )
    said = ("one row", f"2 to {k - 1} rows" if k > 3 else "2 rows", f"{k} rows or more")
    data += [
        {
            "type": "bar",
            "x": [None],
            "y": [None],
            "name": words,
            "showlegend": True,
            "marker": {
                "color": step[1],
                "pattern": {"shape": step[2], "fgcolor": "#ffffff", "bgcolor": step[1], "size": 5, "solidity": 0.25},
            },
        }
        for step, words in zip(_STEPS, said, strict=True)
        if not (k == 2 and step is _STEPS[1])
    ]
    shown = [x for x, width in enumerate(widths) if width > 0.03]
    rare = sum(0 < count < k for line in counts for count in line)
    alone = sum(count == 1 for line in counts for count in line)
    return Figure(
        key=key,
        title=title,
        spoken=f"Mosaic plot of {found['up']} within combinations of {' and '.join(found['across'])}: {rare} boxes "
        f"of fewer than {k} rows, {alone} of them of one row; the counts are in the table below.",
        caption=f"Width: rows per combination of {' and '.join(found['across'])}. Height: share of {found['up']} "
        f"within it. {rare} occupied boxes hold fewer than {k} rows, {alone} of them one.",
        data=data,
        layout=layout(
            barmode="stack",
            height=440,
            showlegend=True,
            margin={"l": 56, "r": 10, "t": 40, "b": 110},
            xaxis=axis(
                range=[0, 1],
                showgrid=False,
                zeroline=False,
                tickangle=-35,
                tickfont={"size": 10},
                tickmode="array",
                tickvals=[lefts[x] + widths[x] / 2 for x in shown],
                ticktext=[text(found["x"][x][:26]) for x in shown],
            ),
            yaxis=axis(
                range=[0, 1],
                showgrid=False,
                zeroline=False,
                tickformat=".0%",
                title={"text": text(f"share of {found['up']}"), "font": {"size": 11}},
            ),
        ),
        header=(f"{' / '.join(found['across'])}, {found['up']}", "rows"),
        rows=[
            (f"{x}, {y}", f"{counts[i][j]:,}")
            for i, x in enumerate(found["x"])
            for j, y in enumerate(found["y"])
            if counts[i][j]
        ],
        wide=True,
    )


def _step(count: int, k: int) -> int:
    return 0 if count == 1 else 1 if count < k else 2
