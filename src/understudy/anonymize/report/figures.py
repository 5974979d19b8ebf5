"""Figures of the page: class sizes, duplicates and mosaics, each with its words and its table."""

from collections.abc import Mapping
from typing import Any

from understudy.pages.drawings import Shade, grouped_bars, mosaic
from understudy.pages.figures import Figure
from understudy.pages.numbers import percent


def sizes_figure(key: str, title: str, caption: str, before: Mapping[str, int], after: Mapping[str, int]) -> Figure:
    """Rows by the number of rows they are like."""
    bands = list(before)
    n, m = max(sum(before.values()), 1), max(sum(after.values()), 1)
    series = [("before", [before[band] / n for band in bands]), ("released", [after[band] / m for band in bands])]
    spoken = f"Bars of the share of rows by the number of rows alike, before beside released. {caption}"
    return Figure(
        key=key,
        title=title,
        drawing=grouped_bars([f"{band} alike" for band in bands], series, title=title, spoken=spoken, show=percent),
        caption=caption,
        header=("rows alike", "rows before", "share", "rows released", "share"),
        rows=[
            (band, f"{before[band]:,}", percent(before[band] / n), f"{after[band]:,}", percent(after[band] / m))
            for band in bands
        ],
    )


def mosaic_figure(key: str, title: str, drawn: Mapping[str, Any]) -> Figure:
    """Widths are rows per combination, heights shares within it; small boxes are marked."""
    counts, k, up, across = drawn["counts"], drawn["k"], drawn["up"], " and ".join(drawn["across"])
    alone = Shade(colour="var(--warm)", words="one row")
    few = Shade(colour="var(--warm)", words=f"2 to {k - 1} rows" if k > 3 else "2 rows", opacity=0.4)
    enough = Shade(colour="var(--cool)", words=f"{k} rows or more", opacity=0.35)

    def shade(i: int, j: int) -> Shade:
        return alone if counts[i][j] == 1 else few if counts[i][j] < k else enough

    key_shades = [alone, few, enough] if k > 2 else [alone, enough]  # with k = 2 nothing lies between one row and k
    rare = sum(0 < count < k for row in counts for count in row)
    single = sum(count == 1 for row in counts for count in row)
    return Figure(
        key=key,
        title=title,
        drawing=mosaic(
            counts,
            (drawn["x"], drawn["y"]),
            shade,
            key_shades,
            title=title,
            spoken=f"Mosaic plot of {up} within combinations of {across}: {rare} boxes of fewer than {k} rows, "
            f"{single} of them of one row; the counts are in the table below.",
        ),
        caption=f"Width: rows per combination of {across}. Height: share of {up} within it. {rare} occupied boxes "
        f"hold fewer than {k} rows, {single} of them one.",
        header=(f"{' / '.join(drawn['across'])}, {up}", "rows"),
        rows=[
            (f"{x}, {y}", f"{count:,}")
            for x, row in zip(drawn["x"], counts, strict=True)
            for y, count in zip(drawn["y"], row, strict=True)
            if count
        ],
        wide=True,
    )
