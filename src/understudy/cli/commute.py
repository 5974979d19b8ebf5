"""`commute`: synthetic origins for public destinations, and a map of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import progress, tell, warn, wrote
from understudy.cli.console import table as plain_table
from understudy.cli.shared import (
    AccountToFix,
    AccountToTell,
    App,
    OutFolder,
    Page,
    Seed,
    number_option,
    option,
    takes,
    whole_option,
)
from understudy.cli.telling import tell_release
from understudy.facade import commutes, demo

app = App(help="Origin-destination tables: synthetic origins for public destinations (OnTheMap), and a map of them.")

_INPUT, _DOMAIN, _PROMISE = "Input", "Domain (public)", "Promise"
_COLUMNS = ("origin", "destination", "count", "table", "places")
"""Of :func:`_release`, those that say what the confidential table is."""

Flows = Annotated[str, typer.Argument(help="Table of origin, destination and perhaps a count: file, glob or database.")]
Release = Annotated[Path, typer.Argument(help="Release folder.")]


def _release(
    flows: Flows,
    epsilon: Annotated[float, number_option("Before shrinking and rejection, which add to it.", panel=_PROMISE)],
    certificate: Annotated[
        str,
        option(
            "pure (theorem 4.1), theorem-4.4 (the paper's choice, promise recomputed), probabilistic (exact tails) or "
            "exact (smallest noise).",
            panel=_PROMISE,
        ),
    ],
    delta: Annotated[float | None, number_option("Not for pure.", panel=_PROMISE)] = None,
    origin: Annotated[str, option("Column of origins.", panel=_INPUT)] = "origin",
    destination: Annotated[str, option("Column of destinations.", panel=_INPUT)] = "destination",
    count: Annotated[str | None, option("Column of worker counts; else one row is one worker.", panel=_INPUT)] = None,
    table: o.Table = None,
    places: Annotated[
        str | None,
        option(
            "Public table of place, latitude, longitude, and perhaps home (true where people may live).", panel=_INPUT
        ),
    ] = None,
    origins: Annotated[
        str | None, option("Public list of possible origins; default: the places.", panel=_INPUT)
    ] = None,
    method: Annotated[str, option("dirichlet, or a baseline: laplace, subsample, sba.", panel=_PROMISE)] = "dirichlet",
    rings: Annotated[
        str | None,
        option("Public histogram of distances (miles, share, perhaps keep), or ctpp-minnesota.", panel=_DOMAIN),
    ] = None,
    prior: Annotated[str, option("uniform, or distance: by the rings' shares.", panel=_DOMAIN)] = "uniform",
    prior_cap: Annotated[int, whole_option("Largest ratio of virtual counts.", panel=_DOMAIN)] = 10,
    shrink: Annotated[
        bool, option("Drop empty origins at random (algorithm 2); costs epsilon.", "--shrink", panel=_DOMAIN)
    ] = False,
    cutoff: Annotated[float | None, number_option("Leave out commutes beyond so many miles.", panel=_DOMAIN)] = None,
    split: Annotated[
        float | None, number_option("Model commutes beyond so many miles apart, ring by ring.", panel=_DOMAIN)
    ] = None,
    regions: Annotated[
        str | None,
        option(
            "Public partition of origins (origin, region, perhaps density): draw regions, then place.", panel=_DOMAIN
        ),
    ] = None,
    reject: Annotated[
        bool, option("Draw again what is not gamma-Good (lemma 5.2).", "--reject", panel=_PROMISE)
    ] = False,
    size: Annotated[float, number_option("Synthetic workers per real one.", panel=_PROMISE)] = 1.0,
    sizes: Annotated[str | None, option("Public table of destination, workers: output sizes.", panel=_PROMISE)] = None,
    subsample: Annotated[float, number_option("Share kept by the baseline subsample.", panel=_PROMISE)] = 0.5,
) -> None:
    """The options of a release, for the commands that price and make one."""


@app.command()
def example(
    output: Annotated[Path, option("New folder for flows.csv and places.csv.", "--out", "-o")],
    workers: Annotated[int, whole_option("Simulated workers.")] = 20_000,
    seed: Annotated[int, whole_option("Of the simulation.")] = 1,
    json: o.Json = False,
) -> None:
    """Write a simulated town to try the other commands on."""
    paths = demo.example_commutes(output, workers=workers, seed=seed)
    tell({"files": paths}, wrote(paths), json=json)


@app.command()
@takes(_release)
def quote(account: AccountToFix = None, json: o.Json = False, **release: Any) -> None:
    """Say what a release would cost. Uses destination totals, which are public here, and no origin."""
    with progress(quiet=json):
        plan = commutes.quote_commute(account=account, **release)
    facts = commutes.plan_facts(plan)
    tell(facts, _price_lines(facts, release["method"]), json=json)
    if not json:
        warn(facts["warnings"])


def _price_lines(facts: dict[str, Any], method: str) -> Iterator[str]:
    yield f"commute {method}, {facts['rows']:,} synthetic workers for {facts['destinations']:,} destinations"
    if alpha := facts["alpha"]:
        yield (
            f"virtual workers per origin: {alpha['smallest']:.4g} to {alpha['largest']:.4g}, median "
            f"{alpha['median']:.4g}; per destination {facts['virtual_workers']['median']:.4g} (median) beside "
            f"{facts['median_workers']:g} real ones"
        )
        if facts["epsilon_added"]:
            yield f"shrinking and rejection add epsilon {facts['epsilon_added']:.4g}"
    yield facts["statement"]


@app.command()
@takes(_release)
def synth(
    output: OutFolder,
    account: o.Account = None,
    csv: Annotated[bool, option("Write synthetic.csv too.", "--csv")] = False,
    seed: Seed = None,
    json: o.Json = False,
    **release: Any,
) -> None:
    """Make one synthetic table of commutes: one row per synthetic worker, with manifest and places."""
    with progress(quiet=json) as report:
        made = commutes.commute(out=output, account=account, csv=csv, seed=seed, report=report, **release)
    tell_release(made, output, csv=False, json=json)


@app.command()
@takes(_release, _COLUMNS)
def evaluate(
    flows: Flows,
    release: Release,
    short: Annotated[float | None, number_option("Miles below which a commute is short; default: the median.")] = None,
    output: Page = None,
    account: AccountToTell = None,
    json: o.Json = False,
    **columns: Any,
) -> None:
    """Compare a release with the confidential table. What it prints is confidential."""
    with progress(quiet=json):
        findings = commutes.evaluate_commute(flows, release, out=output, short=short, account=account, **columns)
    written = [] if output is None else [f"wrote {output} (confidential)"]
    tell(findings, [*_finding_lines(findings), *written], json=json)


def _finding_lines(findings: Any) -> Iterator[Any]:
    yield "confidential: these numbers compare with real origins"
    if findings.within is not None:
        yield f"commutes beyond {findings.within:g} miles are left out on both sides, as in the release"
    if findings.all_commutes:
        headings = ("workers", "destinations", "real miles", "synthetic", "bias", "mean |error|")
        bands = [band for band in findings.all_commutes if band.real_miles is not None]
        yield plain_table(headings, map(_band_cells, bands), right=headings)
        percents = (10, 25, 50, 75, 90, 99)
        for name, miles in (("real", findings.real_quantiles), ("synthetic", findings.synthetic_quantiles)):
            listed = ", ".join(f"{percent} % {value:.2f}" for percent, value in zip(percents, miles, strict=True))
            yield f"commute distances, {name}: {listed} miles"
        yield f"total variation distance of commute distances {findings.distance_tvd:.3f}"
    yield (
        f"invented pairs {100 * findings.invented_pairs:.1f} % (with {100 * findings.invented_workers:.1f} % of "
        f"synthetic workers); {findings.top_flows} largest flows: mean relative error "
        f"{100 * findings.top_flow_error:.1f} %, {100 * findings.top_flow_overlap:.0f} % still among the largest"
    )


def _band_cells(band: Any) -> tuple[str, ...]:
    top = " and more" if band.largest is None else f" to {band.largest:,}"
    sizes = f"{band.smallest:,}" + ("" if band.largest == band.smallest else top)
    miles = (band.real_miles, band.synthetic_miles, band.bias, band.mean_error)
    return (sizes, f"{band.destinations:,}", *(f"{number:.2f}" for number in miles))


@app.command(name="map")
@takes(_release, _COLUMNS)
def show_map(
    release: Release,
    output: Annotated[Path, option("HTML file; an earlier map is replaced.", "--out", "-o")],
    original: Annotated[
        str | None, option("The confidential table, to see beside it: the page is then confidential.")
    ] = None,
    tiles: Annotated[str | None, option("Address of map tiles with {z}, {x}, {y}; default: none, offline.")] = None,
    title: Annotated[str | None, option("Heading of the page.")] = None,
    account: AccountToTell = None,
    json: o.Json = False,
    **columns: Any,
) -> None:
    """Write one offline page: pick a place, see where its workers come from, or where its residents work."""
    with progress(quiet=json):
        page = commutes.map_commute(
            release, output, original=original, tiles=tiles, title=title, account=account, **columns
        )
    warn(page.problems)
    secret = " (confidential: it holds the real flows)" if page.confidential else ""
    tell(page, [f"wrote {output}{secret}"], json=json)
