"""Two-way tables: heat maps and mosaics."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from understudy.pages.charts import bar, text
from understudy.pages.drawings.common import INK, LETTER, SIZE, SOFT, WIDTH, cut, drawing, gutter
from understudy.pages.numbers import number


def heat_map(
    names: Sequence[str],
    grid: Sequence[Sequence[float | None]],
    *,
    title: str,
    spoken: str = "",
    columns: Sequence[str] | None = None,
    reach: float = 1.0,
    show: Callable[[float], str] = number,
    triangle: bool = False,
) -> str:
    """Cells from orange (negative) over paper (0) to blue (positive); full colour at ``reach`` and beyond.

    ``columns`` name the columns where they are not the rows; ``triangle`` draws the cells below the diagonal only.
    """
    across_names = list(names if columns is None else columns)
    left = min(gutter(names, 0.4), 130.0)
    lean = 0.6 * LETTER * min(len(across_names[-1]) if across_names else 0, 14)  # the last name leans out
    cell = min((WIDTH - left - 6 - (0 if triangle else lean)) / max(len(across_names), 1), 40.0)
    tall, head = min(max(cell, 6.0), 22.0), gutter([cut(name, 14) for name in across_names], 0.3) * 0.85 + 8
    size, readable = min(SIZE, max(cell * 0.75, 3.5)), cell >= 26
    parts = []
    for place, name in enumerate(across_names):
        x = left + 4 + cell * (place + 0.5)
        parts.append(text(x + 3, head - 4, cut(name, 14), size=size, colour=SOFT, turn=-55))
    for i, row in enumerate(grid):
        y = head + tall * i
        parts.append(
            text(left, y + tall / 2 + size / 3, cut(names[i], 22), size=min(size, tall * 0.8), anchor="end", colour=INK)
        )
        for j, value in enumerate(row[:i] if triangle else row):
            if value is None:
                continue
            x, depth = left + 4 + cell * j, 0.78 * min(abs(value) / (reach or 1.0), 1.0)
            if depth >= 0.02 or readable:
                fill = "var(--warm)" if value < 0 else "var(--cool)"
                parts.append(bar(x, y, cell - 0.6, tall - 0.6, fill=fill, opacity=max(round(depth, 2), 0.01)))
            if readable:
                parts.append(
                    text(
                        x + cell / 2,
                        y + tall / 2 + 3,
                        show(value),
                        size=min(9, tall * 0.6),
                        anchor="middle",
                        colour=INK,
                    )
                )
    return drawing(parts, head + tall * len(grid) + 4, title, spoken)


@dataclass(frozen=True, kw_only=True)
class Shade:
    """How some boxes of a mosaic look, and what that means."""

    colour: str
    words: str
    opacity: float = 1.0


def mosaic(
    counts: Sequence[Sequence[int]],
    labels: tuple[Sequence[str], Sequence[str]],
    shade: Callable[[int, int], Shade],
    key: Sequence[Shade],
    *,
    title: str,
    spoken: str = "",
    least: float = 0.004,
) -> str:
    """Boxes as wide as their row is large and as high as their share of it.

    ``least`` is the share of the width of a row that is nearly empty, so that one person is seen.
    """
    totals = [sum(row) for row in counts]
    occupied, n = sum(total > 0 for total in totals), max(sum(totals), 1)
    widths = [least * (total > 0) + (1 - least * occupied) * total / n for total in totals]
    left, top, high = 6.0, 18.0 * len(key) + 6, 220.0
    room, parts = WIDTH - left - 6, []
    for place, one in enumerate(key):
        parts.append(bar(left, 2 + 18 * place, 12, 12, fill=one.colour, edge=INK, opacity=one.opacity))
        parts.append(text(left + 18, 12 + 18 * place, one.words, size=SIZE, colour=INK))
    x = left
    for i, (row, total, width) in enumerate(zip(counts, totals, widths, strict=True)):
        y = top
        for j, count in enumerate(row):
            if count:
                tall, look = high * count / total, shade(i, j)
                tip = f"{labels[0][i]}, {labels[1][j]}: {count:,}"
                box = (x, y, max(width * room - 0.8, 0.6), max(tall - 0.8, 0.6))
                parts.append(bar(*box, fill=look.colour, tip=tip, opacity=look.opacity))
                if tall > 12 and width * room > 6 * LETTER:
                    word = cut(labels[1][j], int(width * room / LETTER))
                    parts.append(text(x + 3, y + tall / 2 + 4, word, size=10, colour=INK))
                y += tall
        if width * room > 12:
            parts.append(
                text(x + width * room / 2 - 2, top + high + 10, cut(labels[0][i], 20), size=10, colour=SOFT, turn=40)
            )
        x += width * room
    longest = max([0, *(min(len(label), 20) for label in labels[0])])
    return drawing(parts, top + high + 14 + 0.66 * LETTER * longest, title, spoken)
