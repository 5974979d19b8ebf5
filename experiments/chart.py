"""Line charts in panels with a common legend, readable without colour (markers and dashes), drawn by the package."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from understudy.pages.charts import SOFT, Scale, axes, dots, line, svg, text

_WIDTH, _HEIGHT = 430, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 24, 34, 48
_STYLES = (
    ("#0072b2", "none", "circle"),
    ("#d55e00", "7 3", "square"),
    ("#009e73", "2 3", "triangle"),
    ("#7b3f98", "9 3 2 3", "diamond"),
    ("#000000", "4 2", "cross"),
    ("#8a6d00", "1 2", "wedge"),
    ("#555555", "12 4", ""),
    ("#999999", "3 6", ""),
)


@dataclass(frozen=True, kw_only=True)
class Line:
    """Points in order; ``hollow`` marks some of them, ``spread`` draws bars of that half-length."""

    label: str
    style: int
    points: Sequence[tuple[float, float]]
    hollow: Sequence[bool] = ()
    spread: Sequence[float] = ()


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One pair of axes."""

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    log_x: bool = False
    from_zero: bool = True
    """Whether the x axis, if not logarithmic, starts at 0."""
    low: float = 0.0
    high: float | None = None


def chart(title: str, panels: Sequence[Panel], *, across: int = 2, note: str = "") -> str:
    """The whole picture."""
    across = min(across, len(panels))
    width, floor = across * _WIDTH, 40 + math.ceil(len(panels) / across) * _HEIGHT
    parts = [text(14, 25, title, size=16, weight=600)]
    for number, panel in enumerate(panels):
        parts += _panel(panel, number % across * _WIDTH, 40 + number // across * _HEIGHT)
    keys, bottom = _legend({line.label: line.style for panel in panels for line in panel.lines}, width, floor + 12)
    height = bottom + (36 if note else 14)
    notes = [text(14, height - 9, note, size=11, colour=SOFT)] if note else []
    return svg([*parts, *keys, *notes], width=width, height=height, title=title)


def _legend(labels: dict[str, int], width: int, top: float) -> tuple[list[str], float]:
    parts, x, y = [], 14.0, top
    for label, style in labels.items():
        wide = 58 + 7.2 * len(label)
        if x + wide > width and x > 14:
            x, y = 14.0, y + 20
        parts += [_stroke(style, [(x, y), (x + 34, y)]), _marks(style, [(x + 17, y)]), text(x + 40, y + 4, label)]
        x += wide
    return parts, y


def _panel(panel: Panel, left: float, top: float) -> list[str]:
    xs = [x for line in panel.lines for x, _ in line.points]
    ys = [y for line in panel.lines for y in _reach(line)]
    if not xs:
        return [text(left + _LEFT, top + 60, f"{panel.title}: nothing to show")]
    start, end = min(xs) if panel.log_x or not panel.from_zero else min(0.0, *xs), max(xs)
    lowest = min(panel.low, *ys) if panel.low <= 0 else panel.low
    highest = max(ys) if panel.high is None else panel.high
    wide = Scale(low=start, high=end, start=left + _LEFT + 8, end=left + _WIDTH - _RIGHT - 8, log=panel.log_x)
    ceiling = lowest + (highest - lowest) * 1.04  # markers at the top stay inside
    up = Scale(low=lowest, high=ceiling, start=top + _HEIGHT - _BOTTOM, end=top + _TOP)
    ticks = [_logs(start, end) if panel.log_x else wide.ticks(), up.ticks()]
    names = tuple({tick: f"{tick:,.0f}" if abs(tick) >= 1000 else f"{tick:g}" for tick in each} for each in ticks)
    parts = [text(left + _LEFT, top + 20, panel.title, size=13, weight=600)]
    parts.append(axes(wide, up, names=(panel.x, panel.y), labels=(names[0], names[1])))
    for each in panel.lines:
        parts += _line(each, wide, up)
    return parts


def _reach(line: Line) -> list[float]:
    """Everything that must stay inside: points, and the ends of their bars."""
    spread = line.spread or [0.0] * len(line.points)
    return [end for (_, y), half in zip(line.points, spread, strict=True) for end in (y - half, y + half)]


def _line(drawn: Line, wide: Scale, up: Scale) -> list[str]:
    points = [(wide(x), up(y)) for x, y in drawn.points]
    bars = [
        line([(wide(x), up(y - half)), (wide(x), up(y + half))], colour=_STYLES[drawn.style][0], width=1)
        for (x, y), half in zip(drawn.points, drawn.spread, strict=False)
    ]
    hollow = drawn.hollow or [False] * len(points)
    marks = [_marks(drawn.style, [point], hollow=empty) for point, empty in zip(points, hollow, strict=True)]
    return [_stroke(drawn.style, points), *bars, *marks]


def _stroke(style: int, points: Sequence[tuple[float, float]]) -> str:
    colour, dash, _ = _STYLES[style]
    return line(points, colour=colour, width=1.8, dash=dash)


def _marks(style: int, points: Sequence[tuple[float, float]], *, hollow: bool = False) -> str:
    colour, _, shape = _STYLES[style]
    return dots(points, shape=shape, size=4, colour=colour, inside="#fff" if hollow else "") if shape else ""


def _logs(low: float, high: float) -> list[float]:
    """1, 2, 5 or 1, 3 in each decade; whole decades only where there are many."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    span = math.log10(high / low)
    digits = (1, 2, 5) if span < 1.8 else (1, 3) if span < 2.6 else (1,)
    return [d * 10.0**k for k in decades for d in digits if low * 0.999 <= d * 10.0**k <= high * 1.001]
