"""Mosaic plots as pictures (figures 2.5 and 2.6).

Boxes of fewer than k rows are marked by colour and pattern, empty ones by a ring.
"""

from collections.abc import Sequence

import numpy as np

from understudy.anonymize.mosaic import Mosaic
from understudy.pages.charts import SOFT, bar, dots, hatching, svg, text

_WIDTH, _HEIGHT, _LEFT, _TOP, _FOOT = 980, 560, 150, 66, 96
_FILL = {"unique": "#b85a00", "rare": "#f0b27a", "kept": "#9cc4e0"}


def mosaic_svg(mosaic: Mosaic, *, title: str) -> str:
    """One self-contained picture."""
    widths, lefts = _columns(mosaic, _WIDTH - _LEFT - 20)
    height = _HEIGHT - _TOP - _FOOT
    parts = [hatching("rare", colour=_FILL["rare"]), text(14, 24, title, size=16, weight=600), *_legend(mosaic)]
    gap = 2.0
    room = height - gap * (len(mosaic.y_labels) - 1)
    overall = mosaic.counts.sum(axis=0) / max(mosaic.counts.sum(), 1)
    for x, (width, left) in enumerate(zip(widths, lefts, strict=True)):
        total = mosaic.counts[x].sum()
        y = float(_TOP)
        for place in range(len(mosaic.y_labels)):
            count = int(mosaic.counts[x, place])
            tall = room * (count / total if total else overall[place])
            if count:
                parts.append(_tile(mosaic, x, place, (_LEFT + left, y, width, tall)))
            elif width > 5:
                parts.append(dots([(_LEFT + left + width / 2, y)], size=1.6, colour="#777", inside="none"))
            y += tall + gap
    parts += _axis_labels(mosaic, widths, lefts, room, gap)
    return svg(parts, width=_WIDTH, height=_HEIGHT, title=title)


def _columns(mosaic: Mosaic, room: float) -> tuple[list[float], list[float]]:
    """Widths by rows; groups of the first column stand apart."""
    totals = mosaic.counts.sum(axis=1)
    gaps = [10.0 if x and mosaic.x_labels[x][0] != mosaic.x_labels[x - 1][0] else 2.0 for x in range(len(totals))]
    gaps[0] = 0.0
    # a column of one person must be seen: every occupied column has a least width, the rest is shared by rows
    least = 3.0
    free = room - sum(gaps) - least * int((totals > 0).sum())
    widths = [least * bool(total) + free * total / max(totals.sum(), 1) for total in totals]
    lefts = [sum(widths[:x]) + sum(gaps[: x + 1]) for x in range(len(totals))]
    return widths, lefts


def _tile(mosaic: Mosaic, x: int, place: int, box: tuple[float, float, float, float]) -> str:
    left, top, width, tall = box
    count = int(mosaic.counts[x, place])
    fill = _FILL["unique"] if count == 1 else "url(#rare)" if count < mosaic.k else _FILL["kept"]
    edge = "#6b3400" if count < mosaic.k else "#4d7796"
    sentence = f"{' / '.join(mosaic.x_labels[x])}, {mosaic.y_labels[place]}: {count}"
    return bar(left, top, max(width, 1.5), max(tall, 1.5), fill=fill, edge=edge, tip=sentence)


def _legend(mosaic: Mosaic) -> list[str]:
    rare = f"2 to {mosaic.k - 1} rows" if mosaic.k > 3 else "2 rows"
    keys = [(_FILL["unique"], "one row"), ("url(#rare)", rare), (_FILL["kept"], f"{mosaic.k} rows or more")]
    if mosaic.k == 2:
        del keys[1]
    parts, x = [], 14
    for fill, label in keys:
        parts += [bar(x, 36, 14, 14, fill=fill, edge=SOFT), text(x + 20, 48, label)]
        x += 46 + 7 * len(label)
    return [*parts, dots([(x + 6, 43)], size=2.4, colour="#777", inside="none"), text(x + 16, 48, "none")]


def _axis_labels(mosaic: Mosaic, widths: Sequence[float], lefts: Sequence[float], room: float, gap: float) -> list[str]:
    parts = []
    # the heights of the first wide column say where the levels are
    widest = int(np.argmax(widths))
    total = mosaic.counts[widest].sum()
    y, last = float(_TOP), -99.0
    for place, label in enumerate(mosaic.y_labels):
        tall = room * int(mosaic.counts[widest, place]) / max(total, 1)
        middle = y + tall / 2 + 4
        if middle - last > 11:
            parts.append(text(_LEFT - 8, middle, label[:22], size=11, anchor="end"))
            last = middle
        y += tall + gap
    foot = _HEIGHT - _FOOT + 14
    for x, combination in enumerate(mosaic.x_labels):
        if widths[x] >= 14:
            at = _LEFT + lefts[x] + widths[x] / 2
            parts.append(text(at, foot, combination[-1][:20], size=11, turn=28))
    if len(mosaic.across) > 1:
        for first in dict.fromkeys(label[0] for label in mosaic.x_labels):
            places = [x for x, label in enumerate(mosaic.x_labels) if label[0] == first and widths[x] > 0]
            if places:
                at = _LEFT + (lefts[places[0]] + lefts[places[-1]] + widths[places[-1]]) / 2
                if sum(widths[x] for x in places) >= 24:
                    parts.append(text(at, _TOP - 5, first[:22], weight=600, anchor="middle"))
    sentence = f"across: {' and '.join(mosaic.across)}; up: {mosaic.up} (labels at the widest column)"
    parts.append(text(14, _HEIGHT - 8, sentence, size=11, colour=SOFT))
    return parts
