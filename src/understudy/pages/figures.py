"""Figures that can be pointed at, as plain Plotly descriptions, each with the sentence and the table that say the same.

Series are told apart by pattern, dash or symbol as well as by colour, so that a black-and-white printer and a
colour-blind reader lose nothing. Colours are those of Okabe and Ito.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import Any

from understudy.extras import need
from understudy.pages.charts import DEEP_BLUE, DEEP_ORANGE, GRID, INK
from understudy.pages.numbers import number
from understudy.pages.shell import MARKER, html_page

Trace = dict[str, Any]

_COLOURS = (
    *(DEEP_BLUE, DEEP_ORANGE, "#009e73", "#7b3f98", "#222222", "#8a6d00"),
    *("#cc79a7", "#56b4e9", "#777777", "#d55e00", "#004d40", "#5d4037"),
)
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_SYMBOLS = ("circle", "square", "triangle-up", "diamond", "cross", "x", "star")
_PATTERNS = ("", "/", ".", "x", "-")
_LEVEL = "#666666"


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


def figure(
    key: str,
    title: str,
    caption: str,
    data: Sequence[Trace],
    *,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    spoken: str = "",
    wide: bool = False,
    **layout: Any,
) -> Figure:
    """A figure in the common look; what else is said of its layout is Plotly's. The caption is spoken if nothing is."""
    base = {
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
    return Figure(
        key=key,
        title=title,
        spoken=spoken or caption,
        caption=caption,
        data=data,
        layout={**base, **layout},
        header=header,
        rows=rows,
        wide=wide,
    )


def figures_page(template: str, *, title: str, figures: Sequence[Figure], package: str, **values: Any) -> str:
    """Fill a room's template, which extends ``figures.html``, with the figures and Plotly inside."""
    need("jinja2", "plotly", extra="report", what="the report page")
    from plotly.offline import get_plotlyjs

    folder = resources.files("understudy.pages")
    style, script = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("figures.css", "figures.js"))
    return html_page(
        template,
        title=title,
        packages=(package,),
        style=style,
        data={figure.key: {"data": figure.data, "layout": figure.layout} for figure in figures},
        data_id="figures",
        scripts=(get_plotlyjs(), script),
        marker=MARKER,
        figures=figures,
        **values,
    )


def text(label: str) -> str:
    """A level's name as Plotly should print it: Plotly would otherwise read tags and links in it."""
    return escape(label, quote=False)


def cut(label: str, most: int = 16) -> str:
    """The start of a long label.

    >>> cut("Skilled Nursing Elsewhere"), cut("Died")
    ('Skilled Nursing…', 'Died')
    """
    return label if len(label) <= most else label[: most - 1] + "…"


def style(place: int) -> tuple[str, str, str]:
    """Colour, dash and symbol of the series at a place."""
    return tuple(choices[place % len(choices)] for choices in (_COLOURS, _DASHES, _SYMBOLS))  # type: ignore[return-value]


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """A quiet axis."""
    named = {"title": {"text": text(title)}} if title else {}
    quiet = {"gridcolor": GRID, "zerolinecolor": "#888888", "linecolor": "#888888", "automargin": True}
    return {**quiet, "exponentformat": "power", **named, **more}  # 80 x 10^-6, never 80 micro


def listed_axis(labels: Sequence[str], **more: Any) -> dict[str, Any]:
    """An axis on which the labels stand at 0, 1, 2 and so on."""
    names = [text(label) for label in labels]
    return axis(tickmode="array", tickvals=list(range(len(labels))), ticktext=names, zeroline=False, **more)


def scatter(
    name: str,
    x: Sequence[Any],
    y: Sequence[Any],
    *,
    colour: str,
    dash: str = "",
    width: float = 2,
    symbol: str = "",
    size: float = 8,
    edge: float = 0,
    **more: Any,
) -> Trace:
    """Points joined by a line where there is a ``dash``, marked where there is a ``symbol``."""
    drawn = ("lines" if dash else "", "markers" if symbol else "")
    trace: Trace = {"type": "scatter", "mode": "+".join(filter(None, drawn)), "name": text(name), "x": x, "y": y}
    if dash:
        trace["line"] = {"color": colour, "dash": dash, "width": width}
    if symbol:
        outline = {"line": {"width": edge, "color": colour}} if edge else {}
        trace["marker"] = {"color": colour, "symbol": symbol, "size": size, **outline}
    return trace | more


def level_line(name: str, ends: Sequence[float], height: float, *, dash: str = "dot", **more: Any) -> Trace:
    """A quiet level line between two places."""
    return scatter(name, list(ends), [height, height], colour=_LEVEL, dash=dash, width=1.5, **more)


def whiskers(half: Sequence[float | None], lower: Sequence[float] | None = None, **more: Any) -> dict[str, Any]:
    """Bars of such half-lengths around points, or of other lengths below them."""
    sides = {"array": half} if lower is None else {"symmetric": False, "array": half, "arrayminus": lower}
    return {"type": "data", **sides, "thickness": 1.2, **more}


def bars(name: str, x: Sequence[Any], y: Sequence[Any], marker: Mapping[str, Any], hover: str, **more: Any) -> Trace:
    """Upright bars."""
    return {
        "type": "bar",
        "name": text(name),
        "x": x,
        "y": y,
        "marker": dict(marker),
        "hovertemplate": f"{hover}<extra>%{{fullData.name}}</extra>",
        **more,
    }


def patterned(colour: Any, shape: Any, *, edge: str = "#ffffff") -> dict[str, Any]:
    """The fill of bars: one colour and pattern, or one each."""
    pattern = {"shape": shape, "fgcolor": "#ffffff", "bgcolor": colour, "size": 6, "solidity": 0.25}
    return {"color": colour, "pattern": pattern, "line": {"color": edge, "width": 1.2}}


@dataclass(frozen=True, kw_only=True)
class Shade:
    """How some boxes of a mosaic look, and what that means."""

    colour: str
    pattern: str
    words: str
    ink: str = INK


def mosaic(
    counts: Sequence[Sequence[int]],
    labels: tuple[Sequence[str], Sequence[str]],
    shade: Callable[[int, int], Shade],
    *,
    least: float = 0.0,
    says: str = "",
    suffix: str = "",
) -> tuple[list[Trace], dict[str, Any]]:
    """Boxes as wide as their row is large and as high as their share of it, and the ticks of the axis below them.

    ``least`` is the width of a row that is nearly empty, so that one person is seen; ``says`` follows the words of a
    shade where a box is pointed at; ``suffix`` is that of the axes.
    """
    totals = [sum(row) for row in counts]
    occupied, n = sum(total > 0 for total in totals), max(sum(totals), 1)
    widths = [least * (total > 0) + (1 - least * occupied) * total / n for total in totals]
    middles = [sum(widths[:k]) + width / 2 for k, width in enumerate(widths)]
    traces = []
    for j, label in enumerate(labels[1]):
        heights = [row[j] / total if total else 0.0 for row, total in zip(counts, totals, strict=True)]
        shades = [shade(i, j) for i in range(len(counts))]
        words = [f"<br>{one.words}{says}" if says else "" for one in shades]
        roomy = [height > 0.055 and width > 0.1 for height, width in zip(heights, widths, strict=True)]
        traces.append(
            {
                "type": "bar",
                "x": middles,
                "y": heights,
                "width": widths,
                "xaxis": f"x{suffix}",
                "yaxis": f"y{suffix}",
                "showlegend": False,
                "marker": patterned([one.colour for one in shades], [one.pattern for one in shades]),
                "text": [text(cut(label)) if room else "" for room in roomy],
                "textposition": "inside",
                "insidetextanchor": "middle",
                "textangle": 0,
                "constraintext": "none",
                "textfont": {"size": 10, "color": [one.ink for one in shades]},
                "customdata": [
                    [text(name), text(label), f"{row[j]:,}", word]
                    for name, row, word in zip(labels[0], counts, words, strict=True)
                ],
                "hovertemplate": "%{customdata[0]}, %{customdata[1]}<br>%{customdata[2]} rows, %{y:.1%} of the column"
                "%{customdata[3]}<extra></extra>",
            }
        )
    shown = [k for k, width in enumerate(widths) if width > 0.025]
    ticks: dict[str, Any] = {
        "tickvals": [middles[k] for k in shown],
        "ticktext": [text(cut(labels[0][k], 26)) for k in shown],
    }
    return traces, axis(**_BARE, tickangle=-35, tickfont={"size": 10}, tickmode="array", **ticks)


_BARE: dict[str, Any] = {"range": [0, 1], "showgrid": False, "zeroline": False}


def share_axis(of: str, **more: Any) -> dict[str, Any]:
    """The upright axis of a mosaic."""
    return axis(f"share of {of}" if of else "", **_BARE, tickformat=".0%", **more)


def mosaic_key(shades: Sequence[Shade]) -> list[Trace]:
    """What the shades mean, in the legend."""
    return [
        {
            "type": "bar",
            "x": [None],
            "y": [None],
            "name": one.words,
            "showlegend": True,
            "marker": patterned(one.colour, one.pattern, edge="#555555"),
        }
        for one in shades
    ]


def dots_figure(
    key: str,
    title: str,
    caption: str,
    points: tuple[str, Sequence[float], Sequence[float], Sequence[str]],
    *,
    x: str,
    y: str,
    header: Sequence[str],
    diagonal: bool = True,
    log: bool = False,
    span: tuple[float, float] | None = None,
    wide: bool = False,
) -> Figure:
    """Points with their labels, and the diagonal of perfect ones where that means something."""
    name, xs, ys, labels = points
    colour, _, symbol = style(0)
    hover = "%{text}: %{x:.4g}, %{y:.4g}<extra></extra>"
    marks = scatter(name, xs, ys, colour=colour, symbol=symbol, size=6, hovertemplate=hover)
    pale = {**marks["marker"], "opacity": 0.55}  # of each mark, so that many in one place are dark
    data = [{**marks, "marker": pale, "text": [text(label) for label in labels]}]
    if diagonal:
        ends = [min(xs), max(xs)]
        data.append(scatter("perfect", ends, ends, colour=INK, dash="dot", width=1.2))
    cut_off: dict[str, Any] = {} if span is None else {"range": list(span)}
    return figure(
        key,
        title,
        caption,
        data,
        header=header,
        rows=[(label, number(a), number(b)) for label, a, b in zip(labels[:200], xs, ys, strict=False)],
        wide=wide,
        height=340,
        xaxis=axis(x, **({"type": "log"} if log else {}), **cut_off),
        yaxis=axis(y, rangemode="normal" if diagonal else "tozero", **cut_off),
        showlegend=diagonal,
    )


def curves_figure(
    key: str,
    title: str,
    caption: str,
    series: Sequence[tuple[str, Sequence[float], Sequence[float]]],
    *,
    x: str,
    y: str,
    log: bool = False,
    level: Sequence[tuple[str, float]] = (),
    wide: bool = False,
) -> Figure:
    """Lines with markers; ``level`` draws named horizontal ones."""
    data = []
    for place, (name, xs, ys) in enumerate(series):
        colour, dash, symbol = style(place)
        data.append(scatter(name, list(xs), list(ys), colour=colour, dash=dash, symbol=symbol))
    places = [place for _, xs, _ in series for place in xs]
    data += [level_line(name, [min(places), max(places)], height) for name, height in level]
    rows = [(name, number(float(a)), number(float(b))) for name, xs, ys in series for a, b in zip(xs, ys, strict=True)]
    return figure(
        key,
        title,
        caption,
        data,
        header=("line", x, y),
        rows=rows + [(name, "", number(height)) for name, height in level],
        wide=wide,
        height=340,
        xaxis=axis(x, **({"type": "log"} if log else {})),
        yaxis=axis(y, rangemode="tozero"),
    )


def bars_figure(
    key: str,
    title: str,
    caption: str,
    names: Sequence[str],
    series: Sequence[tuple[str, Sequence[float]]],
    *,
    y: str,
) -> Figure:
    """Bars side by side, told apart by pattern as well as colour."""
    labels = [text(label) for label in names]
    data = [
        bars(name, labels, list(values), patterned(style(k)[0], _PATTERNS[k % len(_PATTERNS)]), "%{x}: %{y:.4g}")
        for k, (name, values) in enumerate(series)
    ]
    return figure(
        key,
        title,
        caption,
        data,
        header=("", *(name for name, _ in series)),
        rows=[(label, *(number(values[k]) for _, values in series)) for k, label in enumerate(names)],
        wide=True,
        height=360,
        barmode="group",
        xaxis=axis(type="category", showgrid=False),
        yaxis=axis(y, rangemode="tozero"),
    )
