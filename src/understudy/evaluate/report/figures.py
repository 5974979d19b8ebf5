"""Figures of attacks, columns and pairs: differences from the confidential table, the worst first."""

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.evaluate.risk.intervals import Z95
from understudy.pages.drawings import Difference, Dot, difference_bars, heat_map, interval_axis
from understudy.pages.figures import Figure
from understudy.pages.numbers import number, percent, points

_WORST, _LEVELS = 8, 12
_ROWS = 200
"""Lines of a table on the page; the JSON document has all."""


def attacks_figure(doc: Mapping[str, Any]) -> Figure | None:
    """All attacks on one axis: extra success on people in the data over people held out."""
    gains = doc["attacks"]["gains"]
    return gains_figure(gains, limit=doc["board"]["limits"]["attack_gain"]["value"]) if gains else None


def gains_figure(gains: Sequence[Mapping[str, Any]], *, limit: float) -> Figure:
    """What each attack gains, in one unit."""
    title = "Extra success on people in the data, in percentage points"
    worst = max(gains, key=lambda gain: gain["value"])
    sentence = (
        f"0 means that nothing is gained about the people in the data; the dashed line is the limit. Largest: "
        f"{worst['attack']}, {points(worst['value'])} points ({points(worst['low'])} to {points(worst['high'])})."
    )
    rows = [(gain["attack"], [Dot(value=gain["value"], low=gain["low"], high=gain["high"])]) for gain in gains]
    return Figure(
        key="attacks",
        title=title,
        drawing=interval_axis(
            rows,
            title=title,
            spoken=sentence,
            limit=limit,
            show=lambda value: f"{100 * value:+.0f}" if value else "0",
            name="points over people held out (95 %)",
        ),
        caption=sentence,
        header=("attack", "in the data", "held out", "gained", "95 % interval"),
        rows=[
            (
                gain["attack"],
                percent(gain["inside"]),
                percent(gain["outside"]),
                points(gain["value"]),
                f"{points(gain['low'])} to {points(gain['high'])}",
            )
            for gain in gains
        ],
        wide=True,
    )


def _levels(column: Mapping[str, Any]) -> list[tuple[str, float, float, float]]:
    """Each level with its shares in both tables, and what chance explains of their difference."""
    n, m = sum(column["real"]), sum(column["synthetic"])
    shares = [(a / n, b / m) for a, b in zip(column["real"], column["synthetic"], strict=True)]
    return [
        (label, a, b, Z95 * (a * (1 - a) / m) ** 0.5) for label, (a, b) in zip(column["labels"], shares, strict=True)
    ]


def worst_figures(doc: Mapping[str, Any]) -> list[Figure]:
    """The shares, cells and associations that are off most."""
    levels = [
        (f"{column['name']} = {label}", a, b, chance)
        for column in doc["columns"]
        for label, a, b, chance in _levels(column)
    ]
    levels.sort(key=lambda item: -abs(item[2] - item[1]))
    figures = [_shares("worst-shares", "Shares that are off most", levels[:_WORST])]
    cells = sorted(doc["pairs"], key=lambda pair: -abs(pair["shares"][1] - pair["shares"][0]))[:_WORST]
    if cells:
        named = [
            (", ".join(f"{name} = {level}" for name, level in zip(pair["columns"], pair["levels"], strict=True)),
             *pair["shares"], 0.0)
            for pair in cells
        ]  # fmt: skip
        figures.append(_shares("worst-cells", "Combinations of two columns that are off most", named))
    if changes := _changes(doc)[:_WORST]:
        title = "Associations that changed most"
        sentence = (
            f"Change of Cramer's V, synthetic minus confidential. Largest: {changes[0][0]}, {changes[0][3]:+.2f}."
        )
        bars = [Difference(label=pair, value=change) for pair, _, _, change in changes]
        figures.append(
            Figure(
                key="worst-associations",
                title=title,
                drawing=difference_bars(bars, title=title, spoken=sentence, show=lambda value: f"{value:+.2f}"),
                caption=sentence,
                header=("columns", "confidential", "synthetic", "change"),
                rows=[(pair, f"{a:.2f}", f"{b:.2f}", f"{change:+.2f}") for pair, a, b, change in changes],
            )
        )
    return figures


def _shares(key: str, title: str, levels: Sequence[tuple[str, float, float, float]]) -> Figure:
    label, real, synthetic, _ = levels[0]
    chance = " Grey: what chance alone explains in 95 of 100 tables." if any(level[3] for level in levels) else ""
    sentence = (
        f"Percentage points, synthetic minus confidential. Largest: {label}, {percent(synthetic)} instead of "
        f"{percent(real)}.{chance}"
    )
    bars = [Difference(label=name, value=b - a, chance=c) for name, a, b, c in levels]
    return Figure(
        key=key,
        title=title,
        drawing=difference_bars(bars, title=title, spoken=sentence, show=points, reach=0.01),
        caption=sentence,
        header=("level", "confidential", "synthetic", "points"),
        rows=[(name, percent(a), percent(b), points(b - a)) for name, a, b, _ in levels],
    )


def _changes(doc: Mapping[str, Any]) -> list[tuple[str, float, float, float]]:
    """Pairs of columns with Cramer's V in both tables, largest change first."""
    maps = doc["association"]
    names = maps["columns"]
    pairs = [
        (f"{names[b]} x {names[a]}", maps["real"][a][b], maps["synthetic"][a][b], maps["difference"][a][b])
        for a in range(len(names))
        for b in range(a)
    ]
    return sorted((pair for pair in pairs if pair[3] is not None), key=lambda pair: -abs(pair[3]))


def column_figure(place: int, column: Mapping[str, Any]) -> Figure:
    """Differences of the levels of one column, and all its counts."""
    levels = _levels(column)
    chosen = set(sorted(range(len(levels)), key=lambda k: -abs(levels[k][2] - levels[k][1]))[:_LEVELS])
    shown = [level for k, level in enumerate(levels) if k in chosen]
    drawn = _shares(f"column-{place}", column["name"], shown)
    kept = "" if len(shown) == len(levels) else f" The {len(shown)} of {len(levels)} levels that are off most."
    counts = list(zip(column["real"], column["synthetic"], strict=True))
    return Figure(
        key=drawn.key,
        title=drawn.title,
        drawing=drawn.drawing,
        caption=f"Total variation distance {number(column['distance'])}; chance alone gives about "
        f"{number(column['bootstrap'])}.{kept}",
        header=("level", "confidential", "share", "synthetic", "share"),
        rows=[
            (label, f"{n:,}", percent(a), f"{m:,}", percent(b))
            for (label, a, b, _), (n, m) in list(zip(levels, counts, strict=True))[:_ROWS]
        ],
    )


def association_figure(doc: Mapping[str, Any]) -> Figure | None:
    """What changed, for every pair of columns."""
    changes, maps = _changes(doc), doc["association"]
    if not changes:
        return None
    mean = sum(abs(change) for *_, change in changes) / len(changes)
    sentence = (
        f"Change of Cramer's V, synthetic minus confidential: blue stronger, orange weaker, full colour from 0.3 on. "
        f"Mean absolute change {number(mean)}."
    )
    title = "Association of every pair of columns"
    return Figure(
        key="association",
        title=title,
        drawing=heat_map(
            maps["columns"],
            maps["difference"],
            title=title,
            spoken=sentence,
            reach=0.3,
            show=lambda value: "0" if abs(value) < 0.005 else f"{value:+.2f}",
            triangle=True,
        ),
        caption=sentence,
        header=("columns", "confidential", "synthetic", "change"),
        rows=[(pair, f"{a:.3f}", f"{b:.3f}", f"{change:+.3f}") for pair, a, b, change in changes[:_ROWS]],
        wide=True,
    )


def pair_figure(place: int, table: Mapping[str, Any]) -> Figure:
    """One of the strongest pairs: shares of its combinations, synthetic minus confidential."""
    n, m = (sum(map(sum, table[which])) for which in ("real", "synthetic"))
    gaps = [
        [b / m - a / n for a, b in zip(*rows, strict=True)]
        for rows in zip(table["real"], table["synthetic"], strict=True)
    ]
    title = f"{table['columns'][0]} (rows) and {table['columns'][1]}"
    worst = max(abs(gap) for row in gaps for gap in row)
    sentence = f"Percentage points of all records, synthetic minus confidential; the largest gap is {100 * worst:.1f}."
    return Figure(
        key=f"pair-{place}",
        title=title,
        drawing=heat_map(
            table["labels"][0],
            gaps,
            columns=table["labels"][1],
            title=title,
            spoken=sentence,
            reach=max(worst, 0.01),
            show=points,
        ),
        caption=sentence,
        header=("combination", "confidential", "synthetic"),
        rows=[
            (f"{a}, {b}", f"{table['real'][i][j]:,}", f"{table['synthetic'][i][j]:,}")
            for i, a in enumerate(table["labels"][0])
            for j, b in enumerate(table["labels"][1])
        ],
    )
