"""Figures 5.3 to 5.7, redrawn from what was measured here."""

from typing import Any

import numpy as np

from experiments.chart import Line, Panel, chart
from experiments.dpat.accuracy import EPSILONS
from experiments.dpat.data import load
from experiments.dpat.pictures import gain_picture, look, tree_picture
from experiments.dpat.roc import GRID
from understudy.mechanisms.stream import Stream
from understudy.trees.grow import alpha_tree, diff_structure, leaf_totals
from understudy.trees.quality import public_quality
from understudy.trees.questions import questions_of
from understudy.trees.show import reliability_picture
from understudy.trees.train import make_training

__all__ = ["auroc_figure", "calls_figure", "reliability_figure", "structures"]


def structures() -> dict[str, str]:
    """Figures 5.3 (plain tree), 5.4 (0-DiffStructure) and 5.5 (gains with their bars), on all of Pima."""
    task = load("pima")
    cells = task.cells(np.arange(len(task.label)), coarse=True).open()
    questions = questions_of(task.coarse)
    plain = alpha_tree(cells, questions, alpha=1.0, max_depth=4, min_records=40)
    structure = diff_structure(cells, questions, alpha=1.0, min_records=20)
    nodes = look(cells, questions, structure, alpha=1.0)
    root = nodes[0]
    stopped = max((node for node in nodes if node.chosen is None), key=lambda node: node.records)
    words = [question.words for question in questions]

    def bars(node: Any, title: str) -> str:
        order = [place for place in np.argsort(-node.gains) if np.isfinite(node.high[place])][:9]
        return gain_picture(
            [words[place] for place in order],
            node.gains[order],
            node.low[order],
            node.high[order],
            title=title,
        )

    return {
        "dpat-5-3-plain-tree": tree_picture(
            plain, task.coarse, counts=leaf_totals(plain, cells).tolist(), title="Alpha-tree, alpha = 1 (C4.5), on Pima"
        ),
        "dpat-5-4-diff-structure": tree_picture(
            structure,
            task.coarse,
            counts=leaf_totals(structure, cells).tolist(),
            title="0-DiffStructure, alpha = 1, on Pima",
        ),
        "dpat-5-5-split": bars(root, f"Root: a split that no record changes ({root.records} records)"),
        "dpat-5-5-no-split": bars(stopped, f"A leaf: the bars overlap ({stopped.records} records)"),
    }


_SHOWN = (
    ("forest", "provable forest", 0),
    ("edpat", "EDPaT, one call (NoFormal)", 1),
    ("dpat", "DPaT, one call (NoFormal)", 2),
)


def auroc_figure(
    found: dict[str, Any], curves: dict[str, Any] | None, peers: dict[str, Any], number: str, title: str
) -> str:
    """AUROC against epsilon, bars of one deviation over the halves, and ROC curves at epsilon 1 (figures 5.6, 5.7)."""
    lines = [_line(found["curves"][key], label, style) for key, label, style in _SHOWN]
    if "best" in peers:
        lines.append(_line(peers["best"], "diffprivlib, best of five", 3))
    for place, (label, one) in enumerate(found["plain"].items()):
        ends = [(epsilon, one["mean"]) for epsilon in (EPSILONS[0], EPSILONS[-1])]
        lines.append(Line(label=f"{label}, no privacy", style=5 + place, points=ends))
    panel = Panel(title=title, x="epsilon", y="AUROC", lines=lines, log_x=True, low=0.4, high=0.9)
    panels = [panel, *([] if curves is None else [_roc_panel(curves)])]
    return chart(f"Figure {number}: risk scores under privacy", panels, note=f"{found['repeats']} random halves")


def _roc_panel(curves: dict[str, Any]) -> Panel:
    labels = {key: (label, style) for key, label, style in _SHOWN} | {"C4.5": ("C4.5 (alpha = 1), no privacy", 5)}
    lines = [
        Line(label=labels[key][0], style=labels[key][1], points=list(zip(GRID.tolist(), curve, strict=True)))
        for key, curve in curves.items()
    ]
    return Panel(title="ROC at epsilon 1", x="false alarms", y="positives found", lines=lines, high=1.0)


def calls_figure(found: dict[str, dict[str, Any]]) -> str:
    """The chapter's noise if one epsilon had to last for many calls."""
    panels = []
    for name, one in found.items():
        lines = [_line(one["curves"]["forest"], "provable forest, any number of calls", 0)]
        for style, label in ((1, "edpat"), (2, "edpat, 100 calls"), (3, "edpat, 10,000 calls")):
            lines.append(_line(one["curves"][label], label.replace("edpat", "EDPaT"), style))
        panels.append(
            Panel(
                title=load(name).title,
                x="epsilon for all calls",
                y="AUROC",
                lines=lines,
                log_x=True,
                low=0.4,
                high=0.9,
            )
        )
    return chart("What per-call noise costs", panels)


def _line(by_epsilon: dict[str, Any], label: str, style: int) -> Line:
    points = [(float(epsilon), one["mean"]) for epsilon, one in by_epsilon.items()]
    return Line(label=label, style=style, points=points, spread=[one["deviation"] for one in by_epsilon.values()])


def reliability_figure() -> str:
    """Scores of one forest at epsilon 1, trained on half of Pima, against what happened in the other half."""
    task = load("pima")
    train, test = task.halves(1)[0]
    grown = make_training("forest", epsilon=1.0).grow(task.cells(train), task.fine, Stream.seeded(12))
    quality = public_quality(grown.scorer, task.fine, task.cells(test).open(), subgroups=[], label="the other half")
    return reliability_picture(quality.measures["reliability"], title="Forest at epsilon 1 on Pima: reliability")
