"""`evaluate`: one page about a synthetic table, for the people who decide."""

import os
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli import options as o
from understudy.cli.account import AccountToTell
from understudy.cli.console import errors_to, out, print_json, progress
from understudy.errors import ParameterError


def evaluate(
    real: Annotated[str, typer.Argument(help="The confidential table, as for `synth`.")],
    synthetic: Annotated[str, typer.Argument(help="A release folder, or a table.")],
    codebook: o.CodebookPath,
    output: Annotated[Path, typer.Option("--out", "-o", help="HTML file; an earlier report is replaced.")],
    holdout: Annotated[
        str | None, typer.Option(help="Real records set aside before synthesis.", show_default=False)
    ] = None,
    external: Annotated[
        str | None,
        typer.Option(help="File about known people that an intruder holds: linkage is tried.", show_default=False),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Column that models predict and intruders guess.", show_default=False)
    ] = None,
    given: Annotated[
        str | None,
        typer.Option(help="Column that conditional shares are given; default: every one.", show_default=False),
    ] = None,
    risk: Annotated[
        str, typer.Option(help="none, quick (attacks by counting) or full (repeated fits and neighbour searches too).")
    ] = "quick",
    recipe: Annotated[
        Path | None,
        typer.Option(
            help="With --risk full: the method to rerun with and without one person, as a manifest.json or a TOML file "
            "with `method` and its options; a release names its own.",
            show_default=False,
        ),
    ] = None,
    shadow_runs: Annotated[
        int | None,
        typer.Option(
            help="With --risk full: reruns with the person, and as many without; 100 unless they would take too long.",
            parser=o.whole_number,
            metavar="NUMBER",
            show_default=False,
        ),
    ] = None,
    large: Annotated[
        bool,
        typer.Option(
            "--large",
            help="Tables larger than memory: only distances of shares and pairs, and uniqueness, by counting where the "
            "tables lie. Writes JSON to --out.",
        ),
    ] = False,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    account: AccountToTell = None,
    json: o.Json = False,
) -> None:
    """Compare a synthetic table with the confidential one, in one self-contained page. The page is confidential."""
    from understudy import jobs
    from understudy.codebook import Codebook
    from understudy.pages.numbers import number

    if large:
        jobs.remember_look(account, f"evaluation of {synthetic}")
        given_too = {"holdout": holdout, "external": external, "target": target, "given": given}
        _large(real, synthetic, codebook, output, given_too, unknown=unknown, table=table, json=json)
        return
    with progress(quiet=json) as report:
        findings = jobs.evaluate(
            real,
            synthetic,
            Codebook.load(codebook),
            out=output,
            holdout=holdout,
            external=external,
            target=target,
            given=given,
            risk=risk,
            unknown=unknown,
            table=table,
            recipe=recipe,
            shadow_runs=shadow_runs,
            account=account,
            processes=os.cpu_count() or 1,
            report=report,
        )
    if json:
        print_json(findings.to_dict())
        return
    for line in findings.headlines:
        known = (("bootstrap", line.bootstrap), ("independent columns", line.independent))
        beside = ", ".join(f"{name} {number(value)}" for name, value in known if value is not None)
        out.print(f"{line.label}: {number(line.value)}" + (f" ({beside})" if beside else ""), markup=False)
    for note in findings.notes:
        errors_to.print(f"note: {note}", markup=False)
    out.print(f"wrote {output} (computed on confidential data: not for release)", markup=False)


def _large(
    real: str,
    synthetic: str,
    codebook: Path,
    output: Path,
    others: dict[str, str | None],
    *,
    unknown: str,
    table: str | None,
    json: bool,
) -> None:
    from json import dumps

    from understudy.codebook import Codebook
    from understudy.evaluate.large import compare_large
    from understudy.evaluate.report.release_facts import find_release
    from understudy.pages.numbers import number
    from understudy.pages.write import check_page_target, write_page
    from understudy.sources import open_source

    if told := [name for name, value in others.items() if value is not None]:
        raise ParameterError(f"--{told[0]} needs models or attacks; leave it out with --large, or leave --large out.")
    book = Codebook.load(codebook)
    check_page_target(output)
    place, release = (synthetic, None) if "://" in synthetic else find_release(synthetic)
    with progress(quiet=json) as report:
        sources = (
            open_source(real, book, unknown=unknown, table=table, local_bytes=0),
            open_source(place, book, unknown=unknown, local_bytes=0),
        )
        findings = compare_large(*sources, report=report)
    if release is not None and release.problems:
        errors_to.print(f"note: the release does not verify: {release.problems[0]}", markup=False)
    write_page(output, dumps(findings.to_dict(), indent=2, ensure_ascii=False) + "\n")
    if json:
        print_json(findings.to_dict())
        return
    for score in findings.scores:
        known = findings.references.get(score.metric) or {k: v for k, v in score.breakdown.items() if k != "synthetic"}
        beside = ", ".join(f"{name} {number(value)}" for name, value in known.items())
        out.print(f"{score.metric.replace('_', ' ')}: {number(score.value)} ({beside})", markup=False)
    out.print(f"wrote {output} (computed on confidential data: not for release)", markup=False)
