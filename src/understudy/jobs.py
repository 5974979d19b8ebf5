"""One function per use case. The command line, and later the services, call only these."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook
from understudy.codebook.declare import declare_text
from understudy.codebook.where import parse_where
from understudy.errors import CodebookError, MissingExtraError, ParameterError, ReleaseError
from understudy.evaluate.audit import Audit
from understudy.evaluate.audit import audit as run_audit
from understudy.evaluate.picture import marginal_picture
from understudy.evaluate.report.findings import Findings
from understudy.evaluate.report.gather import gather
from understudy.evaluate.report.make import evaluate as make_report
from understudy.evaluate.report.page import report_page
from understudy.evaluate.report.release_facts import find_release
from understudy.evaluate.rumap.make import MapResult
from understudy.evaluate.rumap.make import risk_utility_map as make_map
from understudy.evaluate.rumap.measure import Questions
from understudy.evaluate.rumap.plan import Plan
from understudy.evaluate.utility.distances import Comparison, compare
from understudy.mechanisms.stream import Stream
from understudy.pages.write import check_page_target, write_page
from understudy.parameters import read_options
from understudy.privacy.account import Account, account_at, remember_look
from understudy.privacy.provenance import InputRole
from understudy.release import Release
from understudy.release.folders import check_target
from understudy.release.making import choices_of
from understudy.release.verify import Verdict, verify_release
from understudy.sources import open_source
from understudy.sources.base import Report
from understudy.sources.check import Fault, check_table
from understudy.sources.draft import draft_with_reasons, named_columns
from understudy.sources.files import open_table
from understudy.sources.inputs import find_provenance, public_provenance
from understudy.synth import BayesianBootstrap, Marginals, Quote, Recipe
from understudy.synth.choices import Choices, relation_of
from understudy.synth.counts import Counts
from understudy.synth.filling import Filling
from understudy.synth.model_file import load_model
from understudy.synth.paid_draft import PaidPlan, paid_draft
from understudy.synth.people import of_people
from understudy.synth.recheck import recheck_method
from understudy.synth.recipe import FILES, Fitted
from understudy.synth.released import FittedReleased, refuse_model_of

__all__ = [
    "Choices",
    "DemoResult",
    "MapResult",
    "PaidPlan",
    "Plan",
    "Questions",
    "audit",
    "check",
    "columns_to_drop",
    "count",
    "create_account",
    "declare",
    "demo",
    "draft",
    "draft_at_a_price",
    "draw",
    "evaluate",
    "impute",
    "load_codebook",
    "open_account",
    "quote",
    "remember_look",
    "risk_utility_map",
    "synthesize",
    "synthesize_many",
    "verify",
]


def load_codebook(path: str | Path) -> Codebook:
    """Read a codebook file."""
    return Codebook.load(path)


def draft(
    data: Any, out: Path, *, table: str | None = None, drop: Sequence[str] = ()
) -> tuple[Codebook, dict[str, str]]:
    """A codebook drafted from data, written to a new file, and why it leaves out what it leaves out."""
    _refuse_draft(out)
    book, reasons = draft_with_reasons(data, table=table, drop=drop)
    return _save_draft(book, out), reasons


def columns_to_drop(data: Any, *, table: str | None, keep: Sequence[str], drop: Sequence[str]) -> tuple[str, ...]:
    """What is not to be drafted: the columns of ``drop``, or all but those of ``keep``. Reads the header only."""
    header = [name for name in open_table(data, table).header if name]
    if keep:
        kept = named_columns(header, keep, "--keep")
        return tuple(name for name in header if name not in kept)
    return named_columns(header, drop, "--drop")


def draft_at_a_price(
    data: Any,
    out: Path,
    plan: PaidPlan,
    *,
    table: str | None = None,
    account: str | Path | None = None,
    report: Report | None = None,
) -> Codebook:
    """A codebook that was paid for, written to a new file; the price is committed just before the file appears."""
    _refuse_draft(out)
    return paid_draft(data, plan, table=table, account=account_at(account), out=out, report=report)


def _refuse_draft(out: Path) -> None:
    if out.exists():
        raise CodebookError(f"{str(out)!r} exists already; a draft never overwrites. Choose another name.")
    if not out.parent.is_dir():
        raise CodebookError(f"there is no folder {str(out.parent)!r} to write the codebook to; make it first.")


def _save_draft(book: Codebook, out: Path) -> Codebook:
    try:
        book.save(out)
    except OSError as reason:
        raise CodebookError(f"the codebook {str(out)!r} cannot be written ({reason.strerror}).") from None
    return book


def check(data: Any, codebook: str | Path, *, table: str | None = None) -> list[Fault]:
    """Every fault of the data against the codebook."""
    return check_table(data, Codebook.load(codebook), table=table)


def declare(path: Path, *, columns: Sequence[str] | None, by: str, source: str, on: dt.date) -> Codebook:
    """Attest columns in a codebook file, keeping its comments."""
    Codebook.load(path)  # report every fault before touching the file
    text = declare_text(path.read_text(encoding="utf-8"), columns=columns, by=by, source=source, on=on)
    book = Codebook.from_toml(text)
    scratch = path.with_name(f".{path.name}.unfinished")
    try:
        scratch.write_text(text, encoding="utf-8", newline="\n")
        scratch.replace(path)
    except OSError as reason:
        raise CodebookError(f"the codebook {str(path)!r} cannot be written ({reason.strerror}).") from None
    return book


def quote(book: Codebook, choices: Choices, rows: int, *, data: Any = None, account: str | Path | None = None) -> Quote:
    """The price of a release; reads no row of the data, only what the table is.

    With an account the choices are written down there, so that no later look at the data can have made them.
    """
    recipe = choices.recipe(book, rows)
    recipe.public_inputs(data)
    priced = recipe.quote(book, rows).with_data(find_provenance(data))
    if account is not None:
        chosen, public = of_people(recipe, book).parameters(), recipe.public_tables.values()
        fixed = choices_of(priced, chosen, book.digest, public=public)
        open_account(account).fix(fixed, label=f"{priced.method}, {rows:,} rows")
    return priced


def open_account(path: str | Path) -> Account:
    """An account whose charges can be priced: every event that a method can cause is known from here on."""
    return Account.open(path)


def create_account(
    path: str | Path, *, dataset: str, epsilon: float, delta: float, neighbours: str, composition: str = "basic"
) -> Account:
    """Open a new account."""
    return Account.create(
        path,
        dataset=dataset,
        epsilon=epsilon,
        delta=delta,
        neighbours=relation_of(neighbours),
        composition=composition,
    )


def synthesize(
    data: Any,
    book: Codebook,
    choices: Choices,
    *,
    rows: int,
    out: str | Path,
    csv: bool = False,
    model_out: Path | None = None,
    report: Report | None = None,
    **opening: Any,
) -> Release:
    """Fit, pay, draw and write.

    ``opening``: ``unknown`` and ``table`` of the source, the ``account`` to charge, a ``seed`` for simulation.
    """
    check_target(Path(out))
    recipe = choices.recipe(book, rows)
    if model_out is not None:
        _check_model_target(recipe, model_out, Path(out))
        refuse_model_of(find_provenance(data))
    fitted = _fitted(recipe, data, book, rows, report, **opening)
    release = fitted.write(out, rows, csv=csv)
    if model_out is not None:
        assert isinstance(fitted, FittedReleased)  # checked above
        fitted.save_model(model_out)
    return release


def _fitted(
    recipe: Recipe,
    data: Any,
    book: Codebook,
    rows: int,
    report: Report | None,
    *,
    unknown: str = "error",
    table: str | None = None,
    account: str | Path | None = None,
    seed: int | None = None,
) -> Fitted:
    priced = recipe.quote(book, rows, secure=seed is None)  # refuse bad numbers before the data is touched
    source = open_source(data, book, unknown=unknown, table=table, account=account_at(account))
    return recipe.fit(source, stream=Stream.of_seed(seed), report=report, quote=priced)


def synthesize_many(
    data: Any,
    book: Codebook,
    choices: Choices,
    *,
    rows: int,
    files: int,
    out: str | Path,
    csv: bool = False,
    report: Report | None = None,
    **opening: Any,
) -> list[Release]:
    """Several files from one fit, in numbered folders: all written and paid, or none. On route S each pays."""
    FILES.check("files", files)
    check_target(Path(out))
    return _fitted(choices.recipe(book, rows), data, book, rows, report, **opening).write_many(
        out, rows, files=files, csv=csv
    )


def count(
    plan: Counts,
    data: Any,
    *,
    out: Path,
    csv: bool = False,
    account: str | Path | None = None,
    seed: int | None = None,
    report: Report | None = None,
    **opening: Any,
) -> Release:
    """Count, pay, perturb and write."""
    check_target(out)
    plan.quote()  # refuse bad numbers before the data are touched
    source = plan.open(data, account=account_at(account), **opening)
    return plan.fit(source, stream=Stream.of_seed(seed), report=report).write(out, csv=csv)


def impute(
    data: Any,
    book: Codebook,
    options: Mapping[str, Any],
    *,
    files: int,
    out: str | Path,
    csv: bool = False,
    seed: int | None = None,
    report: Report | None = None,
    **opening: Any,
) -> list[Release]:
    """Fill the missing values of a real table ``files`` times; what is written is confidential."""
    FILES.check("files", files)
    check_target(Path(out))
    filling = Filling(**read_options(Filling, options))
    source = open_source(data, book, **opening)
    return filling.fit(source, stream=Stream.of_seed(seed), report=report).write_many(out, files=files, csv=csv)


def draw(
    model: Path,
    *,
    rows: int,
    out: str | Path,
    csv: bool = False,
    where: Sequence[str] = (),
    report: Report | None = None,
) -> Release:
    """More rows from a released model, of a sub-population if asked for; nothing is paid."""
    check_target(Path(out))
    part = parse_where(where) if where else None
    release = load_model(model).sample(rows, where=part, report=report)
    release.save(out, csv=csv)
    return release


def audit(
    data: Any,
    book: Codebook,
    choices: Choices,
    *,
    rows: int,
    runs: int,
    canary: Sequence[str] = (),
    unknown: str = "error",
    table: str | None = None,
    account: str | Path | None = None,
    processes: int = 1,
    report: Report | None = None,
) -> Audit:
    """Try to refute what a method states; charges nothing, and its outcome is confidential where the data are."""
    remember_look(account, f"audit of {choices.method}")
    recipe = choices.recipe(book, rows)
    source = open_source(data, book, unknown=unknown, table=table)
    return run_audit(recipe, source, rows=rows, runs=runs, canary=_canary(canary), processes=processes, report=report)


def evaluate(
    real: Any, synthetic: Any, book: Codebook, *, account: str | Path | None = None, **options: Any
) -> Findings:
    """A report about a synthetic table; the account remembers that somebody looked."""
    remember_look(account, f"evaluation of {synthetic}")
    return make_report(real, synthetic, book, **options)


def risk_utility_map(
    data: Any,
    book: Codebook,
    plan: Plan,
    questions: Questions,
    *,
    stand_in: Any = None,
    account: str | Path | None = None,
    **options: Any,
) -> MapResult:
    """A risk-utility map; on the data themselves it is a confidential look, which the account remembers."""
    if stand_in is None:
        remember_look(account, f"risk-utility map of {', '.join(plan.methods)}")
    else:
        public_provenance(stand_in, InputRole.STAND_IN, confidential=data)
    return make_map(data, book, plan, questions, stand_in=stand_in, **options)


def verify(path: str | Path) -> Verdict:
    """Say what a release folder or a risk score is, and recompute everything that it states."""
    from understudy.anonymize.verify import recheck_anonymity
    from understudy.commute.recheck import recheck_commute
    from understudy.trees.recheck import verify_score

    if Path(path).is_file():
        try:
            return verify_score(Path(path))
        except ReleaseError as reason:
            raise ReleaseError(f"{reason} Of a release, give the folder.") from None
    return verify_release(path, [recheck_method, recheck_anonymity, recheck_commute])


def _canary(words: Sequence[str]) -> Mapping[str, str] | str:
    """``rare``, ``common``, or ``COLUMN=VALUE`` for some columns."""
    if list(words) in ([], ["rare"], ["common"]):
        return words[0] if words else "rare"
    split = [word.partition("=") for word in words]
    if odd := [word for word, (_, equals, _) in zip(words, split, strict=True) if not equals]:
        raise ParameterError(f"`canary` is {odd[0]!r}; write 'rare', 'common', or COLUMN=VALUE, for example sex=M.")
    return {name: value for name, _, value in split}


def _check_model_target(recipe: Recipe, path: Path, out: Path) -> None:
    """Find out before anything is spent whether the model can be written."""
    if recipe.route != "N":
        raise ParameterError(
            f"{recipe.name} has no model that may leave the house (route {recipe.route}); leave --save-model out."
        )
    if path.exists():
        raise ReleaseError(f"{str(path)!r} exists already; a model never overwrites. Choose another name.")
    if path.absolute() == out.absolute():
        raise ParameterError(f"{str(path)!r} is meant for the release and for its model; give the model another name.")
    check_target(path)


@dataclass(frozen=True, kw_only=True)
class DemoResult:
    """What the demo shows."""

    release: Release
    folder: Path
    synthetic: Comparison
    independent: Comparison
    files: tuple[Path, ...]
    left_out: str = ""
    """Why there is no report page, if there is none."""


DEMO_DATA_ROWS = 50_000
DEMO_ROWS = 50_000
DEMO_HELD_OUT = 10_000
_DEMO_COLUMNS = ("age.yrs", "los", "charge", "MDC")


def demo(out: str | Path, *, report: Report | None = None) -> DemoResult:
    """Simulated discharges in, one synthetic release out, with its errors and a report about it."""
    from understudy import datasets

    folder = Path(out)
    check_target(folder)
    book = datasets.discharges_codebook()
    source = open_source(datasets.discharges(rows=DEMO_DATA_ROWS, seed=2011), book)
    recipe = Marginals(epsilon=1.0, delta=1e-6)
    release = recipe.fit(source, report=report).sample(DEMO_ROWS)
    independent = BayesianBootstrap().fit(source).sample(DEMO_ROWS)
    made = open_source(release.table, book)
    release.save(folder, csv=True)
    picture = folder.with_name(folder.name + "-picture.svg")
    drawn = marginal_picture(source, made, columns=_DEMO_COLUMNS, real_label="confidential (simulated)")
    picture.write_text(drawn, encoding="utf-8")
    files = [*sorted(folder.iterdir()), picture]
    left_out = ""
    try:
        files.append(_demo_page(folder, source, made, report))
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


def _demo_page(folder: Path, source: Any, made: Any, report: Report | None) -> Path:
    from understudy import datasets

    page = folder.with_name(folder.name + "-report.html")
    check_page_target(page)
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
