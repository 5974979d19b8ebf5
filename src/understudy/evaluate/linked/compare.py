"""All metrics of two sets of linked tables in one call.

Everything here is computed on confidential data and is not covered by the guarantee of the release.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from understudy.codebook.linked import LinkedCodebook
from understudy.confidential import Confidential
from understudy.evaluate.board import Board
from understudy.evaluate.linked.attacks import person_attacks
from understudy.evaluate.linked.metrics import LINKED, MUST_BE_PERFECT, metric_of
from understudy.evaluate.linked.options import LinkedOptions
from understudy.evaluate.linked.rows import LinkedRows, read_rows
from understudy.evaluate.linked.uses import linked_uses
from understudy.evaluate.metric import Score, json_ready
from understudy.evaluate.report.intruder import Attacks
from understudy.evaluate.report.release_facts import ReleaseFacts
from understudy.evaluate.report.verdicts import Judgement, judge, judgement_dict
from understudy.evaluate.risk.gains import Gain
from understudy.sources.base import Report


@dataclass(frozen=True, kw_only=True, repr=False)
class LinkedFindings(Confidential):
    """Scores of one pair of linked tables, and the rows that they were computed from."""

    scores: tuple[Score, ...]
    real: LinkedRows
    synthetic: LinkedRows
    board: Board
    attacks: Attacks
    judgement: Judgement
    """One verdict per question, against the limits of the board: the questions and rules of one table."""
    release: ReleaseFacts | None = None

    @property
    def gains(self) -> Sequence[Gain] | None:
        """What attacks gain about people in the data; None where nobody was set aside."""
        return self.attacks.gains

    def score(self, name: str) -> Score:
        """The score of a metric."""
        return next(score for score in self.scores if score.metric == name)

    @property
    def wrong(self) -> tuple[str, ...]:
        """Metrics in which the synthetic tables must be perfect and are not."""
        return tuple(
            score.metric
            for score in self.scores
            if score.metric in MUST_BE_PERFECT and score.value != metric_of(score).perfect and score.breakdown
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "rows": {
                side: {name: table.rows for name, table in rows.tables.items()}
                for side, rows in (("real", self.real), ("synthetic", self.synthetic))
            },
            "scores": [{**score.to_dict(), "says": metric_of(score).says} for score in self.scores],
            "wrong": list(self.wrong),
            "attacks": None if self.gains is None else [asdict(gain) for gain in self.gains],
            "board": self.board.to_dict(),
            "judgement": json_ready(judgement_dict(self.judgement)),
        }


def linked_scores(
    real: LinkedRows, synthetic: LinkedRows, options: LinkedOptions, report: Report | None = None
) -> list[Score]:
    """Every metric that the tables and the options allow."""
    scores = []
    for done, (name, measure) in enumerate(LINKED.items()):
        if report:
            report(f"linked tables: {name.replace('_', ' ')}", done, len(LINKED))
        score = measure(*cast(Any, (real, synthetic, options)))  # a measure of linked rows instead of sources
        if score is not None:
            scores.append(score)
    if report:
        report("linked tables", len(LINKED), len(LINKED))
    return scores


def compare_linked(
    real: Mapping[str, Any],
    synthetic: Mapping[str, Any],
    book: LinkedCodebook,
    *,
    made_book: LinkedCodebook | None = None,
    holdout: Mapping[str, Any] | None = None,
    label: str | None = None,
    within: float = 30.0,
    board: Board | None = None,
    release: ReleaseFacts | None = None,
    report: Report | None = None,
) -> LinkedFindings:
    """Compare tables in memory, by the names that the codebook gives them.

    ``made_book`` is the codebook of the synthetic tables, where they write values otherwise than the real ones.

    ``holdout`` are real people set aside before synthesis, for the task: predict that the next row follows ``within``
    days, or ``label`` (TABLE.COLUMN=LEVEL). ``board`` has the limits that verdicts are held against, ``release`` what
    the synthetic tables say about themselves.
    """
    sides = [read_rows(real, book), read_rows(synthetic, book if made_book is None else made_book)]
    options = LinkedOptions(
        holdout=None if holdout is None else read_rows(holdout, book, capped=False), label=label, within=within
    )
    scores = linked_scores(sides[0], sides[1], options, report)
    limits = Board() if board is None else board
    attacks = person_attacks(sides[0], sides[1], None if holdout is None else read_rows(holdout, book))
    uses, untested = linked_uses(sides[0], sides[1], scores, limits, report)
    people = sides[0].tables[book.person.name].rows
    return LinkedFindings(
        scores=tuple(scores),
        real=sides[0],
        synthetic=sides[1],
        board=limits,
        attacks=attacks,
        judgement=judge(
            release=release, records=people, uses=uses, attacks=attacks, board=limits, untested=tuple(untested)
        ),
        release=release,
    )
