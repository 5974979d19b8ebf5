"""One line per label: bars of differences, dots with intervals on one axis, bars of several series."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from understudy.pages.charts import Scale, bar, dots, line, text
from understudy.pages.drawings.common import (
    GRID,
    INK,
    MADE,
    REAL,
    SIZE,
    SOFT,
    WIDTH,
    bottom_axis,
    colour_of,
    drawing,
    end_label,
    gutter,
    legend,
    legend_height,
    shape,
)
from understudy.pages.numbers import number

ROW = 19


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One bar that begins at 0."""

    label: str
    value: float
    chance: float = 0.0
    """Half the width of what chance alone explains, drawn as a pale box around 0."""
    words: str = ""
    """What stands beside the bar; the number otherwise."""


def difference_bars(
    rows: Sequence[Difference], *, title: str, spoken: str = "", show: Callable[[float], str] = number, reach: float = 0
) -> str:
    """Bars to the left and right of a zero line; the axis reaches at least ``reach`` to both sides."""
    words = [row.words or show(row.value) for row in rows]
    left, right = gutter([row.label for row in rows], 0.38), gutter(words, 0.3)
    low = min(-reach, *(min(row.value, -row.chance) for row in rows), 0.0)
    high = max(reach, 1e-12, *(max(row.value, row.chance) for row in rows))
    across = Scale(low=low, high=high, start=left + 4, end=WIDTH - right - 4)
    parts = []
    for place, (row, word) in enumerate(zip(rows, words, strict=True)):
        top = 4 + place * ROW
        parts.append(end_label(row.label, left, top + 13))
        if row.chance:
            start = across(-row.chance)
            parts.append(bar(start, top + 1, across(row.chance) - start, ROW - 4, fill=GRID))
        ends = sorted((across(0), across(row.value)))
        fill = MADE if row.value < 0 else REAL
        parts.append(bar(ends[0], top + 4, max(ends[1] - ends[0], 0.8), ROW - 10, fill=fill))
        parts.append(text(WIDTH, top + 13, word, size=SIZE, anchor="end", colour=INK))
    height = 6 + ROW * len(rows)
    parts.append(line([(across(0), 2), (across(0), height - 2)], colour=SOFT, width=1))
    return drawing(parts, height, title, spoken)


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A value with its interval; dots of one series look alike."""

    value: float
    low: float | None = None
    high: float | None = None
    series: int = 0


def interval_axis(
    rows: Sequence[tuple[str, Sequence[Dot]]],
    *,
    title: str,
    spoken: str = "",
    series: Sequence[str] = (),
    zero: float | None = 0.0,
    span: tuple[float, float] | None = None,
    show: Callable[[float], str] = number,
    name: str = "",
    limit: float | None = None,
) -> str:
    """Dots with intervals below each other on one axis, a line at ``zero`` and a dashed one at ``limit``.

    What lies beyond ``span`` is drawn at its end as an arrowhead.
    """
    everything = [x for _, own in rows for dot in own for x in (dot.value, dot.low, dot.high) if x is not None]
    everything += [x for x in (zero, limit) if x is not None]
    low, high = span or (min(everything, default=0.0), max(everything, default=1.0))
    margin = 0 if span else 0.04 * ((high - low) or 1.0)
    left = gutter([label for label, _ in rows], 0.42)
    across = Scale(low=low - margin, high=high + margin, start=left + 10, end=WIDTH - 10)
    deep = max([1, *(len(own) for _, own in rows)])
    step, top = ROW + 6 * (deep - 1), legend_height(series)
    floor = top + step * len(rows) + 4
    parts = [legend(series, 0), *bottom_axis(across, floor, top, show, name)]
    for mark, dash, width in ((zero, "", 1.4), (limit, "4 3", 1.2)):
        if mark is not None:
            parts.append(line([(across(mark), top), (across(mark), floor)], colour=SOFT, width=width, dash=dash))
    for place, (label, own) in enumerate(rows):
        middle = top + step * (place + 0.5) + 2
        parts.append(end_label(label, left, middle + 4))
        for order, dot in enumerate(own):
            parts.append(_dot(dot, across, middle + 7 * (order - (len(own) - 1) / 2)))
    return drawing(parts, floor + (36 if name else 22), title, spoken)


def _dot(dot: Dot, across: Scale, height: float) -> str:
    colour = colour_of(dot.series)
    whisker = ""
    if dot.low is not None and dot.high is not None:
        whisker = line([(across(dot.low), height), (across(dot.high), height)], colour=colour, width=1.6)
    if dot.value > across.high or dot.value < across.low:  # beyond the end of the axis
        tip, back = (across.end, -6) if dot.value > across.high else (across.start, 6)
        head = [(tip + back, height - 4), (tip, height), (tip + back, height + 4)]
        return whisker + line(head, colour=colour, width=2)
    return whisker + dots([(across(dot.value), height)], shape=shape(dot.series), size=4, colour=colour)


def grouped_bars(
    labels: Sequence[str],
    series: Sequence[tuple[str, Sequence[float]]],
    *,
    title: str,
    spoken: str = "",
    show: Callable[[float], str] = number,
) -> str:
    """Lying bars, one of each series below each label, with their numbers."""
    left = gutter(labels, 0.4)
    right = gutter([show(value) for _, values in series for value in values], 0.3)
    far = max([1e-12, *(value for _, values in series for value in values)])
    across = Scale(low=0, high=far, start=left + 4, end=WIDTH - right - 4)
    step, top = 13 * len(series) + 8, legend_height([name for name, _ in series])
    parts = [legend([name for name, _ in series], 0, boxes=True)]
    for place, label in enumerate(labels):
        upper = top + place * step + 4
        parts.append(end_label(label, left, upper + 13 * len(series) / 2 + 4))
        for order, (_, values) in enumerate(series):
            y, value = upper + 13 * order, values[place]
            parts.append(
                bar(across.start, y, max(across(value) - across.start, 0.8), 10, fill=colour_of(order), edge=INK)
            )
            parts.append(text(across(value) + 4, y + 9, show(value), size=10, colour=INK))
    return drawing(parts, top + step * len(labels) + 6, title, spoken)
