"""From findings to one HTML file that needs nothing else."""

import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from understudy.evaluate.report.figures import Figure, association_figures, distribution, mosaic
from understudy.evaluate.report.findings import BANNER, FORMAT
from understudy.evaluate.report.glossary import GLOSSARY, title_of
from understudy.evaluate.report.models import chain_figures, is_model, model_figures, risk_figures
from understudy.evaluate.report.numbers import moment, number
from understudy.extras import need

MARKER = "understudy page, made from confidential data"
"""Near the top of every page: a later run may overwrite such a file, and no other."""


def report_page(doc: Mapping[str, Any]) -> str:
    """The page for a document of format :data:`FORMAT`; it says no number that the document does not hold."""
    assert doc["format"] == FORMAT
    columns = [distribution(k, column) for k, column in enumerate(doc["columns"])]
    association = association_figures(doc) if len(doc["columns"]) > 1 else []
    mosaics = [mosaic(k, found) for k, found in enumerate(doc["mosaics"])]
    models, risks, chain = model_figures(doc), risk_figures(doc), chain_figures(doc)
    utility = [_titled(item) for item in doc["utility"]]
    measured = [item for item in utility if is_model(item["metric"])]
    return render(
        "report.html",
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


def render(
    template: str, *, figures: Sequence[Figure], package: str = "understudy.evaluate.report", **values: Any
) -> str:
    """Fill a template of this folder, or of another room's, with style, script and Plotly inside."""
    need("jinja2", "plotly", extra="report", what="the report page")
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape
    from plotly.offline import get_plotlyjs

    folder = resources.files("understudy.evaluate.report")
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name, "") for name in (package, "understudy.evaluate.report")]),
        autoescape=True,
        undefined=StrictUndefined,
    )
    environment.filters["number"] = number
    environment.filters["moment"] = moment
    environment.filters["whole"] = "{:,}".format
    environment.filters["code"] = lambda words: Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(words))))
    environment.filters["strip"] = lambda line: Markup(strip(line))
    drawn = {figure.key: {"data": figure.data, "layout": figure.layout} for figure in figures}
    return environment.get_template(template).render(
        marker=MARKER,
        css=Markup(folder.joinpath("report.css").read_text(encoding="utf-8")),  # our own file
        js=Markup(folder.joinpath("report.js").read_text(encoding="utf-8")),  # our own file
        plotly=Markup(get_plotlyjs()),  # the library's own file
        figures=Markup(script_json(drawn)),  # nothing in it can end the script
        **values,
    )


def script_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in, whatever a level is called.

    >>> script_json({"a": "</script><!--"})
    '{"a":"\\\\u003c/script\\\\u003e\\\\u003c!--"}'
    """
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


_WIDE, _PAD = 250, 12


def strip(line: Mapping[str, Any]) -> str:
    """A line from best (left) to worst (right) with the three marks, told apart by shape."""
    value, best = line["value"], line["perfect"]
    known = [x for x in (value, line["bootstrap"], line["independent"], line["worst"]) if x is not None]
    if value is None or best is None or not known:
        return ""
    far = max(abs(x - best) for x in known) * (1.0 if line["worst"] is not None else 1.08)

    def at(x: float) -> float:
        return _PAD + (min(abs(x - best) / far, 1.0) if far else 0.0) * (_WIDE - 2 * _PAD)

    parts = [
        f'<svg class="strip" viewBox="0 0 {_WIDE} 34" role="img" aria-label="{_spoken(line)}">',
        f'<path d="M{_PAD},17H{_WIDE - _PAD}" stroke="#b3b8bd" stroke-width="2"/>',
    ]
    if line["independent"] is not None:
        parts.append(
            f'<circle cx="{at(line["independent"]):.1f}" cy="17" r="5" fill="#fff" stroke="#444" stroke-width="2"/>'
        )
    if line["bootstrap"] is not None:
        parts.append(f'<path d="M{at(line["bootstrap"]):.1f},7v20" stroke="#444" stroke-width="2.5"/>')
    if line["low"] is not None and line["high"] is not None:
        parts.append(f'<path d="M{at(line["low"]):.1f},17H{at(line["high"]):.1f}" stroke="#0b4f80" stroke-width="5"/>')
    x = at(value)
    parts.append(f'<path d="M{x:.1f},9l7,8l-7,8l-7,-8z" fill="#0b4f80" stroke="#fff" stroke-width="1"/></svg>')
    return "".join(parts)


def _spoken(line: Mapping[str, Any]) -> str:
    said = [f"this table {number(line['value'])}"]
    if line["bootstrap"] is not None:
        said.append(f"bootstrap {number(line['bootstrap'])}")
    if line["independent"] is not None:
        said.append(f"independent columns {number(line['independent'])}")
    return ", ".join(said)
