"""Figures as plain Plotly descriptions, each with the sentence and the table that say the same without eyes.

Real and synthetic are told apart by pattern and label as well as by colour, so that a black-and-white printer and a
colour-blind reader lose nothing. Colours are those of Okabe and Ito.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from understudy.pages.charts import DEEP_BLUE, DEEP_ORANGE, GRID, HATCHED, INK, REAL
from understudy.pages.numbers import number, percent

_STRENGTH = [[0.0, "#ffffff"], [0.25, "#d3e4f0"], [0.5, "#8fbcdb"], [0.75, "#3e87b8"], [1.0, "#0b3f66"]]
_CHANGE = [[0.0, "#a64b00"], [0.25, "#efb38a"], [0.5, "#ffffff"], [0.75, "#9cc4e0"], [1.0, DEEP_BLUE]]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What the browser draws, what a screen reader says, and the table behind it."""

    key: str
    title: str
    spoken: str
    caption: str
    data: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    wide: bool = False


def text(label: str) -> str:
    """A level's name as Plotly should print it: Plotly would otherwise read tags and links in it."""
    return escape(label, quote=False)


def layout(**more: Any) -> dict[str, Any]:
    """What all figures share."""
    base: dict[str, Any] = {
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": INK},
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "margin": {"l": 56, "r": 12, "t": 12, "b": 60},
        "height": 290,
        "autosize": True,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "hoverlabel": {"font": {"family": "system-ui, sans-serif"}},
        "template": {},
    }
    return {**base, **more}


def axis(**more: Any) -> dict[str, Any]:
    """A quiet axis."""
    return {"gridcolor": GRID, "zerolinecolor": "#888888", "linecolor": "#888888", "automargin": True, **more}


def scatter(
    name: str,
    x: Sequence[Any],
    y: Sequence[Any],
    *,
    colour: str,
    dash: str = "",
    symbol: str = "",
    size: float = 8,
    edge: float = 0,
    **more: Any,
) -> dict[str, Any]:
    """Points joined by a line where there is a ``dash``, marked where there is a ``symbol``."""
    drawn = ("lines" if dash else "", "markers" if symbol else "")
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "+".join(filter(None, drawn)),
        "name": text(name),
        "x": x,
        "y": y,
    }
    if dash:
        trace["line"] = {"color": colour, "dash": dash}
    if symbol:
        outline = {"line": {"width": edge, "color": colour}} if edge else {}
        trace["marker"] = {"color": colour, "symbol": symbol, "size": size, **outline}
    return trace | more


def _gap(real: float, synthetic: float) -> str:
    """Two shares, or one where nobody could tell them apart.

    >>> _gap(0.25, 0.5), _gap(0.9071, 0.9072)
    ('25% confidential and 50% synthetic', '90.7% in both')
    """
    before, after = percent(real), percent(synthetic)
    return f"{before} in both" if before == after else f"{before} confidential and {after} synthetic"


def distribution(number_of: int, column: Mapping[str, Any]) -> Figure:
    """Shares of the levels of one column, side by side."""
    real, synthetic = column["real"], column["synthetic"]
    n, m = sum(real), sum(synthetic)
    shares = [[count / total for count in counts] for counts, total in ((real, n), (synthetic, m))]
    spread = [1.96 * (share * (1 - share) / m) ** 0.5 for share in shares[0]]
    labels = [text(label) for label in column["labels"]]
    widest = max(range(len(labels)), key=lambda k: abs(shares[0][k] - shares[1][k]))
    sentence = (
        f"Total variation distance {number(column['distance'])}; a bootstrap of the same size would have "
        f"{number(column['bootstrap'])}. Widest gap: {column['labels'][widest]}, "
        f"{_gap(shares[0][widest], shares[1][widest])}."
    )
    short = (
        {"tickmode": "array", "tickvals": labels, "ticktext": [text(_cut(label, 13)) for label in column["labels"]]}
        if len(labels) <= 40
        else {}
    )
    bars: dict[str, Any] = {"type": "bar", "x": labels}
    bars["hovertemplate"] = "%{x}<br>%{y:.2%}<extra>%{fullData.name}</extra>"
    whiskers = {"type": "data", "array": spread, "color": "#333333", "thickness": 1, "width": 2}
    plain = {"color": REAL, "line": {"color": REAL, "width": 1}}
    data = [
        {**bars, "name": "confidential", "y": shares[0], "marker": plain, "error_y": whiskers},
        {**bars, "name": "synthetic", "y": shares[1], "marker": dict(HATCHED)},
    ]
    return Figure(
        key=f"column-{number_of}",
        title=column["name"],
        spoken=f"Bars of the shares of {column['name']}, confidential beside synthetic. {sentence}",
        caption=sentence,
        data=data,
        layout=layout(
            barmode="group",
            bargap=0.18,
            xaxis=axis(type="category", showgrid=False, tickfont={"size": 10}, **short),
            yaxis=axis(tickformat=".0%", rangemode="tozero"),
            margin={"l": 44, "r": 8, "t": 8, "b": 40},
        ),
        header=("level", "confidential", "share", "synthetic", "share"),
        rows=[
            (label, f"{a:,}", percent(p), f"{b:,}", percent(q))
            for label, a, p, b, q in zip(column["labels"], real, shares[0], synthetic, shares[1], strict=True)
        ],
    )


def association_figures(doc: Mapping[str, Any]) -> list[Figure]:
    """Heat maps: confidential, synthetic, and what changed."""
    maps = doc["association"]
    names, change = maps["columns"], maps["difference"]
    reach = max([0.05, *(abs(value) for row in change for value in row if value is not None)])
    strength: dict[str, Any] = {
        "low": 0.0,
        "high": 1.0,
        "scale": _STRENGTH,
        "sign": ".2f",
        "shown": 10,
    }  # half the width: fewer words
    changed: dict[str, Any] = {"low": -reach, "high": reach, "scale": _CHANGE, "sign": "+.2f", "shown": 20}
    return [
        _heat_map("real", "Association in the confidential table", names, maps["real"], **strength),
        _heat_map("synthetic", "Association in the synthetic table", names, maps["synthetic"], **strength),
        _heat_map("difference", "Synthetic minus confidential", names, change, **changed),
    ]


def _heat_map(
    which: str,
    title: str,
    names: Sequence[str],
    grid: Sequence[Sequence[float | None]],
    *,
    low: float,
    high: float,
    scale: Sequence[Sequence[Any]],
    sign: str,
    shown: int,
) -> Figure:
    pairs = [(a, b) for a in range(len(names)) for b in range(a)]
    known = [(value, a, b) for a, b in pairs if (value := grid[a][b]) is not None]
    sentence = _change_sentence(known, names) if low < 0 else _strength_sentence(known, names)
    # a change that rounds to nothing is written 0: columns of -0.00 and +0.00 hide the cells that matter
    words = [["" if z is None else "0" if abs(z) < 0.005 else f"{z:{sign}}" for z in row] for row in grid]
    cell = {"text": words, "texttemplate": "%{text}", "textfont": {"size": 10}} if len(names) <= shown else {}
    cells = {
        "type": "heatmap",
        "x": [text(name) for name in names],
        "y": [text(name) for name in names],
        "z": grid,
        "zmin": low,
        "zmax": high,
        "colorscale": scale,
        "xgap": 1,
        "ygap": 1,
        "hoverongaps": False,
        "colorbar": {"thickness": 10, "outlinewidth": 0, "tickfont": {"size": 10}},
        "hovertemplate": f"%{{y}} and %{{x}}: %{{z:{sign}}}<extra></extra>",
        **cell,
    }
    return Figure(
        key=f"association-{which}",
        title=title,
        spoken=f"Heat map of Cramer's V for every pair of columns. {sentence}",
        caption=sentence,
        data=[cells],
        layout=layout(
            height=460,
            margin={"l": 10, "r": 8, "t": 8, "b": 10},
            xaxis=axis(tickangle=-45, showgrid=False, type="category"),
            yaxis=axis(autorange="reversed", showgrid=False, type="category"),
        ),
        header=("columns", "Cramer's V" if low == 0 else "change of V"),
        rows=[
            (f"{names[b]} x {names[a]}", "not defined" if grid[a][b] is None else number(grid[a][b])) for a, b in pairs
        ],
        wide=low < 0,
    )


def _strength_sentence(known: Sequence[tuple[float, int, int]], names: Sequence[str]) -> str:
    if not known:
        return "No pair has a defined association."
    best = sorted(known, reverse=True)[:3]
    return "Strongest: " + "; ".join(f"{names[b]} x {names[a]} {number(value)}" for value, a, b in best) + "."


def _change_sentence(known: Sequence[tuple[float, int, int]], names: Sequence[str]) -> str:
    if not known:
        return "No pair has a defined association."
    worst = sorted(known, key=lambda item: -abs(item[0]))[:3]
    mean = sum(abs(value) for value, _, _ in known) / len(known)
    listed = "; ".join(f"{names[b]} x {names[a]} {number(value)}" for value, a, b in worst)
    return f"Mean absolute change {number(mean)}. Largest changes: {listed}."


_STEPS = (
    (2.0, DEEP_BLUE, ".", "more than twice"),
    (1.25, "#8fbcdb", ".", "1.25 to 2 times"),
    (0.8, "#f4f4f4", "", "about as often"),
    (0.5, "#efb38a", "/", "0.5 to 0.8 times"),
    (0.0, DEEP_ORANGE, "/", "less than half"),
)


def mosaic(number_of: int, table: Mapping[str, Any]) -> Figure:
    """Widths are shares of the first column, heights shares of the second given the first."""
    x_name, y_name = table["columns"]
    data: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    for side, which in enumerate(("real", "synthetic")):
        suffix = "" if side == 0 else "2"
        data += _tiles(table, which, suffix)
        ticks = _ticks(table, which)
        axes[f"xaxis{suffix}"] = axis(
            domain=[0.0, 0.485] if side == 0 else [0.515, 1.0],
            range=[0, 1],
            showgrid=False,
            zeroline=False,
            tickangle=-35,
            tickfont={"size": 10},
            title={"text": "confidential" if side == 0 else "synthetic", "font": {"size": 13}},
            **ticks,
        )
        axes[f"yaxis{suffix}"] = axis(
            range=[0, 1],
            showgrid=False,
            zeroline=False,
            tickformat=".0%",
            anchor=f"x{suffix}",
            showticklabels=side == 0,
            **({"title": {"text": text(f"share of {y_name}"), "font": {"size": 11}}} if side == 0 else {}),
        )
    key = [
        {
            "type": "bar",
            "x": [None],
            "y": [None],
            "name": words,
            "showlegend": True,
            "marker": {
                "color": colour,
                "line": {"color": "#555555", "width": 1},
                "pattern": {"shape": shape, "fgcolor": "#ffffff", "bgcolor": colour, "size": 6, "solidity": 0.2},
            },
        }
        for _, colour, shape, words in _STEPS
    ]
    cells = [
        (f"{a}, {b}", f"{table['real'][i][j]:,}", f"{table['synthetic'][i][j]:,}")
        for i, a in enumerate(table["labels"][0])
        for j, b in enumerate(table["labels"][1])
    ]
    return Figure(
        key=f"mosaic-{number_of}",
        title=f"{x_name} x {y_name}",
        spoken=f"Two mosaic plots of {y_name} given {x_name}, confidential at the left and synthetic at the right; "
        "the counts are in the table below.",
        caption=f"Width: share of {x_name}. Height: share of {y_name} within it, in the order of the table below. "
        "Shading: how often the combination occurs, compared with independent columns.",
        data=[*data, *key],
        layout=layout(
            barmode="stack",
            height=420,
            showlegend=True,
            margin={"l": 56, "r": 10, "t": 40, "b": 90},
            **axes,
        ),
        header=(f"{x_name}, {y_name}", "confidential", "synthetic"),
        rows=cells,
        wide=True,
    )


def _columns(table: Mapping[str, Any], which: str) -> tuple[list[float], list[float]]:
    """Widths and left ends of the stacks."""
    totals = [sum(row) for row in table[which]]
    n = sum(totals)
    widths = [total / n for total in totals]
    return widths, [sum(widths[:k]) for k in range(len(widths))]


def _ticks(table: Mapping[str, Any], which: str) -> dict[str, Any]:
    widths, lefts = _columns(table, which)
    shown = [k for k, width in enumerate(widths) if width > 0.02]
    labels = [text(_cut(table["labels"][0][k])) for k in shown]
    return {"tickmode": "array", "tickvals": [lefts[k] + widths[k] / 2 for k in shown], "ticktext": labels}


def _tiles(table: Mapping[str, Any], which: str, suffix: str) -> list[dict[str, Any]]:
    grid = table[which]
    widths, lefts = _columns(table, which)
    n = sum(map(sum, grid))
    traces = []
    for j, label in enumerate(table["labels"][1]):
        overall = sum(row[j] for row in grid) / n
        heights = [row[j] / sum(row) if sum(row) else 0.0 for row in grid]
        steps = [_step(height / overall if overall else 1.0) for height in heights]
        traces.append(
            {
                "type": "bar",
                "x": [left + width / 2 for left, width in zip(lefts, widths, strict=True)],
                "y": heights,
                "width": widths,
                "xaxis": f"x{suffix}",
                "yaxis": f"y{suffix}",
                "showlegend": False,
                "marker": {
                    "color": [step[1] for step in steps],
                    "line": {"color": "#ffffff", "width": 1.5},
                    "pattern": {
                        "shape": [step[2] for step in steps],
                        "fgcolor": "#ffffff",
                        "bgcolor": [step[1] for step in steps],
                        "size": 6,
                        "solidity": 0.2,
                    },
                },
                "text": [
                    text(_cut(label)) if height > 0.055 and width > 0.1 else ""
                    for height, width in zip(heights, widths, strict=True)
                ],
                "textposition": "inside",
                "insidetextanchor": "middle",
                "textangle": 0,
                "constraintext": "none",
                "textfont": {
                    "size": 10,
                    "color": ["#ffffff" if step in (_STEPS[0], _STEPS[-1]) else INK for step in steps],
                },
                "customdata": [
                    [text(a), text(label), f"{row[j]:,}", step[3]]
                    for a, row, step in zip(table["labels"][0], grid, steps, strict=True)
                ],
                "hovertemplate": "%{customdata[0]}, %{customdata[1]}<br>%{customdata[2]} rows, %{y:.1%} of the column"
                "<br>%{customdata[3]} as under independence<extra></extra>",
            }
        )
    return traces


def _step(ratio: float) -> tuple[float, str, str, str]:
    return next(step for step in _STEPS if ratio >= step[0])


def _cut(label: str, most: int = 16) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"
