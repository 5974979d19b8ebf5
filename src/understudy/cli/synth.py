"""`quote` and `synth`: the price, and the release."""

from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli import scale
from understudy.cli.console import out, print_json, progress, warn
from understudy.cli.shared import AccountToFix
from understudy.cli.telling import tell_release, tell_releases
from understudy.errors import ParameterError
from understudy.facade import codebooks, tables


def quote(
    context: typer.Context,
    data: o.Data,
    codebook: o.CodebookPath,
    rows: o.Rows,
    method: o.Method = "marginals",
    epsilon: o.Epsilon = None,
    delta: o.Delta = None,
    epsilon_per_record: o.EpsilonPerRecord = None,
    detail_epsilon: o.DetailEpsilon = None,
    detail_delta: o.DetailDelta = None,
    people_epsilon: scale.PeopleEpsilon = None,
    alpha: o.Alpha = None,
    neighbours: o.NeighbourRelation = None,
    parents: o.Parents = None,
    parent: o.Parent = None,
    parent_count: o.ParentCount = None,
    selection_epsilon: o.SelectionEpsilon = None,
    selection_share: o.SelectionShare = None,
    public_rows: o.PublicRows = None,
    usefulness: o.Usefulness = None,
    workload: o.Workload = None,
    key: o.Key = None,
    key_space: o.KeySpace = None,
    prior: o.Prior = None,
    seeds: o.Seeds = None,
    sweeps: o.Sweeps = None,
    block_size: o.BlockSize = None,
    engines: o.Engines = None,
    order: o.Order = None,
    synthesis: o.Synthesis = None,
    columns: o.Columns = None,
    at_risk: o.AtRisk = None,
    proper: o.Proper = None,
    l: o.L = None,  # noqa: E741 - the field's own name for it
    cap: o.Cap = None,
    floor: o.Floor = None,
    hashes: o.Hashes = None,
    bands: o.Bands = None,
    partitions: o.Partitions = None,
    processes: o.Processes = None,
    account: AccountToFix = None,
    json: o.Json = False,
) -> None:
    """Say what a release would cost. Reads no row of DATA."""
    priced = tables.quote(codebook, rows, method, data=data, account=account, **o.recipe_options(context))
    if json:
        print_json(priced.to_dict())
        return
    out.print(f"[bold]{method}[/], {rows:,} rows of {data}")
    _show_entries(priced)
    out.print(priced.statement, markup=False)
    warn(priced.warnings)


def _show_entries(priced: Any) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("stage", "reads", "price", "proof"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "proof")
    for entry in priced.ledger.entries:
        claim = entry.guarantee
        proof = (entry.event.proof or "none").removesuffix(".md")  # as `understudy methods --all` names it
        table.add_row(entry.stage, entry.reads, _price_of(claim), proof)
    out.print(table)


def _price_of(claim: Any) -> str:
    from understudy.privacy.spelling import at_least, at_most

    if claim.kind == "NoFormal":
        return str(claim.why)
    if claim.kind == "LDiverse":
        return f"entropy l-diversity,\nl {at_least(claim.l, 6)}; not DP"
    return f"epsilon {at_most(claim.epsilon, 6)}, delta {at_most(claim.delta, 3)}"


def synth(
    context: typer.Context,
    data: o.Data,
    codebook: o.CodebookPath,
    rows: o.Rows,
    output: Annotated[Path, typer.Option("--out", "-o", help="New folder for the release.")],
    method: o.Method = "marginals",
    epsilon: o.Epsilon = None,
    delta: o.Delta = None,
    epsilon_per_record: o.EpsilonPerRecord = None,
    detail_epsilon: o.DetailEpsilon = None,
    detail_delta: o.DetailDelta = None,
    people_epsilon: scale.PeopleEpsilon = None,
    alpha: o.Alpha = None,
    neighbours: o.NeighbourRelation = None,
    account: o.Account = None,
    parents: o.Parents = None,
    parent: o.Parent = None,
    parent_count: o.ParentCount = None,
    selection_epsilon: o.SelectionEpsilon = None,
    selection_share: o.SelectionShare = None,
    public_rows: o.PublicRows = None,
    usefulness: o.Usefulness = None,
    workload: o.Workload = None,
    key: o.Key = None,
    key_space: o.KeySpace = None,
    prior: o.Prior = None,
    seeds: o.Seeds = None,
    sweeps: o.Sweeps = None,
    block_size: o.BlockSize = None,
    engines: o.Engines = None,
    order: o.Order = None,
    synthesis: o.Synthesis = None,
    columns: o.Columns = None,
    at_risk: o.AtRisk = None,
    proper: o.Proper = None,
    l: o.L = None,  # noqa: E741 - the field's own name for it
    cap: o.Cap = None,
    floor: o.Floor = None,
    hashes: o.Hashes = None,
    bands: o.Bands = None,
    partitions: o.Partitions = None,
    processes: o.Processes = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    csv: Annotated[bool, typer.Option("--csv", help="Write synthetic.csv too.")] = False,
    files: Annotated[
        int,
        typer.Option(
            help="Files to draw, each a release in a numbered folder; on route S each costs.",
            parser=o.whole_number,
            metavar="NUMBER",
        ),
    ] = 1,
    save_model: Annotated[
        Path | None, typer.Option(help="Write the released model too (route N): `draw` makes more rows from it.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Reproducible, for simulation: the release is then not private.",
            parser=o.whole_number,
            metavar="NUMBER",
        ),
    ] = None,
    engine: scale.Engine = None,
    workers: scale.WorkerCount = None,
    part_rows: scale.PartRows = None,
    master: scale.Master = None,
    json: o.Json = False,
) -> None:
    """Make one synthetic release: table, codebook and manifest in a new folder."""
    options = o.recipe_options(context)
    scale.refuse_with_engine(engine, {**context.params, "files": files > 1})
    if engine is not None:
        book = codebooks.load_codebook(codebook)
        with progress(quiet=json) as report:
            large = scale.synth_large(
                data,
                book,
                tables.recipe_of(method, options, book, rows),
                rows=rows,
                output=output,
                engine=engine,
                workers=workers,
                part_rows=part_rows,
                master=master,
                unknown=unknown,
                table=table,
                account=account,
                seed=seed,
                report=report,
            )
        tell_release(large, output, csv=False, json=json)
        return
    if files != 1:
        if save_model is not None:
            raise ParameterError("--save-model writes one model; leave --files out, and draw more rows with `draw`.")
        with progress(quiet=json) as report:
            releases = tables.synthesize_many(
                data,
                codebook,
                rows,
                method,
                files=files,
                out=output,
                csv=csv,
                unknown=unknown,
                table=table,
                account=account,
                seed=seed,
                report=report,
                **options,
            )
        tell_releases(releases, output, csv=csv, json=json)
        return
    with progress(quiet=json) as report:
        release = tables.synthesize(
            data,
            codebook,
            rows,
            method,
            out=output,
            csv=csv,
            unknown=unknown,
            table=table,
            account=account,
            save_model=save_model,
            seed=seed,
            report=report,
            **options,
        )
    tell_release(release, output, csv=csv, json=json)
    if save_model is not None and not json:
        out.print(f"wrote {save_model}", markup=False)
    if account is not None and not json:
        out.print(f"charged to {account}; `understudy account show {account}` says what is left", markup=False)


def draw(
    model: Annotated[Path, typer.Argument(help="Model file written by `synth --save-model`.")],
    rows: o.Rows,
    output: Annotated[Path, typer.Option("--out", "-o", help="New folder for the release.")],
    where: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=VALUE: only rows of this sub-population. Repeat for more columns or values."),
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Write synthetic.csv too.")] = False,
    engine: scale.Engine = None,
    workers: scale.WorkerCount = None,
    part_rows: scale.PartRows = None,
    master: scale.Master = None,
    json: o.Json = False,
) -> None:
    """Draw more rows from a released model, also of a sub-population: no data, no further price."""
    scale.refuse_with_engine(
        engine, {"csv": csv, "where": where, "workers": workers, "part_rows": part_rows, "master": master}
    )
    if engine is not None:
        with progress(quiet=json) as report:
            large = scale.draw_large(
                model,
                rows=rows,
                output=output,
                engine=engine,
                workers=workers,
                part_rows=part_rows,
                master=master,
                report=report,
            )
        tell_release(large, output, csv=False, json=json)
        return
    with progress(quiet=json) as report:
        release = tables.draw(model, rows, where=where or (), out=output, csv=csv, report=report)
    tell_release(release, output, csv=csv, json=json)
