"""Commuting tables: their price, the release, its evaluation and its map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy.commute.plan import Plan
    from understudy.commute.recipe import CommuteRecipe
    from understudy.evaluate.commuting import CommuteFindings
    from understudy.privacy.account import Account
    from understudy.release import Release
    from understudy.sources.base import Report


def commute(
    flows: Any,
    epsilon: float,
    certificate: str,
    *,
    delta: float | None = None,
    origin: str = "origin",
    destination: str = "destination",
    count: str | None = None,
    table: str | None = None,
    places: Any = None,
    origins: Any = None,
    regions: Any = None,
    rings: Any = None,
    sizes: Any = None,
    out: str | Path | None = None,
    csv: bool = False,
    account: Account | str | Path | None = None,
    seed: int | None = None,
    report: Report | None = None,
    **options: Any,
) -> Release:
    """Make one synthetic table of commutes: synthetic origins for public destinations.

    Parameters
    ----------
    flows
        Table of origin, destination and perhaps a count: path, address or table.
    epsilon
        Before shrinking and rejection, which add to it.
    certificate
        How the promise is proved: ``pure``, ``theorem-4.4``, ``probabilistic`` or ``exact``.
    delta
        Not for ``pure``.
    origin, destination, count
        Columns of the table; without ``count`` one row is one worker.
    table
        Table in a database.
    places
        Public table of place, latitude, longitude, and perhaps home.
    origins
        Public list of possible origins; by default the places.
    regions
        Public partition of the origins: draw regions, then place.
    rings
        Public histogram of distances, or ``ctpp-minnesota``.
    sizes
        Public table of destination and workers: output sizes.
    out
        New folder for the release; without it nothing is written.
    csv
        Write ``synthetic.csv`` too.
    account
        Charged before anything is drawn.
    seed
        Reproducible, for simulation: the release is then not private.
    report
        Called with step, done and total.
    **options
        Further fields of :class:`~understudy.commute.CommuteRecipe`: ``method``, ``prior``, ``prior_cap``, ``shrink``,
        ``cutoff``, ``split``, ``reject``, ``size`` and ``subsample``.

    Returns
    -------
    Release
        One row per synthetic worker.
    """
    from understudy.commute.jobs import open_commutes, synthesize_commutes

    recipe = _commute_recipe(
        flows, epsilon=epsilon, delta=delta, certificate=certificate, rings=rings, sizes=sizes, **options
    )
    given = open_commutes(
        flows,
        origin=origin,
        destination=destination,
        count=count,
        table=table,
        places=places,
        origins=origins,
        regions=regions,
        account=account,
    )
    return synthesize_commutes(recipe, given, out=None if out is None else Path(out), csv=csv, seed=seed, report=report)


_TABLES = ("origin", "destination", "count", "table", "places", "origins", "regions", "account")


def quote_commute(flows: Any, **arguments: Any) -> Plan:
    """What :func:`commute` would cost, from destination totals, which are public here, and no origin.

    The arguments are those of :func:`commute`; in the ``account`` these choices are written down.
    """
    from understudy.commute.jobs import open_commutes, quote_commutes

    opening = {name: arguments.pop(name) for name in _TABLES if name in arguments}
    return quote_commutes(_commute_recipe(flows, **arguments), open_commutes(flows, **opening))


def plan_facts(plan: Plan) -> dict[str, Any]:
    """A plan and its price as plain data."""
    import numpy as np

    alphas = np.array([float(alpha) for alpha in plan.alphas])
    weights = (plan.public.cells * plan.public.weights).sum(axis=1)
    price = plan.quote
    return {
        "guarantee": price.total.to_dict(),
        "statement": price.statement,
        "rows": plan.rows,
        "destinations": len(plan.public),
        "alpha": _spread(alphas),
        "virtual_workers": _spread(alphas * weights) if len(alphas) else None,
        "median_workers": float(np.median(plan.public.workers)),
        "epsilon_added": getattr(plan.event, "added", 0.0),
        "ledger": [
            {
                "stage": entry.stage,
                "reads": entry.reads,
                "guarantee": entry.guarantee.to_dict(),
                "proof": entry.event.proof,
            }
            for entry in price.ledger.entries
        ],
        "inputs": {role.value: provenance.to_dict() for role, provenance in price.inputs.items()},
        "paper": price.paper,
        "warnings": list(price.warnings),
    }


def _spread(values: Any) -> dict[str, float] | None:
    import numpy as np

    if not len(values):
        return None
    return {"smallest": float(values.min()), "median": float(np.median(values)), "largest": float(values.max())}


def _commute_recipe(flows: Any, *, rings: Any = None, sizes: Any = None, **choices: Any) -> CommuteRecipe:
    from understudy.commute import CommuteRecipe, read_rings, read_sizes
    from understudy.commute.places import Rings

    known = rings is None or isinstance(rings, Rings)
    sized = sizes is None or isinstance(sizes, Mapping)
    return CommuteRecipe(
        rings=rings if known else read_rings(rings, confidential=flows),
        sizes=sizes if sized else read_sizes(sizes, confidential=flows),
        **choices,
    )


def evaluate_commute(flows: Any, release: str | Path, *, out: str | Path | None = None, **more: Any) -> CommuteFindings:
    """Compare a commuting release with the confidential table; ``out`` is an HTML page. Confidential.

    ``more`` may hold ``places``, ``short`` (miles), the ``account`` that remembers the look, and the columns of the
    confidential table: ``origin``, ``destination``, ``count`` and ``table``.
    """
    from understudy.commute.evaluating import write_evaluation
    from understudy.commute.jobs import compare_commutes
    from understudy.pages.write import check_page_target

    if out is not None:
        check_page_target(Path(out))
    findings, made = compare_commutes(flows, release, **more)
    if out is not None:
        write_evaluation(Path(out), findings, made)
    return findings


@dataclass(frozen=True, kw_only=True)
class CommuteMap:
    """A page that was written."""

    file: Path
    confidential: bool
    """Whether it holds the real flows too."""
    digest: str
    problems: tuple[str, ...]
    """What is wrong with the release."""


def map_commute(
    release: str | Path,
    out: str | Path,
    *,
    original: Any = None,
    places: Any = None,
    tiles: str | None = None,
    title: str | None = None,
    account: Account | str | Path | None = None,
    **columns: Any,
) -> CommuteMap:
    """Write one offline page of a commuting release; with ``original`` it shows the real flows and is confidential.

    ``columns`` are ``origin``, ``destination``, ``count`` and ``table`` of the original.
    """
    from understudy.commute.mapping import check_map_target, map_page, write_map
    from understudy.commute.places import read_places
    from understudy.commute.released import read_release
    from understudy.privacy.account import remember_look
    from understudy.sources.flows import read_flows

    target, confidential = Path(out), original is not None
    check_map_target(target, confidential=confidential)
    made = read_release(release, places=None if places is None else read_places(places, confidential=original))
    real = None
    if original is not None:
        remember_look(account, f"map of {release} beside the confidential commutes")
        real = read_flows(original, origins=list(made.origins), **columns)
    digest = write_map(target, map_page(made, original=real, tiles=tiles, title=title), confidential=confidential)
    return CommuteMap(file=target, confidential=confidential, digest=digest, problems=tuple(made.problems))
