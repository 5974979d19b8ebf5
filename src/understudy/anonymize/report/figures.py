"""Figures of the page: class sizes, duplicates and mosaics, each with its words and its table."""

from collections.abc import Mapping
from typing import Any

from understudy.pages.charts import DEEP_ORANGE, HATCHED, REAL
from understudy.pages.figures import Figure, Shade, axis, bars, figure, mosaic, mosaic_key, share_axis
from understudy.pages.numbers import percent


def sizes_figure(key: str, title: str, caption: str, before: Mapping[str, int], after: Mapping[str, int]) -> Figure:
    """Rows by the number of rows they are like."""
    bands = list(before)
    n, m = max(sum(before.values()), 1), max(sum(after.values()), 1)
    hover = "%{x} alike: %{y:.2%} of the rows"
    return figure(
        key,
        title,
        caption,
        [
            bars("before", bands, [before[band] / n for band in bands], {"color": REAL}, hover),
            bars("released", bands, [after[band] / m for band in bands], HATCHED, hover),
        ],
        spoken=f"Bars of the share of rows by the number of rows alike, before beside released. {caption}",
        header=("rows alike", "rows before", "share", "rows released", "share"),
        rows=[
            (band, f"{before[band]:,}", percent(before[band] / n), f"{after[band]:,}", percent(after[band] / m))
            for band in bands
        ],
        barmode="group",
        xaxis=axis("rows alike", type="category", showgrid=False),
        yaxis=axis(tickformat=".0%", rangemode="tozero"),
    )


def mosaic_figure(key: str, title: str, drawn: Mapping[str, Any]) -> Figure:
    """Widths are rows per combination, heights shares within it; small boxes are marked."""
    counts, k, up, across = drawn["counts"], drawn["k"], drawn["up"], " and ".join(drawn["across"])
    alone = Shade(colour=DEEP_ORANGE, pattern="x", words="one row", ink="#ffffff")
    few = Shade(colour="#f0b27a", pattern="/", words=f"2 to {k - 1} rows" if k > 3 else "2 rows")
    enough = Shade(colour="#9cc4e0", pattern="", words=f"{k} rows or more")

    def shade(i: int, j: int) -> Shade:
        return alone if counts[i][j] == 1 else few if counts[i][j] < k else enough

    boxes, below = mosaic(counts, (drawn["x"], drawn["y"]), shade, least=0.004)
    key_shades = [alone, few, enough] if k > 2 else [alone, enough]  # with k = 2 nothing lies between one row and k
    rare = sum(0 < count < k for row in counts for count in row)
    single = sum(count == 1 for row in counts for count in row)
    return figure(
        key,
        title,
        f"Width: rows per combination of {across}. Height: share of {up} within it. {rare} occupied boxes hold "
        f"fewer than {k} rows, {single} of them one.",
        [*boxes, *mosaic_key(key_shades)],
        spoken=f"Mosaic plot of {up} within combinations of {across}: {rare} boxes of fewer than {k} rows, {single} of "
        "them of one row; the counts are in the table below.",
        header=(f"{' / '.join(drawn['across'])}, {up}", "rows"),
        rows=[
            (f"{x}, {y}", f"{count:,}")
            for x, row in zip(drawn["x"], counts, strict=True)
            for y, count in zip(drawn["y"], row, strict=True)
            if count
        ],
        wide=True,
        barmode="stack",
        height=440,
        showlegend=True,
        margin={"l": 56, "r": 10, "t": 40, "b": 110},
        xaxis=below,
        yaxis=share_axis(up),
    )
