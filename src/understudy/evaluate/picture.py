"""One self-contained picture: shares of each level, confidential against synthetic, column by column."""

from collections.abc import Sequence

from understudy.codebook import Column
from understudy.evaluate.opened import open_grids
from understudy.pages import charts
from understudy.sources.base import Source

_WIDTH, _PANEL, _LABELS, _TOP = 920, 190, 84, 74
_SYNTHETIC = "url(#hatch)"
"""Bars differ by pattern as well as by colour, so the picture survives a black-and-white printer."""


def marginal_picture(real: Source, synthetic: Source, *, columns: Sequence[str], real_label: str) -> str:
    """Panels of paired bars. Shows exact shares of the confidential table: not for release."""
    counts = [open_grids(source, [[name] for name in columns]) for source in (real, synthetic)]
    parts = [
        charts.text(20, 30, "Confidential and synthetic shares, level by level", size=19, weight=600),
        charts.legend([(charts.REAL, real_label), (_SYNTHETIC, "synthetic")], x=20, y=44),
    ]
    for number, name in enumerate(columns):
        shares = [(side[number] / max(side[number].sum(), 1)).tolist() for side in counts]
        parts += _panel(real.codebook.column(name), shares[0], shares[1], _TOP + number * (_PANEL + _LABELS))
    return charts.svg(
        [charts.hatching("hatch"), *parts],
        width=_WIDTH,
        height=_TOP + len(columns) * (_PANEL + _LABELS) + 10,
        title="Shares of each level, confidential and synthetic",
    )


def _panel(column: Column, real: Sequence[float], synthetic: Sequence[float], top: int) -> list[str]:
    tallest = max(*real, *synthetic, 1e-9)
    left, right, base = 60, _WIDTH - 20, top + _PANEL
    up = charts.Scale(low=0.0, high=tallest, start=base, end=top + 36)
    slot = (right - left) / len(real)
    thick = slot * 0.38
    title = column.name + (f": {column.description}" if column.description else "")
    parts = [
        charts.text(20, top + 14, title, size=14, weight=600),
        charts.text(left - 6, top + 40, f"{tallest:.0%}", size=11, colour=charts.SOFT, anchor="end"),
        charts.text(left - 6, base, "0", size=11, colour=charts.SOFT, anchor="end"),
        charts.line([(left, base), (right, base)], colour="#888888", width=1),
    ]
    for level, label in enumerate(column.labels):
        middle = left + slot * (level + 0.5)
        for share, start, fill in (
            (real[level], middle - thick, charts.REAL),
            (synthetic[level], middle, _SYNTHETIC),
        ):
            tip = f"{label}: {share:.2%}"
            parts.append(charts.bar(start, up(share), thick, base - up(share), fill=fill, tip=tip))
        parts.append(charts.text(middle + 3, base + 10, label[:16], size=10, turn=40))
    return parts
