"""Scatter matrices, bars and fitted values, drawn by the package."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from experiments.chapter2.models import Fit
from experiments.chapter2.study import COLUMNS, number
from understudy.pages.charts import SOFT, Scale, bar, cloud, hatching, line, svg, text

_CELL, _GAP, _LEFT, _TOP = 168, 14, 20, 46


def _picture(parts: Sequence[str], width: float, height: float, title: str) -> str:
    return svg([text(14, 25, title, size=16, weight=600), *parts], width=width, height=height, title=title)


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
    parts = []
    axes = {name: _places(table, name) for name in COLUMNS}
    for row, up in enumerate(COLUMNS):
        for column, across in enumerate(COLUMNS):
            x0, y0 = _LEFT + column * (_CELL + _GAP), _TOP + row * (_CELL + _GAP)
            parts.append(bar(x0, y0, _CELL, _CELL, fill="none", edge="#999"))
            if up == across:
                low, high = axes[up][1]
                middle = x0 + _CELL / 2
                parts.append(text(middle, y0 + _CELL / 2, up, size=17, weight=600, anchor="middle"))
                ends = f"{low[:12]} … {high[:12]}"
                parts.append(text(middle, y0 + _CELL / 2 + 22, ends, size=10, anchor="middle", colour=SOFT))
                continue
            shake = rng.uniform(-0.018, 0.018, (2, table.num_rows))
            xs = x0 + 12 + (_CELL - 24) * np.clip(axes[across][0] + shake[0], -0.07, 1.03)
            ys = y0 + _CELL - 12 - (_CELL - 24) * np.clip(axes[up][0] + shake[1], -0.07, 1.03)
            parts.append(cloud(list(zip(xs, ys, strict=True))))
    return _picture(parts, _LEFT + side, _TOP + side, title)


def bars(panels: Sequence[tuple[str, dict[str, int]]], title: str, *, marked: int = 0) -> str:
    """Panels of counts side by side; counts below ``marked`` are orange and hatched."""
    width, height = 460, 330
    parts = [hatching("few")]
    for place, (name, counts) in enumerate(panels):
        left, base = place * width + 50, height - 44
        tallest = max([*counts.values(), 1])
        slot = (width - 70) / max(len(counts), 1)
        parts.append(text(left, 52, name, size=13, weight=600))
        parts.append(line([(left, base), (left + width - 70, base)], colour=SOFT, width=1))
        parts.append(text(left - 6, 82, f"{tallest:,}", size=11, anchor="end", colour=SOFT))
        for number_of, (label, count) in enumerate(counts.items()):
            x = left + slot * (number_of + 0.12)
            tall = (base - 78) * count / tallest
            fill = "url(#few)" if 0 < count < marked else "#5b93b8"
            parts.append(bar(x, base - tall, slot * 0.76, tall, fill=fill, tip=f"{label}: {count:,}"))
            parts.append(text(x + slot * 0.38, base - tall - 3, f"{count:,}", size=10, anchor="middle", colour=SOFT))
            parts.append(text(x + slot * 0.3, base + 13, label[:18], size=10, turn=32))
    return _picture(parts, len(panels) * width, height + 40, title)


def level_counts(table: pa.Table, name: str) -> dict[str, int]:
    """Rows per level, in the order of the names."""
    counts = Counter("missing" if value is None else value for value in table.column(name).to_pylist())
    return dict(sorted(counts.items()))


def fitted_plots(fits: Sequence[tuple[str, Fit]], title: str) -> str:
    """Fitted against observed values; the line is a perfect fit."""
    rng = np.random.default_rng(2)  # a picture, no privacy in it
    side, top = 400, 62
    parts = []
    for place, (name, found) in enumerate(fits):
        left = place * (side + 60) + 52
        high = float(max(found.observed.max(), found.fitted.max(), 1e-9))
        low = float(min(found.observed.min(), found.fitted.min(), 0.0))
        across = Scale(low=low, high=high, start=left, end=left + side)
        up = Scale(low=low, high=high, start=top + side, end=top)
        shaken = found.observed + rng.uniform(-0.008, 0.008, len(found.observed)) * (high - low)
        foot = top + side + 16
        parts += [
            text(left, 52, name, size=13, weight=600),
            bar(left, top, side, side, fill="none", edge="#888"),
            line([(left, top + side), (left + side, top)], colour="#d55e00", width=1, dash="6 4"),
            cloud([(across(x), up(y)) for x, y in zip(shaken, found.fitted, strict=True)]),
            text(left, foot, f"{low:,.0f}", size=11),
            text(left + side, foot, f"{high:,.0f}", size=11, anchor="end"),
            text(left + side / 2, foot, "observed", anchor="middle"),
            text(left - 10, top + side / 2, "fitted", anchor="middle", turn=-90),
        ]
    return _picture(parts, len(fits) * (side + 60), side + 100, title)
