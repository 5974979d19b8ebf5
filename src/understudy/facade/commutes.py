"""Commuting tables: their price, the release, its evaluation and its map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.facade.documented import documented

if TYPE_CHECKING:
    from understudy.commute.places import CommuteInput
    from understudy.commute.plan import Plan
    from understudy.commute.recipe import CommuteRecipe
    from understudy.evaluate.commuting import CommuteFindings
    from understudy.parameters import Option
    from understudy.privacy.account import Account
    from understudy.release import Release
    from understudy.sources.base import Report


def commute_options() -> dict[str, Option]:
    """The options of :func:`commute`: those of the tables, and those of the recipe."""
    from understudy.commute.jobs import CommuteTables
    from understudy.commute.recipe import CommuteRecipe
    from understudy.parameters import options_of

    return {**options_of(CommuteTables), **options_of(CommuteRecipe)}


def flow_options() -> dict[str, Option]:
    """Those that say what the confidential table is."""
    from understudy.commute.jobs import FlowTable
    from understudy.parameters import options_of

    return options_of(FlowTable)


def _recipe_and_input(
    flows: Any, account: Account | str | Path | None, words: Mapping[str, Any]
) -> tuple[CommuteRecipe, CommuteInput]:
    """What is to be made, refused before anything is read, and of what."""
    from understudy.commute.jobs import CommuteTables, open_commutes
    from understudy.commute.recipe import CommuteRecipe
    from understudy.parameters import from_words, options_of

    tables = {name: value for name, value in words.items() if name in options_of(CommuteTables)}
    chosen = {name: value for name, value in words.items() if name not in tables}
    recipe = from_words(CommuteRecipe, "commute", chosen, context=flows)
    return recipe, open_commutes(flows, account=account, **tables)


@documented
def commute(
    flows: Any,
    epsilon: float,
    certificate: str | None = None,
    *,
    out: str | Path | None = None,
    csv: bool = False,
    formats: str | Sequence[str] = (),
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
        Of the paper's method dirichlet: ``pure``, ``theorem-4.4``, ``probabilistic`` or ``exact``. Without it flows are
        measured on all levels.
    out
        New folder for the release; without it nothing is written.
    csv
        Write ``synthetic.csv`` too.
    formats
        Write the table too as ``xlsx``, ``sav``, ``dta``, ``csv`` or ``guarded.csv``, or several of them.
    account
        Charged before anything is drawn.
    **options
        Of the tables (:class:`~understudy.commute.jobs.CommuteTables`): the columns ``origin``, ``destination`` and
        ``count``, ``table`` in a database, ``characteristics``, and the public ``places`` with their ``levels``,
        ``origins`` and ``regions``. Of the recipe
        (:class:`~understudy.commute.CommuteRecipe`): ``delta``, ``method``, ``prior``, ``prior_cap``, ``rings``,
        ``shrink``, ``cutoff``, ``split``, ``reject``, ``size``, ``sizes`` and ``subsample``.

    Returns
    -------
    Release
        One row per synthetic worker.
    """
    from understudy.commute.jobs import synthesize_commutes
    from understudy.release.formats import chosen_formats

    formats = chosen_formats(formats, csv=csv)
    recipe, given = _recipe_and_input(flows, account, {"epsilon": epsilon, "certificate": certificate, **options})
    return synthesize_commutes(recipe, given, out=out, formats=formats, seed=seed, report=report)


def quote_commute(
    flows: Any,
    epsilon: float,
    certificate: str | None = None,
    *,
    account: Account | str | Path | None = None,
    **options: Any,
) -> Plan:
    """What :func:`commute` would cost, from destination totals, which are public here, and no origin.

    The options are those of :func:`commute`; in the ``account`` these choices are written down.
    """
    from understudy.commute.jobs import quote_commutes

    words = {"epsilon": epsilon, "certificate": certificate, **options}
    return quote_commutes(*_recipe_and_input(flows, account, words))


def plan_facts(plan: Plan) -> dict[str, Any]:
    """A plan and its price as plain data."""
    import numpy as np

    alphas = np.array([float(alpha) for alpha in plan.alphas])
    weights = (plan.public.cells * plan.public.weights).sum(axis=1)
    price = plan.quote
    return {
        "method": price.method,
        "guarantee": price.total.to_dict(),
        "statement": price.statement,
        "rows": plan.rows,
        "destinations": len(plan.public),
        "alpha": _spread(alphas),
        "virtual_workers": _spread(alphas * weights) if len(alphas) else None,
        "median_workers": float(np.median(plan.public.workers)),
        "epsilon_added": getattr(plan.event, "added", 0.0),
        "deviations": _deviations(plan),
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


def _deviations(plan: Plan) -> dict[str, float] | None:
    """Of the noise of every table that the method levels measures, in workers."""
    from understudy.commute.hierarchy import noise_of

    return None if plan.hierarchy is None else noise_of(plan.hierarchy, plan.event)


def _spread(values: Any) -> dict[str, float] | None:
    import numpy as np

    if not len(values):
        return None
    return {"smallest": float(values.min()), "median": float(np.median(values)), "largest": float(values.max())}


def evaluate_commute(
    flows: Any,
    release: str | Path,
    *,
    out: str | Path | None = None,
    short: float | None = None,
    account: Account | str | Path | None = None,
    **table: Any,
) -> CommuteFindings:
    """Compare a commuting release with the confidential table; ``out`` is an HTML page. Confidential.

    ``short`` is in miles; the ``account`` remembers the look; ``table`` says what the confidential table is: see
    :class:`~understudy.commute.jobs.FlowTable`.
    """
    from understudy.commute.evaluation_page import write_evaluation
    from understudy.commute.jobs import compare_commutes
    from understudy.pages.write import check_page_target

    if out is not None:
        check_page_target(Path(out))
    findings, made, real = compare_commutes(flows, release, short=short, account=account, **table)
    if out is not None:
        write_evaluation(Path(out), findings, made, real)
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
    outlines: Sequence[str | Path] = (),
    tiles: str | None = None,
    title: str | None = None,
    account: Account | str | Path | None = None,
    **table: Any,
) -> CommuteMap:
    """Write one offline page of a commuting release; with ``original`` it shows the real flows and is confidential.

    ``outlines`` are GeoJSON files of areas, each for the level whose codes or names it carries; areas without one are
    drawn around their places.

    ``table`` says what the original is: see :class:`~understudy.commute.jobs.FlowTable`.
    """
    from understudy.commute.jobs import FlowTable
    from understudy.commute.mapping import check_map_target, map_page, write_map
    from understudy.commute.released import read_release
    from understudy.parameters import from_words
    from understudy.privacy.account import remember_look

    target, confidential = Path(out), original is not None
    check_map_target(target, confidential=confidential)
    given = from_words(FlowTable, "a commuting table", table)
    made = read_release(release, places=given.known_places(original))
    real = None
    if original is not None:
        remember_look(account, f"map of {release} beside the confidential commutes")
        real = given.read(original, list(made.origins))
    digest = write_map(
        target, map_page(made, original=real, outlines=outlines, tiles=tiles, title=title), confidential=confidential
    )
    return CommuteMap(file=target, confidential=confidential, digest=digest, problems=tuple(made.problems))
