"""Compare a commuting release with the confidential table: numbers, and a confidential page."""

from pathlib import Path
from typing import Any

import numpy as np

from understudy.commute.figures import distance_histogram, size_scatter
from understudy.commute.places import Places
from understudy.commute.released import ReleasedCommutes
from understudy.evaluate.commuting import CommuteFindings, SizeBand, compare_flows, opened_flows
from understudy.pages.shell import MARKER, html_page
from understudy.pages.write import check_page_target, write_page
from understudy.parameters import Number
from understudy.sources.flows import Flows, Histograms


def on_the_same_rows(flows: Flows, destinations: tuple[str, ...], cells: Histograms) -> Histograms:
    """Cells of ``flows`` with rows numbered by ``destinations``; those of other destinations are dropped."""
    number = {name: row for row, name in enumerate(destinations)}
    to = np.array([number.get(name, -1) for name in flows.destinations], dtype=np.int64)
    rows = to[cells.rows]
    kept = rows >= 0
    return Histograms.of(rows[kept], cells.units[kept], cells.counts[kept], number=len(destinations))


def evaluate_commutes(real: Flows, made: ReleasedCommutes, *, short: float | None = None) -> CommuteFindings:
    """Compare; ``real`` must have been read with the release's own list of origins.

    Where the release has a cut-off, longer commutes are left out on both sides.
    """
    if short is not None:
        Number(above=0, tried=5.0).check("short", short)
    synthetic = on_the_same_rows(made.flows, real.destinations, opened_flows(made.flows.cells))
    distance: Any = None
    places: Places | None = made.places
    if places is not None and places.has_coordinates:
        homes = places.positions(made.origins, "origin")
        work = places.positions(real.destinations, "destination")

        def distance(rows: Any, units: Any) -> Any:
            return places.miles(work[rows], homes[units])

    return compare_flows(
        real.cells, synthetic, distance=distance, short=short, within=made.manifest["parameters"].get("cutoff")
    )


def write_evaluation(path: Path, findings: CommuteFindings, made: ReleasedCommutes) -> None:
    """One self-contained page; it is confidential, and readable by its owner only."""
    check_page_target(path)
    write_page(path, evaluation_page(findings, made))


def evaluation_page(findings: CommuteFindings, made: ReleasedCommutes) -> str:
    """The page as text."""
    short_title = f"Commutes shorter than {findings.short_miles or 0:.2f} miles"
    pictures = []
    if data := findings.by_destination:
        top = float(np.nanmax(np.concatenate([data["real"], data["synthetic"]])))
        most = float(np.ceil(top / 10) * 10) if np.isfinite(top) and top > 0 else 10.0
        pictures = [
            size_scatter(data["workers"], data["real"], data["synthetic"], title="All commutes", most=most),
            size_scatter(data["workers"], data["real_short"], data["synthetic_short"], title=short_title),
        ]
        if "histograms" in data:
            pictures.append(distance_histogram(*data["histograms"], title="Commute distances"))
    facts = [
        ("workers, confidential", f"{findings.workers:,}"),
        ("workers, synthetic", f"{findings.synthetic_workers:,}"),
        ("invented pairs: synthetic pairs that no real worker has", _percent(findings.invented_pairs)),
        ("synthetic workers on invented pairs", _percent(findings.invented_workers)),
        ("real pairs that no synthetic worker has", _percent(findings.lost_pairs)),
        (f"mean relative error of the {findings.top_flows} largest flows", _percent(findings.top_flow_error)),
        (f"of the {findings.top_flows} largest flows, still among the largest", _percent(findings.top_flow_overlap)),
    ]
    if findings.distance_tvd is not None:
        facts.append(("total variation distance of commute distances", f"{findings.distance_tvd:.3f}"))
    if findings.within is not None:
        facts.append(("left out on both sides: commutes beyond, miles", f"{findings.within:g}"))
    quantiles = {"confidential": findings.real_quantiles, "synthetic": findings.synthetic_quantiles}
    sizes = (
        (title, [_band(band) for band in bands])
        for title, bands in (("All commutes", findings.all_commutes), (short_title, findings.short_commutes))
        if bands
    )
    return html_page(
        "evaluation.html",
        packages=("understudy.commute",),
        title="Synthetic commutes against the confidential table",
        sub=made.folder.name,
        marker=MARKER,
        sections=[("short", "In short"), ("destinations", "By destination")],
        banner="This page compares with real origins: it must stay with those who may see them.",
        statement=made.manifest["statement"],
        problems=made.problems,
        facts=facts,
        quantile_heads=("quantile", *(f"{share} %" for share in (10, 25, 50, 75, 90, 99))),
        quantiles=[(word, *map(_miles, miles)) for word, miles in quantiles.items() if miles],
        pictures=pictures,
        size_heads=("workers", "destinations", "confidential", "synthetic", "bias", "mean |error|"),
        sizes=sizes,
    )


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _miles(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _band(band: SizeBand) -> tuple[str, ...]:
    workers = f"{band.smallest:,}"
    if band.largest != band.smallest:
        workers += " and more" if band.largest is None else f" to {band.largest:,}"
    figures = (band.real_miles, band.synthetic_miles, band.bias, band.mean_error)
    return workers, f"{band.destinations:,}", *map(_miles, figures)
