"""Anonymised tables: make them, and count again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import ParameterError, ReleaseError
from understudy.facade.codebooks import book_about
from understudy.facade.documented import documented

if TYPE_CHECKING:
    from understudy.anonymize import Measured
    from understudy.anonymize import Recipe as AnonymizeRecipe
    from understudy.anonymize.cells import Cells
    from understudy.anonymize.fitted import Anonymized
    from understudy.anonymize.report.alternatives import Alternative
    from understudy.anonymize.report.gather import Findings
    from understudy.anonymize.risk import RiskFigures
    from understudy.codebook import Codebook
    from understudy.parameters import Option
    from understudy.privacy.account import Account
    from understudy.release.verify import Verdict
    from understudy.sources.base import Report

_OUTCOMES = ("detail_lost", "suppressed", "highest", "mean")
"""Shares that say what would come of a way to anonymise a table."""


def asked_options() -> dict[str, Option]:
    """The options of :func:`anonymize` that words can say."""
    from understudy.anonymize.asked import Asked
    from understudy.anonymize.recipe import Recipe
    from understudy.parameters import options_of

    asked = options_of(Asked)
    del asked["criteria"]  # objects
    return {**asked, "quasi": options_of(Recipe)["quasi"]}


@documented
def anonymize(
    data: Any,
    book: Codebook | str | Path,
    k: int | None = None,
    *,
    recipe: AnonymizeRecipe | str | Path | None = None,
    quasi: Sequence[str] | str | None = None,
    out: str | Path | None = None,
    csv: bool = False,
    formats: str | Sequence[str] = (),
    page: str | Path | None = None,
    unknown: str = "error",
    table: str | None = None,
    seed: int | None = None,
    report: Report | None = None,
    **options: Any,
) -> Anonymized:
    """Generalise and suppress until every combination of quasi-identifiers is shared by ``k`` rows, and count again.

    Parameters
    ----------
    k
        Rows that must share every combination of quasi-identifiers.
    recipe
        Instead of ``k`` and ``options``: a recipe or its TOML file, with every step in order.
    quasi
        Quasi-identifiers; by default the codebook's roles.
    out
        New folder for the release; without it nothing is written.
    csv
        Write ``anonymized.csv`` too.
    formats
        Write the table too as ``xlsx``, ``sav``, ``dta`` or ``csv``, or several of them.
    page
        HTML page for a disclosure board; confidential. Needs ``out``.
    seed
        Reproducible draws, for simulation: swaps and noise can then be undone.
    **options
        Those of :class:`~understudy.anonymize.asked.Asked`: ``suppression`` (the share of rows that may be suppressed),
        ``loss``, ``delete`` (suppressed rows instead of starring them), ``mondrian`` (cut boxes instead),
        ``hierarchies`` by column, and further demands: ``criteria`` such as
        ``understudy.anonymize.EntropyDiversity(column="diagnosis", l=3)``, or ``entropy=["diagnosis=3"]``.

    Returns
    -------
    Anonymized
        ``.release`` may leave the house; everything else of it is confidential.
    """
    from understudy.anonymize.fitted import Anonymized
    from understudy.anonymize.recipe import Recipe
    from understudy.anonymize.report.gather import gather
    from understudy.anonymize.report.page import anonymity_page
    from understudy.mechanisms.stream import Stream
    from understudy.pages.write import check_page_target, write_page
    from understudy.parameters import options_of
    from understudy.release.folders import check_target
    from understudy.release.formats import chosen_formats
    from understudy.sources import open_source

    formats = chosen_formats(formats, csv=csv)
    chosen = _recipe(recipe, {"k": k, **options})
    names = None if quasi is None else options_of(Recipe)["quasi"].rule.read("quasi", quasi)
    if page is not None and out is None:
        raise ParameterError("a page is made about a folder; give `out` too.")
    if out is not None:
        check_target(Path(out))
    if page is not None:
        check_page_target(Path(page))
    source = open_source(data, book, unknown=unknown, table=table)
    fitted = chosen.fit(source, quasi=names, stream=Stream.of_seed(seed), report=report)
    made = Anonymized.of(fitted, fitted.sample() if out is None else fitted.write(out, formats=formats))
    if page is not None and out is not None:
        title = source.codebook.title
        write_page(Path(page), anonymity_page(gather(made.before, Path(out), title=title).to_dict()))
    return made


def _recipe(recipe: AnonymizeRecipe | str | Path | None, words: Mapping[str, Any]) -> AnonymizeRecipe:
    from understudy.anonymize.asked import Asked
    from understudy.anonymize.recipe import Recipe, load_recipe
    from understudy.parameters import from_words

    asked = from_words(Asked, "anonymize", words)
    if recipe is None:
        return asked.recipe()
    if not asked.says_nothing:
        raise ParameterError(
            "a recipe says everything that is asked; leave `recipe` out, or put `k`, `suppression`, criteria and "
            "hierarchies into it."
        )
    return recipe if isinstance(recipe, Recipe) else load_recipe(recipe)


@documented
def weigh_anonymity(
    data: Any,
    book: Codebook | str | Path,
    k: int,
    *,
    suppression: float = 0.05,
    quasi: Sequence[str] | str | None = None,
    out: str | Path | None = None,
    unknown: str = "error",
    table: str | None = None,
    account: Account | str | Path | None = None,
    report: Report | None = None,
) -> dict[tuple[tuple[str, Any], ...], Alternative]:
    """Weigh ways to anonymise a table before one is released. Nothing is released; the figures are confidential.

    Parameters
    ----------
    k
        Rows that should share every combination of quasi-identifiers; stricter and milder demands are tried too.
    suppression
        Share of rows that may be suppressed.
    quasi
        Quasi-identifiers; by default the codebook's roles.
    out
        JSON file for the figures, for its owner only; an earlier one is replaced. Without it nothing is written.
    account
        Remembers this look. Nothing is charged.

    Returns
    -------
    dict
        By what would be asked of :func:`anonymize` (``(("k", 5), ("suppression", 0.05))``), what would come out:
        ``detail_lost``, ``suppressed`` and the risk (``highest``, ``mean``), or ``why_not``.
    """
    from understudy.anonymize.recipe import Recipe
    from understudy.anonymize.report.alternatives import weigh
    from understudy.codec import to_plain
    from understudy.parameters import Whole, options_of
    from understudy.privacy.account import remember_look
    from understudy.release.folders import check_replaced, replace_file

    Whole(least=2, tried=5).check("k", k)
    ways: list[dict[str, Any]] = []
    for demand in sorted({max(2, k // 2), k, 2 * k, 4 * k}):
        ways += [{"k": demand, "suppression": suppression}, {"k": demand, "mondrian": True}]
    asked = {json.dumps(way): _recipe(None, way) for way in ways}
    names = None if quasi is None else options_of(Recipe)["quasi"].rule.read("quasi", quasi)
    if out is not None:
        check_replaced(Path(out), what="the file of figures")
    remember_look(account, "candidates for an anonymised table")
    weighed = weigh(_cells(data, book, unknown, table, report), asked, names)
    if out is not None:
        figures = [{**way, **to_plain(one)} for way, one in zip(ways, weighed, strict=True)]
        text = json.dumps({"quasi": names, "candidates": figures}, ensure_ascii=False)
        replace_file(Path(out), text, what="the file of figures")
    return {tuple(way.items()): one for way, one in zip(ways, weighed, strict=True)}


def read_weighed(path: str | Path) -> tuple[list[str] | None, list[dict[str, Any]]]:
    """The file that :func:`weigh_anonymity` wrote: quasi-identifiers, and each way with what would come out."""
    from understudy.loading import loading

    with loading(path, "the file of figures", remedy="weigh the table again.", error=ParameterError):
        written = json.loads(Path(path).read_text(encoding="utf-8"))
        for one in written["candidates"]:
            shares = [one[name] for name in (*_OUTCOMES, *(("suppression",) if "suppression" in one else ()))]
            is_way = type(one["k"]) is int and one["k"] >= 2 and ("suppression" in one or one["mondrian"] is True)
            is_told = all(isinstance(share, int | float) and 0 <= share <= 1 for share in shares)
            if not is_way or not isinstance(one["why_not"], str) or not (is_told or one["why_not"]):
                raise ValueError("a way to anonymise lacks what is asked for, or what would come out")
        quasi = written["quasi"]
        if quasi is not None and not all(isinstance(name, str) for name in list(quasi)):
            raise ValueError("the quasi-identifiers are no names")
        return quasi, written["candidates"]


def risk_options() -> dict[str, Option]:
    """The options of :func:`measure_risk`; :func:`report_anonymity` has all but ``quasi``."""
    from understudy.anonymize.recipe import Recipe
    from understudy.anonymize.risk import RiskLook
    from understudy.parameters import options_of

    return {"quasi": options_of(Recipe)["quasi"], **options_of(RiskLook)}


def measure_risk(
    data: Any,
    book: Codebook | str | Path | None = None,
    *,
    quasi: Sequence[str] | str | None = None,
    unknown: str = "error",
    table: str | None = None,
    account: Account | str | Path | None = None,
    report: Report | None = None,
    **options: Any,
) -> tuple[tuple[str, ...], RiskFigures]:
    """Prosecutor, journalist and marketer risk of a table by its classes, and the quasi-identifiers that form them.

    An anonymised release has its own codebook, and to look at it is no look at the confidential table. ``options`` are
    those of :class:`~understudy.anonymize.risk.RiskLook`. What comes out is confidential.
    """
    from understudy.anonymize.problem import check_quasi
    from understudy.anonymize.recipe import Recipe
    from understudy.anonymize.report.gather import people_in
    from understudy.anonymize.risk import RiskLook, risk_figures
    from understudy.anonymize.verify import is_anonymized, read_anonymized
    from understudy.codebook import Role
    from understudy.parameters import from_words, options_of
    from understudy.privacy.account import remember_look

    look = from_words(RiskLook, "the risk of a table", options)
    asked = None if quasi is None else options_of(Recipe)["quasi"].rule.read("quasi", quasi)
    if isinstance(data, str | Path) and is_anonymized(data):
        if look.population is not None:
            raise ParameterError(
                "a population is compared with the table before it was generalised; give the confidential table."
            )
        released = read_anonymized(data, asked)
        return released.quasi, risk_figures(released.sizes, threshold=look.threshold)
    book = book_about(data, book)
    remember_look(account, "risk of the table by its classes")
    cells = _cells(data, book, unknown, table, report)
    names = check_quasi(cells.with_roles(Role.QUASI_IDENTIFIER) if asked is None else asked)
    known = cells.select(names)
    everybody = None if look.population is None else _cells(look.population, book, unknown, None, report)
    people = None if everybody is None else people_in(known, everybody)
    return names, risk_figures(known.counts, population=people, threshold=look.threshold)


def report_anonymity(
    real: Any,
    release: str | Path,
    book: Codebook | str | Path,
    out: str | Path,
    *,
    unknown: str = "error",
    table: str | None = None,
    account: Account | str | Path | None = None,
    report: Report | None = None,
    **options: Any,
) -> Findings:
    """One page for a disclosure board about the folder of an anonymised release, before and after. Confidential.

    ``options`` are those of :class:`~understudy.anonymize.risk.RiskLook`.
    """
    from understudy.anonymize.report.gather import gather
    from understudy.anonymize.report.page import anonymity_page
    from understudy.anonymize.risk import RiskLook
    from understudy.anonymize.verify import REMEDY, is_anonymized
    from understudy.codebook import Codebook
    from understudy.loading import loading
    from understudy.pages.write import check_page_target, write_page
    from understudy.parameters import from_words
    from understudy.privacy.account import remember_look
    from understudy.release.release import CODEBOOK

    folder, page = Path(release), Path(out)
    check_page_target(page)
    look = from_words(RiskLook, "the report", options)
    if not is_anonymized(folder):
        raise ReleaseError(f"{str(folder)!r} holds no anonymised release; make one with `understudy anonymize run`.")
    remember_look(account, f"report about the anonymised release {folder.name}")
    before = _cells(real, book, unknown, table, report)
    people = None if look.population is None else _cells(look.population, book, unknown, None, report)
    title = Codebook.load(folder / CODEBOOK).title
    findings = gather(before, folder, population=people, threshold=look.threshold, title=title)
    with loading(folder, "the release", remedy=REMEDY, error=ReleaseError, quotes=False):
        written = anonymity_page(findings.to_dict())
    write_page(page, written)
    return findings


def _cells(data: Any, book: Codebook | str | Path, unknown: str, table: str | None, report: Report | None) -> Cells:
    from understudy.anonymize.cells import cells_of
    from understudy.sources import open_source

    return cells_of(open_source(data, book, unknown=unknown, table=table), report=report)


def verify_anonymized(folder: str | Path) -> tuple[Verdict, Measured | None]:
    """The verdict about an anonymised release, and k, l and t as counted again."""
    from understudy.anonymize.verify import is_anonymized
    from understudy.anonymize.verify import verify_anonymized as recount

    if Path(folder).is_dir() and not is_anonymized(folder):
        raise ReleaseError(f"{str(folder)!r} holds no anonymised release; check others with `understudy verify`.")
    return recount(folder)
