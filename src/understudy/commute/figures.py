"""The paper's figures as SVG: average commute distance of each destination by its size, and all distances."""

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from understudy.pages import charts

Floats = npt.NDArray[np.float64]

_WIDE, _HIGH, _LEFT, _RIGHT, _TOP, _FLOOR = 680, 400, 62, 650, 34, 348
_DASH = "7 4"


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
    there = np.isfinite(real) & np.isfinite(synthetic)
    sizes, real, synthetic = sizes[there], real[there], synthetic[there]
    top = most or charts.round_up(float(max(real.max(initial=1.0), synthetic.max(initial=1.0))))
    right = 10 ** math.ceil(math.log10(max(float(sizes.max(initial=10)), 10.0)))
    across = charts.Scale(low=1, high=right, start=_LEFT, end=_RIGHT, log=True)
    up = charts.Scale(low=0, high=top, start=_FLOOR, end=_TOP)
    styles = ((real, charts.REAL, ""), (synthetic, charts.SYNTHETIC_LINE, _DASH))
    parts = [
        charts.cloud([(across(n), up(v)) for n, v in zip(sizes.tolist(), values.tolist(), strict=True)], colour=colour)
        for values, colour, _ in styles
    ]
    edges = np.geomspace(1, right, 3 * len(across.ticks()) - 2)
    for values, colour, dash in styles:
        medians = []
        for low, high in itertools.pairwise(edges.tolist()):
            inside = values[(sizes >= low) & (sizes < high)]
            if len(inside) >= 3:
                medians.append((across(math.sqrt(low * high)), up(float(np.median(inside)))))
        if medians:
            parts.append(charts.line(medians, colour="#fff", width=5))
            parts.append(charts.line(medians, colour=colour, width=2.5, dash=dash))
    spoken = (
        f"{title}: {len(sizes):,} destinations; median of averages {np.median(real):.1f} miles real, "
        f"{np.median(synthetic):.1f} synthetic."
        if len(sizes)
        else f"{title}: no destination."
    )
    names = ("workers of the destination (public)", "average commute, miles")
    labels = {tick: f"{tick:,.0f}" for tick in across.ticks()}
    return _picture(parts, across, up, title, spoken, real_label, names=names, labels=(labels, None))


def distance_histogram(
    real: Sequence[float], synthetic: Sequence[float], *, title: str, real_label: str = "confidential"
) -> str:
    """Shares of workers by commute distance, bins of a mile: bars for the real ones, a stepped line for the others."""
    last = max(len(real), len(synthetic), 1)
    across = charts.Scale(low=0, high=last, start=_LEFT, end=_RIGHT)
    up = charts.Scale(low=0, high=charts.round_up(max([0.01, *real, *synthetic])), start=_FLOOR, end=_TOP)
    wide = across(1) - across(0) - 1
    parts = [
        charts.bar(across(mile) + 0.5, up(share), wide, _FLOOR - up(share), fill=charts.REAL, opacity=0.45)
        for mile, share in enumerate(real)
    ]
    miles = [across(mile) for mile in range(len(synthetic) + 1)]
    heights = [up(share) for share in synthetic]
    parts.append(charts.stairs(miles, heights, floor=_FLOOR, colour=charts.SYNTHETIC_LINE))
    spoken = f"{title}: shares of workers by distance in bins of a mile."
    names = ("commute distance, miles", "share of workers")
    wide_labels = {tick: f"{tick:g}" for tick in across.ticks(12)}
    labels = {tick: f"{100 * tick:g} %" for tick in up.ticks()}
    return _picture(parts, across, up, title, spoken, real_label, names=names, labels=(wide_labels, labels))


def _picture(
    parts: Sequence[str],
    across: charts.Scale,
    up: charts.Scale,
    title: str,
    spoken: str,
    real_label: str,
    *,
    names: tuple[str, str],
    labels: tuple[Mapping[float, str] | None, Mapping[float, str] | None],
) -> str:
    key = [(charts.REAL, "", real_label), (charts.SYNTHETIC_LINE, _DASH, "synthetic")]
    drawn = [
        charts.text(_LEFT, 20, title, size=14, weight=600),
        charts.axes(across, up, names=names, labels=labels),
        *parts,
        charts.line_legend(key, x=_RIGHT - 150, y=_TOP),
    ]
    return charts.svg(drawn, width=_WIDE, height=_HIGH, title=spoken)
