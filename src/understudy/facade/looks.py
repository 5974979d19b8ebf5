"""Looks at the confidential table: evaluations, risk-utility maps, audits. Accounts remember them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.confidential import Confidential
from understudy.errors import ParameterError
from understudy.facade.codebooks import book_about, load_codebook
from understudy.facade.documented import documented
from understudy.facade.tables import declared_options, recipe_of

if TYPE_CHECKING:
    from understudy.codebook import Codebook
    from understudy.evaluate.audit import Audit
    from understudy.evaluate.board import Board
    from understudy.evaluate.large import LargeFindings
    from understudy.evaluate.report.findings import Findings, HonestInterval
    from understudy.evaluate.rumap.make import MapResult
    from understudy.parameters import Option
    from understudy.privacy.account import Account
    from understudy.samplers.diagnostics import ChainReport
    from understudy.sources.base import Report
    from understudy.synth.choices import Choices
    from understudy.synth.recipe import Recipe


@documented
def evaluate(
    real: Any,
    synthetic: Any,
    book: Codebook | str | Path | None = None,
    *,
    out: str | Path | None = None,
    worksheet: str | Path | None = None,
    risk: str = "quick",
    holdout: Any = None,
    external: Any = None,
    target: str | None = None,
    given: str | None = None,
    board: Board | str | Path | None = None,
    recipe: str | Path | None = None,
    shadow_runs: int | None = None,
    unknown: str = "error",
    table: str | None = None,
    account: Account | str | Path | None = None,
    processes: int = 1,
    report: Report | None = None,
) -> Findings:
    """Compare a synthetic table with the confidential one. The findings, and the page, are confidential.

    Parameters
    ----------
    real
        The confidential table: path, address or table.
    synthetic
        Folder of a release, path, address, table, or a :class:`~understudy.release.Release`.
    book
        Codebook, or the path of one; a release has its own.
    out
        HTML page; an earlier report is replaced. Without it nothing is written.
    worksheet
        New Markdown file with the facts for a disclosure review, whose judgements people fill in; confidential too.
    risk
        ``none``, ``quick`` (attacks by counting) or ``full`` (repeated fits and neighbour searches too).
    holdout
        Real records set aside before synthesis.
    external
        File about known people that an intruder holds: linkage is tried.
    target
        Column that models predict and intruders guess.
    given
        Column that conditional shares are given; by default every one.
    board
        Limits that verdicts are held against, set beforehand: a ``board.toml``, or a ``Board``; else public defaults.
    recipe
        With ``risk="full"``: the method to rerun, as a manifest.json or a TOML file; a release folder names its own.
    shadow_runs
        With ``risk="full"``: reruns with one person, and as many without.
    account
        Remembers this look, so that later releases say so. Nothing is charged.
    processes
        Processes for repeated fits.

    Returns
    -------
    Findings
        ``.judgement`` (verdicts and the three worst facts), ``.headlines``, ``.notes`` and ``.to_dict()``.
    """
    from understudy.evaluate.board import read_board
    from understudy.evaluate.report.make import evaluate as make_report
    from understudy.evaluate.report.make import named
    from understudy.evaluate.report.release_facts import find_release
    from understudy.evaluate.worksheet import check_worksheet_target, write_worksheet
    from understudy.privacy.account import remember_look
    from understudy.release import Release

    if worksheet is not None:
        check_worksheet_target(Path(worksheet))

    made = synthetic.table if isinstance(synthetic, Release) else synthetic
    shown = synthetic if isinstance(synthetic, str | Path) else "a table in memory"
    limits = read_board(board) if isinstance(board, str | Path) else board
    known = book_about(synthetic, book)
    # a release that is refused is read before the account hears of a look at the confidential table
    place, stated = find_release(str(made)) if isinstance(made, str | Path) else (made, None)
    remember_look(account, f"evaluation of {shown}")
    findings = make_report(
        real,
        place,
        known,
        release=stated,
        label=named(made),
        out=None if out is None else Path(out),
        risk=risk,
        holdout=holdout,
        external=external,
        target=target,
        given=given,
        board=limits,
        recipe=recipe,
        shadow_runs=shadow_runs,
        honest=lambda formula, kind: _honest(synthetic, formula, kind),
        unknown=unknown,
        table=table,
        processes=processes,
        report=report,
    )
    if worksheet is not None:
        write_worksheet(Path(worksheet), findings)
    return findings


def _honest(release: Any, formula: str, kind: str) -> list[HonestInterval]:
    """Coefficients from the measurements of a release, for the confidential table; none where it carries none."""
    from understudy.errors import UnderstudyError
    from understudy.evaluate.report.findings import HonestInterval
    from understudy.facade.inference import infer
    from understudy.release import Release

    if not isinstance(release, Release) and not (isinstance(release, str | Path) and Path(release).is_dir()):
        return []
    try:
        figures = infer(release, **{kind: formula}, target="table")  # type: ignore[arg-type]
    except UnderstudyError:
        return []
    return [
        HonestInterval(name=one.name, estimate=one.estimate, low=one.low, high=one.high)
        for one in figures
        if one.estimate is not None and one.low is not None and one.high is not None
    ]


@dataclass(frozen=True, kw_only=True, repr=False)
class LargeEvaluation(Confidential):
    """What counting alone tells about two large tables, and what is wrong with the release."""

    findings: LargeFindings
    problems: tuple[str, ...]


def evaluate_large(
    real: Any,
    synthetic: Any,
    book: Codebook | str | Path | None = None,
    *,
    out: str | Path | None = None,
    unknown: str = "error",
    table: str | None = None,
    account: Account | str | Path | None = None,
    report: Report | None = None,
) -> LargeEvaluation:
    """Distances of shares and pairs, and uniqueness, by counting where the tables lie; ``out`` is a JSON file."""
    from json import dumps

    from understudy.evaluate.large import compare_large
    from understudy.evaluate.report.release_facts import find_release
    from understudy.pages.write import check_page_target, write_page
    from understudy.privacy.account import remember_look
    from understudy.sources import open_source

    book = book_about(synthetic, book)
    if out is not None:
        check_page_target(Path(out))
    place, release = synthetic, None
    if isinstance(synthetic, str | Path) and "://" not in str(synthetic):
        place, release = find_release(str(synthetic))
    remember_look(account, f"evaluation of {synthetic if isinstance(synthetic, str | Path) else 'a table in memory'}")
    sources = (
        open_source(real, book, unknown=unknown, table=table, local_bytes=0),
        open_source(place, book, unknown=unknown, local_bytes=0),
    )
    findings = compare_large(*sources, report=report)
    if out is not None:
        write_page(Path(out), dumps(findings.to_dict(), indent=2, ensure_ascii=False) + "\n")
    return LargeEvaluation(findings=findings, problems=() if release is None else tuple(release.problems))


@documented
def audit(
    data: Any,
    book: Codebook | str | Path,
    rows: int,
    method: str | Recipe | Choices,
    *,
    runs: int,
    canary: Mapping[str, Any] | Sequence[str] | str = "rare",
    unknown: str = "error",
    table: str | None = None,
    account: Account | str | Path | None = None,
    workers: int = 1,
    report: Report | None = None,
    **options: Any,
) -> Audit:
    """Run a method many times with and without one record, and try to refute its epsilon.

    An audit charges nothing, can refute a promise and never prove one; its outcome is confidential where the data are.

    Parameters
    ----------
    data
        Path, address or table; use a small one.
    rows
        Synthetic rows of each run; use few.
    method
        Name of a method whose options follow by name, or a recipe.
    runs
        Runs on each of two neighbouring tables; the more, the larger an epsilon can be refuted.
    canary
        ``rare``, ``common``, values by column, or words such as ``sex=M``.
    account
        Remembers this look, so that later releases say so. Nothing is charged.
    workers
        Processes that share the runs; the outcome does not depend on their number.
    **options
        Options of the method.

    Returns
    -------
    Audit
        ``.refuted``, ``.bound`` and ``.sentence``.
    """
    from understudy.evaluate.audit import audit as run_audit
    from understudy.privacy.account import remember_look
    from understudy.sources import open_source

    book = load_codebook(book)
    recipe = recipe_of(method, options, book, rows)
    remember_look(account, f"audit of {recipe.name}")
    source = open_source(data, book, unknown=unknown, table=table)
    chosen = canary if isinstance(canary, Mapping) else _canary([canary] if isinstance(canary, str) else canary)
    return run_audit(recipe, source, rows=rows, runs=runs, canary=chosen, processes=workers, report=report)


@documented
def diagnose(
    data: Any,
    book: Codebook | str | Path,
    *,
    chains: int = 256,
    after: int = 200,
    lags: int = 20,
    unknown: str = "error",
    table: str | None = None,
    account: Account | str | Path | None = None,
    seed: int | None = None,
    report: Report | None = None,
    **options: Any,
) -> ChainReport:
    """Run fresh chains of ``lugs`` and say how they mix. Releases nothing; the outcome is confidential.

    Parameters
    ----------
    chains
        Chains to run.
    after
        Sweeps of each chain after the burn-in, which is the option ``sweeps`` of the method.
    lags
        Autocorrelation up to so many sweeps apart.
    account
        Remembers this look, so that later releases say so. Nothing is charged.
    seed
        Reproducible runs.
    **options
        Options of ``lugs``, such as ``l=1.5``.

    Returns
    -------
    ChainReport
        ``.irreducible``, ``.autocorrelation``, ``.effective_share``, ``.warnings()`` and ``.to_dict()``.
    """
    from understudy.mechanisms.stream import Stream
    from understudy.parameters import Whole
    from understudy.privacy.account import remember_look
    from understudy.sources import open_source
    from understudy.synth.methods.lugs import FittedDiverse

    for name, value, least in (("chains", chains, 1), ("lags", lags, 1), ("after", after, lags + 1)):
        Whole(least=least, most=1_000_000, tried=max(least, 100)).check(name, value)
    book = load_codebook(book)
    recipe = recipe_of("lugs", options, book, chains)
    remember_look(account, "diagnosis of the chains of lugs")
    stream = None if seed is None else Stream.seeded(seed)
    fitted = recipe.fit(open_source(data, book, unknown=unknown, table=table), stream=stream, report=report)
    assert isinstance(fitted, FittedDiverse)
    return fitted.diagnose(chains=chains, sweeps=after, lags=lags)


def _canary(words: Sequence[str]) -> Mapping[str, str] | str:
    """``rare``, ``common``, or ``COLUMN=VALUE`` for some columns."""
    if list(words) in ([], ["rare"], ["common"]):
        return words[0] if words else "rare"
    pairs = [word.partition("=") for word in words]
    if unreadable := [word for word, (_, equals, _) in zip(words, pairs, strict=True) if not equals]:
        raise ParameterError(
            f"`canary` is {unreadable[0]!r}; write 'rare', 'common', or COLUMN=VALUE, for example sex=M."
        )
    return {name: value for name, _, value in pairs}


def map_options() -> dict[str, Option]:
    """The options of a map itself; its rows are an argument."""
    from understudy.evaluate.rumap.plan import Plan, Questions
    from understudy.parameters import options_of

    return {name: option for name, option in (options_of(Plan) | options_of(Questions)).items() if name != "rows"}


def passed_options() -> dict[str, Option]:
    """The options that a map passes on to its methods; epsilons are its own."""
    own = ("epsilon", "epsilon_per_record")
    return {name: option for name, option in declared_options(None).items() if name not in own}


@documented
def rumap(
    data: Any,
    book: Codebook | str | Path,
    rows: int,
    epsilons: Sequence[float],
    out: str | Path,
    *,
    stand_in: Any = None,
    board: str | Path | None = None,
    unknown: str = "error",
    table: str | None = None,
    account: Account | str | Path | None = None,
    seed: int | None = None,
    report: Report | None = None,
    **options: Any,
) -> MapResult:
    """Map risk against utility: many releases, measured and never published. The map is confidential.

    Parameters
    ----------
    rows
        Synthetic rows of each run.
    epsilons
        Epsilons to try.
    out
        Folder of the map; run again to go on with it.
    stand_in
        Public table of the same shape, used instead of ``data``, which is then not read: no confidential look.
    board
        File with the limits of a board (``board.toml``): what the advice is held against; without it, the defaults.
    account
        Remembers this look, so that later releases say so. Nothing is charged.
    seed
        Reproducible runs.
    **options
        Of the map: ``methods`` to try (``["marginals"]``), ``repeat`` (runs of each method and epsilon, 5),
        ``per_record`` (epsilon per synthetic record for pegs and its kin, as in the paper; else whole file), ``given``
        (columns that conditional shares are given), ``target`` (column that regression models explain), ``formulas``
        (models instead, such as ``charge > 25 ~ age + sex``), ``quasi`` and ``sensitive`` (what the intruder knows and
        wants; by default by role), ``set_aside`` (share of records that no release of a repeat is made of, 0.2). Those
        of the methods; each goes to the methods that know it.

    Returns
    -------
    MapResult
        ``.document`` with all numbers, and ``.files``.
    """
    from understudy.evaluate.board import Board, read_board
    from understudy.evaluate.rumap.make import risk_utility_map
    from understudy.evaluate.rumap.plan import Plan, Questions
    from understudy.parameters import from_words, options_of
    from understudy.privacy.account import remember_look
    from understudy.privacy.provenance import InputRole
    from understudy.sources.inputs import public_provenance

    limits = Board() if board is None else read_board(board)
    book = load_codebook(book)
    if book.unit is not None and book.unit.records_per_person == "counted":
        raise ParameterError(
            "a map does not vary what counting the records of each person costs; take records_per_person out of [unit]."
        )
    words = {"rows": rows, "epsilons": epsilons, **options}
    grid, asked = ({name: words.pop(name) for name in options_of(cls) if name in words} for cls in (Plan, Questions))
    passed = passed_options()
    for name in words:
        if name not in passed:
            raise ParameterError(f"no method takes `{name}`; the options are {', '.join(passed)}.")
    given = {name: passed[name].rule.read(name, value, book) for name, value in words.items() if value is not None}
    plan = from_words(Plan, "rumap", grid, options=given)
    questions = from_words(Questions, "rumap", asked)
    if stand_in is None:
        remember_look(account, f"risk-utility map of {', '.join(plan.methods)}")
    else:
        public_provenance(stand_in, InputRole.STAND_IN, confidential=data)
    return risk_utility_map(
        data,
        book,
        plan,
        questions,
        limits,
        out=Path(out),
        stand_in=stand_in,
        seed=seed,
        unknown=unknown,
        table=table,
        report=report,
    )


def spelled_score(value: float) -> str:
    """A score as a report writes it."""
    from understudy.pages.numbers import number

    return number(value)


def spelled_share(value: float) -> str:
    """A share as a report writes it."""
    from understudy.pages.numbers import percent

    return percent(value)
