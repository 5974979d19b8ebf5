"""`reconstruct`: individual values from group averages, and the risk of publishing such averages."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from understudy.cli import options as o
from understudy.cli.console import NOT_FOR_RELEASE, note, progress, tell
from understudy.cli.console import table as plain_table
from understudy.cli.shared import AccountToTell, App, Page, RunSeed, listed, number_option, option, takes, whole_option
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

_METHOD, _IN = "Method", "Input and output"


def _rank(text: str) -> int | str:
    return text if text in ("full", "held-out") else o.whole_number(text)


def _penalty(text: str) -> float | str:
    return text if text == "held-out" else o.number(text)


def _method(
    method: Annotated[
        str, option("mp, er, ludia, ludia-svd, pc-er, shrunken or cudia.", "--method", "-m", panel=_METHOD)
    ] = "shrunken",
    columns: Annotated[
        str | None, option("Columns to use, between commas; default: all but groups.", panel=_METHOD)
    ] = None,
    truth: Annotated[
        list[str] | None,
        option("Column with the true values, only to score against: COLUMN or TARGET=COLUMN.", panel=_METHOD),
    ] = None,
    link: Annotated[
        str | None, option("identity, log, log1p or logit: the scale on which the model is linear.", panel=_METHOD)
    ] = None,
    aggregates_of: Annotated[
        str | None, option("value (default) or link: what was averaged, the value or its link.", panel=_METHOD)
    ] = None,
    rank: Annotated[
        Any,
        option("A number, full, or held-out (ludia, ludia-svd, pc-er).", panel=_METHOD, parser=_rank, metavar="RANK"),
    ] = None,
    iterations: Annotated[int | None, whole_option("Of ludia, ludia-svd and cudia.", panel=_METHOD)] = None,
    tolerance: Annotated[
        float | None,
        number_option(
            "Stop when an iteration lowers the objective by a smaller share (ludia, ludia-svd).", panel=_METHOD
        ),
    ] = None,
    start: Annotated[str | None, option("mp, er or random (ludia).", panel=_METHOD)] = None,
    effects: Annotated[
        str | None, option("none, intercept or slope: multi-level terms (ludia).", panel=_METHOD)
    ] = None,
    slope_columns: Annotated[
        str | None,
        option("Columns between commas that get a slope per group; default: all (ludia).", panel=_METHOD),
    ] = None,
    ridge: Annotated[
        float | None, number_option("Penalty of multi-level terms (ludia), of means (cudia).", panel=_METHOD)
    ] = None,
    penalty: Annotated[
        Any, option("A number or held-out (shrunken).", panel=_METHOD, parser=_penalty, metavar="PENALTY")
    ] = None,
    weights: Annotated[str | None, option("wls or ols (er, pc-er).", panel=_METHOD)] = None,
    clusters: Annotated[int | None, whole_option("Of cudia.", panel=_METHOD)] = None,
    version: Annotated[str | None, option("mcem or greedy (cudia).", panel=_METHOD)] = None,
    unmatched: Annotated[str | None, option("error or ignore: groups found in one file only.", panel=_METHOD)] = None,
) -> None:
    """The options of the methods."""


@app.command(_DEFAULT)
@takes(_method)
def files(
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
    no_correction: Annotated[
        bool, option("Do not meet exact averages by force.", "--no-correction", panel=_METHOD)
    ] = False,
    draws: Annotated[int, whole_option("Also write this many plausible reconstructions.")] = 0,
    spread: Annotated[float | None, number_option("Known scatter of individuals, for --draws.", panel=_METHOD)] = None,
    seed: RunSeed = None,
    csv: Annotated[bool, option("Write CSV beside Parquet.", "--csv", panel=_IN)] = False,
    json: o.Json = False,
    **options: Any,
) -> None:
    """Rebuild plausible individual values from group averages. What is written are estimates, never data."""
    for name in ("columns", "slope_columns"):
        options[name] = None if options[name] is None else list(listed(options[name]))
    with progress(quiet=json) as report:
        made = averages.reconstruct(
            individuals,
            aggregate,
            correct=False if no_correction else None,
            out=output,
            truth=options.pop("truth") or (),
            draws=draws,
            spread=spread,
            seed=seed,
            csv=csv,
            report=report,
            **options,
        )
    if not json:
        note(made.result.notes)
    lines = [
        *(met.sentence for met in made.result.met),
        *(
            f"{target}: mean absolute error {score['mae']:.4g} (averages of the group alone {score['mp']:.4g})"
            for target, score in made.scores.items()
        ),
        f"wrote {output}: {', '.join(made.files)}",
        made.result.statement,
    ]
    tell(made, lines, json=json)


@app.command()
def risk(
    data: o.Data,
    codebook: o.CodebookPath,
    group: Annotated[list[str], option("Column to group by, or a+b; may be repeated.", "--group", "-g", panel=_IN)],
    value: Annotated[str, option("Number (or ordinal column, by rank) whose averages might be published.", panel=_IN)],
    known: Annotated[str, option("Columns between commas that an intruder knows of everybody.", panel=_IN)] = "",
    epsilons: Annotated[
        str | None, option("Also try averages with Laplace noise at these prices, between commas.")
    ] = None,
    lower: Annotated[
        float | None, number_option("Declared lower bound for noise; default: first edge of the codebook.")
    ] = None,
    upper: Annotated[
        float | None, number_option("Declared upper bound for noise; default: last edge of the codebook.")
    ] = None,
    neighbours: o.NeighbourRelation = None,
    most: Annotated[float, number_option("Share by which the best attack may lower the error.")] = 0.1,
    output: Page = None,
    seed: RunSeed = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    account: AccountToTell = None,
    json: o.Json = False,
) -> None:
    """Attack one's own table through averages that are not published yet. The outcome is confidential."""
    with progress(quiet=json) as report:
        document = averages.averages_risk(
            data,
            codebook,
            groups=group,
            value=value,
            known=listed(known),
            epsilons=[o.number(word) for word in listed(epsilons)],
            lower=lower,
            upper=upper,
            neighbours=neighbours or "add-remove",
            most=most,
            out=output,
            unknown=unknown,
            table=table,
            account=account,
            seed=seed,
            report=report,
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
