"""Trees in words, and shapes and the reliability of scores as SVG; no plotting library needed."""

from collections.abc import Sequence
from typing import Any

from understudy.pages import charts
from understudy.pages.drawings import cut
from understudy.trees.features import Feature
from understudy.trees.questions import words_of
from understudy.trees.scorers import BAND, VoteForest
from understudy.trees.tree import Tree

LeafCounts = Sequence[Sequence[int]] | None


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
    across = charts.Scale(low=0, high=1, start=left, end=left + size)
    up = charts.Scale(low=0, high=1, start=top + size, end=top)
    ticks = {tick: f"{tick:g}" for tick in (0.0, 0.25, 0.5, 0.75, 1.0)}
    parts = [
        charts.text(20, 26, title, size=15, weight=600),
        charts.axes(across, up, names=("score", "share that was positive"), labels=(ticks, ticks)),
        charts.line([(across(0), up(0)), (across(1), up(1))], colour=charts.SOFT, width=1, dash="4 4"),
    ]
    largest = max((entry["records"] for entry in bins), default=1) or 1
    for entry in bins:
        x = across(entry["score"])
        parts.append(charts.line([(x, up(entry["low"])), (x, up(entry["high"]))], colour=charts.SOFT, width=1))
        parts.append(charts.dots([(x, up(entry["observed"]))], size=3 + 6 * (entry["records"] / largest) ** 0.5))
    said = f"{title}: share that was positive against the score, {len(bins)} bins."
    return charts.svg(parts, width=left + size + 24, height=top + size + 50, title=said)


def shapes_picture(shapes: Sequence[dict[str, Any]], *, title: str) -> str:
    """A panel for every feature of a card: what its values add to the log-odds, and the noise band."""
    wide, tall, each_row = 220, 200, 3
    reach = max((abs(v) for shape in shapes for end in ("low", "high") for v in shape[end]), default=0.0) or 1.0
    parts = [
        charts.text(16, 24, title, size=15, weight=600),
        charts.text(
            16, 44, f"What each value adds to the log-odds; pale: {BAND:.0%} band of the privacy noise", size=12
        ),
    ]
    for place, shape in enumerate(shapes):
        row, column = divmod(place, each_row)
        left, top = 52 + column * wide, 82 + row * tall
        count = len(shape["values"])
        across = charts.Scale(low=0, high=count, start=left, end=left + wide - 70)
        up = charts.Scale(low=-reach, high=reach, start=top + tall - 88, end=top)
        ends = {0.5: cut(shape["values"][0], 12), count - 0.5: cut(shape["values"][-1], 12)}
        parts.append(charts.text(left, top - 10, cut(shape["feature"], 24), size=12, weight=600))
        parts.append(charts.axes(across, up, labels=(ends if count > 1 else {0.5: ends[0.5]}, None)))
        adds_most = cut(shape["values"][max(range(count), key=shape["adds"].__getitem__)], 22)
        parts.append(charts.text(left, up.start + 36, f"highest: {adds_most}", size=11, colour=charts.SOFT))
        edges = [across(edge) for edge in range(count + 1)]
        corners = [edge for k in range(count) for edge in edges[k : k + 2]]
        low, adds, high = ([up(v) for v in shape[end] for _ in range(2)] for end in ("low", "adds", "high"))
        parts.append(charts.band(corners, low, high, colour=charts.REAL))
        parts.append(charts.line(list(zip(corners, adds, strict=True)), colour=charts.DEEP_BLUE))
    rows = -(-len(shapes) // each_row)
    strongest = sorted(shapes, key=lambda shape: min(shape["adds"]) - max(shape["adds"]))
    said = "; ".join(f"{s['feature']} from {min(s['adds']):+.2f} to {max(s['adds']):+.2f}" for s in strongest)
    return charts.svg(
        parts,
        width=24 + each_row * wide,
        height=52 + rows * tall,
        title=f"{title}: what each value adds to the log-odds, with the band of the privacy noise",
        description=said,
    )
