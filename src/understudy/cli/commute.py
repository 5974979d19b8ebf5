"""`commute`: synthetic origins for public destinations, and a map of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import progress, tell, warn, wrote
from understudy.cli.console import table as plain_table
from understudy.cli.declared import chosen_options, declared_command
from understudy.cli.shared import App, number_option, option, whole_option
from understudy.cli.telling import tell_release
from understudy.facade import commutes, demo

app = App(help="Origin-destination tables: synthetic origins for public destinations (OnTheMap), and a map of them.")

Flows = Annotated[str, typer.Argument(help="Table of origin, destination and perhaps a count: file, glob or database.")]
Release = Annotated[Path, typer.Argument(help="Release folder.")]
ReleaseCommand = declared_command(lambda _method: commutes.commute_options())
FlowCommand = declared_command(lambda _method: commutes.flow_options())


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


@app.command(cls=ReleaseCommand)
def quote(
    context: typer.Context,
    flows: Flows,
    recipe: o.OptionsFile = None,
    account: o.AccountToFix = None,
    json: o.Json = False,
) -> None:
    """Say what a release would cost. Uses destination totals, which are public here, and no origin."""
    with progress(quiet=json):
        plan = commutes.quote_commute(flows, account=account, **chosen_options(context, recipe))
    facts = commutes.plan_facts(plan)
    tell(facts, _price_lines(facts), json=json)
    if not json:
        warn(facts["warnings"])


def _price_lines(facts: dict[str, Any]) -> Iterator[str]:
    yield f"{facts['method']}, {facts['rows']:,} synthetic workers for {facts['destinations']:,} destinations"
    if alpha := facts["alpha"]:
        yield (
            f"virtual workers per origin: {alpha['smallest']:.4g} to {alpha['largest']:.4g}, median "
            f"{alpha['median']:.4g}; per destination {facts['virtual_workers']['median']:.4g} (median) beside "
            f"{facts['median_workers']:g} real ones"
        )
        if facts["epsilon_added"]:
            yield f"shrinking and rejection add epsilon {facts['epsilon_added']:.4g}"
    if noise := facts["deviations"]:
        listed = ", ".join(f"{name} {deviation:.2f}" for name, deviation in noise.items())
        yield f"deviation of the noise on one number, in workers: {listed}"
    yield facts["statement"]


@app.command(cls=ReleaseCommand)
def synth(
    context: typer.Context,
    flows: Flows,
    output: o.OutFolder,
    recipe: o.OptionsFile = None,
    account: o.Account = None,
    csv: Annotated[bool, option("Write synthetic.csv too.", "--csv")] = False,
    formats: o.Formats = None,
    seed: o.Seed = None,
    json: o.Json = False,
) -> None:
    """Make one synthetic table of commutes: one row per synthetic worker, with manifest and places."""
    words = chosen_options(context, recipe)
    with progress(quiet=json) as report:
        made = commutes.commute(
            flows, out=output, account=account, csv=csv, formats=formats or (), seed=seed, report=report, **words
        )
    tell_release(made, output, csv=csv or "csv" in (formats or ()), json=json)


@app.command(cls=FlowCommand)
def evaluate(
    context: typer.Context,
    flows: Flows,
    release: Release,
    short: Annotated[float | None, number_option("Miles below which a commute is short; default: the median.")] = None,
    output: o.Page = None,
    account: o.AccountToTell = None,
    json: o.Json = False,
) -> None:
    """Compare a release with the confidential table. What it prints is confidential."""
    words = chosen_options(context)
    with progress(quiet=json):
        findings = commutes.evaluate_commute(flows, release, out=output, short=short, account=account, **words)
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


@app.command(name="map", cls=FlowCommand)
def show_map(
    context: typer.Context,
    release: Release,
    output: Annotated[Path, option("HTML file; an earlier map is replaced.", "--out", "-o")],
    original: Annotated[
        str | None, option("The confidential table, to see beside it: the page is then confidential.")
    ] = None,
    outlines: Annotated[
        list[Path] | None, option("GeoJSON of areas; several times for several levels. Default: drawn around places.")
    ] = None,
    tiles: Annotated[str | None, option("Address of map tiles with {z}, {x}, {y}; default: none, offline.")] = None,
    title: Annotated[str | None, option("Heading of the page.")] = None,
    account: o.AccountToTell = None,
    json: o.Json = False,
) -> None:
    """Write one offline page: areas by name, their profile, inflow and outflow, distances and ranked flows."""
    words = chosen_options(context)
    with progress(quiet=json):
        page = commutes.map_commute(
            release,
            output,
            original=original,
            outlines=outlines or (),
            tiles=tiles,
            title=title,
            account=account,
            **words,
        )
    warn(page.problems)
    secret = " (confidential: it holds the real flows)" if page.confidential else ""
    tell(page, [f"wrote {output}{secret}"], json=json)
