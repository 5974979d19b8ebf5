"""Line charts as self-contained SVG: panels with a common legend, readable without colour (markers and dashes)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Line", "Panel", "chart"]

_WIDTH, _HEIGHT = 430, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 24, 34, 48
_STYLES = (
    ("#0072b2", "", "circle"),
    ("#d55e00", "7 3", "square"),
    ("#009e73", "2 3", "triangle"),
    ("#7b3f98", "9 3 2 3", "diamond"),
    ("#000000", "4 2", "cross"),
    ("#8a6d00", "1 2", "wedge"),
    ("#555555", "12 4", "none"),
    ("#999999", "3 6", "none"),
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
    rows = math.ceil(len(panels) / across)
    width = across * _WIDTH
    labels: dict[str, int] = {}
    for panel in panels:
        labels |= {line.label: line.style for line in panel.lines}
    keys, legend = _legend(labels, width)
    top = 40
    height = top + rows * _HEIGHT + legend + (22 if note else 0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="system-ui, sans-serif" role="img" aria-label="{escape(title)}">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="14" y="25" font-size="16" font-weight="600">{escape(title)}</text>',
    ]
    for number, panel in enumerate(panels):
        at = f"translate({number % across * _WIDTH},{top + number // across * _HEIGHT})"
        parts += [f'<g transform="{at}">', *_panel(panel), "</g>"]
    parts += [f'<g transform="translate(0,{top + rows * _HEIGHT})">', *keys, "</g>"]
    if note:
        parts.append(f'<text x="14" y="{height - 9}" font-size="11" fill="#444">{escape(note)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _legend(labels: dict[str, int], width: int) -> tuple[list[str], int]:
    parts, x, y = [], 14.0, 12.0
    for label, style in labels.items():
        wide = 44 + 7.2 * len(label) + 14
        if x + wide > width and x > 14:
            x, y = 14.0, y + 20
        colour, dash, _ = _STYLES[style]
        stroke = f'stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dash}"'
        parts.append(f'<path d="M{x:.0f},{y:.0f}h34" {stroke} fill="none"/>')
        parts += _marker(style, x + 17, y, hollow=False)
        parts.append(f'<text x="{x + 40:.0f}" y="{y + 4:.0f}" font-size="12">{escape(label)}</text>')
        x += wide
    return parts, int(y) + 14


def _panel(panel: Panel) -> list[str]:
    xs = [x for line in panel.lines for x, _ in line.points]
    ys = [y for line in panel.lines for y in _reach(line)]
    if not xs:
        return [f'<text x="{_LEFT}" y="60" font-size="12">{escape(panel.title)}: nothing to show</text>']
    start, end = min(xs) if panel.log_x or not panel.from_zero else min(0.0, *xs), max(xs)
    x_ticks = _logs(start, end) if panel.log_x else _nice(start, end)
    highest = max(ys) if panel.high is None else panel.high
    lowest = min(panel.low, *ys) if panel.low <= 0 else panel.low
    bottom = _nice(lowest, highest)[0] if lowest < 0 else lowest
    ceiling = bottom + (highest - bottom) * 1.04  # markers at the top stay inside
    y_ticks = [tick for tick in _nice(bottom, highest) if bottom <= tick <= ceiling]

    def px(x: float) -> float:
        share = math.log(x / start) / math.log(end / start) if panel.log_x else (x - start) / (end - start)
        return _LEFT + 8 + share * (_WIDTH - _LEFT - _RIGHT - 16)

    def py(y: float) -> float:
        return _HEIGHT - _BOTTOM - (y - bottom) / (ceiling - bottom) * (_HEIGHT - _TOP - _BOTTOM)

    floor = _HEIGHT - _BOTTOM
    parts = [f'<text x="{_LEFT}" y="20" font-size="13" font-weight="600" fill="#222">{escape(panel.title)}</text>']
    for tick in y_ticks:
        parts.append(f'<path d="M{_LEFT},{py(tick):.1f}H{_WIDTH - _RIGHT}" stroke="#e4e4e4"/>')
        parts.append(_text(_LEFT - 6, py(tick) + 4, _number(tick), "end"))
    for tick in x_ticks:
        if start <= tick <= end:
            parts.append(f'<path d="M{px(tick):.1f},{floor}v4" stroke="#666"/>')
            parts.append(_text(px(tick), floor + 16, _number(tick), "middle"))
    parts.append(f'<path d="M{_LEFT},{_TOP}V{floor}H{_WIDTH - _RIGHT}" stroke="#666" fill="none"/>')
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 12, panel.x, "middle", 12))
    middle = (_TOP + floor) / 2
    parts.append(
        f'<text transform="translate(14,{middle:.0f}) rotate(-90)" font-size="12" fill="#333" text-anchor="middle">'
        f"{escape(panel.y)}</text>"
    )
    for line in panel.lines:
        parts += _line(line, [(px(x), py(y)) for x, y in line.points], py)
    return parts


def _reach(line: Line) -> list[float]:
    """Everything that must stay inside: points, and the ends of their bars."""
    spread = line.spread or [0.0] * len(line.points)
    return [end for (_, y), half in zip(line.points, spread, strict=True) for end in (y - half, y + half)]


def _line(line: Line, points: Sequence[tuple[float, float]], py: Callable[[float], float]) -> list[str]:
    colour, dash, _ = _STYLES[line.style]
    path = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts = [f'<path d="{path}" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dash}" fill="none"/>']
    for number, (x, y) in enumerate(points):
        if line.spread:
            value, half = line.points[number][1], line.spread[number]
            ends = py(value - half), py(value + half)
            parts.append(f'<path d="M{x:.1f},{ends[0]:.1f}V{ends[1]:.1f}" stroke="{colour}" stroke-width="1"/>')
        parts += _marker(line.style, x, y, hollow=bool(line.hollow) and line.hollow[number])
    return parts


def _marker(style: int, x: float, y: float, *, hollow: bool) -> list[str]:
    colour, _, shape = _STYLES[style]
    fill = "#fff" if hollow else colour
    outline = f'stroke="{colour}" stroke-width="1.5"'
    paths = {
        "square": "m-3.5,-3.5h7v7h-7z",
        "triangle": "m0,-4.5l4.2,7.5h-8.4z",
        "diamond": "m0,-4.8l4.2,4.8l-4.2,4.8l-4.2,-4.8z",
        "cross": "m-3.5,-3.5l7,7m0,-7l-7,7",
        "wedge": "m0,4.5l4.2,-7.5h-8.4z",
    }
    if shape == "none":
        return []
    if shape == "circle":
        return [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.6" fill="{fill}" {outline}/>']
    return [f'<path d="M{x:.1f},{y:.1f}{paths[shape]}" fill="{fill}" {outline}/>']


def _text(x: float, y: float, text: str, anchor: str, size: int = 11) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="#333" text-anchor="{anchor}">{escape(text)}</text>'


def _nice(low: float, high: float) -> list[float]:
    """About five round steps that cover the range."""
    raw = (high - low) / 5 or 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= raw * 0.999)
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [round(k * step, 10) for k in range(first, last + 1)]


def _logs(low: float, high: float) -> list[float]:
    """1, 2, 5 or 1, 3 in each decade; whole decades only where there are many."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    span = math.log10(high / low)
    digits = (1, 2, 5) if span < 1.8 else (1, 3) if span < 2.6 else (1,)
    return [d * 10.0**k for k in decades for d in digits if low * 0.999 <= d * 10.0**k <= high * 1.001]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"
