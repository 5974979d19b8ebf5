"""Scatter matrices, bars and fitted values as self-contained SVG; mosaics come from the package."""

from collections import Counter
from collections.abc import Sequence
from html import escape

import numpy as np
import pyarrow as pa

from experiments.chapter2.models import Fit
from experiments.chapter2.study import COLUMNS, number

__all__ = ["bars", "fitted_plots", "scatter_matrix"]

_CELL, _GAP, _LEFT, _TOP = 168, 14, 20, 46


def _open(width: float, height: float, title: str) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="system-ui, sans-serif" role="img" aria-label="{escape(title)}">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="14" y="25" font-size="16" font-weight="600">{escape(title)}</text>',
    ]


def _places(table: pa.Table, name: str) -> tuple[np.ndarray, list[str]]:
    """Where each row stands on the axis of a column, and what the ends are called."""
    values = table.column(name).to_pylist()
    if name in ("los", "charge"):
        numbers = np.array([number(value) for value in values])
        top = max(float(np.nanmax(numbers)), 1.0)
        return np.where(np.isnan(numbers), -0.06, numbers / top), ["0", f"{top:g}"]
    levels = sorted({"missing" if value is None else value for value in values})
    place = {level: k / max(len(levels) - 1, 1) for k, level in enumerate(levels)}
    return np.array([place["missing" if v is None else v] for v in values]), [levels[0], levels[-1]]


def scatter_matrix(table: pa.Table, title: str) -> str:
    """Every column against every other, a little shaken so that equal records do not hide each other."""
    rng = np.random.default_rng(1)  # a picture, no privacy in it
    side = len(COLUMNS) * (_CELL + _GAP)
    parts = _open(_LEFT + side, _TOP + side, title)
    axes = {name: _places(table, name) for name in COLUMNS}
    for row, up in enumerate(COLUMNS):
        for column, across in enumerate(COLUMNS):
            x0, y0 = _LEFT + column * (_CELL + _GAP), _TOP + row * (_CELL + _GAP)
            parts.append(f'<rect x="{x0}" y="{y0}" width="{_CELL}" height="{_CELL}" fill="none" stroke="#999"/>')
            if up == across:
                low, high = axes[up][1]
                parts.append(
                    f'<text x="{x0 + _CELL / 2}" y="{y0 + _CELL / 2}" font-size="17" font-weight="600" '
                    f'text-anchor="middle">{up}</text>'
                    f'<text x="{x0 + _CELL / 2}" y="{y0 + _CELL / 2 + 22}" font-size="10" '
                    f'text-anchor="middle" fill="#444">{escape(low[:12])} … {escape(high[:12])}</text>'
                )
                continue
            shake = rng.uniform(-0.018, 0.018, (2, table.num_rows))
            xs = x0 + 12 + (_CELL - 24) * np.clip(axes[across][0] + shake[0], -0.07, 1.03)
            ys = y0 + _CELL - 12 - (_CELL - 24) * np.clip(axes[up][0] + shake[1], -0.07, 1.03)
            seen = dict.fromkeys(zip(np.rint(xs).astype(int), np.rint(ys).astype(int), strict=True))
            dots = "".join(f"M{x},{y}h0" for x, y in seen)
            parts.append(
                f'<path d="{dots}" stroke="#0072b2" stroke-width="2.2" stroke-linecap="round" opacity="0.35"/>'
            )
    return "\n".join([*parts, "</svg>", ""])


def bars(panels: Sequence[tuple[str, dict[str, int]]], title: str, *, marked: int = 0) -> str:
    """Panels of counts side by side; counts below ``marked`` are orange and hatched."""
    width, height = 460, 330
    parts = _open(len(panels) * width, height + 40, title)
    parts.append(
        '<defs><pattern id="few" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect width="5" height="5" fill="#e69f00"/><path d="M0,0V5" stroke="#fff" stroke-width="2"/></pattern></defs>'
    )
    for place, (name, counts) in enumerate(panels):
        left, base = place * width + 50, height - 44
        tallest = max([*counts.values(), 1])
        slot = (width - 70) / max(len(counts), 1)
        parts.append(f'<text x="{left}" y="52" font-size="13" font-weight="600">{escape(name)}</text>')
        parts.append(f'<path d="M{left},{base}H{left + width - 70}" stroke="#666"/>')
        parts.append(f'<text x="{left - 6}" y="82" font-size="11" text-anchor="end" fill="#555">{tallest:,}</text>')
        for number_of, (label, count) in enumerate(counts.items()):
            x = left + slot * (number_of + 0.12)
            tall = (base - 78) * count / tallest
            fill = "url(#few)" if 0 < count < marked else "#5b93b8"
            parts.append(
                f'<rect x="{x:.1f}" y="{base - tall:.1f}" width="{slot * 0.76:.1f}" height="{tall:.1f}" '
                f'fill="{fill}"><title>{escape(label)}: {count:,}</title></rect>'
                f'<text x="{x + slot * 0.38:.1f}" y="{base - tall - 3:.1f}" font-size="10" text-anchor="middle" '
                f'fill="#444">{count:,}</text>'
                f'<text transform="translate({x + slot * 0.3:.1f},{base + 13}) rotate(32)" font-size="10">'
                f"{escape(label[:18])}</text>"
            )
    return "\n".join([*parts, "</svg>", ""])


def level_counts(table: pa.Table, name: str) -> dict[str, int]:
    """Rows per level, in the order of the names."""
    counts = Counter("missing" if value is None else value for value in table.column(name).to_pylist())
    return dict(sorted(counts.items()))


def fitted_plots(fits: Sequence[tuple[str, Fit]], title: str) -> str:
    """Fitted against observed values; the line is a perfect fit."""
    rng = np.random.default_rng(2)  # a picture, no privacy in it
    side = 400
    parts = _open(len(fits) * (side + 60), side + 100, title)
    for place, (name, found) in enumerate(fits):
        left, top = place * (side + 60) + 52, 62
        high = float(max(found.observed.max(), found.fitted.max(), 1e-9))
        low = float(min(found.observed.min(), found.fitted.min(), 0.0))

        def at(values: np.ndarray, low: float = low, high: float = high) -> np.ndarray:
            return (values - low) / (high - low) * side

        shaken = found.observed + rng.uniform(-0.008, 0.008, len(found.observed)) * (high - low)
        dots = "".join(
            f"M{left + x:.0f},{top + side - y:.0f}h0" for x, y in zip(at(shaken), at(found.fitted), strict=True)
        )
        parts += [
            f'<text x="{left}" y="52" font-size="13" font-weight="600">{escape(name)}</text>',
            f'<rect x="{left}" y="{top}" width="{side}" height="{side}" fill="none" stroke="#888"/>',
            f'<path d="M{left},{top + side}L{left + side},{top}" stroke="#d55e00" stroke-dasharray="6 4"/>',
            f'<path d="{dots}" stroke="#0072b2" stroke-width="3" stroke-linecap="round" opacity="0.3"/>',
            f'<text x="{left}" y="{top + side + 16}" font-size="11" fill="#444">{low:,.0f}</text>',
            f'<text x="{left + side}" y="{top + side + 16}" font-size="11" text-anchor="end">{high:,.0f}</text>',
            f'<text x="{left + side / 2}" y="{top + side + 16}" font-size="12" text-anchor="middle">observed</text>',
            f'<text transform="translate({left - 10},{top + side / 2}) rotate(-90)" font-size="12" '
            'text-anchor="middle">fitted</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])
