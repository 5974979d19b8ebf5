"""`anonymize`: generalise and suppress, count what that achieves, and show a board what is left to find."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import NOT_FOR_RELEASE, note, progress, tell
from understudy.cli.declared import declared_command, given_options
from understudy.cli.shared import App, number_option, option, whole_option
from understudy.cli.telling import warn_of
from understudy.cli.verify import tell_verdict
from understudy.facade import anonymity, looks

app = App(help="Generalise, suppress, and count again: k-anonymity, l-diversity, t-closeness.")

AskedCommand = declared_command(lambda _method: anonymity.asked_options())
RiskCommand = declared_command(lambda _method: anonymity.risk_options())
ReportCommand = declared_command(
    lambda _method: {name: option for name, option in anonymity.risk_options().items() if name != "quasi"}
)


@app.command(cls=AskedCommand)
def run(
    context: typer.Context,
    data: o.Data,
    codebook: o.CodebookPath,
    output: o.OutFolder,
    recipe: Annotated[Path | None, option("Recipe in TOML: all steps, in order.", "--recipe", "-r")] = None,
    csv: Annotated[bool, option("Write anonymized.csv too.", "--csv")] = False,
    formats: o.Formats = None,
    page: Annotated[Path | None, option("HTML page for the board; confidential.", "--report")] = None,
    seed: Annotated[
        int | None, whole_option("Reproducible draws, for simulation: swaps and noise can then be undone.")
    ] = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    json: o.Json = False,
) -> None:
    """Make one anonymised release: table, codebook and manifest in a new folder."""
    with progress(quiet=json) as report:
        made = anonymity.anonymize(
            data,
            codebook,
            recipe=recipe,
            out=output,
            csv=csv,
            formats=formats or (),
            page=page,
            unknown=unknown,
            table=table,
            seed=seed,
            report=report,
            **given_options(context),
        )
    warn_of(made.release, csv=csv or "csv" in (formats or ()))
    steps = [fact for fact in made.facts if "steps" in fact]
    board = [] if page is None else [f"wrote {page} {NOT_FOR_RELEASE}"]
    lines = [made.release.statement, *_step_lines(steps), f"wrote {output}", *board]
    tell({"folder": output, "manifest": made.release.manifest}, lines, json=json)
    for fact in () if json else steps:
        what = "deleted" if fact["deleted"] else "starred"
        note([f"{fact['suppressed']:,} rows were {what}, {fact['allowed']:,} were allowed"], "for you only")
        note([f"{fact['visited']:,} of {fact['nodes']:,} ways to generalise had to be counted"], "for you only")


def _step_lines(steps: Sequence[Any]) -> Iterator[str]:
    for fact in steps:
        yield "generalised: " + ", ".join(f"{column} ({step})" for column, step in fact["steps"].items())


@app.command(cls=RiskCommand)
def risk(
    context: typer.Context,
    data: Annotated[str, typer.Argument(help="A table, or the folder of an anonymised release.")],
    codebook: o.CodebookOfRelease = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    account: o.AccountToTell = None,
    json: o.Json = False,
) -> None:
    """Prosecutor, journalist and marketer risk of a table, and its uniques. What is printed is confidential."""
    from rich.table import Table

    with progress(quiet=json) as report:
        names, figures = anonymity.measure_risk(
            data, codebook, unknown=unknown, table=table, account=account, report=report, **given_options(context)
        )
    shown = Table(box=None, pad_edge=False, show_header=False)
    for row in _risk_rows(names, figures):
        shown.add_row(*row)
    tell({"quasi_identifiers": names, **figures.to_dict()}, [shown], json=json)


def _risk_rows(names: Sequence[str], figures: Any) -> Iterator[tuple[str, str]]:
    percent = looks.spelled_share
    yield "quasi-identifiers", ", ".join(names)
    yield "rows, classes", f"{figures.rows:,}, {figures.classes:,}"
    yield "smallest class, unique rows", f"{figures.smallest:,}, {figures.uniques:,}"
    prosecutor = f"{percent(figures.prosecutor_highest)}, {percent(figures.prosecutor_mean)}"
    yield "prosecutor, highest and mean", prosecutor
    yield f"rows at a risk above {figures.threshold:g}", percent(figures.at_risk)
    bound = "" if figures.population else " (no population given: the prosecutor's, an upper bound)"
    yield "journalist, highest", percent(figures.journalist_highest) + bound
    yield "marketer", percent(figures.marketer) + bound
    for band, rows in figures.histogram.items():
        if rows:
            yield f"rows in classes of {band}", f"{rows:,}"


@app.command()
def weigh(
    data: o.Data,
    codebook: o.CodebookPath,
    k: Annotated[
        int, whole_option("Rows that share every combination; half, twice and four times as many are tried too.", "--k")
    ],
    suppression: Annotated[float, number_option("Share of rows that may be suppressed.")] = 0.05,
    quasi: Annotated[
        str | None,
        option("Quasi-identifiers between commas: what an intruder may know; default: the codebook's roles."),
    ] = None,
    output: Annotated[
        Path | None, option("JSON file for the figures; an earlier one is replaced.", "--out", "-o")
    ] = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    account: o.AccountToTell = None,
    json: o.Json = False,
) -> None:
    """Weigh several demands before one is made: detail lost and risk. What is printed is confidential."""
    from rich.table import Table

    with progress(quiet=json) as report:
        weighed = anonymity.weigh_anonymity(
            data,
            codebook,
            k,
            suppression=suppression,
            quasi=quasi,
            out=output,
            unknown=unknown,
            table=table,
            account=account,
            report=report,
        )
    shown = Table(box=None, pad_edge=False)
    for head in ("demand", "detail lost", "suppressed", "highest risk", "mean risk"):
        shown.add_column(head)
    for way, one in weighed.items():
        figures = (one.detail_lost, one.suppressed, one.highest, one.mean)
        told = [looks.spelled_share(figure) for figure in figures if figure is not None] or [one.why_not]
        shown.add_row(_demand(dict(way)), *told)
    wrote = [] if output is None else [f"wrote {output} {NOT_FOR_RELEASE}"]
    tell([{**dict(way), "outcome": one} for way, one in weighed.items()], [shown, *wrote], json=json)


def _demand(way: dict[str, Any]) -> str:
    """The flags of `anonymize run` that make it."""
    how = "--mondrian" if way.get("mondrian") else f"--suppression {way['suppression']:g}"
    return f"--k {way['k']} {how}"


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(help="Folder of an anonymised release.")], json: o.Json = False
) -> None:
    """Count k, l and t again in the released table, and check everything else that any release is checked for."""
    verdict, measured = anonymity.verify_anonymized(folder)
    tell_verdict(verdict, json=json, measured=measured)


@app.command(cls=ReportCommand)
def report(
    context: typer.Context,
    real: Annotated[str, typer.Argument(help="The confidential table.")],
    release: Annotated[Path, typer.Argument(help="Folder of the anonymised release.")],
    codebook: o.CodebookPath,
    output: Annotated[Path, option("HTML file; an earlier report is replaced.", "--out", "-o")],
    unknown: o.Unknown = "error",
    table: o.Table = None,
    account: o.AccountToTell = None,
    json: o.Json = False,
) -> None:
    """One self-contained page for a disclosure board: risk, class sizes and mosaics, before and after. Confidential."""
    with progress(quiet=json) as told:
        findings = anonymity.report_anonymity(
            real,
            release,
            codebook,
            output,
            unknown=unknown,
            table=table,
            account=account,
            report=told,
            **given_options(context),
        )
    if not json:
        note(findings.problems, "problem")
    before, after = findings.before, findings.after
    lines = [
        f"unique rows: {before.uniques:,} before, {after.uniques:,} released; smallest class {before.smallest:,} and "
        f"{after.smallest:,}",
        f"wrote {output} {NOT_FOR_RELEASE}",
    ]
    tell(findings, lines, json=json)
