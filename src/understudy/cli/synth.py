"""`quote` and `synth`: the price, and the release."""

from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli import scale
from understudy.cli.account import AccountToFix
from understudy.cli.console import errors_to, out, print_json, progress
from understudy.cli.declared import declared_command, given_options
from understudy.errors import ParameterError
from understudy.parameters import ROWS


def _declared(method: str | None) -> dict[str, Any]:
    """The options of one method, or of all."""
    from understudy.parameters import options_of
    from understudy.synth.registry import METHODS, find_method

    chosen = METHODS.values() if method is None else [find_method(method)]
    declared = {name: option for cls in chosen for name, option in options_of(cls).items()}
    declared.pop("rows", None)  # a parameter of every command
    return declared


MethodCommand = declared_command(
    _declared,
    hint="Privacy and model are options of the method: `understudy synth --method marginals --help` shows those of the "
    "default, `understudy methods` lists the others.",
)


def choices_of(context: typer.Context, method: str | None, recipe: Path | None, rows: int | None) -> tuple[Any, int]:
    """What was asked for: the recipe file, and what the flags say instead."""
    from understudy.synth.choices import Choices, read_recipe

    written = Choices(options={}) if recipe is None else read_recipe(recipe)
    if method is not None and recipe is not None and method != written.method:
        raise ParameterError(
            f"--method is {method!r} and the recipe {str(recipe)!r} is for {written.method!r}; leave one of them out."
        )
    number = written.rows if rows is None else rows
    if number is None:
        raise ParameterError("`rows` is not given; say how many rows to draw, with --rows or in the recipe. Try 1000.")
    options = {**written.options, **given_options(context)}
    if rows is not None:
        options.pop("rows", None)
    return Choices(method=method or written.method, options=options), ROWS.check("rows", number)


def quote(
    context: typer.Context,
    data: o.Data,
    codebook: o.CodebookPath,
    rows: o.Rows = None,
    method: o.Method = None,
    recipe: o.Recipe = None,
    account: AccountToFix = None,
    json: o.Json = False,
) -> None:
    """Say what a release would cost. Reads no row of DATA."""
    from understudy import jobs
    from understudy.codebook import Codebook

    choices, rows = choices_of(context, method, recipe, rows)
    priced = jobs.quote(Codebook.load(codebook), choices, rows, data=data, account=account)
    if json:
        print_json(priced.to_dict())
        return
    out.print(f"[bold]{choices.method}[/], {rows:,} rows of {data}")
    _show_entries(priced)
    out.print(priced.statement, markup=False)
    for warning in priced.warnings:
        errors_to.print("[bold yellow]warning:[/] ", end="")
        errors_to.print(warning, markup=False)


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
    output: Annotated[Path, typer.Option("--out", "-o", help="New folder for the release.")],
    rows: o.Rows = None,
    method: o.Method = None,
    recipe: o.Recipe = None,
    account: o.Account = None,
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
    from understudy import jobs
    from understudy.codebook import Codebook

    choices, rows = choices_of(context, method, recipe, rows)
    scale.refuse_with_engine(engine, {**context.params, "files": files > 1})
    if engine is not None:
        book = Codebook.load(codebook)
        with progress(quiet=json) as report:
            large = scale.synth_large(
                data,
                book,
                choices.recipe(book, rows),
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
        _tell(large, output, csv=False, json=json)
        return
    if files != 1:
        if save_model is not None:
            raise ParameterError("--save-model writes one model; leave --files out, and draw more rows with `draw`.")
        with progress(quiet=json) as report:
            releases = jobs.synthesize_many(
                data,
                Codebook.load(codebook),
                choices,
                rows=rows,
                files=files,
                out=output,
                csv=csv,
                unknown=unknown,
                table=table,
                account=account,
                seed=seed,
                report=report,
            )
        tell_many(releases, output, csv=csv, json=json)
        return
    with progress(quiet=json) as report:
        release = jobs.synthesize(
            data,
            Codebook.load(codebook),
            choices,
            rows=rows,
            out=output,
            csv=csv,
            unknown=unknown,
            table=table,
            account=account,
            model_out=save_model,
            seed=seed,
            report=report,
        )
    _tell(release, output, csv=csv, json=json)
    if save_model is not None and not json:
        out.print(f"wrote {save_model}", markup=False)
    if account is not None and not json:
        out.print(f"charged to {account}; `understudy account show {account}` says what is left", markup=False)


def draw(
    model: Annotated[Path, typer.Argument(help="Model file written by `synth --save-model`.")],
    rows: o.RequiredRows,
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
    from understudy import jobs

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
        _tell(large, output, csv=False, json=json)
        return
    with progress(quiet=json) as report:
        release = jobs.draw(model, rows=rows, out=output, csv=csv, where=where or (), report=report)
    _tell(release, output, csv=csv, json=json)


def tell_many(releases: Any, output: Path, *, csv: bool, json: bool) -> None:
    """Say what was written, once for all files."""
    if json:
        found = [release.manifest.to_dict() for release in releases]
        print_json({"folder": str(output), "manifests": found})
        return
    warn(releases[0], csv)
    out.print(releases[0].statement, markup=False)
    for number in range(1, len(releases) + 1):
        out.print(f"wrote {output / str(number)}", markup=False)


def _tell(release: Any, output: Path, *, csv: bool, json: bool) -> None:
    warn(release, csv)
    if json:
        print_json({"folder": str(output), "manifest": release.manifest.to_dict()})
        return
    out.print(release.statement, markup=False)
    for path in sorted(output.iterdir()):
        out.print(f"wrote {path}", markup=False)


def warn(release: Any, csv: bool) -> None:
    """What a reader should know, on standard error."""
    for warning in release.manifest.warnings:
        errors_to.print("[bold yellow]warning:[/] ", end="")
        errors_to.print(warning, markup=False)
    if csv and (names := release.formula_like()):
        errors_to.print(
            f"note: {', '.join(names)} have levels that start like a formula; open the CSV file as text in a "
            "spreadsheet, or use the Parquet file.",
            markup=False,
        )
