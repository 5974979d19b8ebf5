"""Lines and points over two axes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from understudy.pages.charts import Point, Scale, band, bar, cloud, dots, line, text
from understudy.pages.drawings.common import (
    DASHES,
    GRID,
    INK,
    SIZE,
    SOFT,
    WIDTH,
    bottom_axis,
    colour_of,
    cut,
    drawing,
    gutter,
    legend,
    legend_height,
    level_dash,
    shape,
    tick_words,
)
from understudy.pages.numbers import number

_MANY = 300


@dataclass(frozen=True, kw_only=True)
class Series:
    """Points of one name: joined by a line, marked, or both."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float] = ()
    """Half-lengths of upright bars at the points; a band where the points are not marked."""
    labels: Sequence[str] = ()
    """Words beside the points."""
    joined: bool = True
    marked: bool = True
    look: int | None = None
    """Which colour, dash and shape it has; its place among the series otherwise."""


def xy_chart(
    series: Sequence[Series],
    *,
    title: str,
    spoken: str = "",
    names: tuple[str, str] = ("", ""),
    log: tuple[bool, bool] = (False, False),
    ends: tuple[tuple[float, float] | None, tuple[float, float] | None] = (None, None),
    ticks: tuple[Mapping[float, str] | None, Mapping[float, str] | None] = (None, None),
    levels: Sequence[tuple[str, float]] = (),
    diagonal: bool = False,
    from_zero: bool = False,
    shaded: tuple[float, float, float, float] | None = None,
    height: float = 240,
) -> str:
    """Lines and points over two axes. ``levels`` are named level lines, ``shaded`` is a box (x, x, y, y) behind."""
    ys = [value for _, value in levels] + ([0.0] if from_zero and not log[1] else [])
    for one in series:
        ys += [
            value for y, by in zip(one.y, _spread(one), strict=True) for value in (_down(y, by, up_log=log[1]), y + by)
        ]
    x_ends, y_ends = ends[0] or _ends([x for one in series for x in one.x], log[0]), ends[1] or _ends(ys, log[1])
    entries = [*(one.name for one in series), *(name for name, _ in levels)]
    shown = entries if len(entries) > 1 else []
    top = legend_height(shown) + 6
    up_words = ticks[1] or tick_words(Scale(low=y_ends[0], high=y_ends[1], start=0, end=1, log=log[1]))
    left = gutter(list(up_words.values()), 0.25) + (16 if names[1] else 2)
    across = Scale(low=x_ends[0], high=x_ends[1], start=left + 6, end=WIDTH - 12, log=log[0])
    up = Scale(low=y_ends[0], high=y_ends[1], start=top + height, end=top, log=log[1])
    parts = [legend(shown, 0, [_look(k, one) for k, one in enumerate(series)], levels=len(levels))]
    if shaded is not None:
        (x0, x1), (y0, y1) = (sorted(map(s, pair)) for s, pair in ((across, shaded[:2]), (up, shaded[2:])))
        parts.append(bar(x0, y0, x1 - x0, y1 - y0, fill="var(--good)", opacity=0.18))
    for value, word in up_words.items():
        parts.append(line([(across.start, up(value)), (across.end, up(value))], colour=GRID, width=1))
        parts.append(text(left, up(value) + 4, word, size=SIZE, anchor="end", colour=SOFT))
    parts += bottom_axis(across, up.start, None, number, names[0], ticks[0])
    if names[1]:
        parts.append(text(10, top + height / 2, names[1], size=SIZE, anchor="middle", turn=-90, colour=SOFT))
    if diagonal:
        low, high = max(x_ends[0], y_ends[0]), min(x_ends[1], y_ends[1])
        parts.append(line([(across(low), up(low)), (across(high), up(high))], colour=SOFT, width=1.2, dash="2 3"))
    for place, (_, value) in enumerate(levels):
        parts.append(
            line([(across.start, up(value)), (across.end, up(value))], colour=SOFT, width=1.4, dash=level_dash(place))
        )
    parts += [_series(one, _look(k, one), across, up) for k, one in enumerate(series)]
    return drawing(parts, up.start + (36 if names[0] else 22), title, spoken)


def _series(one: Series, look: int, across: Scale, up: Scale) -> str:
    places: list[Point] = [(across(x), up(y)) for x, y in zip(one.x, one.y, strict=True)]
    colour, parts = colour_of(look), []
    lows = [up(_down(y, by, up_log=up.log)) for y, by in zip(one.y, _spread(one), strict=True)]
    highs = [up(y + by) for y, by in zip(one.y, _spread(one), strict=True)]
    if one.spread and not one.marked:
        parts.append(band([x for x, _ in places], lows, highs, colour=colour))
    elif one.spread:
        for (x, _), low, high in zip(places, lows, highs, strict=True):
            parts.append(line([(x, low), (x, high)], colour=colour, width=1.2))
    if one.joined and len(places) > 1:
        parts.append(line(places, colour=colour, width=1.8, dash=DASHES[look % len(DASHES)]))
    if one.marked and len(places) > _MANY:
        parts.append(cloud(places, colour=colour))
    elif one.marked:
        parts.append(dots(places, shape=shape(look), size=4, colour=colour))
    for (x, y), word in zip(places, one.labels, strict=False):
        anchor, aside = ("end", -7) if x > WIDTH * 0.7 else ("start", 7)
        parts.append(text(x + aside, y - 5, cut(word, 24), size=10, anchor=anchor, colour=INK))
    return "".join(parts)


def _spread(one: Series) -> Sequence[float]:
    return one.spread or [0.0] * len(one.y)


def _down(y: float, by: float, *, up_log: bool) -> float:
    """The lower end of a bar; on a logarithmic axis it stays above 0."""
    return max(y - by, y / 10) if up_log else y - by


def _ends(values: Sequence[float], log: bool) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    if log:
        low = max(low, 1e-12)
        return (low / 1.15, max(high, low) * 1.15)
    margin = 0.04 * (high - low) or abs(high) * 0.1 or 0.5
    return (low if low == 0 else low - margin, high + margin)


def _look(place: int, one: Series) -> int:
    return place if one.look is None else one.look
