"""Trees in words, and the reliability of scores as stand-alone SVG; no plotting library needed."""

from collections.abc import Sequence
from html import escape
from typing import Any

from understudy.trees.features import Feature
from understudy.trees.questions import words_of
from understudy.trees.scorers import VoteForest
from understudy.trees.tree import Tree

LeafCounts = Sequence[Sequence[int]] | None
INK, SOFT, LINE = "#1b2a3a", "#5b6b7b", "#9aa7b4"


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
        gained = "" if gain is None else f"  (gain {gain:.4g})"
        lines.append(f"{lead}{words_of(features[tree.feature[node]], tree.yes_codes[node])}?{gained}")
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


def reliability_picture(bins: Sequence[dict[str, Any]], *, title: str) -> str:
    """Observed share of positives against the mean score of each bin, with intervals."""
    left, top, size = 60, 48, 320
    parts = [text(20, 26, title, size=15, anchor="start", weight=600)]

    def spot(x: float, y: float) -> tuple[float, float]:
        return left + size * x, top + size * (1 - y)

    parts.append(f'<rect x="{left}" y="{top}" width="{size}" height="{size}" fill="#fbfcfd" stroke="{LINE}"/>')
    parts.append(line(*spot(0, 0), *spot(1, 1), color=LINE, dash="4 4"))
    largest = max((entry["records"] for entry in bins), default=1) or 1
    for entry in bins:
        x = entry["score"]
        parts.append(line(*spot(x, entry["low"]), *spot(x, entry["high"]), color=SOFT))
        cx, cy = spot(x, entry["observed"])
        radius = 3 + 6 * (entry["records"] / largest) ** 0.5
        parts.append(f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="{radius:.1f}" fill="#2b6cb0" opacity="0.85"/>')
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(text(spot(tick, 0)[0], top + size + 16, f"{tick:g}", size=10, color=SOFT))
        parts.append(text(left - 8, spot(0, tick)[1] + 4, f"{tick:g}", size=10, color=SOFT, anchor="end"))
    parts.append(text(left + size / 2, top + size + 36, "score", size=11))
    parts.append(
        f'<text x="18" y="{top + size / 2}" font-size="11" fill="{INK}" text-anchor="middle" '
        f'transform="rotate(-90 18 {top + size / 2})">share that was positive</text>'
    )
    return svg(left + size + 24, top + size + 50, parts)


def line(x1: float, y1: float, x2: float, y2: float, *, color: str = LINE, width: float = 1, dash: str = "") -> str:
    """A line of a picture."""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{color}" stroke-width="{width}"{dashed}/>'


def text(
    x: float, y: float, words: str, *, size: int, anchor: str = "middle", color: str = INK, weight: int = 400
) -> str:
    """Words in a picture."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{color}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{escape(words)}</text>'
    )


def svg(width: float, height: float, parts: Sequence[str]) -> str:
    """The whole picture."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="system-ui, sans-serif" role="img">'
        f'<rect width="100%" height="100%" fill="#ffffff"/>{"".join(parts)}</svg>\n'
    )
