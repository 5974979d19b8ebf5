"""`anonymize`: generalise and suppress, count what that achieves, and show a board what is left to find."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import NOT_FOR_RELEASE, errors_to, note, progress, tell
from understudy.cli.shared import (
    AccountToTell,
    App,
    OutFolder,
    listed,
    number_option,
    option,
    takes,
    whole_option,
)
from understudy.cli.telling import warn_of
from understudy.cli.verify import tell_verdict
from understudy.errors import ParameterError
from understudy.facade import anonymity, looks

app = App(help="Generalise, suppress, and count again: k-anonymity, l-diversity, t-closeness.")

_ASKED = "What is asked"
Quasi = Annotated[str | None, option("Quasi-identifiers, with commas; default: the codebook's roles.")]


@app.command()
def run(
    data: o.Data,
    codebook: o.CodebookPath,
    output: OutFolder,
    recipe: Annotated[Path | None, option("Recipe in TOML: all steps, in order.", "--recipe", "-r")] = None,
    k: Annotated[
        int | None, whole_option("Rows that must share every combination of quasi-identifiers.", panel=_ASKED)
    ] = None,
    suppression: Annotated[
        float | None, number_option("Share of rows that may be suppressed (not for --mondrian).", panel=_ASKED)
    ] = None,
    loss: Annotated[str | None, option("height, discernibility or entropy (default).", panel=_ASKED)] = None,
    mondrian: Annotated[
        bool, option("Cut boxes instead of generalising whole columns.", "--mondrian", panel=_ASKED)
    ] = False,
    delete: Annotated[
        bool, option("Delete suppressed rows instead of starring them.", "--delete", panel=_ASKED)
    ] = False,
    distinct: Annotated[list[str] | None, option("COLUMN=L: distinct l-diversity.", panel=_ASKED)] = None,
    entropy: Annotated[list[str] | None, option("COLUMN=L: entropy l-diversity.", panel=_ASKED)] = None,
    recursive: Annotated[list[str] | None, option("COLUMN=C,L: recursive (c,l)-diversity.", panel=_ASKED)] = None,
    closeness: Annotated[
        list[str] | None,
        option("COLUMN=T or COLUMN=T,ordered or COLUMN=T,hierarchical: t-closeness.", panel=_ASKED),
    ] = None,
    quasi: Quasi = None,
    hierarchy: Annotated[
        list[str] | None,
        option(
            "COLUMN=RULE, may be repeated: intervals:5,10,20 or prefix:3,2 or dates:month,year or arx:FILE. Default: "
            "the codebook's steps. Every hierarchy ends in *."
        ),
    ] = None,
    csv: Annotated[bool, option("Write anonymized.csv too.", "--csv")] = False,
    page: Annotated[Path | None, option("HTML page for the board; confidential.", "--report")] = None,
    seed: Annotated[
        int | None, whole_option("Reproducible draws, for simulation: swaps and noise can then be undone.")
    ] = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    json: o.Json = False,
) -> None:
    """Make one anonymised release: table, codebook and manifest in a new folder."""
    demands = {"distinct": distinct, "entropy": entropy, "recursive": recursive, "closeness": closeness}
    criteria = [
        anonymity.criterion(kind, *pair) for kind, words in demands.items() for pair in _pairs(words or (), kind)
    ]
    hierarchies = {column: anonymity.hierarchy(column, rule) for column, rule in _pairs(hierarchy or (), "hierarchy")}
    with progress(quiet=json) as report:
        made = anonymity.anonymize(
            data,
            codebook,
            k,
            suppression=suppression,
            loss=loss,
            mondrian=mondrian,
            delete=delete,
            criteria=criteria,
            hierarchies=hierarchies,
            recipe=recipe,
            quasi=None if quasi is None else listed(quasi),
            out=output,
            csv=csv,
            page=page,
            unknown=unknown,
            table=table,
            seed=seed,
            report=report,
        )
    warn_of(made.release, csv=csv)
    steps = [fact for fact in made.facts if "steps" in fact]
    board = [] if page is None else [f"wrote {page} {NOT_FOR_RELEASE}"]
    lines = [made.release.statement, *_step_lines(steps), f"wrote {output}", *board]
    tell({"folder": output, "manifest": made.release.manifest}, lines, json=json)
    for fact in () if json else steps:
        what = "deleted" if fact["deleted"] else "starred"
        errors_to.print(
            f"for you only: {fact['suppressed']:,} rows were {what}, {fact['allowed']:,} were allowed", markup=False
        )


def _step_lines(steps: Sequence[Any]) -> Iterator[str]:
    for fact in steps:
        yield "generalised: " + ", ".join(f"{column} ({step})" for column, step in fact["steps"].items())
        yield f"{fact['nodes']:,} ways to generalise were compared; {fact['visited']:,} of them had to be counted"


def _pairs(words: Sequence[str], option: str) -> Iterator[tuple[str, str]]:
    for word in words:
        name, equals, value = word.rpartition("=")
        if not equals or not name or not value:
            raise ParameterError(f"--{option} is {word!r}; write COLUMN=VALUE.")
        yield name, value


def _risk(
    population: Annotated[
        str | None, option("Table of everybody the data were drawn from, with the same columns.")
    ] = None,
    threshold: Annotated[float, number_option("Rows above this risk are counted.")] = 0.2,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    account: AccountToTell = None,
) -> None:
    """The options of a look at the classes."""


@app.command()
@takes(_risk)
def risk(
    data: Annotated[str, typer.Argument(help="A table, or the folder of an anonymised release.")],
    codebook: Annotated[Path | None, option("Codebook in TOML; a release has its own.", "--codebook", "-c")] = None,
    quasi: Quasi = None,
    json: o.Json = False,
    **options: Any,
) -> None:
    """Prosecutor, journalist and marketer risk of a table, and its uniques. What is printed is confidential."""
    from rich.table import Table

    with progress(quiet=json) as report:
        names, figures = anonymity.measure_risk(
            data, codebook, quasi=None if quasi is None else listed(quasi), report=report, **options
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
def verify(
    folder: Annotated[Path, typer.Argument(help="Folder of an anonymised release.")], json: o.Json = False
) -> None:
    """Count k, l and t again in the released table, and check everything else that any release is checked for."""
    verdict, measured = anonymity.verify_anonymized(folder)
    tell_verdict(verdict, json=json, measured=measured)


@app.command()
@takes(_risk)
def report(
    real: Annotated[str, typer.Argument(help="The confidential table.")],
    release: Annotated[Path, typer.Argument(help="Folder of the anonymised release.")],
    codebook: o.CodebookPath,
    output: Annotated[Path, option("HTML file; an earlier report is replaced.", "--out", "-o")],
    json: o.Json = False,
    **options: Any,
) -> None:
    """One self-contained page for a disclosure board: risk, class sizes and mosaics, before and after. Confidential."""
    with progress(quiet=json) as told:
        findings = anonymity.write_report(real, release, codebook, output, report=told, **options)
    if not json:
        note(findings.problems, "problem")
    before, after = findings.before, findings.after
    lines = [
        f"unique rows: {before.uniques:,} before, {after.uniques:,} released; smallest class {before.smallest:,} and "
        f"{after.smallest:,}",
        f"wrote {output} {NOT_FOR_RELEASE}",
    ]
    tell(findings, lines, json=json)
