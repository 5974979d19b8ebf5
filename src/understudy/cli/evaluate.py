"""`evaluate`: one page about a synthetic table, for the people who decide."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import NOT_FOR_RELEASE, note, progress, tell
from understudy.cli.shared import option, whole_option
from understudy.errors import ParameterError
from understudy.facade import linked_looks, looks


def evaluate(
    real: Annotated[
        str, typer.Argument(help="The confidential table, as for `synth`, or the folder of linked tables.")
    ],
    synthetic: Annotated[str, typer.Argument(help="A release folder, or a table.")],
    output: Annotated[Path, option("HTML file; an earlier report is replaced.", "--out", "-o")],
    codebook: o.CodebookOfRelease = None,
    holdout: Annotated[str | None, option("Real records set aside before synthesis.")] = None,
    external: Annotated[str | None, option("File about known people that an intruder holds: linkage is tried.")] = None,
    target: Annotated[
        str | None, option("Column that models predict and intruders guess; TABLE.COLUMN=LEVEL of linked tables.")
    ] = None,
    given: Annotated[str | None, option("Column that conditional shares are given; default: every one.")] = None,
    board: Annotated[
        Path | None,
        option("Limits that verdicts are held against, set beforehand, as TOML; default: public ones, printed."),
    ] = None,
    risk: Annotated[
        str, option("none, quick (attacks by counting) or full (repeated fits and neighbour searches too).")
    ] = "quick",
    recipe: Annotated[
        Path | None,
        option(
            "With --risk full: the method to rerun with and without one person, as a manifest.json or a TOML file "
            "with `method` and its options; a release names its own."
        ),
    ] = None,
    shadow_runs: Annotated[
        int | None,
        whole_option(
            "With --risk full: reruns with the person, and as many without; 100 unless they would take too long."
        ),
    ] = None,
    worksheet: Annotated[
        Path | None,
        option("New Markdown file for a disclosure review: facts filled in, judgements left to people. Confidential."),
    ] = None,
    large: Annotated[
        bool,
        option(
            "Tables larger than memory: only distances of shares and pairs, and uniqueness, by counting where the "
            "tables lie. Writes JSON to --out.",
            "--large",
        ),
    ] = False,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    account: o.AccountToTell = None,
    json: o.Json = False,
) -> None:
    """Compare a synthetic table with the confidential one, in one self-contained page. The page is confidential."""
    if (linked := linked_looks.linked_book(synthetic, codebook)) is not None:
        _refuse_with_linked(
            external=external,
            given=given,
            risk=None if risk == "quick" else risk,
            recipe=recipe,
            shadow_runs=shadow_runs,
            worksheet=worksheet,
            large=large or None,
            unknown=None if unknown == "error" else unknown,
            table=table,
        )
        with progress(quiet=json) as report:
            compared = linked_looks.evaluate_linked(
                real,
                synthetic,
                linked,
                out=output,
                holdout=holdout,
                label=target,
                board=board,
                account=account,
                report=report,
            )
        note(f"the release does not verify: {problem}" for problem in compared.problems[:1])
        tell(compared, [*_verdicts(compared), *_linked_lines(compared), f"wrote {output} {NOT_FOR_RELEASE}"], json=json)
        return
    opening: dict[str, Any] = {"out": output, "unknown": unknown, "table": table, "account": account}
    models: dict[str, Any] = {"holdout": holdout, "external": external, "target": target, "given": given}
    if large:
        reruns = {"recipe": recipe, "shadow_runs": shadow_runs, "risk": None if risk == "quick" else risk}
        _refuse_with_large({**models, **reruns, "board": board, "worksheet": worksheet})
        with progress(quiet=json) as report:
            counted = looks.evaluate_large(real, synthetic, codebook, report=report, **opening)
        note(f"the release does not verify: {problem}" for problem in counted.problems[:1])
        tell(counted.findings, [*_large_lines(counted.findings), f"wrote {output} {NOT_FOR_RELEASE}"], json=json)
        return
    with progress(quiet=json) as report:
        findings = looks.evaluate(
            real,
            synthetic,
            codebook,
            board=board,
            risk=risk,
            recipe=recipe,
            shadow_runs=shadow_runs,
            worksheet=worksheet,
            processes=os.cpu_count() or 1,
            report=report,
            **models,
            **opening,
        )
    if not json:
        note(findings.notes)
    scores = len(findings.utility) + len(findings.risk)
    selection = f"A selection of {scores} scores: {output} explains all of them, and --json prints them."
    files = [f"wrote {path} {NOT_FOR_RELEASE}" for path in (output, worksheet) if path is not None]
    tell(findings, [*_verdicts(findings), *_headlines(findings), selection, *files], json=json)


def _refuse_with_large(models: Mapping[str, Any]) -> None:
    if asked := [name for name, value in models.items() if value is not None]:
        raise ParameterError(f"`{asked[0]}` needs models or attacks; leave it out with --large, or leave --large out.")


def _verdicts(findings: Any) -> Iterator[str]:
    yield findings.judgement.decision
    for verdict in findings.judgement.verdicts:
        yield f"{verdict.question} {verdict.answer}"
    yield from (f"Worst: {fact}" for fact in findings.judgement.worst)


def _refuse_with_linked(**options: Any) -> None:
    if asked := [name for name, value in options.items() if value is not None]:
        raise ParameterError(f"`{asked[0]}` is about one table; leave it out with linked tables.")


def _linked_lines(compared: Any) -> Iterator[str]:
    for title, value, about in compared.headlines:
        yield f"{title}: {looks.spelled_score(value)}" + (f" ({about})" if about else "")


def _headlines(findings: Any) -> Iterator[str]:
    for line in findings.headlines:
        yield _with_references(line.label, line.value, bootstrap=line.bootstrap, independent_columns=line.independent)


def _large_lines(findings: Any) -> Iterator[str]:
    for score in findings.scores:
        beside = findings.references.get(score.metric) or {k: v for k, v in score.breakdown.items() if k != "synthetic"}
        yield _with_references(score.metric.replace("_", " "), score.value, **beside)


def _with_references(label: str, value: Any, **references: Any) -> str:
    """A score, and what known tables would score."""
    known = {name.replace("_", " "): figure for name, figure in references.items() if figure is not None}
    beside = ", ".join(f"{name} {looks.spelled_score(figure)}" for name, figure in known.items())
    return f"{label}: {looks.spelled_score(value)}" + (f" ({beside})" if beside else "")
