"""Mosaic plots as pictures (figures 2.5 and 2.6).

Boxes of fewer than k rows are marked by colour and pattern, empty ones by a ring.
"""

from collections.abc import Sequence
from html import escape

import numpy as np

from understudy.anonymize.mosaic import Mosaic

_WIDTH, _HEIGHT, _LEFT, _TOP, _FOOT = 980, 560, 150, 66, 96
_FILL = {"unique": "#b85a00", "rare": "#f0b27a", "kept": "#9cc4e0"}


def mosaic_svg(mosaic: Mosaic, *, title: str) -> str:
    """One self-contained picture."""
    widths, lefts = _columns(mosaic, _WIDTH - _LEFT - 20)
    height = _HEIGHT - _TOP - _FOOT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'font-family="system-ui, sans-serif" role="img" aria-label="{escape(title)}">',
        '<defs><pattern id="rare" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<rect width="6" height="6" fill="{_FILL["rare"]}"/><path d="M0,0V6" stroke="#fff" stroke-width="2"/>'
        "</pattern></defs>",
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="14" y="24" font-size="16" font-weight="600">{escape(title)}</text>',
        *_legend(mosaic),
    ]
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
                parts.append(
                    f'<circle cx="{_LEFT + left + width / 2:.1f}" cy="{y:.1f}" r="1.6" fill="none" stroke="#777"/>'
                )
            y += tall + gap
    parts += _axis_labels(mosaic, widths, lefts, room, gap)
    return "\n".join([*parts, "</svg>", ""])


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
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(width, 1.5):.1f}" height="{max(tall, 1.5):.1f}" fill="{fill}" '
        f'stroke="{edge}" stroke-width="0.6"><title>{escape(sentence)}</title></rect>'
    )


def _legend(mosaic: Mosaic) -> list[str]:
    rare = f"2 to {mosaic.k - 1} rows" if mosaic.k > 3 else "2 rows"
    keys = [(_FILL["unique"], "one row"), ("url(#rare)", rare), (_FILL["kept"], f"{mosaic.k} rows or more")]
    if mosaic.k == 2:
        del keys[1]
    parts, x = [], 14
    for fill, label in keys:
        parts.append(f'<rect x="{x}" y="36" width="14" height="14" fill="{fill}" stroke="#555" stroke-width="0.6"/>')
        parts.append(f'<text x="{x + 20}" y="48" font-size="12" fill="#333">{label}</text>')
        x += 46 + 7 * len(label)
    parts.append(f'<circle cx="{x + 6}" cy="43" r="2.4" fill="none" stroke="#777"/>')
    parts.append(f'<text x="{x + 16}" y="48" font-size="12" fill="#333">none</text>')
    return parts


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
            parts.append(
                f'<text x="{_LEFT - 8}" y="{middle:.1f}" font-size="11" text-anchor="end">{escape(label[:22])}</text>'
            )
            last = middle
        y += tall + gap
    foot = _HEIGHT - _FOOT + 14
    for x, combination in enumerate(mosaic.x_labels):
        if widths[x] >= 14:
            at = _LEFT + lefts[x] + widths[x] / 2
            parts.append(
                f'<text transform="translate({at:.1f},{foot}) rotate(28)" font-size="11">'
                f"{escape(combination[-1][:20])}</text>"
            )
    if len(mosaic.across) > 1:
        for first in dict.fromkeys(label[0] for label in mosaic.x_labels):
            places = [x for x, label in enumerate(mosaic.x_labels) if label[0] == first and widths[x] > 0]
            if places:
                at = _LEFT + (lefts[places[0]] + lefts[places[-1]] + widths[places[-1]]) / 2
                if sum(widths[x] for x in places) >= 24:
                    parts.append(
                        f'<text x="{at:.1f}" y="{_TOP - 5}" font-size="12" font-weight="600" text-anchor="middle">'
                        f"{escape(first[:22])}</text>"
                    )
    sentence = f"across: {' and '.join(mosaic.across)}; up: {mosaic.up} (labels at the widest column)"
    parts.append(f'<text x="14" y="{_HEIGHT - 8}" font-size="11" fill="#444">{escape(sentence)}</text>')
    return parts
