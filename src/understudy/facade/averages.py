"""Individual values from averages, and the risk of publishing averages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.confidential import Confidential
from understudy.facade.codebooks import load_codebook
from understudy.facade.documented import documented

if TYPE_CHECKING:
    from understudy.codebook import Codebook
    from understudy.parameters import Option
    from understudy.privacy.account import Account
    from understudy.reconstruct import Aggregate
    from understudy.reconstruct.run import Outcome
    from understudy.sources.base import Report


def reconstruct_options(method: str | None) -> dict[str, Option]:
    """The options of :func:`reconstruct` by a method, or by all methods together."""
    from understudy.reconstruct.run import method_options

    return method_options(method)


def risk_options() -> dict[str, Option]:
    """The options of :func:`averages_risk`."""
    from understudy.parameters import options_of
    from understudy.reconstruct.risk import RiskQuestion

    return options_of(RiskQuestion)


@documented
def reconstruct(
    people: Any,
    averages: Aggregate | str | Sequence[Aggregate | str],
    method: str = "shrunken",
    *,
    out: str | Path | None = None,
    truth: Sequence[str] = (),
    draws: int = 0,
    spread: float | None = None,
    csv: bool = False,
    seed: int | None = None,
    report: Report | None = None,
    **options: Any,
) -> Outcome:
    """Rebuild plausible individual values from group averages. What comes out are estimates, never data.

    Parameters
    ----------
    people
        Individual records without the target: path, address or table.
    averages
        Published tables: :class:`~understudy.reconstruct.Aggregate` objects, or words ``FILE:GROUP:FIGURE``.
    method
        ``mp``, ``er``, ``ludia``, ``ludia-svd``, ``pc-er``, ``shrunken`` or ``cudia``.
    out
        New folder for the values and a page; without it nothing is written.
    truth
        Columns with the true values, only to score against: ``COLUMN`` or ``TARGET=COLUMN``.
    draws
        Also make so many plausible reconstructions.
    spread
        Known scatter of individuals, for ``draws``.
    csv
        Write CSV beside Parquet.
    seed
        Reproducible runs.
    **options
        Options of the method, such as ``rank=2`` or ``link="log"``.

    Returns
    -------
    Outcome
        ``.result.values`` by target, ``.scores`` and ``.files``.
    """
    from understudy.reconstruct import Aggregate
    from understudy.reconstruct.run import reconstruct_files

    return reconstruct_files(
        people,
        [averages] if isinstance(averages, str | Aggregate) else averages,
        method=method,
        options=options,
        out=out,
        truth=truth,
        draws=draws,
        spread=spread,
        seed=seed,
        csv=csv,
        report=report,
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class AveragesRisk(Confidential):
    """How well averages that are not published yet would give individual values away."""

    document: dict[str, Any]


def averages_risk(
    data: Any,
    book: Codebook | str | Path,
    *,
    groups: Sequence[str],
    value: str,
    out: str | Path | None = None,
    unknown: str = "error",
    table: str | None = None,
    account: Account | str | Path | None = None,
    seed: int | None = None,
    report: Report | None = None,
    **options: Any,
) -> AveragesRisk:
    """Attack one's own table through averages that are not published yet; ``out`` is an HTML page. Confidential.

    ``options`` are those of :class:`~understudy.reconstruct.risk.RiskQuestion`, such as ``known`` and ``epsilons``.
    """
    from understudy.mechanisms.stream import Stream
    from understudy.pages.write import check_page_target, write_page
    from understudy.parameters import from_words
    from understudy.privacy.account import remember_look
    from understudy.reconstruct.risk import RiskQuestion, assess
    from understudy.reconstruct.risk_page import risk_page

    if out is not None:
        check_page_target(Path(out))
    question = from_words(RiskQuestion, "the risk of averages", {"groups": groups, "value": value, **options})
    book = load_codebook(book)
    question.check(book)
    remember_look(account, f"attack on averages of {value}")
    stream = Stream.of_seed(seed)
    document = assess(data, book, question, unknown=unknown, table=table, stream=stream, report=report)
    if out is not None:
        write_page(Path(out), risk_page(document))
    return AveragesRisk(document=document)
