"""`audit`: try to refute what a method promises."""

import os
from typing import Annotated

import typer

from understudy.cli import options as o
from understudy.cli.console import progress, tell
from understudy.cli.shared import option, whole_option
from understudy.cli.synth import choices_of
from understudy.facade import looks


def audit(
    context: typer.Context,
    data: o.Data,
    codebook: o.CodebookPath,
    runs: Annotated[
        int,
        whole_option("Runs on each of two neighbouring tables; the more, the larger an epsilon can be refuted."),
    ],
    rows: o.Rows = None,
    method: o.Method = None,
    recipe: o.Recipe = None,
    canary: Annotated[
        list[str] | None,
        option(
            "rare (default), common (a common record, for methods that withhold small counts), or COLUMN=VALUE; may be "
            "repeated."
        ),
    ] = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    account: o.AccountToTell = None,
    json: o.Json = False,
) -> None:
    """Run a method many times with and without one record, and try to refute its epsilon. Exit code 3 if refuted.

    Reads DATA and charges nothing: the outcome is confidential where DATA is. Use a small table and few rows.
    """
    choices, rows = choices_of(context, method, recipe, rows)
    with progress(quiet=json) as report:
        outcome = looks.audit(
            data,
            codebook,
            rows,
            choices,
            runs=runs,
            canary=canary or (),
            unknown=unknown,
            table=table,
            account=account,
            workers=os.cpu_count() or 1,
            report=report,
        )
    lines = (
        outcome.sentence,
        f"event: {outcome.event}; {outcome.hits[0]:,} and {outcome.hits[1]:,} of {outcome.trials:,} runs",
        "canary: " + ", ".join(f"{name}={label}" for name, label in outcome.canary.items()),
    )
    tell(outcome, lines, json=json)
    if outcome.refuted:
        raise typer.Exit(3)  # 1 and 2 are refusals and mistakes
