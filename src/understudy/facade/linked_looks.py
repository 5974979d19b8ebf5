"""Looks at confidential linked tables: how good synthetic people with histories are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.confidential import Confidential
from understudy.errors import ParameterError
from understudy.facade.documented import documented

if TYPE_CHECKING:
    from understudy.codebook.linked import LinkedCodebook
    from understudy.evaluate.board import Board
    from understudy.evaluate.linked.compare import LinkedFindings
    from understudy.evaluate.report.release_facts import ReleaseFacts
    from understudy.evaluate.report.verdicts import Judgement
    from understudy.privacy.account import Account
    from understudy.sources.base import Report


@dataclass(frozen=True, kw_only=True, repr=False)
class LinkedEvaluation(Confidential):
    """Scores of linked tables, and what the release says about itself."""

    findings: LinkedFindings
    statement: str
    """The promise; empty where the synthetic tables are no release."""
    problems: tuple[str, ...]
    """What did not verify."""

    @property
    def judgement(self) -> Judgement:
        """One verdict per question, against the limits of the board."""
        return self.findings.judgement

    @property
    def headlines(self) -> list[tuple[str, float, str]]:
        """Title, value and note of each score."""
        from understudy.evaluate.linked.metrics import metric_of

        return [(metric_of(score).title, score.value, score.note) for score in self.findings.scores]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**self.findings.to_dict(), "statement": self.statement, "problems": list(self.problems)}


def linked_book(synthetic: Any, book: Any) -> LinkedCodebook | None:
    """The codebook of linked tables that is given, or that a release has; None where it is about one table."""
    from understudy.codebook.linked import LinkedCodebook
    from understudy.codebook.linked_toml import load_book
    from understudy.release.release import CODEBOOK, MANIFEST

    if isinstance(book, str | Path):
        book = load_book(book)
    elif book is None and isinstance(synthetic, str | Path) and (Path(synthetic) / MANIFEST).is_file():
        place = Path(synthetic) / CODEBOOK
        book = load_book(place) if place.is_file() else None
    elif book is None:
        book = getattr(synthetic, "codebook", None)
    return book if isinstance(book, LinkedCodebook) else None


@documented
def evaluate_linked(
    real: Any,
    synthetic: Any,
    book: LinkedCodebook | str | Path | None = None,
    *,
    out: str | Path | None = None,
    holdout: Any = None,
    label: str | None = None,
    within: float = 30.0,
    board: Board | str | Path | None = None,
    account: Account | str | Path | None = None,
    report: Report | None = None,
) -> LinkedEvaluation:
    """Compare synthetic linked tables with the confidential ones. The findings, and the page, are confidential.

    Parameters
    ----------
    real
        The confidential tables: a folder with one file for each, a mapping of tables, or the one file that others are
        made of.
    synthetic
        Folder of a release, folder of files, or a mapping of tables.
    book
        Codebook of linked tables, or the path of one; a release has its own. It says how the real tables are read; a
        release is read as it was written.
    out
        HTML page; an earlier page is replaced. Without it nothing is written.
    holdout
        The same tables of real people set aside before synthesis: what follows a row is predicted for them.
    label
        ``TABLE.COLUMN=LEVEL`` that is predicted instead.
    within
        Days within which the next row counts as soon.
    board
        Limits that verdicts are held against, set beforehand: a ``board.toml``, or a ``Board``; else public defaults.
    account
        Remembers this look, so that later releases say so. Nothing is charged.

    Returns
    -------
    LinkedEvaluation
        ``.judgement`` (verdicts and the three worst facts), ``.findings``, ``.headlines`` and ``.to_dict()``.
    """
    from understudy.evaluate.board import read_board
    from understudy.evaluate.holdout import refuse_no_people
    from understudy.evaluate.linked.compare import compare_linked
    from understudy.evaluate.linked.opened import made_of, open_tables
    from understudy.evaluate.linked.page import linked_page
    from understudy.pages.write import check_page_target, write_page
    from understudy.parameters import Number
    from understudy.privacy.account import remember_look

    Number(above=0, tried=30.0).check("within", within)
    known = linked_book(synthetic, book)
    if known is None:
        raise ParameterError("`book` is no codebook of linked tables; of one table, use `evaluate`.")
    if out is not None:
        check_page_target(Path(out))
    shown = str(synthetic) if isinstance(synthetic, str | Path) else "tables in memory"
    limits = read_board(board) if isinstance(board, str | Path) else board
    stated = _stated(synthetic)
    if holdout is not None:
        refuse_no_people(made_of(holdout, known))
    remember_look(account, f"evaluation of {shown}")
    made_book = known if stated is None else known.plain  # a release is written by the plain convention
    real_tables, made = open_tables(real, known), open_tables(_tables_of(synthetic), made_book)
    kept_back = None if holdout is None else open_tables(holdout, known)
    findings = compare_linked(
        real_tables,
        made,
        known,
        made_book=made_book,
        holdout=kept_back,
        label=label,
        within=within,
        board=limits,
        release=stated,
        report=report,
    )
    statement, problems = ("", ()) if stated is None else (stated.statement, stated.problems)
    if out is not None:
        verified = "" if problems or not statement else "the files are those of the manifest, and its figures add up."
        page = linked_page(findings, name=shown, statement=statement, problems=problems, verified=verified)
        write_page(Path(out), page)
    return LinkedEvaluation(findings=findings, statement=statement, problems=problems)


def _tables_of(synthetic: Any) -> Any:
    """The tables of a release in memory."""
    return getattr(synthetic, "tables", synthetic)


def _stated(synthetic: Any) -> ReleaseFacts | None:
    """What a release states, and what of it does not hold; None for tables that are none."""
    from understudy.evaluate.report.release_facts import linked_facts, stated
    from understudy.facade.releases import verify
    from understudy.release.linked import LinkedRelease
    from understudy.release.release import MANIFEST

    if isinstance(synthetic, LinkedRelease):
        return stated(synthetic.manifest.to_dict(), (), table="")
    if not isinstance(synthetic, str | Path) or not (Path(synthetic) / MANIFEST).is_file():
        return None
    return linked_facts(Path(synthetic), verify(synthetic).problems)
