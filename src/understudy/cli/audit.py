"""`audit`: try to refute what a method promises."""

import os
from typing import Annotated

import typer

from understudy.cli import options as o
from understudy.cli.account import AccountToTell
from understudy.cli.console import out, print_json, progress
from understudy.cli.synth import choices_of

Runs = Annotated[
    int,
    typer.Option(
        "--runs",
        help="Runs on each of two neighbouring tables; the more, the larger an epsilon can be refuted.",
        parser=o.whole_number,
        metavar="NUMBER",
    ),
]
Canary = Annotated[
    list[str] | None,
    typer.Option(
        help="rare (default), common (a common record, for methods that withhold small counts), or COLUMN=VALUE; may "
        "be repeated.",
        show_default=False,
    ),
]


def audit(
    context: typer.Context,
    data: o.Data,
    codebook: o.CodebookPath,
    runs: Runs,
    rows: o.Rows = None,
    method: o.Method = None,
    recipe: o.Recipe = None,
    canary: Canary = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    account: AccountToTell = None,
    json: o.Json = False,
) -> None:
    """Run a method many times with and without one record, and try to refute its epsilon. Exit code 3 if refuted.

    Reads DATA and charges nothing: the outcome is confidential where DATA is. Use a small table and few rows.
    """
    from understudy import jobs
    from understudy.codebook import Codebook

    choices, rows = choices_of(context, method, recipe, rows)
    with progress(quiet=json) as report:
        found = jobs.audit(
            data,
            Codebook.load(codebook),
            choices,
            rows=rows,
            runs=runs,
            canary=canary or [],
            unknown=unknown,
            table=table,
            account=account,
            processes=os.cpu_count() or 1,
            report=report,
        )
    if json:
        print_json(found.to_dict())
    else:
        out.print(found.sentence, markup=False)
        out.print(
            f"event: {found.event}; {found.hits[0]:,} and {found.hits[1]:,} of {found.trials:,} runs", markup=False
        )
        out.print("canary: " + ", ".join(f"{name}={label}" for name, label in found.canary.items()), markup=False)
    if found.refuted:
        raise typer.Exit(3)  # 1 and 2 are refusals and mistakes
