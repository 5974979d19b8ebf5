"""`impute`: fill the missing values of a real table."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli import options as o
from understudy.cli.console import progress
from understudy.cli.synth import tell_many


def impute(
    data: o.Data,
    codebook: o.CodebookPath,
    output: Annotated[Path, typer.Option("--out", "-o", help="New folder for the completed files.")],
    files: Annotated[
        int, typer.Option(help="Completed files, each in a numbered folder.", parser=o.whole_number, metavar="NUMBER")
    ] = 5,
    engines: o.Engines = None,
    order: o.Order = None,
    sweeps: Annotated[
        int, typer.Option(help="Rounds over the incomplete columns.", parser=o.whole_number, metavar="NUMBER")
    ] = 5,
    key: o.Key = None,
    key_space: o.KeySpace = None,
    unknown: Annotated[str, typer.Option(help="Values outside the codebook: error or missing.")] = "error",
    table: o.Table = None,
    csv: Annotated[bool, typer.Option("--csv", help="Write completed.csv too.")] = False,
    seed: Annotated[int | None, typer.Option(help="Reproducible.", parser=o.whole_number, metavar="NUMBER")] = None,
    json: o.Json = False,
) -> None:
    """Fill the missing values of DATA several times. The files hold the real records: keep them in the house."""
    from understudy import jobs
    from understudy.codebook import Codebook

    options = {"engines": engines or None, "order": order, "sweeps": sweeps, "key": key, "key_space": key_space}
    with progress(quiet=json) as report:
        releases = jobs.impute(
            data,
            Codebook.load(codebook),
            options,
            files=files,
            out=output,
            csv=csv,
            unknown=unknown,
            table=table,
            seed=seed,
            report=report,
        )
    tell_many(releases, output, csv=csv, json=json)
