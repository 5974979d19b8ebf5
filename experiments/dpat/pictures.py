"""Trees and gains as pictures (figures 5.3 to 5.5)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.mechanisms.labelled import Cells
from understudy.pages.charts import SOFT, Scale, bar, line, svg, text
from understudy.trees.features import Feature
from understudy.trees.gains import alpha_gain, gain_bounds
from understudy.trees.grow import node_tables
from understudy.trees.questions import Question, answers, words_of
from understudy.trees.show import LeafCounts
from understudy.trees.tree import Tree

_EDGE = "#9aa7b4"
_LOW, _HIGH = (236, 243, 250), (214, 96, 77)


@dataclass(frozen=True, kw_only=True, eq=False)
class Node:
    """What can be seen of one node while a tree grows; for pictures (figure 5.5)."""

    number: int
    depth: int
    gains: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    chosen: int | None
    records: int


def look(cells: Cells, questions: Sequence[Question], tree: Tree, *, alpha: float) -> list[Node]:
    """Gains with their min-max bars at every node of a tree (figure 5.5)."""
    asked = answers(questions, cells.codes)
    inside = {0: np.arange(len(cells.codes))}
    found = []
    for node, feature in enumerate(tree.feature):
        rows = inside[node]
        counts = cells.counts[rows]
        tables = node_tables(asked[rows], counts)
        low, high = gain_bounds(tables, alpha)
        chosen = None
        if feature >= 0:
            picked = [q.feature == feature and q.yes_codes == tree.yes_codes[node] for q in questions]
            chosen = picked.index(True)
            inside[tree.no[node]] = rows[~asked[rows, chosen]]
            inside[tree.yes[node]] = rows[asked[rows, chosen]]
        found.append(
            Node(
                number=node,
                depth=tree.depths[node],
                gains=alpha_gain(tables, alpha),
                low=low,
                high=high,
                chosen=chosen,
                records=int(counts.sum()),
            )
        )
    return found


def tree_picture(tree: Tree, features: Sequence[Feature], *, counts: LeafCounts = None, title: str = "") -> str:
    """The tree as SVG: questions in boxes, leaves tinted by their share of positives."""
    place, deepest = _layout(tree)
    wide, high = 112, 78
    width = max(int((max(x for x, _ in place) + 1) * wide) + 40, 320)
    height = (deepest + 1) * high + 70
    parts = [text(20, 26, title, size=15, weight=600)] if title else []
    for node, asked in enumerate(tree.feature):
        x, y = place[node][0] * wide + 20 + wide / 2, place[node][1] * high + 62
        if asked >= 0:
            for child, word in ((tree.no[node], "no"), (tree.yes[node], "yes")):
                cx, cy = place[child][0] * wide + 20 + wide / 2, place[child][1] * high + 62
                parts.append(line([(x, y + 13), (cx, cy - 16)], colour=_EDGE, width=1))
                parts.append(text((x + cx) / 2, (y + cy) / 2 + 2, word, size=10, anchor="middle", colour=SOFT))
    for node, asked in enumerate(tree.feature):
        x, y = place[node][0] * wide + 20 + wide / 2, place[node][1] * high + 62
        if asked >= 0:
            gain = tree.gain[node] if tree.gain else None
            words = words_of(features[asked], tree.yes_codes[node])
            parts.append(_box(x, y, min(wide * 1.5, 12 + 6.2 * len(words)), "#ffffff"))
            parts.append(text(x, y + 4, words, size=11, anchor="middle"))
            if gain is not None:
                parts.append(text(x, y - 18, f"{gain:.3f}", size=9, anchor="middle", colour=SOFT))
            continue
        number = tree.leaf_number[node]
        pair = None if counts is None else counts[number]
        total = 0 if pair is None else max(int(pair[0]), 0) + max(int(pair[1]), 0)
        share = 0.0 if not total or pair is None else max(int(pair[1]), 0) / total
        parts.append(_box(x, y, wide * 0.72, _tint(share) if pair is not None else "#f4f4f4"))
        words = f"leaf {number}" if pair is None else f"{share:.0%} of {total}"
        parts.append(text(x, y + 4, words, size=11, anchor="middle"))
    return svg(parts, width=width, height=height, title=title or "tree")


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
    at = Scale(low=0, high=top, start=left, end=right)
    parts = [text(20, 26, title, size=15, weight=600)]
    for number, name in enumerate(names):
        y = 58 + number * row
        ends = at(float(low[number])), at(float(high[number]))
        parts.append(text(left - 10, y + 4, name, size=11, anchor="end"))
        parts.append(bar(left, y - 7, at(float(gains[number])) - left, 14, fill="#c9d9e8"))
        parts.append(line([(ends[0], y), (ends[1], y)]))
        parts += [line([(end, y - 5), (end, y + 5)]) for end in ends]
    bottom = 58 + len(names) * row
    for tick in np.linspace(0, top / 1.1, 5):
        parts.append(text(at(float(tick)), bottom + 14, f"{tick:.3f}", size=10, anchor="middle", colour=SOFT))
    words = "alpha-gain, and its range over all neighbouring tables"
    parts.append(text((left + right) / 2, bottom + 32, words, size=11, anchor="middle"))
    return svg(parts, width=560, height=bottom + 46, title=title)


def _tint(share: float) -> str:
    mixed = [round(low + (high - low) * share) for low, high in zip(_LOW, _HIGH, strict=True)]
    return f"rgb({mixed[0]},{mixed[1]},{mixed[2]})"


def _box(x: float, y: float, width: float, fill: str) -> str:
    return bar(x - width / 2, y - 13, width, 26, fill=fill, edge=_EDGE, rounded=5)
