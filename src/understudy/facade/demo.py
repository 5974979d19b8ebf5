"""The whole path on simulated data."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import MissingExtraError

if TYPE_CHECKING:
    from understudy.evaluate.utility.distances import MeanErrors
    from understudy.release import Release
    from understudy.sources.base import Report


def example_patients(folder: str | Path, *, rows: int = 5_000, seed: int = 1) -> list[Path]:
    """Write simulated patients, others kept back, and their codebook into a new folder."""
    from understudy.datasets.example import write_patients

    return write_patients(Path(folder), rows=rows, seed=seed)


def example_histories(
    folder: str | Path, *, patients: int = 5_000, seed: int = 1, one_file: bool = False
) -> list[Path]:
    """Write simulated people with histories, others kept back, and their codebook into a new folder.

    Three linked tables (patients, stays, diagnoses), or ``one_file`` of stays that repeats people.
    """
    from understudy.datasets.example import write_histories

    return write_histories(Path(folder), patients=patients, seed=seed, one_file=one_file)


def example_commutes(folder: str | Path, *, workers: int = 20_000, seed: int = 1) -> list[Path]:
    """Write a simulated town, flows.csv and places.csv, into a new folder."""
    from understudy.commute.jobs import write_example

    return write_example(Path(folder), workers=workers, seed=seed)


@dataclass(frozen=True, kw_only=True)
class DemoResult:
    """What the demo shows."""

    release: Release
    folder: Path
    synthetic: MeanErrors
    independent: MeanErrors
    files: tuple[Path, ...]
    left_out: str = ""
    """Why there is no report page, where an extra is not installed."""


DEMO_DATA_ROWS = 50_000
DEMO_ROWS = 50_000
DEMO_HELD_OUT = 10_000
_DEMO_COLUMNS = ("age.yrs", "los", "charge", "MDC")


def demo(out: str | Path, *, report: Report | None = None) -> DemoResult:
    """Simulated discharges in, one synthetic release out, with its errors and a report about it."""
    from understudy import datasets
    from understudy.evaluate.picture import marginal_picture
    from understudy.evaluate.utility.distances import compare
    from understudy.files import Access
    from understudy.pages.write import check_page_target
    from understudy.release.folders import check_replaced, check_target, replace_file
    from understudy.sources import open_source
    from understudy.synth import BayesianBootstrap, Marginals

    folder = Path(out)
    check_target(folder)
    picture = folder.with_name(folder.name + "-picture.svg")
    check_replaced(picture, what="the picture")
    with suppress(MissingExtraError):  # told at the end, with everything else made
        check_page_target(_report_of(folder))
    book = datasets.discharges_codebook()
    source = open_source(datasets.discharges(rows=DEMO_DATA_ROWS, seed=2011), book)
    release = Marginals(epsilon=1.0, delta=1e-6).fit(source, report=report).sample(DEMO_ROWS)
    independent = BayesianBootstrap().fit(source).sample(DEMO_ROWS)
    made = open_source(release.table, book)
    release.save(folder, formats=("csv",))
    drawn = marginal_picture(source, made, columns=_DEMO_COLUMNS, real_label="confidential (simulated)")
    replace_file(picture, drawn, what="the picture", access=Access.EVERYBODY)
    files = [*sorted(folder.iterdir()), picture]
    left_out = ""
    try:
        files.append(_write_report(folder, source, made, report))
    except MissingExtraError as reason:  # the base installation shows everything else
        left_out = str(reason)
    return DemoResult(
        release=release,
        folder=folder,
        synthetic=compare(source, made),
        independent=compare(source, open_source(independent.table, book)),
        files=tuple(files),
        left_out=left_out,
    )


def _report_of(folder: Path) -> Path:
    return folder.with_name(folder.name + "-report.html")


def _write_report(folder: Path, source: Any, made: Any, report: Report | None) -> Path:
    from understudy import datasets
    from understudy.evaluate.report.gather import gather
    from understudy.evaluate.report.page import report_page
    from understudy.evaluate.report.release_facts import find_release
    from understudy.pages.write import check_page_target, write_page
    from understudy.sources import open_source

    page = _report_of(folder)
    check_page_target(page)  # which extras a page needs is told here
    others = open_source(datasets.discharges(rows=DEMO_HELD_OUT, seed=2012), source.codebook)
    _, facts = find_release(str(folder))
    findings = gather(
        source,
        made,
        holdout=others,
        target="charge",
        risk="quick",
        release=facts,
        labels=("simulated discharges", folder.name),
        report=report,
    )
    write_page(page, report_page(findings.to_dict()))
    return page
