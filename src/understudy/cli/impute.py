"""`impute`: fill the missing values of a real table."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli import options as o
from understudy.cli.console import progress
from understudy.cli.declared import declared_command, given_options
from understudy.cli.shared import option, whole_option
from understudy.cli.telling import tell_releases
from understudy.facade import tables

FillingCommand = declared_command(lambda _method: tables.filling_options())


def impute(
    context: typer.Context,
    data: o.Data,
    codebook: o.CodebookPath,
    output: Annotated[Path, option("New folder for the completed files.", "--out", "-o")],
    files: Annotated[int, whole_option("Completed files, each in a numbered folder.")] = 5,
    unknown: Annotated[
        str, option("Values outside the codebook: error, missing, or clamp (beyond its bounds: the bound).")
    ] = "error",
    table: o.Table = None,
    csv: Annotated[bool, option("Write completed.csv too.", "--csv")] = False,
    formats: o.Formats = None,
    seed: Annotated[int | None, whole_option("Reproducible.")] = None,
    json: o.Json = False,
) -> None:
    """Fill the missing values of DATA several times. The files hold the real records: keep them in the house."""
    with progress(quiet=json) as report:
        releases = tables.impute(
            data,
            codebook,
            files=files,
            out=output,
            csv=csv,
            formats=formats or (),
            unknown=unknown,
            table=table,
            seed=seed,
            report=report,
            **given_options(context),
        )
    tell_releases(releases, output, csv=csv or "csv" in (formats or ()), json=json)
