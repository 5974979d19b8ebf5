"""From a grid to its maps, as a document and as one page: the use case behind `understudy rumap`."""

import datetime as dt
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook
from understudy.confidential import Confidential
from understudy.errors import StoppedError
from understudy.evaluate.report.make import named
from understudy.evaluate.rumap.figures import map_figures, price_figure
from understudy.evaluate.rumap.plan import Plan, Questions
from understudy.evaluate.rumap.run import MapRun, run_map
from understudy.extras import need
from understudy.pages.figures import figures_page
from understudy.pages.write import write_page
from understudy.sources import open_source
from understudy.sources.base import Report
from understudy.version import __version__

NOT_COVERED = (
    "Choosing epsilon, or a method, by looking at these maps is itself a look at the confidential data, and the "
    "guarantee of the release does not cover it. These runs were charged to no account. Make the maps on a public "
    "table of the same shape instead (--stand-in FILE), or treat the choice as an unpriced disclosure and say so."
)
COVERED = (
    "Computed on the public stand-in {table}: choosing epsilon by these maps costs nothing, as far as that table "
    "resembles the confidential one. The confidential table was not read."
)


@dataclass(frozen=True, kw_only=True, repr=False)
class MapResult(Confidential):
    """A risk-utility map: its numbers, and where they were written."""

    document: dict[str, Any]
    files: tuple[Path, ...]


def risk_utility_map(
    data: Any,
    book: Codebook,
    plan: Plan,
    questions: Questions,
    *,
    out: Path,
    stand_in: Any = None,
    seed: int | None = None,
    unknown: str = "error",
    table: str | None = None,
    report: Report | None = None,
) -> MapResult:
    """Run the grid, going on with what ``out`` holds already, and draw the maps. With a stand-in, no row is read."""
    need("jinja2", "scipy", "sklearn", extra="report", what="a map of risk and utility")
    source = open_source(data if stand_in is None else stand_in, book, unknown=unknown, table=table)
    begun: list[MapRun] = []
    try:
        made = run_map(
            source,
            plan,
            questions,
            folder=out,
            stand_in=None if stand_in is None else named(stand_in),
            seed=seed,
            report=report,
            begun=begun.append,
        )
    except KeyboardInterrupt:
        if not out.exists():  # it came before there was anything to keep
            raise
        done = begun[0].done if begun else 0
        raise StoppedError(
            f"interrupted after {done} of {len(plan.cells())} runs; they are kept in {str(out)!r}. Run the same "
            "command again to go on."
        ) from None
    document = map_document(made)
    page = out / "map.html"
    write_page(page, map_page(document))
    return MapResult(document=document, files=(made.journal.write_parquet(), page))


def map_document(made: MapRun) -> dict[str, Any]:
    """Everything that the page says, for machines too."""
    plan, runs = made.plan, made.runs
    names = list(dict.fromkeys(name for run in runs for name in run["measures"]))
    stand_in = made.stand_in
    return {
        "format": "understudy-rumap/1",
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "understudy": __version__,
        "warning": NOT_COVERED if stand_in is None else COVERED.format(table=stand_in),
        "stand_in": stand_in,
        "title": made.subject.real.codebook.title,
        "methods": list(plan.methods),
        "meaning": {method: plan.meaning(method) for method in plan.methods},
        "epsilons": sorted(plan.epsilons),
        "rows": plan.rows,
        "repeat": plan.repeat,
        "planned": len(plan.cells()),
        "finished": made.done,
        "settings": plan.settings(),
        "measures": names,
        "references": made.subject.references(plan.rows),
        "coefficients": made.subject.coefficients(),
        "runs": runs,
        "refused": [run for run in runs if run["refused"]],
    }


def map_page(doc: dict[str, Any]) -> str:
    """The page for such a document."""
    maps, price = map_figures(doc), price_figure(doc)
    plain = all(meaning == "whole file" for meaning in doc["meaning"].values())  # then a figure would say x = x
    attacked = any(name.startswith(("mode_attack", "mean_attack")) for name in doc["measures"])
    return figures_page(
        "rumap.html",
        package="understudy.evaluate.report",
        doc=doc,
        title=(doc["title"] or "Synthetic table") + ": risk-utility maps",
        flag="Public stand-in." if doc["stand_in"] else "Confidential.",
        banner=doc["warning"],
        sections=[("price-section", "Price"), ("maps", "Maps"), *([("refused", "Refused")] if doc["refused"] else [])],
        maps=maps,
        price=None if plain else price,
        attacked=attacked,
    )
