"""One function per use case of this room; the command line calls only these."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from understudy.anonymize.cells import Cells, cells_of
from understudy.anonymize.fitted import Anonymized
from understudy.anonymize.measure import class_sizes
from understudy.anonymize.problem import check_quasi
from understudy.anonymize.recipe import Recipe
from understudy.anonymize.report.gather import Findings, gather, people_in
from understudy.anonymize.report.page import anonymity_page
from understudy.anonymize.risk import THRESHOLD, RiskFigures, risk_figures
from understudy.anonymize.verify import is_anonymized
from understudy.codebook import Codebook, Role
from understudy.errors import ParameterError, ReleaseError
from understudy.mechanisms.stream import Stream
from understudy.pages.write import check_page_target, write_page
from understudy.privacy.account import Account, remember_look
from understudy.release.folders import check_target
from understudy.release.release import ANONYMIZED, CODEBOOK, MANIFEST
from understudy.sources import open_source
from understudy.sources.base import Report


def make_release(
    data: Any,
    codebook: Codebook | str | Path,
    recipe: Recipe,
    *,
    out: Path | None,
    quasi: Sequence[str] | None = None,
    csv: bool = False,
    page: Path | None = None,
    seed: int | None = None,
    unknown: str = "error",
    table: str | None = None,
    report: Report | None = None,
) -> Anonymized:
    """Read, anonymise, count again, and write if ``out`` is given; the page about it too, if one is wanted."""
    if page is not None and out is None:
        raise ParameterError("a page is made about a folder; give `out` too.")
    if out is not None:
        check_target(out)
    if page is not None:
        check_page_target(page)
    source = open_source(data, codebook, unknown=unknown, table=table)
    fitted = recipe.fit(source, quasi=quasi, stream=Stream.of_seed(seed), report=report)
    made = Anonymized.of(fitted, fitted.sample() if out is None else fitted.write(out, csv=csv))
    if page is not None and out is not None:
        write_page(page, anonymity_page(gather(made.before, out, title=source.codebook.title).to_dict()))
    return made


def measure_risk(
    data: Any,
    codebook: Codebook | str | Path | None,
    *,
    quasi: Sequence[str] | None = None,
    population: Any = None,
    threshold: float = 0.2,
    unknown: str = "error",
    table: str | None = None,
    account: Account | str | Path | None = None,
    report: Report | None = None,
) -> tuple[tuple[str, ...], RiskFigures]:
    """Risk of a table behind its codebook, or of a released one, which is no look at the confidential table."""
    THRESHOLD.check("threshold", threshold)
    if isinstance(data, str | Path) and is_anonymized(data):
        import json

        import pyarrow.parquet as pq

        if population is not None:
            raise ParameterError(
                "a population is compared with the table before it was generalised; give the confidential table."
            )
        manifest = json.loads((Path(data) / MANIFEST).read_text(encoding="utf-8"))
        names = tuple(quasi or manifest["anonymity"]["quasi_identifiers"])
        return names, risk_figures(class_sizes(pq.read_table(Path(data) / ANONYMIZED), names), threshold=threshold)
    if codebook is None:
        if isinstance(data, str | Path) and "://" not in str(data) and not Path(data).exists():
            raise ReleaseError(f"there is no table and no release folder {str(data)!r}; check the path.")
        raise ParameterError("--codebook is missing: it says what the columns are; only a release has its own.")
    remember_look(account, "risk of the table by its classes")
    cells = _cells(data, codebook, unknown, table, report)
    names = check_quasi(tuple(quasi) if quasi is not None else cells.with_roles(Role.QUASI_IDENTIFIER))
    known = cells.select(names)
    people = None if population is None else people_in(known, _cells(population, codebook, unknown, None, report))
    return names, risk_figures(known.counts, population=people, threshold=threshold)


def write_report(
    real: Any,
    folder: Path,
    codebook: Codebook | str | Path,
    *,
    out: Path,
    population: Any = None,
    threshold: float = 0.2,
    unknown: str = "error",
    table: str | None = None,
    account: Account | str | Path | None = None,
    report: Report | None = None,
) -> Findings:
    """The page about a release, from the confidential table and the release's folder."""
    check_page_target(out)
    THRESHOLD.check("threshold", threshold)
    if not is_anonymized(folder):
        raise ReleaseError(f"{str(folder)!r} holds no anonymised release; make one with `understudy anonymize run`.")
    remember_look(account, f"report about the anonymised release {folder.name}")
    before = _cells(real, codebook, unknown, table, report)
    people = None if population is None else _cells(population, codebook, unknown, None, report)
    title = Codebook.load(folder / CODEBOOK).title
    findings = gather(before, folder, population=people, threshold=threshold, title=title)
    write_page(out, anonymity_page(findings.to_dict()))
    return findings


def _cells(data: Any, codebook: Codebook | str | Path, unknown: str, table: str | None, report: Report | None) -> Cells:
    return cells_of(open_source(data, codebook, unknown=unknown, table=table), report=report)
