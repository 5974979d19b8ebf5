"""Small drawings of the screens, as inline SVG whose colours follow the page: light, dark and print."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from understudy.pages.charts import Scale, bar, dots, line, svg, text

_WIDE = 640.0
_NARROW = 380.0
"""Of drawings with words: as wide as a phone, scaled up on larger screens."""
_INK, _SOFT, _ACCENT, _BAD, _GRID = "var(--ink)", "var(--soft)", "var(--accent)", "var(--bad)", "var(--line)"
_SPENT = "var(--edge)"


def account_figures(account: Any, sentence: str) -> dict[str, Any]:
    """The bar of an account before and after a release, and the sentence that says the same; nothing without one."""
    if account is None:
        return {}
    after = account.before if account.after is None else account.after
    title = sentence.format(before=f"{account.before:.3g}", after=f"{after:.3g}", cap=f"{account.cap:g}")
    bar = account_bar(cap=account.cap, before=account.before, after=account.after, title=title)
    return {"bar": bar, "bar_words": title}


def account_bar(*, cap: float, before: float, after: float | None, title: str) -> Markup:
    """What is spent, what a release would add, and what is left under the cap."""
    end = max(cap, after or 0.0, before)
    across = Scale(low=0, high=end, start=1, end=_WIDE - 1)
    room = across(cap)
    parts = [bar(1, 8, room - 1, 26, fill="var(--wash)", edge=_SPENT, rounded=4)]
    if before > 0:
        parts.append(bar(1, 8, across(before) - 1, 26, fill=_SPENT, rounded=4))
    if after is not None and after > before:
        colour = _ACCENT if after <= cap * (1 + 1e-9) else _BAD
        parts.append(bar(across(before), 8, max(2.0, across(after) - across(before)), 26, fill=colour))
    parts.append(line([(room, 2), (room, 40)], colour=_INK, width=2))
    return Markup(svg(parts, width=_WIDE, height=42, title=title, inline=True, style="drawing wide"))


def spans(entries: Sequence[tuple[str, float, float]], *, limit: float | None, limit_words: str, title: str) -> Markup:
    """Where errors will lie, on a logarithmic scale, beside a limit."""
    across = Scale(low=0.0001, high=1, start=22, end=_NARROW - 16, log=True)
    height = 40.0 * len(entries) + 40
    parts = []
    for value in across.ticks():
        parts.append(line([(across(value), 18), (across(value), height - 18)], colour=_GRID, width=1))
        parts.append(text(across(value), height - 4, f"{value:g}", size=11.5, anchor="middle", colour=_SOFT))
    for place, (words, low, high) in enumerate(entries):
        y = 40.0 * place + 22
        start, end = across(max(low, 1e-4)), across(max(high, 1e-4))
        parts.append(text(8, y + 9, words, size=12.5, colour=_INK))
        parts.append(bar(start, y + 14, max(4.0, end - start), 8, fill=_ACCENT, rounded=4))
        if end - start < 5:
            parts.append(dots([(start, y + 18)], colour=_ACCENT, size=5))
    if limit is not None:
        parts.append(line([(across(limit), 15), (across(limit), height - 18)], colour=_BAD, width=2, dash="5 4"))
        parts.append(text(across(limit), 11, limit_words, size=11.5, anchor="middle", colour=_BAD))
    return Markup(svg(parts, width=_NARROW, height=height, title=title, inline=True, style="drawing wide"))


def running_total(points: Sequence[float], *, cap: float, title: str) -> Markup:
    """The total of an account after each of its charges, as stairs below the cap."""
    up = Scale(low=0, high=max(cap, *points, 1e-9) * 1.05, start=124, end=12)
    across = Scale(low=0, high=max(1, len(points)), start=34, end=_NARROW - 8)
    corners = [(across(0), up(0))]
    for place, value in enumerate(points):
        corners += [(across(place), up(value)), (across(place + 1), up(value))]
    parts = [
        line([(34, up(0)), (_NARROW - 8, up(0))], colour=_SOFT, width=1),
        line([(34, up(cap)), (_NARROW - 8, up(cap))], colour=_BAD, width=2, dash="6 4"),
        text(29, up(cap) + 4, f"{cap:g}", size=11.5, anchor="end", colour=_SOFT),
        text(29, up(0) + 4, "0", size=11.5, anchor="end", colour=_SOFT),
        line(corners, colour=_ACCENT, width=3),
    ]
    return Markup(svg(parts, width=_NARROW, height=134, title=title, inline=True, style="drawing wide"))
