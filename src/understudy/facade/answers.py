"""Questions on the real data, each at a price, and the same on a release for free."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.facade.documented import documented

if TYPE_CHECKING:
    from understudy.answers.plan import Plan
    from understudy.answers.product import Answer
    from understudy.codebook import Codebook
    from understudy.infer.inference import Figure, Inference
    from understudy.privacy.account import Account
    from understudy.privacy.quote import Quote
    from understudy.release import Release
    from understudy.sources.base import Report


@documented
def answer(
    data: Any,
    book: Codebook | str | Path,
    question: str,
    *,
    epsilon: float,
    delta: float | None = None,
    account: Account | str | Path | None = None,
    release: Release | str | Path | None = None,
    out: str | Path | None = None,
    level: float = 0.95,
    target: str = "population",
    neighbours: str = "add-remove",
    unknown: str = "error",
    table: str | None = None,
    seed: int | None = None,
    report: Report | None = None,
) -> Answer:
    """Answer one question on the real data: figures with intervals, paid for once.

    Parameters
    ----------
    question
        ``mean of charge by sex``, ``linear charge ~ age + sex`` and so on (see the guide for the grammar).
    epsilon
        Price of the answer.
    delta
        Of the price, if Gaussian noise may be used where it is less.
    account
        Charged before any noise is drawn.
    release
        Folder of a release, or the release itself: the same question is asked of it first, and the answer says how far
        it was off. Its price is part of the stated one, and is charged once.
    out
        New folder for the answer; without it nothing is written.
    level
        Of the intervals.
    target
        ``population``: intervals cover sampling and noise; ``table``: noise only, for the confidential table.
    neighbours
        ``add-remove`` or ``replace-one``.

    Returns
    -------
    Answer
        ``.figures``, ``.synthetic``, ``.gaps``, ``.statement`` and ``.answer_id``.
    """
    from understudy.answers.comparing import on_release
    from understudy.answers.product import FittedAnswer
    from understudy.mechanisms.stream import Stream
    from understudy.privacy.provenance import InputRole
    from understudy.release.folders import check_target
    from understudy.sources.inputs import public_provenance

    plan = _planned(
        book,
        question,
        epsilon=epsilon,
        delta=delta,
        level=level,
        target=target,
        neighbours=neighbours,
        release=release,
    )
    if out is not None:
        check_target(Path(out))
    synthetic, compared = None, None
    if release is not None:
        compared = public_provenance(_table_of(release), InputRole.COMPARED, confidential=data)
        synthetic = on_release(plan.question, release, target=target, level=level)
    source = plan.open(data, account=account, unknown=unknown, table=table)
    fitted = FittedAnswer(
        plan=plan,
        source=source,
        stream=Stream.of_seed(seed),
        report=report,
        synthetic=synthetic,
        compared=compared,
    )
    return fitted.answered(out)


def _table_of(release: Any) -> Any:
    """What carries the provenance of a release."""
    from understudy.release import Release
    from understudy.release.reading import first_table

    if isinstance(release, Release):
        return release.table
    return first_table(Path(release))


def quote_answer(
    book: Codebook | str | Path,
    question: str,
    *,
    epsilon: float,
    data: Any = None,
    table: str | None = None,
    **options: Any,
) -> Quote:
    """What :func:`answer` would cost. Reads no row of the data; a release is refused as data, as there."""
    from understudy.sources.base import as_codebook
    from understudy.sources.inputs import provenance_behind

    described = as_codebook(book)
    provenance = provenance_behind(data, described, table)
    provenance.refuse_as_data("an answer")  # what will be refused has no price
    return _planned(described, question, epsilon=epsilon, **options).quote.with_data(provenance)


def ask_release(
    release: Release | str | Path,
    question: str,
    *,
    level: float = 0.95,
    target: str = "population",
    out: str | Path | None = None,
) -> Inference:
    """The same question on a release: free, with intervals that cover its noise. ``out`` is an HTML page."""
    from understudy.answers.comparing import inference_of
    from understudy.answers.question import parse_question
    from understudy.infer.opened import open_release
    from understudy.infer.page import inference_page
    from understudy.pages.write import check_page_target, write_page

    if out is not None:
        check_page_target(Path(out))
    asked = parse_question(question, open_release(release).codebook)
    told = inference_of(asked, release, level=level, target=target)
    if out is not None:
        write_page(Path(out), inference_page(told))
    return told


def _planned(book: Codebook | str | Path, question: str, **options: Any) -> Plan:
    from understudy.answers.plan import plan_answer
    from understudy.answers.question import parse_question
    from understudy.sources.base import as_codebook

    described = as_codebook(book)
    return plan_answer(parse_question(question, described), described, **options)


def listed_answer(answer: Answer) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The figures as a table: its header and its lines."""
    from understudy.answers.page import HEADER, rows_of

    return HEADER, rows_of(answer)


def listed(figures: tuple[Figure, ...]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Figures of a release as a table."""
    from understudy.infer.page import HEADER, cells

    return HEADER, [cells(figure) for figure in figures]
