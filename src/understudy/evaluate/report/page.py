"""From findings to one HTML file that needs nothing else, not even a script."""

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.evaluate.report.figures import (
    association_figure,
    attacks_figure,
    column_figure,
    pair_figure,
    worst_figures,
)
from understudy.evaluate.report.findings import BANNER, FORMAT
from understudy.evaluate.report.glossary import GLOSSARY, title_of
from understudy.evaluate.report.models import chain_figures, is_model, model_figures, path_figures
from understudy.pages import charts
from understudy.pages.figures import Figure, figures_page
from understudy.pages.numbers import number

Section = tuple[str, str, Sequence[Figure]]
STATUS = {"good": "Yes", "bad": "No", "open": "Open"}
ANSWERS = {"good": "within the limits", "bad": "beyond a limit", "open": "not known"}


def report_page(doc: Mapping[str, Any], *, more: Sequence[Section] = ()) -> str:
    """The page for a document of format :data:`FORMAT`; it says no number that the document does not hold.

    ``more`` are sections of other rooms (key, heading, figures) that stand before the appendix: people and histories.
    """
    assert doc["format"] == FORMAT
    utility = [_titled(item) for item in doc["utility"]]
    models = model_figures(doc)
    pairs = [pair_figure(k, table) for k, table in enumerate(doc["mosaics"])]
    association = association_figure(doc) if len(doc["columns"]) > 1 else None
    return figures_page(
        "report.html",
        package="understudy.evaluate.report",
        filters={"strip": strip},
        doc=doc,
        title=doc["title"] or "Synthetic table",
        banner=BANNER.removeprefix("Confidential. "),
        sections=_sections(doc, models=bool(models), more=more),
        status=STATUS,
        answers=ANSWERS,
        attacks=attacks_figure(doc),
        worst=worst_figures(doc),
        model_figures=models,
        more=more,
        columns=[column_figure(k, column) for k, column in enumerate(doc["columns"])],
        pairs=[*([] if association is None else [association]), *pairs],
        paths=path_figures(doc),
        models=[item for item in utility if is_model(item["metric"])],
        utility=[item for item in utility if not is_model(item["metric"])],
        risk=[_titled(item) for item in doc["risk"]["scores"]],
        chain=chain_figures(doc),
        glossary=GLOSSARY,
    )


def _sections(doc: Mapping[str, Any], *, models: bool, more: Sequence[Section]) -> list[tuple[str, str]]:
    shown = [
        ("verdict", "Decision", True),
        ("risk", "Intruders", doc["risk"]["level"] != "none"),
        ("differences", "Differences", True),
        ("impossible", "Impossible rows", True),
        ("models", "Models", models),
        *((key, label, True) for key, label, _ in more),
        ("promise", "Promise and limits", True),
        ("appendix", "Appendix", True),
    ]
    return [(key, label) for key, label, there in shown if there]


def _titled(item: Mapping[str, Any]) -> dict[str, Any]:
    return {**item, "title": title_of(item["metric"])}


_WIDE, _HIGH, _PAD = 250, 34, 12


def strip(line: Mapping[str, Any]) -> str:
    """A line from best (left) to worst (right) with the three marks, told apart by shape."""
    value, best = line["value"], line["perfect"]
    known = [x for x in (value, line["bootstrap"], line["independent"], line["worst"]) if x is not None]
    if value is None or best is None or not known:
        return ""
    far = max(abs(x - best) for x in known) * (1.0 if line["worst"] is not None else 1.08)
    scale = charts.Scale(low=0.0, high=far, start=_PAD, end=_WIDE - _PAD)
    middle = _HIGH / 2

    def at(x: float) -> tuple[float, float]:
        return scale(abs(x - best)), middle

    parts = [charts.line([(_PAD, middle), (_WIDE - _PAD, middle)], colour="#b3b8bd")]
    spoken = [f"this table {number(value)}"]
    if line["independent"] is not None:
        parts.append(charts.dots([at(line["independent"])], inside="none", colour="currentColor"))
    if line["bootstrap"] is not None:
        spoken.append(f"bootstrap {number(line['bootstrap'])}")
        parts.append(charts.dots([at(line["bootstrap"])], shape="tick", size=10, colour="currentColor"))
    if line["independent"] is not None:
        spoken.append(f"independent columns {number(line['independent'])}")
    if line["low"] is not None and line["high"] is not None:
        parts.append(charts.line([at(line["low"]), at(line["high"])], colour="var(--accent)", width=5))
    parts.append(charts.dots([at(value)], shape="diamond", size=8, colour="var(--accent)"))
    return charts.svg(parts, width=_WIDE, height=_HIGH, title=", ".join(spoken), inline=True, style="strip")
