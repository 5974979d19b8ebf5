"""Compare a commuting release with the confidential table."""

from typing import Any

import numpy as np

from understudy.commute.places import Places
from understudy.commute.released import ReleasedCommutes
from understudy.evaluate.commuting import CommuteFindings, compare_flows, opened_flows
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
