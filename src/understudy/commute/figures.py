"""The paper's figures as SVG: average commute distance of each destination by its size, and all distances."""

import html
import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from understudy.pages.charts import REAL, SYNTHETIC_LINE

Floats = npt.NDArray[np.float64]

_MANY = 2000
_WIDE, _HIGH, _LEFT, _RIGHT, _TOP, _BOTTOM = 680, 400, 62, 30, 34, 52


def size_scatter(
    sizes: npt.NDArray[np.int64],
    real: Floats,
    synthetic: Floats,
    *,
    title: str,
    most: float | None = None,
    real_label: str = "confidential",
) -> str:
    """Average distance against the number of workers (logarithmic): one mark per destination, lines of medians."""
    known = np.isfinite(real) & np.isfinite(synthetic)
    sizes, real, synthetic = sizes[known], real[known], synthetic[known]
    top = most or _nice(float(max(real.max(initial=1.0), synthetic.max(initial=1.0))))
    right = 10 ** math.ceil(math.log10(max(float(sizes.max(initial=10)), 10.0)))

    def x(value: float) -> float:
        return _LEFT + math.log10(value) / math.log10(right) * (_WIDE - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return _HIGH - _BOTTOM - min(value, top) / top * (_HIGH - _TOP - _BOTTOM)

    ticks = [10**power for power in range(round(math.log10(right)) + 1)]
    parts = _frame(title, [(x(tick), f"{tick:,}") for tick in ticks], [(y(t), f"{t:g}") for t in _ticks(top)])
    parts.append(_label("workers of the destination (public)", "average commute, miles"))
    mark = 3.2 if len(sizes) > _MANY else 5.0
    opacity = max(0.12, min(0.8, 60 / math.sqrt(len(sizes) + 1)))
    for values, colour, size in ((real, REAL, mark), (synthetic, SYNTHETIC_LINE, mark)):
        # thousands of marks coincide on whole pixels: each is written once
        digits = 0 if len(sizes) > _MANY else 1
        marks = [
            f"M{x(n):.{digits}f},{y(v):.{digits}f}h0" for n, v in zip(sizes.tolist(), values.tolist(), strict=True)
        ]
        path = "".join(dict.fromkeys(marks))
        parts.append(
            f'<path d="{path}" stroke="{colour}" stroke-width="{size}" stroke-linecap="round" '
            f'stroke-opacity="{opacity:.2f}" fill="none"/>'
        )
    edges = np.geomspace(1, right, 3 * len(ticks) - 2)
    for values, colour, dash in ((real, REAL, ""), (synthetic, SYNTHETIC_LINE, ' stroke-dasharray="7 4"')):
        points = []
        for low, high in itertools.pairwise(edges.tolist()):
            inside = values[(sizes >= low) & (sizes < high)]
            if len(inside) >= 3:
                points.append(f"{x(math.sqrt(low * high)):.1f},{y(float(np.median(inside))):.1f}")
        if points:
            parts.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="#fff" stroke-width="5"/>')
            parts.append(
                f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="2.5"{dash}/>'
            )
    parts.append(_legend(real_label))
    spoken = (
        f"{title}: {len(sizes):,} destinations; median of averages {np.median(real):.1f} miles real, "
        f"{np.median(synthetic):.1f} synthetic."
        if len(sizes)
        else f"{title}: no destination."
    )
    return _svg(parts, spoken)


def distance_histogram(
    real: Sequence[float], synthetic: Sequence[float], *, title: str, real_label: str = "confidential"
) -> str:
    """Shares of workers by commute distance, bins of a mile: bars for the real ones, a stepped line for the others."""
    last = max(len(real), len(synthetic), 1)
    top = _nice(max([0.01, *real, *synthetic]))

    def x(value: float) -> float:
        return _LEFT + value / last * (_WIDE - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return _HIGH - _BOTTOM - value / top * (_HIGH - _TOP - _BOTTOM)

    step = max(1, round(last / 10))
    parts = _frame(
        title, [(x(t), f"{t}") for t in range(0, last + 1, step)], [(y(t), f"{100 * t:g} %") for t in _ticks(top)]
    )
    parts.append(_label("commute distance, miles", "share of workers"))
    for place, share in enumerate(real):
        parts.append(
            f'<rect x="{x(place) + 0.5:.1f}" y="{y(share):.1f}" width="{x(1) - x(0) - 1:.1f}" '
            f'height="{y(0) - y(share):.1f}" fill="{REAL}" fill-opacity="0.45"/>'
        )
    path = f"M{x(0):.1f},{y(0):.1f}" + "".join(f"V{y(s):.1f}H{x(p + 1):.1f}" for p, s in enumerate(synthetic))
    parts.append(f'<path d="{path}V{y(0):.1f}" fill="none" stroke="{SYNTHETIC_LINE}" stroke-width="2"/>')
    parts.append(_legend(real_label))
    return _svg(parts, f"{title}: shares of workers by distance in bins of a mile.")


def _nice(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return next(float(step * power) for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * power >= value)


def _ticks(top: float) -> list[float]:
    return [round(top * share / 5, 10) for share in range(6)]


def _frame(title: str, across: list[tuple[float, str]], up: list[tuple[float, str]]) -> list[str]:
    parts = [f'<text x="{_LEFT}" y="20" font-size="14" font-weight="600">{html.escape(title)}</text>']
    floor = _HIGH - _BOTTOM
    for place, word in up:
        parts.append(f'<path d="M{_LEFT},{place:.1f}H{_WIDE - _RIGHT}" stroke="#d5d9dd"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{place + 4:.1f}" text-anchor="end">{word}</text>')
    for place, word in across:
        parts.append(f'<path d="M{place:.1f},{floor}v5" stroke="#555"/>')
        parts.append(f'<text x="{place:.1f}" y="{floor + 19}" text-anchor="middle">{word}</text>')
    parts.append(f'<path d="M{_LEFT},{floor}H{_WIDE - _RIGHT}" stroke="#555"/>')
    return parts


def _label(across: str, up: str) -> str:
    middle = (_LEFT + _WIDE - _RIGHT) / 2
    return (
        f'<text x="{middle}" y="{_HIGH - 12}" text-anchor="middle">{across}</text>'
        f'<text transform="translate(15,{(_TOP + _HIGH - _BOTTOM) / 2}) rotate(-90)" text-anchor="middle">{up}</text>'
    )


def _legend(real_label: str) -> str:
    x = _WIDE - _RIGHT - 150
    return (
        f'<rect x="{x - 8}" y="{_TOP}" width="158" height="42" fill="#fff" fill-opacity="0.85"/>'
        f'<path d="M{x},{_TOP + 14}h26" stroke="{REAL}" stroke-width="4"/>'
        f'<text x="{x + 34}" y="{_TOP + 18}">{html.escape(real_label)}</text>'
        f'<path d="M{x},{_TOP + 32}h26" stroke="{SYNTHETIC_LINE}" stroke-width="4" stroke-dasharray="7 4"/>'
        f'<text x="{x + 34}" y="{_TOP + 36}">synthetic</text>'
    )


def _svg(parts: list[str], spoken: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {_HIGH}" role="img" '
        f'aria-label="{html.escape(spoken)}" font-family="system-ui, sans-serif" font-size="12" fill="#222">'
        f'<rect width="{_WIDE}" height="{_HIGH}" fill="#fff"/>{"".join(parts)}</svg>'
    )
