"""From a grid to its maps: the use case behind `understudy rumap`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook
from understudy.confidential import Confidential
from understudy.errors import StoppedError
from understudy.evaluate.report.make import named
from understudy.evaluate.report.write import write_page
from understudy.evaluate.rumap.measure import Questions
from understudy.evaluate.rumap.page import map_document, map_page
from understudy.evaluate.rumap.plan import Plan
from understudy.evaluate.rumap.run import MapRun, run_map
from understudy.sources import open_source
from understudy.sources.base import Report

__all__ = ["MapResult", "Plan", "Questions", "risk_utility_map"]


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
            told=begun.append,
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
