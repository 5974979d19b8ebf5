"""Figures of columns and pairs: shares side by side, associations as heat maps, mosaics."""

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.pages.charts import DEEP_BLUE, DEEP_ORANGE, HATCHED, REAL
from understudy.pages.figures import (
    Figure,
    Shade,
    axis,
    bars,
    cut,
    figure,
    mosaic,
    mosaic_key,
    share_axis,
    text,
    whiskers,
)
from understudy.pages.numbers import number, percent

_STRENGTH = [[0.0, "#ffffff"], [0.25, "#d3e4f0"], [0.5, "#8fbcdb"], [0.75, "#3e87b8"], [1.0, "#0b3f66"]]
_CHANGE = [[0.0, "#a64b00"], [0.25, "#efb38a"], [0.5, "#ffffff"], [0.75, "#9cc4e0"], [1.0, DEEP_BLUE]]


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
    short: dict[str, Any] = (
        {"tickmode": "array", "tickvals": labels, "ticktext": [text(cut(label, 13)) for label in column["labels"]]}
        if len(labels) <= 40
        else {}
    )
    hover, plain = "%{x}<br>%{y:.2%}", {"color": REAL, "line": {"color": REAL, "width": 1}}
    data = [
        bars("confidential", labels, shares[0], plain, hover, error_y=whiskers(spread, color="#333333", width=2)),
        bars("synthetic", labels, shares[1], HATCHED, hover),
    ]
    return figure(
        f"column-{number_of}",
        column["name"],
        sentence,
        data,
        spoken=f"Bars of the shares of {column['name']}, confidential beside synthetic. {sentence}",
        header=("level", "confidential", "share", "synthetic", "share"),
        rows=[
            (label, f"{a:,}", percent(p), f"{b:,}", percent(q))
            for label, a, p, b, q in zip(column["labels"], real, shares[0], synthetic, shares[1], strict=True)
        ],
        barmode="group",
        bargap=0.18,
        xaxis=axis(type="category", showgrid=False, tickfont={"size": 10}, **short),
        yaxis=axis(tickformat=".0%", rangemode="tozero"),
        margin={"l": 44, "r": 8, "t": 8, "b": 40},
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
    return figure(
        f"association-{which}",
        title,
        sentence,
        [cells],
        spoken=f"Heat map of Cramer's V for every pair of columns. {sentence}",
        header=("columns", "Cramer's V" if low == 0 else "change of V"),
        rows=[
            (f"{names[b]} x {names[a]}", "not defined" if grid[a][b] is None else number(grid[a][b])) for a, b in pairs
        ],
        wide=low < 0,
        height=460,
        margin={"l": 10, "r": 8, "t": 8, "b": 10},
        xaxis=axis(tickangle=-45, showgrid=False, type="category"),
        yaxis=axis(autorange="reversed", showgrid=False, type="category"),
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


_SHADES = {
    2.0: Shade(colour=DEEP_BLUE, pattern=".", words="more than twice", ink="#ffffff"),
    1.25: Shade(colour="#8fbcdb", pattern=".", words="1.25 to 2 times"),
    0.8: Shade(colour="#f4f4f4", pattern="", words="about as often"),
    0.5: Shade(colour="#efb38a", pattern="/", words="0.5 to 0.8 times"),
    0.0: Shade(colour=DEEP_ORANGE, pattern="/", words="less than half", ink="#ffffff"),
}
"""By the least ratio to what independent columns would have."""


def mosaic_pair(number_of: int, table: Mapping[str, Any]) -> Figure:
    """Widths are shares of the first column, heights shares of the second given the first."""
    x_name, y_name = table["columns"]
    left, below = _tiles(table["real"], table["labels"], "")
    right, below_right = _tiles(table["synthetic"], table["labels"], "2")
    return figure(
        f"mosaic-{number_of}",
        f"{x_name} x {y_name}",
        f"Width: share of {x_name}. Height: share of {y_name} within it, in the order of the table below. "
        "Shading: how often the combination occurs, compared with independent columns.",
        [*left, *right, *mosaic_key(list(_SHADES.values()))],
        spoken=f"Two mosaic plots of {y_name} given {x_name}, confidential at the left and synthetic at the right; "
        "the counts are in the table below.",
        header=(f"{x_name}, {y_name}", "confidential", "synthetic"),
        rows=[
            (f"{a}, {b}", f"{table['real'][i][j]:,}", f"{table['synthetic'][i][j]:,}")
            for i, a in enumerate(table["labels"][0])
            for j, b in enumerate(table["labels"][1])
        ],
        wide=True,
        barmode="stack",
        height=420,
        showlegend=True,
        margin={"l": 56, "r": 10, "t": 40, "b": 90},
        xaxis={**below, "domain": [0.0, 0.485], "title": {"text": "confidential", "font": {"size": 13}}},
        yaxis=share_axis(y_name, anchor="x"),
        xaxis2={**below_right, "domain": [0.515, 1.0], "title": {"text": "synthetic", "font": {"size": 13}}},
        yaxis2=share_axis("", anchor="x2", showticklabels=False),
    )


def _tiles(
    grid: Sequence[Sequence[int]], labels: tuple[Sequence[str], Sequence[str]], suffix: str
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    n = sum(map(sum, grid))

    def shade(i: int, j: int) -> Shade:
        overall, here = sum(row[j] for row in grid) / n, sum(grid[i])
        ratio = (grid[i][j] / here if here else 0.0) / overall if overall else 1.0
        return next(look for least, look in _SHADES.items() if ratio >= least)

    return mosaic(grid, labels, shade, says=" as under independence", suffix=suffix)
