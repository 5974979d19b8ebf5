"""Charts as inline SVG: scales, axes, lines with bands, bars and dots.

Every function returns text. The same input always gives the same text, labels are escaped, and nothing is loaded.
Colours are Okabe and Ito's, told apart by everybody; series differ in pattern, dash or shape as well, so that a
black-and-white printer loses nothing.

>>> across = Scale(low=0, high=10, start=40, end=240)
>>> across(5), across.ticks()
(140.0, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0])
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

REAL, SYNTHETIC = "#0072b2", "#e69f00"
"""Blue is the confidential table, orange the synthetic one."""
SYNTHETIC_LINE = "#c8571b"
"""The orange of thin lines and small marks, which need more contrast with paper."""
DEEP_BLUE, DEEP_ORANGE = "#0b4f80", "#b85a00"
INK, SOFT, GRID = "#222222", "#555555", "#d9d9d9"

Point = tuple[float, float]
_MANY = 2000


def round_up(value: float) -> float:
    """The next round number, where an axis may end.

    >>> round_up(0.07), round_up(12), round_up(40)
    (0.08, 15.0, 40.0)
    """
    power = 10.0 ** math.floor(math.log10(value))
    return next(float(step * power) for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * power >= value)


@dataclass(frozen=True, kw_only=True)
class Scale:
    """From values to places on the drawing; values beyond the ends are drawn at the ends."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Where a value lies."""
        low, high, at = (math.log10(x) if self.log else x for x in (self.low, self.high, value))
        share = (at - low) / (high - low) if high > low else 0.0
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values inside the scale: powers of ten on a logarithmic one."""
        if self.log:
            powers = range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
            return [10.0**power for power in powers]
        if self.high <= self.low:
            return [self.low]
        rough = (self.high - self.low) / max(most - 1, 1)
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(number * step, 12) for number in range(first, last + 1)]


def svg(
    parts: Iterable[str],
    *,
    width: float,
    height: float,
    title: str,
    description: str = "",
    inline: bool = False,
    style: str = "",
) -> str:
    """The drawing, for a file of its own or, ``inline``, on the ground of a page. Screen readers say its title."""
    space = "" if inline else ' xmlns="http://www.w3.org/2000/svg"'
    named = f' class="{style}"' if style else ""
    lines = [
        f'<svg{space}{named} viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" font-family="system-ui, sans-serif" role="img">',
        f"<title>{escape(title)}</title>" + (f"<desc>{escape(description)}</desc>" if description else ""),
        *([] if inline else ['<rect width="100%" height="100%" fill="#fff"/>']),
        *parts,
        "</svg>\n",
    ]
    return "\n".join(lines)


def hatching(key: str, *, colour: str = SYNTHETIC) -> str:
    """A pattern of stripes; ``url(#key)`` fills with it."""
    return (
        f'<defs><pattern id="{escape(key)}" width="5" height="5" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><rect width="5" height="5" fill="{colour}"/>'
        '<path d="M0,0V5" stroke="#fff" stroke-width="1.6"/></pattern></defs>'
    )


def text(
    x: float,
    y: float,
    words: str,
    *,
    size: float = 12,
    anchor: str = "start",
    colour: str = INK,
    weight: int = 400,
    turn: float = 0,
) -> str:
    """Words at a place, turned by so many degrees."""
    place = f'transform="translate({x:.1f},{y:.1f}) rotate({turn:g})"' if turn else f'x="{x:.1f}" y="{y:.1f}"'
    bold = f' font-weight="{weight}"' if weight != 400 else ""
    return f'<text {place} font-size="{size:g}" text-anchor="{anchor}" fill="{colour}"{bold}>{escape(words)}</text>'


def line(points: Sequence[Point], *, colour: str = INK, width: float = 2, dash: str = "") -> str:
    """A line through the points."""
    drawn = "L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="M{drawn}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dashed}/>'


def band(places: Sequence[float], lows: Sequence[float], highs: Sequence[float], *, colour: str) -> str:
    """The area between two lines, such as an interval around a curve."""
    edge = [*zip(places, highs, strict=True), *reversed(list(zip(places, lows, strict=True)))]
    drawn = "L".join(f"{x:.1f},{y:.1f}" for x, y in edge)
    return f'<path d="M{drawn}Z" fill="{colour}" fill-opacity="0.22"/>'


def bar(
    x: float,
    y: float,
    width: float,
    height: float,
    *,
    fill: str,
    edge: str = "",
    tip: str = "",
    opacity: float = 1,
    rounded: float = 0,
) -> str:
    """A box with its upper left corner at (x, y); ``tip`` is shown when pointed at."""
    look = f' stroke="{edge}" stroke-width="0.6"' if edge else ""
    look += f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
    look += f' rx="{rounded:g}"' if rounded else ""
    box = f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"{look}'
    return f"{box}><title>{escape(tip)}</title></rect>" if tip else f"{box}/>"


_SHAPES = {
    "diamond": "l{0},{0}l-{0},{0}l-{0},-{0}z",
    "square": "h{0}v{1}h-{1}v-{1}h{0}z",
    "triangle": "l{0},{1}h-{1}z",
    "wedge": "h{0}l-{0},{1}l-{0},-{1}z",
    "cross": "m-{0},0l{1},{1}m-{1},0l{1},-{1}",
    "tick": "v{1}",
}
"""Paths that begin above the middle; {0} is the size of a mark, {1} twice that."""
_STROKED = ("tick", "cross")


def dots(
    points: Iterable[Point], *, shape: str = "circle", size: float = 5, colour: str = REAL, inside: str = ""
) -> str:
    """Marks of one shape: circle, diamond, square, triangle, wedge (upside down), cross or tick (an upright line).

    ``inside`` fills rings and the like with another colour, or with ``none``.
    """
    ring = f'fill="{inside}" stroke="{colour}" stroke-width="{min(2, size / 2.5):g}"'
    look = ring if inside else f'fill="{colour}"'
    look = f'fill="none" stroke="{colour}" stroke-width="2.5"' if shape in _STROKED else look
    marks = []
    for x, y in points:
        if shape == "circle":
            marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:g}" {look}/>')
        else:
            path = _SHAPES[shape].format(f"{size:g}", f"{2 * size:g}")
            marks.append(f'<path d="M{x:.1f},{y - size:.1f}{path}" {look}/>')
    return "".join(marks)


def cloud(points: Sequence[Point], *, colour: str = REAL) -> str:
    """Thousands of round marks in one path, paler the more there are; those on one pixel are written once."""
    digits, size = (0, 3.2) if len(points) > _MANY else (1, 5.0)
    path = "".join(dict.fromkeys(f"M{x:.{digits}f},{y:.{digits}f}h0" for x, y in points))
    opacity = max(0.12, min(0.8, 60 / math.sqrt(len(points) + 1)))
    return (
        f'<path d="{path}" stroke="{colour}" stroke-width="{size:g}" stroke-linecap="round" '
        f'stroke-opacity="{opacity:.2f}" fill="none"/>'
    )


def stairs(edges: Sequence[float], heights: Sequence[float], *, floor: float, colour: str = INK) -> str:
    """The outline of a histogram whose bins lie between the edges."""
    corners = [(x, y) for k, y in enumerate(heights) for x in edges[k : k + 2]]
    return line([(edges[0], floor), *corners, (edges[-1], floor)], colour=colour)


def axes(
    across: Scale,
    up: Scale,
    *,
    names: tuple[str, str] = ("", ""),
    labels: tuple[Mapping[float, str] | None, Mapping[float, str] | None] = (None, None),
) -> str:
    """The floor with its ticks, and level lines with theirs; ``labels`` replace the round numbers."""
    floor, left, right = up.start, across.start, across.end
    wide, tall = ({value: f"{value:g}" for value in scale.ticks()} for scale in (across, up))
    parts = []
    for value, word in (tall if labels[1] is None else labels[1]).items():
        parts.append(line([(left, up(value)), (right, up(value))], colour=GRID, width=1))
        parts.append(text(left - 7, up(value) + 4, word, size=11, anchor="end", colour=SOFT))
    for value, word in (wide if labels[0] is None else labels[0]).items():
        parts.append(line([(across(value), floor), (across(value), floor + 5)], colour=SOFT, width=1))
        parts.append(text(across(value), floor + 18, word, size=11, anchor="middle", colour=SOFT))
    parts.append(line([(left, floor), (right, floor)], colour=SOFT, width=1))
    if names[0]:
        parts.append(text((left + right) / 2, floor + 36, names[0], anchor="middle"))
    if names[1]:
        parts.append(text(left - 44, (up.start + up.end) / 2, names[1], anchor="middle", turn=-90))
    return "".join(parts)


def legend(entries: Sequence[tuple[str, str]], *, x: float, y: float, step: float = 190) -> str:
    """Boxes with their names beside them: fill and words of each."""
    parts = []
    for place, (fill, words) in enumerate(entries):
        parts.append(bar(x + place * step, y, 14, 14, fill=fill))
        parts.append(text(x + place * step + 20, y + 12, words, size=13))
    return "".join(parts)


def line_legend(entries: Sequence[tuple[str, str, str]], *, x: float, y: float) -> str:
    """Lines with their names below each other, on a ground of their own: colour, dash and words of each."""
    parts = [bar(x - 8, y, 158, 18 * len(entries) + 6, fill="#fff", opacity=0.85)]
    for place, (colour, dash, words) in enumerate(entries):
        height = y + 14 + 18 * place
        parts.append(line([(x, height), (x + 26, height)], colour=colour, width=4, dash=dash))
        parts.append(text(x + 34, height + 4, words))
    return "".join(parts)
