"""From two tables to one page: the use case behind `understudy evaluate`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook, Role
from understudy.errors import DataError
from understudy.evaluate.report.findings import Findings
from understudy.evaluate.report.gather import gather
from understudy.evaluate.report.page import report_page
from understudy.evaluate.report.release_facts import find_release
from understudy.evaluate.report.write import check_page_target, write_page
from understudy.sources import open_source
from understudy.sources.addresses import shown
from understudy.sources.base import Report, Source
from understudy.sources.files import open_table

__all__ = ["evaluate", "named"]


def evaluate(
    real: Any,
    synthetic: Any,
    book: Codebook,
    *,
    out: Path,
    risk: str,
    holdout: Any = None,
    external: Any = None,
    target: str | None = None,
    given: str | None = None,
    unknown: str = "error",
    table: str | None = None,
    report: Report | None = None,
) -> Findings:
    """Measure a synthetic table against the confidential one and write the page. Both are confidential.

    ``synthetic`` may be the folder of a release; its statement then opens the page. ``external`` is a file about known
    people that an intruder holds: linkage is tried with the quasi-identifiers it has.
    """
    check_page_target(out)
    label, release = named(synthetic), None
    if isinstance(synthetic, str | Path):
        synthetic, release = find_release(str(synthetic))
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
        report=report,
    )
    write_page(out, report_page(findings.to_dict()))
    return findings


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
    return open_source(external, Codebook(columns=kept), unknown=unknown)


def named(what: Any) -> str:
    """What a page calls a table."""
    if not isinstance(what, str | Path):
        return "a table in memory"
    return shown(what) if "://" in str(what) else Path(what).name
