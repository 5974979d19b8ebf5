"""A figure is a drawing with the sentence and the table that say the same. Pages with figures need no script."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from understudy.extras import need
from understudy.pages.drawings import Series, grouped_bars, xy_chart
from understudy.pages.numbers import number
from understudy.pages.shell import MARKER, html_page, policy


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What is drawn (inline SVG of :mod:`understudy.pages.drawings`), what stands below it, and the table behind it."""

    key: str
    title: str
    drawing: str
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    wide: bool = False


def figures_page(template: str, *, title: str, package: str, marker: str = MARKER, **values: Any) -> str:
    """Fill a room's template; ``marker`` says whether the page is confidential, which it is unless told otherwise."""
    need("jinja2", extra="report", what="the report page")
    style = resources.files("understudy.pages").joinpath("figures.css").read_text(encoding="utf-8")
    return html_page(
        template,
        title=title,
        packages=(package,),
        style=style,
        marker=marker,
        security=policy(scripts=False),
        **values,
    )


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
    """Points, and the diagonal of perfect ones where that means something; the table has their labels."""
    name, xs, ys, labels = points
    drawing = xy_chart(
        [Series(name=name, x=xs, y=ys, joined=False)],
        title=title,
        spoken=caption,
        names=(x, y),
        log=(log, False),
        ends=(span, span),
        diagonal=diagonal,
        from_zero=not diagonal,
    )
    rows = [(label, number(a), number(b)) for label, a, b in zip(labels[:200], xs, ys, strict=False)]
    return Figure(key=key, title=title, drawing=drawing, caption=caption, header=header, rows=rows, wide=wide)


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
    drawing = xy_chart(
        [Series(name=name, x=xs, y=ys) for name, xs, ys in series],
        title=title,
        spoken=caption,
        names=(x, y),
        log=(log, False),
        levels=level,
        from_zero=True,
    )
    rows = [(name, number(float(a)), number(float(b))) for name, xs, ys in series for a, b in zip(xs, ys, strict=True)]
    rows += [(name, "", number(height)) for name, height in level]
    return Figure(key=key, title=title, drawing=drawing, caption=caption, header=("line", x, y), rows=rows, wide=wide)


def bars_figure(
    key: str, title: str, caption: str, names: Sequence[str], series: Sequence[tuple[str, Sequence[float]]]
) -> Figure:
    """Bars of each series below each name."""
    return Figure(
        key=key,
        title=title,
        drawing=grouped_bars(names, series, title=title, spoken=caption),
        caption=caption,
        header=("", *(name for name, _ in series)),
        rows=[(label, *(number(values[k]) for _, values in series)) for k, label in enumerate(names)],
    )
