"""From two tables to one page: the use case behind `understudy evaluate`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook, Role
from understudy.errors import DataError, ParameterError, RefusalError
from understudy.evaluate.board import Board
from understudy.evaluate.report.findings import Findings
from understudy.evaluate.report.gather import Honest, gather
from understudy.evaluate.report.page import report_page
from understudy.evaluate.report.release_facts import ReleaseFacts
from understudy.evaluate.risk.membership import SHADOW_RUNS, Shadows
from understudy.pages.write import check_page_target, write_page
from understudy.sources import open_source
from understudy.sources.addresses import shown
from understudy.sources.base import Report, Source
from understudy.sources.files import open_table
from understudy.sources.inputs import provenance_behind


def evaluate(
    real: Any,
    synthetic: Any,
    book: Codebook,
    *,
    release: ReleaseFacts | None,
    label: str,
    out: Path | None,
    risk: str,
    holdout: Any = None,
    external: Any = None,
    target: str | None = None,
    given: str | None = None,
    unknown: str = "error",
    table: str | None = None,
    board: Board | None = None,
    recipe: str | Path | None = None,
    shadow_runs: int | None = None,
    honest: Honest | None = None,
    processes: int = 1,
    report: Report | None = None,
) -> Findings:
    """Measure a synthetic table against the confidential one; with ``out`` write the page. Both are confidential.

    ``release`` is what the release of ``synthetic`` says (:func:`find_release`), which opens the page, and ``label``
    its name there. ``external`` is a file about known people that an intruder holds: linkage is tried with the
    quasi-identifiers it has. With ``risk="full"`` a membership attack reruns the method, which a release names itself;
    ``recipe`` names it otherwise (see :func:`load_recipe`).
    ``board`` has the limits that verdicts are held against; ``honest`` is for models (see :func:`gather`).
    """
    if risk != "full" and (recipe is not None or shadow_runs is not None):
        asked = "recipe" if recipe is not None else "shadow_runs"
        raise ParameterError(f"`{asked}` is for shadow models, which run only with risk = 'full'; `risk` is {risk!r}.")
    if shadow_runs is not None:
        SHADOW_RUNS.check("shadow_runs", shadow_runs)
    if out is not None:
        check_page_target(out)
    findings = gather(
        open_source(real, book, unknown=unknown, table=table),
        open_source(synthetic, book, unknown=unknown),
        holdout=None if holdout is None else open_source(holdout, book, unknown=unknown),
        external=None if external is None else _known_people(external, book, unknown),
        target=target,
        given=given,
        risk=risk,
        release=release,
        labels=(named(real), label),
        board=board,
        honest=honest,
        shadows=lambda rows: _shadows(recipe, release, book, rows, runs=shadow_runs, processes=processes),
        report=report,
    )
    notes = [*_not_compared(real, book, "confidential", table), *_not_compared(synthetic, book, "synthetic", None)]
    findings = replace(findings, notes=[*findings.notes, *notes])
    if out is not None:
        write_page(out, report_page(findings.to_dict()))
    return findings


def _not_compared(what: Any, book: Codebook, called: str, table: str | None) -> list[str]:
    """Columns that a file has and the codebook does not know, said rather than passed over."""
    known = {column.name for column in book.columns}
    file = None if provenance_behind(what, book, table).is_release else book.file
    if extra := [name for name in open_table(what, table=table, file=file).header if name not in known]:
        return [f"The {called} table also has {', '.join(extra)}, which the codebook does not describe: not compared."]
    return []


def _shadows(
    recipe: str | Path | None,
    release: ReleaseFacts | None,
    book: Codebook,
    rows: int,
    *,
    runs: int | None,
    processes: int,
) -> Shadows:
    """The recipe that a person names, or that the manifest names, or why neither can be rerun."""
    from understudy.synth.choices import load_recipe, remade

    if recipe is not None:
        return Shadows(recipe=load_recipe(recipe, book, rows), runs=runs, processes=processes)
    if release is None:
        why = (
            "the method that made the table is not known, so it cannot be rerun. Evaluate a release folder, or name "
            "the method with --recipe (a manifest.json, or a TOML file with `method` and its options)."
        )
        return Shadows(recipe=None, why_not=why)
    if release.problems:
        why = "the release does not verify, so its manifest may name another method. Name the method with --recipe."
        return Shadows(recipe=None, why_not=why)
    try:
        rerun = remade(release.method, release.parameters)
    except RefusalError as reason:
        return Shadows(recipe=None, why_not=f"{reason} Name it with --recipe.")
    return Shadows(recipe=rerun, runs=runs, processes=processes)


def _known_people(external: Any, book: Codebook, unknown: str) -> Source:
    """An external file behind those quasi-identifiers of the codebook that it has."""
    header = open_table(external).header
    kept = tuple(
        replace(column, parents=None)
        for column in book.modelled
        if column.role is Role.QUASI_IDENTIFIER and column.name in header
    )
    if not kept:
        raise DataError(
            f"{named(external)} has none of the codebook's quasi-identifiers, so nobody could be linked; it has "
            f"{', '.join(header)}. Name its columns as in the codebook, or set their role."
        )
    return open_source(external, Codebook(columns=kept, paid=book.paid), unknown=unknown)


def named(what: Any) -> str:
    """What a page calls a table."""
    if not isinstance(what, str | Path):
        return "a table in memory"
    return shown(what) if "://" in str(what) else Path(what).name
