"""`reconstruct`: individual values from group averages, and the risk of publishing such averages."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from understudy.cli import options as o
from understudy.cli.console import NOT_FOR_RELEASE, note, progress, tell
from understudy.cli.console import table as plain_table
from understudy.cli.declared import chosen_options, declared_command
from understudy.cli.shared import App, number_option, option, whole_option
from understudy.facade import averages

_DEFAULT = "files"


class _WithDefault(TyperGroup):
    """`understudy reconstruct FILE ...` is the group's own action; `understudy reconstruct risk ...` its command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the hidden default command in front unless a command is named, or help asked for."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = [_DEFAULT, *args]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


app = App(
    cls=_WithDefault,
    help="Rebuild individual values from group averages: INDIVIDUALS --aggregate FILE:GROUP:FIGURE -o DIR. "
    "See `reconstruct files --help` for all options.",
)

_IN = "Input and output"
MethodCommand = declared_command(averages.reconstruct_options)
RiskCommand = declared_command(lambda _method: averages.risk_options())


@app.command(_DEFAULT, cls=MethodCommand)
def files(
    context: typer.Context,
    individuals: Annotated[
        str, typer.Argument(help="Individual records without the target: CSV, Parquet, duckdb:///...")
    ],
    aggregate: Annotated[
        list[str],
        option(
            "FILE:GROUP:FIGURE[:OPTIONS]; may be repeated. GROUP: a column of both files, a=b, a+b (crossed) or a/b=c "
            "(overlapping). OPTIONS: mean, sum or median, size=COLUMN, noise=SD or COLUMN, target=NAME.",
            "--aggregate",
            "-a",
            panel=_IN,
        ),
    ],
    output: Annotated[Path, option("New folder.", "--out", "-o", panel=_IN)],
    method: Annotated[
        str, option("mp, er, ludia, ludia-svd, pc-er, shrunken or cudia.", "--method", "-m")
    ] = "shrunken",
    truth: Annotated[
        list[str] | None,
        option("Column with the true values, only to score against: COLUMN or TARGET=COLUMN.", panel=_IN),
    ] = None,
    draws: Annotated[int, whole_option("Also write this many plausible reconstructions.")] = 0,
    spread: Annotated[float | None, number_option("Known scatter of individuals, for --draws.")] = None,
    seed: o.RunSeed = None,
    csv: Annotated[bool, option("Write CSV beside Parquet.", "--csv", panel=_IN)] = False,
    json: o.Json = False,
) -> None:
    """Rebuild plausible individual values from group averages. What is written are estimates, never data."""
    with progress(quiet=json) as report:
        made = averages.reconstruct(
            individuals,
            aggregate,
            method,
            out=output,
            truth=truth or (),
            draws=draws,
            spread=spread,
            seed=seed,
            csv=csv,
            report=report,
            **chosen_options(context),
        )
    if not json:
        note(made.result.notes)
    lines = [
        *(met.sentence for met in made.result.met),
        *(held.sentence for held in made.result.held_out),
        *(
            f"{target}: mean absolute error {score['mae']:.4g} (averages of the group alone {score['mp']:.4g})"
            for target, score in made.scores.items()
        ),
        f"wrote {output}: {', '.join(made.files)}",
        made.result.statement,
    ]
    tell(made, lines, json=json)


@app.command(cls=RiskCommand)
def risk(
    context: typer.Context,
    data: o.Data,
    codebook: o.CodebookPath,
    output: o.Page = None,
    seed: o.RunSeed = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    account: o.AccountToTell = None,
    json: o.Json = False,
) -> None:
    """Attack one's own table through averages that are not published yet. The outcome is confidential."""
    with progress(quiet=json) as report:
        document = averages.averages_risk(
            data,
            codebook,
            out=output,
            unknown=unknown,
            table=table,
            account=account,
            seed=seed,
            report=report,
            **chosen_options(context),
        ).document
    written = [] if output is None else [f"wrote {output} {NOT_FOR_RELEASE}"]
    tell(document, [*_risk_lines(document), *written], json=json)


_LEGEND = (
    "Mean absolute errors of guessing {value} for each person: blind, knowing only the overall average; average, by "
    "the average of the group; attack, the best one with what is known besides, and by which method (mp: the "
    "group's average itself); exposed, the tenth of people who lose most: from their error when blind to that "
    "under attack. Lowered: how much less than blind the best attack errs."
)


def _risk_lines(document: dict[str, Any]) -> Iterator[Any]:
    figures = ("groups", "smallest", "blind", "average", "attack", "by", "exposed", "lowered")
    studies = [*document["groupings"], *document["noisy"]]
    # figures stay on one line; the name of the grouping gives way on a narrow screen
    yield plain_table(("grouping", *figures), map(_risk_cells, studies), whole=figures)
    yield _LEGEND.format(value=document["value"])
    for line in document["recommendation"]:
        yield f"- {line}"


def _risk_cells(study: dict[str, Any]) -> tuple[str, ...]:
    best = study["attacks"][study["best"]]
    return (
        study["name"] + (f", epsilon {study['epsilon']:g}" if "epsilon" in study else ""),
        f"{study['groups']:,}" if "groups" in study else "",
        f"{study['smallest']:,}" if "smallest" in study else "",
        f"{study['blind']['mae']:.4g}",
        f"{study['attacks']['mp']['mae']:.4g}",
        f"{best['mae']:.4g}",
        study["best"],
        f"{best['tenth_blind']:.3g} to {best['tenth_mae']:.3g}",
        f"{max(study['gain'], 0):.0%}",
    )
