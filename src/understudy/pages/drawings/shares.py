"""One lying bar per label with its number, and an interval at its end where one is known."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from understudy.pages.charts import Scale, bar, line, text
from understudy.pages.drawings.common import INK, MADE, SIZE, WIDTH, drawing, end_label, gutter
from understudy.pages.numbers import percent

_ROW = 18


@dataclass(frozen=True, kw_only=True)
class Share:
    """A bar from 0 to a value."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None


def share_bars(
    rows: Sequence[Share],
    *,
    title: str,
    spoken: str = "",
    show: Callable[[float], str] = percent,
    reach: float = 0.0,
    fills: Sequence[str] = (),
) -> str:
    """Bars below each other; ``reach`` is the least end of the axis, ``fills`` are colours other than the usual one."""
    words = [show(row.value) for row in rows]
    left, right = gutter([row.label for row in rows], 0.42), gutter(words, 0.3)
    far = max([reach, 1e-12, *(max(row.value, row.high or 0.0) for row in rows)])
    across = Scale(low=0, high=far, start=left + 4, end=WIDTH - right - 6)
    parts = []
    for place, (row, word) in enumerate(zip(rows, words, strict=True)):
        top = 3 + place * _ROW
        parts.append(end_label(row.label, left, top + 12))
        fill = fills[place] if fills else MADE
        parts.append(bar(across.start, top + 2, max(across(row.value) - across.start, 0.8), _ROW - 6, fill=fill))
        if row.low is not None and row.high is not None:
            ends, middle = (across(max(row.low, 0.0)), across(row.high)), top + 8
            parts.append(line([(ends[0], middle), (ends[1], middle)], colour=INK, width=1.4))
            parts += [line([(end, middle - 4), (end, middle + 4)], colour=INK, width=1.4) for end in ends]
        parts.append(text(WIDTH, top + 12, word, size=SIZE, anchor="end", colour=INK))
    return drawing(parts, 5 + _ROW * len(rows), title, spoken)
