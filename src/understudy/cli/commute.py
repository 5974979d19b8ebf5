"""`commute`: synthetic origins for public destinations, and a map of them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.account import AccountToFix, AccountToTell
from understudy.cli.commute_options import (
    CertificateWord,
    Count,
    Cutoff,
    Delta,
    Destination,
    Epsilon,
    Flows,
    Method,
    Origin,
    OriginsFile,
    PlacesFile,
    PriorCap,
    PriorShape,
    RegionsFile,
    Reject,
    RingsFile,
    Shrink,
    Size,
    Sizes,
    Split,
    Subsample,
)
from understudy.cli.console import errors_to, out, print_json, progress

app = typer.Typer(
    help="Origin-destination tables: synthetic origins for public destinations (OnTheMap), and a map of them.",
    no_args_is_help=True,
)


def _recipe(values: dict[str, Any]) -> Any:
    from understudy.commute import CommuteRecipe, read_rings, read_sizes

    flows = values["flows"]
    return CommuteRecipe(
        epsilon=values["epsilon"],
        delta=values["delta"],
        certificate=values["certificate"],
        method=values["method"],
        prior=values["prior"],
        prior_cap=values["prior_cap"],
        rings=None if values["rings"] is None else read_rings(values["rings"], confidential=flows),
        shrink=values["shrink"],
        cutoff=values["cutoff"],
        split=values["split"],
        reject=values["reject"],
        size=values["size"],
        sizes=None if values["sizes"] is None else read_sizes(values["sizes"], confidential=flows),
        subsample=values["subsample"],
    )


def _opened(values: dict[str, Any]) -> Any:
    from understudy.commute.jobs import open_commutes

    wanted = ("origin", "destination", "count", "table", "places", "origins", "regions", "account")
    return open_commutes(values["flows"], **{name: values[name] for name in wanted})


@app.command()
def example(
    output: Annotated[Path, typer.Option("--out", "-o", help="New folder for flows.csv and places.csv.")],
    workers: Annotated[int, typer.Option(help="Simulated workers.", parser=o.whole_number, metavar="NUMBER")] = 20_000,
    seed: Annotated[int, typer.Option(help="Of the simulation.", parser=o.whole_number, metavar="NUMBER")] = 1,
    json: o.Json = False,
) -> None:
    """Write a simulated town to try the other commands on."""
    from understudy.commute.jobs import write_example

    paths = write_example(output, workers=workers, seed=seed)
    if json:
        print_json({"files": [str(path) for path in paths]})
        return
    for path in paths:
        out.print(f"wrote {path}", markup=False)


@app.command()
def quote(
    context: typer.Context,
    flows: Flows,
    epsilon: Epsilon,
    certificate: CertificateWord,
    delta: Delta = None,
    origin: Origin = "origin",
    destination: Destination = "destination",
    count: Count = None,
    table: o.Table = None,
    places: PlacesFile = None,
    origins: OriginsFile = None,
    method: Method = "dirichlet",
    rings: RingsFile = None,
    prior: PriorShape = "uniform",
    prior_cap: PriorCap = 10,
    shrink: Shrink = False,
    cutoff: Cutoff = None,
    split: Split = None,
    regions: RegionsFile = None,
    reject: Reject = False,
    size: Size = 1.0,
    sizes: Sizes = None,
    subsample: Subsample = 0.5,
    account: AccountToFix = None,
    json: o.Json = False,
) -> None:
    """Say what a release would cost. Uses destination totals, which are public here, and no origin."""
    from understudy.commute.jobs import quote_commutes

    recipe = _recipe(context.params)
    with progress(quiet=json):
        plan = quote_commutes(recipe, _opened(context.params))
    facts = plan_facts(plan)
    if json:
        print_json(facts)
        return
    out.print(f"[bold]commute {method}[/], {plan.rows:,} synthetic workers for {len(plan.public):,} destinations")
    if facts["alpha"]:
        alpha = facts["alpha"]
        out.print(
            f"virtual workers per origin: {alpha['smallest']:.4g} to {alpha['largest']:.4g}, median "
            f"{alpha['median']:.4g}; "
            f"per destination {facts['virtual_workers']['median']:.4g} (median) beside {facts['median_workers']:g} "
            "real ones"
        )
        if facts["epsilon_added"]:
            out.print(f"shrinking and rejection add epsilon {facts['epsilon_added']:.4g}")
    out.print(facts["statement"], markup=False)
    _warn(plan.quote.warnings)


def plan_facts(plan: Any) -> dict[str, Any]:
    """A plan as plain data."""
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
        "inputs": {role.value: one.to_dict() for role, one in price.inputs.items()},
        "paper": price.paper,
        "warnings": list(price.warnings),
    }


def _spread(values: Any) -> dict[str, float] | None:
    import numpy as np

    if not len(values):
        return None
    return {"smallest": float(values.min()), "median": float(np.median(values)), "largest": float(values.max())}


def _warn(warnings: Any) -> None:
    for warning in warnings:
        errors_to.print("[bold yellow]warning:[/] ", end="")
        errors_to.print(warning, markup=False)


@app.command()
def synth(
    context: typer.Context,
    flows: Flows,
    epsilon: Epsilon,
    certificate: CertificateWord,
    output: Annotated[Path, typer.Option("--out", "-o", help="New folder for the release.")],
    delta: Delta = None,
    origin: Origin = "origin",
    destination: Destination = "destination",
    count: Count = None,
    table: o.Table = None,
    places: PlacesFile = None,
    origins: OriginsFile = None,
    method: Method = "dirichlet",
    rings: RingsFile = None,
    prior: PriorShape = "uniform",
    prior_cap: PriorCap = 10,
    shrink: Shrink = False,
    cutoff: Cutoff = None,
    split: Split = None,
    regions: RegionsFile = None,
    reject: Reject = False,
    size: Size = 1.0,
    sizes: Sizes = None,
    subsample: Subsample = 0.5,
    account: o.Account = None,
    csv: Annotated[bool, typer.Option("--csv", help="Write synthetic.csv too.")] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Reproducible, for simulation: the release is then not private.",
            parser=o.whole_number,
            metavar="NUMBER",
        ),
    ] = None,
    json: o.Json = False,
) -> None:
    """Make one synthetic table of commutes: one row per synthetic worker, with manifest and places."""
    from understudy.commute.jobs import synthesize_commutes

    recipe = _recipe(context.params)
    with progress(quiet=json) as report:
        release = synthesize_commutes(recipe, _opened(context.params), out=output, csv=csv, seed=seed, report=report)
    _warn(release.manifest.warnings)
    if json:
        print_json({"folder": str(output), "manifest": release.manifest.to_dict()})
        return
    out.print(release.statement, markup=False)
    for path in sorted(output.iterdir()):
        out.print(f"wrote {path}", markup=False)


@app.command()
def evaluate(
    flows: Flows,
    release: Annotated[Path, typer.Argument(help="Release folder.")],
    origin: Origin = "origin",
    destination: Destination = "destination",
    count: Count = None,
    table: o.Table = None,
    places: PlacesFile = None,
    short: Annotated[
        float | None,
        typer.Option(
            help="Miles below which a commute is short; default: the median.",
            show_default=False,
            parser=o.number,
            metavar="NUMBER",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--out", "-o", help="HTML page; an earlier one is replaced.", show_default=False)
    ] = None,
    account: AccountToTell = None,
    json: o.Json = False,
) -> None:
    """Compare a release with the confidential table. What it prints is confidential."""
    from understudy.commute.evaluating import write_evaluation
    from understudy.commute.jobs import compare_commutes
    from understudy.pages.write import check_page_target

    if output is not None:
        check_page_target(output)
    with progress(quiet=json):
        findings, made = compare_commutes(
            flows,
            release,
            places=places,
            short=short,
            account=account,
            origin=origin,
            destination=destination,
            count=count,
            table=table,
        )
    if output is not None:
        write_evaluation(output, findings, made)
    if json:
        print_json(findings.to_dict())
        return
    _show(findings)
    if output is not None:
        out.print(f"wrote {output} (confidential)", markup=False)


def _show(findings: Any) -> None:
    from rich.table import Table

    out.print("[bold red]confidential[/]: these numbers compare with real origins")
    if findings.within is not None:
        out.print(f"commutes beyond {findings.within:g} miles are left out on both sides, as in the release")
    if findings.all_commutes:
        table = Table(box=None, pad_edge=False)
        for heading in ("workers", "destinations", "real miles", "synthetic", "bias", "mean |error|"):
            table.add_column(heading, justify="right")
        for band in findings.all_commutes:
            if band.real_miles is not None:
                top = " and more" if band.largest is None else f" to {band.largest:,}"
                top = "" if band.largest == band.smallest else top
                numbers = (band.real_miles, band.synthetic_miles, band.bias, band.mean_error)
                table.add_row(f"{band.smallest:,}{top}", f"{band.destinations:,}", *(f"{n:.2f}" for n in numbers))
        out.print(table)
        words = (10, 25, 50, 75, 90, 99)
        for name, values in (("real", findings.real_quantiles), ("synthetic", findings.synthetic_quantiles)):
            said = ", ".join(f"{q} % {value:.2f}" for q, value in zip(words, values, strict=True))
            out.print(f"commute distances, {name}: {said} miles")
        out.print(f"total variation distance of commute distances {findings.distance_tvd:.3f}")
    out.print(
        f"invented pairs {100 * findings.invented_pairs:.1f} % (with {100 * findings.invented_workers:.1f} % of "
        "synthetic "
        f"workers); {findings.top_flows} largest flows: mean relative error {100 * findings.top_flow_error:.1f} %, "
        f"{100 * findings.top_flow_overlap:.0f} % still among the largest"
    )


@app.command(name="map")
def show_map(
    release: Annotated[Path, typer.Argument(help="Release folder.")],
    output: Annotated[Path, typer.Option("--out", "-o", help="HTML file; an earlier map is replaced.")],
    original: Annotated[
        str | None,
        typer.Option(
            help="The confidential table, to see beside it: the page is then confidential.", show_default=False
        ),
    ] = None,
    origin: Origin = "origin",
    destination: Destination = "destination",
    count: Count = None,
    table: o.Table = None,
    places: PlacesFile = None,
    tiles: Annotated[
        str | None,
        typer.Option(help="Address of map tiles with {z}, {x}, {y}; default: none, offline.", show_default=False),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.", show_default=False)] = None,
    account: AccountToTell = None,
    json: o.Json = False,
) -> None:
    """Write one offline page: pick a place, see where its workers come from, or where its residents work."""
    from understudy.commute.mapping import check_map_target, map_page, write_map
    from understudy.commute.places import read_places
    from understudy.commute.released import read_release
    from understudy.privacy.account import remember_look
    from understudy.sources.flows import read_flows

    confidential = original is not None
    check_map_target(output, confidential=confidential)
    with progress(quiet=json):
        shown = None if places is None else read_places(places, confidential=original)
        made = read_release(release, places=shown)
        real = None
        if original is not None:
            remember_look(account, f"map of {release} beside the confidential commutes")
            real = read_flows(
                original, origin=origin, destination=destination, count=count, table=table, origins=list(made.origins)
            )
        digest = write_map(output, map_page(made, original=real, tiles=tiles, title=title), confidential=confidential)
    _warn(made.problems)
    if json:
        print_json(
            {"file": str(output), "confidential": confidential, "digest": digest, "problems": list(made.problems)}
        )
        return
    out.print(f"wrote {output}{' (confidential: it holds the real flows)' if confidential else ''}", markup=False)
