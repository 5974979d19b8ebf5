"""`anonymize`: generalise and suppress, count what that achieves, and show a board what is left to find."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.account import AccountToTell
from understudy.cli.console import errors_to, out, print_json, progress
from understudy.cli.synth import warn
from understudy.cli.verify import tell_verdict
from understudy.errors import ParameterError

if TYPE_CHECKING:
    from understudy.anonymize import Recipe, Rule
    from understudy.anonymize.criteria import Criterion

app = typer.Typer(
    help="Generalise, suppress, and count again: k-anonymity, l-diversity, t-closeness.", no_args_is_help=True
)

_ASKED = "What is asked"
Quasi = Annotated[
    str | None,
    typer.Option(help="Quasi-identifiers, with commas; default: the codebook's roles.", show_default=False),
]
HierarchyWords = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        help="COLUMN=RULE, may be repeated: intervals:5,10,20 or prefix:3,2 or dates:month,year or arx:FILE. "
        "Default: the codebook's steps. Every hierarchy ends in *.",
        show_default=False,
    ),
]


@app.command()
def run(
    data: o.Data,
    codebook: o.CodebookPath,
    output: Annotated[Path, typer.Option("--out", "-o", help="New folder for the release.")],
    recipe: Annotated[
        Path | None, typer.Option("--recipe", "-r", help="Recipe in TOML: all steps, in order.", show_default=False)
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            help="Rows that must share every combination of quasi-identifiers.",
            parser=o.whole_number,
            metavar="NUMBER",
            show_default=False,
            rich_help_panel=_ASKED,
        ),
    ] = None,
    suppression: Annotated[
        float | None,
        typer.Option(
            help="Share of rows that may be suppressed (not for --mondrian).",
            parser=o.number,
            metavar="NUMBER",
            show_default=False,
            rich_help_panel=_ASKED,
        ),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(help="height, discernibility or entropy (default).", show_default=False, rich_help_panel=_ASKED),
    ] = None,
    mondrian: Annotated[
        bool,
        typer.Option("--mondrian", help="Cut boxes instead of generalising whole columns.", rich_help_panel=_ASKED),
    ] = False,
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete suppressed rows instead of starring them.", rich_help_panel=_ASKED)
    ] = False,
    distinct: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=L: distinct l-diversity.", show_default=False, rich_help_panel=_ASKED),
    ] = None,
    entropy: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=L: entropy l-diversity.", show_default=False, rich_help_panel=_ASKED),
    ] = None,
    recursive: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=C,L: recursive (c,l)-diversity.", show_default=False, rich_help_panel=_ASKED),
    ] = None,
    closeness: Annotated[
        list[str] | None,
        typer.Option(
            help="COLUMN=T or COLUMN=T,ordered or COLUMN=T,hierarchical: t-closeness.",
            show_default=False,
            rich_help_panel=_ASKED,
        ),
    ] = None,
    quasi: Quasi = None,
    hierarchy: HierarchyWords = None,
    csv: Annotated[bool, typer.Option("--csv", help="Write anonymized.csv too.")] = False,
    page: Annotated[
        Path | None, typer.Option("--report", help="HTML page for the board; confidential.", show_default=False)
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Reproducible draws, for simulation: swaps and noise can then be undone.",
            parser=o.whole_number,
            metavar="NUMBER",
        ),
    ] = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    json: o.Json = False,
) -> None:
    """Make one anonymised release: table, codebook and manifest in a new folder."""
    from understudy.anonymize.jobs import make_release
    from understudy.anonymize.recipe import load_recipe

    criteria = _criteria(distinct, entropy, recursive, closeness)
    if recipe is not None:
        if k is not None or suppression is not None or loss or mondrian or delete or criteria or hierarchy:
            raise ParameterError(
                "a recipe says everything that is asked; leave out -r, or put --k, --suppression, criteria and "
                "hierarchies into the recipe."
            )
        chosen = load_recipe(recipe)
    else:
        chosen = _recipe(k, suppression, loss, mondrian, delete, criteria, _rules(hierarchy))
    with progress(quiet=json) as report:
        made = make_release(
            data,
            codebook,
            chosen,
            out=output,
            quasi=_names(quasi),
            csv=csv,
            page=page,
            seed=seed,
            unknown=unknown,
            table=table,
            report=report,
        )
    warn(made.release, csv)
    if json:
        print_json({"folder": str(output), "manifest": made.release.manifest.to_dict()})
        return
    out.print(made.release.statement, markup=False)
    for fact in made.facts:
        if "steps" in fact:
            out.print("generalised: " + ", ".join(f"{n} ({s})" for n, s in fact["steps"].items()), markup=False)
            out.print(
                f"{fact['nodes']:,} ways to generalise were compared; {fact['visited']:,} of them had to be counted",
                markup=False,
            )
            what = "deleted" if fact["deleted"] else "starred"
            errors_to.print(
                f"for you only: {fact['suppressed']:,} rows were {what}, {fact['allowed']:,} were allowed", markup=False
            )
    out.print(f"wrote {output}", markup=False)
    if page is not None:
        out.print(f"wrote {page} (computed on confidential data: not for release)", markup=False)


@app.command()
def risk(
    data: Annotated[str, typer.Argument(help="A table, or the folder of an anonymised release.")],
    codebook: Annotated[
        Path | None,
        typer.Option("--codebook", "-c", help="Codebook in TOML; a release has its own.", show_default=False),
    ] = None,
    quasi: Quasi = None,
    population: Annotated[
        str | None,
        typer.Option(help="Table of everybody the data were drawn from, with the same columns.", show_default=False),
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="Rows above this risk are counted.", parser=o.number, metavar="NUMBER")
    ] = 0.2,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    account: AccountToTell = None,
    json: o.Json = False,
) -> None:
    """Prosecutor, journalist and marketer risk of a table, and its uniques. What is printed is confidential."""
    from rich.table import Table

    from understudy.anonymize.jobs import measure_risk
    from understudy.pages.numbers import percent

    with progress(quiet=json) as report:
        names, figures = measure_risk(
            data,
            codebook,
            quasi=_names(quasi),
            population=population,
            threshold=threshold,
            unknown=unknown,
            table=table,
            account=account,
            report=report,
        )
    if json:
        print_json({"quasi_identifiers": list(names), **figures.to_dict()})
        return
    shown = Table(box=None, pad_edge=False, show_header=False)
    shown.add_row("quasi-identifiers", ", ".join(names))
    shown.add_row("rows, classes", f"{figures.rows:,}, {figures.classes:,}")
    shown.add_row("smallest class, unique rows", f"{figures.smallest:,}, {figures.uniques:,}")
    shown.add_row(
        "prosecutor, highest and mean", f"{percent(figures.prosecutor_highest)}, {percent(figures.prosecutor_mean)}"
    )
    shown.add_row(f"rows at a risk above {figures.threshold:g}", percent(figures.at_risk))
    bound = "" if figures.population else " (no population given: the prosecutor's, an upper bound)"
    shown.add_row("journalist, highest", percent(figures.journalist_highest) + bound)
    shown.add_row("marketer", percent(figures.marketer) + bound)
    for band, rows in figures.histogram.items():
        if rows:
            shown.add_row(f"rows in classes of {band}", f"{rows:,}")
    out.print(shown)


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(help="Folder of an anonymised release.")],
    json: o.Json = False,
) -> None:
    """Count k, l and t again in the released table, and check everything else that any release is checked for."""
    from understudy.anonymize.verify import is_anonymized, verify_anonymized
    from understudy.errors import ReleaseError

    if folder.is_dir() and not is_anonymized(folder):
        raise ReleaseError(f"{str(folder)!r} holds no anonymised release; check others with `understudy verify`.")
    verdict, measured = verify_anonymized(folder)
    tell_verdict(verdict, json=json, measured=None if measured is None else measured.to_dict())


@app.command()
def report(
    real: Annotated[str, typer.Argument(help="The confidential table.")],
    release: Annotated[Path, typer.Argument(help="Folder of the anonymised release.")],
    codebook: o.CodebookPath,
    output: Annotated[Path, typer.Option("--out", "-o", help="HTML file; an earlier report is replaced.")],
    population: Annotated[
        str | None, typer.Option(help="Table of everybody the data were drawn from.", show_default=False)
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="Rows above this risk are counted.", parser=o.number, metavar="NUMBER")
    ] = 0.2,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    account: AccountToTell = None,
    json: o.Json = False,
) -> None:
    """One self-contained page for a disclosure board: risk, class sizes and mosaics, before and after. Confidential."""
    from understudy.anonymize.jobs import write_report

    with progress(quiet=json) as told:
        findings = write_report(
            real,
            release,
            codebook,
            out=output,
            population=population,
            threshold=threshold,
            unknown=unknown,
            table=table,
            account=account,
            report=told,
        )
    if json:
        print_json(findings.to_dict())
        return
    for problem in findings.problems:
        errors_to.print(f"problem: {problem}", markup=False)
    out.print(
        f"unique rows: {findings.before.uniques:,} before, {findings.after.uniques:,} released; smallest class "
        f"{findings.before.smallest:,} and {findings.after.smallest:,}",
        markup=False,
    )
    out.print(f"wrote {output} (computed on confidential data: not for release)", markup=False)


def _names(words: str | None) -> tuple[str, ...] | None:
    return None if words is None else tuple(name.strip() for name in words.split(",") if name.strip())


def _recipe(
    k: int | None, suppression: float | None, loss: str | None, mondrian: bool, delete: bool,
    criteria: "tuple[Criterion, ...]", rules: "dict[str, Rule]",
) -> "Recipe":  # fmt: skip
    from understudy.anonymize import FullDomain, Mondrian, Recipe

    if k is None:
        raise ParameterError("nothing is asked: give --k, or a recipe with -r. There is no default for privacy.")
    if mondrian:
        if suppression is not None or loss or delete:
            raise ParameterError("--mondrian suppresses nothing and has no loss to choose; leave those options out.")
        return Recipe(steps=(Mondrian(k=k, criteria=criteria),), hierarchies=rules)
    if suppression is None:
        raise ParameterError(
            "--suppression is missing: the share of rows that may be suppressed, for example 0.01; 0 allows none."
        )
    step = FullDomain(
        k=k,
        suppression=suppression,
        loss=loss or "entropy",
        suppressed="delete" if delete else "star",
        criteria=criteria,
    )
    return Recipe(steps=(step,), hierarchies=rules)


def _pairs(words: list[str] | None, option: str) -> list[tuple[str, str]]:
    found = []
    for word in words or ():
        name, equals, value = word.rpartition("=")
        if not equals or not name or not value:
            raise ParameterError(f"--{option} is {word!r}; write COLUMN=VALUE.")
        found.append((name, value))
    return found


def _criteria(
    distinct: list[str] | None, entropy: list[str] | None, recursive: list[str] | None, closeness: list[str] | None
) -> "tuple[Criterion, ...]":
    from understudy.anonymize import Closeness, DistinctDiversity, EntropyDiversity, RecursiveDiversity

    found: list[Criterion] = []
    for name, value in _pairs(distinct, "distinct"):
        found.append(DistinctDiversity(column=name, l=_parsed(int, value, "distinct")))
    for name, value in _pairs(entropy, "entropy"):
        found.append(EntropyDiversity(column=name, l=_parsed(float, value, "entropy")))
    for name, value in _pairs(recursive, "recursive"):
        c, _, l = value.partition(",")  # noqa: E741 - the field's own name for it
        found.append(RecursiveDiversity(column=name, c=_parsed(float, c, "recursive"), l=_parsed(int, l, "recursive")))
    for name, value in _pairs(closeness, "closeness"):
        t, _, distance = value.partition(",")
        found.append(Closeness(column=name, t=_parsed(float, t, "closeness"), distance=distance or "equal"))
    return tuple(found)


def _parsed(kind: Any, text: str, option: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        word = "whole number" if kind is int else "number"
        raise ParameterError(f"--{option} has {text!r} where a {word} belongs; see --help for its form.") from None


def _rules(words: list[str] | None) -> "dict[str, Rule]":
    from understudy.anonymize import Rule

    found = {}
    for name, value in _pairs(words, "hierarchy"):
        kind, _, rest = value.partition(":")
        items = [item.strip() for item in rest.split(",") if item.strip()]
        if kind == "arx" and rest:
            found[name] = Rule(arx=Path(rest))
        elif kind == "intervals" and items:
            found[name] = Rule(intervals=tuple(items))
        elif kind == "prefix" and items:
            found[name] = Rule(prefix=tuple(_parsed(int, item, "hierarchy") for item in items))
        elif kind == "dates" and items:
            found[name] = Rule(dates=tuple(items))
        else:
            raise ParameterError(
                f"--hierarchy is {name}={value!r}; write intervals:5,10,20 or prefix:3,2 or dates:month,year or "
                "arx:FILE."
            )
    return found
