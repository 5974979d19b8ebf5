"""What all drawings share: size, colours, labels, legend and the axis below."""

from collections.abc import Callable, Mapping, Sequence
from html import escape

from understudy.pages.charts import Scale, bar, dots, line, svg, text
from understudy.pages.numbers import number

WIDTH = 360
"""A phone shows this much; larger screens scale it up."""
REAL, MADE, INK, SOFT, GRID = "var(--real)", "var(--made)", "var(--ink)", "var(--soft)", "var(--line)"
SIZE = 11
LETTER = 6.2
"""Width of a letter of that size, roughly."""
DASHES = ("", "6 3", "2 3", "8 3 2 3", "12 4", "1 4")
_SHAPES = ("circle", "square", "triangle", "diamond", "cross", "wedge")
_COLOURS = 6


def colour_of(place: int) -> str:
    """The colour of the series at a place."""
    return f"var(--s{place % _COLOURS})"


def cut(label: str, most: int = 16) -> str:
    """The start of a long label.

    >>> cut("Skilled Nursing Elsewhere"), cut("Died")
    ('Skilled Nursing…', 'Died')
    """
    return label if len(label) <= most else label[: most - 1] + "…"


def drawing(parts: Sequence[str], height: float, title: str, spoken: str) -> str:
    """The parts on a ground as wide as all drawings."""
    return svg(parts, width=WIDTH, height=round(height), title=title, description=spoken, inline=True, style="drawing")


def gutter(words: Sequence[str], most: float) -> float:
    """Room for the longest of the words, at most such a share of the width."""
    return min(LETTER * max([1, *map(len, words)]) + 4, most * WIDTH)


def end_label(words: str, right: float, y: float) -> str:
    """Words that end at a place; a long label is cut, and told whole when pointed at."""
    most = int(right / LETTER)
    shown = text(right, y, cut(words, most), size=SIZE, anchor="end", colour=INK)
    return shown if len(words) <= most else f"<g><title>{escape(words)}</title>{shown}</g>"


def bottom_axis(
    across: Scale,
    floor: float,
    top: float | None,
    show: Callable[[float], str],
    name: str,
    words: Mapping[float, str] | None = None,
) -> list[str]:
    """The floor with its ticks and name; lines up to ``top`` where it is given."""
    parts = [line([(across.start, floor), (across.end, floor)], colour=SOFT, width=1)]
    for value, word in (words or tick_words(across, show)).items():
        x = across(value)
        upper = floor if top is None else top
        parts.append(line([(x, upper), (x, floor + 4)], colour=GRID if top is not None else SOFT, width=1))
        parts.append(text(x, floor + 15, word, size=SIZE, anchor="middle", colour=SOFT))
    if name:
        half = LETTER * len(name) / 2  # a long name stays on the drawing
        middle = max(min((across.start + across.end) / 2, WIDTH - half), half)
        parts.append(text(middle, floor + 30, name, size=SIZE, anchor="middle", colour=SOFT))
    return parts


def tick_words(scale: Scale, show: Callable[[float], str] = number) -> dict[float, str]:
    """Ticks with their words, fewer where the words are long."""
    ticks = scale.ticks(5)
    if len(ticks) < 2:  # a logarithmic scale within one power of ten
        rough = Scale(low=scale.low, high=scale.high, start=scale.start, end=scale.end)
        ticks = rough.ticks(4)
    room = abs(scale.end - scale.start)
    if room > 1 and sum(len(show(tick)) + 2 for tick in ticks) * LETTER > room:
        ticks = ticks[:: max(2, len(ticks) // 2)]
    return {tick: show(tick) for tick in ticks}


def shape(look: int) -> str:
    """The mark of a series."""
    return _SHAPES[look % len(_SHAPES)]


def level_dash(place: int) -> str:
    """The dash of a level line."""
    return ("2 3", "7 3")[place % 2]


def legend_height(names: Sequence[str]) -> float:
    """What a legend of these names needs."""
    return 16.0 * len(_legend_places(names)[1]) + 4 if len(names) > 1 else 2.0


def _legend_places(names: Sequence[str]) -> tuple[list[tuple[float, float]], list[float]]:
    """Where each name stands, and the heights of the lines."""
    places, heights, x = [], [0.0], 0.0
    for name in names:
        width = 30 + LETTER * min(len(name), 52) + 10
        if x and x + width > WIDTH:
            x = 0.0
            heights.append(heights[-1] + 16)
        places.append((x, heights[-1]))
        x += width
    return places, heights


def legend(
    names: Sequence[str], top: float, looks: Sequence[int] | None = None, *, boxes: bool = False, levels: int = 0
) -> str:
    """Each series with its mark; nothing where there is only one. The last ``levels`` names are level lines."""
    if len(names) < 2:
        return ""
    parts = []
    for place, (name, (x, above)) in enumerate(zip(names, _legend_places(names)[0], strict=True)):
        look, y = place if looks is None or place >= len(looks) else looks[place], above + top
        level = place - (len(names) - levels)
        if boxes:
            parts.append(bar(x + 6, y + 2, 12, 10, fill=colour_of(look), edge=INK))
        elif level >= 0:
            parts.append(line([(x, y + 8), (x + 24, y + 8)], colour=SOFT, width=1.4, dash=level_dash(level)))
        else:
            if looks is not None:
                parts.append(
                    line([(x, y + 8), (x + 24, y + 8)], colour=colour_of(look), dash=DASHES[look % len(DASHES)])
                )
            parts.append(dots([(x + 12, y + 8)], shape=shape(look), size=4, colour=colour_of(look)))
        parts.append(text(x + 29, y + 12, cut(name, 52), size=SIZE, colour=INK))
    return "".join(parts)
