"""Pay, draw, place and hand over: one commuting release."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.codebook import Categorical, Codebook
from understudy.commute.domain import hidden_class
from understudy.commute.places import Places
from understudy.commute.recipe import CommuteRecipe, Plan
from understudy.commute.regions import Regions
from understudy.mechanisms.origin_baselines import draw_baseline
from understudy.mechanisms.origin_cells import class_cells
from understudy.mechanisms.origin_urn import draw_origins, place_members
from understudy.mechanisms.stream import Stream
from understudy.privacy.account import Account
from understudy.release import Manifest, Release
from understudy.sources.flows import Flows
from understudy.synth.recipe import NO_ACCOUNT

__all__ = ["PLACES", "Drawn", "commute_codebook", "draw", "releasing"]

PLACES = "places.parquet"
"""The attachment with the public coordinates."""

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """Synthetic workers: destination and origin of each, as positions, sorted; ``left_out`` fell beyond the cut-off."""

    destinations: Integers
    origins: Integers
    left_out: int


def draw(plan: Plan, flows: Flows, *, regions: Regions | None, stream: Stream, report: Any = None) -> Drawn:
    """Draw by the plan, and place what was drawn in merged cells and regions."""
    recipe, domain, public = plan.recipe, plan.domain, plan.public
    cells = class_cells(flows.cells, domain, None if regions is None else regions.of)
    if recipe.method == "dirichlet":
        units = draw_origins(
            cells,
            domain,
            public,
            plan.alphas,
            gamma=float(np.expm1(recipe.epsilon)) if recipe.reject else None,
            ledger=plan.ledger,
            stream=stream,
            report=report,
        )
        rows = np.repeat(np.arange(len(public)), public.draws)
    else:
        event = plan.event
        rows, units = draw_baseline(
            cells, public, event, ledger=plan.ledger, units=domain.units, stream=stream, report=report
        )
    hidden = hidden_class(recipe)
    kept = np.ones(len(units), dtype=np.bool_) if hidden is None else units != domain.units + hidden
    rows, units = rows[kept], units[kept]
    apart = np.flatnonzero(units >= domain.units)
    units[apart] = place_members(units[apart] - domain.units, rows[apart], domain, stream)
    origins = units if regions is None else regions.placed(units, stream)
    order = np.lexsort((origins, rows))  # the order of the draws says nothing: the law is exchangeable
    return Drawn(destinations=rows[order], origins=origins[order], left_out=int(np.sum(~kept)))


def commute_codebook(flows: Flows, *, names: tuple[str, str]) -> Codebook:
    """The public description of the synthetic table: one row per synthetic worker."""
    origin, destination = names
    levels = tuple(flows.origins.to_pylist())
    # a column of one level cannot be declared, and a table with one destination is still a table
    only = "(none)" if len(flows.destinations) == 1 else None
    return Codebook(
        title="Synthetic commutes",
        description="One row per synthetic worker. Destinations and their totals are public; origins are synthetic.",
        columns=(
            Categorical(name=origin, levels=levels, description="Where the synthetic worker lives."),
            Categorical(
                name=destination, levels=flows.destinations, missing=only, description="Where the worker works; public."
            ),
        ),
    )


@contextmanager
def releasing(
    recipe: CommuteRecipe,
    flows: Flows,
    *,
    places: Places | None = None,
    regions: Regions | None = None,
    account: Account | None = None,
    seed: int | None = None,
    names: tuple[str, str] = ("origin", "destination"),
    report: Any = None,
) -> Iterator[Release]:
    """A release whose price is reserved, and committed by ``Release.save`` just before it appears."""
    stream = Stream.from_system() if seed is None else Stream.seeded(seed)
    plan = recipe.plan(flows, places=places, regions=regions, secure=stream.is_secure)
    book = commute_codebook(flows, names=names)
    identity = str(uuid.uuid4())
    reservation = None
    if account is not None:
        label = f"commute {recipe.method}, {plan.rows:,} workers"
        reservation = account.reserve(plan.ledger, label=label, delta=recipe.delta)
    paid: list[str] = []

    def settle() -> None:
        if reservation is not None and not paid:
            paid.append(identity)  # first: a commit that fails must not be followed by a cancel
            reservation.commit(identity)

    try:
        drawn = draw(plan, flows, regions=regions, stream=stream, report=report)
        yield _release(plan, flows, book, drawn, places, account, stream, identity, settle, names)
        settle()  # the block ended well, so whoever had the release may have shown it
    finally:
        if reservation is not None and not paid:
            reservation.cancel()


def _release(
    plan: Plan,
    flows: Flows,
    book: Codebook,
    drawn: Drawn,
    places: Places | None,
    account: Account | None,
    stream: Stream,
    identity: str,
    settle: Any,
    names: tuple[str, str],
) -> Release:
    recipe = plan.recipe
    table = pa.table(
        {
            names[0]: flows.origins.take(drawn.origins).cast(pa.string()),
            names[1]: pa.array(flows.destinations, type=pa.string()).take(drawn.destinations),
        }
    )
    warnings = list(plan.warnings)
    if recipe.cutoff is not None:
        warnings.append(
            f"{drawn.left_out:,} of {plan.rows:,} synthetic workers fell in the cell beyond {recipe.cutoff:g} miles "
            "and are left out of the file, as the cut-off asks."
        )
    elif len(drawn.origins) < plan.rows:
        warnings.append(
            f"{plan.rows - len(drawn.origins):,} synthetic workers are missing: in their destinations no cell survived."
        )
    manifest = Manifest(
        release_id=identity,
        method=f"commute-{recipe.method}",
        route="S" if recipe.method == "dirichlet" else "N",
        parameters=recipe.parameters(),
        rows=len(drawn.origins),
        rows_origin="destination totals, which are public under this neighbour relation, less what was left out",
        ledger=plan.ledger,
        delta=recipe.delta,
        paper=plan.paper,
        codebook=book,
        secure=stream.is_secure,
        account=NO_ACCOUNT if account is None else f"charged to the account of {account.dataset!r}",
        warnings=tuple(warnings),
    )
    return Release(table=table, manifest=manifest, settle=settle, attachments=_attached(places))


def _attached(places: Places | None) -> dict[str, pa.Table]:
    if places is None or not places.has_coordinates:
        return {}
    return {
        PLACES: pa.table(
            {
                "place": pa.array(places.names, type=pa.string()),
                "latitude": places.latitudes,
                "longitude": places.longitudes,
            }
        )
    }
