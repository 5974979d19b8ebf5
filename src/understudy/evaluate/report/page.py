"""From findings to one HTML file that needs nothing else."""

from collections.abc import Mapping
from typing import Any

from understudy.evaluate.report.figures import association_figures, distribution, mosaic_pair
from understudy.evaluate.report.findings import BANNER, FORMAT
from understudy.evaluate.report.glossary import GLOSSARY, title_of
from understudy.evaluate.report.models import chain_figures, is_model, model_figures, risk_figures
from understudy.pages import charts
from understudy.pages.figures import figures_page
from understudy.pages.numbers import number


def report_page(doc: Mapping[str, Any]) -> str:
    """The page for a document of format :data:`FORMAT`; it says no number that the document does not hold."""
    assert doc["format"] == FORMAT
    columns = [distribution(k, column) for k, column in enumerate(doc["columns"])]
    association = association_figures(doc) if len(doc["columns"]) > 1 else []
    mosaics = [mosaic_pair(k, found) for k, found in enumerate(doc["mosaics"])]
    models, risks, chain = model_figures(doc), risk_figures(doc), chain_figures(doc)
    utility = [_titled(item) for item in doc["utility"]]
    measured = [item for item in utility if is_model(item["metric"])]
    return figures_page(
        "report.html",
        package="understudy.evaluate.report",
        filters={"strip": strip},
        figures=[*columns, *association, *mosaics, *models, *risks, *chain],
        doc=doc,
        title=doc["title"] or "Synthetic table",
        banner=BANNER.removeprefix("Confidential. "),
        sections=_sections(doc, mosaics=bool(mosaics), models=bool(models or measured), chain=bool(chain)),
        columns=columns,
        association=association,
        mosaics=mosaics,
        models=measured,
        model_figures=models,
        utility=[item for item in utility if not is_model(item["metric"])],
        risk=[_titled(item) for item in doc["risk"]["scores"]],
        risk_figures=risks,
        chain=chain,
        glossary=GLOSSARY,
    )


def _sections(doc: Mapping[str, Any], *, mosaics: bool, models: bool, chain: bool) -> list[tuple[str, str]]:
    shown = [
        ("promise", "Promise", True),
        ("summary", "Summary", True),
        ("columns", "Columns", True),
        ("association", "Pairs", True),
        ("impossible", "Impossible rows", True),
        ("mosaics", "Strongest pairs", mosaics),
        ("models", "Models", models),
        ("utility", "All measures", bool(doc["utility"])),
        ("risk", "Risk", doc["risk"]["level"] != "none"),
        ("chain", "Chains", chain),
        ("glossary", "Glossary", True),
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
