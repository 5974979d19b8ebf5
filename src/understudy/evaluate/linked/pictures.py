"""Pictures of linked tables as SVG: how many rows people have, how long until the next, and what follows what."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from understudy.evaluate.linked.metrics.children import share_by_number
from understudy.evaluate.linked.metrics.gaps import BANDS, gap_shares
from understudy.evaluate.linked.metrics.transitions import transition_shares
from understudy.evaluate.linked.rows import LinkedRows
from understudy.pages import charts
from understudy.pages.numbers import percent

_WIDTH, _HEIGHT, _LEFT, _TOP, _BASE = 460, 290, 48, 62, 230
_MOST_LEVELS = 8
"""Columns with more levels make no readable picture of what follows what."""


def number_picture(real: LinkedRows, synthetic: LinkedRows, name: str) -> str:
    """Share of the parent's rows by how many rows of this table they have."""
    table = real.book.table(name)
    shares = [share_by_number(side, name) for side in (real, synthetic)]
    first = 0 if any(side[0] for side in shares) else 1
    labels = [str(number) for number in range(first, len(shares[0]))]
    title = f"Rows of {name} for each row of {table.parent}"
    return paired_bars(
        title, labels, shares[0][first:], shares[1][first:], below=f"number of rows, at most {table.cap}"
    )


def gap_picture(real: LinkedRows, synthetic: LinkedRows, name: str) -> str:
    """Share of the rows that follow another by how many days later they come."""
    shares = [gap_shares(side, name) for side in (real, synthetic)]
    shown = [place for place in range(len(BANDS)) if any(side[place] for side in shares)]
    labels = [BANDS[place] for place in shown]
    sides = ([float(side[place]) for place in shown] for side in shares)
    return paired_bars(f"Time from one row of {name} to the next", labels, *sides, below="days later")


def paired_bars(
    title: str, labels: Sequence[str], real: Sequence[float], synthetic: Sequence[float], *, below: str
) -> str:
    """Two bars for each label: the confidential share, and hatched the synthetic one."""
    up = charts.Scale(low=0.0, high=charts.round_up(max(*real, *synthetic, 1e-3)), start=_BASE, end=_TOP)
    slot = (_WIDTH - 16 - _LEFT) / len(labels)
    across = charts.Scale(low=0.0, high=float(len(labels)), start=_LEFT, end=_WIDTH - 16)
    thick = min(slot * 0.4, 34.0)
    parts = [
        charts.hatching("hatch"),
        charts.text(8, 22, title, size=14, weight=600),
        charts.legend([(charts.REAL, "confidential"), ("url(#hatch)", "synthetic")], x=8, y=33, step=120),
        charts.axes(
            across,
            up,
            names=(below, ""),
            labels=({place + 0.5: label for place, label in enumerate(labels)}, {v: percent(v) for v in up.ticks()}),
        ),
    ]
    for place, label in enumerate(labels):
        middle = across(place + 0.5)
        for share, start, fill, whose in (
            (real[place], middle - thick, charts.REAL, "confidential"),
            (synthetic[place], middle, "url(#hatch)", "synthetic"),
        ):
            tip = f"{label}: {percent(share)} {whose}"
            parts.append(charts.bar(start, up(share), thick, _BASE - up(share), fill=fill, tip=tip))
    return charts.svg(parts, width=_WIDTH, height=_HEIGHT, title=title)


def pictured_columns(rows: LinkedRows, name: str) -> list[str]:
    """The columns of an ordered table whose steps fit into a picture."""
    table = rows.book.table(name)
    if table.order is None:
        return []
    return [one.name for one in table.book.modelled if one.name != table.order and one.size <= _MOST_LEVELS]


def transition_picture(real: LinkedRows, synthetic: LinkedRows, name: str, column: str) -> str:
    """Two squares of chances: what follows (across) given what was before (down), confidential and synthetic."""
    labels = real.book.table(name).book.column(column).labels
    cell = min(44.0, 148 / len(labels))
    side = cell * len(labels)
    height = 128 + side
    parts = [charts.text(8, 22, f"{column}: what follows what", size=14, weight=600)]
    for place, (rows, word, colour) in enumerate(
        ((real, "confidential", charts.REAL), (synthetic, "synthetic", charts.DEEP_ORANGE))
    ):
        left = 84 + place * (side + 40)
        parts.append(charts.text(left + side / 2, 46, word, size=12, anchor="middle", colour=charts.SOFT))
        shares, _ = transition_shares(rows, name, column)
        parts += _square(_given_before(shares, len(labels)), labels, left, 56, cell, colour, named=place == 0)
    said = "Each line adds up to 1: the chance of what follows, given what was before."
    parts.append(charts.text(8, height - 8, said, size=10.5, colour=charts.SOFT))
    return charts.svg(parts, width=_WIDTH, height=height, title=f"{name}.{column}: what follows what")


def _given_before(shares: npt.NDArray[np.float64], size: int) -> npt.NDArray[np.float64]:
    grid = shares.reshape(size, size)
    return np.asarray(grid / np.maximum(grid.sum(axis=1, keepdims=True), 1e-12))


def _square(
    chances: npt.NDArray[np.float64],
    labels: Sequence[str],
    left: float,
    top: float,
    cell: float,
    colour: str,
    *,
    named: bool,
) -> list[str]:
    parts = []
    for row, before in enumerate(labels):
        if named:
            parts.append(charts.text(left - 6, top + cell * (row + 0.5) + 4, before[:11], size=10.5, anchor="end"))
        for place, after in enumerate(labels):
            x, y, chance = left + cell * place, top + cell * row, float(chances[row, place])
            tip = f"{before}, then {after}: {percent(chance)}"
            parts.append(charts.bar(x, y, cell, cell, fill="#ffffff", edge=charts.GRID))
            parts.append(
                charts.bar(x, y, cell, cell, fill=colour, edge=charts.GRID, tip=tip, opacity=max(chance, 0.001))
            )
            if cell >= 26 and chances[row].any():
                ink = "#ffffff" if chance > 0.55 else charts.INK
                parts.append(
                    charts.text(
                        x + cell / 2, y + cell / 2 + 4, f"{100 * chance:.0f}", size=11, anchor="middle", colour=ink
                    )
                )
    for place, after in enumerate(labels):
        x = left + cell * (place + 0.5) + 3
        parts.append(charts.text(x, top + cell * len(labels) + 12, after[:11], size=10.5, turn=38))
    return parts


def pair_picture(pairs: Sequence[tuple[str, float, float]]) -> str:
    """Pairs across tables, the worst first: their distance, and that of tables without a link (a ring)."""
    width, left, top, step = 640, 270, 62, 22
    height = top + step * len(pairs) + 44
    far = charts.round_up(max([max(own, alone) for _, own, alone in pairs] or [1e-3]) or 1e-3)
    across = charts.Scale(low=0.0, high=far, start=left, end=width - 20)
    base = top + step * len(pairs)
    parts = [
        charts.text(8, 22, "Pairs of columns across tables, the worst first", size=14, weight=600),
        charts.dots([(16, 43)], shape="diamond", size=6, colour=charts.DEEP_ORANGE),
        charts.text(28, 47, "synthetic tables", size=12),
        charts.dots([(152, 43)], inside="none", colour=charts.SOFT),
        charts.text(164, 47, "tables without a link", size=12),
        charts.axes(
            across,
            charts.Scale(low=0, high=1, start=base, end=top),
            names=("total variation distance", ""),
            labels=(None, {}),
        ),
    ]
    for place, (name, own, alone) in enumerate(pairs):
        y = top + step * (place + 0.5)
        shown = name if len(name) <= 48 else f"{name[:47]}…"
        parts.append(charts.line([(left, y), (width - 20, y)], colour=charts.GRID, width=1))
        parts.append(charts.text(left - 8, y + 4, shown, size=10.5, anchor="end"))
        parts.append(charts.dots([(across(alone), y)], inside="none", colour=charts.SOFT))
        parts.append(charts.dots([(across(own), y)], shape="diamond", size=6, colour=charts.DEEP_ORANGE))
    return charts.svg(parts, width=width, height=height, title="Pairs of columns across tables")
