"""`quote` and `synth`: the price, and the release."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli import scale
from understudy.cli.console import out, progress, tell, warn
from understudy.cli.console import table as plain_table
from understudy.cli.declared import agreed_method, declared_command, given_options, options_of_file
from understudy.cli.shared import option, whole_option
from understudy.cli.telling import tell_release, tell_releases
from understudy.errors import ParameterError
from understudy.facade import releases, tables
from understudy.parameters import ROWS

if TYPE_CHECKING:
    from understudy.synth.choices import Choices

Csv = Annotated[bool, option("Write synthetic.csv too.", "--csv")]
MethodCommand = declared_command(
    tables.declared_options,
    hint="Privacy and model are options of the method: `understudy synth --method marginals --help` shows those of the "
    "default, `understudy methods` lists the others.",
)


def choices_of(
    context: typer.Context, method: str | None, recipe: Path | None, rows: int | None
) -> "tuple[Choices, int]":
    """What was asked for: the recipe file, and what the flags say instead."""
    written = tables.read_recipe(recipe)
    method = agreed_method(method, written.method, recipe)
    number = written.rows if rows is None else rows
    if number is None:
        raise ParameterError("`rows` is not given; say how many rows to draw, with --rows or in the recipe. Try 1000.")
    options_of_file(context, recipe, written.options)
    choices = replace(written, method=method or written.method).with_options(given_options(context))
    if rows is not None:
        choices = choices.with_options({"rows": None})
    return choices, ROWS.check("rows", number)


def quote(
    context: typer.Context,
    data: o.Data,
    codebook: o.CodebookPath,
    rows: o.Rows = None,
    method: o.Method = None,
    recipe: o.Recipe = None,
    account: o.AccountToFix = None,
    rows_about: Annotated[
        int | None, whole_option("About how many records DATA has, a public guess: adds a forecast.")
    ] = None,
    public: Annotated[str | None, option("Public table of the same shape, for the forecast.")] = None,
    json: o.Json = False,
) -> None:
    """Say what a release would cost. Reads no row of DATA."""
    choices, rows = choices_of(context, method, recipe, rows)
    priced = tables.quote(codebook, rows, choices, data=data, account=account, rows_about=rows_about, public=public)
    entries = (
        # the proof as `understudy methods --all` names it
        (entry.stage, entry.reads, releases.spelled_promise(entry.guarantee), _stem(entry.event.proof))
        for entry in priced.ledger.entries
    )
    forecast = [] if priced.forecast is None else priced.forecast.lines()
    ledger = plain_table(("stage", "reads", "price", "proof"), entries, whole=("proof",))
    shared = [priced.shared] if priced.shared else []
    tell(
        priced, [f"{choices.method}, {rows:,} rows of {data}", ledger, *shared, priced.statement, *forecast], json=json
    )
    if not json:
        warn(priced.warnings)


def _stem(proof: str | None) -> str:
    return (proof or "none").removesuffix(".md")


def synth(
    context: typer.Context,
    data: o.Data,
    codebook: o.CodebookPath,
    output: o.OutFolder,
    rows: o.Rows = None,
    method: o.Method = None,
    recipe: o.Recipe = None,
    account: o.Account = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    csv: Csv = False,
    formats: o.Formats = None,
    files: Annotated[
        int, whole_option("Files to draw, each a release in a numbered folder; on route S each costs.")
    ] = 1,
    save_model: Annotated[
        Path | None, option("Write the released model too (route N): `draw` makes more rows from it.")
    ] = None,
    seed: o.Seed = None,
    engine: scale.Engine = None,
    workers: scale.WorkerCount = None,
    part_rows: scale.PartRows = None,
    master: scale.Master = None,
    json: o.Json = False,
) -> None:
    """Make one synthetic release: table, codebook and manifest in a new folder."""
    choices, rows = choices_of(context, method, recipe, rows)
    scale.refuse_with_engine(engine, {**context.params, "files": files > 1})
    if files != 1 and save_model is not None:
        raise ParameterError("--save-model writes one model; leave --files out, and draw more rows with `draw`.")
    source: dict[str, Any] = {"unknown": unknown, "table": table, "account": account, "seed": seed}
    with progress(quiet=json) as report:
        if engine is not None:
            release: Any = tables.synthesize_parts(
                data, codebook, rows, choices, out=output, report=report, **scale.chosen(context), **source
            )
        elif files != 1:
            several = tables.synthesize_many(
                data,
                codebook,
                rows,
                choices,
                files=files,
                out=output,
                csv=csv,
                formats=formats or (),
                report=report,
                **source,
            )
        else:
            release = tables.synthesize(
                data,
                codebook,
                rows,
                choices,
                out=output,
                csv=csv,
                formats=formats or (),
                save_model=save_model,
                report=report,
                **source,
            )
    if files != 1:
        tell_releases(several, output, csv=csv or "csv" in (formats or ()), json=json)
        return
    certificate = release.manifest.certificate
    lines = [] if certificate is None else releases.certificate_lines(certificate)
    tell_release(release, output, csv=csv or "csv" in (formats or ()), json=json, lines=lines)
    if certificate is not None and not certificate["accepted"]:
        raise typer.Exit(1)
    if save_model is not None and not json:
        out.print(f"wrote {save_model}", markup=False)
    if account is not None and engine is None and not json:
        out.print(f"charged to {account}; `understudy account show {account}` says what is left", markup=False)


def draw(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="Model file written by `synth --save-model`.")],
    rows: o.RequiredRows,
    output: o.OutFolder,
    where: Annotated[
        list[str] | None,
        option("COLUMN=VALUE: only rows of this sub-population. Repeat for more columns or values."),
    ] = None,
    csv: Csv = False,
    formats: o.Formats = None,
    engine: scale.Engine = None,
    workers: scale.WorkerCount = None,
    part_rows: scale.PartRows = None,
    master: scale.Master = None,
    json: o.Json = False,
) -> None:
    """Draw more rows from a released model, also of a sub-population: no data, no further price."""
    scale.refuse_with_engine(engine, context.params)
    with progress(quiet=json) as report:
        if engine is not None:
            release: Any = tables.draw_parts(model, rows, out=output, report=report, **scale.chosen(context))
        else:
            release = tables.draw(
                model, rows, where=where or (), out=output, csv=csv, formats=formats or (), report=report
            )
    tell_release(release, output, csv=csv or "csv" in (formats or ()), json=json)
