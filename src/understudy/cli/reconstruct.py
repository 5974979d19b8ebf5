"""`reconstruct`: individual values from group averages, and the risk of publishing such averages."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from understudy.cli import options as o
from understudy.cli.account import AccountToTell
from understudy.cli.console import errors_to, out, print_json, progress

_DEFAULT = "files"


class _WithDefault(TyperGroup):
    """`understudy reconstruct FILE ...` is the group's own action; `understudy reconstruct risk ...` its command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the hidden default command in front unless a command is named, or help asked for."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = [_DEFAULT, *args]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


app = typer.Typer(
    cls=_WithDefault,
    no_args_is_help=True,
    help="Rebuild individual values from group averages: INDIVIDUALS --aggregate FILE:GROUP:FIGURE -o DIR. "
    "See `reconstruct files --help` for all options.",
)

_METHOD, _IN = "Method", "Input and output"
Words = list[str] | None


def _rank(text: str) -> int | str:
    return text if text in ("full", "held-out") else o.whole_number(text)


def _penalty(text: str) -> float | str:
    return text if text == "held-out" else o.number(text)


def _option(help_: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help_, rich_help_panel=_METHOD, show_default=False, **more)


@app.command(_DEFAULT)
def files(
    individuals: Annotated[
        str, typer.Argument(help="Individual records without the target: CSV, Parquet, duckdb:///...")
    ],
    aggregate: Annotated[
        list[str],
        typer.Option(
            "--aggregate",
            "-a",
            help="FILE:GROUP:FIGURE[:OPTIONS]; may be repeated. GROUP: a column of both files, a=b, a+b (crossed) "
            "or a/b=c "
            "(overlapping). OPTIONS: mean, sum or median, size=COLUMN, noise=SD or COLUMN, target=NAME.",
            rich_help_panel=_IN,
        ),
    ],
    output: Annotated[Path, typer.Option("--out", "-o", help="New folder.", rich_help_panel=_IN)],
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            help="mp, er, ludia, ludia-svd, pc-er, shrunken or cudia.",
            rich_help_panel=_METHOD,
        ),
    ] = "shrunken",
    columns: Annotated[str | None, _option("Columns to use, between commas; default: all but groups.")] = None,
    truth: Annotated[
        Words, _option("Column with the true values, only to score against: COLUMN or TARGET=COLUMN.")
    ] = None,
    link: Annotated[
        str | None, _option("identity, log, log1p or logit: the scale on which the model is linear.")
    ] = None,
    aggregates_of: Annotated[
        str | None, _option("value (default) or link: what was averaged, the value or its link.", "--aggregates-of")
    ] = None,
    no_correction: Annotated[
        bool, typer.Option("--no-correction", help="Do not meet exact averages by force.", rich_help_panel=_METHOD)
    ] = False,
    rank: Annotated[
        Any, _option("A number, full, or held-out (ludia, ludia-svd, pc-er).", parser=_rank, metavar="RANK")
    ] = None,
    iterations: Annotated[
        int | None, _option("Of ludia, ludia-svd and cudia.", parser=o.whole_number, metavar="NUMBER")
    ] = None,
    tolerance: Annotated[
        float | None,
        _option(
            "Stop when an iteration lowers the objective by a smaller share (ludia, ludia-svd).",
            parser=o.number,
            metavar="NUMBER",
        ),
    ] = None,
    start: Annotated[str | None, _option("mp, er or random (ludia).")] = None,
    effects: Annotated[str | None, _option("none, intercept or slope: multi-level terms (ludia).")] = None,
    slope_columns: Annotated[
        str | None, _option("Columns between commas that get a slope per group; default: all (ludia).")
    ] = None,
    ridge: Annotated[
        float | None,
        _option("Penalty of multi-level terms (ludia), of means (cudia).", parser=o.number, metavar="NUMBER"),
    ] = None,
    penalty: Annotated[Any, _option("A number or held-out (shrunken).", parser=_penalty, metavar="PENALTY")] = None,
    weights: Annotated[str | None, _option("wls or ols (er, pc-er).")] = None,
    clusters: Annotated[int | None, _option("Of cudia.", parser=o.whole_number, metavar="NUMBER")] = None,
    version: Annotated[str | None, _option("mcem or greedy (cudia).")] = None,
    unmatched: Annotated[str | None, _option("error or ignore: groups found in one file only.")] = None,
    draws: Annotated[
        int,
        typer.Option(help="Also write this many plausible reconstructions.", parser=o.whole_number, metavar="NUMBER"),
    ] = 0,
    spread: Annotated[
        float | None, _option("Known scatter of individuals, for --draws.", parser=o.number, metavar="NUMBER")
    ] = None,
    seed: Annotated[int | None, _option("Reproducible runs.", parser=o.whole_number, metavar="NUMBER")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Write CSV beside Parquet.", rich_help_panel=_IN)] = False,
    json: o.Json = False,
) -> None:
    """Rebuild plausible individual values from group averages. What is written are estimates, never data."""
    from understudy.reconstruct import METHODS
    from understudy.reconstruct.run import reconstruct_files

    options: dict[str, Any] = {
        "columns": None if columns is None else list(_words(columns)),
        "link": link,
        "aggregates_of": aggregates_of,
        "correct": False if no_correction else None,
        "rank": rank,
        "iterations": iterations,
        "tolerance": tolerance,
        "slope_columns": None if slope_columns is None else list(_words(slope_columns)),
        "start": start,
        "effects": effects,
        "ridge": ridge,
        "penalty": penalty,
        "weights": weights,
        "clusters": clusters,
        "version": version,
        "unmatched": unmatched,
    }
    takes_seed = method in METHODS and "seed" in METHODS[method]._get_param_names()
    with progress(quiet=json) as report:
        made = reconstruct_files(
            individuals,
            aggregate,
            method=method,
            options={**options, **({"seed": seed} if takes_seed else {})},
            out=output,
            truth=truth or (),
            draws=draws,
            spread=spread,
            seed=seed,
            csv=csv,
            report=report,
        )
    if json:
        print_json(made.to_dict())
        return
    for met in made.result.met:
        out.print(met.sentence, markup=False)
    for target, score in made.scores.items():
        out.print(
            f"{target}: mean absolute error {score['mae']:.4g} (averages of the group alone {score['mp']:.4g})",
            markup=False,
        )
    for note in made.result.notes:
        errors_to.print(f"note: {note}", markup=False)
    out.print(f"wrote {output}: {', '.join(made.files)}", markup=False)
    out.print(made.result.statement, markup=False)


def _words(text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


@app.command()
def risk(
    data: o.Data,
    codebook: o.CodebookPath,
    group: Annotated[
        list[str],
        typer.Option("--group", "-g", help="Column to group by, or a+b; may be repeated.", rich_help_panel=_IN),
    ],
    value: Annotated[
        str,
        typer.Option(
            help="Number (or ordinal column, by rank) whose averages might be published.", rich_help_panel=_IN
        ),
    ],
    known: Annotated[
        str, typer.Option(help="Columns between commas that an intruder knows of everybody.", rich_help_panel=_IN)
    ] = "",
    epsilons: Annotated[
        str | None,
        typer.Option(help="Also try averages with Laplace noise at these prices, between commas.", show_default=False),
    ] = None,
    lower: Annotated[
        float | None,
        typer.Option(
            help="Declared lower bound for noise; default: first edge of the codebook.",
            show_default=False,
            parser=o.number,
            metavar="NUMBER",
        ),
    ] = None,
    upper: Annotated[
        float | None,
        typer.Option(
            help="Declared upper bound for noise; default: last edge of the codebook.",
            show_default=False,
            parser=o.number,
            metavar="NUMBER",
        ),
    ] = None,
    neighbours: o.NeighbourRelation = None,
    most: Annotated[
        float,
        typer.Option(help="Share by which the best attack may lower the error.", parser=o.number, metavar="NUMBER"),
    ] = 0.1,
    output: Annotated[
        Path | None, typer.Option("--out", "-o", help="HTML page; an earlier one is replaced.", show_default=False)
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Reproducible runs.", show_default=False, parser=o.whole_number, metavar="NUMBER")
    ] = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    account: AccountToTell = None,
    json: o.Json = False,
) -> None:
    """Attack one's own table through averages that are not published yet. The outcome is confidential."""
    from understudy import jobs
    from understudy.codebook import Codebook
    from understudy.mechanisms.stream import Stream
    from understudy.pages.write import check_page_target, write_page
    from understudy.reconstruct.risk import RiskQuestion, assess
    from understudy.reconstruct.risk_page import risk_page
    from understudy.synth.choices import relation_of

    if output is not None:
        check_page_target(output)
    question = RiskQuestion(
        groups=tuple(group),
        value=value,
        known=_words(known),
        epsilons=tuple(o.number(word) for word in _words(epsilons)),
        neighbours=relation_of(neighbours or "add-remove"),
        lower=lower,
        upper=upper,
        most=most,
    )
    book = Codebook.load(codebook)
    question.check(book)
    jobs.remember_look(account, f"attack on averages of {value}")
    with progress(quiet=json) as report:
        document = assess(
            data,
            book,
            question,
            unknown=unknown,
            table=table,
            stream=Stream.of_seed(seed),
            report=report,
        )
    if output is not None:
        write_page(output, risk_page(document))
    if json:
        print_json(document)
        return
    _print_risk(document)
    if output is not None:
        out.print(f"wrote {output} (computed on confidential data: not for release)", markup=False)


_LEGEND = (
    "Mean absolute errors of guessing {value} for each person: blind, knowing only the overall average; average, by "
    "the average of the group; attack, the best one with what is known besides, and by which method (mp: the "
    "group's average itself); exposed, the tenth of people who lose most: from their error when blind to that "
    "under attack. Lowered: how much less than blind the best attack errs."
)


def _print_risk(document: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Table

    shown = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("grouping", "groups", "smallest", "blind", "average", "attack", "by", "exposed", "lowered"):
        # figures stay on one line; the name of the grouping gives way on a narrow screen
        shown.add_column(heading, overflow="fold", no_wrap=heading != "grouping")
    for study in [*document["groupings"], *document["noisy"]]:
        best = study["attacks"][study["best"]]
        name = study["name"] + (f", epsilon {study['epsilon']:g}" if "epsilon" in study else "")
        cells = (
            f"{study['groups']:,}" if "groups" in study else "",
            f"{study['smallest']:,}" if "smallest" in study else "",
            f"{study['blind']['mae']:.4g}",
            f"{study['attacks']['mp']['mae']:.4g}",
            f"{best['mae']:.4g}",
            study["best"],
            f"{best['tenth_blind']:.3g} to {best['tenth_mae']:.3g}",
            f"{max(study['gain'], 0):.0%}",
        )
        shown.add_row(*map(escape, (name, *cells)))
    out.print(shown)
    out.print(_LEGEND.format(value=document["value"]), markup=False)
    for line in document["recommendation"]:
        out.print(f"- {line}", markup=False)
