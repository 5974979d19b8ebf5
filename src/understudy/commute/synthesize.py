"""Draw and place synthetic workers, and make one commuting release of them."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.commute.estimates import COVERED
from understudy.commute.geography import per_place
from understudy.commute.level_release import release_levels
from understudy.commute.places import Places
from understudy.commute.plan import Plan
from understudy.errors import RefusalError
from understudy.mechanisms.flow_measurements import FlowMeasurements, FlowMeter
from understudy.mechanisms.gaussian_measurements import Meter
from understudy.mechanisms.origin_baselines import check_cells, draw_baseline
from understudy.mechanisms.origin_cells import class_cells
from understudy.mechanisms.origin_urn import check_weights, draw_origins, place_members
from understudy.mechanisms.stream import Stream
from understudy.privacy.quote import Quote
from understudy.privacy.transaction import Payment
from understudy.release import Release, describe
from understudy.release.making import FittedWhole
from understudy.release.release import marked
from understudy.sources.base import Report

if TYPE_CHECKING:
    from understudy.commute.recipe import CommuteRecipe

PLACES = "places.parquet"
"""The attachment with the public coordinates."""

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """Synthetic workers: destination and origin of each, as positions, sorted; ``left_out`` fell beyond the cut-off."""

    destinations: Integers
    origins: Integers
    left_out: int
    tables: dict[str, pa.Table] = field(default_factory=dict)
    """What describes them, for the method levels."""


def draw(plan: Plan, *, stream: Stream, report: Any = None) -> Drawn:
    """Draw by the plan, and place what was drawn in merged cells and regions."""
    if plan.hierarchy is not None:
        return _draw_levels(plan, stream)
    recipe, domain, public, regions = plan.recipe, plan.domain, plan.public, plan.given.regions
    ledger = plan.quote.own  # what an earlier release paid for pays for no draw here
    cells = class_cells(plan.given.flows.cells, domain, None if regions is None else regions.of)
    if recipe.method == "dirichlet":
        units = draw_origins(
            cells,
            domain,
            public,
            plan.alphas,
            gamma=float(np.expm1(recipe.epsilon)) if recipe.reject else None,
            ledger=ledger,
            stream=stream,
            report=report,
        )
        rows = np.repeat(np.arange(len(public)), public.draws)
    else:
        rows, units = draw_baseline(
            cells, public, plan.event, ledger=ledger, units=domain.units, stream=stream, report=report
        )
    kept = np.ones(len(units), dtype=np.bool_)
    if recipe.cutoff is not None:  # the last class lies beyond it
        kept = units != domain.units + len(domain.edges) - 1
    rows, units = rows[kept], units[kept]
    apart = np.flatnonzero(units >= domain.units)
    units[apart] = place_members(units[apart] - domain.units, rows[apart], domain, stream)
    origins = units if regions is None else regions.placed(units, stream)
    order = np.lexsort((origins, rows))  # the order of the draws says nothing: the law is exchangeable
    return Drawn(destinations=rows[order], origins=origins[order], left_out=int(np.sum(~kept)))


def _draw_levels(plan: Plan, stream: Stream) -> Drawn:
    """Measure at the price of the plan, and draw what agrees with all of it."""
    assert plan.hierarchy is not None and isinstance(plan.event, FlowMeasurements)
    flows = plan.given.flows
    meter = FlowMeter(cells=flows.cells, meter=Meter(plan.event, stream), groups=flows.characteristics)
    made = release_levels(plan.hierarchy, meter, plan.hierarchy.units(plan.event), stream)
    return Drawn(destinations=made.destinations, origins=made.origins, left_out=0, tables=made.tables)


def _empty(recipe: "CommuteRecipe", rows: int) -> str:
    """Why a release without a single worker is not handed out."""
    if recipe.cutoff is not None:
        return (
            f"none of {rows:,} synthetic workers is left: all of them fell beyond the cut-off of {recipe.cutoff:g} "
            "miles. A release must hold one at least. Use a larger cutoff, or none."
        )
    return (
        f"none of {rows:,} synthetic workers is left: at epsilon {recipe.epsilon:g} no cell survived the method "
        f"{recipe.method!r}. A release must hold one at least. Use a larger epsilon, or the method dirichlet."
    )


def _level_facts(plan: Plan) -> dict[str, Any]:
    """What a release by levels was measured with."""
    tree = plan.hierarchy
    if tree is None or not isinstance(plan.event, FlowMeasurements):
        return {}
    return {
        "levels": list(tree.names[:-1]),
        "characteristics": {name: list(columns) for name, columns in tree.groups.items()},
        "measured": tree.units(plan.event),
        "interval": COVERED,
    }


def place_table(places: Places) -> pa.Table:
    """Public coordinates and levels, as a table that can be read as places again."""
    columns: dict[str, Any] = {"place": pa.array(places.names, type=pa.string())}
    if places.titles is not None:
        columns["place_name"] = pa.array(places.titles, type=pa.string())
    if places.has_coordinates:
        columns |= {"latitude": places.latitudes, "longitude": places.longitudes}
    for level in places.levels:
        columns[level.name] = pa.array(level.codes, type=pa.string()).take(level.of)
        columns[f"{level.name}_name"] = pa.array(level.labels, type=pa.string()).take(level.of)
    for level in places.beside:
        columns |= {level.name: per_place(level, level.codes), f"{level.name}_name": per_place(level, level.labels)}
    return pa.table(columns, metadata=places.provenance.mark())  # a release stays one


class FittedCommutes(FittedWhole):
    """A plan with its secret origins, which are opened only after they are paid for."""

    def __init__(self, *, plan: Plan, stream: Stream, report: Report | None) -> None:
        given = plan.given
        super().__init__(account=given.account, provenance=given.flows.provenance, stream=stream, report=report)
        self.plan = plan
        """What it was laid out as; its price is the one that is paid."""

    def quote(self, rows: int | None = None) -> Quote:
        """The price of all synthetic workers: their number is a choice of the recipe."""
        return self.plan.quote

    def _choices(self, quote: Quote) -> str:
        return self.plan.choices

    def _check(self, quote: Quote, **how: Any) -> None:
        plan = self.plan
        if plan.hierarchy is not None:
            return
        if plan.alphas:
            check_weights(plan.public, plan.alphas)
        else:
            check_cells(plan.event, plan.public, plan.domain.units)

    def _make(self, quote: Quote, payment: Payment, **how: Any) -> Release:
        plan, recipe, flows = self.plan, self.plan.recipe, self.plan.given.flows
        drawn = draw(plan, stream=self._stream, report=self._report)
        if not len(drawn.origins):
            raise RefusalError(_empty(recipe, quote.rows))
        origin, destination = plan.given.names
        table = pa.table(
            {
                origin: flows.origins.take(drawn.origins).cast(pa.string()),
                destination: pa.array(flows.destinations, type=pa.string()).take(drawn.destinations),
            }
        )
        warnings: tuple[str, ...] = ()
        if recipe.cutoff is not None:
            warnings = (
                f"{drawn.left_out:,} of {quote.rows:,} synthetic workers fell in the cell beyond {recipe.cutoff:g} "
                "miles and are left out of the file, as the cut-off asks.",
            )
        elif len(drawn.origins) < quote.rows:
            warnings = (
                f"{quote.rows - len(drawn.origins):,} synthetic workers are missing: in their destinations no cell "
                "survived.",
            )
        manifest = describe(
            quote,
            payment,
            parameters={**recipe.parameters(), **_level_facts(plan)},
            rows=len(drawn.origins),
            rows_origin="destination totals, which are public under this neighbour relation, less what was left out",
            codebook=plan.book,
            secure=self._stream.is_secure,
            warnings=warnings,
        )
        attachments = {name: marked(each, manifest) for name, each in drawn.tables.items()}
        places = plan.given.places
        if places is not None and (places.has_coordinates or places.levels or places.titles):
            attachments[PLACES] = place_table(places)
        return Release(table=table, manifest=manifest, attachments=attachments)

    def __repr__(self) -> str:
        return f"<{self.plan.quote.method} to {len(self.plan.public):,} destinations, origins withheld>"
