"""Trees in words and as pictures (figures 5.3 to 5.5): plain text and stand-alone SVG, no plotting library needed."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from understudy.trees.features import Feature
from understudy.trees.questions import words_of
from understudy.trees.scorers import VoteForest
from understudy.trees.tree import Tree

LeafCounts = Sequence[Sequence[int]] | None
_INK, _SOFT, _LINE = "#1b2a3a", "#5b6b7b", "#9aa7b4"
_LOW, _HIGH = (236, 243, 250), (214, 96, 77)


def tree_text(tree: Tree, features: Sequence[Feature], *, counts: LeafCounts = None) -> str:
    """An indented list: questions with their gain, leaves with their counts and share of positives.

    >>> from understudy.trees.examples import septic_shock_example
    >>> model = septic_shock_example()
    >>> print(tree_text(model.scorer.trees[0], model.features))
    systolicBP in {[40, 90), [90, 105)}?
      no: heartRate >= 110?
        no: leaf 0
        yes: leaf 1
      yes: heartRate >= 90?
        no: leaf 2
        yes: leaf 3
    """
    lines: list[str] = []

    def visit(node: int, indent: int, answer: str) -> None:
        lead = "  " * indent + answer
        if tree.feature[node] < 0:
            number = tree.leaf_number[node]
            lines.append(lead + (f"leaf {number}" if counts is None else _leaf_words(counts[number])))
            return
        gain = tree.gain[node] if tree.gain else None
        said = "" if gain is None else f"  (gain {gain:.4g})"
        lines.append(f"{lead}{words_of(features[tree.feature[node]], tree.yes_codes[node])}?{said}")
        visit(tree.no[node], indent + 1, "no: ")
        visit(tree.yes[node], indent + 1, "yes: ")

    visit(0, 0, "")
    return "\n".join(lines)


def _leaf_words(pair: Sequence[int]) -> str:
    negative, positive = int(pair[0]), int(pair[1])
    total = max(negative, 0) + max(positive, 0)
    share = max(positive, 0) / total if total else 0.5
    return f"{share:.0%} of {total}"


def votes_text(forest: VoteForest, features: Sequence[Feature], *, most: int | None = None) -> str:
    """One line for every grove, or for the ``most`` weighty: what its stumps ask, how far it moves the log-odds."""
    lines = [f"log-odds = {forest.intercept:+.3f} plus, between -1 and +1 of each grove:"]
    ordered = sorted(forest.trees, key=lambda tree: -abs(tree["weight"]))
    wide = max((len(str(tree["feature"])) for tree in ordered), default=0)
    lines.extend(f"  {tree['weight']:+7.3f}  {tree['feature']:<{wide}}  {tree['asks']}" for tree in ordered[:most])
    if most is not None and len(ordered) > most:
        lines.append(f"  and {len(ordered) - most} groves that weigh less, in the model's card")
    return "\n".join(lines)


def tree_picture(tree: Tree, features: Sequence[Feature], *, counts: LeafCounts = None, title: str = "") -> str:
    """The tree as SVG: questions in boxes, leaves tinted by their share of positives."""
    place, deepest = _layout(tree)
    wide, high = 112, 78
    width = max(int((max(x for x, _ in place) + 1) * wide) + 40, 320)
    height = (deepest + 1) * high + 70
    parts = [_text(20, 26, title, size=15, anchor="start", weight=600)] if title else []
    for node, asked in enumerate(tree.feature):
        x, y = place[node][0] * wide + 20 + wide / 2, place[node][1] * high + 62
        if asked >= 0:
            for child, word in ((tree.no[node], "no"), (tree.yes[node], "yes")):
                cx, cy = place[child][0] * wide + 20 + wide / 2, place[child][1] * high + 62
                parts.append(_line(x, y + 13, cx, cy - 16))
                parts.append(_text((x + cx) / 2, (y + cy) / 2 + 2, word, size=10, color=_SOFT))
    for node, asked in enumerate(tree.feature):
        x, y = place[node][0] * wide + 20 + wide / 2, place[node][1] * high + 62
        if asked >= 0:
            gain = tree.gain[node] if tree.gain else None
            words = words_of(features[asked], tree.yes_codes[node])
            parts.append(_box(x, y, min(wide * 1.5, 12 + 6.2 * len(words)), "#ffffff"))
            parts.append(_text(x, y + 4, words, size=11))
            if gain is not None:
                parts.append(_text(x, y - 18, f"{gain:.3f}", size=9, color=_SOFT))
            continue
        number = tree.leaf_number[node]
        pair = None if counts is None else counts[number]
        total = 0 if pair is None else max(int(pair[0]), 0) + max(int(pair[1]), 0)
        share = 0.0 if not total or pair is None else max(int(pair[1]), 0) / total
        parts.append(_box(x, y, wide * 0.72, _tint(share) if pair is not None else "#f4f4f4"))
        parts.append(_text(x, y + 4, f"leaf {number}" if pair is None else f"{share:.0%} of {total}", size=11))
    return _svg(width, height, parts)


def _layout(tree: Tree) -> tuple[list[tuple[float, int]], int]:
    """Leaves side by side, splits above the middle of their children."""
    place: dict[int, tuple[float, int]] = {}
    following = [0]

    def visit(node: int) -> float:
        if tree.feature[node] < 0:
            x = float(following[0])
            following[0] += 1
        else:
            x = (visit(tree.no[node]) + visit(tree.yes[node])) / 2
        place[node] = (x, tree.depths[node])
        return x

    visit(0)
    return [place[node] for node in range(len(tree.feature))], tree.depth


def gain_picture(
    names: Sequence[str], gains: Sequence[float], low: Sequence[float], high: Sequence[float], *, title: str
) -> str:
    """Gains with their min-max bars over all neighbouring tables (figure 5.5)."""
    top = max([value for value in high if np.isfinite(value)] or [1.0]) * 1.1 or 1.0
    left, right, row = 210, 520, 24
    parts = [_text(20, 26, title, size=15, anchor="start", weight=600)]

    def at(value: float) -> float:
        return left + (right - left) * min(max(float(value), 0.0), top) / top

    for number, name in enumerate(names):
        y = 58 + number * row
        parts.append(_text(left - 10, y + 4, name, size=11, anchor="end"))
        parts.append(
            f'<rect x="{left}" y="{y - 7}" width="{at(gains[number]) - left:.1f}" height="14" fill="#c9d9e8"/>'
        )
        parts.append(_line(at(low[number]), y, at(high[number]), y, color=_INK, width=2))
        for end in (low[number], high[number]):
            parts.append(_line(at(end), y - 5, at(end), y + 5, color=_INK, width=2))
    bottom = 58 + len(names) * row
    for tick in np.linspace(0, top / 1.1, 5):
        parts.append(_text(at(tick), bottom + 14, f"{tick:.3f}", size=10, color=_SOFT))
    parts.append(
        _text((left + right) / 2, bottom + 32, "alpha-gain, and its range over all neighbouring tables", size=11)
    )
    return _svg(560, bottom + 46, parts)


def reliability_picture(bins: Sequence[dict[str, Any]], *, title: str) -> str:
    """Observed share of positives against the mean score of each bin, with intervals."""
    left, top, size = 60, 48, 320
    parts = [_text(20, 26, title, size=15, anchor="start", weight=600)]

    def spot(x: float, y: float) -> tuple[float, float]:
        return left + size * x, top + size * (1 - y)

    parts.append(f'<rect x="{left}" y="{top}" width="{size}" height="{size}" fill="#fbfcfd" stroke="{_LINE}"/>')
    parts.append(_line(*spot(0, 0), *spot(1, 1), color=_LINE, dash="4 4"))
    largest = max((entry["records"] for entry in bins), default=1) or 1
    for entry in bins:
        x = entry["score"]
        parts.append(_line(*spot(x, entry["low"]), *spot(x, entry["high"]), color=_SOFT))
        cx, cy = spot(x, entry["observed"])
        radius = 3 + 6 * (entry["records"] / largest) ** 0.5
        parts.append(f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="{radius:.1f}" fill="#2b6cb0" opacity="0.85"/>')
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(_text(spot(tick, 0)[0], top + size + 16, f"{tick:g}", size=10, color=_SOFT))
        parts.append(_text(left - 8, spot(0, tick)[1] + 4, f"{tick:g}", size=10, color=_SOFT, anchor="end"))
    parts.append(_text(left + size / 2, top + size + 36, "score", size=11))
    parts.append(
        f'<text x="18" y="{top + size / 2}" font-size="11" fill="{_INK}" text-anchor="middle" '
        f'transform="rotate(-90 18 {top + size / 2})">share that was positive</text>'
    )
    return _svg(left + size + 24, top + size + 50, parts)


def _tint(share: float) -> str:
    mixed = [round(low + (high - low) * share) for low, high in zip(_LOW, _HIGH, strict=True)]
    return f"rgb({mixed[0]},{mixed[1]},{mixed[2]})"


def _box(x: float, y: float, width: float, fill: str) -> str:
    return (
        f'<rect x="{x - width / 2:.1f}" y="{y - 13:.1f}" width="{width:.1f}" height="26" rx="5" fill="{fill}" '
        f'stroke="{_LINE}"/>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, *, color: str = _LINE, width: float = 1, dash: str = "") -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{color}" stroke-width="{width}"{dashed}/>'


def _text(
    x: float, y: float, words: str, *, size: int, anchor: str = "middle", color: str = _INK, weight: int = 400
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{color}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{escape(words)}</text>'
    )


def _svg(width: float, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="system-ui, sans-serif" role="img">'
        f'<rect width="100%" height="100%" fill="#ffffff"/>{"".join(parts)}</svg>\n'
    )
